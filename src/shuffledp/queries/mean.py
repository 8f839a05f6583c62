"""The mean of a number in the users' own units, and of vectors of bounded length, such as updates of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.constraints import Ball, Box
from ..estimation.estimate import Estimate, rescaled
from ..estimation.variance import Variance, range_sampling
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import NumberQuery, Query, must_take, runnable
from .columns import Column, ValueCounts, Weights, as_numbers, total
from .domains import Interval
from .key_value_answer import key_value_answer, known_answer


@dataclass(frozen=True, kw_only=True)
class Mean(NumberQuery):
    """The mean of one number per user, or of several, each in [low, high].

    Parameters
    ----------
    column : str, or a sequence of them
        Where the numbers are; with several columns the answer is a vector, one mean each.
    low, high : float
        The range, declared in advance and not taken from the data; numbers outside count as the nearest end.
    missing : float or "option"
        What a missing number counts as: a number of the range, or an option of its own.  Data with missing numbers need
        it; a client on its own that has none takes the middle of the range.  A text is a number if it is
        a decimal in ASCII such as -2.5e3; any other one is missing.
    unit : str
        For example "min"; it is shown beside every number of the answer.
    mechanism : mechanism or spec
        One whose inputs are numbers (window, binomial, laplace, gaussian, poisson-sum, ...) or vectors (window-vector,
        duchi, harmony); ``dim`` may be left out.  With ``missing="option"`` pckv-grr; ``d`` and ``l`` may be left out.

    Notes
    -----
    With ``missing="option"`` the columns are keys, of which a user holds those that have a number: the answer is that
    of :class:`KeyValue`, the share of users who have one, and (``answer.means``) the mean of theirs.  This mean is a
    ratio of two estimates, with Fieller's interval and its bias beside it.  A number for ``missing`` gives the mean
    over all users, unbiased and more precise, in which the missing ones count as that number.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> wait = sdp.queries.Mean(column="wait", low=0, high=60, unit="min", mechanism="laplace:eps0=2")
    >>> m, values = wait.randomizer, wait.encode([np.full(10_000, 12.0)])
    >>> answer = wait.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> bool(abs(answer.value[0] - 12.0) < 4 * answer.stderr[0]), answer.unit
    (True, 'min')
    """

    kind: ClassVar[str] = "mean"

    column: str | tuple[str, ...]
    low: float
    high: float
    missing: float | Literal["option"] | None = None
    unit: str = ""
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            object.__setattr__(self, "column", tuple(self.column))
        if not self.columns or not all(isinstance(name, str) for name in self.columns):
            raise ParameterError(f"column must be a name or several, got {self.column!r:.60}; write column='wait'.")
        option, size = self._option, len(self.columns)
        self._settle_range()
        if option:
            must_take(self.mechanism, ["key-values"], what="numbers that may be missing", choose="pckv-grr")
        made = runnable(self.mechanism, d=size, l=size) if option else runnable(self.mechanism, dim=size)
        if not option and (made._number_range is None or (size > 1 and getattr(made, "dim", 1) != size)):
            numbers = "numbers", "window, binomial, poisson-sum, laplace or gaussian"
            what, choose = numbers if size == 1 else ("vectors", "window-vector, duchi or harmony")
            raise ParameterError(f"mechanism must be for {what}, got {made.spec}; choose {choose}.")
        object.__setattr__(self, "mechanism", made)

    @property
    def question(self) -> str:
        """In words."""
        names = ", ".join(map(repr, self.columns))
        return f"the mean of {names} in [{self.domain.low:g}, {self.domain.words(self.high)}]"

    @property
    def _inner(self) -> tuple[float, float]:
        low, high = self.randomizer._number_range or (0.0, 1.0)
        return low, high

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """Every row in the range of the mechanism."""
        if self._option:
            return self._held(columns)
        low, high = self._inner
        inner = [np.clip(low + (high - low) * self.domain.shares(column), low, high) for column in columns]
        vector = getattr(self.randomizer, "dim", None) is not None
        return np.stack(inner, axis=1) if vector else inner[0]

    def _portable_input(self) -> dict[str, Any]:
        size = len(self.columns)
        if self._option:
            return self.domain.portable("pairs", 0, keys=size, size=size)
        grids = self.randomizer._rounding
        each = [self.domain.portable("number", i, grids=grids) for i in range(size)]
        vector = getattr(self.randomizer, "dim", None) is not None
        return {"kind": "each", "of": each} if vector else each[0]

    def _held(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """(column, value in [-1, 1]) of every number of every row; column -1 for one that is missing."""
        every = enumerate(columns)
        both = [(np.where(np.isnan(as_numbers(c)), -1.0, i), 2.0 * self.domain.shares(c) - 1.0) for i, c in every]
        return np.stack([np.stack(one, axis=1) for one in both], axis=1)

    @property
    def clipping(self) -> str:
        """In words."""
        return f"values {self.domain.clipping('are left out of the means' if self._option else '')}"

    def answer(self, tally: Tally) -> Estimate:
        """Means in the users' units."""
        m = self.randomizer
        found = m.estimate(tally)
        if self._option:
            found = key_value_answer(found, getattr(m, "keep", 0.0), self.columns, self.domain)
        else:
            low, high = self._inner
            scale = self.domain.width / (high - low)
            found = rescaled(found, scale=scale, shift=self.domain.low - low * scale)
            found = found.named(names=self.columns, unit=self.unit, quantity="mean")
        return replace(found, note=self.clipping)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The means of these rows, after clipping."""
        rows = [self.domain.clipped(column) for column in columns]
        n = max(len(rows[0]), 1)
        if self._option:
            key, value = np.moveaxis(self._held(columns), 2, 0)
            each = (key >= 0.0) * (1.0 if weights is None else weights[:, None]) / total(len(key), weights)
            return known_answer(each.sum(axis=0), (each * value).sum(axis=0), n, self.columns, self.domain)
        return Estimate(
            value=np.array([np.average(row, weights=weights) if len(row) else 0.0 for row in rows]),
            stderr=np.zeros(len(rows)),
            n=n,
            constraint=Box(self.domain.low, self.domain.high),
            sampling=range_sampling(n, self.domain.low, self.domain.high),
        ).named(names=self.columns, unit=self.unit, quantity="mean")


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
