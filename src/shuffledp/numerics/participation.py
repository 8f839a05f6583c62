"""Families where each of the other users takes part with some probability, independently of everything else.

Let U ~ Bin(n-1, chance) of the others take part.  U says nothing about the victim, so the divergence before the
batch is seen is E_U[delta(U + 1 users)].  For a shuffled pair this is exact and needs no sum: t becomes chance * t.
Where users send several messages, see counts.present.

A lower bound must not show the adversary more than the batch does.  E_U[delta(U + 1 users)] is the truth only if the
batch reveals U.  It does if every user sends the same number of messages; otherwise no lower bound is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from ..errors import BoundNotApplicableError
from .counts import UNSEEN_USERS, Count, Distribution
from .family import Answer, Asked, Family, better, epsilons, log_deltas
from .ledger import charge
from .pair import FloatArray, Side
from .rows import numbered
from .search import smallest_whole

#: Where a random number of users is cut in two: the probability of the low part, as a share of delta, or itself.
_SHARES = (0.3, 0.03, 0.003)
_TAILS = tuple((10.0 ** -np.arange(1.0, 17.0, 1.5)).tolist())
#: Probability of the low part that a lower bound keeps.
_KEPT = (0.6, 0.9, 0.99)


class Cut(NamedTuple):
    """A number k of others at which M is cut in two, and bounds on Pr[M < k] (upper) or Pr[M <= k] (lower)."""

    k: int
    mass: float


class Split(Family):
    """A family among a random number M of other messages, by splitting that number in two.

    This is for families that cannot be mixed piece by piece.  Several cuts k are tried, and the best counts
    (:func:`log_delta_with_cut`).  ``shown`` says whether the batch shows M; if not, there is no lower bound.

    Examples
    --------
    >>> from .family import PairSet
    >>> from .pair import ShuffledPair
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> half = Split.of_users(coin, 0.5)
    >>> [round(f.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3) for f in (half, coin.thinned(0.5))]
    [0.27, 0.245]
    """

    def __init__(self, family: Family, count: Callable[[int], Count], *, shown: bool = True) -> None:
        self._family, self._count, self._shown = family, count, shown

    @classmethod
    def of_users(cls, family: Family, chance: float, *, shown: bool = True) -> Family:
        """The family where each of the others takes part with this probability, with all of its messages or none."""
        return family if chance == 1.0 else cls(family, lambda n: Count(0, ((n - 1, chance),)), shown=shown)

    def _cuts(self, n: int, shares: Sequence[float], side: Side) -> list[Cut]:
        """For each share the largest k whose bound on Pr[M < k] is at most that share."""
        if side == "lower" and not self._shown:
            raise BoundNotApplicableError(UNSEEN_USERS)
        law = self._count(n).simplified()
        below = Distribution(law, up=side == "upper")

        def upto(k: int) -> float:
            return float(below.at(np.array([k]))[0]) if k >= law.least else 0.0

        def largest(share: float) -> int:
            beyond = smallest_whole(
                lambda k: -1.0 if upto(k - 1) > share else 1.0, low=law.least, high=law.top, start=int(law.mean)
            )
            return law.top if beyond is None else beyond - 1

        return [Cut(k, upto(k - 1 if side == "upper" else k)) for k in map(largest, shares)]

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """The best eps over the cuts, all of them rows of one call."""
        owner, cuts, side = [], [], asked.side
        for i, (family, users, delta) in enumerate(zip(families, asked.n.tolist(), asked.at.tolist(), strict=True)):
            shares = [share * delta for share in _SHARES] if side == "upper" else list(_KEPT)
            made = [cut for cut in family._cuts(int(users), shares, side) if side == "upper" or delta < cut.mass]
            owner += [i] * len(made)
            cuts += made
        users, mass = np.array([cut.k + 1.0 for cut in cuts]), np.array([cut.mass for cut in cuts])
        inner = asked.take(np.array(owner, dtype=np.int64))
        inner = inner._replace(n=users, at=delta_left(inner.at, mass, side))
        best = [Answer(np.inf if side == "upper" else 0.0, 0, 0)] * len(families)
        for i, answer in zip(owner, epsilons([families[i]._family for i in owner], inner), strict=True):
            if better(answer.epsilon, best[i].epsilon, side):
                best[i] = answer
        return best

    @classmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """The best log delta over the cuts, all of them rows of one call."""
        side, shares = asked.side, _TAILS if asked.side == "upper" else _KEPT
        first, which = numbered([(id(family), users) for family, users in zip(families, asked.n.tolist(), strict=True)])
        made = [families[i]._cuts(int(asked.n[i]), shares, side) for i in first.tolist()]
        cuts = [cut for w in which.tolist() for cut in made[w]]
        owner = np.repeat(np.arange(len(families)), len(shares))
        users, mass = np.array([cut.k + 1.0 for cut in cuts]), np.array([cut.mass for cut in cuts])
        value = log_deltas([families[i]._family for i in owner.tolist()], asked.take(owner)._replace(n=users))
        table = log_delta_with_cut(value, mass, side).reshape(-1, len(shares))
        return np.asarray(table.min(axis=1) if side == "upper" else table.max(axis=1))


@charge("a random number of users that is cut in two", "docs/proofs.md, Lemma 15")
@np.errstate(divide="ignore")
def log_delta_with_cut(value: FloatArray, mass: FloatArray, side: Side) -> FloatArray:
    """log delta among M others from log delta(k + 1) = ``value``: delta = E_M[delta(M + 1)] falls with M, so

    Pr[M <= k] delta(k + 1)  <=  delta  <=  Pr[M < k] + delta(k + 1).
    """
    if side == "upper":
        return np.asarray(np.logaddexp(value, np.log(mass)) + 1e-14)
    return np.asarray(value + np.log(mass) - 1e-14)


@charge("the share of delta that is spent on a cut", "docs/proofs.md, Lemma 15")
def delta_left(delta: FloatArray, mass: FloatArray, side: Side) -> FloatArray:
    """The delta(k + 1) for which the inequality of :func:`log_delta_with_cut` gives delta, on the private side."""
    if side == "upper":
        return np.asarray((delta - mass) * (1.0 - 1e-12))
    return np.minimum(delta / mass * (1.0 + 1e-12), 1.0 - 1e-16)
