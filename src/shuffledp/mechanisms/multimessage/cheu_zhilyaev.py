"""Histogram from fake users: rows of flipped bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...numerics.counts import Count
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...numerics.swap.groups import Messages
from ...randomness.bits import flip_bits, noise_rows
from ...randomness.sampling import Array, Source
from ...randomness.thresholds import threshold
from ..codecs import PackedBits
from ..known.variation_ratio import VariationRatio
from ..laws import independent
from ..parameters import real, whole
from .base import MultiMessage, Rates


@dataclass(frozen=True, kw_only=True)
class CheuZhilyaev(MultiMessage):
    """Histogram from fake users (Cheu, Zhilyaev, IEEE S&P 2022).

    A message is a row of d bits: the one-hot row of the user's item with every bit flipped with probability f; a
    blanket message is a flipped zero row.  Inputs are one of d items; other bit vectors are not covered.
    Estimate (ones in column v - f (n + m))/(n (1-2f)), variance (n + m) f(1-f)/(n (1-2f))^2.

    Parameters
    ----------
    flip : float in (0, 1/2)
        f, the chance that a bit is flipped.
    d : int >= 2
        Number of items; values are 0, ..., d-1.
    messages : float >= 0
        Blanket rows per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    Only the bits of x0 and x1 matter: four classes, and permutations of the items make all pairs alike.  Paper, Table
    4: p = ((1-f)/f)^2, beta = 1-2f, q = (1-f)/f.  Every other user's own row contains a blanket row with
    probability f/(1-f), which the blanket bound uses.  Lower bound: the others hold a third item, so their
    rows are blanket rows in both columns (d = 2: all hold x0, and the adversary uses column x1 only).

    Examples
    --------
    >>> CheuZhilyaev(flip=0.25, d=10, messages=1).variation_ratio().q
    3.0
    """

    name = "cheu-zhilyaev"
    _in_words = "Cheu-Zhilyaev histograms of {d:,} items with flip probability {flip!r} and {_blanket_words}"
    serves = ("options",)

    flip: float = real(
        low=0.0, high=0.5, low_open=True, high_open=True, role="flip", hint="flip is the chance that a bit is flipped"
    )
    d: int = whole(low=2, high=10**6, hint="d counts the items")

    #: One blanket row per user: more of them need fewer flips, at about the same error.
    _design = (("messages", 1.0),)

    @property
    def local_epsilon(self) -> float:
        """2 log((1-f)/f): two bits of the user's row change."""
        return 2.0 * (math.log1p(-self.flip) - math.log(self.flip))

    def variation_ratio(self) -> VariationRatio:
        """p = ((1-f)/f)^2, beta = 1-2f, q = (1-f)/f."""
        q = (1.0 - self.flip) / self.flip
        return VariationRatio(p=q * q, beta=1.0 - 2.0 * self.flip, q=q)

    def _pairs(self) -> list[ShuffledPair]:
        f, g = self.flip, 1.0 - self.flip  # bits of (x0, x1): 10, 01, 11, 00
        laws = [g * g, f * f, f * g, f * g], [f * f, g * g, f * g, f * g], [f * g, f * g, f * f, g * g]
        return [ShuffledPair(*laws)]

    @property
    def _own_share(self) -> float:
        return self.flip / (1.0 - self.flip)

    def _own_types(self) -> list[Messages]:
        """Others hold x0, x1 or a third item x*: a row is its bits of (x0, x1), or of (x0, x1, x*)."""
        f, g = self.flip, 1.0 - self.flip
        set_, unset = [g, f], [f, g]  # a bit of an item that is held, and of another one: 1, 0
        first, second = independent(set_, unset), independent(unset, set_)
        types = [Messages(first, second, own, independent(unset, unset)) for own in (first, second)]
        if self.d > 2:
            types.append(Messages(*(independent(*(set_ if i == k else unset for i in range(3))) for k in range(4))))
        return types

    def _dataset(self) -> tuple[list[ShuffledPair], Callable[[int], Count]]:
        """The others hold a third item: all their rows hide the victim."""

        def rows(n: int) -> Count:
            sent = self._blankets(n)
            return sent._replace(fixed=sent.fixed + n - 1)

        f = self.flip
        column = ShuffledPair(P0=[f, 1.0 - f], P1=[1.0 - f, f], t=[f, 1.0 - f])
        return (self._pairs() if self.d > 2 else both_directions(column)), rows

    @property
    def _rates(self) -> Rates:
        return Rates(1.0 - self.flip, self.flip, self.flip)

    @property
    def codec(self) -> PackedBits:
        """A row of d bits."""
        return PackedBits(self.d, scratch=self._scratch(16 + 4 * ((self.d + 7) // 8)))

    def _sum_variance(self, n: int, items: Array, share: Array) -> FloatArray:
        """Bits are flipped independently."""
        return np.asarray(items * self.variance(n) + 0.0 * share)

    @property
    def _portable_own(self) -> dict[str, Any]:
        one, zero = threshold(1 - Fraction(self.flip)), threshold(self.flip)
        return {"kind": "bits", "size": self.d, "one": one, "zero": zero}

    @property
    def _portable_dummy(self) -> dict[str, Any]:
        return {**self._portable_own, "one": threshold(self.flip)}

    def _own(self, values: Array, src: Source) -> Array:
        rows = self._noise(len(values), src)
        flip_bits(rows, values)
        return rows

    def _noise(self, size: int, src: Source) -> Array:
        return noise_rows(src, self.flip, size, self.d)
