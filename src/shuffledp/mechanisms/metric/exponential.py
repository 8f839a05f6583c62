"""The exponential mechanism on a finite metric space: nearby points are likely, far ones are not."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._support import validation as check
from ..._support.arrays import reals
from ..._support.numbers import round_down
from ..._support.reading.tables import read_table
from ...errors import ParameterError
from ...numerics.pair import FloatArray
from ..base import plain
from ..matrix import MatrixRandomizer
from ..parameters import real

#: Probabilities are multiples of 2^-BITS: the law is what the sampler does.
BITS = 62
#: Smaller probabilities would be rounded by more than a relative 2^-22.
_LEAST = 2.0**-40
#: Distances may break symmetry and the triangle inequality by this relative amount (decimal files).
_ROUNDING = 1e-9
#: Most points of a file: the triangle inequality takes the cube of their number.
MOST_POINTS = 1000


@dataclass(frozen=True, eq=False)
class ExponentialMetric(MatrixRandomizer):
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
    A finite law: bounds are those of :class:`~shuffledp.FiniteRandomizer`, over *all* pairs of points (replace-one),
    and so are p, beta and q, the sampler, and the estimate of the frequencies by the inverse of the matrix.
    p = q is at most e^(eps times the largest distance), up to the rounding to 2^-62.

    Examples
    --------
    >>> m = ExponentialMetric([[0, 1, 2], [1, 0, 1], [2, 1, 0]], eps=2.0)
    >>> m.probabilities()[0].round(4).tolist()
    [0.6652, 0.2447, 0.09]
    >>> est = m.estimate(m.privatize(np.array([0, 1, 2, 2] * 5000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[2] - 0.5) < 4 * est.stderr[2])
    True
    """

    name = "exponential-metric"
    _file_parameters = ("eps",)
    _made_of = "distances"
    _merge = "merge points at distance 0 or choose another eps"

    distances: ArrayLike
    _: KW_ONLY
    eps: float = real(low=0.0, high=check.MAX_EPS0, low_open=True, role="budget", hint="it is per distance")
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances", _checked(self.distances))
        super().__post_init__()

    def _check_together(self) -> None:
        least = float(self._ideal.min())
        if least < _LEAST:
            raise ParameterError(
                f"eps times the largest distance must leave every output a probability of 2^-40, got {least:.3g} "
                f"at eps = {self.eps!r}; lower eps or move the points closer together."
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

    @property
    def _multiples(self) -> NDArray[np.int64]:
        """Whole numbers with rows summing to 2^62; the rounding of a row goes to the point itself, its likeliest."""
        multiples = np.floor(self._ideal * 2.0**BITS).astype(np.int64)
        np.fill_diagonal(multiples, 0)
        np.fill_diagonal(multiples, (1 << BITS) - multiples.sum(axis=1))
        return multiples

    @property
    def _rows(self) -> FloatArray:
        """The law: whole multiples of 2^-62, each to the nearest float."""
        return self._multiples / 2.0**BITS

    def _weights(self) -> list[list[int]]:
        """The sampler draws the multiples themselves, which sum to 2^62."""
        return [[int(weight) for weight in row] for row in self._multiples]


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
        raise ParameterError("distances must be finite and >= 0, got negative, infinite or NaN ones; correct them.")
    if np.any(np.diag(table) != 0):
        raise ParameterError("distances must be 0 from a point to itself, got a nonzero diagonal; correct it.")
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
