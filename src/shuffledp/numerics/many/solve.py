"""The inversion of numerics/solve.py for many rows at once: the eps of every row at which its curve meets its delta.

The steps and the checks are the same: an answer of an "upper" curve satisfies upper(eps) <= delta and one of a "lower"
curve lower(eps) >= delta, evaluated at the returned eps itself, errors included.  A row whose bracket does not become
narrow on the contour, or that does not settle, is reported as open, and is answered on its own (numerics/solve.py).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..evaluators.choose import LARGEST_EPSILON, Side
from ..pair import FloatArray
from .guess import Guesses
from .laws import Found

_STEPS = 36


class Curves(Protocol):
    """What is inverted: one curve per row."""

    @property
    def side(self) -> Side:
        """Which end of the bracket is safe."""

    def at(self, rows: np.ndarray, eps: FloatArray, rtol: FloatArray) -> Found:
        """The curves of some rows, each at its eps."""


class Roots(NamedTuple):
    """eps of every row; ``open`` where it was not found."""

    epsilon: FloatArray
    open: np.ndarray


def solve(curves: Curves, log_delta: FloatArray, *, limit: FloatArray, tol: float, guess: Guesses) -> Roots:
    """eps of every row on the safe side of its curve, to a relative accuracy tol; ``limit`` as in numerics/solve.py."""
    upper = curves.side == "upper"
    rows = log_delta.size
    low, high = np.zeros(rows), np.minimum(limit, LARGEST_EPSILON)
    answer = limit.copy() if upper else np.zeros(rows)
    nudge = 1.0 + 0.3 * tol if upper else 1.0 - 0.3 * tol  # aim a little to the safe side
    eps, slope = guess.epsilon * nudge, guess.slope.copy()
    eps = np.where((low < eps) & (eps < high), eps, _middle(low, high))
    excess = np.zeros(rows)
    low_excess, high_excess = np.full(rows, np.nan), np.full(rows, np.nan)
    failed = np.zeros(rows, dtype=bool)
    act = np.arange(rows)
    for step in range(_STEPS):
        if not act.size:
            break
        at = eps[act]
        fine = np.clip(0.3 * tol * at * slope[act], 1e-8, 0.02)
        rtol = np.minimum(np.maximum(fine, 0.05 * np.abs(excess[act])), 0.02)
        found = curves.at(act, at, rtol)
        with np.errstate(all="ignore"):
            over, fall = found.value - log_delta[act], found.slope
            safe = over <= 0.0 if upper else over >= 0.0
            answer[act[safe]] = at[safe]
            known = safe | (np.abs(over) > 3.0 * rtol) | (rtol <= fine)
            rises = known & (over > 0.0)
            falls = known & ~(over > 0.0)
            low[act[rises]], low_excess[act[rises]] = at[rises], over[rises]
            high[act[falls]], high_excess[act[falls]] = at[falls], over[falls]
            excess[act], slope[act] = over, fall
            # how far the root can be: the curve is convex in E, so an upper one lies above its tangent
            room = -np.expm1(over) / (fall * np.exp(over)) if upper else over / fall
            close = safe & (fall > 0.0) & (rtol <= 1.5 * fine) & (room <= 0.4 * tol * at)
            a, b = low[act], high[act]
            done = close | (b - a <= 0.3 * tol * b)
            target = (at + over / fall) * (1.0 + 0.5 * (nudge - 1.0))
            target = np.where((fall > 0.0) & np.isfinite(over), target, -1.0)
            # a row that may be at 0 is looked at on its own
            failed[act] |= ~done & (~found.narrow | (upper & (target <= 0.0) & (a == 0.0)))
            chord = a + (b - a) * low_excess[act] / (low_excess[act] - high_excess[act])
            chord = np.where(a > 0.0, chord * (1.0 + 0.5 * (nudge - 1.0)), np.nan)
            target = np.where((a < target) & (target < b), target, chord)
            inside = (a < target) & (target < b) & (step % 12 != 11)
            new = np.where(inside, target, _middle(a, b))
        eps[act] = np.where(close, at, new)
        act = act[~(done | failed[act] | (new < 1e-15))]
    failed[act] = True
    return Roots(answer, failed)


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        inner = np.where(high > 2.0 * low, np.sqrt(low * high), 0.5 * (low + high))
    return np.where(low == 0.0, 0.05 * high, inner)
