"""Means of vectors in [-1, 1]^dim, one coordinate at a time (Harmony) or by half-spaces (Duchi et al.).

Both first round the input to a vertex v of the cube, so that every law is a mixture of those of vertices; by joint
convexity only pairs of vertices matter.  A report z then has weight e = e^eps0 or 1 under v, and 1 under -v
whenever e under v: the blanket is the low weight everywhere.  Over it a pair (v0, v1) has four kinds of
reports, (R0, R1)/omega = (e, 1), (1, e), (e, e), (1, 1), the first two equally many.  Exchanging a report of kind
(e, e) and one of kind (1, 1) for one of each of the first two keeps mass and both means and spreads X = u - E v,
as e - E >= e(1-E), 1-E >= 1 - E e for E >= 1.  So the pair with most reports of the first kind is the worst
at every eps and n: v1 = -v0, where there is no report of kind (e, e).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...estimation.constraints import Box
from ...estimation.estimate import Estimate, Variance, modelled
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, bernoulli, words
from ..codecs import PackedBits
from ..known.variation_ratio import VariationRatio
from ..parameters import budget
from ..randomizer import Randomizer
from ..values import numbers
from .discrete_laplace import coins


class _Cube(Randomizer):
    """What mechanisms on [-1, 1]^dim share."""

    eps0: float = budget()
    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", check.local_budget(self.eps0))
        dim = check.whole("dim", self.dim, low=1, high=2**31, hint="dim counts the coordinates of a vector")
        object.__setattr__(self, "dim", dim)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return numbers(values, -1.0, 1.0, columns=self.dim)

    def _mean(self, value: NDArray[np.float64], square: float, users: int, grain: float) -> Estimate:
        """An estimate whose reports have this mean square each: variance (square - mean x_j^2)/n.

        mean x_j^2 is at least the square of the mean, so the standard error is right where users agree, else large.
        For users drawn from a population (square - mean^2)/n is the variance: nothing is added.
        """
        noise = Variance(square / users, 0.0, -1.0 / users)
        return modelled(value, users, Box(-1.0, 1.0), noise, Variance(0.0), grain=grain)

    def inputs(self) -> list[tuple[int, ...]]:
        """The vertices of the cube: every other law is a mixture of theirs."""
        if self.dim > 9:  # a matrix over vertices has up to 4^dim cells
            raise ParameterError(f"dim must be at most 9 to list the vertices, got {self.dim}; use blanket() instead.")
        return list(itertools.product((-1, 1), repeat=self.dim))


@dataclass(frozen=True, kw_only=True)
class Duchi(_Cube):
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
    The blanket is 1/Z everywhere and the worst pair is v, -v (module docstring): C reports of each kind and
    2^dim - 2C ties; the round is its own swap.  Lower bound: the others hold v0, or v0 with one coordinate flipped,
    which raises the weight of half of all ties and so spends less on the reports that tell v0 from -v0.

    Sampler: z uniform, mirrored or drawn again until it lies in the half-space that an exact coin chose.

    Examples
    --------
    >>> Duchi(eps0=1.0, dim=3).variation_ratio().beta.__round__(4)
    0.4621
    >>> m = Duchi(eps0=4.0, dim=5)
    >>> est = m.estimate(m.privatise(np.full((4000, 5), 0.5), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - 0.5) < 4 * est.stderr))
    True
    """

    name: ClassVar[str] = "duchi"

    eps0: float = budget()
    dim: int

    @property
    def description(self) -> str:
        """In words."""
        return f"Duchi's half-space mechanism on [-1, 1]^{self.dim} with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _ties(self) -> float:
        """Share of z with z.v = 0."""
        return 0.0 if self.dim % 2 else _central(self.dim)

    @property
    def _low(self) -> float:
        """2^dim/Z: the density of the low half-space; the high one has e times it."""
        t = math.exp(-self.eps0)
        return t / (t + 0.5 * (1.0 - self._ties) * -math.expm1(-self.eps0))

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = C (e-1)/Z."""
        p, gap, t = math.exp(self.eps0), -math.expm1(-self.eps0) * (1.0 - self._ties), math.exp(-self.eps0)
        return VariationRatio(p=p, beta=gap / (gap + 2.0 * t), q=p)

    def _pair(self, rows: list[tuple[float, float, float, float]]) -> ShuffledPair:
        """Reports by share of {-1, 1}^dim and weights under v0, -v0 and the others."""
        share, *laws = np.array([row for row in rows if row[0] > 0]).T
        return ShuffledPair(*(share * self._low * law for law in laws))

    def blanket(self) -> PairSet:
        """z.v > 0, z.v < 0 and ties."""
        e, half = math.exp(self.eps0), 0.5 * (1.0 - self._ties)
        return PairSet([self._pair([(half, e, 1, 1), (half, 1, e, 1), (self._ties, 1, 1, 1)])])

    def constant_datasets(self) -> PairSet:
        """The others hold v0, or v0 with one coordinate flipped (then z.v0 > 0 without z.v* > 0 has share step)."""
        e, ties, half = math.exp(self.eps0), self._ties, 0.5 * (1.0 - self._ties)
        step = 0.5 * _central(self.dim - self.dim % 2)
        own = self._pair([(half, e, 1, e), (half, 1, e, 1), (ties, 1, 1, 1)])
        if self.dim % 2:
            rows = [(half - step, e, 1, e), (step, e, 1, 1), (step, 1, e, e), (half - step, 1, e, 1)]
        else:
            rows = [(half - step, e, 1, e), (step, e, 1, 1), (half, 1, e, 1), (step, 1, 1, e), (step, 1, 1, 1)]
        return PairSet([*both_directions(own), *both_directions(self._pair(rows))])

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> PackedBits:
        """A sign per coordinate."""
        return PackedBits(self.dim, scratch=self._bytes_per_user)

    @property
    def _bytes_per_user(self) -> int:
        return 40 * self.dim + 64

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
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

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.unpackbits(data, axis=1, count=self.dim).sum(axis=0, dtype=np.int64))

    @property
    def _scale(self) -> float:
        t, gap = math.exp(-self.eps0), -math.expm1(-self.eps0)
        return (2.0 * t + (1.0 - self._ties) * gap) / (_central(self.dim - self.dim % 2) * gap)

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return self._mean(self._scale * (2.0 * counts / users - 1.0), self._scale**2, users, 2.0 * self._scale / users)

    def variance(self, n: int, value: float = 0.0) -> float:
        """Variance of one coordinate of the mean, if all hold ``value`` there: (B^2 - value^2)/n."""
        return (self._scale**2 - value**2) / n

    def probabilities(self) -> NDArray[np.float64]:
        """Rows and columns: the vertices, in the order of :meth:`inputs`."""
        v = np.array(self.inputs())
        return np.where(v @ v.T > 0, math.exp(self.eps0), 1.0) * (self._low / len(v))

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The bits of a report, read as a number."""
        bits = np.unpackbits(data, axis=1, count=self.dim).astype(np.int64)
        return np.asarray(bits @ (1 << np.arange(self.dim)[::-1]))


