"""One law that dominates the laws of every type: with it, the swap bound needs no modulus (evaluators/swap.py)."""

from __future__ import annotations

import numpy as np

from ..pair import FloatArray

#: Values of X nearer to each other than this part of E(X - a)_+ are joined as one: their slopes would be noise.
_COINCIDE = 2.0**-24


def join(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least law on the values of all types that dominates each type in increasing convex order, row by row.

    E(X - a)_+ of every type is convex in a, and linear between the values.  The largest of them at each value, joined
    by straight lines, is convex again: the same function of a law on these values, whose masses are the changes of
    slope.  They cancel, so the function is summed again from the masses, and all values are raised by the range times
    the largest relative shortfall: as E(Y - a)_+ <= range Pr[Y > a], that repairs it at every a.
    """
    rows = len(x)
    points = np.sort(np.concatenate([x.reshape(rows, -1), np.zeros((rows, 1))], axis=1), axis=1)
    least = np.zeros((rows, points.shape[1]))
    for k in range(x.shape[1]):
        calls = np.maximum(x[:, k, None, :] - points[:, :, None], 0.0) @ t[:, k, :, None]
        nothing = np.maximum(1.0 - t[:, k].sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0)
        least = np.maximum(least, calls[:, :, 0] + nothing)
    step = np.diff(points, axis=1)
    span = (points[:, -1] - points[:, 0])[:, None]
    distinct = step > _COINCIDE * least[:, :-1] + 1e-12 * span
    slope = np.where(distinct, np.diff(least, axis=1) / np.where(distinct, step, 1.0), np.nan)
    slope = np.concatenate([np.full((rows, 1), -1.0), slope, np.zeros((rows, 1))], axis=1)
    for i in range(1, slope.shape[1]):  # values that coincide: the slope before them goes on, which raises the lower
        slope[:, i] = np.where(np.isnan(slope[:, i]), slope[:, i - 1], slope[:, i])
    mass = np.maximum(np.diff(slope, axis=1), 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1.0) * (1.0 + 1e-15)  # a law, whatever the slopes lost
    calls = (np.maximum(points[:, None, :] - points[:, :, None], 0.0) @ mass[:, :, None])[:, :, 0]
    calls += np.maximum(1.0 - mass.sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0)
    short = np.where(least > 0.0, least / np.maximum(calls, 1e-300), 1.0).max(axis=1) - 1.0
    return points + span * (np.maximum(short, 0.0)[:, None] + 1e-12), mass
