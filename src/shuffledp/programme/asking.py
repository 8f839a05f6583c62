"""A round that is a question in its own words: the task, its column, labels and units, and how precise it should be.

Its candidates are those of the planner.  With a weight it gets its share of the budget, and the mechanism with the
smallest predicted error there; with a wanted error, the most private mechanism that is as precise.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._support import validation as valid
from .._support.reading import LABELS, read_bytes
from .._support.reading.files import digest_of
from ..accounting.crowd import Crowd
from ..calibration.target import Target
from ..calibration.unknowns import Unknown
from ..errors import ImpossibleError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import find
from ..planning.candidates import Candidate
from ..planning.candidates import Choice as Ranked
from ..planning.range_tasks import QuantileTask
from ..planning.recommending import Question
from ..planning.solving import Budget, neat
from ..planning.tasks import NumberTask, Predicted, Task, task_named
from ..queries.base import Query
from .values import below_written, kind, place, shown, whole_number

#: Keys of a round that belong to its question.
WHOLE = ("d", "bins", "size", "dim", "length", "ways")
REAL = ("low", "high", "norm")
WORDS = {"column", "labels", "other", "unit", "missing", "quantiles", "shape", "subsets", "error", "messages"}
ASKING = WORDS | {"local_epsilon", *WHOLE, *REAL}
#: Looks at the error of quantiles, whose relation to what is ranked is not a fixed factor.
_LOOKS = 6
_MOST_LABELS_FILE = "a file with one label per line"


@dataclass(frozen=True)
class Asked:
    """A question of a programme.

    Attributes
    ----------
    task : with its sizes
    column, labels, other : where the values are, what they are called, and which of them counts the rest
    weight, error : its share, or the wanted error as written (weight 0)
    limits : messages and local eps, at most
    files : the files of labels, by the digest of their bytes
    """

    task: Task
    column: str | tuple[str, ...] | None
    labels: Any
    other: str | None
    weight: float
    error: str | None
    limits: dict[str, Any]
    files: dict[str, str]

    @classmethod
    def read(cls, where: str, given: dict[str, Any], weight: float, folder: str) -> Asked:
        """The question that the keys of a round are."""
        files: dict[str, str] = {}
        column = _columns(f"{where}.column", given.get("column"))
        other = given.get("other")
        if other is not None and not _readable(other):
            raise ParameterError(f"{where}.other must be a label, got {kind(other)}; write other: other.")
        labels = _labels(f"{where}.labels", given.get("labels"), folder, files)
        sizes = _sizes(where, given, folder)
        if labels is not None:
            labels, sizes["d"] = _with_other(where, given, labels, other)
        if "subsets" in given:
            sizes["subsets"] = _subsets(f"{where}.subsets", given["subsets"], labels, column)
        with place(where):
            task = task_named(given["task"], sizes)
        limits = {"messages": _limit(where, given, "messages", 1.0), "bits": None}
        limits["local_epsilon"] = _limit(where, given, "local_epsilon", None)
        error = given.get("error")
        said = None if error is None else str(error).strip()
        made = cls(task, column, labels, other, 0.0 if error is not None else weight, said, limits, files)
        if error is not None:
            if "weight" in given:
                raise ParameterError(f"{where} must have weight or error, got both; remove one of them.")
            made.wanted(f"{where}.error", 1)  # refuses what is no amount
        return made

    @property
    def title(self) -> str:
        """A short name for it, where it has none."""
        column = self.column if isinstance(self.column, str) else " ".join(self.column or ())
        return f"{self.task.name} {column}".strip()

    # -- the mechanism ---------------------------------------------------------------------------------------------

    def rows(self, where: str, crowd: Crowd, delta: float) -> list[Candidate]:
        """The candidates of the planner, without those that send more messages than are allowed."""
        rows, _ = self._question(crowd.honest, delta).rows()
        single = self.limits["messages"] is not None and self.limits["messages"] <= 1.0
        return [row for row in rows if not single or getattr(find(row.mechanism), "single_message", False)]

    def _question(self, n: int, delta: float, **target: Any) -> Question:
        local = self.limits["local_epsilon"]
        budget = Budget(n=n, delta=delta, tol=self.task.tol, most_local=math.inf if local is None else local)
        return Question(task=self.task, budget=budget, limits=self.limits, **{"epsilon": None, "error": None, **target})

    def choose(self, where: str, rows: list[Candidate], target: Target) -> Chosen:
        """The candidate with the smallest predicted error at what one round may cost."""
        asked = self._question(target.n, target.delta, epsilon=target.epsilon)
        chosen = self._first(where, rows, asked)
        return dataclasses.replace(chosen, settled=asked.budget.settled(chosen.candidate, target.epsilon))

    def _first(self, where: str, rows: list[Candidate], asked: Question) -> Chosen:
        """The first of the ranking; a target that cannot be met says of which round."""
        try:
            ranked, _ = asked.ranking(rows)
        except ImpossibleError as error:
            raise ImpossibleError(f"{where}: {error}") from None
        return Chosen(self, next(row for row in rows if row.name == ranked[0].name), ranked)

    def precise(self, where: str, crowd: Crowd, delta: float) -> Chosen:
        """The most private candidate whose error is the wanted one."""
        n, users = crowd.honest, crowd.n
        rows, (unit, wanted) = self.rows(where, crowd, delta), self.wanted(f"{where}.error", users)
        error = wanted if unit else self.task.from_units(wanted, users) if isinstance(self.task, NumberTask) else wanted
        if not unit and isinstance(self.task, QuantileTask):
            error = 0.01
        for _ in range(_LOOKS):
            chosen = self._first(where, rows, self._question(n, delta, error=error))
            if unit or not isinstance(self.task, QuantileTask):
                return chosen
            reached = max(one.error for one in chosen.predicted(chosen.ranked[0].asked, n, users))
            if 0.95 * wanted <= reached <= wanted:
                return chosen
            error *= 0.98 * wanted / reached
        raise ImpossibleError(
            f"{where}.error of {self.error} was not met for numbers of this shape; state it in users, or by a weight."
        )

    def wanted(self, where: str, users: int) -> tuple[bool, float]:
        """Whether the wanted error is one of shares (of all users), and how large it is, else in the unit."""
        text = self.error or ""
        share, number = valid.percent(text), text
        counts = not isinstance(self.task, NumberTask)
        unit = getattr(self.task, "unit", "")
        for suffix in ("users", "user"):
            if counts and text.endswith(suffix):
                return True, _positive(where, text[: -len(suffix)].strip()) / users
        if counts and share is not None and share > 0:
            return True, float(share)
        if unit and text.endswith(unit):
            number = text[: -len(unit)].strip()
        value = _positive(where, number)
        if not counts or (isinstance(self.task, QuantileTask) and number != text):
            return False, value
        if isinstance(self.task, QuantileTask):
            raise ParameterError(
                f"{where} must name its unit, got {shown(text)}; write for example 0.2 {unit or 'of the unit'}, "
                "100 users or 0.1%."
            )
        return True, value / users if value >= 1.0 else value

    # -- the plan --------------------------------------------------------------------------------------------------

    def query(self, mechanism: Mechanism, variant: str) -> Query:
        """The query that runs this mechanism, in the words of the round."""
        made = self.task.query(mechanism, self.column, self.labels, variant)
        if self.other is None or self.labels is None or isinstance(self.labels, Mapping):
            return made
        return dataclasses.replace(made, other=self.other)  # type: ignore[type-var]


@dataclass(frozen=True)
class Chosen:
    """The candidate of a question that was chosen, and its settled row; ``ranked`` are all of them, best first."""

    asked: Asked
    candidate: Candidate
    ranked: Sequence[Ranked]
    settled: Unknown | None = None

    @property
    def compared(self) -> tuple[tuple[str, float], ...]:
        """The names of the candidates and their squared errors."""
        return tuple((choice.name, choice.error**2) for choice in self.ranked)

    def opened(self, made: dict[str, Mechanism]) -> Unknown:
        """What clients run, by the one number that is left to find; ``made`` then tells what it was made of."""
        if self.settled is None:
            raise TypeError("a question with a wanted error leaves no number to find")
        plain = neat(self.settled)

        def make(value: float) -> Mechanism:
            asked = plain.make(value)
            run = self.candidate.runs(asked)
            made[run.spec] = asked
            return run

        return dataclasses.replace(plain, make=make)

    def predicted(self, mechanism: Mechanism, n: int, users: int) -> list[Predicted]:
        """The errors to expect, in the units that people read."""
        accuracy = self.candidate.accuracy(mechanism, n)
        return self.asked.task.predicted(mechanism, self.candidate.variant, accuracy, n=n, users=users)

    def told(self, run: Mechanism, made: dict[str, Mechanism], n: int, users: int) -> dict[str, Any]:
        """What is told of the mechanism that is run, in the units that people read."""
        asked = made[run.spec]
        error = self.candidate.accuracy(asked, n).worst
        said = {"wanted": self.asked.error, "assumed": self.asked.task.assumed}
        return {"error": error, "predicted": tuple(self.predicted(asked, n, users)), **said}


# -- reading ---------------------------------------------------------------------------------------------------


def _sizes(where: str, given: dict[str, Any], folder: str) -> dict[str, Any]:
    """The sizes of the task, as recommend takes them."""
    if {"d", "bins"} <= given.keys():
        raise ParameterError(f"{where} must have d or bins, got both; bins are what d is called for ranges.")
    readers: dict[str, Callable[[str, Any], Any]] = {
        **dict.fromkeys(WHOLE, _whole),
        **dict.fromkeys(REAL, _real),
        "unit": lambda at, value: value,
        "missing": lambda at, value: value if value == "option" else _real(at, value),
        "quantiles": lambda at, value: value if isinstance(value, list) else [value],
        "shape": lambda at, value: _shape(at, value, folder, given),
    }
    read = {key: reader(f"{where}.{key}", given[key]) for key, reader in readers.items() if key in given}
    return {"d" if key == "bins" else key: value for key, value in read.items()}


def _whole(where: str, value: object) -> Any:
    if isinstance(value, list):
        return tuple(whole_number(f"{where}[{i}]", x) for i, x in enumerate(value))
    return whole_number(where, value)


def _real(where: str, value: object) -> float:
    return below_written(where, value)[1]


def _shape(where: str, value: object, folder: str, given: dict[str, Any]) -> Any:
    if isinstance(value, str):
        if "error" in given:
            raise ParameterError(
                f"{where} must be a list of weights beside error, got a file; a budget that depends on a sample would "
                "reveal something about it, so use weight, or write down a shape that may be known."
            )
        return os.path.join(folder, value)
    if not isinstance(value, list):
        raise ParameterError(f"{where} must be a list of weights or the name of a file, got {kind(value)}; list them.")
    return tuple(_real(f"{where}[{i}]", x) for i, x in enumerate(value))


def _readable(value: object) -> bool:
    """A short text that prints, as names of columns and labels are."""
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _columns(where: str, value: object) -> str | tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) and _readable(value):
        return value
    if isinstance(value, list) and value and all(map(_readable, value)):
        return tuple(value)
    raise ParameterError(f"{where} must be the name of a column, or a list of them, got {kind(value)}; name it.")


def _labels(where: str, value: object, folder: str, files: dict[str, str]) -> Any:
    """A list, or the lines of a file; for marginals one of them for every column."""
    if value is None:
        return None
    if isinstance(value, dict):
        if not all(map(_readable, value)):
            raise ParameterError(
                f"{where} must map the names of columns to their labels, got {kind(value)}; name them."
            )
        return {str(name): _labels(f"{where}.{name}", one, folder, files) for name, one in value.items()}
    if isinstance(value, str):
        with place(where):
            data = read_bytes(os.path.join(folder, value), LABELS)
            files[value] = digest_of(data)
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise ParameterError(
                    f"it must be {_MOST_LABELS_FILE} in UTF-8, got other bytes in {value!r}; save it as UTF-8."
                ) from None
        value = [line.strip() for line in text.splitlines() if line.strip()]
    if not isinstance(value, list) or not value or not all(isinstance(x, str | int | bool) for x in value):
        raise ParameterError(f"{where} must be a list of labels, or {_MOST_LABELS_FILE}, got {kind(value)}; list them.")
    found = [x if isinstance(x, bool) else str(x) for x in value]
    seen: set[str] = set()
    for label in map(str, found):
        if label in seen:
            raise ParameterError(f"{where} must be different, got {shown(label)} twice; remove one of them.")
        if not label.isprintable():
            raise ParameterError(f"{where} must be readable text, got {shown(label)}; rename it.")
        seen.add(label)
    return found


def _with_other(where: str, given: dict[str, Any], labels: Any, other: str | None) -> tuple[Any, Any]:
    """The labels with that of all other values, where the task counts them, and how many there are."""
    if {"d", "bins"} & given.keys():
        raise ParameterError(f"{where} must have labels or d, got both; labels are counted, so remove d.")
    rest = other or "other"
    if isinstance(labels, dict):  # the last one of every column counts the others
        found = {name: [*(x for x in some if x != rest), rest] for name, some in labels.items()}
        return found, tuple(map(len, found.values()))
    if given.get("task") == "histogram":
        labels = labels if rest in labels else [*labels, rest]
    return labels, len(labels)


def _subsets(where: str, value: object, labels: Any, column: object) -> Any:
    """The columns of every marginal, by their places."""
    names = list(labels) if isinstance(labels, dict) else list(column) if isinstance(column, tuple) else []
    fine = isinstance(value, list) and all(
        isinstance(some, list) and all(one in names for one in some) for some in value
    )
    if not isinstance(value, list) or not fine:
        raise ParameterError(
            f"{where} must be lists of columns of {', '.join(names) or 'the labels'}, got {shown(value)}; write "
            "[[model, version]]."
        )
    return tuple(tuple(names.index(name) for name in some) for some in value)


def _limit(where: str, given: dict[str, Any], key: str, usual: float | None) -> float | None:
    return _positive(f"{where}.{key}", given[key]) if key in given else usual


def _positive(where: str, value: object) -> float:
    return valid.inside(where, _real(where, value), hint="it is an amount above 0")
