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
#: Atoms of which the comb may use any two.
_TRIED = 7
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
    kappa: FloatArray  # n w_i w_j of the pair behind the comb
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


def dot(a: FloatArray, t: FloatArray) -> FloatArray:
    """The sum over the atoms, with one law for all rows or with one per row."""
    return np.asarray(a @ t if t.ndim == 1 else np.einsum("ij,ij->i", a, t))


def saddle(l: FloatArray, t: FloatArray, n: float | FloatArray) -> FloatArray:
    """The minimum of n K(c) - 2 log c for each row of l (any positive value would be sound)."""
    mean, square = dot(l, t), dot(l * l, t)
    c = (np.sqrt((n * mean) ** 2 + 8.0 * n * square) - n * mean) / (2.0 * n * square)
    top = 600.0 / np.maximum(l.max(axis=1), 1e-300)
    c = np.minimum(c, top)
    open_ = np.arange(len(l))  # rows to move: all until all have settled, or (if many) those that have not
    n = np.broadcast_to(np.asarray(n, dtype=np.float64), len(l))
    low, high = np.zeros(len(l)), np.full(len(l), np.inf)  # the function is convex: its minimum is between
    for _ in range(80):
        x, m, at, most = (l, n, c, top) if open_.size == len(l) else (l[open_], n[open_], c[open_], top[open_])
        mass = t if t.ndim == 1 or open_.size == len(l) else t[open_]
        grown = np.expm1(at[:, None] * x)
        total = 1.0 + np.maximum(dot(grown, mass), LEAST_GROWTH)
        grown += 1.0
        grown *= x
        k1 = dot(grown, mass) / total
        grown *= x
        k2 = np.maximum(dot(grown, mass) / total - k1 * k1, 0.0)
        pull = m * k1 - 2.0 / at
        low[open_] = np.where(pull > 0.0, low[open_], at)
        high[open_] = np.where(pull > 0.0, at, high[open_])
        new = np.minimum(np.clip(at - pull / (m * k2 + 2.0 / (at * at)), 0.3 * at, 3.0 * at), most)
        astray = (new < low[open_]) | (new > high[open_])  # Newton's method may go back and forth for ever
        if astray.any():
            new = np.where(astray, np.sqrt(low[open_]) * np.sqrt(high[open_]), new)
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
    masses = weight / total[:, None]
    kappa, pair_gap = _best_pair(l, masses, (1.0 - t.sum(axis=-1)) / total, n, last=last, h=h, cut=cut)
    # The comb bounds M(z)^n; where the removed point mass (1-T)^n is not negligible beside it, evaluate all.
    nothing = np.exp(log_nothing(t, n) - log_mgf)
    kappa = np.where(nothing > np.exp(-cut), 0.0, kappa)
    wanted = count_nodes(last, h, kappa, pair_gap, cut)
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
    coarser = np.maximum(count_nodes(last, h, np.where(ends_early, 0.0, kappa), pair_gap, cut) / (2.0 * MAX_NODES), 1.0)
    return Line(c, s, h * coarser, log_peak, variance, width, kappa, pair_gap, np.ceil(last / coarser), cut)


def _best_pair(
    l: FloatArray,
    weight: FloatArray,
    nothing: FloatArray,
    n: FloatArray,
    *,
    last: FloatArray,
    h: FloatArray,
    cut: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """n w_i w_j and |l_i - l_j| of the two atoms whose comb leaves the fewest nodes ("nothing" is the atom 0).

    Of many atoms, the heaviest ones under the tilt are tried.
    """
    weights = np.column_stack([weight, np.maximum(nothing, 0.0)])
    values = np.column_stack([l, np.zeros(len(l))])
    if weights.shape[1] > _TRIED:
        order = np.argpartition(-weights, _TRIED - 1, axis=1)[:, :_TRIED]
        weights, values = np.take_along_axis(weights, order, axis=1), np.take_along_axis(values, order, axis=1)
    i, j = np.triu_indices(weights.shape[1], 1)
    gap = np.abs(values[:, i] - values[:, j])
    kappa = np.where(gap > 0.0, n[:, None] * weights[:, i] * weights[:, j] * (1.0 - 1e-9), 0.0)
    gap = np.where(gap > 0.0, gap, 1.0)
    nodes = count_nodes(last[:, None], h[:, None], kappa, gap, cut[:, None])
    best = (np.arange(len(l)), np.where(np.isnan(nodes), np.inf, nodes).argmin(axis=1))
    return kappa[best], gap[best]


def log_nothing(t: FloatArray, n: FloatArray) -> FloatArray:
    """log of (1 - T)^n, the chance that nobody sends any of the symbols."""
    if t.ndim == 2:
        sums = t.sum(axis=1)
        return np.where(sums < 1.0, n * np.log1p(-np.minimum(sums, 1.0)), -np.inf)
    total = float(t.sum())
    return n * math.log1p(-total) if total < 1.0 else np.full_like(n, -np.inf)


def count_nodes(last: FloatArray, h: FloatArray, kappa: FloatArray, gap: FloatArray, cut: FloatArray) -> FloatArray:
    """Roughly how many nodes the comb of fact 4 leaves, and what its teeth cost."""
    half_angle = np.pi * np.sqrt(0.5 * cut / np.maximum(kappa, 1e-300))
    half = half_angle / (gap * h)  # of a tooth, in nodes
    teeth = np.floor((last * h * gap + half_angle) / (2.0 * np.pi))
    left = np.minimum(np.minimum(half, last) + teeth * (2.0 * half + 6.0), last)
    sparse = np.where(teeth > 0.0, np.maximum(left, 4.0 * teeth), left)
    return np.asarray(np.where(half_angle >= np.pi, last, sparse) + 60.0)


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
