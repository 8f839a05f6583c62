"""Amounts in people's units: rounding never makes an error smaller or an interval shorter."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp._support.units import Amount, at_place, error_in, figures, percent, users_of, with_unit

_SIZES = st.floats(min_value=1e-12, max_value=1e18, allow_nan=False)


def _read(text: str) -> Fraction:
    return Fraction(text.split(" ")[0].replace(",", ""))


@given(_SIZES, st.integers(1, 6))
def test_errors_are_rounded_up_and_by_little(x: float, digits: int) -> None:
    found = _read(figures(x, digits, up=True))
    assert Fraction(repr(x)) <= found <= Fraction(repr(x)) * (1 + Fraction(10) ** (1 - digits))


@given(_SIZES, _SIZES, st.floats(0.0, 1.0))
def test_intervals_are_rounded_outward_and_by_little(low: float, width: float, at: float) -> None:
    high = low + width
    if not high > low:
        return
    _, first, last = Amount(low + at * (high - low), low, high).texts
    room = Fraction(high) - Fraction(low)
    assert Fraction(repr(low)) - room / 5 <= _read(first) <= Fraction(repr(low))
    assert Fraction(repr(high)) <= _read(last) <= Fraction(repr(high)) + room / 5


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (users_of(63.2, 1_200_000), "64 of 1,200,000 users"),
        (users_of(0.0, 1), "0 of 1 user"),
        (users_of(float("inf"), 5), "any number of 5 users"),
        (error_in(0.0219, "min"), "0.022 min"),
        (error_in(0.0), "0"),
        (error_in(float("inf"), "s"), "no limit"),
        (percent(0.051), "5.1 %"),
        (with_unit("3", "a\nb"), "3 a\\nb"),
        (figures(float("nan")), "unknown"),
        (at_place(1234.5, 2), "1,200"),
        (str(Amount(12.0, 12.0, 12.0, "min")), "12 min, 95 % from 12 to 12"),
        (str(Amount(3.0, float("-inf"), float("inf"), "", 0.9)), "3, 90 % from no limit to no limit"),
    ],
)
def test_words(found: str, said: str) -> None:
    assert found == said
