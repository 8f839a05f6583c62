"""Labels of any length and content: tables and figures stay readable, and nothing in them acts on anything."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from shuffledp._support.tables import as_page
from shuffledp.queries import Histogram, KeyValue, Marginals, RangeQuery

LONG = ["x" * 990 + str(i) for i in range(6)]
ODD = ["a\x1b[2Kb", "$x_1$", "c\nd"]


def drawn(query: Any, columns: list[Any], **more: Any) -> list[str]:
    """The texts on the axes of a figure that was laid out without a warning."""
    values = query.encode(columns)
    answer = query.answer(query.randomizer.privatize_counts(values, rng=np.random.default_rng(0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = answer.plot(**more)
        figure.canvas.draw()
    return [text.get_text() for axes in figure.axes for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]


@pytest.mark.parametrize("width", [3.33, 7.0])
def test_long_and_odd_labels_are_drawn_short_and_visible(width: float) -> None:
    queries = {
        "histogram": (Histogram(column="x", labels=LONG + ODD, mechanism="grr:eps0=4"), [LONG * 100]),
        "keys": (
            KeyValue(column="x", keys=LONG + ODD, size=1, low=0, high=1, mechanism="pckv-grr:eps0=4"),
            [[{name: 1.0} for name in LONG] * 100],
        ),
        "marginals": (
            Marginals(labels={"a\n" * 50: LONG, "b": ODD}, mechanism="grr:eps0=4"),
            [LONG * 100, ODD * 200],
        ),
    }
    for name, (query, columns) in queries.items():
        texts = drawn(query, columns, width=width)
        assert max(map(len, texts)) <= 42 and all(text.isprintable() for text in texts), name
        assert any(text.endswith("x0") for text in texts), "the end tells labels apart"


def test_a_table_shows_the_beginning_and_the_end_and_exports_all() -> None:
    table = Histogram(column="x", labels=LONG, mechanism="grr:eps0=1").exact([LONG]).table()
    assert max(map(len, table.text().splitlines())) < 160 and len(table.html()) < 5000
    assert LONG[3] in table.csv() and LONG[3][-4:] in table.text()


def test_a_title_is_visible() -> None:
    assert "\x1b" not in as_page("a\x1b[2K<b>", "") and "&lt;b&gt;" in as_page("a\x1b[2K<b>", "")


def test_the_unit_of_a_range_query_is_that_of_the_bins_and_the_curve_is_whole() -> None:
    query = RangeQuery(column="t", low=0, high=8, bins=8, mechanism="grr:eps0=0.3", unit="min")
    counts = query.randomizer.privatize_counts(query.encode([np.zeros(400)]), rng=np.random.default_rng(3))
    answer = query.answer(counts)
    text = answer.table().text()
    assert "share of users (min)" not in text and "0 to 1 min" in text and "min" not in answer.lies()
    line = answer.cdf().value
    assert line.max() > 1.02
    low, high = answer.plot().axes[0].get_ylim()
    assert low <= min(line.min(), 0.0) and high >= line.max()
