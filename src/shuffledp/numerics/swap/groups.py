"""The swap bound for protocols with blanket messages, in which the others' own messages hide the victim too.

Put the own message of another user and k blanket messages into a *group*, of which the adversary sees the multiset.
Let t be the law of a blanket message, R_x that of an own message, and w t <= R_x for all x.  Then an own message is,
for any value of its sender, a draw of t with probability w; a blanket message always is one.  Inspect the groups in
random order: with probability a the own message, which is free with probability w, else one of the blanket messages,
which is free.  So a group is free with probability beta = 1 - a (1-w).  Exchanging the victim's message for the free
one puts it beside k blanket messages, with probability alpha = a w/beta, or else beside the own message and k-1 blanket
messages.  The proof of Theorem 1 (docs/swap.md) then holds with groups in place of users: a user is a group of type x,

    law of a group      G_x = sym(R_x, t, ..., t)
    with the victim's   alpha sym(P, t, ..., t) + (1-alpha) sym(P, R_x, t, ..., t),

where sym is the law of the multiset of independent messages.  With u = P0/t and s = R_x/t, and sums over the k+1
messages of a group, the ratio of the first law to t^(k+1) is (sum s)/(k+1); that of the second, for P0, is [alpha sum u
+ (1-alpha)/k sum_{i != j} u_i s_j]/(k+1).  Every alpha is sound; it is chosen by the variance.  Blanket messages that
are left over form groups of k+1 of them (R_x = t).  The last term of Theorem 1 is still that of the victim's own
message.

Labels are hidden within a group but not between groups: larger groups give a sharper bound, with more symbols.

If the number of blanket messages is random, delta is the mean over that number, which may be rounded down.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np

from ..counts import Count, buckets
from ..family import Listed, Rows
from ..ledger import charge
from ..pair import TINY, FloatArray, IntArray, ShuffledPair, Side
from ..rows import numbered
from .curve import SwapCurve, dither_for
from .family import only_upper
from .pair import Members, SwapPair
from .waiting import Others

#: The most distinct multisets of a group.
_MOST_SYMBOLS = 800
#: The most blanket messages in a group.
_MOST_MESSAGES = 6
#: The alphas that are tried.
_SHARES = np.linspace(0.0, 1.0, 9)
#: The number of messages is rounded for no finer accuracy than this: each number costs a sum.
_ROUNDING = 3e-3


class Messages(NamedTuple):
    """The laws for others of one type: P0 and P1 of the victim, R of the own message, t of a blanket message."""

    P0: FloatArray
    P1: FloatArray
    R: FloatArray
    t: FloatArray


class Group(NamedTuple):
    """The law of a group, and its laws with the victim's message under P0 and P1.

    That message is beside blanket messages only (``alone``), or beside the own message and one blanket message less.
    """

    t: FloatArray
    alone: tuple[FloatArray, FloatArray]
    beside: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, laws: Messages, size: int) -> Group:
        """The group of one own and ``size`` blanket messages."""
        t = np.asarray(laws.t, dtype=np.float64)
        u, v, s = (np.asarray(law) / t for law in laws[:3])
        chosen, times, orders = _multisets(t.size, size + 1)
        mass = orders * np.prod(t[chosen], axis=1) / (size + 1)
        # sum over i != j of u_i s_j without a difference of sums: take one message out, if there is one
        less = np.maximum(times[:, None, :] - np.eye(t.size), 0.0) @ s
        alone = mass * (times @ u), mass * (times @ v)
        beside = mass / size * ((times * less) @ u), mass / size * ((times * less) @ v)
        return cls(mass * (times @ s), alone, beside)

    def spread(self, alpha: FloatArray) -> FloatArray:
        """sum (P0 - P1)^2 / t for every alpha."""
        live = self.t > TINY
        first, second = ((law[0] - law[1])[live] for law in (self.alone, self.beside))
        mixed = alpha[:, None] * first + (1.0 - alpha)[:, None] * second
        return np.asarray((mixed**2 / self.t[live]).sum(axis=1))

    def pair(self, alpha: float) -> ShuffledPair:
        """The group as a type of the swap bound."""
        first, second = (alpha * a + (1.0 - alpha) * b for a, b in zip(self.alone, self.beside, strict=True))
        return ShuffledPair(P0=first, P1=second, t=self.t)


@lru_cache(maxsize=64)
def _multisets(symbols: int, count: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """All multisets: their messages, how often each symbol is in them, and in how many orders they come."""
    chosen = np.array(list(itertools.combinations_with_replacement(range(symbols), count)), dtype=np.int64)
    times = (chosen[:, :, None] == np.arange(symbols)).sum(axis=1)
    factorial = np.array([math.factorial(k) for k in range(count + 1)], dtype=np.float64)
    return chosen, times.astype(np.float64), factorial[count] / np.prod(factorial[times], axis=1)


@charge("rounding of the laws of groups", "docs/proofs.md, Lemma 5")
def group_rounding(messages: int) -> float:
    """How far rounding can move eps, and log delta, of a group of this many messages and three more factors.

    If P0 <= (1 + a) P0' and P1 >= (1 - a) P1', then D_E(P) <= (1 + a) D_E'(P') with E' = E (1 - a)/(1 + a); every
    factor adds a few roundings of 2^-53.
    """
    return (messages + 3) * 2.0**-44


class _Plan(NamedTuple):
    """Groups of one own and ``size`` blanket messages, as a member of the swap bound."""

    size: int
    member: SwapPair
    spread: float

    def groups(self, users: int, messages: IntArray) -> IntArray:
        """How many groups there are beside the victim, those of blanket messages only included."""
        mixed = np.minimum(users - 1, messages // self.size)
        return np.asarray(mixed + (messages - mixed * self.size) // (self.size + 1))


class SwapGroups(Listed):
    """One victim pair among the own messages of every type and ``count(n)`` blanket messages of n users."""

    def __init__(self, types: Sequence[Messages], own_share: float, count: Callable[[int], Count]) -> None:
        """``own_share`` is w: every own message is a draw of t with at least this probability."""
        self._types, self._share, self._count = tuple(types), own_share * (1.0 - 2.0**-46), count

    @cached_property
    def _plans(self) -> list[_Plan]:
        """Groups of every size that is small enough."""
        symbols = max(np.size(laws.t) for laws in self._types)
        sizes = [k for k in range(1, _MOST_MESSAGES + 1) if math.comb(symbols + k, k + 1) <= _MOST_SYMBOLS]
        return [self._plan(k) for k in sizes]

    def _plan(self, size: int) -> _Plan:
        """Groups of this size, with the alpha whose largest spread is smallest."""
        blankets = self._types[0]._replace(R=self._types[0].t)
        groups = [Group.of(laws, size) for laws in (*self._types, blankets)]
        spreads = np.max([group.spread(_SHARES) for group in groups], axis=0)
        alpha = float(_SHARES[spreads.argmin()])
        common = self._share / (self._share * (1.0 - alpha) + alpha) * (1.0 - 2.0**-48) if alpha else 1.0
        victim = ShuffledPair(P0=blankets.P0, P1=blankets.P1, t=blankets.t)
        types = tuple(group.pair(alpha) for group in groups)
        return _Plan(size, SwapPair(types, common, victim, slack=group_rounding(size)), float(spreads.min()))

    def among(self, n: int, tol: float) -> tuple[SwapPair, int, dict[int, float]]:
        """The best groups of n users, their usual number, and the probability of each number of groups.

        The number 0 stands for all numbers below half the usual one: then the victim's own message counts as revealed.
        """
        law = self._count(n).simplified()
        mean = np.array(int(law.mean))
        plan = min(
            self._plans, key=lambda p: p.spread / max(float(p.groups(n, mean)) - 1.0 / p.member.common_mass, 1e-9)
        )
        usual = int(plan.groups(n, mean))
        at, mass = buckets(law, "upper", max(tol, _ROUNDING)) if law.parts else (mean[None], np.ones(1))
        numbers: dict[int, float] = {}
        for number, share in zip(plan.groups(n, at).tolist(), mass.tolist(), strict=True):
            number = number if 2 * number >= usual else 0
            numbers[number] = numbers.get(number, 0.0) + share
        return plan.member, usual, numbers

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per question."""
        only_upper(side)
        found = [family.among(int(users), tol) for family, users in zip(families, n.tolist(), strict=True)]
        first, which = numbered([id(member) for member, _, _ in found])
        members = Members.of([found[i][0] for i in first.tolist()])
        users = np.array([1.0 + usual for _, usual, _ in found])
        return Rows(
            np.arange(n.size), SwapCurve(members, which, users, _others([x for *_, x in found]), dither_for(tol))
        )


def _others(laws: Sequence[dict[int, float]]) -> Others:
    """Numbers of others with their probabilities, by row; the number 0 is lost."""
    wide = max(len(law) for law in laws)
    number, mass = np.ones((len(laws), wide)), np.zeros((len(laws), wide))
    for row, law in enumerate(laws):
        kept = {k: share for k, share in law.items() if k > 0}
        number[row] = max(kept, default=1)  # padded with numbers of probability 0
        number[row, : len(kept)], mass[row, : len(kept)] = list(kept), list(kept.values())
    lost = np.array([law.get(0, 0.0) for law in laws])
    with np.errstate(divide="ignore"):
        return Others(number, np.log(mass), lost * (1.0 + 1e-12))
