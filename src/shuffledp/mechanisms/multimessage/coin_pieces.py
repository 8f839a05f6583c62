"""A lower bound for mixDUMP: the victim among messages that hit two options equally often."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...numerics.counts import UNLIMITED, Count, Distribution, edges, grid
from ...numerics.mixture import Piece
from ...numerics.pair import FloatArray, IntArray, ShuffledPair

#: Blocks of totals on either side of their mean in :func:`coin_pieces`.
_BLOCKS = 24


@lru_cache(maxsize=8)  # both lower bounds ask for the same
def coin_pieces(hits: Count, keep: float, stray: float, miss: float, tol: float) -> tuple[Piece, ...]:
    """A lower bound from the counts of x0 and x1 alone, where the others hit each of them equally often.

    The others hit {x0, x1} K times in all (``hits``, a sum of independent events) and each hit is a fair coin; the
    victim sends x0, x1 with probability keep, stray or the reverse, neither with ``miss`` (V = 0).  T = K + V has
    the same law under both hypotheses.  Given T the victim sent one of the two with probability rho_T, and if
    not, the T-th message is a coin as well: a shuffled pair with t = (1/2, 1/2) among T messages in all, whose
    divergence falls with T and rises with rho.  rho_T = v r/(v r + miss) with v = keep + stray and
    r_T = Pr[K = T-1]/Pr[K = T], which rises with T because K is log-concave.  So on a block of totals
    rho at its first total may be used for all of them.
    """
    victim = keep + stray
    total = Count(hits.fixed, (*hits.parts, (1, victim))).simplified()
    law = Distribution(total, up=False)
    fine = edges(total, tol)
    # rho changes by a relative miss * deviation/mean within a deviation of T
    blocks = math.ceil(min(2.0 * miss * total.deviation / (total.mean * tol) + 1.0, _BLOCKS))
    starts = grid(total.mean, total.deviation, 1, total.top, blocks)
    ends = np.append(starts[1:] - 1, total.top)
    # T is rounded up by at most law.moved, so that the smallest T of a block is at least its first total less that
    odds = victim * _ratios_below(hits, np.maximum(starts - law.moved, 1))
    # T in (edge before, edge] counts as the edge; below the first block nothing is claimed
    totals = np.unique(np.concatenate([fine[fine >= starts[0]], ends]))
    block = np.searchsorted(ends, totals)
    mass = np.diff(law.inside(totals), prepend=law.inside(starts[:1] - 1))
    found = []
    for i in range(starts.size):
        rho = odds[i] / (odds[i] + miss) * (1.0 - 1e-12)
        absent = miss / (odds[i] + miss) + 1e-12 * rho
        up, down = (rho * x / victim + 0.5 * absent for x in (keep, stray))
        coin = ShuffledPair(P0=[up, down], P1=[down, up], t=[0.5, 0.5])
        mine = np.flatnonzero((block == i) & (mass > 0.0))
        found += [Piece(float(mass[j]), coin, int(totals[j])) for j in mine]
    return tuple(found)


def _ratios_below(count: Count, totals: IntArray) -> FloatArray:
    """A lower bound of r = Pr[K = total-1]/Pr[K = total] for a sum K of binomials A_j ~ Bin(n_j, p_j) or Poissons.

    r >= E[phi_j(A_j) | K = total] for every j, phi_j(a) = a (1-p_j)/((n_j-a+1) p_j), which is convex and rising, so
    phi_j^{-1}(r) >= E[A_j | K = total], and these expectations sum to the total: sum_j phi_j^{-1}(r) >= total.
    For A_j ~ Poisson(p_j) the same holds with phi_j(a) = a/p_j.
    """

    def inverse(r: FloatArray) -> FloatArray:
        parts = [r * p if n == UNLIMITED else r * (n + 1) * p / (1.0 - p + r * p) for n, p in count.parts]
        return np.asarray(np.sum(parts, axis=0))

    low, high = np.zeros(totals.size), np.ones(totals.size)
    while (short := (inverse(high) < totals) & (high < 1e15)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = inverse(middle) < totals
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low
