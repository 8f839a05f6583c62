"""One ordered pair of the victim's values among others of several types: what the swap bound is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError
from .. import tuning
from ..curve import Values
from ..family import EVERY, Family
from ..pair import TINY, FloatArray, IntArray, ShuffledPair, mass_slack
from ..rows import ULP, Laws, law_shift, pad, take_rows

#: Laws for any number of users: no symbol is rare among this many.
_ANY_NUMBER = 1e300


@dataclass(frozen=True, eq=False)
class TypeTable:
    """Many types as arrays (type, symbol), padded with zeros: the victim's two laws and t.

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
        return cls(
            *(pad([np.asarray(law) for law in laws]) for laws in zip(*((p.P0, p.P1, p.t) for p in types), strict=True))
        )

    def __len__(self) -> int:
        return len(self.t)

    def pair(self, row: int) -> ShuffledPair:
        """One type; symbols that nobody sends are left out."""
        live = (self.P0[row] > 0.0) | (self.P1[row] > 0.0) | (self.t[row] > 0.0)
        return ShuffledPair(P0=self.P0[row, live], P1=self.P1[row, live], t=self.t[row, live])

    @property
    def laws(self) -> Laws:
        """X of every type, with t rounded down; symbols of equal X are not merged."""
        live = (self.P0 > 0.0) | (self.P1 > 0.0)
        hidden = live & (self.t > TINY)
        alone = live & ~hidden
        factor = 1.0 - mass_slack(self.t.shape[1])
        per, gap = np.where(hidden, factor * self.t, np.inf), self.P0 - self.P1
        bare, bare1 = (np.where(alone, law, 0.0)[:, alone.any(axis=0)] for law in (gap, self.P1))
        every = np.full(len(self), _ANY_NUMBER)
        return Laws(gap / per, self.P1 / per, np.where(hidden, factor * self.t, 0.0), bare, bare1, every, every)


@dataclass(frozen=True)
class SwapPair:
    """One ordered pair of the victim's values, and every type that another user may be.

    Attributes
    ----------
    types : shuffled pairs, one per type
        P0 and P1 are the victim's laws, t is the law of a user of this type (or a part of that law).  Each type may
        merge symbols differently, as long as merged symbols agree in P0/t and P1/t.
    common_mass : float in [0, 1]
        Mass of a part that the laws of all types share; it need not be the largest such part.
    victim : ShuffledPair, optional
        The victim's message by itself, where it reveals more than P0 and P1 of the types do.
    more : function that makes a TypeTable, optional
        Further types.  They may belong to other victim pairs, or to none, provided that some type dominates the law of
        every user's slot in convex order, and that no victim pair by itself reveals more than ``types`` do.
    slack : float
        How far rounding may have moved eps and log delta where laws were multiplied.
    """

    types: tuple[ShuffledPair, ...]
    common_mass: float
    victim: ShuffledPair | None = None
    more: Callable[[], TypeTable] | None = None
    slack: float = 0.0

    @property
    def alone(self) -> tuple[ShuffledPair, ...]:
        """The laws of the victim's message by itself."""
        return self.types if self.victim is None else (self.victim,)

    @cached_property
    def limit(self) -> float:
        """The eps from which delta is 0, whatever the others do."""
        return max(pair.limit for pair in self.alone)

    @cached_property
    def further(self) -> Laws | None:
        """X of the further types, one row each."""
        return None if self.more is None else self.more().laws

    @cached_property
    def local(self) -> tuple[FloatArray, FloatArray]:
        """P0 - P1 and P1 of the victim's distinct pairs: (pair, symbol)."""
        laws = ((np.asarray(pair.P0), np.asarray(pair.P1)) for pair in self.alone)
        distinct = {(p0.tobytes(), p1.tobytes()): (p0 - p1, p1) for p0, p1 in laws}
        gap, p1 = zip(*distinct.values(), strict=True)
        return pad(gap), pad(p1)


def among(types: Sequence[ShuffledPair], blanket: Family) -> SwapPair:
    """One victim pair among these types, whose laws share at least the blanket."""
    covered = blanket.pairs(EVERY)
    if not types or not covered:
        raise BoundNotApplicableError("the swap bound needs a shuffled pair for every type; use bound='blanket'.")
    return SwapPair(tuple(types), min(common_mass(pair) for pair in covered))


