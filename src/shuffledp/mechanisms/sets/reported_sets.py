"""Reports that are k-subsets of a domain: what the k-subset mechanism and PrivSet share.

Users hold a set S of s of the D items (s = 1 for the k-subset mechanism) and report a set y of k items.  With
t = e^-eps0 and miss(m) = C(D-m, k)/C(D, k), the probability that a uniform y avoids m given items,

    R(S)_y = w/(C(D, k) Omega),   w = 1 if y meets S, else t,   Omega = (1 - miss(s)) + t miss(s).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..._support.exponentials import exp, expm1
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, both_directions
from ...numerics.swap.pair import SwapPair, among
from ...randomness.lookup import categorical
from ...randomness.sampling import Array, Source
from ...randomness.thresholds import cuts
from .. import two_level
from ..base import Mechanism
from ..codecs import Members, PackedBits
from ..frequency import FrequencyOracle
from ..laws import rounded_down
from .drawing import by_bits, by_members, shuffle
from .overlaps import MOST_HELD, Overlap, by_shared, dominating, met, unions

#: Up to this many members a report is drawn one member at a time, comparing with those before.
_FEW_MEMBERS = 64
#: Probabilities are exact fractions up to about this many bits; beyond, products of blocks of factors to _BITS bits.
_EXACT_BITS, _BITS, _BLOCK = 20_000, 2400, 64
#: The default k is searched on geometric grids of 2^6 steps.
_HALVINGS = 6


class SetRandomizer(FrequencyOracle):
    """A mechanism that reports a k-subset of D items, e^eps0 times likelier if it meets the s items held.

    A report is stored as its k members in ascending order (the order must not reveal which of them was held), in the
    smallest dtype, or as ceil(D/8) bytes of bits (``numpy.packbits``) where that is smaller.
    """

    k: int

    @property
    @abstractmethod
    def domain(self) -> int:
        """D: the items that a report may name."""

    @property
    @abstractmethod
    def held(self) -> int:
        """s: the items that a user holds."""

    @property
    def _sizes(self) -> tuple[type, int, int, int]:
        """What two mechanisms must share for their blankets to be proportional."""
        return type(self), self.domain, self.held, self.k

    # -- the law ----------------------------------------------------------------------------------------------

    def _miss(self, items: int) -> Fraction:
        return _miss(self.domain, self.k, items)

    def _whole_miss(self, items: int) -> int:
        miss = self._miss(items)
        return (miss.numerator << _BITS) // miss.denominator

    @property
    def _total(self) -> float:
        """Omega."""
        miss = self._miss(self.held)
        return float(1 - miss) + exp(-self.eps0) * float(miss)

    @property
    def keep(self) -> float:
        """Probability that the report names an item that is held: (k/D)/Omega."""
        return self.k / self.domain / self._total

    @property
    def stray(self) -> float:
        """Probability that it names another item: keep less (1-t) Pr[y names it and misses S]/Omega."""
        miss = self._miss(self.held) - self._miss(self.held + 1)
        return float(Fraction(self.k, self.domain) - (1 - Fraction(exp(-self.eps0))) * miss) / self._total

    @property
    def beta(self) -> float:
        """(1-t)(miss(s) - miss(2s))/Omega: the total variation of two disjoint sets."""
        apart = float(self._miss(self.held) - self._miss(2 * self.held))
        return -expm1(-self.eps0) * apart / self._total

    def _shares(self, overlap: Overlap) -> list[tuple[float, int, int, int]]:
        """Of all reports, by which of three sets they meet.

        Masses are whole multiples of 2^-2400: sums of them that should be 0 are 0 as doubles.
        """
        missed = {cell: self._whole_miss(size) for cell, size in unions(overlap, self.held).items()}
        return [(mass / (1 << _BITS), *cell) for cell, mass in met(missed).items()]

    def _pair(self, rows: list[tuple[float, int, int, int]]) -> ShuffledPair:
        """Shares of reports, by whether the victim's two sets and that of the others make them likelier."""
        return two_level.pair(rows, exp(-self.eps0) / self._total, 1.0 / self._total)

    def _blanket(self) -> list[ShuffledPair]:
        """Two disjoint sets over t/(C(D,k) Omega), attained as k <= D - s: some S avoids y.  Symmetric in the sets."""
        return [self._over_blanket(shared=0)]

    def _over_blanket(self, shared: int) -> ShuffledPair:
        """Two sets that share as many items."""
        rows = self._shares((shared, 0, self.held - shared, 0))  # S = S0, whose column is left out
        return self._pair([(share, own, other, 0) for share, own, other, _ in rows])

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Two disjoint sets; the others hold items of one of them, of neither, or of both."""
        pairs = (self._pair(self._shares((0, 0, *shared))) for shared in _others(self.domain, self.held))
        return [direction for pair in pairs for direction in both_directions(pair)]

    def _types(self) -> list[list[ShuffledPair]]:
        """The overlaps that dominate every two sets among every third one."""
        return [[self._pair(self._shares(overlap)) for overlap in dominating(self.domain, self.held)]]

    def _swap_members(self, most: int) -> Sequence[SwapPair] | None:
        """Every two sets among every third one: tuples need more than what dominates one answer."""
        if self.held > MOST_HELD:
            return None
        blanket, listed = self.law.blanket(), by_shared(self.domain, self.held)
        members = [among([self._pair(self._shares(x)) for x in overlaps], blanket) for overlaps in listed]
        return members if len(members) <= most else None

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """w = t/(C(D,k) Omega) on every subset, so the ratio is the same for all reports."""
        if isinstance(victim, SetRandomizer) and victim._sizes == self._sizes:
            return rounded_down(victim.eps0 - self.eps0 + math.log(victim._total / self._total), 1.0)
        return super()._blanket_ratio(victim)

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _by_bits(self) -> bool:
        return self.k > _FEW_MEMBERS or isinstance(self.codec, PackedBits)

    @property
    def codec(self) -> Members | PackedBits:
        """The members, or bits where they are shorter."""
        members = Members(self.k, self.domain)
        bits = PackedBits(self.domain, ones=self.k, scratch=64 + 8 * self.domain)
        if bits.shape[0] < self.k * members.dtype.itemsize:
            return bits
        if self.k > _FEW_MEMBERS:
            return Members(self.k, self.domain, scratch=bits.scratch)
        return Members(self.k, self.domain, scratch=32 + 3 * (self.held + self.k) * members.dtype.itemsize)

    def _hits(self) -> list[int]:
        """Weights of the numbers j of held items that a report names: C(k, j) C(D-k, s-j), times t if j = 0."""
        D, s, k = self.domain, self.held, self.k
        low = Fraction(exp(-self.eps0))
        weights = [math.comb(k, j) * math.comb(D - k, s - j) * low.denominator for j in range(min(s, k) + 1)]
        return [math.comb(D - k, s) * low.numerator, *weights[1:]]

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "subset", "size": self.domain, "members": self.k, "hits": cuts(self._hits())}

    def _report(self, held: Array, src: Source) -> Array:
        """Reports of users who hold the columns of ``held`` (shape (s, users), overwritten).

        The report names j of the s items with the weight of :meth:`_hits`: which j is uniform
        (the first j of a shuffled column), and so are the k - j others.
        """
        D, s, k = self.domain, self.held, self.k
        hits = categorical(src, self._hits(), held.shape[1])
        shuffle(src, held, first=min(s, k))
        if not self._by_bits:
            return by_members(src, D, k, held, hits)
        table = by_bits(src, D, k, held, hits)
        if isinstance(self.codec, PackedBits):
            return np.packbits(table, axis=1)
        return np.nonzero(table)[1].astype(self.codec.dtype).reshape(-1, k)

    # -- the law in full --------------------------------------------------------------------------------------

    def _sets(self) -> list[tuple[int, ...]]:
        """Every set that a user may hold."""
        D = self.domain  # each of the two numbers of sets is at least D
        self._few_cells(math.comb(D, self.held) * math.comb(D, self.k) if D <= 1000 else math.inf)
        return list(combinations(range(D), self.held))

    def probabilities(self) -> FloatArray:
        """1/(C(D,k) Omega) where the subset (column, lexicographic) meets the set (row), t times that elsewhere."""
        held, sent = np.array(self._sets()), np.array(list(combinations(range(self.domain), self.k)))
        has = np.zeros((self.domain, len(sent)), dtype=bool)
        has[sent, np.arange(len(sent))[:, None]] = True
        meets = has[held].any(axis=1)
        return np.where(meets, 1.0, exp(-self.eps0)) / (len(sent) * self._total)


@lru_cache(maxsize=4096)
def _miss(D: int, k: int, items: int) -> Fraction:
    """C(D-m, k)/C(D, k) = C(D-k, m)/C(D, m): binomials of the few items, not of the domain.

    Exactly while that is cheap; beyond, to an absolute 2^-2380, so that every sum of a few of them which is a normal
    double is right to far more digits than it has, and one that should be 0 rounds to 0.
    """
    if items * D.bit_length() <= _EXACT_BITS:
        return Fraction(math.comb(D - k, items), math.comb(D, items))
    fewer, more = sorted((k, items))
    value = 1 << _BITS
    for i in range(0, fewer, _BLOCK):
        block = range(i, min(i + _BLOCK, fewer))
        value = value * math.prod(D - more - j for j in block) // math.prod(D - j for j in block)
    return Fraction(value, 1 << _BITS)


def _others(D: int, s: int) -> Iterator[tuple[int, int]]:
    """Sets S* beside disjoint S0 and S1, as items of each: of S0, then of neither, then of S1; or half of each.

    Brute force over all patterns of (S0, S1, S*) for s <= 4 finds the best dataset among these and their mirror
    images, S0 and S1 disjoint; for larger sets a few numbers of shared items stand for all.
    """
    for shared in range(s + 1) if s <= 4 else (0, 1, s // 2, s - 1, s):
        yield shared, s - shared - min(s - shared, D - 2 * s)
    yield s - s // 2, s // 2


def best_k(eps0: float, D: int, s: int) -> int:
    """The k in [1, D-s] with the smallest mean variance of the D frequencies (their mean is s/D).

    Grids around the best point so far, from all k down to neighbors.
    """
    low, high = 1, D - s
    while True:
        grid, miss = _grid(low, high, D, s)
        best = int(np.argmin(_mean_variance(eps0, D, s, grid, miss)))
        if grid.size == high - low + 1:
            return int(grid[best])
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, grid.size - 1)])


@lru_cache(maxsize=256)
def _grid(low: int, high: int, D: int, s: int) -> tuple[IntArray, FloatArray]:
    """Some k from ``low`` to ``high``, and miss(s) of each: many eps0 ask for the same."""
    step = high / low
    for _ in range(_HALVINGS):
        step = math.sqrt(step)
    k = np.unique(np.rint(np.cumprod([low, *[step] * 2**_HALVINGS])).astype(np.int64))
    miss = np.multiply.reduce((D - k - np.arange(s)[:, None]) / (D - np.arange(s)[:, None]), axis=0)
    k.flags.writeable = miss.flags.writeable = False
    return k, miss


def _mean_variance(eps0: float, D: int, s: int, k: IntArray, miss: FloatArray) -> FloatArray:
    """n times the PURE variance at frequency s/D, for every k; inf where the report says nothing."""
    t = exp(-eps0)
    total = 1.0 - miss + t * miss
    a, gain = k / D / total, -expm1(-eps0) * miss * k / (D - s) / total
    b = a - gain
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((s / D * a * (1 - a) + (1 - s / D) * b * (1 - b)) / gain**2)
