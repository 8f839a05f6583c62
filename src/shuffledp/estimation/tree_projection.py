"""The nearest consistent frequencies on a tree: least squares with leaves >= 0, solved exactly.

Let z_v be the estimate at node v and y_v its frequency, the sum of its children's.  To minimize the sum of
(y_v - z_v)^2/2 over leaves >= 0 with a fixed total, let g_v(mu) be the best y_v if every unit of it earns mu, and
G_v = sum of g_c over the children c.  A leaf has g(mu) = max(0, z + mu).  A node hands its children
lambda = mu + z_v - y_v a unit, so lambda + G_v(lambda) = mu + z_v and g_v(mu) = G_v(lambda).  With G_v convex,
rising and piecewise linear, so is g_v: its slope S becomes S/(1+S) and its kinks move from lambda to
lambda + G_v(lambda) - z_v.  Upwards the kinks of siblings are merged; at the root the total is 1, which
gives mu; downwards each node passes lambda on.  (Hay, Rastogi, Miklau, Suciu, PVLDB 2010, without the sign constraint.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._support.arrays import FloatArray, IntArray


class _Kinks(NamedTuple):
    """G of every node of a level: kinks in rising order, node after node."""

    first: IntArray  # place of the first kink of every node
    at: FloatArray  # lambda of a kink
    slope: FloatArray  # of G after it
    value: FloatArray  # of G at it


def nearest_tree(value: FloatArray, sizes: tuple[int, ...], branching: int) -> FloatArray:
    """The nearest point to ``value`` (levels one after the other, leaves first) with consistent levels of sum 1.

    >>> nearest_tree(np.array([0.5, 0.4, 0.2, 0.9, 0.1]), (3, 2), 2).round(3).tolist()
    [0.486, 0.386, 0.129, 0.871, 0.129]
    """
    levels = np.split(value, np.cumsum(sizes)[:-1])
    owner, at, gain = np.arange(sizes[0]), -levels[0], np.ones(sizes[0])
    climbed: list[tuple[_Kinks, FloatArray]] = []
    for z in levels[1:]:
        owner = owner // branching
        order = np.lexsort((at, owner))
        owner, kinks = owner[order], _merged(owner[order], at[order], gain[order], z.size)
        before = kinks.slope - gain[order]
        moved = kinks.at + kinks.value - z[owner]
        climbed.append((kinks, moved))
        at, gain = moved, gain[order] / ((1.0 + before) * (1.0 + kinks.slope))
    order = np.argsort(at)
    root = _merged(np.zeros(at.size, dtype=np.int64), at[order], gain[order], 1)
    last = int(np.searchsorted(root.value, 1.0, side="right")) - 1
    mu = np.full(sizes[-1], root.at[last] + (1.0 - root.value[last]) / root.slope[last])
    for (kinks, moved), z, below in zip(climbed[::-1], levels[:0:-1], levels[-2::-1], strict=True):
        count = np.diff(kinks.first, append=moved.size)
        passed = np.add.reduceat((moved <= np.repeat(mu, count)).astype(np.int64), kinks.first)
        k = np.maximum(kinks.first + passed - 1, 0)
        earned = np.where(passed > 0, kinks.at[k] + (mu - moved[k]) / (1.0 + kinks.slope[k]), mu + z)
        mu = earned[np.arange(below.size) // branching]
    out = [np.maximum(levels[0] + mu, 0.0)]
    out[0] /= out[0].sum()  # rounding
    for _ in sizes[1:]:
        out.append(np.add.reduceat(out[-1], np.arange(0, out[-1].size, branching)))
    return np.concatenate(out)


def _merged(owner: IntArray, at: FloatArray, gain: FloatArray, nodes: int) -> _Kinks:
    """The sum of the functions gain (lambda - at)_+ of every owner; both sorted by owner, then by place."""
    first = np.searchsorted(owner, np.arange(nodes))
    slope = _running(gain, first)
    gap = np.diff(at, prepend=at[:1])
    gap[first] = 0.0
    return _Kinks(first, at, slope, _running((slope - gain) * gap, first))


def _running(x: FloatArray, first: IntArray) -> FloatArray:
    """Cumulative sums that start again at every ``first``."""
    total = np.cumsum(x)
    start = total[first] - x[first]
    return np.asarray(total - np.repeat(start, np.diff(first, append=x.size)))
