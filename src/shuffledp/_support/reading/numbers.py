"""Numbers as they are written, exactly, of bounded length and exponent, in ASCII figures."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

_RATIO = re.compile(r"[0-9]{1,18}/0{0,17}[1-9][0-9]{0,17}", re.ASCII)


@cache
def _decimal(figures: int, exponent: int) -> re.Pattern[str]:
    whole, part = rf"[0-9_]{{0,{figures}}}", rf"(\.[0-9]{{0,{figures}}})?"
    return re.compile(rf"[+-]?(?=\.?[0-9]){whole}{part}([eE][+-]?[0-9]{{1,{exponent}}})?", re.ASCII)


def as_written(text: str, *, figures: int = 40, exponent: int = 3) -> Fraction | None:
    """The exact value of a decimal such as 1_000, 0.05 and 1e-8, or of a ratio such as 1/3; None if it is neither.

    ``figures`` are allowed before the decimal point and after it, and ``exponent`` figures in the exponent:
    1e999999999 is a number that fills the memory.

    Examples
    --------
    >>> as_written("1e-8"), as_written("1/3"), as_written("1e-999999999"), as_written("٣")
    (Fraction(1, 100000000), Fraction(1, 3), None, None)
    """
    if _RATIO.fullmatch(text) or _decimal(figures, exponent).fullmatch(text):
        return Fraction(text.replace("_", ""))
    return None
