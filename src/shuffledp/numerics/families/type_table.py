"""Very many types of the swap bound as one table; single shuffled pairs are made only where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..pair import TINY, FloatArray, ShuffledPair, mass_slack
from .swap_pair import Laws


@dataclass(frozen=True, eq=False)
class TypeTable:
    """The victim's two laws and t of every type: (type, symbol), each row filled up with zeros to one width.

    Examples
    --------
    >>> table = TypeTable.of([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])])
    >>> len(table), table.pair(0).max_ratio
    (1, 3.0)
    """

    P0: FloatArray
    P1: FloatArray
    t: FloatArray

    @classmethod
    def of(cls, types: Sequence[ShuffledPair]) -> TypeTable:
        """These types, one row each."""
        made = np.zeros((3, len(types), max((np.size(pair.t) for pair in types), default=1)))
        for k, pair in enumerate(types):
            for part, law in zip(made, (pair.P0, pair.P1, pair.t), strict=True):
                part[k, : np.size(pair.t)] = law
        return cls(*made)

    def __len__(self) -> int:
        return len(self.t)

    def pair(self, row: int) -> ShuffledPair:
        """One type; symbols that nobody sends are left out."""
        live = (self.P0[row] > 0.0) | (self.P1[row] > 0.0) | (self.t[row] > 0.0)
        return ShuffledPair(P0=self.P0[row, live], P1=self.P1[row, live], t=self.t[row, live])

    def pairs(self) -> list[ShuffledPair]:
        """All of them."""
        return [self.pair(row) for row in range(len(self))]

    def thinned(self, chance: float) -> TypeTable:
        """The same where every other message is sent with this probability only."""
        return TypeTable(self.P0, self.P1, self.t * chance)

    @cached_property
    def laws(self) -> Laws:
        """Every type's X, with its masses rounded down; symbols with equal X are not merged."""
        live = (self.P0 > 0.0) | (self.P1 > 0.0)
        if np.any(live & ~(self.t > TINY)):  # what nobody else sends is set aside
            return Laws.of([pair.shrunk for pair in self.pairs()])
        factor = 1.0 - mass_slack(self.t.shape[1])
        t = np.where(live, self.t, 0.0)
        per = np.where(live, factor * self.t, 1.0)
        u, v = self.P0 / per, self.P1 / per
        return Laws((self.P0 - self.P1) / per, v, np.maximum(u, v), t * factor, ())
