"""Values that are not what they should be: counted by column and kind, and never a reason to stay silent."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.errors import ParameterError
from shuffledp.queries.base import Query, query_from
from shuffledp.queries.columns import Coded, Written

q = sdp.queries
KINDS = ("missing", "unreadable", "below", "above", "unlisted")


def kinds(query: Query, *columns: Any) -> dict[str, tuple[int, ...]]:
    """Values, then those of each kind, by column."""
    found = query.value_counts(columns).to_dict()
    return {name: tuple(one[kind] for kind in ("values", *KINDS)) for name, one in found.items()}


def wait(**more: Any) -> Any:
    return q.RangeQuery(**{"column": "wait", "low": 0, "high": 60, "bins": 4, "mechanism": "grr:eps0=4", **more})


ODD = [
    12,
    "12.5",
    None,
    float("nan"),
    " ",
    "nan",
    "2,5",
    "N/A",
    datetime.date(2026, 1, 1),
    b"7",
    -3,
    90,
    10**400,
    "1e3",
]
OF_ODD = (14, 4, 4, 1, 3, 0)


@pytest.mark.parametrize("query", [wait(missing=0), q.Mean(column="wait", low=0, high=60, mechanism="laplace:eps0=1")])
def test_numbers(query: Query) -> None:
    assert kinds(query, ODD) == {"wait": OF_ODD}
    codes = np.array([*range(len(ODD)), -1, 0])
    more = (OF_ODD[0] + 2, OF_ODD[1] + 1, *OF_ODD[2:])
    assert kinds(query, Coded(codes, ODD)) == {"wait": more}
    for kind in (np.float64, np.float32):
        assert kinds(query, np.array([1.0, np.nan, -1.0, 61.0, np.inf], dtype=kind)) == {"wait": (5, 1, 0, 1, 2, 0)}
    assert kinds(query, np.array([1, -1, 61], dtype=np.int8)) == {"wait": (3, 0, 0, 1, 1, 0)}
    assert kinds(query, [True, Decimal("3.5"), Decimal("sNaN"), object()]) == {"wait": (4, 1, 1, 0, 0, 0)}


def test_labels() -> None:
    fruit = q.Histogram(column="fruit", labels=["apple", "Pear", 3, True], mechanism="grr:eps0=2")
    values = ["apple", " apple", "APPLE", " pear ", "plum", None, float("nan"), "", 3, 3.0, True, "other", [1]]
    assert kinds(fruit, values) == {"fruit": (13, 3, 0, 0, 0, 5)}
    said = str(fruit.value_counts([values]))
    assert "1 of these only because of surrounding blanks" in said and "2 of these only because of letter case" in said
    written = [Written(text) for text in ("3", "3.0", "true", "Pear ", "x")]
    assert kinds(fruit, written) == {"fruit": (5, 0, 0, 0, 0, 2)}
    numbers = q.Histogram(column="x", labels=[1, 2, 3], other=3, mechanism="grr:eps0=2")
    for column in (np.array([1, 3, 3, 9]), np.array([1.0, 3.0, 3.0, 9.0]), [1, 3, 3, 9]):
        assert kinds(numbers, column) == {"x": (4, 0, 0, 0, 0, 1)}
    assert kinds(numbers, np.array([1.0, np.nan, 1.5])) == {"x": (3, 1, 0, 0, 0, 1)}
    both = q.Marginals(labels={"sex": ["F", "M"], "age": [1, 2]}, mechanism="grr:eps0=2")
    assert kinds(both, ["F", "f", None], [1, 2, 7]) == {"sex": (3, 1, 0, 0, 0, 1), "age": (3, 0, 0, 0, 0, 1)}


def test_lists_pairs_places_vectors_and_strings() -> None:
    basket = q.SetFrequency(column="b", labels=["tea", "milk"], size=1, mechanism="privset:eps0=4")
    assert kinds(basket, [["tea", "gold"], [], None, "milk"]) == {"b": (4, 1, 0, 0, 0, 1)}
    rating = {"keys": ["tea", "milk"], "size": 2, "low": 0, "high": 10, "mechanism": "pckv-grr:eps0=5"}
    pairs = [{"tea": 8, "gold": 11}, {"milk": "x"}, [("tea", -1), 7], None]
    assert kinds(q.KeyValue(column="r", missing=0, **rating), pairs) == {"r": (6, 1, 2, 1, 1, 1)}
    two = q.KeyValue(column=("k", "v"), missing=0, **rating)
    assert kinds(two, [["tea", "x"], "milk"], [[1, 99], None]) == {"k": (3, 0, 0, 0, 0, 1), "v": (3, 1, 0, 0, 1, 0)}
    town = q.Location(column=("x", "y"), west=0, east=6, south=0, north=4, across=3, up=2, eps=1.0, missing=(0, 0))
    assert kinds(town, [1, 7, None], [-1, 2, "n"]) == {"x": (3, 1, 0, 0, 1, 0), "y": (3, 0, 1, 1, 0, 0)}
    step = q.VectorMean(column=("a", "b"), norm=5.0, mechanism="privunit:eps0=4")
    found = kinds(step, [3.0, 30.0, None], [4.0, "x", 1.0])
    assert found == {"a": (3, 1, 0, 0, 0, 0), "b": (3, 0, 1, 0, 0, 0), "(a, b)": (3, 0, 0, 0, 1, 0)}
    tail = q.HeavyHitters(column="t", length=3, mechanism="prefix-hash:eps0=4")
    assert kinds(tail, ["N10", 7, None, 1.5, b"x"]) == {"t": (5, 1, 1, 0, 0, 0)}


def test_counts_of_parts_add_up() -> None:
    query = wait(missing=0)
    whole = query.value_counts([ODD])
    parts = query.value_counts([ODD[:5]]) + query.value_counts([[1.0]]) + query.value_counts([ODD[5:]])
    assert parts.to_dict()["wait"] == {**whole.to_dict()["wait"], "values": len(ODD) + 1}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 1, 1, None], "'wait' may be missing, got 25 % (1 of 4); check that this is the column"),
        (
            [1, 1, 1, "2,5"],
            "'wait' may be unreadable as a number or text, got 25 % (1 of 4); write numbers such as 2.5",
        ),
        ([1, 1, 1, -5], "'wait' may be clipped below, got 25 % (1 of 4); check the column and its unit"),
        ([1000.0] * 9 + [1], "'wait' may be clipped above, got 90 % (9 of 10); check the column and its unit"),
    ],
)
def test_more_than_a_fifth_is_refused(values: list[Any], said: str) -> None:
    found = wait(missing=0).value_counts([values])
    with pytest.raises(ParameterError) as caught:
        found.check(accept=False)
    assert said in str(caught.value) and str(caught.value).endswith("--accept on the command line).")
    found.check(accept=True)
    wait(missing=0).value_counts([[1, 1, 1, 1, values[0] and None]]).check(accept=False)  # a fifth is not more


@pytest.mark.parametrize(("value", "word"), [(" Ideal/E ", "surrounding blanks"), ("ideal/e", "letter case")])
def test_what_is_nearly_a_label_is_named(value: str, word: str) -> None:
    cut = q.Histogram(column="cut", labels=["Ideal/E", "Good/D"], mechanism="grr:eps0=2")
    with pytest.raises(ParameterError, match=rf"100 %.*10 of them differ from a label by {word} alone: correct"):
        cut.value_counts([[value] * 10]).check(accept=False)


@pytest.mark.parametrize("labels", [["0", "1"], [0, 1], ["True", "False"]])
def test_numbers_that_are_texts_and_the_reverse_are_named(labels: list[Any]) -> None:
    bits = q.Histogram(column="bit", labels=labels, mechanism="grr:eps0=2")
    texts = isinstance(labels[0], str)
    columns: list[Any] = [[1, 0.0, 10**5000], np.array([1, 0, 7]), np.array([1.0, np.nan, 1e300, 0.5, 0.0])]
    if labels == ["True", "False"]:
        columns = [[True, False, "true"]]
    for column in columns if texts else [["1", "0", "x"], Coded(np.array([0, 1]), ["1", "0"])]:
        assert "2 of these only because of their type (text or number)" in str(bits.value_counts([column]))
    assert "type" not in str(bits.value_counts([labels * 2 + [None, "x", [1], {}]]))


def test_a_label_that_takes_in_others_is_named() -> None:
    bits = q.Histogram(column="bit", labels=["0", "1"], other="0", mechanism="grr:eps0=2")
    said = "of values of 'bit', missing and unlisted ones count as '0'"
    tally = bits.randomizer.privatize_counts(bits.encode([["1", None] * 50]))
    assert said in sdp.Plan(query=bits, users=100, delta=1e-6).statement() and said in repr(bits.answer(tally))
    assert not q.Histogram(column="bit", labels=["0", "1"], mechanism="grr:eps0=2").clipping
    pair = {"a": ["x", "y"], "b": ["u", "v"]}
    assert "count as 'v'" in q.Marginals(labels=pair, other="v", mechanism="grr:eps0=2").clipping
    assert not q.Marginals(labels=pair, mechanism="grr:eps0=2").clipping


@pytest.mark.parametrize(
    "query",
    [
        wait(),
        q.Mean(column="wait", low=0, high=60, mechanism="laplace:eps0=1"),
        q.Location(column=("wait", "y"), west=0, east=6, south=0, north=4, across=3, up=2, eps=1.0),
        q.KeyValue(column=("k", "wait"), keys=[0, 1], size=1, low=0, high=9, mechanism="pckv-grr:eps0=2"),
    ],
)
def test_missing_must_be_said(query: Query) -> None:
    """One value suffices, and accepting does not say what it counts as; a client on its own still sends."""
    column = [[0.0] * 1000 for _ in query.columns]
    query.value_counts(column).check(accept=False)
    for odd in (None, "unknown"):
        column[query.columns.index("wait")][7] = odd
        for accept in (False, True):
            with pytest.raises(ParameterError, match=r"missing must be set .* in the column 'wait'.*'option'"):
                query.value_counts(column).check(accept=accept)
    plan = sdp.Plan(query=query, users=1000, delta=1e-6)
    assert len(sdp.Client(plan).report(None)) == len(
        sdp.Client(plan).report([0.0] * len(query.columns) if query.columns[1:] else 0.0)
    )
    if query.kind != "key-value":  # users with fewer rows hold no key there
        with pytest.raises(
            ParameterError, match="missing of the query must be declared if users with fewer than 2 rows"
        ):
            sdp.Plan(query=query, users=1000, delta=1e-6, reports_per_user=2, user_column="u")


def test_plan_files_of_earlier_versions_are_read() -> None:
    """They state the middle of the range, which was the default."""
    old = {
        "kind": "mean",
        "column": "x",
        "low": 0.0,
        "high": 10.0,
        "missing": 5.0,
        "unit": "",
        "mechanism": "laplace:eps0=1",
    }
    assert query_from(old).to_dict() == old
    for made in (wait(), wait(missing=3), wait(missing="option")):
        assert query_from(json.loads(json.dumps(made.to_dict()))) == made


@pytest.mark.heavy
def test_clipping_is_said_with_the_answer() -> None:
    said = "are clipped to [0, 60 min], and missing ones count as 5 min"
    query = wait(unit="min", missing=5)
    m = query.randomizer
    answer = query.answer(m.tally(m.privatize(query.encode([np.arange(60.0)]))))
    assert said in repr(answer) and said in answer.table().caption and said in answer.range(0, 30).note
    assert said in answer.fitted().note and said in repr(answer.top(2))
    plan = sdp.Plan(query=query, users=60, delta=1e-6)
    assert f"In the answer, values of 'wait' {said}." in plan.statement()
    mean = q.Mean(column="wait", low=0, high=60, unit="min", missing=5, mechanism="laplace:eps0=1")
    assert said in sdp.Plan(query=mean, users=60, delta=1e-6).statement() and "clipped" in mean.clipping
