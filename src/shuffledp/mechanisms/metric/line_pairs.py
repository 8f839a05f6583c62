"""Laplace noise of scale 1 on a line: all pairs of inputs that are near, over the blanket of a bounded domain.

Inputs are the grid points 0, ..., M of step h, R(x)_y = tanh(h/2) e^(-h|y-x|) on all whole y, and neighbors are at
most m steps apart (m even).  The blanket is omega_y = tanh(h/2) e^(-h max(y, M-y)), with center c = M/2.

Convex order of X = (R0 - E R1)/t rises when mass of R0 goes to where X is largest, or mass of R1 to where it is
smallest.  Which pairs x0 < x1 are needed:

1. If x0 <= c, X is largest (in the other direction smallest) and constant on {y <= x0}, and moving x0 left takes
   mass of R0 there from everywhere else: the bound rises.  So it does by moving x1 right, if x1 >= c.  With the
   reflection y -> M - y, both directions of these pairs are left: (s, s+m) with 0 <= s <= (M-m)/2, which are m apart,
   and (0, k) with k < m and k < c, which cannot be moved further.
2. Positions s in [s0, s1], with z = y - s: omega >= tanh(h/2) e^(-h max(z + s1, M - s0 - z)).  Smaller t is sound.
3. Pairs (0, k) with a <= k <= b: either move x0 left by b - k, beyond the domain: a pair b apart at the position
   k - b in [a-b, 0], as in 2; or lower t right of a to tanh(h/2) e^(-h(M - 2a + y)), which puts its center
   at a <= k, and move x1 right to b, as in 1.

The intervals of 2 and 3 are as wide as costs about 0.5% of eps; any choice is sound.

All laws are exponential between 0, m and the center of t, and (u, v) = (R0/t, R1/t) runs on a straight segment there.
Outputs i..j of such a piece can be moved to its two ends, which keeps mass and both means (upper bound), or be
merged (lower bound: all others hold one value).

*The swap bound*: laws of a slot that cover all pairs that are near and all that the others hold.  Steps 1 to 5 of
numeric/laplace_types.py hold for all whole numbers, wherever the domain ends; for a pair g < k and a type x:

- if x lies between them, the pair is moved apart to (g, g + m): types 0, ..., m of the pair (0, m);
- if x = k + e and low <= k - g <= top, g is moved to k - top, which raises the law of the slot, and everything is
  shifted: the pair (0, top) and the type top + e, with e <= M - low.  Types x < g are the mirror images of these.  As
  these laws serve every pair at most ``top`` apart, only types with e > M - low are left for closer pairs;
- types in a cell of D units are mixtures of those at its ends, present with probability 1/cosh(D/2).

How wide cells and groups of distances are decides only how sharp the bound is: so wide that their spread, the variance
of X at E = 1, stays below that of the pair (0, m) among others who hold M, or exceeds it by ROOM.  The mass of the
common part is that of the types 0, ..., M: e^(-hM/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice, pairwise

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import PairSet
from ...numerics.pair import TINY, FloatArray, IntArray, ShuffledPair, both_directions
from ...numerics.swap.family import SwapSet
from ..numeric import laplace_types as types
from ..numeric.laplace_laws import Laws
from ..numeric.laplace_types import slots

#: Spread that the intervals of positions and distances may add.
ROOM = 0.002
#: Width of a piece near the pair.
PIECE = 1 / 32
#: By how much the logarithm of a spread may exceed that of the worst pair and type.
_ROOM = 4e-4
#: Beyond this length hardly any user is free; and the most laws that are listed.
_LONGEST, _MOST_SLOTS = 12.0, 300


@dataclass(frozen=True)
class LinePairs:
    """``step`` is h, a power of two; ``apart`` is m, even; ``length`` is M >= m."""

    step: float
    apart: int
    length: int

    def blanket(self) -> PairSet:
        """All pairs at most m apart, anywhere in the domain."""
        far, apart = self.length, self.apart
        last = (far - apart + 1) // 2
        most = np.max([_moments(self._at(s, 0)) for s in (0, last)], axis=0) * (1.0 + ROOM) ** np.array([1, 3])
        pairs, s = [], 0
        while s <= last:  # 2
            width, found = _widest(partial(self._at, s), last - s, last // 64, most)
            pairs.append(ShuffledPair(*found))
            s += width + 1
        top = min(apart, far // 2)
        while top > 0:  # 3
            options = [_widest(partial(f, top), top, top // 256, most) for f in (self._shifted, self._bent)]
            width, found = max(options, key=lambda option: (option[0], -_moments(option[1])[0]))
            pairs.append(ShuffledPair(*found))
            top -= max(width, 1)
        return PairSet([direction for r in pairs for direction in both_directions(r)])

    def constant_datasets(self) -> PairSet:
        """x0 = 0, x1 = m, and the others hold M, the middle of the domain, m or the middle of the pair."""
        held = {self.length, self.length // 2, self.apart, self.apart // 2}
        pairs = [self._merged(x) for x in sorted(held) if 2 * x >= self.apart]
        return _Held([direction for r in pairs for direction in both_directions(r)])

    def _at(self, s: int, width: int) -> Laws:
        """Positions s to s + width."""
        return self._laws(self.apart, self.length - s, s + width)

    def _shifted(self, top: int, width: int) -> Laws:
        """Distances top - width to top, by moving x0."""
        return self._laws(top, self.length + width, 0)

    def _bent(self, top: int, width: int) -> Laws:
        """Distances top - width to top, by moving x1."""
        return self._laws(top, self.length, self.length - 2 * (top - width))

    def power(self, k: IntArray) -> FloatArray:
        """e^(-hk): the product is exact."""
        return np.exp(-self.step * k.astype(np.float64))

    def _merged(self, held: int) -> ShuffledPair:
        """The pair (0, m) among others who hold this; pieces are merged."""
        laws = self._laws(self.apart, held, -held)
        return ShuffledPair(*(np.concatenate([law[:2], law[2::2] + law[3::2]]) for law in laws))

    def _laws(self, apart: int, low: int, high: int) -> Laws:
        """P0 around 0, P1 around ``apart``, t = tanh(h/2) e^(-h max(low - z, high + z)): the ends of every piece.

        On i..j, L = j-i+1, each law is a multiple of e^(hz) or e^(-hz), so its mass is F (law_i + law_j) with
        F = (1 - e^(-hL))/((1 - e^-h)(1 + e^(-h(L-1)))).  On the tails (u, v) is constant: one symbol each, put first.
        """
        h, a = self.step, math.exp(-self.step)
        center = (low - high) // 2  # t rises up to here
        tail = max(apart, center + 1)
        cuts = sorted({0, *(min(cut, tail - 1) for cut in (apart // 2, apart, center, tail))})
        cells = [self._pieces(i, j, j <= center) for i, j in pairwise(cuts)]
        first, last = np.concatenate([np.zeros((2, 0), dtype=np.int64), *cells], axis=1)
        size = (last - first + 1).astype(np.float64)
        share = -np.expm1(-h * size) / ((1.0 + a) * (1.0 + np.exp(-h * (size - 1.0))))
        z = np.concatenate([[0, tail], np.stack([first, last], axis=1).reshape(-1)])
        scale = np.concatenate([np.full(2, 1.0 / (1.0 + a)), np.repeat(share, 2)])
        powers = (np.abs(z), np.abs(z - apart), np.maximum(low - z, high + z))  # times h exact in floats
        p0, p1, t = (scale * np.exp(-h * k.astype(np.float64)) for k in powers)
        return p0, p1, t

    def _pieces(self, start: int, stop: int, rising: bool) -> IntArray:
        """First and last of the pieces of start+1..stop, finest away from the center, where X is largest."""
        cuts = self._cuts[: np.searchsorted(self._cuts, stop - start)]
        first, last = np.append(0, cuts) + 1, np.append(cuts, stop - start)
        return np.array([start + first, start + last] if rising else [stop + 1 - last, stop + 1 - first])

    @cached_property
    def _cuts(self) -> IntArray:
        """Where pieces end that widen from PIECE on, as far as any law reaches."""
        unit = 4.0 / self.step
        count = math.ceil(4.0 / PIECE * math.log1p(2 * self.length / unit))
        return np.unique(np.floor(unit * np.expm1(np.arange(1, count + 1) * (PIECE / 4.0))).astype(np.int64))


def _widest(make: Callable[[int], Laws], width: int, least: int, most: FloatArray) -> tuple[int, Laws]:
    """The widest interval, by halving, whose pair is no worse than ``most``; ``least`` is accepted anyway."""
    while np.any(_moments(found := make(width)) > most) and width > least:
        width //= 2
    return width, found


class _Held(PairSet):
    """Constant datasets; where the others hardly ever send the first symbol, it alone distinguishes the inputs best."""

    def among(self, n: float) -> Sequence[ShuffledPair]:
        """The members among n users, with all other symbols merged where that is sharper."""
        return [pair if n * np.asarray(pair.t)[0] > 0.01 else _first_symbol(pair) for pair in self._members]


@lru_cache(maxsize=256)
def _first_symbol(pair: ShuffledPair) -> ShuffledPair:
    """The first symbol and all others: merging is post-processing."""
    laws = (np.asarray(law) for law in (pair.P0, pair.P1, pair.t))
    return ShuffledPair(*([law[0], law[1:].sum()] for law in laws))


def _moments(laws: Laws) -> FloatArray:
    """sum (P0-P1)^k/t^(k-1) for k = 2, 4: what eps grows with, for many users and for few."""
    p0, p1, t = laws
    sent = (p0 > 0.0) | (p1 > 0.0)
    if np.any(t[sent] <= TINY):
        return np.full(2, np.inf)
    with np.errstate(over="ignore"):
        square = (p0[sent] - p1[sent]) ** 2 / t[sent]
        return np.array([square.sum(), (square * square / t[sent]).sum()])


def swap_set(line: LinePairs) -> SwapSet:
    """The swap bound over all pairs and types."""
    length = line.step * line.length
    if length > _LONGEST:
        raise BoundNotApplicableError(
            f"bound 'swap' of metric-laplace needs dmax up to {_LONGEST:g}, got {length:g}: beyond, hardly any user is "
            "free to be exchanged for the victim; use bound='auto'."
        )
    terms = line.apart, line.length, line.step
    listed = list(islice(slots(*terms, room=_ROOM, wide=False), _MOST_SLOTS + 1))
    if len(listed) > _MOST_SLOTS:
        raise BoundNotApplicableError(
            "bound 'swap' of metric-laplace takes too many laws for such distances; use bound='auto'."
        )
    return types.swap_set(listed, *terms, line.power)
