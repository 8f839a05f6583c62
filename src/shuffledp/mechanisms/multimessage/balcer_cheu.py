"""Binary sum with biased coins as blanket messages, and what binary sums share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...estimation.constraints import Box
from ...numerics.pair import ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, bernoulli
from ...randomness.thresholds import threshold
from ..codecs import Category
from ..known.variation_ratio import VariationRatio
from ..parameters import real
from .base import MultiMessage, Rates


class BinarySum(MultiMessage):
    """Every user sends its bit, and blanket messages that are coins."""

    _takes = "bits"
    serves = ("bits",)
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


@dataclass(frozen=True, kw_only=True)
class BalcerCheu(BinarySum):
    """Binary sum with biased coins as blanket messages (Balcer, Cheu, ITC 2020).

    A user sends its bit x; a blanket message is 1 with probability c.  The estimate is the fraction of ones,
    (ones - m c)/n with m blanket messages, variance m c(1-c)/n^2 (the original thresholds it, which biases it).

    Parameters
    ----------
    coin : float in (0, 1)
        c, the bias of the coins.
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    P0 = (1, 0), P1 = (0, 1), t = (1-c, c), both directions; the others' bits are known in the worst case and are
    subtracted, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1, q = max(1/c, 1/(1-c)).
    It is a protocol for one bit: a histogram made of it changes two bins when an input changes (compose).

    Examples
    --------
    >>> import shuffledp as sdp
    >>> round(sdp.amplify(BalcerCheu(coin=0.7, total_messages=500), n=100, delta=1e-5).epsilon, 4)
    0.3511
    """

    name = "balcer-cheu"
    _in_words = "the Balcer-Cheu binary sum with coins of bias {coin!r} and {_blanket_words}"

    coin: float = real(low=0.0, high=1.0, low_open=True, high_open=True, hint="coin is the chance of a 1")

    #: Coins that are mostly 0: where messages that are 0 can be left out, few are sent.
    _design = (("coin", 0.25),)
