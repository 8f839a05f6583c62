"""Means of vectors in [-1, 1]^dim by windows, one random coordinate a user."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...estimation.constraints import Box
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance, upper_end
from ...numerics.pair import FloatArray
from ...randomness.sampling import Array, Source, below
from ..codecs import Category
from ..parameters import whole
from ..randomizer import MAX_CELLS
from .cube import Cube
from .window import Window
from .window_law import WindowLaw, window_cells, windows

#: Most different reports: a table of their counts takes 128 MB.
_MOST_REPORTS = 2**24


@dataclass(frozen=True, kw_only=True)
class WindowVector(WindowLaw, Cube):
    """Vectors in [-1, 1]^dim by windows with sine weights, one random coordinate each, made for the shuffle model.

    The report is a uniform coordinate j and the report of x_j by ``window:eps0,d,cells``.

    Parameters
    ----------
    eps0 : float > 0
        Local budget of the whole vector.
    dim : int >= 2
        Number of coordinates; dim times d times cells is at most 2^24.
    d : int in [3, 4096], optional
        A window is 1/d of the outputs; near 0.65 (2 e^eps0)^(1/3) unless it is given.
    cells : int, optional
        Outputs of a window: 16, or 32 if d < 8.

    Notes
    -----
    *Privacy.*  All that is proved of ``grr:eps0,d`` holds, upper and lower bounds, whatever dim is.  The law is that of
    a parallel composition: over another user's report X is the mixture, with weights 1/dim, of the X of all
    coordinates.  Each of these is dominated in convex order by a mixture of the X of GRR's types (WindowLaw; windows
    that are equal are a case of those that overlap), hence so is X, with the same common mass; and what the bounds
    maximize is affine in the law of every slot.  If the coordinates of every vector are equal, the report is one of GRR
    beside a coordinate that tells nothing: the lower bounds (docs/designs.md, Theorem W').

    *Error.*  The mean of coordinate j is estimated from the N_j users who drew it, who are a random sample: with the
    variance v of a window and the users' own variance s^2 it has the variance (v + s^2 (n - N_j)/(n - 1))/N_j, about
    (dim v + (dim - 1) s^2)/n.  v is known.  s^2 is at most (1 - mean)(1 + mean), whatever the values are, and at most
    what the reports show of it plus one standard error, which their range bounds; standard errors and intervals take
    the smaller one.  Intervals of 95 % then cover 93 % or more however few users drew the coordinate and however rare
    some of the values are.  A coordinate that nobody drew is not estimated: its standard error is infinite, its
    interval is [-1, 1], and tables say so.

    Harmony has (dim/T^2 - mean square)/n with T < 1 instead, however the users agree.  It is a little better where
    all values are -1 or 1, half of each, and worse by a factor of up to 1/v where users agree.

    Examples
    --------
    >>> m = WindowVector(eps0=5.0, dim=3)
    >>> m.spec, round(m.variance(1000), 6)
    ('window-vector:eps0=5,dim=3,d=4,cells=32', 0.000198)
    >>> est = m.estimate(m.privatize(np.full((9000, 3), [0.5, -0.2, 1.0]), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - [0.5, -0.2, 1.0]) < 4 * est.stderr))
    True
    """

    name = "window-vector"
    _in_words = "windows of 1/{d} of {_outputs:,} outputs on one coordinate of [-1, 1]^{dim} with eps0 = {eps0}"

    dim: int = whole(low=2, high=2**22, hint="dim counts the coordinates of a vector, and window is for one number")
    d: int = windows()
    cells: int = window_cells()

    def _check_together(self) -> None:
        if self.dim * self._outputs > _MOST_REPORTS:
            raise ParameterError(
                f"dim times d times cells must be at most {_MOST_REPORTS:,}, got {self.dim * self._outputs:,}; lower "
                "cells or dim."
            )

    @property
    def _number(self) -> Window:
        """The mechanism that runs on the coordinate."""
        return Window(eps0=self.eps0, d=self.d, cells=self.cells)

    @property
    def _binary_budget(self) -> None:
        """None: a report is not one bit."""
        return None

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """The coordinate times the number of outputs, plus the output."""
        return Category(self.dim * self._outputs, scratch=8 * self.dim + 128)

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "coordinate", "size": self.dim, "step": self._outputs, "law": self._number._portable_law()}

    @property
    def _rounding(self) -> list[Any]:
        return self._number._rounding

    def _randomize(self, values: Array, src: Source) -> Array:
        users = len(values)
        coordinate = below(src, self.dim, users)
        cell = self._number._randomize(values[np.arange(users), coordinate], src)
        return (coordinate.astype(np.int64) * self._outputs + cell).astype(self.codec.dtype)

    def _infer(self, counts: Array, users: int) -> Estimate:
        """The weights of a coordinate have the variance v plus that of the numbers of the users who drew it.

        Over numbers in [-1, 1] with mean m the latter is at most 1 - m^2, and E (number - a)^2 - (m - a)^2 for any a.
        """
        table = np.asarray(counts, dtype=np.float64).reshape(self.dim, self._outputs)
        drawn, weights, v = table.sum(axis=1), self._number._values, self._number._noise
        here, reach = np.maximum(drawn, 1.0), float(weights[-1])
        value, square = (table @ weights**power / here for power in (1, 2))
        a = np.clip(value, -1.0, 1.0)
        around = self._mean_square(square - 2.0 * a * value + a**2, drawn, (reach + np.abs(a)) ** 2) - v
        near = around < 1.0 - a**2
        spread = Variance(np.where(near, np.maximum(around, 0.0) - a**2, 1.0), np.where(near, 2.0 * a, 0.0), -1.0)
        share = np.minimum((users - drawn) / max(users - 1, 1), 1.0)
        known = Variance(np.where(drawn > 0.0, v, np.inf) / here)  # a coordinate that nobody drew is not estimated
        noise, sampling = known.plus(spread, share / here), Variance(0.0).plus(spread, (1.0 - share) / here)
        moved = (reach + np.abs(value)) / np.maximum(drawn - 1.0, 1.0)  # a report may name another coordinate instead
        influence = np.maximum(2.0 * reach / here, moved)
        box, grain = Box(-1.0, 1.0), reach / here
        return modeled(value, users, box, noise, sampling, grain=grain, influence=influence)

    @staticmethod
    def _mean_square(seen: FloatArray, drawn: FloatArray, most: FloatArray) -> FloatArray:
        """The mean square of what is in [0, most] when squared, at most: one standard error above what was seen.

        The standard error is the largest in that range, as of values 0 and most only (Wilson 1927), so that rare values
        which a few draws did not meet are allowed for.  ``seen`` is taken around the mean of the draws themselves,
        which costs one of them.
        """
        rate = np.where(drawn > 1.0, np.minimum(seen * drawn / (np.maximum(drawn - 1.0, 1.0) * most), 1.0), 1.0)
        each = 1.0 / np.maximum(drawn, 1.0)
        return most * upper_end(rate, 1.0, Variance(0.0, each, -each), 0.0, 1.0)

    def variance(self, n: int, value: float = 0.0) -> float:
        """Variance of one coordinate of the mean, at most, if the users' numbers there have the mean square value^2.

        1/N = 1/(N+1) + 1/((N+1)(N+2)) + 2/(N(N+1)(N+2)) and 1/N <= 4/(N+3) bound its mean over N >= 1, as
        E 1/((N+1)...(N+i)) <= dim^i/((n+1)...(n+i)) for the number N of users who draw a coordinate.  Where N = 0 the
        square of the error is value^2.
        """
        a, b, c = (self.dim / (n + i) for i in (1, 2, 3))
        once = min(a * (1.0 + b * (1.0 + 8.0 * c)), 1.0)
        nobody = math.exp(n * math.log1p(-1.0 / self.dim))
        among = max(once - 1.0 / n, 0.0) * n / max(n - 1, 1)
        return self._number._noise * once + value**2 * (among + nobody)

    def inputs(self) -> list[tuple[float, ...]]:  # type: ignore[override]
        """Every combination of the points of the grid."""
        points = self._number.inputs()
        self._few_cells(math.inf if self.dim * math.log(len(points)) > math.log(MAX_CELLS) else 0.0)
        self._few_cells(len(points) ** self.dim * self.codec.size)
        every = np.stack(np.meshgrid(*[points] * self.dim, indexing="ij"), axis=-1).reshape(-1, self.dim)
        return [tuple(row) for row in every.tolist()]

    def probabilities(self) -> FloatArray:
        """1/dim of the rows of the window, side by side."""
        points, rows = self._number.inputs(), self._number.probabilities() / self.dim
        at = np.searchsorted(points, np.array(self.inputs()))
        return np.asarray(rows[at].reshape(len(at), -1))
