"""Means of numbers in [-1, 1] whose law is that of a public grid of inputs: rounding, the mean, and its error.

A number between two points of the grid is rounded to one of them at random, without bias.  Its law is then a mixture of
theirs, so that by joint convexity only pairs of points matter, whatever the coin does.  Every report y has a weight
a_y, and the weights have mean x at every point x: the mean of the weights is unbiased for the mean of the numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...estimation.estimate import Estimate, mean_in_range
from ...numerics.pair import FloatArray
from ...randomness.sampling import Array, Source
from ..accuracy import Accuracy
from ..randomizer import Randomizer
from ..values import numbers
from .discrete_laplace import coins

#: Cells of the table in which the neighbors of a number are looked up, at most; how far rounding may move its edges.
_CELLS, _BLUR = 2**14, 2.0**-45


class Points(int):
    """The number of grid points; called, it lists them, as the inputs of every mechanism are listed."""

    listed: list[float]

    def __call__(self) -> list[float]:
        """The points."""
        return list(self.listed)

    def __reduce__(self) -> tuple[Any, ...]:
        return points, (int(self), self.listed)


def points(count: int, listed: list[float]) -> Points:
    """A parameter ``inputs`` that can be called."""
    made = Points(count)
    made.listed = listed
    return made


class Grid:
    """Points that rise from -1 to 1.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> grid = Grid(np.array([-1.0, 0.0, 1.0]))
    >>> at = grid.rounded(source(np.random.default_rng(0)), np.array([-1.0, 0.0, 1.0] + [0.25] * 4000))
    >>> at[:3].tolist(), bool(abs(at[3:].mean() - 1.25) < 0.04)
    ([0, 1, 2], True)
    """

    def __init__(self, at: FloatArray) -> None:
        self._at, self._gaps = at, np.diff(at)
        self._ends = np.append(at[1:-1], np.inf)  # the last interval has no end: 1 itself belongs to it
        self._cells = min(_CELLS, 1 << math.ceil(math.log2(2.0 / self._gaps.min())))
        edges = 2.0 * np.arange(self._cells + 1) / self._cells - 1.0
        first, last = (np.searchsorted(at[1:-1], edges + blur, side="right") for blur in (-_BLUR, _BLUR))
        self._first = first.astype(np.int32)  # the interval in which a cell begins
        self._inside = int(np.max(last[1:] - first[:-1]))  # the most points in a cell

    def rounded(self, src: Source, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """The numbers of the points that numbers in [-1, 1] are rounded to."""
        found = self._first.take(((values + 1.0) * (0.5 * self._cells)).astype(np.int32))
        for _ in range(self._inside):
            found += values >= self._ends.take(found)
        found += coins(src, (values - self._at.take(found)) / self._gaps.take(found))
        return found


def largest_variance(points: FloatArray, squares: FloatArray) -> float:
    """Of weights with these mean squares at the points: between two points the mean square is the mixture of theirs.

    A straight line minus x^2 is largest where its slope is 2x, or at the end that is nearest to that.

    Examples
    --------
    >>> largest_variance(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]))
    0.25
    """
    slope = np.diff(squares) / np.diff(points)
    worst = np.clip(0.5 * slope, points[:-1], points[1:])
    return float(np.max(squares[:-1] + slope * (worst - points[:-1]) - worst**2))


class GridMean(Randomizer):
    """A number in [-1, 1] per user, rounded to a grid; the estimate is the mean of the weights of the reports."""

    serves = ("numbers",)
    _number_range = (-1.0, 1.0)

    @property
    @abstractmethod
    def _points(self) -> FloatArray:
        """The grid, from -1 to 1."""

    @property
    @abstractmethod
    def _values(self) -> FloatArray:
        """The weight of every report: on average x at every point x."""

    @abstractmethod
    def _mean(self, weights: FloatArray) -> FloatArray:
        """The mean, at every point, of a quantity that each report has."""

    @property
    def _squares(self) -> FloatArray:
        """The mean square of the weight of a report, at every point."""
        return self._mean(self._values**2)

    @property
    def _skew(self) -> float:
        """The largest third cumulant of a weight, over its variance."""
        x, square = self._points, self._squares
        third = self._mean(self._values**3) - 3.0 * x * square + 2.0 * x**3
        return float(np.max(np.abs(third) / (square - x**2)))

    @property
    def _grid(self) -> Grid:
        return Grid(self._points)

    @property
    def _rounding(self) -> list[Any]:
        return [self._points.tolist()]

    def _check(self, values: Array) -> Array:
        return numbers(values, -1.0, 1.0)

    @property
    def _noise(self) -> float:
        """The largest variance of a weight."""
        return largest_variance(self._points, self._squares)

    def _infer(self, counts: Array, users: int) -> Estimate:
        value = np.asarray(counts, dtype=np.float64) @ self._values / users
        grain, influence = self._skew / users, float(np.ptp(self._values)) / users
        return mean_in_range(value, users, -1.0, 1.0, self.variance(users), grain=grain, influence=influence)

    def variance(self, n: int) -> float:
        """Variance of the mean, at most: that of the weights and of rounding to the grid, at the worst number."""
        return self._noise / n

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """Typically of numbers that are uniform on [-1, 1]."""
        worst = math.sqrt(self.variance(n))
        typical = 0.5 * float(np.trapezoid(self._squares, self._points)) - 1.0 / 3.0
        return Accuracy(worst, math.sqrt(typical / n), worst)
