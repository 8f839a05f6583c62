"""What holds wherever a user sends several messages, and where counts of them are all that is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

from ...numerics.family import Family
from ..base import Mechanism
from ..randomizer import Randomizer

_T = TypeVar("_T", bound="RawMessages")


@dataclass(frozen=True, kw_only=True)
class RawMessages(Randomizer):
    """Users who send several messages each, which come in one uniformly random order."""

    single_message = False
    _shuffles = True

    @property
    def _message_limits(self) -> tuple[int, int | None]:
        """Any number, unless a mechanism knows better."""
        return 0, None

    @property
    def local_epsilon(self) -> float:
        """inf: without a shuffler the value itself is seen."""
        return math.inf


class ExactCounts(RawMessages):
    """Counts of messages among a random number of fabricated ones: ``_blanket`` is the exact law, whoever else sends.

    What the other users send beside fabricated messages is known in the worst case, and is subtracted.
    """

    _lists_every_type = False
    #: The parameter that is the mean number of fabricated messages, if that number is Poisson.
    _mean_number: ClassVar[str]

    def _other_messages(self, n: int) -> int:
        """None is certain: a number of fabricated messages may be 0."""
        return 0

    def _together(self, classes: Sequence[tuple[Mechanism, int]], missing: int) -> Mechanism | None:
        """Poisson numbers add up to one."""
        return added_up(self, classes, missing, self._mean_number)

    def _bundled(self, reports: int, *, n: int) -> Self:
        """A part of a batch of several reports per user: every fabricated message is put into a part at random."""
        return divided(self, self._mean_number, reports)

    def _constant_datasets(self) -> Family:
        """The same law, whatever the others hold."""
        return self.law.blanket()


def added_up(one: RawMessages, classes: Sequence[tuple[Mechanism, int]], missing: int, mean: str) -> RawMessages | None:
    """The mechanism of these users without the missing, where they differ in the ``mean`` of a Poisson number alone.

    Sums of Poisson numbers are Poisson, and their messages follow one public law, so the batch is the same.
    """
    if not all(type(m) is type(one) and replace(m, **{mean: 1.0}) == replace(one, **{mean: 1.0}) for m, _ in classes):
        return None
    left = remaining([(vars(m)[mean], users) for m, users in classes], missing)
    total = math.fsum(value * users for value, users in left) / sum(users for _, users in left)
    return replace(one, **{mean: total * (1.0 - 2.0**-50)})


def divided(one: _T, mean: str, reports: int) -> _T:
    """The mechanism of one of as many parts of a batch, into which a Poisson number of this ``mean`` is divided."""
    return one if reports == 1 else replace(one, **{mean: vars(one)[mean] / reports * (1.0 - 2.0**-50)})


def messages_law(per: str, own: dict[str, Any], dummy: dict[str, Any], **count: Any) -> dict[str, Any]:
    """The law of a report of several messages for clients in every language: the user's own, then fabricated ones."""
    return {"kind": "messages", "per": per, "own": own, "dummy": dummy, "held": 0, **count}


def remaining(classes: Sequence[tuple[float, int]], missing: int) -> list[tuple[float, int]]:
    """Messages per user and users, after those who send most are gone.

    >>> remaining([(2.0, 5), (6.0, 5)], 7)
    [(6.0, 0), (2.0, 3)]
    """
    left = []
    for value, users in sorted(classes, reverse=True):
        away = min(missing, users)
        missing -= away
        left.append((value, users - away))
    return left
