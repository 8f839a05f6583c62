"""The exponential mechanism on a finite metric space: nearby points are likely, far ones are not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._support import validation as check
from ..._support.arrays import reals
from ..._support.numbers import round_down
from ..._support.reading.tables import read_table
from ...errors import ParameterError
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, Variance, share_sampling
from ...numerics.families.base import Family
from ...numerics.pair import FloatArray
from ...randomness.sampling import Source, words
from ..base import plain
from ..known.finite import FiniteRandomizer
from ..known.variation_ratio import VariationRatio
from ..parameters import Parameter
from ..randomizer import Randomizer
from ..values import categories

#: Probabilities are multiples of 2^-BITS: the law is what the sampler does.
BITS = 62
#: Smaller probabilities would be rounded by more than a relative 2^-22.
_LEAST = 2.0**-40
#: Distances may break symmetry and the triangle inequality by this relative amount (decimal files).
_ROUNDING = 1e-9
#: A probability matrix with a larger condition number is not inverted.
_CONDITION = 1e10
#: Most points of a file: the triangle inequality takes the cube of their number.
MOST_POINTS = 1000


@dataclass(frozen=True, eq=False)
class ExponentialMetric(Randomizer):
    """The exponential mechanism with score -d(x, y) on k points (McSherry, Talwar, FOCS 2007).

    Pr[y | x] = e^(-eps d(x,y)/2) / sum_z e^(-eps d(x,z)/2), rounded to multiples of 2^-62 that sum to 1: these are the
    mechanism, sampler and accounting alike.  Before rounding it has eps d(x, x')-metric privacy.

    Parameters
    ----------
    distances : k x k table
        Distances of the points: symmetric, zero diagonal, finite, >= 0, with the triangle inequality.
    eps : float > 0
        Budget per unit of distance.
    source : str
        Where the distances came from, for the spec (the file name); optional.

    Notes
    -----
    A finite law: bounds are those of :class:`FiniteRandomizer`, over *all* pairs of points (replace-one), and so are
    p, beta and q.  Frequencies are estimated by inverting the probability matrix.

    Examples
    --------
    >>> m = ExponentialMetric([[0, 1, 2], [1, 0, 1], [2, 1, 0]], eps=2.0)
    >>> m.probabilities()[0].round(4).tolist()
    [0.6652, 0.2447, 0.09]
    >>> est = m.estimate(m.privatise(np.array([0, 1, 2, 2] * 5000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[2] - 0.5) < 4 * est.stderr[2])
    True
    """

    name: ClassVar[str] = "exponential-metric"
    file_parameters: ClassVar[tuple[str, ...] | None] = ("eps",)
    _bytes_per_user = 48

    distances: ArrayLike
    eps: float = field(kw_only=True, metadata={"parameter": Parameter(0.0, 500.0, role="budget", low_open=True)})
    source: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        eps = check.in_range("eps", self.eps, low=0.0, high=check.MAX_EPS0, low_open=True, hint="it is per distance")
        object.__setattr__(self, "eps", eps)
        object.__setattr__(self, "distances", _checked(self.distances))
        least = float(self._ideal.min())
        if least < _LEAST:
            raise ParameterError(
                f"eps times the largest distance must leave every output a probability of 2^-40, got {least:.3g} "
                f"at eps = {self.eps!r}; lower eps or bring the points nearer."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExponentialMetric):
            return NotImplemented
        return self.eps == other.eps and np.array_equal(np.asarray(self.distances), np.asarray(other.distances))

    def __hash__(self) -> int:
        return hash((self.eps, np.asarray(self.distances).tobytes()))

    @classmethod
    def from_file(cls, path: str | Path, *, eps: float) -> ExponentialMetric:
        """Read the distances from a CSV (comma or blank separated, # comments) or .npy file."""
        table = read_table(path)
        if len(table) > MOST_POINTS:
            raise ParameterError(
                f"file must hold the distances of at most {MOST_POINTS:,} points, got {len(table):,} in {str(path)!r}; "
                "every triangle is checked, so pass a larger table as an array if you have the time."
            )
        return cls(table, eps=eps, source=str(path))

    @property
    def spec(self) -> str:
        """exponential-metric:eps=...,FILE, or the number of points if the distances were given in memory."""
        where = self.source or f"<{self._points} points>"
        return f"{self.name}:eps={plain(self.eps)},{where}"

    @property
    def description(self) -> str:
        """In words."""
        where = f" of {self.source}" if self.source else ""
        rate = round_down(self.eps, 6)
        return f"the exponential mechanism on the {self._points} points{where} with eps = {rate} per distance"

    @property
    def _points(self) -> int:
        return len(np.asarray(self.distances))

    @property
    def _ideal(self) -> FloatArray:
        weight = np.exp(-0.5 * self.eps * np.asarray(self.distances))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def _weights(self) -> NDArray[np.int64]:
        """Whole numbers with rows summing to 2^62; the rounding of a row goes to the point itself, its likeliest."""
        weights = np.floor(self._ideal * 2.0**BITS).astype(np.int64)
        np.fill_diagonal(weights, 0)
        np.fill_diagonal(weights, (1 << BITS) - weights.sum(axis=1))
        return weights

    @cached_property
    def _law(self) -> FiniteRandomizer:
        return FiniteRandomizer(self.probabilities(), source=self.source)

    @property
    def local_epsilon(self) -> float:
        """log of the largest ratio, at most eps times the largest distance up to the rounding to 2^-62."""
        return self._law.local_epsilon

    def variation_ratio(self) -> VariationRatio:
        """p = q = largest ratio between two points, beta = largest total variation."""
        return self._law.variation_ratio()

    def blanket(self) -> Family:
        """All ordered pairs of points over the blanket."""
        return self._law.blanket()

    def constant_datasets(self) -> Family:
        """All others hold one point."""
        return self._law.constant_datasets()

    def two_counts(self) -> Family:
        """Theorem 5.1 with the six masses of each pair and x*."""
        return self._law.two_counts()

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return categories(values, self._points)

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        draw = words(src, len(values), 64) >> np.uint64(64 - BITS)
        edges = np.cumsum(self._weights, axis=1)[:, :-1].astype(np.uint64)
        order = np.argsort(values, kind="stable")
        starts = np.searchsorted(values[order], np.arange(self._points + 1))
        out = np.empty_like(values)
        for x in range(self._points):
            at = order[starts[x] : starts[x + 1]]
            out[at] = np.searchsorted(edges[x], draw[at], side="right")
        return out

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(data, minlength=self._points)

    @cached_property
    def _inverse(self) -> FloatArray:
        """Maps the shares of the reports to frequencies: the inverse of the transposed probability matrix."""
        rows = self.probabilities()
        if np.linalg.cond(rows) > _CONDITION:
            raise ParameterError(
                "distances must give a probability matrix that can be inverted to estimate frequencies, got a singular "
                "one; merge points at distance 0 or choose another eps."
            )
        return np.asarray(np.linalg.inv(rows.T))

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """Errors are those of the law at the nearest frequencies: what was counted may be too few to tell."""
        value = self._inverse @ (np.asarray(counts, dtype=np.float64) / users)
        nearest, rows = Simplex().nearest(value), self.probabilities()
        covariance = self._covariance(nearest, nearest @ rows, users)
        # squares[i, x]: mean square of what a report of a user at x adds to the frequency of point i
        squares = self._inverse**2 @ rows.T
        own, away = np.diag(squares), 1.0 - nearest
        even = (squares.sum(axis=1) - own) / (self._points - 1)  # where nobody seems to be elsewhere
        known = away > 1e-12
        rest = np.where(known, (squares @ nearest - own * nearest) / np.where(known, away, 1.0), even)
        return Estimate(
            value=value,
            stderr=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
            n=users,
            covariance=covariance,
            constraint=Simplex(),
            noise=Variance(rest / users, (own - 1.0 - rest) / users),
            sampling=share_sampling(users),
            grain=np.ptp(self._inverse, axis=1) / users,
        )

    def _covariance(self, frequencies: FloatArray, shares: FloatArray, n: int) -> FloatArray:
        """[A diag(shares) A^T - diag(frequencies)]/n with A the inverse: users are fixed, reports are random."""
        return np.asarray(((self._inverse * shares) @ self._inverse.T - np.diag(frequencies)) / n)

    def variance(self, n: int, frequencies: ArrayLike | None = None) -> FloatArray:
        """Variance of every estimated frequency (for uniform frequencies unless others are given)."""
        f = np.full(self._points, 1.0 / self._points) if frequencies is None else np.asarray(frequencies, dtype=float)
        return np.asarray(np.diag(self._covariance(f, f @ self.probabilities(), n)))

    def inputs(self) -> list[int]:
        """0, ..., k-1."""
        return list(range(self._points))

    def probabilities(self) -> NDArray[np.float64]:
        """The law: whole multiples of 2^-62, each to the nearest float."""
        return self._weights / 2.0**BITS


def _checked(distances: ArrayLike) -> FloatArray:
    try:
        table = reals(distances)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] < 2:
        raise ParameterError(
            f"distances must be a square table of numbers for at least 2 points, got shape {table.shape}; "
            "give one row and one column per point."
        )
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ParameterError("distances must be finite and >= 0, got others; check the entries.")
    if np.any(np.diag(table) != 0):
        raise ParameterError("distances must be 0 from a point to itself, got others; check the diagonal.")
    room = _ROUNDING * float(table.max())
    wrong = np.argwhere(np.abs(table - table.T) > room)
    if wrong.size:
        x, y = wrong[0]
        raise ParameterError(
            f"distances must be symmetric, got {table[x, y]:g} from {x} to {y} and {table[y, x]:g} back; correct them."
        )
    for z in range(len(table)):
        detour = table[:, z, None] + table[None, z, :]
        if np.any(table > detour + room):
            x, y = np.argwhere(table > detour + room)[0]
            raise ParameterError(
                f"distances must satisfy the triangle inequality, got {table[x, y]:g} from {x} to {y} and "
                f"{detour[x, y]:g} through {z}; use shortest paths."
            )
    table.setflags(write=False)
    return table
