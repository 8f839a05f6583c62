"""The swap bound for protocols with blanket messages, in which the others' own messages hide the victim too.

Put the own message of another user and k blanket messages into a *group*, of which the adversary sees the multiset.
With t the law of a blanket message, R_x that of an own message and w t <= R_x for all x, an own message is a draw of t,
whatever its sender holds, with probability w; a blanket message always is one.  Look at the groups in random order:
with probability a at the own message (it is free with probability w), else at one of the blanket messages (which is
free).  So a group is free with probability beta = 1 - a (1-w), and exchanging the victim's message for the free one
puts it, with alpha = a w/beta, beside k blanket messages, else beside the own message and k-1 blanket messages.  The
proof of Theorem 1 (docs/swap.md) then holds with groups in place of users: a user is a group of type x,

    law of a group      G_x = sym(R_x, t, ..., t)
    with the victim's   alpha sym(P, t, ..., t) + (1-alpha) sym(P, R_x, t, ..., t),

where sym is the law of the multiset of independent messages.  With u = P0/t and s = R_x/t, sums over the k+1 messages
of a group, the first is to t^(k+1) as (sum s)/(k+1), the second, for P0, as [alpha sum u + (1-alpha)/k sum_{i != j} u_i
s_j]/(k+1).  Every alpha is sound; it is chosen by the variance.  Blanket messages that are left over make groups of k+1
of them (R_x = t).  The last term of Theorem 1 remains that of the victim's own message.

Labels within a group are hidden, between groups they are not: the larger the group, the sharper the bound, and the
more symbols it has.

The number of blanket messages may be random: delta is its mean over that number, which may be rounded down.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluators.choose import Side, spread
from ..evaluators.swap import Waiting
from ..pair import TINY, FloatArray, ShuffledPair
from ..product import rounding_slack
from ..solve import guess_epsilon, log_up, look, solve
from .base import Answer
from .message_counts import Count, Distribution, bucket_masses, edges
from .swap import Curve, SwapPair, only_upper

#: Different multisets of a group, the largest number of blanket messages in one, and the alphas that are tried.
_MOST_SYMBOLS, _MOST_MESSAGES, _SHARES = 800, 6, np.linspace(0.0, 1.0, 9)
#: The number of messages is rounded as if this accuracy were asked for: each number costs a sum.
_ROUNDING = 3e-3
#: With fewer blanket messages than users, by so much, the blanket is usually better.
_FEW = 0.9


class Messages(NamedTuple):
    """The laws of one kind of others: P0 and P1 of the victim, R of the other's own message, t of a blanket message."""

    P0: FloatArray
    P1: FloatArray
    R: FloatArray
    t: FloatArray


class _Group(NamedTuple):
    """A group of one own and ``size`` blanket messages: its law, and what the victim's message makes of it.

    The victim's two laws beside blanket messages only, and beside the own message and one blanket message less.
    """

    t: FloatArray
    alone: tuple[FloatArray, FloatArray]
    beside: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, laws: Messages, size: int) -> _Group:
        """The group of these messages."""
        t = np.asarray(laws.t, dtype=np.float64)
        u, v, s = (np.asarray(law) / t for law in laws[:3])
        chosen, times, orders = _multisets(t.size, size + 1)
        mass = orders * np.prod(t[chosen], axis=1) / (size + 1)
        others = times @ s
        # sum over i != j of u_i s_j, with no difference of sums
        left = [times[:, a] * _without(times, s, a) for a in range(t.size)]
        first, second = ((mass * (times @ x), mass / size * sum(x[a] * left[a] for a in range(t.size))) for x in (u, v))
        return cls(mass * others, (first[0], second[0]), (first[1], second[1]))

    def spread(self, alpha: FloatArray) -> FloatArray:
        """sum (P0 - P1)^2 / t for every alpha."""
        live = self.t > TINY
        gap = (self.alone[0] - self.alone[1])[live], (self.beside[0] - self.beside[1])[live]
        t = self.t[live]
        aa, ab, bb = float((gap[0] ** 2 / t).sum()), float((gap[0] * gap[1] / t).sum()), float((gap[1] ** 2 / t).sum())
        return np.asarray(alpha**2 * aa + 2.0 * alpha * (1.0 - alpha) * ab + (1.0 - alpha) ** 2 * bb)

    def pair(self, alpha: float) -> ShuffledPair:
        """The group as a type of the swap bound."""
        first, second = (alpha * a + (1.0 - alpha) * b for a, b in zip(self.alone, self.beside, strict=True))
        return ShuffledPair(P0=first, P1=second, t=self.t)


