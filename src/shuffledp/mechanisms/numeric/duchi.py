"""Means of vectors in [-1, 1]^dim by half-spaces: a random sign vector that mostly agrees with the user's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ..._support.exponentials import exp, expm1
from ...estimation.estimate import Estimate
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, bernoulli, words
from ...randomness.thresholds import threshold
from ..codecs import PackedBits
from ..two_level import MIRRORED, Shares, law, mirrored_with_ties, pair, vertices
from .cube import Cube
from .discrete_laplace import coins

#: Largest dimension in which all triples of vertices are listed.
MOST_DIMENSIONS = 16


@dataclass(frozen=True, kw_only=True)
class Duchi(Cube):
    """Vectors in [-1, 1]^dim by half-spaces (Duchi, Jordan, Wainwright, JASA 2018; even dim as repaired with Harmony).

    Each coordinate is rounded to v_j = +-1 with mean x_j.  With e = e^eps0, the report is z in {-1, 1}^dim with
    probability e/Z if z.v > 0 and 1/Z if z.v <= 0, where Z = (e-1) C + 2^dim and C = #{z : z.v > 0}, that is
    2^(dim-1) if dim is odd and (2^dim - binom(dim, dim/2))/2 if even.  (The textbook version for even dim, with
    ties z.v = 0 in both half-spaces, is not eps0-LDP.)  B z is unbiased, B = Z/((e-1) binom(dim-1, floor(dim/2))).

    Parameters
    ----------
    eps0 : float > 0
        Local budget of the whole vector.
    dim : int >= 1
        Number of coordinates.

    Notes
    -----
    p = q = e, beta = C (e-1)/Z (paper, Table 2, prints (e-1)/(e+1), which is right for odd dim and loose for even).
    The blanket is 1/Z everywhere and the worst pair is v, -v (proved in cube.py): C reports of each kind and
    2^dim - 2C ties; the pair is symmetric.  Lower bound: the others hold v0, or v0 with one coordinate flipped,
    which raises the weight of half of all ties and so spends less on the reports that distinguish v0 from -v0.

    Sampler: z uniform, mirrored or drawn again until it lies in the half-space that an exact coin chose.

    Examples
    --------
    >>> Duchi(eps0=1.0, dim=3).variation_ratio().beta.__round__(4)
    0.4621
    >>> m = Duchi(eps0=4.0, dim=5)
    >>> est = m.estimate(m.privatize(np.full((4000, 5), 0.5), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - 0.5) < 4 * est.stderr))
    True
    """

    name = "duchi"
    _in_words = "Duchi's half-space mechanism on [-1, 1]^{dim} with eps0 = {eps0}"

    @property
    def _ties(self) -> float:
        """Share of z with z.v = 0."""
        return 0.0 if self.dim % 2 else _central(self.dim)

    @property
    def _low(self) -> float:
        """2^dim/Z: the density of the low half-space; the high one has e times it."""
        t = exp(-self.eps0)
        return t / (t + 0.5 * (1.0 - self._ties) * -expm1(-self.eps0))

    @property
    def beta(self) -> float:
        """C (e-1)/Z."""
        gap, t = -expm1(-self.eps0) * (1.0 - self._ties), exp(-self.eps0)
        return gap / (gap + 2.0 * t)

    def _pair(self, rows: list[tuple[float, int, int, int]]) -> ShuffledPair:
        """Reports by share of {-1, 1}^dim and by whether v0, -v0 and the others favor them (1) or not (0)."""
        return pair(rows, self._low, exp(self.eps0) * self._low)

    def _blanket(self) -> list[ShuffledPair]:
        """z.v > 0, z.v < 0 and ties."""
        half = 0.5 * (1.0 - self._ties)
        return [self._pair([(half, 1, 0, 0), (half, 0, 1, 0), (self._ties, 0, 0, 0)])]

    def _types(self) -> list[list[ShuffledPair]]:
        """Every way in which z and -z may lie relative to three vertices (cube.py); with ties, those of actual ones."""
        low, high = self._low, exp(self.eps0) * self._low
        kinds: Iterable[Sequence[Shares]] = [MIRRORED]
        if self._ties and self.dim <= MOST_DIMENSIONS:
            kinds = triples(self.dim)
        elif self._ties:
            kinds = [vertices((1 - Fraction(self._ties)) / 2, mirrored_with_ties())]
        return [[law(shares, low, high) for shares in types] for types in kinds]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The others hold v0, or v0 with one coordinate flipped (then z.v0 > 0 without z.v* > 0 has share step)."""
        ties, half = self._ties, 0.5 * (1.0 - self._ties)
        step = 0.5 * _central(self.dim - self.dim % 2)
        own = self._pair([(half, 1, 0, 1), (half, 0, 1, 0), (ties, 0, 0, 0)])
        rows = [(half - step, 1, 0, 1), (step, 1, 0, 0)]
        if self.dim % 2:
            rows += [(step, 0, 1, 1), (half - step, 0, 1, 0)]
        else:
            rows += [(half, 0, 1, 0), (step, 0, 0, 1), (step, 0, 0, 0)]
        return [*both_directions(own), *both_directions(self._pair(rows))]

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> PackedBits:
        """The signs of z, 1 for +."""
        return PackedBits(self.dim, scratch=40 * self.dim + 64)

    def _portable_law(self) -> dict[str, Any]:
        rare = Fraction(0.5 * (1.0 + self._ties) * self._low)
        return {"kind": "half-space", "size": self.dim, "high": threshold(1 - rare)}

    def _randomize(self, values: Array, src: Source) -> Array:
        vertex = np.packbits(coins(src, 0.5 + 0.5 * values), axis=1)
        width = vertex.shape[1]
        used = np.packbits(np.ones(self.dim, dtype=np.uint8))  # the last byte may be padded
        high = ~bernoulli(src, 0.5 * (1.0 + self._ties) * self._low, len(values))  # the rare side, to full accuracy
        out = np.empty_like(vertex)
        pending = np.arange(len(values))
        while pending.size:
            z = words(src, pending.size * width, 8).reshape(pending.size, width) & used
            dot = self.dim - 2 * np.bitwise_count(z ^ vertex[pending]).sum(axis=1, dtype=np.int64)
            wanted = high[pending]
            # -z is as likely as z; in the low half-space of an even dim ties would then come out half as often
            mirrored = (wanted & (dot < 0)) | (~wanted & (dot > 0) & bool(self.dim % 2))
            out[pending] = np.where(mirrored[:, None], ~z & used, z)
            pending = pending[~mirrored & np.where(wanted, dot <= 0, dot > 0)]
        return out

    @property
    def _scale(self) -> float:
        t, gap = exp(-self.eps0), -expm1(-self.eps0)
        return (2.0 * t + (1.0 - self._ties) * gap) / (_central(self.dim - self.dim % 2) * gap)

    def _infer(self, counts: Array, users: int) -> Estimate:
        grain = 2.0 * self._scale / users
        return self._mean(self._scale * (2.0 * counts / users - 1.0), self._scale**2, users, grain, grain)

    def variance(self, n: int, value: float = 0.0) -> float:
        """(B^2 - value^2)/n, where the users' values have the mean square value^2."""
        return (self._scale**2 - value**2) / n

    def probabilities(self) -> FloatArray:
        """Rows and columns: the vertices, in the order of :meth:`inputs`."""
        v = np.array(self.inputs())
        return np.where(v @ v.T > 0, exp(self.eps0), 1.0) * (self._low / len(v))


