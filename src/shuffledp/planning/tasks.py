"""The tasks that can be planned: what users hold, which mechanisms fit, what the error means, and the query to run."""

from __future__ import annotations

import importlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple

from .._support import validation as check
from .._support.units import error_in, users_of
from ..errors import ParameterError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..queries.base import Query
from .candidates import Candidate, Refusal, plain_rows, runnable
from .leading_order import Floor
from .solving import Budget

#: The name of a task -> module and class.
TASKS = {
    "histogram": ("frequency_tasks", "HistogramTask"),
    "sum of bits": ("frequency_tasks", "BitsTask"),
    "sets": ("frequency_tasks", "SetsTask"),
    "key-value": ("frequency_tasks", "KeyValueTask"),
    "location": ("frequency_tasks", "LocationTask"),
    "mean": ("number_tasks", "MeanTask"),
    "vector mean": ("number_tasks", "VectorMeanTask"),
    "range": ("range_tasks", "RangeTask"),
    "quantile": ("range_tasks", "QuantileTask"),
    "marginals": ("marginals_task", "MarginalsTask"),
    "heavy hitters": ("strings_task", "StringsTask"),
}
#: Where the values are and what they are called; None: names of the task's own.
Columns = str | Sequence[str] | None
Labels = Sequence[Any] | None


class Predicted(NamedTuple):
    """An error that is predicted, in the units that people read: root mean square over repetitions.

    Attributes
    ----------
    item : what it is the error of, such as "p99" or "each of 16 options"
    error, unit : how large, such as 0.022 and "min"
    text : in words, rounded up: "0.022 min", "64 of 1,200,000 users"
    """

    item: str
    error: float
    unit: str
    text: str


