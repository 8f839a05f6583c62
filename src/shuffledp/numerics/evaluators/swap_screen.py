"""A cheap upper bound on the swap sums of many types on one line, to decide which of them need an evaluation.

With X' an independent copy of X under the tilted law, |M(c+iy)/M(c)|^2 = E cos(y(X - X')), so with V its variance and
m4 = E(X - X')^4

    |M(c+iy)/M(c)| <= exp(-max( (V y^2 - m4 y^4/24)/2, (2/pi^2) V y^2 ))      for y <= pi/range(X).

Beyond that the modulus is evaluated at one point for a block of nodes: it changes by at most sqrt(V) M(c) per unit of y.
Far out the dither bounds what is left (swap.py).
"""

from __future__ import annotations

import numpy as np

from ..pair import FloatArray
from .swap import Line, Waiting, log_growth

#: Nodes that are bounded one by one, and how much the modulus may change within a block of the later ones.
_NODES, _CHANGE = 40, 0.1
#: Blocks at most, and rows x blocks x values evaluated at once.
_BLOCKS, _CELLS = 512, 200_000
#: e^-this is left for the dither to bound.
_REACH = 6.0


@np.errstate(all="ignore")  # overflow gives inf or NaN, which excludes nothing
def log_screen(x: FloatArray, t: FloatArray, waiting: Waiting, line: Line) -> FloatArray:
    """log of an upper value of U for every row; NaN where the arithmetic fails."""
    c, h, s = line.c, line.h, line.s
    log_m = log_growth(x, t, c)
    peak = waiting.log_sum(log_m)
    weight = t * np.exp(c[:, None] * x)
    nothing = np.maximum(1.0 - t.sum(axis=1), 0.0)
    total = weight.sum(axis=1) + nothing
    mean = (weight * x).sum(axis=1) / total
    square = (x - mean[:, None]) ** 2
    variance = ((weight * square).sum(axis=1) + nothing * mean**2) / total
    fourth = 2.0 * ((weight * square**2).sum(axis=1) + nothing * mean**4) / total + 6.0 * variance**2
    live = t > 0.0
    high = np.maximum(np.where(live, x, -np.inf).max(axis=1), np.where(nothing > 0.0, 0.0, -np.inf))
    low = np.minimum(np.where(live, x, np.inf).min(axis=1), np.where(nothing > 0.0, 0.0, np.inf))
    cliff = np.pi / np.maximum(high - low, 1e-300) * (1.0 - 1e-12)

    y = h[:, None] * np.arange(_NODES + 1)
    rate = np.maximum(variance[:, None] * y**2 - fourth[:, None] * y**4 / 24.0, 0.0) / 2.0
    within = y <= cliff[:, None]
    rate = np.maximum(rate, np.where(within, (2.0 / np.pi**2) * variance[:, None] * y**2, 0.0)) * (1.0 - 1e-9)
    decay = 0.5 * (s[:, None] * y) ** 2
    near = np.exp(waiting.log_sum(log_m[:, None] - rate) - peak[:, None] - decay)
    near /= c[:, None] ** 2 + y**2
    near[:, 1:] *= 2.0
    # from the last of these nodes to the cliff: a Gaussian tail
    few = y[:, -1]
    slope = (2.0 / np.pi**2) * variance * waiting.fewest * (1.0 - 1e-9)
    middle = 2.0 * np.exp(-slope * few * few) / ((c * c + few * few) * 2.0 * slope * few * h)
    middle = np.where(few < cliff, middle, 0.0)
    start = np.maximum(few, cliff)
    far = _far(x, weight, nothing, total, np.sqrt(variance), start, waiting, line)
    value = np.log(near.sum(axis=1) + middle + far) + peak
    return np.asarray(value + np.log(h / (2.0 * np.pi)) + 0.5 * (s * c) ** 2 + 1e-9)


def _far(
    x: FloatArray,
    weight: FloatArray,
    nothing: FloatArray,
    total: FloatArray,
    deviation: FloatArray,
    start: FloatArray,
    waiting: Waiting,
    line: Line,
) -> FloatArray:
    """All nodes beyond ``start``, in units of A(M(c))."""
    c, h, s = line.c, line.h, line.s
    wide = np.maximum(np.floor(2.0 * _CHANGE / (deviation * h)), 1.0)  # nodes of a block
    reach = np.maximum(_REACH / s - start, 0.0)
    blocks = int(np.minimum(np.ceil(reach / (wide * h)), _BLOCKS).max(initial=0.0))
    last = start + blocks * wide * h
    # what lies beyond: falling terms are at most the first one and an integral
    found = 2.0 * np.exp(-0.5 * (s * last) ** 2) / (c * c + last * last) * (1.0 + 1.0 / (h * s * s * last))
    if not blocks:
        return np.asarray(found)
    rows = max(1, int(_CELLS / (blocks * x.shape[1])))
    for first in range(0, len(x), rows):
        part = slice(first, first + rows)
        left = start[part, None] + (wide * h)[part, None] * np.arange(blocks)
        turn = (left + 0.5 * (wide * h)[part, None])[:, :, None] * x[part, None, :]
        real = (weight[part, None, :] * np.cos(turn)).sum(axis=2) + nothing[part, None]
        imag = (weight[part, None, :] * np.sin(turn)).sum(axis=2)
        size = np.hypot(real, imag) / total[part, None] + 0.5 * (deviation * wide * h)[part, None] + 1e-9
        # every term of A(r) has at least ``fewest`` copies
        drop = waiting.fewest * np.log(np.minimum(size, 1.0))
        level = np.exp(drop - 0.5 * (s[part, None] * left) ** 2) / (c[part, None] ** 2 + left**2)
        found[part] += 2.0 * (wide[part, None] * level).sum(axis=1)
    return np.asarray(found)
