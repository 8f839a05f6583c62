"""Users who hold exactly s of d items: the inputs that sampling RAPPOR and the wheel share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from numpy.typing import NDArray

from ...estimation.constraints import FixedSum
from ..frequency import FrequencyOracle
from ..parameters import whole
from ..values import item_sets


@dataclass(frozen=True, kw_only=True)
class FixedSets(FrequencyOracle):
    """A pure frequency oracle on sets of s items, one row of s different numbers per user."""

    _takes = "full sets"
    serves = ("full sets",)
    #: of the items that are asked for: the others may be dummies
    _holds = (0, "s")

    d: int = whole(low=2, high=2**32, hint="d counts the items")
    s: int = whole(low=1, high=lambda m: m.d - 1, hint="s counts the items of a set, fewer than d")

    @property
    def _constraint(self) -> FixedSum:
        """The frequencies add up to s."""
        return FixedSum(self.s)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return item_sets(values, self.d, self.s)

    def inputs(self) -> list[Any]:
        """Every set of s items."""
        self._few_cells(math.comb(self.d, self.s) if self.d <= 10**6 else math.inf)
        return list(combinations(range(self.d), self.s))