class Sensitivity(NamedTuple):
    """How far a curator's exact answer moves if one user is replaced, for one of n users.

    ``l1`` and ``l2`` are those of the vector of entries; ``entry`` turns the standard deviation of the noise on an
    entry into the error of the task; ``counts``: entries are whole numbers of users.
    """

    l1: float
    l2: float
    entry: float = 1.0
    counts: bool = True


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """What is asked; subclasses are frozen keyword-only dataclasses with the sizes of the question."""

    name: ClassVar[str]
    #: What the error is measured in, in words.
    measure: ClassVar[str]
    #: What it is the error of, in words, with the sizes of the question in braces.
    error_of: ClassVar[str] = "each item"
    #: What its one column is called unless another is given ("": it has several), and how an error shows to name one.
    usual_column: ClassVar[str] = ""
    example: ClassVar[str] = "value"
    #: Whether its values have names.
    has_labels: ClassVar[bool] = True
    #: Relative accuracy of the eps of a round; larger where laws have many atoms.
    tol: ClassVar[float] = 5e-4
    #: A mechanism is not calibrated if its error is this many times that of a shorter one, to leading order.
    far: ClassVar[float] = math.inf

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """What users hold -> the sizes of mechanisms that take it."""

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """The mechanisms of this word to choose from."""
        return plain_rows(self, name, kind, n)

    @abstractmethod
    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """The error of the answer, in the units of the task."""

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """For the central model."""

    def floor(self, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
        """The least error of one message per user at the target, where a theorem says one."""
        return None

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """The query that runs a mechanism; columns and labels have names of their own unless they are given."""
        if not self.has_labels:
            self._refuse_labels(labels)
        where: Any = column
        if self.usual_column:
            where = self.usual_column if column is None else column
            if not isinstance(where, str):
                raise ParameterError(f"column must be one name, got {column!r:.60}; write column={self.example!r}.")
        return self._query(runnable(mechanism), where, labels, variant)

    def _refuse_labels(self, labels: object) -> None:
        if labels is not None:
            raise ParameterError(
                f"labels must be left out for the task {self.name!r}, got some; its values are numbers."
            )

    @abstractmethod
    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """The same, for columns and labels that were looked at: one name where the task has a usual one."""

    # -- a range of numbers, where users hold some -----------------------------------------------------------------

    def _settle_range(self, **more: Any) -> None:
        """The fields low, high, unit and missing as they were checked, and ``more`` of them."""
        given: Any = self
        low, high = check.interval(given.low, given.high)
        if "missing" not in more:
            more["missing"] = missing_in(given.missing, low, high)
        vars(self).update(low=low, high=high, unit=short_unit(given.unit), **more)

    @property
    def _range(self) -> dict[str, Any]:
        """The same fields, as queries take them."""
        return {key: getattr(self, key) for key in ("low", "high", "unit", "missing")}

    # -- errors as people read them -------------------------------------------------------------------------------

    @property
    def item(self) -> str:
        """What the error is of, in words."""
        return self.error_of.format(**vars(self))

    @property
    def shown_unit(self) -> str:
        """What people count the error in: users, unless the answer is a number with a unit of its own."""
        return "users"

    def in_units(self, error: float, users: int) -> float:
        """An error of the task in the unit that people read, for this many users: of a share, a number of users."""
        return error * users

    def from_units(self, error: float, users: int) -> float:
        """The error of the task that is so large in the unit that people read."""
        return error / self.in_units(1.0, users)

    def words(self, error: float, users: int) -> str:
        """An error of the task in words, rounded up."""
        return users_of(self.in_units(error, users), users)

    def predicted(
        self, mechanism: Mechanism, variant: str, accuracy: Accuracy, *, n: int, users: int
    ) -> list[Predicted]:
        """What to expect of the answer of n reports, about ``users`` users, if a mechanism of this task is run."""
        worst = accuracy.worst
        return [Predicted(self.item, self.in_units(worst, users), self.shown_unit, self.words(worst, users))]

    @property
    def assumed(self) -> str:
        """What the prediction takes for granted of the data, in words; empty: it is the largest over all data."""
        return ""

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes of the question, by the names that recommend takes."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) not in (None, "")}


def task_named(name: object, given: Mapping[str, Any]) -> Task:
    """The task with these parameters; those that are None were not given."""
    word = re.sub(r"[\s_-]+", " ", name).strip().lower() if isinstance(name, str) else ""
    known = {task.replace("-", " "): task for task in TASKS}
    if word not in known:
        close = get_close_matches(word, known, n=1)
        hint = f"did you mean {known[close[0]]!r}?" if close else f"choose one of {', '.join(TASKS)}."
        raise ParameterError(f"task must be one of {len(TASKS)} known ones, got {check.shown(name)}; {hint}")
    module, cls_name = TASKS[known[word]]
    cls: type[Task] = getattr(importlib.import_module(f".{module}", __package__), cls_name)
    stated = {key: value for key, value in given.items() if value is not None}
    takes = [f.name for f in fields(cls)]
    for key in stated:
        if key not in takes:
            raise ParameterError(
                f"{key} must be left out for the task {cls.name!r}, got {check.shown(stated[key])}; it takes "
                f"{', '.join(takes) or 'no sizes'}."
            )
    missing = [f.name for f in fields(cls) if f.name not in stated and f.default is f.default_factory]
    if missing:
        raise ParameterError(
            f"the task {cls.name!r} needs {', '.join(missing)}, got {', '.join(stated) or 'nothing'}; pass "
            f"{', '.join(f'{key}=VALUE' for key in missing)}."
        )
    return cls(**stated)


def options(value: object, *, low: int = 2, high: int = 2**28, what: str = "options") -> int:
    """A checked number of options."""
    return check.whole("d", value, low=low, high=high, hint=f"it is the number of {what}")


class NumberTask(Task):
    """An answer that is a number in a unit of its own, such as "min"."""

    error_of: ClassVar[str] = "mean"
    has_labels: ClassVar[bool] = False

    unit: str

    @property
    def shown_unit(self) -> str:
        """That of the number."""
        return self.unit

    def in_units(self, error: float, users: int) -> float:
        """The error itself."""
        return error

    def words(self, error: float, users: int) -> str:
        """With the unit."""
        return error_in(error, self.unit)


def short_unit(value: object) -> str:
    """A checked unit."""
    if not isinstance(value, str) or len(value) > 40 or not value.isprintable():
        raise ParameterError(f"unit must be a short text, got {value!r:.60}; write unit='min'.")
    return value


def missing_in(value: object, low: float, high: float) -> float | None:
    """What a missing number counts as: a number of the range, or nothing that was said."""
    if value == "option":
        raise ParameterError(
            "missing must be a number of the range for this task, got 'option': the error of a mean over those who "
            "have a number depends on how many they are, so it cannot be predicted; give a number, ask for quantiles "
            "(which take 'option'), or make a plan of queries.Mean(..., missing='option', mechanism='pckv-grr:eps0=2')."
        )
    hint = "a missing value counts as a number of the range"
    return None if value is None else check.in_range("missing", value, low=low, high=high, hint=hint)


def default_labels(d: int, labels: Sequence[Any] | None) -> Sequence[Any]:
    """ "0", "1", ... unless there are others, as many as were planned for."""
    if labels is None:
        return [str(i) for i in range(d)]
    if isinstance(labels, str | Mapping | Set) or not isinstance(labels, Collection):
        raise ParameterError(f"labels must be a list of them, got {check.shown(labels)}; write labels=['a', 'b', ...].")
    if len(labels) != d:
        raise ParameterError(
            f"labels must be {d:,}, as many as were planned for, got {len(labels):,}; plan with d = {len(labels)}."
        )
    return list(labels)


def per_entry(accuracy: Accuracy, scale: float) -> Accuracy:
    """The same errors in other units.

    >>> per_entry(Accuracy(2.0, 1.0, 3.0), 0.5)
    Accuracy(worst=1.0, typical=0.5, entry=1.5)
    """
    return Accuracy(*(scale * x for x in accuracy))
