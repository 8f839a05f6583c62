"""Every value becomes an input, whatever it is; declarations that make no sense are refused in one sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.queries.columns import Coded, as_numbers, concatenated
from shuffledp.queries.domains import Interval, Labels

ODD = [
    None,
    float("nan"),
    b"x",
    [],
    {},
    object(),
    10**400,
    -(10**400),
    Decimal("3.5"),
    Decimal("sNaN"),
    datetime.date(2026, 1, 1),
    "",
    True,
]


def test_labels_of_every_kind() -> None:
    domain = Labels(("a", 1, True, "1"))
    assert domain.names == ("a", "1", "True", "'1'", "other")
    assert Labels((1, 2), "2").names == ("1", "2", "'2'")
    assert domain.places(["a", 1, True, "1", 1.0, np.int8(1), np.True_, "A", 2]).tolist() == [0, 1, 2, 3, 1, 1, 2, 4, 4]
    assert domain.places(ODD[:-1]).tolist() == [4] * (len(ODD) - 1)


def test_numbers_are_found_in_a_table_and_far_apart() -> None:
    for labels in (tuple(range(5, 133)), (3, 10**12, -7)):
        domain = Labels(labels)
        values = np.array([*labels, 4, 133, 10**15, -1])
        slow = [labels.index(v) if v in labels else len(labels) for v in values.tolist()]
        for column in (values, values.astype(np.float64), values.tolist()):
            assert domain.places(column).tolist() == slow
        assert domain.places(np.array([np.nan, np.inf, -np.inf, 5.5, 1e300])).tolist() == [len(labels)] * 5
    small = Labels(tuple(range(200)))
    assert small.places(np.array([0, 199, 255], dtype=np.uint8)).tolist() == [0, 199, 200]
    assert small.places(np.array([-128, 5], dtype=np.int8)).tolist() == [200, 5]
    assert small.places(np.array([2**64 - 1, 7], dtype=np.uint64)).tolist() == [200, 7]


def test_other_may_be_one_of_the_labels() -> None:
    domain = Labels(("yes", "no"), "no")
    assert domain.size == 2 and domain.places(["yes", None, "maybe"]).tolist() == [0, 1, 1]


def test_codes() -> None:
    coded = Coded(np.array([0, -1, 1, 0]), ["b", "zz"])
    assert Labels(("a", "b")).places(coded).tolist() == [1, 2, 2, 1]
    assert np.array_equal(as_numbers(Coded(np.array([1, -1, 0]), ["x", 2.5])), [2.5, np.nan, np.nan], equal_nan=True)
    assert concatenated([np.array([1]), np.array([2])]).tolist() == [1, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("labels", "other", "said"),
    [
        ("abc", "other", "labels must be a list"),
        ((), "other", "labels must be 1 to"),
        (("a", "a"), "other", "labels must be different, got 'a' twice"),
        ((1.5,), "other", "a label must be a text"),
        ((None,), "other", "a label must be a text"),
        (("x" * 2000,), "other", "a label must have at most"),
        (("a",), "a", "labels must give at least two options"),
        (7, "other", "labels must be a list"),
    ],
)
def test_bad_labels(labels: object, other: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Labels(labels, other)  # type: ignore[arg-type]


def test_numbers_are_clipped_and_missing_ones_declared() -> None:
    domain = Interval(-10.0, 30.0, missing=0.0, unit="C")
    assert domain.clipped(np.array([-50.0, 5.0, np.nan, np.inf, -np.inf])).tolist() == [-10.0, 5.0, 0.0, 30.0, -10.0]
    clipped = domain.clipped(ODD)
    assert (
        np.all((clipped >= -10.0) & (clipped <= 30.0))
        and clipped[6] == 30.0
        and clipped[7] == -10.0
        and clipped[8] == 3.5
    )
    assert domain.bins([-10, 29.999, 30, None], 4).tolist() == [0, 3, 3, 1]
    assert domain.edges(4).tolist() == [-10.0, 0.0, 10.0, 20.0, 30.0] and domain.words(5.0) == "5 C"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1.0, 1.0, 1.0), "high must be above low"),
        ((0.0, 1.0, 2.0), "missing must lie in"),
        ((float("nan"), 1.0, 0.0), "low must be a number"),
        ((0.0, float("inf"), 0.0), "high must lie in"),
        ((0.0, 1.0, 0.0, "x" * 50), "unit must be a short text"),
    ],
)
def test_bad_ranges(given: tuple[float, ...], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Interval(*given)  # type: ignore[arg-type]
