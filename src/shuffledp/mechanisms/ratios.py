"""Ratios of blankets, computed from logarithms and rounded to the safe side."""

from __future__ import annotations

import math

#: Relative rounding of a ratio of masses.
SLACK = 2.0**-46


def rounded_down(log: float, terms: float) -> float:
    """e^log (at most e^700), rounded down, for an exponent that is a sum of this many terms of size up to 500.

    Examples
    --------
    >>> 0.999999 < rounded_down(0.0, 1.0) < 1.0
    True
    """
    return math.exp(min(log - terms * 1000.0 * 2.0**-52, 700.0)) * (1.0 - SLACK)