def common_mass(pair: ShuffledPair) -> float:
    """The mass of t, rounded down: of the common part, for a pair over the blanket."""
    return float(np.sum(pair.t)) * (1.0 - mass_slack(np.size(pair.t)))


class Members(NamedTuple):
    """Distinct victim pairs, with all their types in one table; rows of a curve refer to them by number."""

    laws: Laws
    start: IntArray
    types: IntArray  # how many each has
    beta: FloatArray
    limit: FloatArray
    floor: FloatArray
    slack: FloatArray
    gap: FloatArray  # P0 - P1 of the victim alone: (member, pair, symbol)
    p1: FloatArray
    spread: FloatArray  # by type
    fewest_free: FloatArray  # up to this many expected free users the bound is the local delta

    @classmethod
    def of(cls, members: Sequence[SwapPair]) -> Members:
        """One table of all members, whose listed types are looked up in one call."""
        types = [pair for member in members for pair in member.types]
        laws = Laws.of(types, np.full(len(types), _ANY_NUMBER), "upper")
        owner = np.repeat(np.arange(len(members)), [len(member.types) for member in members])
        further = {i: member.further for i, member in enumerate(members) if member.further is not None}
        if further:  # right after the listed types of their member
            owner = np.concatenate([owner, *(np.full(len(table.t), i) for i, table in further.items())])
            order = np.argsort(owner, kind="stable")
            columns = ([row for part in parts for row in part] for parts in zip(laws, *further.values(), strict=True))
            laws, owner = take_rows(Laws(*map(pad, columns)), order), owner[order]
        count = np.bincount(owner)
        start = np.cumsum(count) - count
        mass = np.array([member.common_mass for member in members])
        beta = np.where(mass >= 1.0, 1.0, np.minimum(mass * (1.0 - ULP), 1.0 - 2.0**-53))
        gap, p1 = (pad([member.local[k] for member in members]) for k in (0, 1))
        limit, slack = (np.array(x) for x in zip(*((m.limit, m.slack) for m in members), strict=True))
        alone = np.where(laws.bare1 == 0.0, np.maximum(laws.bare, 0.0), 0.0).sum(axis=1)  # nobody else sends these
        fewest = np.array([tuning.NOBODY_FREE if m.more is None else tuning.FEW_FREE for m in members])
        with np.errstate(over="ignore"):
            spread = (laws.t * laws.gap**2).sum(axis=1)
        floor = np.maximum.reduceat(alone, start)
        return cls(laws, start, count, beta, limit, floor, slack, gap, p1, spread, fewest)

    def local(self, which: IntArray, eps: FloatArray) -> Values:
        """log of what the victim's message reveals by itself, sum (P0 - E P1)_+, rounded up; at most log 1."""
        growth = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), "upper"))[:, None, None]
        p1 = self.p1[which]
        excess = np.maximum(self.gap[which] - growth * p1, 0.0)
        total = excess.sum(axis=2)
        worst = np.arange(eps.size), total.argmax(axis=1)
        slope = np.exp(eps) * np.where(excess[worst] > 0.0, p1[worst], 0.0).sum(axis=1) / total[worst]
        return Values(np.log(np.minimum(total[worst], 1.0)) + 1e-12, np.where(np.isfinite(slope), slope, 1.0))


def ranges(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """start_i, ..., start_i + count_i - 1 for every i in turn; which i each belongs to; and where those of i begin.

    Examples
    --------
    >>> [x.tolist() for x in ranges(np.array([5, 0]), np.array([2, 3]))]
    [[5, 6, 0, 1, 2], [0, 0, 1, 1, 1], [0, 2]]
    """
    owner = np.repeat(np.arange(count.size), count)
    first = np.cumsum(count) - count
    return np.arange(owner.size) + (start - first)[owner], owner, first


def largest_of(value: FloatArray, owner: IntArray, most: int) -> IntArray:
    """The places of the ``most`` largest values of every owner; the owners are in order."""
    order = np.lexsort((-value, owner))
    return np.asarray(order[np.arange(order.size) - np.searchsorted(owner, owner) < most])