def _central(m: int) -> float:
    """binom(m, m/2)/2^m for even m: correctly rounded by whole numbers, then Stirling's series for the ratio."""
    if m <= 2000:
        return math.comb(m, m // 2) / (1 << m)
    x = 2.0 / m
    # Gamma(k + 1/2)/(sqrt(pi) Gamma(k + 1)) at k = 1/x (DLMF 5.11.13); the next term is below 1e-15 of the sum
    return math.sqrt(x / math.pi) * (1.0 - x * (1 / 8 - x * (1 / 128 + x * (5 / 1024 - x * (21 / 32768)))))


def triples(dim: int) -> Iterator[list[Shares]]:
    """For every distance between v0 and v1, the shares of z with positive products for each third vertex (even dim).

    Only the numbers of coordinates matter in which v1 and the third vertex v differ from v0.

    Examples
    --------
    >>> [len(thirds) for thirds in triples(2)]
    [4, 3]
    """
    for apart in range(1, dim + 1):
        sizes = ((dim - apart - j, j, apart - i, i) for i in range(apart + 1) for j in range(dim - apart + 1))
        yield [_shares(*some) for some in sizes]


def _shares(agree: int, third: int, second: int, both: int) -> Shares:
    """Coordinates in which neither v1 nor v, only v, only v1, or both differ from v0."""
    blocks = [_block(size) for size in (agree, third, second, both)]
    a, b, c, d = np.ix_(*(sums for sums, _ in blocks))
    w, x, y, z = np.ix_(*(counts for _, counts in blocks))
    code = 4 * (a + b + c + d > 0) + 2 * (a + b - c - d > 0) + (a - b + c - d > 0)
    # at most 2^16 choices: their sums are exact
    found = np.bincount(code.reshape(-1), weights=(w * x * y * z).reshape(-1), minlength=8).astype(np.int64).tolist()
    total = 2 ** (agree + third + second + both)
    cells = itertools.product((0, 1), repeat=3)
    return {cell: Fraction(count, total) for cell, count in zip(cells, found, strict=True) if count}  # type: ignore[misc]


@lru_cache(maxsize=32)
def _block(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of a sum of ``size`` signs, and how many choices give each."""
    return np.arange(-size, size + 1, 2), np.array([math.comb(size, k) for k in range(size + 1)])
