"""Few count vectors: list them all.

With counts h of n draws, D_E = sum_h Mult(h) (G_h - (E-1) V_h)_+ / n, G = h.gap, V = h.v: convex and piecewise linear
in E, with kinks where G_h = (E-1) V_h.  Sorted by kink, running sums answer every E by one binary search.  The heaviest
category ("nothing", or one symbol) takes the rest of the draws and is not listed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln  # type: ignore[import-untyped]

from . import tuning
from .ledger import charge
from .pair import FloatArray, IntArray

_CAPS = np.unique(np.concatenate([np.arange(1, 17), np.floor(16 * 1.25 ** np.arange(20))]))


class Table(NamedTuple):
    """Kinks in E - 1, falling, and running sums of Mult(h)/n times G, V and U + V, U = G + V."""

    kinks: FloatArray
    gap: NDArray[np.longdouble]
    v: NDArray[np.longdouble]
    size: NDArray[np.longdouble]
    left_out: float
    doubt: float  # relative error of Mult(h)

    def at(self, growth: float) -> tuple[float, float, float]:
        """log of an upper and a lower value at E = 1 + growth, and about -d log delta/d eps."""
        place = np.searchsorted(-self.kinks, -growth, side="left")
        value = max(float(self.gap[place] - growth * self.v[place]), 0.0)
        room = table_rounding(self, value, float(self.size[place]) * (1.0 + abs(growth)))
        upper, lower = value + room + self.left_out, value - room
        slope = (1.0 + growth) * float(self.v[place]) / upper if upper > 0.0 else 0.0
        return (math.log(upper) if upper > 0.0 else -math.inf), (math.log(lower) if lower > 0.0 else -math.inf), slope


@charge("rounding of a count table", "docs/proofs.md, Lemma 9")
def table_rounding(table: Table, value: float, size: float) -> float:
    """Every probability has a relative error ``doubt``; every G - (E-1) V is right to a few units of U + (E-1) V."""
    return value * table.doubt + 2.0**-48 * size


@charge("counts that a table leaves out", "docs/proofs.md, Lemma 10")
def left_out_counts(n: float, outside: float, cap: FloatArray) -> FloatArray:
    """What counts with more than ``cap`` draws outside the heaviest category can add to delta, for sum P0 = 1.

    By the size-biasing of pair.py, the sum of Mult_n(h) U_h/n over such h is at most Pr[Bin(n-1, outside) >= cap].
    """
    tail = betainc(cap, np.maximum(n - cap, 0.5), min(outside, 1.0))
    return np.where(cap >= n, 0.0, tail * (1.0 + 1e-6) + 1e-300)


def build(gap: FloatArray, v: FloatArray, t: FloatArray, n: float) -> Table | None:
    """The table of one law; None if it would be too large."""
    live = t > 0.0
    mass = np.append(t[live], max(1.0 - float(t.sum()), 0.0))
    gap, v = np.append(gap[live], 0.0), np.append(v[live], 0.0)
    heaviest = int(mass.argmax())
    listed = (np.arange(mass.size) != heaviest) & (mass > 0.0)
    k, outside = int(listed.sum()), float(mass[listed].sum())
    if k >= tuning.MOST_CATEGORIES or n * outside > tuning.MOST_DRAWS:
        return None
    caps = np.unique(np.minimum(_CAPS, n))
    lost = left_out_counts(n, outside, caps)
    enough = np.flatnonzero(lost <= tuning.LEAST_COUNT)
    if not enough.size:
        return None
    cap = int(caps[enough[0]])
    if math.comb(cap + k, k) > tuning.MOST_COUNTS:
        return None
    counts = _compositions(cap, k)
    drawn = counts.sum(axis=1)
    rest = n - drawn
    ways = np.concatenate([[0.0], np.cumsum(np.log(n - np.arange(cap)))])[drawn]  # log n!/(n-k)!
    kept = math.log1p(-outside) if outside < 0.5 else math.log(mass[heaviest])
    listing = -gammaln(counts + 1.0).sum(axis=1)
    parts = (ways, listing, counts @ np.log(mass[listed]), np.where(rest > 0, rest * kept, 0.0))
    log_p = np.sum(parts, axis=0)
    doubt = 2.0**-51 * (cap + 8.0) * float(np.abs(parts).sum(axis=0)[log_p > -700.0].max(initial=0.0)) + 1e-12
    weight = np.exp(log_p) / n
    g, w = counts @ gap[listed] + rest * gap[heaviest], counts @ v[listed] + rest * v[heaviest]
    with np.errstate(divide="ignore", invalid="ignore"):
        kink = np.where((g > 0.0) | (w > 0.0), g / w, -np.inf)
    order = np.argsort(-kink, kind="stable")
    weight = weight[order].astype(np.longdouble)
    sums = [np.append(np.longdouble(0), np.cumsum(weight * a[order])) for a in (g, w, np.abs(g + w) + w)]
    whole = float(np.maximum(gap + v, 0.0) @ mass)
    return Table(kink[order], sums[0], sums[1], sums[2], float(lost[enough[0]]) * whole, doubt)


def _compositions(cap: int, k: int) -> IntArray:
    """All vectors of k counts with sum <= cap."""
    rows, left = np.zeros((1, 0), dtype=np.int64), np.array([cap])
    for _ in range(k):
        parent = np.repeat(np.arange(left.size), left + 1)
        value = np.arange(parent.size) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        rows, left = np.column_stack([rows[parent], value]), left[parent] - value
    return rows
