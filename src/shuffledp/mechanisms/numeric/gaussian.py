"""Means of numbers: Gaussian noise of which only a cell is released, so that its law is finite and exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...estimation.estimate import Estimate, mean_in_range
from ...numerics.pair import FloatArray
from ...randomness.sampling import Array, Source
from ..accuracy import Accuracy
from ..base import Mechanism
from ..laws import SLACK
from ..matrix import MatrixRandomizer
from ..parameters import Parameter, real, whole
from ..values import numbers
from .discrete_laplace import coins
from .grid_mean import points

#: Inputs and cells unless they are given; edges then reach this many sigma beyond low and high.
_INPUTS, _CELLS, _REACH = 5, 16, 2.0
#: Most inputs and cells: every probability is computed in ball arithmetic.
_MOST_INPUTS, _MOST_CELLS = 257, 1024
#: Every cell must have at least this probability on every input, so that eps0 is finite and ratios do not overflow.
_LEAST = 1e-250
#: Largest bound of an input.
_FAR = 1e12
#: sigma over high - low.
_SMALLEST, _LARGEST = 1 / 30, 1e6
#: Weights whose mean misses an input by more than this part of the range do not count as unbiased.
_MISSED = 1e-9


def _width(mechanism: Any) -> float:
    """high - low if they are valid; otherwise their own check raises."""
    low, high = getattr(mechanism, "low", 0.0), getattr(mechanism, "high", 1.0)
    fine = all(isinstance(x, Real) for x in (low, high)) and -_FAR <= low < high <= _FAR
    return float(high) - float(low) if fine else 1.0


class _Edges(Parameter):
    """A number of cells, or the edges between them."""

    def checked(self, name: str, value: object, mechanism: Any) -> Any:
        """A whole number, or a tuple of strictly increasing numbers."""
        if value is None or (isinstance(value, Real) and not isinstance(value, bool)):
            return super().checked(name, value, mechanism)
        if not check.is_list(value):
            raise ParameterError(
                f"{name} must be a number of cells or a list of edges, got {value!r:.60}; give one of the two."
            )
        found = tuple(check.real(name, x) for x in value)
        rising = all(a < b for a, b in pairwise(found))
        if not 1 <= len(found) < _MOST_CELLS or not rising or not all(map(math.isfinite, found)):
            raise ParameterError(
                f"{name} must be 1 to {_MOST_CELLS - 1} strictly increasing finite numbers, got {value!r:.60}; "
                "sort them and drop repeated ones."
            )
        return found

    def parsed(self, name: str, text: str) -> Any:
        """A number, or edges as a:b:c."""
        if ":" not in text:
            return super().parsed(name, text)
        return tuple(check.parse_number(name, part.strip()) for part in text.split(":"))


@dataclass(frozen=True, kw_only=True)
class Gaussian(MatrixRandomizer):
    """Gaussian noise on a number in [low, high]; the report is the cell that the noisy number falls in.

    x is rounded to a grid of ``inputs`` points from low to high, at random, up or down, without bias; the report is the
    number of the cell of x + sigma N(0, 1).  The outer cells are unbounded.

    Parameters
    ----------
    sigma : float, (high - low)/30 to 1e6 (high - low)
        Standard deviation of the noise.
    low, high : floats
        Bounds of the input, 0 and 1 unless given.
    inputs : int in [2, 257]
        Points of the grid, both ends included; 5 unless given.
    edges : int in [2, 1024], or a list of numbers
        How many cells there are (16 unless given): their edges are then evenly spaced from low - 2 sigma to
        high + 2 sigma.  Or the edges themselves, written a:b:c in a spec.

    Notes
    -----
    A rounded input is a mixture of two grid points, so by joint convexity only pairs of grid points matter: the law is
    a matrix, and everything is that of :class:`~shuffledp.FiniteRandomizer`.  Its entries are correct to the last
    digit (ball arithmetic), and reports are drawn from them on whole numbers, never from floating-point noise, whose
    low bits reveal the input (Mironov, CCS 2012).  eps0 is finite, because the number itself is never sent: it
    is that of the outer cells, and grows with how many sigma the edges reach beyond the bounds.

    The estimate is the mean: every cell has a weight, and the weights are the best at equal frequencies among those
    that reproduce every grid point on average.  Its variance is about sigma^2 with the default edges.  More inputs
    make rounding finer, but need cells that resolve them: few cells, or edges that stop near the bounds, make the
    weights, and the variance, large.

    Examples
    --------
    >>> m = Gaussian(sigma=1.0)
    >>> m.spec, round(m.local_epsilon, 3)
    ('gaussian:sigma=1,low=0,high=1,inputs=5,edges=16', 2.825)
    >>> est = m.estimate(m.privatize(np.full(10_000, 0.3), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.3) < 4 * est.stderr[0])
    True
    """

    name = "gaussian"
    serves = ("numbers",)

    sigma: float = real(
        low=lambda m: _SMALLEST * _width(m),
        high=lambda m: _LARGEST * _width(m),
        role="noise",
        hint="sigma is the standard deviation of the noise, at least (high - low)/30",
    )
    low: float = real(low=-_FAR, high=_FAR, default=0.0, hint="low is the smallest input")
    high: float = real(low=lambda m: m.low, high=_FAR, low_open=True, default=1.0, hint="high is the largest input")
    inputs: int = whole(low=2, high=_MOST_INPUTS, default=_INPUTS, hint="inputs counts the points of the grid")  # type: ignore[assignment]
    edges: int | Sequence[float] = field(
        default=_CELLS,
        metadata={"parameter": _Edges(2, _MOST_CELLS, "edges counts the cells, or lists their edges", whole=True)},
    )

    def _check_together(self) -> None:
        if not self.high - self.low > 1e-9 * max(abs(self.low), abs(self.high)):
            raise ParameterError(
                f"high must be above low by more than rounding, got {self.low!r} and {self.high!r}; widen the range."
            )
        object.__setattr__(self, "inputs", points(int(self.inputs), [float(x) for x in self._grid]))
        reach = max(self.high - self._cuts[0], self._cuts[-1] - self.low) / self.sigma
        finest = min(np.diff(self._cuts), default=self.sigma) / self.sigma
        # a cell has at least its width, or 1/(1 + reach), times the smallest density
        least = -0.5 * reach * reach + math.log(min(float(finest), 1.0 / (1.0 + abs(reach)))) - 1.0
        if least < math.log(_LEAST):
            raise ParameterError(
                f"edges must leave every cell a probability of {_LEAST:g} on every input, got cells {reach:.3g} sigma "
                "away or narrower than rounding; raise sigma or move the edges closer."
            )

    @property
    def description(self) -> str:
        """In words."""
        sigma, low, high = (round_down(x, 6) for x in (self.sigma, self.low, self.high))
        return (
            f"Gaussian noise of sigma {sigma} on numbers in [{low}, {high}], rounded to {int(self.inputs)} points and "
            f"released in {len(self._cuts) + 1} cells"
        )

    # -- the law ----------------------------------------------------------------------------------------------

    @property
    def _grid(self) -> list[Fraction]:
        low, high, last = Fraction(self.low), Fraction(self.high), int(self.inputs) - 1
        return [low + (high - low) * i / last for i in range(last + 1)]

    @property
    def _centers(self) -> FloatArray:
        return np.array([float(x) for x in self._grid])

    @property
    def _cuts(self) -> tuple[float, ...]:
        """The edges of the cells."""
        if not isinstance(self.edges, int):
            return tuple(self.edges)
        start, stop = self.low - _REACH * self.sigma, self.high + _REACH * self.sigma
        if self.edges == 2:
            return (0.5 * (start + stop),)
        return tuple(np.linspace(start, stop, self.edges - 1).tolist())

    @property
    def _rows(self) -> FloatArray:
        from ...numerics.proof.balls import normal_cells

        return normal_cells(self._grid, self.sigma, self._cuts)

    def cells(self) -> list[tuple[float, float]]:
        """The ends of every cell, in the order of the reports: cell j is (low end, high end].

        Examples
        --------
        >>> Gaussian(sigma=1.0, edges=[0.0, 1.0]).cells()
        [(-inf, 0.0), (0.0, 1.0), (1.0, inf)]
        """
        ends = [-math.inf, *self._cuts, math.inf]
        return list(pairwise(ends))

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """The smallest ratio over cells, where both release the same cells."""
        if not isinstance(victim, Gaussian) or victim._cuts != self._cuts:
            return super()._blanket_ratio(victim)
        return float(np.min(self._rows.min(axis=0) / victim._rows.min(axis=0))) * (1.0 - SLACK)

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _number_range(self) -> tuple[float, float]:
        """[low, high]."""
        return self.low, self.high

    def _check(self, values: Array) -> Array:
        return numbers(values, self.low, self.high)

    @property
    def _rounding(self) -> list[Any]:
        return [int(self.inputs) - 1]

    def _randomize(self, values: Array, src: Source) -> Array:
        """Rounded to the grid at random; whatever the coin's probability, the law is a mixture of two grid points."""
        last = int(self.inputs) - 1
        scaled = np.clip((values - self.low) / (self.high - self.low) * last, 0.0, float(last))
        point = np.minimum(np.floor(scaled), last - 1).astype(np.int64)
        return super()._randomize(point + coins(src, scaled - point), src)

    @property
    def _weights_of_cells(self) -> FloatArray:
        """w with sum_y R(x)_y w_y = x at every grid point, of least variance at equal frequencies."""
        rows, points = self._rows, self._centers
        scale = 1.0 / np.sqrt(rows.mean(axis=0))
        center = 0.5 * (self.low + self.high)
        found = center + scale * np.linalg.lstsq(rows * scale, points - center, rcond=1e-14)[0]
        missed = float(np.abs(rows @ found - points).max()) / (self.high - self.low)
        if missed > _MISSED:
            raise ParameterError(
                f"edges must resolve all {len(points)} inputs to estimate their mean, got {len(self._cuts) + 1} cells "
                f"with a bias of {missed:.1g} of the range; use more cells or fewer inputs."
            )
        return np.asarray(found)

    @property
    def _spreads(self) -> FloatArray:
        """The variance of a weight at every grid point."""
        away = self._weights_of_cells[None, :] - self._centers[:, None]
        return np.asarray((self._rows * away**2).sum(axis=1))

    @property
    def _step(self) -> float:
        return (self.high - self.low) / (int(self.inputs) - 1)

    @property
    def _noise(self) -> float:
        """The largest variance of a weight: at grid points that of the cells; between two, rounding adds step^2/4."""
        return float(np.max(self._spreads)) + 0.25 * self._step**2

    def _infer(self, counts: Array, users: int) -> Estimate:
        value = np.asarray(counts, dtype=np.float64) @ self._weights_of_cells / users
        grain, noise = float(np.ptp(self._weights_of_cells)) / users, self.variance(users)
        return mean_in_range(value, users, self.low, self.high, noise, grain=grain, influence=grain)

    def variance(self, n: int) -> float:  # type: ignore[override]
        """Variance of the mean, at most: that of the weights of the cells, and of rounding to the grid."""
        return self._noise / n

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """Typically of numbers that are uniform on the range: between two points rounding adds step^2/6 on average."""
        worst = math.sqrt(self.variance(n))
        mean = float(np.mean(0.5 * (self._spreads[1:] + self._spreads[:-1]))) + self._step**2 / 6.0
        return Accuracy(worst, math.sqrt(mean / n), worst)
