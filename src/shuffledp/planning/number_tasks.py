"""Tasks whose answers are means: of a number in a range, and of vectors of bounded length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from ..errors import ParameterError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import find
from ..queries.base import Query
from .candidates import Candidate, runnable
from .leading_order import Floor, of_linear
from .solving import Budget
from .tasks import (
    Labels,
    NumberTask,
    Sensitivity,
    per_entry,
    short_unit,
)


@dataclass(frozen=True, kw_only=True)
class MeanTask(NumberTask):
    """A number in [low, high] per user; the answer is the mean."""

    name: ClassVar[str] = "mean"
    usual_column: ClassVar[str] = "value"
    example: ClassVar[str] = "wait"
    measure: ClassVar[str] = "units of the number"
    far: ClassVar[float] = 1.3

    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    missing: float | None = None

    def __post_init__(self) -> None:
        self._settle_range()

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """A number, or a vector of one coordinate."""
        return {"numbers": {}, "vectors": {"dim": 1}}

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """As the mechanism declares it, rescaled from its own range."""
        made = runnable(mechanism)
        low, high = made._number_range or (0.0, 1.0)
        return per_entry(made.accuracy(n), (self.high - self.low) / (high - low))

    @property
    def sensitivity(self) -> Sensitivity:
        """The sum moves by the width of the range."""
        return Sensitivity(self.high - self.low, self.high - self.low, counts=False)

    def floor(self, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
        """Theorem M."""
        note = "; for V* >= 30 the best known is at least twice that"
        return of_linear(self.high - self.low, budget, epsilon, note=note)

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """The mean of one column."""
        return queries.Mean(column=column, mechanism=m, **self._range)


@dataclass(frozen=True, kw_only=True)
class VectorMeanTask(NumberTask):
    """A vector of ``dim`` coordinates and of length at most ``norm`` per user; the answer is the mean."""

    name: ClassVar[str] = "vector mean"
    measure: ClassVar[str] = "units of a coordinate, root mean square over the coordinates"
    error_of: ClassVar[str] = "mean of each coordinate"
    far: ClassVar[float] = 1.3

    dim: int
    norm: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        hint = "it is the number of coordinates"
        vars(self).update(
            dim=check.whole("dim", self.dim, low=1, high=10**6 - 1, hint=hint),
            norm=check.in_range("norm", self.norm, low=0.0, high=1e300, low_open=True, hint="it bounds the length"),
            unit=short_unit(self.unit),
        )

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """A unit vector with one more coordinate that fills up the length, or a vector of the cube around the ball.

        A vector of one coordinate is a number.
        """
        number: dict[str, Mapping[str, int]] = {"numbers": {}} if self.dim == 1 else {}
        return {"unit vectors": {"dim": self.dim + 1}, "vectors": {"dim": self.dim}, **number}

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """Per coordinate; typical vectors of length norm have coordinates of mean square norm^2/dim."""
        made = runnable(mechanism)
        low, high = made._number_range or (-1.0, 1.0)
        return per_entry(made.accuracy(n, items=self.dim), 2.0 * self.norm / (high - low))

    @property
    def sensitivity(self) -> Sensitivity:
        """The sum moves by twice the norm, and by sqrt(dim) times that in the sum of absolute values."""
        return Sensitivity(2.0 * self.norm * math.sqrt(self.dim), 2.0 * self.norm, counts=False)

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """The mean of vectors, or of every coordinate in [-norm, norm]."""
        columns = tuple(f"x{i}" for i in range(self.dim)) if column is None else tuple(column)
        if isinstance(column, str) or len(columns) != self.dim:
            raise ParameterError(
                f"column must name {self.dim} columns, one per coordinate, got {column!r:.60}; name them all."
            )
        if "unit vectors" in find(m.name).serves:
            return queries.VectorMean(column=columns, norm=self.norm, unit=self.unit, mechanism=m)
        return queries.Mean(column=columns, low=-self.norm, high=self.norm, unit=self.unit, mechanism=m)
