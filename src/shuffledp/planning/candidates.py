"""Which mechanisms fit a task, and a choice among them with all settings, its error and what it costs to send.

All registered mechanisms are asked what their inputs are; nothing here knows one by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.text import visible
from ..calibration.asked import question
from ..calibration.unknowns import Unknown, budget
from ..errors import ShuffleDPError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import find, names
from ..mechanisms.registry import mechanism as parse

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


def oracle_row(name: str, d: int) -> Unknown | None:
    """The row of a frequency mechanism of one message, for d options; None for any other mechanism."""
    cls = find(name)
    if not issubclass(cls, FrequencyOracle) or not cls.single_message:
        return None
    return budget("eps0", lambda eps0: parse(f"{name}:eps0={eps0!r},d={d}"))


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


# -- choices ---------------------------------------------------------------------------------------------------

#: Errors closer than this count as equal: that is about how precisely settings are calibrated.
_EQUAL = 1e-3


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A mechanism with all settings chosen.

    Attributes
    ----------
    mechanism, variant : its word, and what distinguishes it from other choices of the same word
    spec : the mechanism with its settings; of a tree over bins, that of the leaves
    epsilon, delta : the guarantee over all rounds; epsilon is never too small
    bound : the bound that gave it, for one round
    local_epsilon : what remains over all rounds if the shuffler fails: the sum of the local guarantees; may be inf
    error : root-mean-square error per item, the largest over all data, in the units of the task
    typical_error : the same with users who are spread evenly over the inputs
    item_error : the largest error of any single item over all data
    bits : bits that a user sends in a round on average: messages times 8 times the bytes of a message
    messages, most_messages : messages of a user in a round, on average and at most (None: no limit)
    on_front : no other choice is both better and shorter

    Examples
    --------
    >>> import shuffledp as sdp
    >>> best = sdp.recommend("sum of bits", n=10_000, epsilon=1.0, delta=1e-6, messages=1).best
    >>> best.mechanism, best.messages, best.bits, best.epsilon <= 1.0
    ('grr', 1.0, 8.0, True)
    """

    mechanism: str
    spec: str
    epsilon: float
    delta: float
    bound: str
    local_epsilon: float
    error: float
    typical_error: float
    item_error: float
    bits: float
    messages: float
    most_messages: int | None
    variant: str = ""
    on_front: bool = False
    #: The mechanism of the task's row, from which its query is made.
    asked: Mechanism = field(repr=False, compare=False)
    #: What a client runs: ``asked`` itself, or a tree of it.
    run: Randomizer = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The word, with what distinguishes it."""
        return f"{self.mechanism} ({self.variant})" if self.variant else self.mechanism

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<Choice {self.spec}: error {self.error:.3g}, eps <= {round_up(self.epsilon)}>")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: all attributes by their names."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("asked", "run")}
        return json_object(plain)


def ranked(choices: Iterable[Choice], by: str) -> list[Choice]:
    """The smallest error (or eps) first; of equal ones that with fewer bits, then by name."""

    def place(choice: Choice) -> tuple[float, float, str]:
        value: float = getattr(choice, by)
        level = round(math.log(value) / _EQUAL) if 0.0 < value < math.inf else value
        return level, choice.bits, choice.name

    return sorted(choices, key=place)


def front(choices: Sequence[Choice]) -> set[str]:
    """The names of those that no other choice beats: going down the ranking, each that is shorter than all before."""
    found, shortest = set(), math.inf
    for choice in choices:
        if choice.bits < shortest:
            found.add(choice.name)
            shortest = choice.bits
    return found
