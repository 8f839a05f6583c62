"""Families when each of the other users takes part with some probability only, independently of everything else.

Let U ~ Bin(n-1, chance) of the others take part.  U says nothing about the victim, so the divergence before the
batch is seen is E_U[delta(U + 1 users)].  For a shuffled pair this is exact and needs no sum: t becomes chance * t.

A user who sends several blanket messages sends all of them or none.  Thinning every message on its own would have the
same mean with less spread, and delta would come out too small; so the number of messages is a mixture over U here,
unless a user sends at most one.  delta falls with U, so U may be rounded down (upper bound) or up (lower bound).

A lower bound must not tell the adversary more than it sees.  E_U[delta(U + 1 users)] is the truth only if the batch
reveals U.  It does if every user sends the same number of messages; elsewhere no lower bound is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError
from ..bisect import smallest_whole
from ..evaluators.choose import Side
from ..pair import FloatArray, ShuffledPair
from .base import Answer, Family
from .message_counts import UNLIMITED, Count, Distribution, Ints, bucket_masses, edges
from .mixture import MixtureSet, Piece, pieces

#: Where a random number of users is cut in two: probability of the low part, as a share of delta or on its own.
_SHARES = (0.3, 0.03, 0.003)
_TAILS = 10.0 ** -np.arange(1.0, 17.0, 1.5)
#: Probability of the low part that a lower bound keeps.
_KEPT = (0.6, 0.9, 0.99)


class Blend(NamedTuple):
    """A mixture of counts: ``counts[i]`` with probability ``masses[i]``; it has what :func:`edges` needs."""

    masses: FloatArray
    counts: Sequence[Count]

    @property
    def least(self) -> int:
        """The smallest value."""
        return min(c.least for c in self.counts)

    @property
    def top(self) -> int:
        """The largest value considered."""
        return max(c.top for c in self.counts)

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.masses @ np.array([c.mean for c in self.counts]))

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        means, spreads = (np.array([getattr(c, x) for c in self.counts]) for x in ("mean", "deviation"))
        return math.sqrt(float(self.masses @ (spreads**2 + (means - self.mean) ** 2)))

    def distribution(self, side: Side) -> Callable[[Ints], FloatArray]:
        """Pr[number <= k], bounded on the side's safe side; each count once, since they are costly."""
        laws = [Distribution(c, up=side == "upper") for c in self.counts]
        return lambda k: np.asarray(self.masses @ np.stack([law.at(k) for law in laws]))


def present(n: int, chance: float, count: Callable[[int], Count], side: Side, tol: float) -> Count | Blend:
    """The number of messages of the victim and of those of n - 1 others who take part; count(u) is that of u users.

    Where every user sends at most one message the law is a Count again, exactly; else U is rounded to bucket edges.
    """
    own, all_ = count(1), count(n)
    if side == "lower" and all_.simplified().parts:
        raise BoundNotApplicableError(
            "no lower bound is known for participation below 1 where users send a random number of messages, since the "
            "batch does not show how many users took part; ask for the upper side."
        )
    others = tuple((s if s == UNLIMITED else s - t, c) for (s, c), (t, _) in zip(all_.parts, own.parts, strict=True))
    live = [s for s, c in others if c > 0.0 and s != 0]
    if UNLIMITED not in live and all_.fixed - own.fixed + sum(live) <= n - 1:
        sent = tuple((s, c * chance) for s, c in others)
        return Count(own.fixed, (*own.parts, *sent, (all_.fixed - own.fixed, chance)))
    users = Count(0, ((n - 1, chance),))
    at = edges(users, tol)
    masses = bucket_masses(Distribution(users, up=side == "upper").at, at, side)
    kept = np.flatnonzero(masses > 0.0)
    return Blend(masses[kept], [count(int(at[i]) + 1).simplified() for i in kept])


def blended(pair: ShuffledPair, law: Count | Blend, side: Side, tol: float) -> list[Piece]:
    """The pair among a random number of messages, as a mixture over fixed numbers of them."""
    if isinstance(law, Count):
        return pieces(pair, law, side, tol)
    at = edges(law, tol)
    mass = bucket_masses(law.distribution(side), at, side)
    return [Piece(float(w), pair, int(m) + 1) for w, m in zip(mass, at, strict=True) if w > 0.0]


