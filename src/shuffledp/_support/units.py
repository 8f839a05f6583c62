"""Amounts as people say them: a number with its unit, an error that is rounded up, a value with its interval.

One notation for predictions and answers: thousands have commas, exponents are left to what is very small or very large,
and no more figures are shown than the interval supports.  An error is never rounded down, and an interval never inward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from .numbers import round_up
from .text import visible

#: Below and from these sizes numbers are written with an exponent.
_SMALL, _LARGE = 1e-6, 1e15
#: An interval is at least this many times as wide as the last decimal that is shown.
_STEPS = 5.0
_CONTEXT = Context(prec=400)


def figures(x: float, digits: int = 3, *, up: bool = False) -> str:
    """A number in ``digits`` significant figures, or all figures before the point; ``up``: not below x.

    Examples
    --------
    >>> figures(1_234_567.8), figures(0.021934), figures(0.021934, 2, up=True), figures(3e-9)
    ('1,234,568', '0.0219', '0.022', '3e-09')
    """
    if not math.isfinite(x):
        return "unknown" if math.isnan(x) else "no limit"
    if x == 0.0 or not _SMALL <= abs(x) < _LARGE:
        return round_up(x, digits) if up else f"{x:.{digits}g}"
    place = min(math.floor(math.log10(abs(x))) - digits + 1, 0)
    return _trimmed(at_place(x, place, ROUND_CEILING if up else ROUND_HALF_EVEN))


def at_place(x: float, place: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number rounded at this power of ten, with commas between thousands.

    Examples
    --------
    >>> at_place(1234.567, -1), at_place(28.64, -1, ROUND_CEILING), at_place(-0.04, -1)
    ('1,234.6', '28.7', '0.0')
    """
    rounded = Decimal(repr(float(x))).quantize(Decimal(1).scaleb(min(place, 0)), rounding, _CONTEXT)
    if place > 0:
        rounded = Decimal(repr(float(x))).quantize(Decimal(1).scaleb(place), rounding, _CONTEXT).quantize(Decimal(1))
    return f"{abs(rounded) if rounded == 0 else rounded:,f}"


def with_unit(number: str, unit: str = "") -> str:
    """A number and its unit, if it has one.

    Examples
    --------
    >>> with_unit("28.9", "s"), with_unit("28.9")
    ('28.9 s', '28.9')
    """
    return visible(f"{number} {unit}") if unit else number


def error_in(error: float, unit: str = "") -> str:
    """An error in a unit, rounded up to two figures.

    Examples
    --------
    >>> error_in(0.02134, "min"), error_in(1234.2, "ms")
    ('0.022 min', '1,235 ms')
    """
    return with_unit(figures(error, 2, up=True), unit if math.isfinite(error) else "")


def users_of(count: float, users: int) -> str:
    """A number of users, such as the error of a count, rounded up, of how many.

    Examples
    --------
    >>> users_of(63.2, 1_200_000), users_of(0.31, 1000)
    ('64 of 1,200,000 users', 'less than 1 of 1,000 users')
    """
    whole = at_place(count, 0, ROUND_CEILING) if math.isfinite(count) else "any number"
    whole = "less than 1" if 0.0 < count < 1.0 else whole
    return f"{whole} of {users:,} user{'' if users == 1 else 's'}"


def percent(share: float, digits: int = 3, *, up: bool = False) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.6), percent(0.0000527, 2, up=True)
    ('60 %', '0.0053 %')
    """
    return f"{figures(100.0 * share, digits, up=up)} %"


@dataclass(frozen=True)
class Amount:
    """A value with its interval, in its unit.

    Attributes
    ----------
    value, low, high : the value and the ends of its interval
    unit : in words, such as "min"; empty for none
    level : what the interval covers, such as 0.95

    Examples
    --------
    >>> str(Amount(28.913, 28.62, 29.16, "s"))
    '28.9 s, 95 % from 28.6 to 29.2'
    >>> str(Amount(1234567.0, 1234240.0, 1234894.0, "users"))
    '1,234,600 users, 95 % from 1,234,200 to 1,234,900'
    """

    value: float
    low: float
    high: float
    unit: str = ""
    level: float = 0.95

    @property
    def texts(self) -> tuple[str, str, str]:
        """Value, low and high, in the figures that the interval supports, without the unit."""
        width = self.high - self.low
        if not math.isfinite(width) or width <= 0.0:
            return figures(self.value, 5), figures(self.low, 5), figures(self.high, 5)
        place = math.floor(math.log10(width / _STEPS))
        low, high = at_place(self.low, place, ROUND_FLOOR), at_place(self.high, place, ROUND_CEILING)
        return at_place(self.value, place), low, high

    def __str__(self) -> str:
        """For people."""
        value, low, high = self.texts
        return f"{with_unit(value, self.unit)}, {100.0 * self.level:g} % from {low} to {high}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the numbers as they are, and the words."""
        return {**vars(self), "text": str(self)}


def _trimmed(text: str) -> str:
    """Without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text