@dataclass(frozen=True, kw_only=True)
class Harmony(_Cube):
    """Vectors in [-1, 1]^dim, one random coordinate each (Nguyen, Xiao, Yang, Hui, Shin, Shin, 2016).

    The report is a uniform coordinate j and a sign, + with probability (1 + x_j T)/2, T = tanh(eps0/2): x_j is rounded
    to +-1 and the sign flipped with probability 1/(e+1).  +-dim/T at coordinate j is unbiased for x.

    Parameters
    ----------
    eps0 : float > 0
        Local budget of the whole vector.
    dim : int >= 1
        Number of coordinates.

    Notes
    -----
    p = q = e, beta = tanh(eps0/2) (paper, Table 2).  The blanket is 1/(dim (e+1)) on each of the 2 dim reports; the
    worst pair is v, -v (module docstring), for which the reports of all coordinates merge into two: binary randomized
    response, whatever dim is.  Lower bound: the others hold v0 with some coordinates flipped.

    Examples
    --------
    >>> Harmony(eps0=1.0, dim=10).variation_ratio().beta.__round__(4)
    0.4621
    >>> m = Harmony(eps0=4.0, dim=2)
    >>> est = m.estimate(m.privatise(np.full((4000, 2), -0.25), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value + 0.25) < 4 * est.stderr))
    True
    """

    name: ClassVar[str] = "harmony"

    eps0: float = budget()
    dim: int

    @property
    def description(self) -> str:
        """In words."""
        return f"Harmony on [-1, 1]^{self.dim} with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _flip(self) -> float:
        t = math.exp(-self.eps0)
        return t / (1.0 + t)

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = tanh(eps0/2)."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=math.tanh(0.5 * self.eps0), q=p)

    def blanket(self) -> PairSet:
        """Two kinds of reports: those that v0 prefers and those that -v0 prefers."""
        f = self._flip
        return PairSet([ShuffledPair(P0=[1.0 - f, f], P1=[f, 1.0 - f], t=[f, f])])

    def constant_datasets(self) -> PairSet:
        """The others agree with v0 in all coordinates, all but one, or half of them (any number, if dim is small)."""
        f, g = self._flip, 1.0 - self._flip
        agree, differ = [(g, f, g), (f, g, f)], [(g, f, f), (f, g, g)]
        few = range(self.dim + 1) if self.dim <= 8 else (self.dim, self.dim - 1, (self.dim + 1) // 2)
        pairs = []
        for k in few:
            share = k / self.dim
            rows = [[share * x for x in row] for row in agree] + [[(1.0 - share) * x for x in row] for row in differ]
            pairs += both_directions(ShuffledPair(*zip(*rows, strict=True)))
        return PairSet(pairs)

    # -- running it -------------------------------------------------------------------------------------------

    _bytes_per_user = 96

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        users = len(values)
        coordinate = below(src, self.dim, users)
        sign = coins(src, 0.5 + 0.5 * values[np.arange(users), coordinate]) ^ bernoulli(src, self._flip, users)
        return (2 * coordinate.astype(np.int64) + sign).astype(np.min_scalar_type(2 * self.dim - 1))

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(data, minlength=2 * self.dim)

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        gain = math.tanh(0.5 * self.eps0)
        value = (counts[1::2] - counts[::2]) * (self.dim / (gain * users))
        return self._mean(value, self.dim / gain**2, users, self.dim / (gain * users))

    def variance(self, n: int, value: float = 0.0) -> float:
        """Variance of one coordinate of the mean, if all hold ``value`` there: (dim/T^2 - value^2)/n."""
        return (self.dim / math.tanh(0.5 * self.eps0) ** 2 - value**2) / n

    def probabilities(self) -> NDArray[np.float64]:
        """Rows: the vertices; columns: (coordinate 0, -), (coordinate 0, +), (coordinate 1, -), ..."""
        v = np.array(self.inputs())
        right = np.stack([v < 0, v > 0], axis=2).reshape(len(v), -1)
        return np.where(right, 1.0 - self._flip, self._flip) / self.dim


def _central(m: int) -> float:
    """binom(m, m/2)/2^m for even m: correctly rounded by whole numbers, then Stirling's series for the ratio."""
    if m <= 2000:
        return math.comb(m, m // 2) / (1 << m)
    x = 2.0 / m
    # Gamma(k + 1/2)/(sqrt(pi) Gamma(k + 1)) at k = 1/x (DLMF 5.11.13); the next term is below 1e-15 of the sum
    return math.sqrt(x / math.pi) * (1.0 - x / 8 + x**2 / 128 + 5 * x**3 / 1024 - 21 * x**4 / 32768)
