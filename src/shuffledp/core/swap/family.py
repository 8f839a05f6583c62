"""Families of the swap bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ...errors import BoundNotApplicableError
from ..family import Listed, Rows
from ..pair import FloatArray, Side
from .curve import SwapCurve
from .pair import SwapPair


class SwapSet(Listed):
    """The largest swap bound over some ordered victim pairs.

    Examples
    --------
    >>> from shuffledp.core.pair import ShuffledPair
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])
    >>> both = SwapSet([SwapPair((coin, coin.swapped()), 0.5)])
    >>> round(both.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.142
    """

    def __init__(self, members: Sequence[SwapPair]) -> None:
        self._members = tuple(members)

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per victim pair."""
        only_upper(side)
        members = [family._members for family in families]
        owner = np.repeat(np.arange(n.size), [len(part) for part in members])
        return Rows(owner, SwapCurve.of([member for part in members for member in part], n[owner], tol))

    def members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return self if chance == 1.0 else SwapSet([member.thinned(chance) for member in self._members])


def only_upper(side: Side) -> None:
    """The swap bound says nothing from below."""
    if side != "upper":
        raise BoundNotApplicableError("the swap bound is an upper bound; take the lower one from constant datasets.")
