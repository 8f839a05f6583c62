"""One ordered pair of the victim's values among others of several types: what the swap bound is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError
from ..pair import Atoms, FloatArray, ShuffledPair, mass_slack
from .base import EVERY, Family

#: Expected number of others who send a symbol below which it counts as never sent, if its ratio is above n times that.
RARE, _SWAMPS = 1e-7, 1e3


@dataclass(frozen=True)
class SwapPair:
    """One ordered pair of the victim's values, and every type that another user may be.

    Attributes
    ----------
    types : shuffled pairs, one per type
        P0 and P1 are the victim's laws, t is the law of a user of this type (or a part of it).  Symbols may be merged
        differently from type to type, as long as P0/t and P1/t of merged symbols agree.
    common_mass : float in [0, 1]
        Mass of a part that the laws of all types share; it may be smaller than the largest possible one.
    alone : ShuffledPair, optional
        The victim's message by itself, where P0 and P1 of the types are less telling than it.
    """

    types: tuple[ShuffledPair, ...]
    common_mass: float
    alone: ShuffledPair | None = None

    def thinned(self, chance: float) -> SwapPair:
        """Others take part with this probability: an absent user sends "nothing", which all types share."""
        common = 1.0 - chance + chance * self.common_mass
        return SwapPair(tuple(p.thinned(chance) for p in self.types), common, self.alone)

    @property
    def max_ratio(self) -> float:
        """sup P0/P1 of the victim."""
        return max(pair.max_ratio for pair in (self.types if self.alone is None else (self.alone,)))

    @property
    def floor(self) -> float:
        """What the victim's symbols that others of one type never send reveal at every eps."""
        return max(float(atoms.zero0[atoms.zero1 == 0.0].sum()) for atoms in self.laws.exposed)

    @cached_property
    def victim(self) -> Laws | None:
        """The victim's message by itself, where the types do not show it."""
        return None if self.alone is None else Laws.of([self.alone.shrunk])

    @cached_property
    def laws(self) -> Laws:
        """Every type's X, with its masses rounded down."""
        return Laws.of([pair.shrunk for pair in self.types])


def among(types: Sequence[ShuffledPair], blanket: Family) -> SwapPair:
    """One victim pair among these types, whose laws share at least the blanket."""
    covered = blanket.pairs(EVERY)
    if not types or not covered:
        raise BoundNotApplicableError("the swap bound needs a shuffled pair for every type; use bound='blanket'.")
    return SwapPair(tuple(types), min(common_mass(pair) for pair in covered))


def common_mass(pair: ShuffledPair) -> float:
    """The mass of t, rounded down: of the common part, for a pair over the blanket."""
    return float(np.sum(pair.t)) * (1.0 - mass_slack(np.size(pair.t)))


class Laws(NamedTuple):
    """The laws of X of all types, filled up with symbols of no mass to one width: (type, symbol)."""

    gap: FloatArray
    v: FloatArray
    ratio: FloatArray
    t: FloatArray
    #: with the symbols of every type that nobody else sends; nothing where there are none
    exposed: Sequence[Atoms]

    @classmethod
    def of(cls, atoms: Sequence[Atoms]) -> Laws:
        """One row per type."""
        width = max(a.t.size for a in atoms)
        gap, v, ratio, t = (np.zeros((len(atoms), max(width, 1))) for _ in range(4))
        for k, a in enumerate(atoms):
            gap[k, : a.t.size], v[k, : a.t.size], t[k, : a.t.size] = a.gap, a.v, a.t
            ratio[k, : a.t.size] = np.maximum(a.u, a.v)
        return cls(gap, v, ratio, t, atoms)

    def at(self, eps: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X and its masses (eps, type, symbol), and the mass that is exposed (eps, type).

        A symbol that others almost never send, and that would swamp the law, counts as never sent: a part of a law is
        as good as the law.
        """
        growth = np.expm1(eps)[:, None, None]
        x = self.gap - growth * self.v
        alone = np.zeros((eps.size, len(self.t)))
        for k, a in enumerate(self.exposed):
            if a.zero0.size:
                alone[:, k] = a.exposed(eps)
        rare = (n * self.t < RARE) & (self.ratio > _SWAMPS * n)
        t = np.where(rare, 0.0, self.t)
        if rare.any():
            alone = alone + (np.maximum(x, 0.0) * (self.t - t)).sum(axis=2)
            x = np.where(rare, 0.0, x)
        return x, np.broadcast_to(t, x.shape), alone
