"""Where the contour evaluator integrates: abscissa, dither, step, and the nodes worth evaluating.

Soundness needs only c, s, h > 0 and valid bounds on the skipped nodes; everything else here is a choice
that makes the answer tight and cheap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..pair import FloatArray

NDArrayInt = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

#: Dither in units of range(X) from which the tail beyond pi/range(X) is negligible.
WIDE = 3.0
#: M(c) - 1 is not taken below this: M(c) itself is a normalisation, so any value is valid.
LEAST_GROWTH = -1.0 + 2.0**-52
#: Nodes are worth evaluating down to exp(-MARGIN) times the accuracy asked for.
MARGIN = 10.0
#: Rows that move together in the search for the abscissa; of more rows, those that have settled stay.
_TOGETHER = 64
#: Largest number of nodes of one row; beyond it the dither is widened (still an upper bound, less tight).
MAX_NODES = 100_000


@dataclass(frozen=True)
class Line:
    """Where to integrate, one entry per eps: abscissa c, dither s, step h, and what is known there."""

    c: FloatArray
    s: FloatArray
    h: FloatArray
    log_peak: FloatArray  # n K(c) + s^2 c^2 / 2 - 2 log c
    variance: FloatArray  # n Var_c(X)
    width: FloatArray  # range of X, 0 included
    kappa: FloatArray  # n w_i w_j of the heaviest pair
    pair_gap: FloatArray  # |l_i - l_j| of that pair
    last: FloatArray  # number of the last node that can matter
    cut: FloatArray  # nodes below exp(-cut) of the peak are bounded, not evaluated

    @property
    def rtol(self) -> FloatArray:
        """The accuracy that was asked for, from which the cut was chosen."""
        return np.asarray(np.exp(MARGIN - self.cut))

    def rows(self, which: np.ndarray) -> Line:
        """The same line for some of the rows."""
        return Line(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def saddle(l: FloatArray, t: FloatArray, n: float | FloatArray) -> FloatArray:
    """The minimum of n K(c) - 2 log c for each row of l (any positive value would be sound)."""
    mean, square = l @ t, (l * l) @ t
    c = (np.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
    top = 600.0 / np.maximum(l.max(axis=1), 1e-300)
    c = np.minimum(c, top)
    open_ = np.arange(len(l))  # rows to move: all until all have settled, or (if many) those that have not
    n = np.broadcast_to(np.asarray(n, dtype=np.float64), len(l))
    for _ in range(80):
        x, m, at, most = (l, n, c, top) if open_.size == len(l) else (l[open_], n[open_], c[open_], top[open_])
        grown = np.expm1(at[:, None] * x)
        total = 1.0 + np.maximum(grown @ t, LEAST_GROWTH)
        grown += 1.0
        grown *= x
        k1 = grown @ t / total
        grown *= x
        k2 = np.maximum(grown @ t / total - k1 * k1, 0.0)
        step = (m * k1 - 2.0 / at) / (m * k2 + 2.0 / (at * at))
        new = np.minimum(np.clip(at - step, 0.3 * at, 3.0 * at), most)
        moving = ~(np.abs(new - at) <= 2e-3 * at)
        c[open_] = new
        if not moving.any():
            break
        if len(l) > _TOGETHER:
            open_ = open_[moving]
    return np.asarray(c)


def place(l: FloatArray, t: FloatArray, n: float | FloatArray, rtol: FloatArray) -> Line:
    """Choose c, s and h so that dither and step cost about rtol (relative) in E[(S)_+]."""
    n = np.broadcast_to(np.asarray(n, dtype=np.float64), len(l))
    c = saddle(l, t, n)
    cut = MARGIN - np.log(rtol)
    weight = t * np.exp(c[:, None] * l)
    growth = np.maximum((t * np.expm1(c[:, None] * l)).sum(axis=1), LEAST_GROWTH)
    total = 1.0 + growth
    k1 = (weight * l).sum(axis=1) / total
    variance = n * np.maximum((weight * l * l).sum(axis=1) / total - k1 * k1, 0.0)
    width = np.maximum(l.max(axis=1), 0.0) - np.minimum(l.min(axis=1), 0.0)
    # The dither costs about s^2 c^2 / 2; wider than WIDE * range(X) would save no nodes.
    s = np.minimum(np.sqrt(rtol) / c, WIDE * width)
    log_mgf = n * np.log1p(growth)
    # 2 pi / h such that the aliases g(+-2 pi k / h) stay below about rtol / 30 of the sum.
    digits = 3.5 - np.log(rtol)
    sigma = np.sqrt(variance + s * s)
    left = digits - log_mgf + 2.0 * np.log1p(c * sigma) + 1.0
    h = 2.0 * np.pi / np.maximum(np.sqrt(2.0 * digits + 6.0) * sigma, left / c)
    last = np.ceil(np.sqrt(2.0 * cut) / (s * h))
    kappa, pair_gap = _pair(l, weight / total[:, None], (1.0 - t.sum()) / total, n, cut, h, last)
    # The comb bounds M(z)^n; where the removed point mass (1-T)^n is not negligible beside it, evaluate all.
    nothing = np.exp(log_nothing(t, n) - log_mgf)
    kappa = np.where(nothing > np.exp(-cut), 0.0, kappa)
    teeth = np.where(kappa > 0.5 * cut, last * h * pair_gap / (2.0 * np.pi), 0.0)
    wanted = count_nodes(last, kappa, cut) + 4.0 * teeth
    if (wanted > MAX_NODES).any():  # a wider dither is still an upper bound, only less tight
        s = s * np.maximum(wanted / MAX_NODES, 1.0)
        last = np.ceil(np.sqrt(2.0 * cut) / (s * h))
    log_peak = log_mgf + 0.5 * (s * c) ** 2 - 2.0 * np.log(c)
    # Fact 3 ends the sum early where the Gaussian decay holds up to the last node.
    decay = (2.0 / np.pi**2) * variance + 0.5 * s * s
    early = np.ceil(np.sqrt(cut / decay) / h)
    ends_early = (early * h <= np.pi / width) & (0.5 * (s * np.pi / width) ** 2 >= cut)
    last = np.where(ends_early, early, last)
    # The last resort: a coarser step, which errs upward only.
    coarser = np.maximum(count_nodes(last, np.where(ends_early, 0.0, kappa), cut) / (2.0 * MAX_NODES), 1.0)
    return Line(c, s, h * coarser, log_peak, variance, width, kappa, pair_gap, np.ceil(last / coarser), cut)


def _pair(
    l: FloatArray,
    weight: FloatArray,
    nothing: FloatArray,
    n: FloatArray,
    cut: FloatArray,
    h: FloatArray,
    last: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """n w_i w_j and |l_i - l_j| of the pair of atoms whose comb leaves the fewest nodes ("nothing" is the atom 0).

    Any pair is sound.  Tried are the two heaviest atoms under the tilt, and the heaviest with the one that has the
    largest share in the variance around it: its teeth are narrow even where they are many.
    """
    weights = np.column_stack([weight, np.maximum(nothing, 0.0)])
    values = np.column_stack([l, np.zeros(len(l))])
    rows = np.arange(len(l))
    order = np.argpartition(-weights, 1, axis=1)
    first = np.where(weights[rows, order[:, 0]] >= weights[rows, order[:, 1]], order[:, 0], order[:, 1])
    second = order[:, 0] + order[:, 1] - first
    apart = np.abs(values - values[rows, first][:, None])
    best_kappa, best_gap, fewest = np.zeros(len(l)), np.ones(len(l)), np.full(len(l), np.inf)
    for other in (second, (weights * apart * apart).argmax(axis=1)):
        gap = apart[rows, other]
        kappa = n * weights[rows, first] * weights[rows, other] * (1.0 - 1e-9)
        nodes = np.where(gap > 0.0, _comb_size(kappa, np.where(gap > 0.0, gap, 1.0), cut, h, last), np.inf)
        better = nodes < fewest
        best_kappa, best_gap = np.where(better, kappa, best_kappa), np.where(better, gap, best_gap)
        fewest = np.minimum(fewest, nodes)
    return best_kappa, best_gap


def _comb_size(kappa: FloatArray, gap: FloatArray, cut: FloatArray, h: FloatArray, last: FloatArray) -> FloatArray:
    """How many nodes the comb of such a pair leaves, roughly."""
    pitch = 2.0 * np.pi / (gap * h)
    half = 0.5 * pitch * np.sqrt(0.5 * cut / np.maximum(kappa, 1e-300))
    return np.where(half < 0.5 * pitch, half + np.floor((last + half) / pitch) * (2.0 * half + 1.0), last)


def log_nothing(t: FloatArray, n: FloatArray) -> FloatArray:
    """log of (1 - T)^n, the chance that nobody sends any of the symbols."""
    total = float(t.sum())
    return n * math.log1p(-total) if total < 1.0 else np.full_like(n, -np.inf)


def count_nodes(last: FloatArray, kappa: FloatArray, cut: FloatArray) -> FloatArray:
    """Roughly how many nodes the comb of fact 4 leaves."""
    return np.asarray(last * np.minimum(1.0, np.sqrt(0.5 * cut / np.maximum(kappa, 1e-300))) + 60.0)


def comb(line: Line) -> tuple[NDArrayInt, NDArrayInt]:
    """Node numbers k >= 1 to evaluate for every eps, concatenated, and where each eps starts.

    Fact 4: outside |y - 2 pi m / gap| <= (pi / gap) sqrt(cut / (2 kappa)) the integrand is below exp(-cut).
    """
    if line.last.size == 1 and line.last[0] <= 64:
        return np.arange(1, int(line.last[0]) + 1), line.last.astype(np.int64)
    half_angle = np.pi * np.sqrt(0.5 * line.cut / np.maximum(line.kappa, 1e-300))
    dense = half_angle >= np.pi
    teeth = np.where(dense, 1, 1 + np.floor(line.last * line.h * line.pair_gap / (2 * np.pi) + 1)).astype(np.int64)
    row = np.repeat(np.arange(teeth.size), teeth)
    m = np.arange(row.size) - np.repeat(np.cumsum(teeth) - teeth, teeth)
    centre = 2.0 * np.pi * m / line.pair_gap[row]
    half = np.where(dense, np.inf, half_angle / line.pair_gap)[row]
    first = np.maximum(np.floor((centre - half) / line.h[row]), 1.0)
    first = np.minimum(first, line.last[row] + 1.0)
    final = np.minimum(np.ceil((centre + half) / line.h[row]), line.last[row])
    after = np.where(m > 0, np.concatenate([[0.0], final[:-1]]) + 1.0, 1.0)
    first = np.maximum(first, after)  # no node twice where teeth touch
    size = np.maximum(final - first + 1.0, 0.0).astype(np.int64)
    start = np.cumsum(size) - size
    k = np.arange(int(size.sum())) - np.repeat(start, size) + np.repeat(first.astype(np.int64), size)
    per_eps = np.bincount(row, weights=size, minlength=teeth.size).astype(np.int64)
    return k, per_eps
