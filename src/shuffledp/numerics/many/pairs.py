"""The largest eps (or delta) over several shuffled pairs, for many questions at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ..evaluators.choose import LARGEST_EPSILON, Divergence, Side, spread
from ..pair import FloatArray, ShuffledPair
from ..solve import epsilon, log_up
from .guess import Guesses, guess_epsilons
from .laws import Laws
from .members import Queue, largest, likely_zero

#: Of a lower bound over many users, pairs below this share of the largest spread are left out (numerics/solve.py).
_ENOUGH, _MANY_USERS = 0.9, 1000


class PairCurves(Laws):
    """The divergences of shuffled pairs, in the form that members.py asks for."""

    @property
    def likely_zero(self) -> FloatArray:
        """As numerics/solve.py has it."""
        return likely_zero(self.spread, self.n)

    def guess(self, log_delta: FloatArray, limit: FloatArray) -> Guesses:
        """By the saddle point."""
        return guess_epsilons(self, log_delta, limit)


def epsilons(
    questions: Sequence[Sequence[ShuffledPair]], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
) -> FloatArray:
    """What ``solve.epsilon`` gives for every question: its pairs, its n and its delta.

    Examples
    --------
    >>> coin = [ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])]
    >>> users = np.array([1e3, 1e4])
    >>> epsilons([coin, coin], n=users, delta=np.full(2, 1e-6), tol=1e-4, side="upper").round(2).tolist()
    [0.17, 0.05]
    """
    share = np.where(n >= _MANY_USERS, _ENOUGH, 0.0) if side == "lower" else None
    queue = Queue(questions, spread, share)
    pairs = cast(list[ShuffledPair], queue.members)
    limits = np.array([log_up(pair.max_ratio) for pair in pairs])
    best, single = largest(
        queue, lambda which, users: PairCurves.of(pairs, which, users, side), limits, n=n, delta=delta, tol=tol
    )
    for i in np.flatnonzero(single).tolist():
        best[i] = epsilon(questions[i], n=int(n[i]), delta=float(delta[i]), tol=tol, side=side)
    return best


def log_deltas(
    questions: Sequence[Sequence[ShuffledPair]], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
) -> FloatArray:
    """The largest log delta over the pairs of every question, at its eps, among its n users.

    Examples
    --------
    >>> coin = [ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])]
    >>> log_deltas([coin, coin], np.full(2, 0.1), n=np.array([1e3, 1e4]), tol=1e-3, side="upper").round(1).tolist()
    [-8.5, -34.1]
    """
    queue = Queue(questions, spread)
    pairs = cast(list[ShuffledPair], queue.members)
    best = np.full(n.size, -np.inf)
    for member in queue.table:
        rows = np.flatnonzero(member >= 0)
        laws = Laws.of(pairs, member[rows], n[rows], side)
        at = np.flatnonzero(laws.plain & (eps[rows] <= LARGEST_EPSILON))
        alone = np.ones(rows.size, dtype=bool)
        if at.size:
            found = laws.at(at, eps[rows[at]], np.full(at.size, tol))
            good = rows[at[found.narrow]]
            best[good] = np.maximum(best[good], found.value[found.narrow])
            alone[at[found.narrow]] = False
        for i in rows[alone]:
            bracket = Divergence(pairs[member[i]], int(n[i]), side).bracket(eps[i : i + 1], tol)
            best[i] = max(best[i], float((bracket.upper if side == "upper" else bracket.lower)[0]))
    return best
