"""A Poisson sum: a number as that many identical messages, among a Poisson number of made-up ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...estimation.estimate import Estimate, mean_in_range
from ...numerics.family import Family
from ...numerics.poisson.one_count import PoissonSteps
from ...randomness.sampling import Array, Source
from ...randomness.whole_numbers import poisson_total
from ..accuracy import Accuracy
from ..base import Mechanism
from ..codecs import Category
from ..numeric.grid_mean import Grid
from ..parameters import real, whole
from ..values import numbers
from .raw_messages import ExactCounts, messages_law


@dataclass(frozen=True, kw_only=True)
class PoissonSum(ExactCounts):
    """Numbers in [-1, 1] in r units, each an identical message, among a Poisson number of made-up ones.

    (x+1)/2 is rounded to a multiple of 1/r at random, without bias, and a user sends that many units as messages that
    all look the same, and a Poisson(m) number of fabricated ones.  With S messages of n users in all, 2(S/n - m)/r - 1
    is unbiased for the mean, with a variance of at most (4m + 1)/(r^2 n).

    Parameters
    ----------
    units : int in [1, 65536]
        r, the messages of the largest number.
    poisson : float >= 0
        m, the mean number of fabricated messages per user.

    Notes
    -----
    Exact: all that can be seen is the number of messages.  Those of the others are known in the worst case and are
    subtracted, so it is Poisson(n m) plus up to r units of the victim, and the worst pair of values is 0 and r units
    (numerics/poisson/one_count.py): upper and lower bound agree.  Only the total may be seen.  How many messages *one*
    user sends must be hidden from everybody, the shuffler too: without it, nothing protects the value.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = sdp.calibrate("poisson-sum:units=16", n=10_000, epsilon=1.0, delta=1e-8)
    >>> round(m.poisson, 3), round(m.variance(1), 4), round(m.messages_per_user, 1)
    (0.694, 0.0148, 8.7)
    >>> est = m.estimate(m.privatize(np.full(10_000, 0.3), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.3) < 4 * est.stderr[0])
    True
    """

    name = "poisson-sum"
    _in_words = (
        "a Poisson sum of numbers in [-1, 1] in {units:,} units with {poisson} fabricated messages per user on average"
    )
    _mean_number = "poisson"
    serves = ("numbers",)
    _number_range = (-1.0, 1.0)
    _design = (("units", 16),)

    units: int = whole(low=1, high=2**16, hint="it counts the messages of the largest number")
    poisson: float = real(low=0.0, high=1e9, hint="it is a mean per user", role="messages")

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, with a number in the middle of the range."""
        return 0.5 * self.units + self.poisson

    # -- accounting ---------------------------------------------------------------------------------------

    def _blanket(self) -> Family:
        """The exact law: the count is raised by up to r."""
        return PoissonSteps(mean=self.poisson, most=self.units)

    def _two_counts(self) -> Family:
        """There is one count."""
        return Mechanism._two_counts(self)

    # -- running it ---------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """All messages are alike."""
        return Category(1, scratch=64 + math.ceil(4.0 * (self.units + self.poisson)))

    def _check(self, values: Array) -> Array:
        return numbers(values, -1.0, 1.0)

    @property
    def _grid(self) -> Grid:
        return Grid(np.arange(-self.units, self.units + 1, 2) / self.units)

    def _portable_law(self) -> dict[str, Any]:
        same = {"kind": "same"}
        return messages_law("unit", same, same, poisson=Fraction(self.poisson))

    @property
    def _rounding(self) -> list[Any]:
        return [self.units]

    def _randomize(self, values: Array, src: Source) -> Array:
        own = int(self._grid.rounded(src, values).sum(dtype=np.int64))
        return np.zeros(own + poisson_total(src, self.poisson, len(values)), dtype=self.codec.dtype)

    def _infer(self, counts: Array, users: int) -> Estimate:
        unit = 2.0 / (self.units * users)
        value = unit * (counts - users * self.poisson) - 1.0
        return mean_in_range(value, users, -1.0, 1.0, self.variance(users), grain=unit, influence=unit)

    def variance(self, n: int) -> float:
        """Variance of the mean, at most: (4m + 1)/(r^2 n), of which 1/(r^2 n) is that of rounding."""
        return (4.0 * self.poisson + 1.0) / (self.units**2 * n)

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """Rounding adds two thirds of its most on average."""
        worst = math.sqrt(self.variance(n))
        return Accuracy(worst, math.sqrt((4.0 * self.poisson + 2.0 / 3.0) / (self.units**2 * n)), worst)
