"""mixDUMP: a value by randomized response among uniform dummy points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BoundNotApplicableError
from ...numerics.counts import Count
from ...numerics.family import Family
from ...numerics.mixture import MixtureSet, Piece
from ...numerics.pair import ShuffledPair, Side
from ...randomness.sampling import Array, Source, below, bernoulli, pick
from ..known.variation_ratio import VariationRatio
from ..parameters import real
from .base import Rates
from .coin_pieces import coin_pieces
from .dump import Dump


@dataclass(frozen=True, kw_only=True)
class MixDump(Dump):
    """mixDUMP: a value by randomized response among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value with probability 1-f and any other with probability b = f/(d-1); a blanket message is
    uniform on [d].  Estimate (count - m/d - n b)/(n (1-f-b)).

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    flip : float in (0, (d-1)/d)
        f, the chance that a user sends another value.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    Symbols {x0}, {x1}, {the others}; permutations of the options make all pairs alike.  Paper, Table 4: p =
    (1-f)(d-1)/f, beta = 1-f-b, q = (1-f) d.  Every other user's own message is uniform with probability d b, so
    the blanket bound has m + Bin(n-1, d b) uniform messages.  Lower bound: the others hold a third value (d >= 3)
    and the adversary uses only the counts of x0 and x1 (:func:`~.coin_pieces.coin_pieces`).

    Examples
    --------
    >>> round(MixDump(d=5, flip=0.1, messages=1).local_epsilon, 4)
    3.5835
    """

    name = "mix-dump"
    _in_words = "mixDUMP on {d:,} options with flip probability {flip!r} and {_blanket_words}"
    _published_law_exact = True

    flip: float = real(
        low=1e-12,
        high=lambda m: (m.d - 1) / m.d,
        high_open=True,
        role="flip",
        hint="flip = 0 is pure-dump, and from (d-1)/d on a report says nothing about the value",
    )

    @classmethod
    def _designs(cls, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        """More flips leave more of a local guarantee and need fewer dummy points."""
        return [{**given, "flip": flip} for given in super()._designs(sizes) for flip in (0.01,)]

    @property
    def _stray(self) -> float:
        return self.flip / (self.d - 1)

    @property
    def local_epsilon(self) -> float:
        """log((1-f)(d-1)/f)."""
        return math.log1p(-self.flip) - math.log(self._stray)

    def variation_ratio(self) -> VariationRatio:
        """p = (1-f)(d-1)/f, beta = 1-f-f/(d-1), q = (1-f) d."""
        keep = 1.0 - self.flip
        return VariationRatio(p=keep / self._stray, beta=keep - self._stray, q=keep * self.d)

    def _pairs(self) -> list[ShuffledPair]:
        keep, stray, more = 1.0 - self.flip, self._stray, self.d - 2
        t = [1.0 / self.d, 1.0 / self.d, more / self.d]
        return [ShuffledPair(P0=[keep, stray, more * stray], P1=[stray, keep, more * stray], t=t)]

    @property
    def _own_share(self) -> float:
        return self.d * self._stray

    def _constant_datasets(self) -> Family:
        """The others hold a third value: they send x0 and x1 equally often."""
        if self.d == 2:
            raise BoundNotApplicableError(
                "mix-dump with d = 2 has no third value for the others to hold, so no lower bound of it is known."
            )

        def make(n: int, side: Side, tol: float) -> list[tuple[Piece, ...]]:
            pair = Count(0, ((n - 1, 2.0 * self._stray),))
            dummies = self._blankets(n).thinned(2.0 / self.d)
            hits = Count(0, (*dummies.parts, *pair.parts)).simplified()
            return [coin_pieces(hits, 1.0 - self.flip, self._stray, (self.d - 2) * self._stray, tol)]

        return MixtureSet(make)

    def _two_counts(self) -> Family:
        """The constant datasets, which use only two counts already."""
        return self.law.constant_datasets()

    @property
    def _rates(self) -> Rates:
        return Rates(1.0 - self.flip, self._stray, 1.0 / self.d)

    def _own(self, values: Array, src: Source) -> Array:
        lie = bernoulli(src, self._own_share, len(values))
        return pick(lie, below(src, self.d, len(values)).astype(values.dtype, copy=False), values)
