"""Reports that are k-subsets of a domain: what the k-subset mechanism and PrivSet share.

Users hold a set S of s of the D items (s = 1 for the k-subset mechanism) and report a set y of k items.  With
t = e^-eps0 and miss(m) = C(D-m, k)/C(D, k), the probability that a uniform y avoids m given items,

    R(S)_y = w/(C(D, k) Omega),   w = 1 if y meets S, else t,   Omega = (1 - miss(s)) + t miss(s).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...estimation.constraints import Constraint
from ...estimation.estimate import Estimate, pure
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, categorical
from ..base import Mechanism
from ..codecs import Members, PackedBits
from ..known.variation_ratio import VariationRatio
from ..randomizer import Randomizer

#: Up to this many members a report is drawn one member at a time, comparing with those before.
_FEW_MEMBERS = 64
_MOST_CELLS = 10**6
#: Probabilities are exact fractions up to about this many bits; beyond, products of blocks of factors to _BITS bits.
_EXACT_BITS, _BITS, _BLOCK = 20_000, 2400, 64
#: The default k is searched on grids of this many points.
_GRID = 64


class SetRandomizer(Randomizer):
    """A mechanism that reports a k-subset of D items, e^eps0 times likelier if it meets the s items held.

    A report is stored as its k members in rising order (the order must not tell which of them was held), in the
    smallest dtype, or as ceil(D/8) bytes of bits (``numpy.packbits``) where that is smaller.
    """

    eps0: float
    k: int

    @property
    @abstractmethod
    def _domain(self) -> int:
        """D: the items that a report may name."""

    @property
    @abstractmethod
    def _held(self) -> int:
        """s: the items that a user holds."""

    @property
    @abstractmethod
    def _constraint(self) -> Constraint:
        """What is known of the frequencies."""

    # -- the law ----------------------------------------------------------------------------------------------

    def _miss(self, items: int) -> Fraction:
        return _miss(self._domain, self.k, items)

    @property
    def _total(self) -> float:
        """Omega."""
        miss = self._miss(self._held)
        return float(1 - miss) + math.exp(-self.eps0) * float(miss)

    @property
    def _keep(self) -> float:
        """Probability that the report names an item that is held: (k/D)/Omega."""
        return self.k / self._domain / self._total

    @property
    def _stray(self) -> float:
        """Probability that it names another item: a less (1-t) Pr[y names it and misses S]/Omega."""
        miss = self._miss(self._held) - self._miss(self._held + 1)
        return float(Fraction(self.k, self._domain) - (1 - Fraction(math.exp(-self.eps0))) * miss) / self._total

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = (1-t)(miss(s) - miss(2s))/Omega: the total variation of two disjoint sets."""
        p = math.exp(self.eps0)
        apart = float(self._miss(self._held) - self._miss(2 * self._held))
        return VariationRatio(p=p, beta=-math.expm1(-self.eps0) * apart / self._total, q=p)

    def _classes(self, sets: tuple[frozenset[int], ...]) -> Iterator[tuple[tuple[bool, ...], float]]:
        """(which of the sets y meets, probability of it for uniform y), exactly, by inclusion and exclusion."""
        for met in product((True, False), repeat=len(sets)):
            avoided = frozenset[int]().union(*(s for s, hit in zip(sets, met, strict=True) if not hit))
            hit = [s for s, hit in zip(sets, met, strict=True) if hit]
            mass = sum(
                (-1) ** size * self._miss(len(avoided.union(*some)))
                for size in range(len(hit) + 1)
                for some in combinations(hit, size)
            )
            if (share := float(mass)) > 0.0:
                yield met, share

    def _pair(self, first: Iterable[int], second: Iterable[int], others: Iterable[int] | None = None) -> ShuffledPair:
        """The victim holds one of two sets, the others a third; None: they guarantee the blanket t/(C(D,k) Omega)."""
        sets = [frozenset(first), frozenset(second), *([] if others is None else [frozenset(others)])]
        low, total = math.exp(-self.eps0), self._total
        laws: list[list[float]] = []
        for met, mass in self._classes(tuple(sets)):
            weights = [1.0 if hit else low for hit in met]
            laws.append([mass * w / total for w in (*weights, low)[:3]])
        P0, P1, t = zip(*laws, strict=True)
        return ShuffledPair(P0=P0, P1=P1, t=t)

    def blanket(self) -> PairSet:
        """Two disjoint sets over t/(C(D,k) Omega), which is attained: k <= D - s, so some S avoids y.  Its own swap."""
        s = self._held
        return PairSet([self._pair(range(s), range(s, 2 * s))])

    def constant_datasets(self) -> PairSet:
        """Two disjoint sets; the others hold items of one of them, of neither, or of both."""
        s = self._held
        pairs = (self._pair(range(s), range(s, 2 * s), others) for others in _others(self._domain, s))
        return PairSet([direction for pair in pairs for direction in both_directions(pair)])

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.min_scalar_type(self._domain - 1)

    @property
    def _packed(self) -> bool:
        return (self._domain + 7) // 8 < self.k * self._dtype.itemsize

    @property
    def _by_bits(self) -> bool:
        return self._packed or self.k > _FEW_MEMBERS

    @property
    def codec(self) -> Members | PackedBits:
        """Members, or bits where that is smaller."""
        scratch = self._bytes_per_user
        if self._packed:
            return PackedBits(self._domain, scratch=scratch, ones=self.k)
        return Members(self.k, self._domain, scratch=scratch)

    def blanket_ratio(self, victim: Mechanism) -> float:
        """The same for every subset."""
        if not isinstance(victim, SetRandomizer) or type(victim) is not type(self):
            return super().blanket_ratio(victim)
        if all(getattr(self, x) == getattr(victim, x) for x in ("_domain", "_held", "k")):
            log = victim.eps0 - self.eps0 + math.log(victim._total / self._total)
            return math.exp(min(log - 1000.0 * 2.0**-52, 700.0)) * (1.0 - 2.0**-46)
        return super().blanket_ratio(victim)

    @property
    def _bytes_per_user(self) -> int:
        return 64 + (8 * self._domain if self._by_bits else 6 * (self._held + self.k) * self._dtype.itemsize)

    def _report(self, held: NDArray[Any], src: Source) -> NDArray[Any]:
        """Reports of users who hold the columns of ``held`` (shape (s, users), overwritten).

        The report names j of the s items with weight C(k, j) C(D-k, s-j) (t if j = 0): which j is uniform
        (the first j of a shuffled column), and so are the k - j others.
        """
        D, s, k = self._domain, self._held, self.k
        low = Fraction(math.exp(-self.eps0))
        weights = [math.comb(k, j) * math.comb(D - k, s - j) * low.denominator for j in range(min(s, k) + 1)]
        weights[0] = math.comb(D - k, s) * low.numerator
        hits = categorical(src, weights, held.shape[1])
        shuffle(src, held, first=min(s, k))
        if not self._by_bits:
            return _by_members(src, D, k, held, hits)
        table = _by_bits(src, D, k, held, hits)
        if self._packed:
            return np.packbits(table, axis=1)
        return np.nonzero(table)[1].astype(self._dtype).reshape(-1, k)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        shape, dtype = ((self._domain + 7) // 8, np.dtype(np.uint8)) if self._packed else (self.k, self._dtype)
        if data.ndim != 2 or data.shape[1] != shape or data.dtype.kind not in "iu":
            raise ParameterError(
                f"reports must have shape (users, {shape}) and dtype {dtype}, got {data.dtype} of shape {data.shape}; "
                f"pass what privatise of {self.spec} returned."
            )
        if not self._packed:
            return np.bincount(data.reshape(-1), minlength=self._domain)
        bits = np.unpackbits(data.astype(np.uint8, copy=False), axis=1, count=self._domain)
        cut = len(bits) // 255 * 255  # 255 rows at a time fit a byte, which sums several times faster
        blocks = bits[:cut].reshape(-1, 255, self._domain).sum(axis=1, dtype=np.uint8)
        return np.asarray(blocks.sum(axis=0, dtype=np.int64) + bits[cut:].sum(axis=0, dtype=np.int64))

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return pure(counts, users, self._keep, self._stray, self._constraint)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency: [f a(1-a) + (1-f) b(1-b)]/(n (a-b)^2)."""
        a, b = self._keep, self._stray
        return (frequency * a * (1 - a) + (1 - frequency) * b * (1 - b)) / (n * (a - b) ** 2)

    # -- the law in full --------------------------------------------------------------------------------------

    def _sets(self) -> list[tuple[int, ...]]:
        """Every set that a user may hold."""
        cells = math.comb(self._domain, self._held) * math.comb(self._domain, self.k)
        if cells > _MOST_CELLS:
            raise ParameterError(
                f"{self.spec} has a matrix of {cells:.3g} cells, more than 1e6; use its blanket and constant_datasets."
            )
        return list(combinations(range(self._domain), self._held))

    def probabilities(self) -> NDArray[np.float64]:
        """1/(C(D,k) Omega) where the subset (column, lexicographic) meets the set (row), t times that elsewhere."""
        rows, columns = self._sets(), list(combinations(range(self._domain), self.k))
        meets = np.array([[not set(y).isdisjoint(S) for y in columns] for S in rows])
        return np.where(meets, 1.0, math.exp(-self.eps0)) / (len(columns) * self._total)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each report among the k-subsets in lexicographic order."""
        self._sets()
        powers = 1 << np.arange(self._domain, dtype=np.int64)
        data = np.asarray(data)
        mask = np.unpackbits(data, axis=1, count=self._domain) @ powers if self._packed else powers[data].sum(axis=1)
        masks = np.array([sum(1 << v for v in y) for y in combinations(range(self._domain), self.k)])
        order = np.argsort(masks)
        return np.asarray(order[np.searchsorted(masks[order], mask)])


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


def _others(D: int, s: int) -> Iterator[frozenset[int]]:
    """Sets S* for S0 = [0, s) and S1 = [s, 2s): items of S0, then of neither, then of S1; or half of each.

    Brute force over all patterns of (S0, S1, S*) for s <= 4 finds the best dataset among these and their mirror
    images, S0 and S1 disjoint; for larger sets a few numbers of shared items stand for all.
    """
    for shared in range(s + 1) if s <= 4 else (0, 1, s // 2, s - 1, s):
        outside = min(s - shared, D - 2 * s)
        yield frozenset((*range(shared), *range(2 * s, 2 * s + outside), *range(s, 2 * s - shared - outside)))
    yield frozenset(range(s // 2, s + s // 2))


def best_k(eps0: float, D: int, s: int) -> int:
    """The k in [1, D-s] with the smallest mean variance of the D frequencies (their mean is s/D).

    Grids around the best point so far, from all k down to neighbours.
    """
    low, high = 1, D - s
    while True:
        grid = np.unique(np.round(np.geomspace(low, high, _GRID)).astype(np.int64))
        best = int(np.argmin(_mean_variance(eps0, D, s, grid)))
        if grid.size == high - low + 1:
            return int(grid[best])
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, grid.size - 1)])


def _mean_variance(eps0: float, D: int, s: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """n times the PURE variance at frequency s/D, for every k; inf where the report says nothing."""
    t = math.exp(-eps0)
    miss = np.exp(np.log((D - k[:, None] - np.arange(s)) / (D - np.arange(s))).sum(axis=1))
    total = 1.0 - miss + t * miss
    a, gain = k / D / total, -math.expm1(-eps0) * miss * k / (D - s) / total
    b = a - gain
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((s / D * a * (1 - a) + (1 - s / D) * b * (1 - b)) / gain**2)


# -- drawing sets ---------------------------------------------------------------------------------------------


def shuffle(src: Source, table: NDArray[Any], first: int) -> None:
    """Permute every column in place, so that its ``first`` entries are a uniform ordered choice (Fisher, Yates)."""
    rows, users = table.shape
    at = np.arange(users)
    for i in range(min(first, rows - 1)):
        j = i + below(src, rows - i, users).astype(np.int64)
        moved = table[j, at]
        table[j, at] = table[i]
        table[i] = moved


def _by_members(src: Source, D: int, k: int, held: NDArray[Any], hits: NDArray[np.int64]) -> NDArray[Any]:
    """k members per user in rising order: the first ``hits`` held items, then items apart from all before."""
    s, users = held.shape
    taken = np.empty((s + k, users), dtype=held.dtype)
    taken[:s] = held
    for i in range(k):
        before, fresh = taken[: s + i], below(src, D, users)
        bad = np.flatnonzero((before == fresh).any(axis=0))
        while bad.size:
            again = below(src, D, bad.size)
            fresh[bad] = again
            bad = bad[(before[:, bad] == again).any(axis=0)]
        taken[s + i] = np.where(i < hits, held[i], fresh) if i < s else fresh
    return np.sort(taken[s:].T, axis=1)


def _by_bits(src: Source, D: int, k: int, held: NDArray[Any], hits: NDArray[np.int64]) -> NDArray[np.uint8]:
    """One row of D zeros and ones per user.

    Every round draws as many items as are missing, with replacement, until they are all there.  How many are drawn
    depends on the number found only, so the law does not change under permutations of the free items: the set is
    uniform among those of its size.  Above D/2 the items left out are drawn instead.
    """
    s, users = held.shape
    start = np.arange(users) * D
    cells = np.zeros(users * D, dtype=np.uint8)
    table, at = cells.reshape(users, D), start + held
    cells[at] = 1
    left_out = 2 * k > D
    need = D - s - k + hits if left_out else k - hits
    goal, open_ = need + s, np.flatnonzero(need)
    while open_.size:
        picks = np.repeat(start[open_], need[open_])
        cells[picks + below(src, D, picks.size)] = 1
        need[open_] = goal[open_] - table[open_].sum(axis=1, dtype=np.uint32)
        open_ = open_[need[open_] > 0]
    if left_out:
        cells ^= 1
    cells[at] = np.arange(s)[:, None] < hits
    return table
