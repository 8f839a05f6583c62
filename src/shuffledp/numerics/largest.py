"""The largest of many rows at every question: cheap bounds first, then evaluations in falling order of them.

A row counts as settled only if an upper value of it is at most delta, or at most the largest value found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import tuning
from .curve import Curve
from .pair import FloatArray, IntArray
from .solve import solve


class _Search(NamedTuple):
    """The members of all questions: which question owns each, those not settled yet, and how likely each is the worst.

    ``left``, ``score`` and ``evaluated``, the number of members of every question that were evaluated, change.
    """

    owner: IntArray
    curve: Curve
    log_delta: FloatArray
    left: np.ndarray
    score: FloatArray
    evaluated: IntArray

    def screen(self, eps: FloatArray) -> IntArray:
        """Leave only members that cheap bounds at eps do not settle, and no more of them than may be evaluated.

        Those beyond that number are returned.
        """
        rows = self._bounded(np.flatnonzero(self.left), eps)
        self.left[:] = False
        self.left[rows[_leaders(self.owner[rows], self.score[rows], self.curve.most_evaluated)]] = True
        return np.asarray(rows[~self.left[rows]])

    def _bounded(self, rows: IntArray, eps: FloatArray) -> IntArray:
        """Those of the rows that cheap bounds at eps do not settle; the score is by how much they exceed delta."""
        mine, level = self.owner[rows], self.log_delta[self.owner[rows]]
        self.score[rows] = self.curve.take(rows).screen(eps[mine], level) - level
        return np.asarray(rows[~(self.score[rows] <= 0.0)])

    def raise_(self, rows: IntArray, eps: FloatArray) -> np.ndarray:
        """Raise eps until cheap bounds settle all of these rows, and say which questions were raised.

        The step assumes that log delta is proportional to the square of eps.  Where a bound is infinite, eps becomes
        the limit.
        """
        raised, limit = np.zeros(eps.size, dtype=bool), np.zeros(eps.size)
        np.maximum.at(limit, self.owner[rows], self.curve.limit[rows])
        while rows.size:
            mine, excess = self.owner[rows], np.zeros(eps.size)
            raised[mine] = True
            np.maximum.at(excess, mine, self.score[rows])
            more = np.maximum(eps, 1e-9) * (3e-4 + np.minimum(-0.75 * excess / self.log_delta, 1.0))
            eps += np.where(excess == np.inf, np.maximum(limit - eps, 0.0), np.where(excess > 0.0, more, 0.0))
            rows = self._bounded(rows, eps)
        return raised

    def exceeding(self, eps: FloatArray, rtol: float) -> IntArray:
        """For every question one member above delta at its eps, if there is one; the likeliest are evaluated first."""
        found: list[IntArray] = [np.empty(0, dtype=np.int64)]
        searched, size = np.ones(eps.size, dtype=bool), tuning.AT_ONCE
        while True:
            rows = np.flatnonzero(self.left & searched[self.owner])
            if not rows.size:
                return np.concatenate(found)
            rows = rows[_leaders(self.owner[rows], self.score[rows], size)]
            mine = self.owner[rows]
            np.add.at(self.evaluated, mine, 1)
            value = self.curve.take(rows).at(eps[mine], np.full(rows.size, rtol)).log_delta
            self.score[rows] = value - self.log_delta[mine]
            self.left[rows] = self.score[rows] > (0.0 if self.curve.side == "upper" else -2.0 * rtol)
            rows = rows[self.left[rows]]
            first = rows[_leaders(self.owner[rows], self.score[rows], 1)]
            found.append(first)
            searched[self.owner[first]] = False
            size *= 4


def largest_epsilons(
    owner: IntArray, curve: Curve, log_delta: FloatArray, tol: float, most: FloatArray
) -> tuple[FloatArray, IntArray, np.ndarray]:
    """Solve the likeliest member of every question, compare the others at its eps, and solve those that exceed delta.

    A member whose delta is small enough at some eps is settled for every larger eps.  Also returned: how many members
    were evaluated, and whether eps was raised because too many could not be distinguished from the largest one.
    An upper eps above ``most`` may be any larger number.
    """
    best, root, top, widest = np.zeros((4, log_delta.size))
    looser, evaluated = np.zeros(log_delta.size, dtype=bool), np.zeros(log_delta.size, dtype=np.int64)
    left, score, rtol = np.ones(owner.size, dtype=bool), curve.spread.copy(), min(max(tol, 1e-8), tuning.GLANCE)
    search = _Search(owner, curve, log_delta, left, score, evaluated)
    np.maximum.at(top, owner, curve.limit)
    np.maximum.at(widest, owner, score)
    likely = score >= tuning.ENOUGH_SPREAD * widest[owner]
    # solving a few likely members together is faster than comparing them
    together = owner.size <= tuning.AT_ONCE and not curve.heavy
    chosen = np.flatnonzero(likely) if together else _leaders(owner, score, 1)
    least = np.zeros(chosen.size)
    while chosen.size:
        mine = owner[chosen]
        left[chosen] = False
        part = curve if chosen.size == owner.size else curve.take(chosen)
        found = solve(part, log_delta[mine], tol, least, most[mine])
        np.maximum.at(root, mine, found)
        np.maximum.at(best, mine, found)
        np.add.at(evaluated, mine, 1)
        left &= curve.limit > best[owner]
        if not left.any():
            break
        at, beyond = best, np.zeros(0, dtype=np.int64)
        if curve.side == "upper":
            at = np.maximum(best, np.minimum(root * (1.0 + 0.25 * tol), top))  # settles members that nearly tie
            np.maximum.at(best, owner[left], at[owner[left]])
            beyond = search.screen(at)
        chosen = search.exceeding(at, rtol)
        least = at[owner[chosen]]
        later = np.isin(owner[beyond], owner[chosen])
        left[beyond[later]] = True
        looser |= search.raise_(beyond[~later], best)
    return best, evaluated, looser


def largest_values(owner: IntArray, curve: Curve, eps: FloatArray, tol: float) -> FloatArray:
    """Evaluate the likeliest member, then in falling order of cheap bounds until none can exceed the largest found."""
    best = np.full(eps.size, -np.inf)
    rows, score, size = np.arange(owner.size), curve.spread, 1
    if curve.side == "lower" or rows.size <= tuning.AT_ONCE * eps.size:
        size = owner.size
    while rows.size:
        lead = np.zeros(rows.size, dtype=bool)
        lead[_leaders(owner[rows], score, size)] = True
        chosen, at_first = rows[lead], size in (1, owner.size)
        value = curve.take(chosen).at(eps[owner[chosen]], np.full(chosen.size, tol)).log_delta
        np.maximum.at(best, owner[chosen], value)
        rows, score = rows[~lead], score[~lead]
        if at_first and rows.size:
            score = curve.take(rows).screen(eps[owner[rows]], best[owner[rows]])
        open_ = score > best[owner[rows]]
        rows, score, size = rows[open_], score[open_], 4 * size
        if rows.size > curve.most_evaluated:  # for all but the largest, the bounds count
            few = np.zeros(rows.size, dtype=bool)
            few[_leaders(owner[rows], score, curve.most_evaluated)] = True
            np.maximum.at(best, owner[rows[~few]], score[~few])
            rows, score = rows[few], score[few]
    return best


def _leaders(owner: IntArray, score: FloatArray, most: int) -> IntArray:
    """The places of the ``most`` largest scores of every owner."""
    order = np.lexsort((-score, owner))
    place = np.arange(order.size) - np.searchsorted(owner[order], owner[order])
    return np.sort(order[place < most])
