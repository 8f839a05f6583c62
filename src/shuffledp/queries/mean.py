"""The mean of a number in the users' own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimation.constraints import Box
from ..estimation.estimate import Estimate, rescaled
from ..estimation.variance import range_sampling
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, runnable
from .columns import Column, Weights
from .domains import Interval, default_missing


@dataclass(frozen=True, kw_only=True)
class Mean(Query):
    """The mean of one number per user, or of several, each in [low, high].

    Parameters
    ----------
    column : str, or a sequence of them
        Where the numbers are; with several columns the answer is a vector, one mean each.
    low, high : float
        The range, declared in advance and not taken from the data; numbers outside count as the nearest end.
    missing : float
        What a missing number counts as; the middle of the range unless declared.
    unit : str
        For example "min"; it stands beside every number of the answer.
    mechanism : mechanism or spec
        One whose inputs are numbers or vectors (laplace, gaussian, duchi, harmony); ``dim`` may be left out.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> wait = sdp.queries.Mean(column="wait", low=0, high=60, unit="min", mechanism="laplace:eps0=2")
    >>> m, values = wait.randomizer, wait.encode([np.full(10_000, 12.0)])
    >>> answer = wait.answer(m.tally(m.privatise(values, rng=np.random.default_rng(0))))
    >>> bool(abs(answer.value[0] - 12.0) < 4 * answer.stderr[0]), answer.unit
    (True, 'min')
    """

    kind: ClassVar[str] = "mean"

    column: str | tuple[str, ...]
    low: float
    high: float
    missing: float | None = None
    unit: str = ""
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            object.__setattr__(self, "column", tuple(self.column))
        if not self.columns or not all(isinstance(name, str) for name in self.columns):
            raise ParameterError(f"column must be a name or several, got {self.column!r:.60}; write column='wait'.")
        if self.missing is None:
            object.__setattr__(self, "missing", default_missing(self.low, self.high))
        vars(self).update(low=self.domain.low, high=self.domain.high, missing=self.domain.missing)
        made = runnable(self.mechanism, dim=len(self.columns))
        if made.number_range is None or (len(self.columns) > 1 and getattr(made, "dim", 1) != len(self.columns)):
            raise ParameterError(
                f"mechanism must be for {'numbers' if len(self.columns) == 1 else 'vectors'}, got {made.spec}; "
                f"choose {'laplace, gaussian, duchi or harmony' if len(self.columns) == 1 else 'duchi or harmony'}."
            )
        object.__setattr__(self, "mechanism", made)

    @cached_property
    def domain(self) -> Interval:
        """The range."""
        missing = default_missing(self.low, self.high) if self.missing is None else self.missing
        return Interval(self.low, self.high, missing, self.unit)

    @property
    def question(self) -> str:
        """In words."""
        return (
            f"the mean of {', '.join(map(repr, self.columns))} in [{self.domain.low:g}, {self.domain.words(self.high)}]"
        )

    @property
    def _inner(self) -> tuple[float, float]:
        low, high = self.randomizer.number_range or (0.0, 1.0)
        return low, high

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """Every row in the range of the mechanism."""
        low, high = self._inner
        inner = [np.clip(low + (high - low) * self.domain.shares(column), low, high) for column in columns]
        vector = getattr(self.randomizer, "dim", None) is not None
        return np.stack(inner, axis=1) if vector else inner[0]

    def answer(self, tally: Tally) -> Estimate:
        """Means in the users' units."""
        low, high = self._inner
        scale = self.domain.width / (high - low)
        found = rescaled(self.randomizer.estimate(tally), scale=scale, shift=self.domain.low - low * scale)
        return found.named(names=self.columns, unit=self.unit, quantity="mean")

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The means of these rows, after clipping."""
        rows = [self.domain.clipped(column) for column in columns]
        n = max(len(rows[0]), 1)
        return Estimate(
            value=np.array([np.average(row, weights=weights) if len(row) else 0.0 for row in rows]),
            stderr=np.zeros(len(rows)),
            n=n,
            constraint=Box(self.domain.low, self.domain.high),
            sampling=range_sampling(n, self.domain.low, self.domain.high),
        ).named(names=self.columns, unit=self.unit, quantity="mean")
