"""What holds wherever a user sends several messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..base import Mechanism
from ..randomizer import Randomizer


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


def added_up(one: RawMessages, classes: Sequence[tuple[Mechanism, int]], missing: int, mean: str) -> RawMessages | None:
    """The mechanism of these users without the missing, where they differ in the ``mean`` of a Poisson number alone.

    Sums of Poisson numbers are Poisson, and their messages follow one public law, so the batch is the same.
    """
    if not all(type(m) is type(one) and replace(m, **{mean: 1.0}) == replace(one, **{mean: 1.0}) for m, _ in classes):
        return None
    left = remaining([(vars(m)[mean], users) for m, users in classes], missing)
    total = math.fsum(value * users for value, users in left) / sum(users for _, users in left)
    return replace(one, **{mean: total * (1.0 - 2.0**-50)})


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
