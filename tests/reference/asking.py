"""One question to the engine room, through its contracts: a table of one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair

Side = Literal["upper", "lower"]


def log_delta(pair: ShuffledPair, n: float, eps: float, rtol: float, side: Side) -> float:
    """log delta of one pair at one eps."""
    curve = PairCurve.of([pair], np.array([float(n)]), side)
    return float(curve.at(np.array([eps]), np.array([rtol])).log_delta[0])


def epsilon(pairs: Sequence[ShuffledPair], *, n: int, delta: float, tol: float, side: Side) -> float:
    """The largest eps of some pairs."""
    return PairSet(pairs).epsilon(n=n, delta=delta, tol=tol, side=side).epsilon