def _without(times: FloatArray, s: FloatArray, a: int) -> FloatArray:
    """The sum of s over a multiset without one message a (where it has one), as a sum of non-negative terms."""
    fewer = times.copy()
    fewer[:, a] = np.maximum(fewer[:, a] - 1.0, 0.0)
    return np.asarray(fewer @ s)


@lru_cache(maxsize=64)
def _multisets(symbols: int, count: int) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """All multisets: their messages, how often each symbol is in them, and in how many orders they come."""
    chosen = np.array(list(itertools.combinations_with_replacement(range(symbols), count)), dtype=np.int64)
    times = (chosen[:, :, None] == np.arange(symbols)).sum(axis=1)
    factorial = np.array([math.factorial(k) for k in range(count + 1)], dtype=np.float64)
    return chosen, times.astype(np.float64), factorial[count] / np.prod(factorial[times], axis=1)


def grouped(laws: Messages, size: int, alpha: float) -> ShuffledPair:
    """A group of one own and ``size`` blanket messages as a type.

    Examples
    --------
    >>> coin = Messages(*map(np.array, ([0.75, 0.25], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5])))
    >>> grouped(coin, 1, 0.5).t.tolist()
    [0.25, 0.5, 0.25]
    """
    return _Group.of(laws, size).pair(alpha)


