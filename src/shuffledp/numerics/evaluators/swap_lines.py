"""Where the trapezoid sums of the swap bound are taken: abscissa, step and dither of every row (swap.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import few_atoms
from ..pair import FloatArray

#: Deviations per node of the trapezoid sum; a coarse step errs upward, by about exp(-2 (pi/1.1)^2) here, and by about
#: exp(-2 pi/0.55) where the abscissa is the shorter scale.
_STEP, _NARROW = 1.1, 0.55
#: Up to this many rows x values plain floats are faster than arrays.
_FEW_VALUES = 96
#: The exponent c x never exceeds this.
_LARGEST_EXPONENT = 300.0


@dataclass(frozen=True)
class Line:
    """Where the trapezoid sum is taken, one entry per row: abscissa, step, dither."""

    c: FloatArray
    h: FloatArray
    s: FloatArray

    def at(self, rows: np.ndarray) -> Line:
        """Some of the rows."""
        return Line(self.c[rows], self.h[rows], self.s[rows])


@np.errstate(all="ignore")
def saddle(x: FloatArray, t: FloatArray, copies: float | FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """c near the minimum of f(c) = copies log M(c) - 2 log c for every row; also f(c) and copies (log M)''(c).

    Any c is sound; this one makes the phase of M^copies / z^2 vanish to third order.  A law that is never above 0 adds
    nothing: its c is huge, and f = -inf.
    """
    if x.size <= _FEW_VALUES and not isinstance(copies, np.ndarray):
        try:
            found = [
                _saddle_of(values, tuple(mass), copies) for values, mass in zip(x.tolist(), t.tolist(), strict=True)
            ]
            return tuple(np.array(part) for part in zip(*found, strict=True))  # type: ignore[return-value]
        except (ArithmeticError, ValueError):
            pass  # overflow: arrays cope with it
    return _saddles(x, t, copies)


def _saddle_of(x: list[float], t: tuple[float, ...], copies: float) -> tuple[float, float, float]:
    """The same for one law, in plain floats."""
    if max(x) <= 0.0:
        return 1e20 / (max(map(abs, x)) + 1e-280), -math.inf, 0.0
    at = few_atoms.saddle(x, t, copies, most=_LARGEST_EXPONENT)
    return at.c, copies * math.log1p(at.growth) - 2.0 * math.log(at.c), copies * at.variance


@np.errstate(all="ignore")
def _saddles(x: FloatArray, t: FloatArray, copies: float | FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for many laws at once."""
    top = np.maximum(x.max(axis=1), 1e-300)
    mean, square = (t * x).sum(axis=1), (t * x * x).sum(axis=1)
    variance = np.maximum(square - mean * mean, 1e-300)
    drift = copies * mean
    root = np.sqrt(drift * drift + 8.0 * copies * variance)
    c = np.where(drift > 0.0, 4.0 / (root + drift), (root - drift) / (2.0 * copies * variance))
    most = _LARGEST_EXPONENT / top
    c = np.clip(np.where(np.isfinite(c), c, 1.0), 1e-300, most)
    idle = x.max(axis=1) <= 0.0
    low, high = np.zeros(c.size), np.full(c.size, np.inf)  # f is convex: its minimum is between
    for _ in range(40):
        weight = t * np.exp(c[:, None] * x)
        total = 1.0 + (t * np.expm1(c[:, None] * x)).sum(axis=1)
        m1 = (weight * x).sum(axis=1) / total
        bend = copies * np.maximum((weight * x * x).sum(axis=1) / total - m1 * m1, 0.0)
        pull = copies * m1 - 2.0 / c
        low, high = np.where(pull > 0.0, low, c), np.where(pull > 0.0, c, high)
        new = np.minimum(np.clip(c - pull / (bend + 2.0 / (c * c)), 0.3 * c, 3.0 * c), most)
        new = np.where((new < low) | (new > high), np.sqrt(low) * np.sqrt(high), new)  # or it may alternate for ever
        close = idle | (np.abs(new - c) <= 1e-3 * c)
        c = np.where(np.isfinite(new), new, c)
        if close.all():
            break
    total = np.log1p((t * np.expm1(c[:, None] * x)).sum(axis=1))
    height = np.where(idle, -np.inf, copies * total - 2.0 * np.log(c))
    return np.where(idle, 1e20 / (np.abs(x).max(axis=1) + 1e-280), c), height, np.where(idle, 0.0, bend)


def line_at(c: FloatArray, bend: FloatArray, dither: float | FloatArray) -> Line:
    """The step and the dither that suit this abscissa; ``dither`` is in units of the tilted deviation."""
    deviation = np.sqrt(np.maximum(bend, 1e-300))
    deviation = np.maximum(deviation, 1e-3 / c)  # nearly no spread: any positive step and dither are sound
    return Line(c, np.minimum(_STEP / deviation, _NARROW * c), dither * deviation)
