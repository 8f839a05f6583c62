"""Victim pairs made from a matrix, and the swap bound on them as exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from reference.randomizers import Matrix, floats
from reference.swap import common_mass
from shuffledp.core.pair import ShuffledPair
from shuffledp.core.swap.curve import SwapCurve
from shuffledp.core.swap.pair import SwapPair


def member(matrix: Matrix, pair: tuple[int, int], mass: Fraction | float | None = None) -> SwapPair:
    """The victim holds one of two inputs, the others any input of the matrix."""
    rows = floats(matrix)
    types = tuple(ShuffledPair(rows[pair[0]], rows[pair[1]], row) for row in rows)
    return SwapPair(types, float(common_mass(matrix) if mass is None else mass))


def log_upper(swap: SwapPair, n: int, eps: Sequence[float], tol: float = 1e-4) -> np.ndarray:
    """log delta at every eps, one row each."""
    curve = SwapCurve.of([swap] * len(eps), np.full(len(eps), float(n)), tol)
    return curve.at(np.array(eps, dtype=float), np.full(len(eps), 1e-4)).log_delta


def upper(swap: SwapPair, n: int, eps: Sequence[float], tol: float = 1e-4) -> list[Fraction]:
    """The swap bound on delta at every eps, as exact numbers."""
    return [Fraction(math.exp(value)) for value in log_upper(swap, n, eps, tol)]
