"""What holds wherever a user sends several messages."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
