"""Tasks whose answers are shares of users: options, bits, sets of items, keys with values, cells of a map."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from ..calibration.unknowns import budget
from ..errors import ParameterError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import find
from ..queries.base import Query
from .candidates import Candidate, Refusal, plain_rows, runnable
from .leading_order import Floor, of_histogram
from .solving import Budget
from .tasks import Columns, Labels, Sensitivity, Task, default_labels, options, short_unit

#: Items of one user, at most.
_MOST_HELD = 10**4


class ShareTask(Task):
    """An answer that is one share of users per item."""

    measure: ClassVar[str] = "share of users, root mean square over the items"

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """As the mechanism declares it, over the items that are asked for."""
        return runnable(mechanism).accuracy(n, items=self.sizes.get("d", 2))


@dataclass(frozen=True, kw_only=True)
class HistogramTask(ShareTask):
    """One of d options per user."""

    name: ClassVar[str] = "histogram"
    usual_column: ClassVar[str] = "value"
    error_of: ClassVar[str] = "each of {d:,} options"

    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", options(self.d))

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """Options; a yes/no question has its own mechanisms beside."""
        return {"options": {"d": self.d}, **({"bits": {}} if self.d == 2 else {})}

    @property
    def sensitivity(self) -> Sensitivity:
        """Two counts move by one."""
        return Sensitivity(2.0, math.sqrt(2.0))

    def floor(self, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
        """Theorem F."""
        return of_histogram(self.d, rows, budget, epsilon)

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """A histogram whose last label also counts unlisted values."""
        found = default_labels(self.d, labels)
        return queries.Histogram(column=column, labels=tuple(found), other=found[-1], mechanism=m)


@dataclass(frozen=True, kw_only=True)
class BitsTask(ShareTask):
    """One bit per user; the answer is the share of ones."""

    name: ClassVar[str] = "sum of bits"
    usual_column: ClassVar[str] = "bit"
    measure: ClassVar[str] = "share of ones; times n it is the error of their number"
    error_of: ClassVar[str] = "number of ones"

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """A bit, or one of two options."""
        return {"bits": {}, "options": {"d": 2}}

    @property
    def sensitivity(self) -> Sensitivity:
        """One count moves by one."""
        return Sensitivity(1.0, 1.0)

    def floor(self, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
        """Theorem F."""
        return of_histogram(2, rows, budget, epsilon)

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """A histogram of "0" and "1"; anything else counts as "0"."""
        found = default_labels(2, labels)
        return queries.Histogram(column=column, labels=tuple(found), other=found[0], mechanism=m)


@dataclass(frozen=True, kw_only=True)
class SetsTask(ShareTask):
    """Up to ``size`` of d items per user."""

    name: ClassVar[str] = "sets"
    usual_column: ClassVar[str] = "items"
    error_of: ClassVar[str] = "each of {d:,} items"

    d: int
    size: int

    def __post_init__(self) -> None:
        d = options(self.d, what="items")
        size = check.whole("size", self.size, low=1, high=min(d, _MOST_HELD), hint="it is how many items a user holds")
        vars(self).update(d=d, size=size)

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """Sets of at most ``size`` items; filled up with dummies where a mechanism needs full sets."""
        return {
            "sets": {"d": self.d, "s": self.size, "indices": self.size},
            "full sets": {"d": self.d + self.size, "s": self.size},
        }

    @property
    def sensitivity(self) -> Sensitivity:
        """All items of a user may be exchanged for others."""
        return Sensitivity(2.0 * self.size, math.sqrt(2.0 * self.size))

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """Lists of items, written as text with "|" between them unless they are lists."""
        names = tuple(default_labels(self.d, labels))
        return queries.SetFrequency(column=column, labels=names, size=self.size, separator="|", mechanism=m)


@dataclass(frozen=True, kw_only=True)
class KeyValueTask(ShareTask):
    """Up to ``size`` of d keys per user, each with a number in [low, high]."""

    name: ClassVar[str] = "key-value"
    usual_column: ClassVar[str] = "pairs"
    measure: ClassVar[str] = "share of users who hold a key, root mean square over the keys"
    error_of: ClassVar[str] = "holders of each of {d:,} keys"

    d: int
    size: int = 1
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    missing: float | None = None

    def __post_init__(self) -> None:
        d = options(self.d, low=1, what="keys")
        size = check.whole("size", self.size, low=1, high=d, hint="it is how many keys a user holds")
        self._settle_range(d=d, size=size)

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """Keys with values."""
        return {"key-values": {"d": self.d, "l": self.size}}

    @property
    def sensitivity(self) -> Sensitivity:
        """All keys of a user may be exchanged for others; half of the budget is left to the values."""
        return Sensitivity(4.0 * self.size, 2.0 * math.sqrt(2.0 * self.size))

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """A column of pairs."""
        keys = tuple(default_labels(self.d, labels))
        return queries.KeyValue(column=column, keys=keys, size=self.size, mechanism=m, **self._range)


#: What noise on places is called among the inputs of mechanisms.
_PLACES = "cells of a map"
#: Cells of a map whose matrix is inverted.
_MOST_CELLS = 1024


@dataclass(frozen=True, kw_only=True)
class LocationTask(HistogramTask):
    """A place in one of d cells of a square map from low to high, in each direction.

    Guarantees are for moving a user anywhere on the map, so that noise on places and randomized cells are compared
    alike.  Noise on places also has a guarantee for short moves, which is not ranked.
    """

    name: ClassVar[str] = "location"
    usual_column: ClassVar[str] = "cell"
    measure: ClassVar[str] = "share of users, root mean square over the cells"
    error_of: ClassVar[str] = "each of {d:,} cells"

    d: int
    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        low, high = check.interval(self.low, self.high)
        vars(self).update(d=options(self.d, what="cells"), low=low, high=high, unit=short_unit(self.unit))

    @property
    def grid(self) -> tuple[int, int]:
        """Cells across and up: the divisors of d that are closest to each other."""
        up = next(k for k in range(math.isqrt(self.d), 0, -1) if self.d % k == 0)
        return self.d // up, up

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """The cell as an option, or the place."""
        return {**super().inputs, **({_PLACES: {}} if self.d <= _MOST_CELLS else {})}

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """Noise on places has its scale as the unknown."""
        if kind != _PLACES:
            yield from plain_rows(self, name, kind, n)
            return
        # cells of less than 0.02 or more than 500 units of noise are refused by the mechanism, eps above 500 by the map
        width = self.high - self.low
        least, most = 0.02 * max(self.grid) / width, min(500.0, 500.0 * min(self.grid) / width)
        if least < most:
            yield Candidate(name, budget("eps", self._places, low=least, high=most), self.accuracy, runnable)
        else:
            yield Refusal(name, f"Its eps is per unit of distance, and the map is {width:g} of them wide.", fits=True)

    def _places(self, eps: float) -> Mechanism:
        return self._map(eps, ("x", "y")).randomizer

    def _map(self, eps: float, column: tuple[str, str]) -> Query:
        (across, up), low, high = self.grid, self.low, self.high
        sides: dict[str, Any] = {"west": low, "east": high, "south": low, "north": high}
        return queries.Location(column=column, **sides, across=across, up=up, eps=eps, unit=self.unit)

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """Two coordinates for noise on places; else one column with the number of the cell, rows from the south."""
        if _PLACES not in find(mechanism.name).serves:
            return super().query(mechanism, column, labels)
        self._refuse_labels(labels)
        if column is not None and (isinstance(column, str) or len(column) != 2):
            raise ParameterError(f"column must name the two coordinates, got {column!r:.60}; write ('x', 'y').")
        eps = float(getattr(mechanism, "wide", 0.0)) * self.grid[0] / (self.high - self.low)
        return self._map(eps, ("x", "y") if column is None else (column[0], column[1]))
