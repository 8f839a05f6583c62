"""The divergence curves of all pairs of a matrix, for the search at many eps (leaders.py).

A first screen needs two numbers of a pair.  With S a sum of n copies of X = (P0 - E P1)/t, E(S)_+ <= M(c)^n/(e c) for
every c > 0 (Chernoff), and M(c) <= 1 + c m + c^2 phi2(c r) V (Bennett; remainders.py), where m is the mean of X,
V = sum (P0 - E P1)^2/t <= (sqrt(V_1) + (E-1) sqrt(sum P1^2/t))^2, and r = max (P0 - P1)/t.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..evaluators.choose import Divergence, law_shift, mass_slack
from ..evaluators.contour_nodes import NDArrayInt
from ..pair import FloatArray
from ..remainders import remainder

if TYPE_CHECKING:
    from .matrix_pairs import BlanketPairs

#: Pairs x symbols at once.
_CELLS = 100_000


class PairCurves:
    """The curves of all pairs among n users."""

    cascade: ClassVar[tuple[float, ...]] = (0.1, 0.01)

    def __init__(self, pairs: BlanketPairs, n: int) -> None:
        self._pairs, self._n = pairs, n
        self._made: dict[int, Divergence] = {}
        self.limit = pairs.limit

    def order(self) -> NDArrayInt:
        """The most telling pair first."""
        return np.argsort(-self._pairs.spreads(), kind="stable")

    def screened(self, members: NDArrayInt, eps: float, enough: float, leader: float) -> FloatArray:
        """By two moments, and where these are not enough by screen.py."""
        value = self.by_variance(members, eps)
        sharp = np.flatnonzero(~(value <= enough))
        value[sharp] = np.fmin(value[sharp], self._pairs.values(members[sharp], eps, self._n, None))
        return value

    def curve(self, member: int) -> Divergence:
        """One pair."""
        if member not in self._made:
            self._made[member] = Divergence(self._pairs.pair(member), self._n, slopes=False)
        return self._made[member]

    @cached_property
    def _reach(self) -> FloatArray:
        """max (P0 - P1)/t, pair by pair."""
        level, first, second = self._pairs.level, self._pairs.first, self._pairs.second
        out = np.zeros(first.size)
        size = max(1, _CELLS // max(level.shape[1], 1))
        for start in range(0, out.size if level.shape[1] else 0, size):
            at = slice(start, start + size)
            out[at] = (level[first[at]] - level[second[at]]).max(axis=1)
        return out

    @cached_property
    def _second(self) -> tuple[FloatArray, FloatArray]:
        """V_1 by pair, rounded up, and sum P1^2/t by row."""
        own = (self._pairs.omega * self._pairs.level**2).sum(axis=1)
        room = 1e-13 * (1.0 + self._pairs.rows.shape[1]) * float(own.max(initial=0.0))
        return np.maximum(self._pairs.smooth(), 0.0) * (1.0 + 1e-9) + room, own * (1.0 + 1e-12)

    @np.errstate(all="ignore")
    def by_variance(self, members: NDArrayInt, eps: float) -> FloatArray:
        """An upper value of log delta from V_1 and r."""
        n, pairs = self._n, self._pairs
        gain = math.expm1(eps - float(law_shift(np.array(eps))))
        shrink = 1.0 - mass_slack(pairs.rows.shape[1])
        spread, own = self._second
        a, b = pairs.first[members], pairs.second[members]
        root = np.sqrt(spread[members]) + abs(gain) * np.sqrt(own[b])
        variance = root * root / shrink
        reach = (self._reach[members] + max(-gain, 0.0) * float(pairs.level.max(initial=1.0))) / shrink * (1.0 + 1e-12)
        mass = (pairs.level * pairs.omega).sum(axis=1)
        mean = mass[a] - mass[b] - gain * mass[b] + 1e-13
        c = (np.sqrt((n * mean) ** 2 + 4.0 * n * variance) - n * mean) / (2.0 * n * variance)
        exponent = np.log1p(c * mean + c * c * remainder(c * reach, 2) * variance)
        value = n * (exponent + 1e-15) - 1.0 - np.log(c) - math.log(n) + 1e-9
        value = np.logaddexp(value, pairs.exposed(members, gain))
        return np.where(np.isnan(value), np.inf, value)