class _Plan(NamedTuple):
    """Groups of one own and ``size`` blanket messages, as a member of the swap bound."""

    size: int
    member: SwapPair
    spread: float

    def groups(self, users: int, messages: int) -> int:
        """How many there are, with those of blanket messages only, beside the victim."""
        mixed = min(users - 1, messages // self.size)
        return mixed + (messages - mixed * self.size) // (self.size + 1)


@dataclass(frozen=True)
class _Waitings(Waiting):
    """The waiting times of a random number of groups: A is the mean over that number, on one and the same line."""

    log_masses: FloatArray
    parts: tuple[Waiting, ...]

    @classmethod
    def over(cls, log_masses: FloatArray, parts: Sequence[Waiting]) -> _Waitings:
        """Numbers of groups with their probabilities."""
        rest = float(np.logaddexp.reduce(log_masses + np.array([part.log_rest for part in parts])))
        most, nothing = max(part.others for part in parts), np.zeros(1)
        return cls(parts[0].common_mass, most, nothing, nothing, rest + 1e-12, log_masses, tuple(parts))

    @property
    def fewest(self) -> float:
        """The smallest number of copies in any block."""
        return min(part.fewest for part in self.parts)

    def log_sum(self, log_r: FloatArray) -> FloatArray:
        """log of the mean of A(r)."""
        found = [mass + part.log_sum(log_r) for mass, part in zip(self.log_masses, self.parts, strict=True)]
        return np.asarray(np.logaddexp.reduce(found) + 1e-12)

    def sum(self, growth: np.ndarray, log_m: np.ndarray, peak: FloatArray, size: FloatArray) -> np.ndarray:
        """The mean of A(M)/e^peak for complex M."""
        masses = np.exp(self.log_masses)
        parts = zip(masses, self.parts, strict=True)
        return np.asarray(sum(mass * part.sum(growth, log_m, peak, size) for mass, part in parts))


class _MixedCurve(Curve):
    """The swap bound among a random number of others; with probability ``lost`` they do not count at all."""

    def __init__(self, member: SwapPair, usual: int, numbers: dict[int, float], lost: float, tol: float) -> None:
        super().__init__(member, usual + 1, tol)
        self._numbers, self._lost = numbers, lost

    def _waiting(self, log_target: float) -> Waiting:
        if len(self._numbers) == 1 and self._lost == 0.0:
            return super()._waiting(log_target)
        parts = [Waiting.of(self.member.common_mass, number + 1, min(log_target, 0.0)) for number in self._numbers]
        found = _Waitings.over(np.log(list(self._numbers.values())), parts)
        # what is lost, like what is left of waiting in vain, costs the victim's message alone
        return replace(found, log_rest=float(np.logaddexp(found.log_rest, math.log(self._lost or 1e-320))))


class SwapGroups:
    """One victim pair among the own messages of every type and ``count(n)`` blanket messages of n users."""

    def __init__(self, types: Sequence[Messages], own_share: float, count: Callable[[int], Count]) -> None:
        self._types, self._share, self._count = tuple(types), own_share * (1.0 - 2.0**-46), count

    @cached_property
    def _plans(self) -> list[_Plan]:
        """The best alpha for groups of every size that is small enough."""
        symbols = max(np.size(laws.t) for laws in self._types)
        sizes = [k for k in range(1, _MOST_MESSAGES + 1) if math.comb(symbols + k, k + 1) <= _MOST_SYMBOLS]
        return [self._plan(k) for k in sizes]

    def _plan(self, size: int) -> _Plan:
        """Groups of this size, with the alpha whose largest spread is smallest."""
        blankets = self._types[0]._replace(R=self._types[0].t)
        groups = [_Group.of(laws, size) for laws in (*self._types, blankets)]
        spreads = np.max([group.spread(_SHARES) for group in groups], axis=0)
        alpha = float(_SHARES[spreads.argmin()])
        common = self._share / (self._share * (1.0 - alpha) + alpha) if alpha else 1.0
        common *= 1.0 - 2.0**-48 if alpha else 1.0
        victim = ShuffledPair(P0=blankets.P0, P1=blankets.P1, t=blankets.t)
        return _Plan(size, SwapPair(tuple(g.pair(alpha) for g in groups), common, victim), float(spreads.min()))

    def _curve(self, n: int, tol: float) -> tuple[Curve, _Plan]:
        """The curve of n users, and its plan."""
        law = self._count(n).simplified()
        mean = int(law.mean)
        plan = min(self._plans, key=lambda p: p.spread / max(p.groups(n, mean) - 1.0 / p.member.common_mass, 1e-9))
        usual = plan.groups(n, mean)
        if not law.parts:
            return Curve(plan.member, usual + 1, tol), plan
        at = edges(law, max(tol, _ROUNDING))
        masses = bucket_masses(Distribution(law, up=True).at, at, "upper")
        numbers: dict[int, float] = {}
        lost = 0.0
        for mass, number in zip(masses.tolist(), at.tolist(), strict=True):
            groups = plan.groups(n, number)
            if mass > 0.0 and 2 * groups >= usual and groups > 0:
                numbers[groups] = numbers.get(groups, 0.0) + mass
            else:
                lost += max(mass, 0.0)
        if not numbers:
            return Curve(plan.member, 1, tol), plan
        return _MixedCurve(plan.member, usual, numbers, lost, tol), plan

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest eps with delta(eps) <= delta."""
        only_upper(side)
        curve, plan = self._curve(n, tol)
        slack = rounding_slack(plan.size + 3)
        limit, target = log_up(plan.member.max_ratio), delta * (1.0 - slack)
        worst = max(plan.member.types, key=spread)
        likely = delta >= 0.3 * math.sqrt(plan.spread / curve.n)
        if likely and look(curve, 0.0, 1e-3, math.log(target)).excess <= 0.0:  # type: ignore[arg-type]
            return Answer(0.0, 1, 1)
        copies = max(int(curve.n - 1.0 / plan.member.common_mass), 1)
        guess = guess_epsilon(worst.atoms, copies, target, limit)
        found = solve(curve, target, limit=limit, tol=tol, guess=guess)  # type: ignore[arg-type]
        return Answer(min(found + slack, limit), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta at every eps."""
        only_upper(side)
        curve, plan = self._curve(n, tol)
        slack = rounding_slack(plan.size + 3)
        return np.asarray(curve.log_upper(np.maximum(eps - slack, 0.0)) + slack)

    def pairs(self, most: int) -> None:
        """None: a group is of several types."""
        return None
