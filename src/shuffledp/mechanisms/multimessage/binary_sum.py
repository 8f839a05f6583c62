"""What the binary sums share: every user sends its bit, among blanket messages that are coins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ...estimation.constraints import Box
from ...numerics.pair import ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, bernoulli
from ...randomness.thresholds import threshold
from ..codecs import Category
from ..known.variation_ratio import VariationRatio
from .base import MultiMessage, Rates


class BinarySum(MultiMessage):
    """Every user sends its bit, and blanket messages that are coins."""

    _takes = "bits"
    serves = ("bits",)
    _message_bits = 1
    _items = 2
    _constraint = Box(0.0, 1.0)
    #: Probability that a blanket message is 1.
    coin: float

    @property
    def codec(self) -> Category:
        """A bit."""
        return Category(2, scratch=self._scratch())

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = max(1/c, 1/(1-c))."""
        return VariationRatio(p=math.inf, beta=1.0, q=max(1.0 / self.coin, 1.0 / (1.0 - self.coin)))

    def _pairs(self) -> list[ShuffledPair]:
        return both_directions(ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[1.0 - self.coin, self.coin]))

    @property
    def _rates(self) -> Rates:
        return Rates(1.0, 0.0, self.coin)

    @property
    def _portable_dummy(self) -> dict[str, Any]:
        return {"kind": "table", "rows": [[threshold(1 - Fraction(self.coin))]]}

    def _own(self, values: Array, src: Source) -> Array:
        return values

    def _noise(self, size: int, src: Source) -> Array:
        return bernoulli(src, self.coin, size).astype(self.codec.dtype)

    def _hits_of_sums(self, sums: Array) -> Array:
        return sums[1:]
