"""Which mechanisms fit a task: all registered ones are asked what their inputs are; nothing here knows one by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ..calibration.asked import question
from ..calibration.unknowns import Unknown
from ..errors import ShuffleDPError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import find, names

if TYPE_CHECKING:
    from .tasks import Task


class Refusal(NamedTuple):
    """A mechanism that is not ranked, and why, in one sentence; ``fits``: it is for the task, but misses the target."""

    mechanism: str
    reason: str
    fits: bool = False


@dataclass(frozen=True)
class Candidate:
    """A row of mechanisms to choose from.

    Attributes
    ----------
    mechanism : its word
    row : the mechanisms, which differ in one number (and in a setting that is left open)
    accuracy : (mechanism of the row, users) -> the error of the task, in its units
    runs : mechanism of the row -> what a client runs and what is accounted for
    variant : what distinguishes it from other candidates of the same word; "" for nothing
    """

    mechanism: str
    row: Unknown | FreeSetting
    accuracy: Callable[[Mechanism, int], Accuracy]
    runs: Callable[[Mechanism], Randomizer]
    variant: str = ""

    @property
    def name(self) -> str:
        """The word, with what distinguishes it."""
        return f"{self.mechanism} ({self.variant})" if self.variant else self.mechanism

    def accounted(self, row: Unknown) -> Unknown:
        """The same row, of the mechanisms that clients run."""
        return replace(row, make=lambda value: self.runs(row.make(value)))


def runnable(mechanism: Mechanism) -> Randomizer:
    """The mechanism itself, where a client runs it as it is."""
    if not isinstance(mechanism, Randomizer):
        raise TypeError(f"{mechanism.name} cannot be run")
    return mechanism


def candidates(task: Task, n: int, *, shuffler_noise: bool = False) -> Iterator[Candidate | Refusal]:
    """Every registered mechanism: rows that fit the task, or the reason why there is none.

    ``shuffler_noise``: the shuffler may be trusted to make the noise.
    """
    for name in names():
        cls = find(name)
        reason = _unfit(cls, task, shuffler_noise)
        if reason:
            yield Refusal(name, reason)
            continue
        kind = next(kind for kind in cls.serves if kind in task.inputs)
        try:
            yield from task.rows(name, kind, n)
        except ShuffleDPError as error:
            yield Refusal(name, str(error), fits=True)


def _unfit(cls: type[Mechanism], task: Task, shuffler_noise: bool) -> str:
    if not issubclass(cls, Randomizer):
        return "It cannot be run: only its guarantee is known."
    if cls._file_parameters is not None:
        return "Its law or its parts are in a file of yours; use calibrate and Plan with it."
    if not cls.serves:
        return "It does not say what its inputs are."
    if not any(kind in task.inputs for kind in cls.serves):
        return f"It is for {' or '.join(cls.serves)}, and this task has {' or '.join(task.inputs)}."
    if cls._noise_by_shuffler and not shuffler_noise:
        return "Its shuffler makes the noise, and has to be trusted for it: ask with noise = shuffler."
    return ""


def plain_rows(task: Task, name: str, kind: str, n: int) -> Iterator[Candidate]:
    """One row for every set of parameters that the mechanism proposes for the sizes of the task."""
    cls = find(name)
    if not issubclass(cls, Randomizer):
        return
    designs = cls._designs(task.inputs[kind])
    fixed = set.intersection(*(set(given.items()) for given in designs))
    for given in designs:
        own = ", ".join(
            value if isinstance(value, str) else f"{key} = {value:g}"
            for key, value in given.items()
            if (key, value) not in fixed
        )
        yield Candidate(name, question(name, n, None, dict(given)), task.accuracy, runnable, own)
