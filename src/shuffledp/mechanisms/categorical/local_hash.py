"""Local hashing: hash your value to few buckets with your own public seed, then answer by randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.exponentials import exp, expm1
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, below, bernoulli, pick
from ...randomness.thresholds import chance_of, exact_chance
from ..codecs import Digits
from ..frequency import FrequencyOracle
from ..parameters import Free, whole
from ..sets.circle import wrapped
from ..two_level import pair

_MOST_BUCKETS = 2**31


@dataclass(frozen=True, kw_only=True)
class LocalHash(FrequencyOracle):
    """Optimal local hashing (Wang, Blocki, Li, Jha, USENIX Security 2017) with a hash family of exactly known law.

    Every user draws a fresh seed a, uniform on Z_l^k with k = ceil(log2 d), and hashes the bits of x:

        h_a(x) = a_1 x_1 + ... + a_k x_k  mod l.

    The report is (a, y) where y = h_a(x) with probability e/(e+l-1), e = e^eps0, and any other bucket with
    probability 1/(e+l-1) each.  The seed is part of the report; a seed tied to the user would undo the shuffling.

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`
    l : int >= 2, optional
        Number of buckets; by default round(e + 1), which gives the smallest variance (at most 2^31).

    Notes
    -----
    *The family.*  Randomized response commutes with shifts of Z_l, so only differences of hash values matter.  For
    distinct x0, x1, x2 the pair (h(x1) - h(x0), h(x2) - h(x0)) is uniform on Z_l^2, whatever l is: after changing
    the sign of a_i where x0 has a one, it is the image of the uniform a under two distinct nonzero 0/1 vectors, two of
    whose columns differ and are nonzero, and any two such columns have determinant +-1.  So two values collide with
    probability exactly 1/l, and all ordered pairs and triples of distinct inputs are alike.

    *Blanket.*  The smallest probability of (a, y) over inputs is that of a stray answer, except where every input
    hashes to y; all powers of two below d are inputs, so this happens for a = 0, y = 0 only (probability l^-k).
    (Charging the stray weight there too would be sound, since a smaller t is; this one is exact.)

    *Parameters.*  p = q = e and beta = (e-1)/(e+l-1) as printed in the paper's Table 2: safe for every hash
    family; the exact beta of this one is smaller by the factor 1 - 1/l, which the blanket bound uses.

    *Estimator.*  A report supports v if h_a(v) = y: with probability e/(e+l-1) if v is held, else 1/l exactly.

    Examples
    --------
    >>> LocalHash(eps0=1.0, d=1000).l
    4
    """

    name = "local-hash"
    _in_words = "local hashing of {d:,} options to {l:,} buckets with eps0 = {eps0}"
    _lists_every_type = True

    l: int = whole(
        low=2,
        high=_MOST_BUCKETS,
        hint="l counts the buckets",
        choose=lambda m: min(round(exp(m.eps0) + 1.0), _MOST_BUCKETS),
        free=Free(4.0, lambda m: 1.0 / m.d),  # the mean error over the options
    )

    @property
    def _bits(self) -> int:
        return (self.d - 1).bit_length()

    @property
    def keep(self) -> float:
        """e/(e+l-1): the bucket of an item that is held."""
        return 1.0 / (1.0 + (self.l - 1) * exp(-self.eps0))

    @property
    def stray(self) -> float:
        """1/l: a collision, or a stray answer."""
        return 1.0 / self.l

    @property
    def _miss(self) -> float:
        """1/(e+l-1): any other bucket."""
        return exp(-self.eps0) * self.keep

    @property
    def beta(self) -> float:
        """(1-t)/(1+(l-1)t) with t = e^-eps0: safe for every hash family."""
        return -expm1(-self.eps0) * self.keep

    @property
    def _both(self) -> tuple[float, float]:
        """Differences of three hash values are uniform (see Notes)."""
        return self.keep / self.l, 1.0 / self.l**2

    @property
    def codec(self) -> Digits:
        """The coefficients of the hash function, then the bucket.

        Scratch: partial hash values of all items by halves of their bits; at least 256 keeps a chunk in the cache.
        """
        rows = 3 * self._bits + (1 << self._bits // 2) + (1 << self._bits - self._bits // 2)
        return Digits(self._bits + 1, self.l, scratch=max(256, 2 * rows * self._wide.itemsize))

    def _pair(self, patterns: list[tuple[float, tuple[int, int, int]]]) -> ShuffledPair:
        """A pair from (probability, buckets of x0, x1 and of what the others send; -1: in no bucket)."""
        rows: list[tuple[float, int, int, int]] = []
        for chance, (own, other, sent) in patterns:
            used = max(own, other, sent) + 1
            if used <= self.l:
                rows += [(chance, own == y, other == y, sent == y) for y in range(used)]
                rows.append((chance * (self.l - used), 0, 0, 0))
        return pair(rows, self._miss, self.keep)

    def _blanket(self) -> list[ShuffledPair]:
        """One pair, symmetric in x0 and x1: they hash to two buckets, to one, or with every input to one."""
        l, everything = self.l, float(self.l) ** -self._bits
        patterns = [(1 - 1 / l, (0, 1, -1)), (1 / l - everything, (0, 0, -1)), (everything, (0, 0, 0))]
        return [self._pair(patterns)]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold x0 (or x1), or a third value: the law of three hash values is exact (see Notes)."""
        l = self.l
        held = both_directions(self._pair([(1 - 1 / l, (0, 1, 0)), (1 / l, (0, 0, 0))]))
        if self.d == 2:
            return held
        two, three = (l - 1) / l / l, (l - 1) * (l - 2) / l / l
        apart = [(two, (0, 0, 1)), (two, (0, 1, 0)), (two, (0, 1, 1)), (three, (0, 1, 2))]
        return [self._pair([(1 / l / l, (0, 0, 0)), *apart]), *held]

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _wide(self) -> np.dtype[Any]:
        """Sums of two hash values fit in it."""
        return np.min_scalar_type(2 * self.l - 1)

    def _add(self, a: Array, b: Array) -> Array:
        """The sum mod l of numbers below l."""
        return wrapped(a + b, self.l)

    def _portable_law(self) -> dict[str, Any]:
        own = chance_of(self.beta, self.l * self._miss)
        return {"kind": "hash", "buckets": self.l, "bits": self._bits, "keep": own}

    def _randomize(self, values: Array, src: Source) -> Array:
        n, k = len(values), self._bits
        report = np.empty((k + 1, n), dtype=self.codec.dtype)  # one row per digit: contiguous work
        report[:k] = below(src, self.l, k * n).reshape(k, n)
        hashed = np.zeros(n, dtype=self._wide)
        for i in range(k):
            bit = (values >> values.dtype.type(i)) & values.dtype.type(1)
            hashed = self._add(
                hashed, (report[i] * bit.astype(report.dtype, copy=False)).astype(self._wide, copy=False)
            )
        lie = bernoulli(src, exact_chance(self.l * self._miss, self.beta), n)
        report[k] = pick(lie, below(src, self.l, n).astype(self._wide, copy=False), hashed)
        return report.T

    def _sums(self, digits: Array) -> list[Array]:
        """All subset sums mod l of the rows, row i having the weight 2^i in the index."""
        sums = [np.zeros(digits.shape[1], dtype=digits.dtype)]
        for row in digits:
            sums += [self._add(s, row) for s in sums]
        return sums

    def _tally(self, data: Array) -> Array:
        """How many reports support each item: with v = (high, low) bits, h(low) = y - h(high)."""
        k, half = self._bits, self._bits // 2
        digits = np.ascontiguousarray(data.T, dtype=self._wide)
        low = self._sums(digits[:half])
        minus = self._sums(np.where(digits[half:k] == 0, digits[half:k], self.l - digits[half:k]).astype(self._wide))
        hits = np.zeros(len(low) * len(minus), dtype=np.int64)
        equal = np.empty(digits.shape[1], dtype=np.bool_)
        for i, part in enumerate(minus[: 1 + (self.d - 1 >> half)]):
            wanted = self._add(digits[k], part)
            for j, own in enumerate(low):
                np.equal(own, wanted, out=equal)
                hits[(i << half) + j] = np.count_nonzero(equal)
        return hits[: self.d]

    def probabilities(self) -> FloatArray:
        """Columns are the reports (a, y) as numbers with the digits a_1, ..., a_k, y in base l, lowest first."""
        width = self._bits + 1
        self._few_cells(self.d * float(self.l) ** width)
        digits = np.arange(self.l**width) // self.l ** np.arange(width)[:, None] % self.l
        bits = np.arange(self.d)[:, None] >> np.arange(self._bits) & 1
        hit = bits @ digits[:-1] % self.l == digits[-1]
        return np.where(hit, self.keep, self._miss) / float(self.l) ** self._bits
