"""pureDUMP: the value itself among uniform dummy points; and what it shares with mixDUMP and balls into bins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...estimation.moments import Moments
from ...numerics.pair import FloatArray, ShuffledPair
from ...randomness.sampling import Array, Source, below
from ..codecs import Category
from ..known.variation_ratio import VariationRatio
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
    def _rates(self) -> Rates:
        """Of a value that is sent as it is."""
        return Rates(1.0, 0.0, 1.0 / self.d)

    def _pairs(self) -> list[ShuffledPair]:
        """The same: only the two values matter, which blanket messages hit equally often."""
        noise = self._rates.noise
        return [ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[noise, noise])]

    def _sum_variance(self, n: int, items: Array, share: Array) -> FloatArray:
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


@dataclass(frozen=True, kw_only=True)
class PureDump(Dump):
    """pureDUMP: the value itself among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value; a blanket message is uniform on [d].  Estimate (count - m/d)/n, variance
    m (1/d)(1-1/d)/n^2.

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    Symbols {x0}, {x1}; permutations of the options make all pairs alike.  The others' values are known in the worst
    case and are subtracted, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1, q = d.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> float(sdp.profile(PureDump(d=4, messages=0.5), n=200, epsilon=1.0).round(7))
    7.48e-05
    """

    name = "pure-dump"
    _in_words = "pureDUMP on {d:,} options with {_blanket_words}"

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d."""
        return VariationRatio(p=math.inf, beta=1.0, q=float(self.d))

    def _own(self, values: Array, src: Source) -> Array:
        return values
