"""The largest of many rows at every question: cheap bounds first, then evaluations in falling order of them.

A row counts as settled only if an upper value of it is at most delta, or at most the largest value found.
"""

from __future__ import annotations

import numpy as np

from . import tuning
from .curve import Curve
from .pair import FloatArray, IntArray
from .solve import solve


def largest_epsilons(
    owner: IntArray, curve: Curve, log_delta: FloatArray, n: FloatArray, tol: float, most: FloatArray
) -> tuple[FloatArray, IntArray, np.ndarray]:
    """Solve the likeliest member of every question, compare the others at its eps, and solve those that exceed delta.

    A member whose delta is small enough at some eps is settled for every larger eps.  Also returned: how many members
    were evaluated, and whether eps was raised because too many could not be distinguished from the largest one.
    An upper eps above ``most`` may be any larger number.
    """
    looser = np.zeros(n.size, dtype=bool)
    best, root, evaluated = np.zeros(n.size), np.zeros(n.size), np.zeros(n.size, dtype=np.int64)
    upper, score = curve.side == "upper", curve.spread.copy()
    left, top, widest = np.ones(owner.size, dtype=bool), np.zeros(n.size), np.zeros(n.size)
    np.maximum.at(top, owner, curve.limit)
    np.maximum.at(widest, owner, score)
    likely = score >= tuning.ENOUGH_SPREAD * widest[owner]
    if not upper:  # any subset of the members gives a lower bound
        left = likely | (n[owner] < tuning.MANY_USERS)
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
        if upper:
            at = np.maximum(best, np.minimum(root * (1.0 + 0.25 * tol), top))  # settles members that nearly tie
            np.maximum.at(best, owner[left], at[owner[left]])
            beyond = _screen(owner, curve, left, score, at, log_delta)
        chosen = _exceeding(owner, curve, left, score, at, log_delta, evaluated, tol)
        least = at[owner[chosen]]
        later = np.isin(owner[beyond], owner[chosen])
        left[beyond[later]] = True
        looser |= _raise(owner, curve, beyond[~later], score, best, log_delta)
    return best, evaluated, looser


def _screen(
    owner: IntArray, curve: Curve, left: np.ndarray, score: FloatArray, eps: FloatArray, log_delta: FloatArray
) -> IntArray:
    """Leave only members that cheap bounds at eps do not settle, and no more of them than may be evaluated.

    Those beyond that number are returned.
    """
    rows = np.flatnonzero(left)
    level = log_delta[owner[rows]]
    score[rows] = curve.take(rows).screen(eps[owner[rows]], level) - level
    rows = rows[~(score[rows] <= 0.0)]
    left[:] = False
    left[rows[_leaders(owner[rows], score[rows], curve.most_evaluated)]] = True
    return np.asarray(rows[~left[rows]])


def _raise(
    owner: IntArray, curve: Curve, rows: IntArray, score: FloatArray, eps: FloatArray, log_delta: FloatArray
) -> np.ndarray:
    """Raise eps until cheap bounds settle all of these rows, and say which questions were raised.

    The step assumes that log delta is proportional to the square of eps.  Where a bound is infinite, eps becomes the
    limit.
    """
    raised, limit = np.zeros(eps.size, dtype=bool), np.zeros(eps.size)
    np.maximum.at(limit, owner[rows], curve.limit[rows])
    while rows.size:
        mine, level, excess = owner[rows], log_delta[owner[rows]], np.zeros(eps.size)
        raised[mine] = True
        np.maximum.at(excess, mine, score[rows])
        more = np.maximum(eps, 1e-9) * (3e-4 + np.minimum(-0.75 * excess / log_delta, 1.0))
        eps += np.where(excess == np.inf, np.maximum(limit - eps, 0.0), np.where(excess > 0.0, more, 0.0))
        score[rows] = curve.take(rows).screen(eps[mine], level) - level
        rows = rows[~(score[rows] <= 0.0)]
    return raised


def _exceeding(
    owner: IntArray,
    curve: Curve,
    left: np.ndarray,
    score: FloatArray,
    eps: FloatArray,
    log_delta: FloatArray,
    evaluated: IntArray,
    tol: float,
) -> IntArray:
    """For every question one member above delta at its eps, if there is one; the likeliest are evaluated first.

    The first evaluation is coarse; members that it does not settle are evaluated again, as finely as in the solver.
    """
    found: list[IntArray] = [np.empty(0, dtype=np.int64)]
    searched, size = np.ones(eps.size, dtype=bool), tuning.AT_ONCE
    while True:
        rows = np.flatnonzero(left & searched[owner])
        if not rows.size:
            return np.concatenate(found)
        rows = rows[_leaders(owner[rows], score[rows], size)]
        left[rows] = False
        np.add.at(evaluated, owner[rows], 1)
        rtol, part = np.full(rows.size, tuning.GLANCE), curve.take(rows)
        for look in range(2):
            value, slope = part.at(eps[owner[rows]], rtol)
            score[rows] = value - log_delta[owner[rows]]
            open_ = (score[rows] > 0.0) if curve.side == "upper" else (score[rows] > -2.0 * rtol)
            rtol = np.clip(0.25 * tol * eps[owner[rows]] * slope, 1e-8, tuning.GLANCE)[open_]
            rows = rows[open_]
            if look or not rows.size:
                break
            part = part.take(np.flatnonzero(open_))
        left[rows] = True
        first = rows[_leaders(owner[rows], score[rows], 1)]
        found.append(first)
        searched[owner[first]] = False
        size *= 4


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
        part = curve.take(chosen)
        if not at_first:  # few of the later ones come near the largest
            glance = part.at(eps[owner[chosen]], np.full(chosen.size, max(tuning.GLANCE, tol))).log_delta
            near = np.flatnonzero(glance > best[owner[chosen]])
            chosen, part = chosen[near], part.take(near)
        value = part.at(eps[owner[chosen]], np.full(chosen.size, tol)).log_delta
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
