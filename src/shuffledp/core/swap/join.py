"""One law that dominates the laws of every type: with it, the swap sum needs no modulus (sums.log_upper)."""

from __future__ import annotations

import numpy as np

from ..ledger import charge
from ..pair import FloatArray

#: Values of X nearer to each other than this part of E(X - a)_+ are joined as one: their slopes would be noise.
_COINCIDE = 2.0**-24


def join(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least law on the values of all types (row, type, symbol) that dominates each in increasing convex order.

    E(X - a)_+ of every type is convex in a, and linear between the values.  The largest of them at each value, joined
    by straight lines, is convex again: the same function of a law on these values, whose masses are the changes of
    slope.
    """
    rows = len(x)
    points = np.sort(np.concatenate([x.reshape(rows, -1), np.zeros((rows, 1))], axis=1), axis=1)
    least = np.max([_excess(x[:, k], t[:, k], points) for k in range(x.shape[1])], axis=0)
    step, span = np.diff(points, axis=1), (points[:, -1] - points[:, 0])[:, None]
    apart = step > _COINCIDE * least[:, :-1] + 1e-12 * span
    slope = np.where(apart, np.diff(least, axis=1) / np.where(apart, step, 1.0), np.nan)
    slope = np.concatenate([np.full((rows, 1), -1.0), slope, np.zeros((rows, 1))], axis=1)
    for i in range(1, slope.shape[1]):  # values that coincide: the slope before them goes on, which raises the lower
        slope[:, i] = np.where(np.isnan(slope[:, i]), slope[:, i - 1], slope[:, i])
    mass = np.maximum(np.diff(slope, axis=1), 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1.0) * (1.0 + 1e-15)  # a law, whatever the slopes lost
    return raised_values(points, mass, least, span), mass


def _excess(x: FloatArray, t: FloatArray, points: FloatArray) -> FloatArray:
    """E(X - a)_+ at every point a; "nothing" counts as the value 0."""
    excess = (np.maximum(x[:, None, :] - points[:, :, None], 0.0) @ t[:, :, None])[:, :, 0]
    return np.asarray(excess + np.maximum(1.0 - t.sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0))


@charge("rounding of the law that dominates all types", "docs/swap.md, one dominating law")
def raised_values(points: FloatArray, mass: FloatArray, least: FloatArray, span: FloatArray) -> FloatArray:
    """The values of Y, raised so that E(Y - a)_+ is at least ``least`` at every a, as the masses lost digits.

    E(Y - a)_+ is summed again from the masses.  As it is at most range Pr[Y > a], raising all values by the range times
    the largest relative shortfall repairs it at every a.
    """
    excess = _excess(points, mass, points)
    short = np.where(least > 0.0, least / np.maximum(excess, 1e-300), 1.0).max(axis=1) - 1.0
    return np.asarray(points + span * (np.maximum(short, 0.0)[:, None] + 1e-12))
