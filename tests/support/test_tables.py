"""The one table: every format keeps its cells, nothing in a cell acts on a terminal or a page, no digit is lost."""

from __future__ import annotations

import csv
import io
import math
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from shuffledp._support.tables import (
    SHOWN_ROWS,
    Column,
    Table,
    Tabular,
    as_page,
    count_column,
    epsilon_column,
    number_column,
)

HOSTILE = ["<b>x|y</b>", 'a "quoted", cell', "back\\slash", "line\nbreak", "\x1b[2K", "a & b"]


def hostile() -> Table:
    return Table(
        (
            Column(name="word", head="<i>word</i>", values=HOSTILE),
            number_column("x", "x", [0.1 + 0.2] * 5 + [None], ["0.31"] * 5 + [""]),
            Column(name="hidden", values=range(6)),
            Column(head="shown", values=["s"] * 6),
            Column(name="source", head="source", values=["<u>"] * 6, wide=True),
        ),
        caption="<script>",
        notes=("<note> & more",),
    )


class Cells(HTMLParser):
    """The texts of the rows of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")
        if self.inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def test_text_is_aligned_and_shows_what_would_act() -> None:
    lines = hostile().text().split("\n")
    assert len(lines) == 8 and len({len(line) for line in lines[2:]}) == 1
    assert lines[0].split() == ["<i>word</i>", "x", "shown"] and set(lines[1]) == {"-", " "}
    assert "\\x1b[2K" in lines[6] and all(line.isprintable() for line in lines)
    assert str(hostile()) == hostile().text()


def test_html_is_escaped_and_keeps_its_cells() -> None:
    page = hostile().html()
    for tag in ("<b>", "<i>", "<u>", "<script", "<note"):
        assert tag not in page
    reader = Cells()
    reader.feed(page)
    assert reader.rows[0] == ["<i>word</i>", "x", "shown", "source"]
    assert [row[0] for row in reader.rows[1:]] == HOSTILE
    assert [row[1] for row in reader.rows[1:]] == ["0.31"] * 5 + [""]
    assert "text-align:right" in page and "&lt;note&gt; &amp; more" in page
    whole = as_page("<t>", page)
    assert whole.startswith("<!DOCTYPE html>") and page in whole and "<t>" not in whole


def test_marks_are_classes() -> None:
    table = Table((Column(head="verdict", values=["holds", "fails"], marks=['v "x"', ""]),))
    assert '<span class="v &quot;x&quot;">holds</span>' in table.html() and ">fails</td>" in table.html()


def test_a_long_table_is_cut_in_notebooks_only() -> None:
    class Long(Tabular):
        def table(self) -> Table:
            return Table((count_column("n", "n", range(1000)),), caption="long")

    shown, page = Long()._repr_html_(), Long().to_html()
    assert shown.count("<td") == SHOWN_ROWS and f"{SHOWN_ROWS} of 1,000 rows" in shown
    assert page.count("<td") == 1000 and "of 1,000 rows" not in page
    assert Long().to_csv().count("\n") == 1001 and len(Long().to_frame()) == 1000


def test_markdown_keeps_its_cells() -> None:
    lines = hostile().markdown().split("\n")
    assert len(lines) == 8 and lines[1] == "| --- | ---: | --- |"
    assert "| <b>x\\|y</b> |" in lines[2] and "back\\\\slash" in lines[4] and "| line break |" in lines[5]


def test_csv_and_frame_carry_full_values() -> None:
    head, *rows = csv.reader(io.StringIO(hostile().csv()))
    assert head == ["word", "x", "hidden", "source"] and [row[0] for row in rows] == HOSTILE
    assert float(rows[0][1]) == 0.1 + 0.2 and rows[5][1] == ""
    frame = hostile().frame()
    assert list(frame.columns) == head and frame["x"][0] == 0.1 + 0.2 and frame["x"].isna().tolist()[5]
    assert str(frame["x"].dtype) == "Float64" and len(hostile()) == 6


def test_no_pandas_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sdp.ShuffleDPError, match=r"^[^\n]*pip install '\.\[frame\]' in a checkout of shuffledp\.$"):
        hostile().frame()


def test_facts_have_no_header() -> None:
    facts = Table.facts([("n", "1,000"), ("note", ""), ("bound", "blanket")], notes=["said"])
    assert facts.text() == "n      1,000\nbound  blanket"
    assert "<thead>" not in facts.html() and facts.html().count("<tr>") == 2 and "<p>said</p>" in facts.html()


def test_an_empty_table() -> None:
    empty = Table((Column(name="a", head="a", values=[]), count_column("n", "n", [])))
    assert empty.text().split("\n")[0].split() == ["a", "n"] and empty.csv() == "a,n\n" and len(empty.frame()) == 0
    assert empty.html().count("<td") == 0 and empty.texts == []


@given(st.lists(st.floats(0, 1e6) | st.just(math.inf), min_size=1, max_size=5))
def test_an_epsilon_is_shown_rounded_up(values: list[float]) -> None:
    for text, value in zip(epsilon_column("epsilon", "eps", values).shown, values, strict=True):
        assert text == "none" if math.isinf(value) else float(text) >= value
