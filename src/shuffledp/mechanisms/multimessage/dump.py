"""What pureDUMP and mixDUMP share: an option among uniform dummy points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...estimation.moments import Moments
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Array, Source, below
from ..codecs import Category
from ..parameters import whole
from .base import MultiMessage, Rates


@dataclass(frozen=True, kw_only=True)
class Dump(MultiMessage):
    """Dummy points: the user's value, perhaps randomized, among uniform values of [d]."""

    serves = ("options",)

    d: int = whole(low=2, high=2**32, hint="d counts the options")

    @property
    def codec(self) -> Category:
        """An option."""
        return Category(self.d, scratch=self._scratch())

    @property
    def _message_bits(self) -> int:
        return (self.d - 1).bit_length()

    @property
    def _items(self) -> int:
        return self.d

    @property
    def _rates(self) -> Rates:
        """Of a value that is sent as it is."""
        return Rates(1.0, 0.0, 1.0 / self.d)

    def _pairs(self) -> list[ShuffledPair]:
        """The same: only the two values matter, which blanket messages hit equally often."""
        noise = self._rates.noise
        return [ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[noise, noise])]

    def _sum_variance(self, n: int, items: Array, share: Array) -> NDArray[np.float64]:
        """A message names one option, so that several options together are one that is named more often."""
        keep, stray, noise = self._rates
        hit, miss, chance = keep + (items - 1.0) * stray, items * stray, items * noise
        own = n * (share * hit * (1.0 - hit) + (1.0 - share) * miss * (1.0 - miss))
        return np.asarray((self._blankets(n).mean * chance * (1.0 - chance) + own) / (n * (keep - stray)) ** 2)

    def _moments(self, users: int, blankets: int) -> Moments:
        """A message names one option: the users' own, and the blanket's."""
        keep, stray, noise = self._rates
        own, rate = Moments.of_support(users, keep, stray, (0.0, 0.0)), blankets / users / (keep - stray) ** 2
        return replace(own, square=own.square + rate * noise, total=own.total - rate * noise * noise)

    @property
    def _portable_dummy(self) -> dict[str, Any]:
        return {"kind": "uniform", "size": self.d}

    def _noise(self, size: int, src: Source) -> Array:
        return below(src, self.d, size)
