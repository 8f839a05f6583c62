"""What mechanisms for vectors in [-1, 1]^dim share: the domain, the mean and its error, and why one pair is enough.

They first round the input to a vertex v of the cube, so that every law is a mixture of those of vertices; by joint
convexity only pairs of vertices matter.  A report z then has weight e = e^eps0 or 1 under v, and where
it has e under v it has 1 under -v: the blanket is the low weight everywhere.  Over it a pair (v0, v1) has four kinds of
reports, (R0, R1)/omega = (e, 1), (1, e), (e, e), (1, 1), the first two equally many.  Exchanging a report of kind
(e, e) and one of kind (1, 1) for one of each of the first two keeps mass and both means and spreads X = u - E v,
as e - E >= e(1-E), 1-E >= 1 - E e for E >= 1.  So the pair with most reports of the first kind is the worst
at every eps and n: v1 = -v0, where there is no report of kind (e, e).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...estimation.constraints import Box
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance
from ..accuracy import Accuracy
from ..local_budget import LocalBudget
from ..parameters import whole
from ..values import numbers


@dataclass(frozen=True, kw_only=True)
class Cube(LocalBudget):
    """A vector in [-1, 1]^dim per user; the estimate is the mean."""

    serves = ("vectors",)
    _number_range = (-1.0, 1.0)  # every coordinate

    dim: int = whole(low=1, high=2**31, hint="dim counts the coordinates of a vector")

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """One coordinate is one sign, kept with probability e/(e+1); a number in between is a mixture of both."""
        return (self.eps0, self.eps0) if self.dim == 1 else None

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return numbers(values, -1.0, 1.0, columns=self.dim)

    @property
    def _rounding(self) -> list[Any]:
        """To a vertex."""
        return [1]

    def _mean(self, value: NDArray[np.float64], square: float, users: int, grain: float, influence: float) -> Estimate:
        """An estimate whose reports have this mean square each: variance (square - mean x_j^2)/n.

        mean x_j^2 is at least the square of the mean, so the standard error is exact where users agree, else too large.
        For users drawn from a population (square - mean^2)/n is the variance: nothing is added.
        """
        noise = Variance(square / users, 0.0, -1.0 / users)
        return modeled(value, users, Box(-1.0, 1.0), noise, Variance(0.0), grain=grain, influence=influence)

    @abstractmethod
    def variance(self, n: int, value: float = 0.0) -> float:
        """Variance of one coordinate of the mean, at most, if the users' values there have the mean square value^2.

        It is linear in value^2, so that its mean over the coordinates is that at the mean of their mean squares.
        """

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """At the worst data in the cube, typically with values that are uniform on [-1, 1].

        With ``items``, the coordinates of vectors, these are in the unit ball, typically at its edge: for means of
        vectors whose length is bounded.
        """
        least, single = math.sqrt(self.variance(n)), math.sqrt(self.variance(n, 1.0))
        if items is None:
            return Accuracy(max(least, single), math.sqrt(self.variance(n, math.sqrt(1.0 / 3.0))), max(least, single))
        even = math.sqrt(self.variance(n, 1.0 / math.sqrt(self.dim)))
        return Accuracy(max(least, even), even, max(least, single))

    def inputs(self) -> list[tuple[int, ...]]:
        """The vertices of the cube: every other law is a mixture of theirs."""
        if self.dim > 9:  # a matrix over vertices has up to 4^dim cells
            raise ParameterError(f"dim must be at most 9 to list the vertices, got {self.dim}; use a bound instead.")
        return list(itertools.product((-1, 1), repeat=self.dim))
