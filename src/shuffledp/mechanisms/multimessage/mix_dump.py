"""mixDUMP: a value by randomized response among uniform dummy points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.counts import UNLIMITED, Count, Distribution, edges, grid
from ...numerics.family import Family
from ...numerics.mixture import MixtureSet, Piece
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, Side
from ...randomness.sampling import Array, Source, below, bernoulli, pick
from ...randomness.thresholds import threshold
from ..known.variation_ratio import VariationRatio
from ..parameters import real
from .base import Rates
from .pure_dump import Dump

#: Blocks of totals on either side of their mean in :func:`coin_pieces`.
_BLOCKS = 24


@dataclass(frozen=True, kw_only=True)
class MixDump(Dump):
    """mixDUMP: a value by randomized response among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value with probability 1-f and any other with probability b = f/(d-1); a blanket message is
    uniform on [d].  Estimate (count - m/d - n b)/(n (1-f-b)).

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    flip : float in (0, (d-1)/d)
        f, the chance that a user sends another value.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    Symbols {x0}, {x1}, {the others}; permutations of the options make all pairs alike.  Paper, Table 4: p =
    (1-f)(d-1)/f, beta = 1-f-b, q = (1-f) d.  Every other user's own message is uniform with probability d b, so
    the blanket bound has m + Bin(n-1, d b) uniform messages.  Lower bound: the others hold a third value (d >= 3)
    and the adversary uses only the counts of x0 and x1 (:func:`coin_pieces`).

    Examples
    --------
    >>> round(MixDump(d=5, flip=0.1, messages=1).local_epsilon, 4)
    3.5835
    """

    name = "mix-dump"
    _in_words = "mixDUMP on {d:,} options with flip probability {flip!r} and {_blanket_words}"
    _published_law_exact = True

    flip: float = real(
        low=1e-12,
        high=lambda m: (m.d - 1) / m.d,
        high_open=True,
        role="flip",
        hint="flip = 0 is pure-dump, and from (d-1)/d on a report says nothing about the value",
    )

    #: More flips leave more of a local guarantee and need fewer dummy points.
    _design = (("flip", 0.01),)

    @property
    def _stray(self) -> float:
        return self.flip / (self.d - 1)

    @property
    def local_epsilon(self) -> float:
        """log((1-f)(d-1)/f)."""
        return math.log1p(-self.flip) - math.log(self._stray)

    def variation_ratio(self) -> VariationRatio:
        """p = (1-f)(d-1)/f, beta = 1-f-f/(d-1), q = (1-f) d."""
        keep = 1.0 - self.flip
        return VariationRatio(p=keep / self._stray, beta=keep - self._stray, q=keep * self.d)

    def _pairs(self) -> list[ShuffledPair]:
        keep, stray, more = 1.0 - self.flip, self._stray, self.d - 2
        t = [1.0 / self.d, 1.0 / self.d, more / self.d]
        return [ShuffledPair(P0=[keep, stray, more * stray], P1=[stray, keep, more * stray], t=t)]

    @property
    def _own_share(self) -> float:
        return self.d * self._stray

    def _constant_datasets(self) -> Family:
        """The others hold a third value: they send x0 and x1 equally often."""
        if self.d == 2:
            raise BoundNotApplicableError(
                "mix-dump with d = 2 has no third value for the others to hold, so no lower bound of it is known."
            )

        def make(n: int, side: Side, tol: float) -> list[tuple[Piece, ...]]:
            pair = Count(0, ((n - 1, 2.0 * self._stray),))
            dummies = self._blankets(n).thinned(2.0 / self.d)
            hits = Count(0, (*dummies.parts, *pair.parts)).simplified()
            return [coin_pieces(hits, 1.0 - self.flip, self._stray, (self.d - 2) * self._stray, tol)]

        return MixtureSet(make)

    def _two_counts(self) -> Family:
        """The constant datasets, which use only two counts already."""
        return self.law.constant_datasets()

    @property
    def _rates(self) -> Rates:
        return Rates(1.0 - self.flip, self._stray, 1.0 / self.d)

    @property
    def _lie(self) -> Fraction:
        """The chance of a uniform message: flip d/(d-1), of which 1/d repeats the value."""
        return Fraction(self.flip) * self.d / (self.d - 1)

    @property
    def _portable_own(self) -> dict[str, Any]:
        return {"kind": "keep", "size": self.d, "keep": threshold(1 - self._lie)}

    def _own(self, values: Array, src: Source) -> Array:
        lie = bernoulli(src, self._lie, len(values))
        return pick(lie, below(src, self.d, len(values)).astype(values.dtype, copy=False), values)


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
