"""Where the roots of many rows are likely to be: numerics/solve.py's saddle-point guess, for all rows at once.

Nothing here is trusted: the search only starts there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..evaluators.choose import LARGEST_EPSILON
from ..pair import FloatArray
from .laws import Laws

_STEPS = 40


class Guesses(NamedTuple):
    """Approximate roots, and |d log delta / d eps| there."""

    epsilon: FloatArray
    slope: FloatArray


@np.errstate(all="ignore")
def guess_epsilons(laws: Laws, log_delta: FloatArray, limit: FloatArray) -> Guesses:
    """eps of every row by the saddle-point approximation of delta, with its first correction."""
    rows = log_delta.size
    half = 0.5 * np.minimum(limit, 1.0)
    eps = _gaussian(laws, log_delta)
    eps = np.where((eps > 0.0) & (eps < limit), eps, half)
    fall = 1.0 / eps
    c, low, high = np.zeros(rows), np.zeros(rows), np.minimum(limit, LARGEST_EPSILON)
    open_ = np.arange(rows)
    for _ in range(_STEPS):
        if not open_.size:
            break
        here = _Here(laws, open_, eps[open_], c[open_])
        alive = here.top > 0.0
        excess, slope = here.height - log_delta[open_], here.slope
        broken = alive & ~((slope > 0.0) & np.isfinite(slope) & np.isfinite(excess))
        at = eps[open_]
        below = alive & (excess > 0.0)
        lows, highs = np.where(below, at, low[open_]), np.where(below, high[open_], at)
        new = at + excess / slope
        new = np.where(alive & (lows < new) & (new < highs), new, 0.5 * (lows + highs))
        settled = (np.abs(new - at) <= 2e-3 * at) & (np.abs(here.pull) <= 0.01 * np.sqrt(here.bend)) & alive
        squeezed = highs - lows <= 1e-3 * highs
        low[open_] = np.where(squeezed, 0.0, lows)
        high[open_] = np.where(squeezed, np.minimum(limit[open_], LARGEST_EPSILON), highs)
        c[open_] = np.where(alive, here.next, 0.0)
        fall[open_] = np.where(broken, 1.0 / at, np.where(alive, slope, fall[open_]))
        eps[open_] = np.where(broken, at, new)
        open_ = open_[~(settled | broken)]
    bad = ~((eps > 0.0) & np.isfinite(eps) & np.isfinite(fall))
    return Guesses(np.where(bad, half, eps), np.where(bad, 1.0 / half, fall))


class _Here:
    """The approximation at one eps and one abscissa c per row (c = 0: the leading order for it)."""

    def __init__(self, laws: Laws, rows: np.ndarray, eps: FloatArray, c: FloatArray) -> None:
        t, v, n = laws.t[rows], laws.v[rows], laws.n[rows]
        x = laws.gap[rows] - np.expm1(eps)[:, None] * v
        self.top = x.max(axis=1)
        mean, square = _dot(t, x), _dot(t * x, x)
        first = (np.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
        c = np.minimum(np.where(c == 0.0, first, c), 500.0 / np.maximum(self.top, 1e-300))
        grown = np.expm1(c[:, None] * x)
        growth = _dot(t, grown)
        total = 1.0 + growth
        weight = t * (1.0 + grown)
        moments = []
        power = weight
        for _ in range(4):
            power = power * x
            moments.append(power.sum(axis=1) / total)
        m1, m2, m3, m4 = moments
        # derivatives of phi(c) = n K(c) - 2 log c
        self.pull = n * m1 - 2.0 / c
        self.bend = n * np.maximum(m2 - m1 * m1, 0.0) + 2.0 / c**2
        third = n * (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) - 4.0 / c**3
        fourth = n * (m4 - 4.0 * m1 * m3 - 3.0 * m2**2 + 12.0 * m1**2 * m2 - 6.0 * m1**4) + 12.0 / c**4
        curl = fourth / (8.0 * self.bend**2) - 5.0 * third**2 / (24.0 * self.bend**3)
        height = n * np.log1p(growth) - 2.0 * np.log(c) - 0.5 * self.pull**2 / self.bend
        height += np.log1p(np.clip(curl, -0.5, 0.5)) - 0.5 * np.log(2.0 * math.pi * self.bend)
        #: log delta, and -d(log delta)/d(eps)
        self.height = height - np.log(n)
        self.slope = np.exp(eps) * c * n * _dot(weight, v) / total
        #: the abscissa after one step of Newton's method
        self.next = np.clip(c - self.pull / self.bend, 0.3 * c, 3.0 * c)


def _gaussian(laws: Laws, log_delta: FloatArray) -> FloatArray:
    """eps by the leading order delta ~ (sigma/sqrt n) (phi(u) - u Phi(-u)), u = sqrt(n) (E - 1)/sigma.

    Mills' ratio Phi(-u)/phi(u) is taken as 4/(3u + sqrt(u^2 + 8)), which is close for the u that matter.
    """
    sigma = np.sqrt(laws.spread / laws.n)
    target = log_delta - np.log(sigma)
    u = np.ones(sigma.size)
    for _ in range(12):
        mills = 4.0 / (3.0 * u + np.sqrt(u * u + 8.0))
        value = np.maximum(1.0 - u * mills, 1e-6)
        log_value = np.log(value) - 0.5 * u * u - 0.5 * math.log(2.0 * math.pi)
        u = np.minimum(np.maximum(u + (log_value - target) * value / mills, 0.2 * u), 36.0)
    return np.log1p(u * sigma)


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", a, b))
