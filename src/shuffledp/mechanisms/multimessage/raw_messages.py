"""What holds wherever a user sends several messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


class Shares:
    """Values beside the blanket messages of each user: total div n, and one more for the first total mod n users."""

    def __init__(self, values: NDArray[Any], total: int) -> None:
        self._values = values
        self._each, self._more = divmod(total, len(values))

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        value = self._values[rows]
        out = np.empty(len(value), dtype=[("value", value.dtype, value.shape[1:]), ("blankets", np.int64)])
        out["value"] = value
        out["blankets"] = self._each + (np.arange(rows.start, rows.start + len(value)) < self._more)
        return out
