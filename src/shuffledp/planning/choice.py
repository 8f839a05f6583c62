"""One ranked mechanism: its setting, what it guarantees, how precise it is and what it costs to send."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.text import visible
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer

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
    ('randomized-response', 1.0, 8.0, True)
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