def present_among(pairs: Sequence[ShuffledPair], count: Callable[[int], Count], chance: float) -> MixtureSet:
    """Every one of these pairs among the messages of the victim and of the others who take part.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
    >>> some, all_ = (present_among([coin], lambda n: Count(3 * n), chance) for chance in (0.5, 1.0))
    >>> [round(f.epsilon(n=500, delta=1e-6, tol=1e-3, side="upper").epsilon, 2) for f in (some, all_)]
    [0.29, 0.2]
    """

    def make(n: int, side: Side, tol: float) -> list[list[Piece]]:
        law = present(n, chance, count, side, tol)
        return [blended(r, law, side, tol) for r in pairs]

    return MixtureSet(make)


class Split:
    """A family among a random number M of other messages, by splitting that number in two.

    delta = E_M[delta(M + 1)] falls with M, so for every k

        Pr[M <= k] delta(k + 1)  <=  delta  <=  Pr[M < k] + delta(k + 1).

    Several k are tried and the best is taken.  For families that cannot be mixed piece by piece.
    """

    def __init__(self, family: Family, count: Callable[[int], Count]) -> None:
        self._family = family
        self._count = count

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The best eps over the splits."""
        law = self._count(n).simplified()
        below = Distribution(law, up=side == "upper")
        found = []
        if side == "upper":
            for share in _SHARES:
                k, lost = _cut(law, below, share * delta)
                left = (delta - lost) * (1.0 - 1e-12)
                found.append(self._family.epsilon(n=k + 1, delta=left, tol=tol, side=side))
            return min(found)
        for share in _KEPT:
            k = _cut(law, below, share)[0]
            kept = float(below.at(np.array([k]))[0])
            if delta < kept:
                wanted = delta / kept * (1.0 + 1e-12)
                found.append(self._family.epsilon(n=k + 1, delta=min(wanted, 1.0 - 1e-16), tol=tol, side=side))
        return max(found, default=Answer(0.0, 0, 0))

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The best log delta over the splits, for every eps."""
        law = self._count(n).simplified()
        below = Distribution(law, up=side == "upper")
        best = np.full(eps.shape, np.inf if side == "upper" else -np.inf)
        for share in _TAILS if side == "upper" else _KEPT:
            k, lost = _cut(law, below, share)
            value = self._family.log_delta(eps, n=k + 1, tol=tol, side=side)
            if side == "upper":
                best = np.minimum(best, np.logaddexp(value, math.log(lost) if lost > 0.0 else -np.inf) + 1e-14)
            else:
                kept = float(below.at(np.array([k]))[0])
                best = np.maximum(best, value + math.log(kept) - 1e-14) if kept > 0.0 else best
        return best

    def pairs(self, most: int) -> None:
        """None: the number of messages is random."""
        return None


class Sides:
    """A family for upper bounds and another one for lower bounds."""

    def __init__(self, upper: Family, lower: Family) -> None:
        self._of: dict[Side, Family] = {"upper": upper, "lower": lower}

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The answer of this side's family."""
        return self._of[side].epsilon(n=n, delta=delta, tol=tol, side=side)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The answer of this side's family."""
        return self._of[side].log_delta(eps, n=n, tol=tol, side=side)

    def pairs(self, most: int) -> None:
        """None: the two sides have different shuffled pairs."""
        return None


class Best:
    """Two analyses of the same mechanism: the smaller upper bound, the larger lower bound."""

    def __init__(self, first: Family, second: Family) -> None:
        self._both = (first, second)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The better eps."""
        found = [f.epsilon(n=n, delta=delta, tol=tol, side=side) for f in self._both]
        return min(found) if side == "upper" else max(found)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The better log delta, for every eps."""
        found = [f.log_delta(eps, n=n, tol=tol, side=side) for f in self._both]
        return np.minimum(*found) if side == "upper" else np.maximum(*found)

    def pairs(self, most: int) -> None:
        """None: a certificate needs one analysis."""
        return None


def _cut(law: Count, below: Distribution, share: float) -> tuple[int, float]:
    """The largest k with (the bound on) Pr[M < k] <= share, and that bound."""

    def lost(k: int) -> float:
        return float(below.at(np.array([k - 1]))[0]) if k > law.least else 0.0

    beyond = smallest_whole(
        lambda k: -1.0 if lost(k) > share else 1.0, low=law.least, high=law.top, start=int(law.mean)
    )
    largest = law.top if beyond is None else beyond - 1
    return largest, lost(largest)
