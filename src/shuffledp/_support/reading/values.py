"""What a user's value is as a number, a label or a list: one reader for queries, engines and programs.

docs/shuffler/laws.md defines it for other languages, and ``clients/vectors/reading-*.json`` says what all must read.
"""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

#: What may stand around a number, or a part of a text; whole numbers up to EXACT are exact in every language.
BLANKS, EXACT = " \t\n\r\f\v", 2.0**53
_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def number(value: object) -> float:
    """The number that a value is, or that a text spells in decimals of ASCII digits; NaN where it is none.

    Examples
    --------
    >>> number(" 2.50 "), number("-.5e1"), number(True), number(float("inf"))
    (2.5, -5.0, 1.0, inf)
    >>> [number(text) for text in ("N/A", "2,5", "1_000", "inf", "nan", "\u0663", "\u00a03", "0x10")]
    [nan, nan, nan, nan, nan, nan, nan, nan]
    """
    if isinstance(value, str):  # first: the most common, and an abstract class takes long to deny
        return float(value) if _DECIMAL.fullmatch(value) else float("nan")
    if not isinstance(value, Real | Decimal | np.bool_):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]
    except ValueError:  # a signaling NaN
        return float("nan")


def label_key(value: object) -> tuple[type, Any]:
    """A value as labels are written: 3.0 is the whole number 3; what cannot be a label equals none.

    Examples
    --------
    >>> label_key(3.0), label_key("3"), label_key(True), label_key([3])
    ((<class 'int'>, 3), (<class 'str'>, '3'), (<class 'bool'>, True), (<class 'NoneType'>, None))
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal):
        found = number(value)
        value = int(found) if abs(found) < EXACT and found == int(found) == value else value
    return (type(value), value) if isinstance(value, str | int | bool) else (type(None), None)
