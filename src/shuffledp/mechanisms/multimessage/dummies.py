"""The laws of the numbers of dummies that a shuffler may add: Poisson, binomial and asymmetric two-sided geometric.

*Geometric* (Murakami, Sei, Eriguchi, arXiv:2504.07362: their novel dummy-count distribution).  Numbers N >= 0 with
weights l^(v-N) below the mode v and r^(N-v) from it on.  With D of this law and a value that is kept with probability
b, Pr[D + Bernoulli(b) = N]/Pr[D = N] is 1 - b + b l for 1 <= N <= v and 1 - b + b/r beyond: with

    l = 1 - (1 - e^-h)/b,        r = b/(e^h - 1 + b)

these are e^-h and e^h, so that the loss of one count is h or -h for every N but 0, whose ratio is 1 - b.  With
v = 0 and 1 - b = e^-h (then l = 0 and the mean is 1 - b) N = 0 has the ratio e^-h as well: their third protocol, which
is 2h-DP with delta = 0.  In terms of l:  e^-h = 1 - b + b l  and  r = e^-h/(e^-h + 1 - l).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...numerics.dummies import BinomialDummies, CountLaw, GeometricDummies, PoissonDummies
from ...numerics.search import bisect, smallest_whole
from ...randomness.sampling import Array, Source, bernoulli
from ...randomness.whole_numbers import binomial_numbers, geometric_numbers, poisson_numbers, share_right

#: The words of a spec.
WORDS = ("poisson", "geometric", "binomial")
#: How much a mean may be missed by rounding.
_ROUNDING = 1e-9


class Dummies(CountLaw):
    """A law of the number of dummies of one item, with what estimating and sampling need of it beside accounting."""

    mean: float
    variance: float
    #: To follow "the shuffler adds".
    words: ClassVar[str]

    @abstractmethod
    def numbers(self, src: Source, size: int) -> Array:
        """Independent numbers of this law, of exactly its mean."""


class Poisson(PoissonDummies, Dummies):
    """A Poisson number of this mean."""

    words = "a Poisson number"

    @property
    def variance(self) -> float:  # type: ignore[override]
        """The mean."""
        return self.mean

    def numbers(self, src: Source, size: int) -> Array:
        """By tables of at most 64 at a time."""
        return poisson_numbers(src, Fraction(self.mean), size)


class Binomial(BinomialDummies, Dummies):
    """Bin(M, mean/M) with M = 2 mean rounded up: fair coins (their first protocol) where 2 mean is a whole number."""

    words = "a binomial number"

    @classmethod
    def of(cls, mean: float) -> Binomial:
        """The law of this mean."""
        return cls(max(math.ceil(2.0 * mean), 1), mean)

    @property
    def variance(self) -> float:  # type: ignore[override]
        """M p (1 - p)."""
        return self.mean * (1.0 - self.mean / self.size)

    def numbers(self, src: Source, size: int) -> Array:
        """By tables of at most 128 trials at a time."""
        return binomial_numbers(src, self.size, Fraction(self.mean) / self.size, size)


class Geometric(GeometricDummies, Dummies):
    """Two-sided geometric, with the ratios ``left`` below the mode and ``right`` above it."""

    @classmethod
    def of(cls, keep: float, mean: float, tail: float) -> Geometric:
        """The law of at most this mean with the largest mode v >= 1 for which Pr[N = 0] is at most ``tail``.

        If there is none: one-sided (v = 0) of this mean.
        """
        return _geometric(keep, mean, tail)

    @property
    def words(self) -> str:  # type: ignore[override]
        """One-sided with the mode 0."""
        return "a geometric number" if self.mode == 0 else "a two-sided geometric number"

    @property
    def _sums(self) -> tuple[float, float, float]:
        """The sums of weights, of weights times N - v, and of weights times (N - v)^2."""
        q, v, x = self.left, float(self.mode), 1.0 - self.left
        a, y = self.right, 1.0 - self.right
        above = 1.0 / y, a / y**2, a * (1.0 + a) / y**3
        if not (q and self.mode):
            return above
        end = q**v if v * math.log(q) > -700.0 else 0.0  # of N = 0
        zero = q * (1.0 - end) / x
        one = q * (1.0 - (v + 1.0) * end + v * end * q) / x**2
        square = (v + 1.0) ** 2 - (2.0 * v * v + 2.0 * v - 1.0) * q + v * v * q * q
        two = q * (1.0 + q - end * square) / x**3
        return above[0] + zero, above[1] - one, above[2] + two

    @property
    def mean(self) -> float:  # type: ignore[override]
        """Of the law as it is: a little below the one that was asked for."""
        total, first, _ = self._sums
        return self.mode + first / total

    @property
    def variance(self) -> float:  # type: ignore[override]
        """About 2 (b/h)^2."""
        total, first, second = self._sums
        return second / total - (first / total) ** 2

    def numbers(self, src: Source, size: int) -> Array:
        """On one side of the mode, then how far."""
        above = bernoulli(src, share_right(self.left, self.right, self.mode), size)
        out = np.full(size, self.mode, dtype=np.int64)
        out[above] += geometric_numbers(src, self.right, int(above.sum()))
        if not above.all():
            out[~above] -= 1 + geometric_numbers(src, self.left, int((~above).sum()), below=self.mode)
        return out


@lru_cache(maxsize=256)
def _geometric(keep: float, mean: float, tail: float) -> Geometric:
    def excess(steps: int) -> float:
        """Negative from the first mode, counted downward, that has at most the mean."""
        return _with_tail(keep, most - steps, tail).mean - mean * (1.0 + _ROUNDING)

    most = math.floor(mean * (1.0 + _ROUNDING))
    found = smallest_whole(excess, low=0, high=most - 1, start=0) if most >= 1 else None
    if found is None:
        return Geometric(0.0, mean / (1.0 + mean), 0)
    return _with_tail(keep, most - found, tail)


@lru_cache(maxsize=256)
def _with_tail(keep: float, mode: int, tail: float) -> Geometric:
    """The law with this mode >= 1 whose Pr[N = 0] is ``tail``; with a large tail, that with the largest Pr[N = 0].

    For small 1 - l, Pr[N = 0] is about (1 - l) e^(-v (1 - l))/2, which falls from 1 - l = 1/v on.
    """

    def made(left: float) -> Geometric:
        kept = 1.0 - keep + keep * left
        return Geometric(left, kept / (kept + 1.0 - left), mode)

    def fine(left: float) -> bool:
        total = made(left)._sums[0]
        return mode * math.log(left) - math.log(total) <= math.log(tail)

    most = mode / (mode + 1.0)
    if fine(most):
        return made(most)
    return made(bisect(fine, safe=1e-300, unsafe=most, close=lambda at: 1e-15 * at, geometric=mode == 1))


def made(word: str, *, keep: float, mean: float, tail: float) -> Dummies:
    """The law of a word."""
    if word == "poisson":
        return Poisson(mean)
    return Binomial.of(mean) if word == "binomial" else Geometric.of(keep, mean, tail)
