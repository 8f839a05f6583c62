"""The largest eps over the members of many questions: member after member, all open questions at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np

from ..evaluators.choose import Side
from ..pair import FloatArray
from .guess import Guesses
from .laws import Found
from .solve import solve

#: Relative accuracy in delta of one look at a member that may not raise the answer.
_GLANCE = 1e-3


class Curves(Protocol):
    """log delta as a function of eps, one curve per row."""

    @property
    def side(self) -> Side:
        """Which end of the bracket is safe."""

    @property
    def plain(self) -> np.ndarray:
        """Rows that can be evaluated together with others; the rest is answered one by one."""

    @property
    def likely_zero(self) -> FloatArray:
        """log of a delta above which eps = 0 is likely to be enough."""

    def rows(self, which: np.ndarray) -> Self:
        """Some of the rows."""

    def at(self, rows: np.ndarray, eps: FloatArray, rtol: FloatArray) -> Found:
        """The curves of some rows, each at its eps."""

    def guess(self, log_delta: FloatArray, limit: FloatArray) -> Guesses:
        """Where the roots are likely to be."""


class Queue:
    """The members of every question in the order in which they are looked at, each member listed once.

    ``table[k, i]`` is the number of the k-th member of question i, or -1.

    Examples
    --------
    >>> queue = Queue([["a", "b"], ["b"]], lambda word: {"a": 1.0, "b": 2.0}[word])
    >>> [[str(queue.members[k]) if k >= 0 else "" for k in row] for row in queue.table.tolist()]
    [['b', 'b'], ['a', '']]
    """

    def __init__(
        self,
        questions: Sequence[Sequence[object]],
        size: Callable[..., float],
        share: Sequence[float] | FloatArray | None = None,
    ) -> None:
        """The largest ``size`` first; members below the ``share`` of the largest one are left out (none by default)."""
        number: dict[int, int] = {}
        self.members: list[object] = []
        sizes: dict[int, float] = {}  # of members that have to be ranked
        ranked: dict[int, list[int]] = {}  # by the identity of the question, which is often the same one
        lists = []
        for i, question in enumerate(questions):
            mine = ranked.get(id(question))
            if mine is None:
                for member in question:
                    if id(member) not in number:
                        number[id(member)] = len(self.members)
                        self.members.append(member)
                mine = [number[id(member)] for member in question]
                if len(mine) > 1:
                    sizes |= {k: size(self.members[k]) for k in mine if k not in sizes}
                    mine.sort(key=lambda k: -sizes[k])
                ranked[id(question)] = mine
            if share is not None and share[i] > 0.0 and len(mine) > 1:
                enough = share[i] * sizes[mine[0]]
                mine = [k for k in mine if sizes[k] >= enough]
            lists.append(mine)
        self.table = np.full((max(map(len, lists), default=0), len(lists)), -1, dtype=np.int64)
        for i, mine in enumerate(lists):
            self.table[: len(mine), i] = mine


def largest(
    queue: Queue,
    curves: Callable[[np.ndarray, FloatArray], Curves],
    limits: FloatArray,
    *,
    n: FloatArray,
    delta: FloatArray,
    tol: float,
) -> tuple[FloatArray, np.ndarray]:
    """eps of every question, and which of them have to be answered one by one.

    ``curves(members, n)`` makes the curves of some rows; ``limits`` are the eps from which on each member has no
    divergence left.
    """
    best, single = np.zeros(n.size), np.zeros(n.size, dtype=bool)
    log_delta = np.log(delta)
    for member in queue.table:
        rows = np.flatnonzero((member >= 0) & ~single)
        rows = rows[limits[member[rows]] > best[rows]]
        if not rows.size:
            continue
        made = curves(member[rows], n[rows])
        single[rows[~made.plain]] = True
        open_ = _needed(made, best[rows], log_delta[rows], single, rows)
        if not open_.size:
            continue
        rows, made = rows[open_], made.rows(open_)
        limit = limits[member[rows]]
        guess = made.guess(log_delta[rows], limit)
        guess = guess._replace(epsilon=np.maximum(guess.epsilon, best[rows]))
        roots = solve(made, log_delta[rows], limit=limit, tol=tol, guess=guess)
        single[rows[roots.open]] = True
        best[rows] = np.maximum(best[rows], roots.epsilon)
    return best, single


def _needed(made: Curves, best: FloatArray, log_delta: FloatArray, single: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows that may raise the answer: one look at ``best`` (or at 0, where that is likely) settles the others."""
    at = np.flatnonzero(made.plain & ((best > 0.0) | (log_delta >= made.likely_zero)))
    keep = made.plain.copy()
    if at.size:
        found = made.at(at, best[at], np.full(at.size, _GLANCE))
        # at 0 the upper end decides on either side: nothing above 0 is then reached
        settled = np.where(best[at] > 0.0, found.value, found.upper) <= log_delta[at]
        vague = ~settled & ~found.narrow
        keep[at[settled | vague]] = False
        single[rows[at[vague]]] = True
    return np.flatnonzero(keep)


def likely_zero(spread: FloatArray, n: FloatArray) -> FloatArray:
    """log of the leading order of delta(0), and of what is a little below it."""
    with np.errstate(over="ignore"):
        return np.asarray(math.log(0.3) + 0.5 * np.log(np.maximum(spread, 1e-300) / n))
