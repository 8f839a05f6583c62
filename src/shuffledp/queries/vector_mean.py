"""The mean of vectors of bounded length, such as updates of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.constraints import Ball
from ..estimation.estimate import Estimate, rescaled
from ..estimation.variance import Variance
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, must_take, runnable
from .columns import Column, Weights, as_numbers
from .domains import Interval
from .value_counts import ValueCounts


@dataclass(frozen=True, kw_only=True)
class VectorMean(Query):
    """The mean of one vector per user, each of Euclidean length at most ``norm``.

    Parameters
    ----------
    column : several columns
        The coordinates; a missing one counts as 0.
    norm : float > 0
        The largest length, declared in advance; a longer vector counts as that of the same direction and this length.
    unit : str
        Of the coordinates.
    mechanism : mechanism or spec
        privunit; ``dim`` may be left out: it is one more than the coordinates.

    Notes
    -----
    PrivUnit takes vectors of length 1.  x of length at most norm becomes (x/norm, sqrt(1 - |x/norm|^2)), which has
    length 1 in one more dimension, and the last coordinate of the estimate is left out.  The standard errors are those
    of the law of a report; the mean square of the users' coordinates, on which it depends, is estimated.  95% intervals
    hold the mean of the users about 95% of the time with 100 users or more, also where reports far from the vector are
    rare and weigh much (300 users at eps0 = 8, all at the norm in one direction).  With fewer users they are
    conservative: half a report is added on either side.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> step = sdp.queries.VectorMean(column=("a", "b"), norm=5.0, mechanism="privunit:eps0=4")
    >>> m, values = step.randomizer, step.encode([[3.0, 0.0] * 5000, [4.0, None] * 5000])
    >>> answer = step.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> answer.labels, bool(np.all(abs(answer.value - [1.5, 2.0]) < 4 * answer.stderr))
    (['a', 'b'], True)
    """

    kind: ClassVar[str] = "vector-mean"

    column: tuple[str, ...]
    norm: float
    unit: str = ""
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        column = () if isinstance(self.column, str) else tuple(self.column)
        if not column or not all(isinstance(name, str) for name in column):
            raise ParameterError(f"column must name the coordinates, got {self.column!r:.60}; write ('x', 'y').")
        choose = "privunit, or queries.Mean for numbers in a range"
        must_take(self.mechanism, ["unit vectors"], what="vectors of bounded length", choose=choose)
        _ = Interval(-1.0, 1.0, unit=self.unit)  # refuses a unit that is not a short text
        vars(self).update(
            column=column,
            norm=check.in_range("norm", self.norm, low=0.0, high=1e300, low_open=True, hint="it bounds the length"),
            mechanism=runnable(self.mechanism, dim=len(column) + 1),
        )

    @property
    def question(self) -> str:
        """In words."""
        unit = f" {self.unit}" if self.unit else ""
        return f"the mean of ({', '.join(self.columns)}), vectors of length at most {self.norm:g}{unit}"

    def _named(self, found: Estimate) -> Estimate:
        return found.named(names=self.column, unit=self.unit, quantity="mean")

    @property
    def clipping(self) -> str:
        """In words."""
        unit = f" {self.unit}" if self.unit else ""
        return f"longer vectors count as those of length {self.norm:g}{unit}, and missing coordinates as 0"

    def _inside(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """The vectors as shares of the norm, those that are longer shortened."""
        rows, length = self._lengths(columns)
        return np.asarray(rows / np.maximum(length, 1.0))

    def _lengths(self, columns: Sequence[Column]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The vectors, and their lengths in a column, as shares of the norm."""
        rows = np.stack([as_numbers(column) for column in columns], axis=1) / self.norm
        rows = np.nan_to_num(rows, nan=0.0, posinf=1e150, neginf=-1e150)
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)  # against overflow of squares
        scaled = rows / largest
        return rows, largest * np.linalg.norm(scaled, axis=1, keepdims=True)

    def value_counts(self, columns: Sequence[Column]) -> ValueCounts:
        """Missing and unreadable coordinates, and vectors that were shortened."""
        anywhere = Interval(-1e300, 1e300, missing=0.0)
        found = {name: anywhere.counts(column) for name, column in zip(self.columns, columns, strict=True)}
        _, length = self._lengths(columns)
        whole = Counter(values=len(length)) + Counter(above=int((length > 1.0).sum()))
        return ValueCounts({**found, f"({', '.join(self.columns)})": whole})

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """Vectors of length 1, with one more coordinate."""
        rows = self._inside(columns)
        rest = np.sqrt(np.maximum(1.0 - np.einsum("ij,ij->i", rows, rows), 0.0))
        return np.column_stack([rows, rest])

    def answer(self, tally: Tally) -> Estimate:
        """The mean of every coordinate."""
        found = self.randomizer.estimate(tally).taken(np.arange(len(self.columns)))
        return replace(self._named(rescaled(found, scale=self.norm, shift=0.0)), note=self.clipping)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The mean of these rows, after shortening."""
        rows = self.norm * self._inside(columns)
        none = np.zeros(len(self.columns))
        value = np.average(rows, axis=0, weights=weights) if len(rows) else none
        kinds: dict[str, Any] = {"constraint": Ball(self.norm), "noise": Variance(none), "sampling": Variance(0.0)}
        return self._named(Estimate(value, none, max(len(rows), 1), **kinds))
