"""Small laws that several mechanisms need: independent symbols, and ratios of blankets rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Relative rounding of a ratio of masses.
SLACK = 2.0**-46


def independent(*factors: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of independent symbols, one entry per combination.

    Examples
    --------
    >>> independent([0.25, 0.75], [0.5, 0.5]).tolist()
    [0.125, 0.125, 0.375, 0.375]
    """
    law = np.ones(1)
    for factor in factors:
        law = np.outer(law, np.asarray(factor)).reshape(-1)
    return law


def rounded_down(log: float, terms: float) -> float:
    """e^log (at most e^700), rounded down, for an exponent that is a sum of this many terms of size up to 500.

    Examples
    --------
    >>> 0.999999 < rounded_down(0.0, 1.0) < 1.0
    True
    """
    return math.exp(min(log - terms * 1000.0 * 2.0**-52, 700.0)) * (1.0 - SLACK)
