"""Balls into bins: a random special bin of one's item among uniform bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...randomness.sampling import Array, Source, below
from ..known.variation_ratio import VariationRatio
from ..parameters import whole
from .base import Rates
from .pure_dump import Dump


@dataclass(frozen=True, kw_only=True)
class BallsIntoBins(Dump):
    """Balls into bins (after Luo, Wang, Yi, CCS 2022): a random special bin of one's item, and uniform bins.

    Each item has s special bins of d.  A user sends a uniformly random special bin of its item; a blanket message is
    a uniformly random bin.  Here item x owns the bins x s, ..., x s + s - 1, so there are floor(d/s) items.
    Estimate (hits - m s/d)/n, variance m (s/d)(1-s/d)/n^2.

    Parameters
    ----------
    d : int
        Number of bins, at least 2s.
    special : int >= 1
        s, special bins of each item.
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    X takes d/s and -E d/s with probability s/d each.  This covers any choice of s special bins per item, such as the
    hashed bins of Luo et al. (d/s = number of hash values): moving the overlap of two sets apart replaces the values
    (1-E) d/s and 0, equally likely, by d/s and -E d/s, a mean-preserving spread.  With disjoint bins the others'
    own messages are recognized by their block, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1,
    q = d/s.

    Examples
    --------
    >>> BallsIntoBins(d=12, special=3, messages=2).variation_ratio().q
    4.0
    """

    name = "balls-into-bins"
    _in_words = "balls into {d:,} bins, {special:,} of them special to each item, and {_blanket_words}"
    serves = ("hashed bins",)  # with blocks of bins of their own, items gain nothing by more

    d: int = whole(low=2, high=2**32, hint="d counts the bins")
    special: int = whole(low=1, high=lambda m: m.d // 2, hint="two items need 2 * special <= d bins")

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d/s."""
        return VariationRatio(p=math.inf, beta=1.0, q=self.d / self.special)

    @property
    def _items(self) -> int:
        return self.d // self.special

    @property
    def _rates(self) -> Rates:
        return Rates(1.0, 0.0, self.special / self.d)

    @property
    def _portable_own(self) -> dict[str, Any]:
        return {"kind": "block", "size": self.special}

    def _own(self, values: Array, src: Source) -> Array:
        wide = self.codec.dtype
        first = values.astype(wide) * wide.type(self.special)
        return np.asarray(first + below(src, self.special, len(values)).astype(wide))

    def _hits(self, data: Array) -> Array:
        return np.asarray(np.bincount(data // self.special, minlength=self._items)[: self._items])
