"""Tasks whose answers are shares of users: options, bits, sets of items, keys with values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..queries.base import Query
from .candidates import Candidate, runnable
from .floor import Floor, of_histogram
from .solving import Budget
from .tasks import Columns, Labels, Sensitivity, Task, default_labels, missing_in, one_column, options, short_unit

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

    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", options(self.d))

    @property
    def item(self) -> str:
        """One of the options."""
        return f"each of {self.d:,} options"

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

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """A histogram whose last label also counts unlisted values."""
        found, where = default_labels(self.d, labels), one_column(column, "value")
        return queries.Histogram(column=where, labels=tuple(found), other=found[-1], mechanism=runnable(mechanism))


@dataclass(frozen=True, kw_only=True)
class BitsTask(ShareTask):
    """One bit per user; the answer is the share of ones."""

    name: ClassVar[str] = "sum of bits"
    measure: ClassVar[str] = "share of ones; times n it is the error of their number"

    @property
    def item(self) -> str:
        """The ones."""
        return "number of ones"

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

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """A histogram of "0" and "1"; anything else counts as "0"."""
        found = default_labels(2, labels)
        where = one_column(column, "bit")
        return queries.Histogram(column=where, labels=tuple(found), other=found[0], mechanism=runnable(mechanism))


@dataclass(frozen=True, kw_only=True)
class SetsTask(ShareTask):
    """Up to ``size`` of d items per user."""

    name: ClassVar[str] = "sets"

    d: int
    size: int

    def __post_init__(self) -> None:
        d = options(self.d, what="items")
        size = check.whole("size", self.size, low=1, high=min(d, _MOST_HELD), hint="it is how many items a user holds")
        vars(self).update(d=d, size=size)

    @property
    def item(self) -> str:
        """One of the items."""
        return f"each of {self.d:,} items"

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

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """Lists of items, written as text with "|" between them unless they are lists."""
        where, names = one_column(column, "items"), tuple(default_labels(self.d, labels))
        m = runnable(mechanism)
        return queries.SetFrequency(column=where, labels=names, size=self.size, separator="|", mechanism=m)


@dataclass(frozen=True, kw_only=True)
class KeyValueTask(ShareTask):
    """Up to ``size`` of d keys per user, each with a number in [low, high]."""

    name: ClassVar[str] = "key-value"
    measure: ClassVar[str] = "share of users who hold a key, root mean square over the keys"

    d: int
    size: int = 1
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    missing: float | None = None

    def __post_init__(self) -> None:
        d = options(self.d, low=1, what="keys")
        size = check.whole("size", self.size, low=1, high=d, hint="it is how many keys a user holds")
        low, high = check.interval(self.low, self.high)
        vars(self).update(d=d, size=size, low=low, high=high)
        vars(self).update(unit=short_unit(self.unit), missing=missing_in(self.missing, low, high))

    @property
    def item(self) -> str:
        """The holders of a key."""
        return f"holders of each of {self.d:,} keys"

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """Keys with values."""
        return {"key-values": {"d": self.d, "l": self.size}}

    @property
    def sensitivity(self) -> Sensitivity:
        """All keys of a user may be exchanged for others; half of the budget is left to the values."""
        return Sensitivity(4.0 * self.size, 2.0 * math.sqrt(2.0 * self.size))

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """A column of pairs."""
        where, keys = one_column(column, "pairs"), tuple(default_labels(self.d, labels))
        words: dict[str, Any] = {"low": self.low, "high": self.high, "unit": self.unit, "missing": self.missing}
        return queries.KeyValue(column=where, keys=keys, size=self.size, mechanism=runnable(mechanism), **words)
