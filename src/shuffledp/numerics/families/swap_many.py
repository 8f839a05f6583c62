"""The swap bound for many questions at once: one row per question, each with its own victim pair, n and eps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

import numpy as np

from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift, spread
from ..evaluators.swap_rows import Waitings
from ..many import one_curve
from ..many.guess import Guesses, guess_epsilons
from ..many.laws import Found, Laws
from ..many.members import Queue, largest, likely_zero
from ..pair import FloatArray
from ..solve import log_up
from . import swap as single
from . import swap_curve as one
from .swap_pair import RARE, SwapPair

#: Rows that are evaluated together: more would not fit into the cache.
_TOGETHER = 256
#: Types x symbols of one row up to which rows are evaluated together.
_MOST_CELLS = 64


class SwapCurves:
    """The swap bounds of some victim pairs, one per row, in the form that many/members.py asks for."""

    side: Side = "upper"

    def __init__(self, members: Sequence[SwapPair], which: np.ndarray, n: FloatArray, tol: float) -> None:
        self.members, self.which, self.n, self.dither = members, which, n, one.dither_for(tol)
        laws = [member.laws for member in members]
        types, symbols = (max(law.t.shape[axis] for law in laws) for axis in (0, 1))
        if types * symbols > _MOST_CELLS:
            types, symbols = 1, 1  # answered one by one
        shape = (len(members), types, symbols)
        self._gap, self._v, self._t = (np.zeros(shape) for _ in range(3))
        able, rare = np.zeros(len(members), dtype=bool), np.zeros(len(members))
        for i, (member, law) in enumerate(zip(members, laws, strict=True)):
            kinds, width = law.t.shape
            if kinds > types or width > symbols:
                continue
            for mine, theirs in ((self._gap, law.gap), (self._v, law.v), (self._t, law.t)):
                mine[i, :kinds, :width] = theirs
                mine[i, kinds:, :width] = theirs[-1]  # a type once more changes nothing
            exposed = any(atoms.zero0.size for atoms in law.exposed)
            able[i] = member.alone is None and not exposed and member.common_mass > 0.0
            rare[i] = law.t[law.t > 0.0].min(initial=np.inf)
        self._common = np.array([member.common_mass for member in members])
        # where few users are free the sums have thousands of nodes, and nothing is gained by many rows
        free = n * self._common[which] >= single.FEW_FREE
        self.plain = able[which] & (n * rare[which] >= RARE) & free
        #: options still to be tried, row by row; those of a row shrink to the best one at its first eps
        self._options = np.ones((n.size, len(one.OPTIONS)), dtype=bool)

    @property
    def likely_zero(self) -> FloatArray:
        """From the worst type."""
        widest = np.array([max(min(spread(pair), 1e300) for pair in member.types) for member in self.members])
        return likely_zero(widest[self.which], self.n)

    def rows(self, which: np.ndarray) -> Self:
        """Some of the rows."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.which, other.n, other.plain = self.which[which], self.n[which], self.plain[which]
        other._options = self._options[which]
        return other

    def guess(self, log_delta: FloatArray, limit: FloatArray) -> Guesses:
        """By the saddle point of the worst type, with what the dither costs; the solver adds what the modulus costs."""
        worst = [max(member.types, key=spread) for member in self.members]
        n = np.maximum(np.floor(self.n - 1.0 / np.maximum(self._common[self.which], 1e-15)), 1.0)
        found = guess_epsilons(Laws.of(worst, self.which, n, "lower"), log_delta, limit)
        return found._replace(epsilon=found.epsilon * (1.0 + 0.5 * self.dither**2))

    def at(self, rows: np.ndarray, eps: FloatArray, rtol: FloatArray) -> Found:
        """log delta of some rows, each at its eps."""
        value, fall = np.empty(rows.size), np.empty(rows.size)
        order = np.argsort(self._common[self.which[rows]] * self.n[rows], kind="stable")  # similar ones side by side
        for start in range(0, rows.size, _TOGETHER):
            part = order[start : start + _TOGETHER]
            value[part], fall[part] = self._evaluate(rows[part], np.minimum(eps[part], LARGEST_EPSILON))
        fall = np.where(np.isfinite(fall), fall, 0.0)
        return Found(value, value, fall, value < np.inf)

    @np.errstate(all="ignore")
    def _evaluate(self, rows: np.ndarray, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log delta and -d(log delta)/d(eps), roughly; the steps are those of Curve in swap.py."""
        which, n = self.which[rows], self.n[rows]
        v, t, common = self._v[which], self._t[which], self._common[which]
        x = self._gap[which] - np.expm1(eps - law_shift(eps))[:, None, None] * v
        local = np.log(np.minimum((np.maximum(x, 0.0) * t).sum(axis=2).max(axis=1), 1.0)) + 1e-13
        count, types, symbols = x.shape
        copies = np.maximum(n - 1.0 / common, 1.0)
        found = swap.saddle(x.reshape(-1, symbols), t.reshape(-1, symbols), np.repeat(copies, types))
        c, height, bend = (part.reshape(count, types) for part in found)
        worst = np.where(np.isfinite(height), height, -np.inf).argmax(axis=1)
        pick = (np.arange(count), worst)
        target = np.minimum(np.maximum(height[pick] - np.log(n), -740.0), 0.0)
        waiting = Waitings.of_rows(common, n, target)
        here = one.Rows(x, t, np.zeros((count, types)), worst, c[pick], bend[pick], np.full(count, np.inf), eps)
        value = one.largest(here, waiting, one.Option(1.0, self.dither))
        self._sharpen(value, here, waiting, copies, rows)
        total = np.logaddexp(value, waiting.log_rest + local)
        weight = t[pick] * np.exp(here.c[:, None] * x[pick])
        fall = np.exp(eps) * here.c * copies * (weight * v[pick]).sum(axis=1) / (weight.sum(axis=1) + 1e-300)
        total = np.where(np.isnan(total), np.inf, total)
        total[local == -np.inf] = -np.inf  # nothing of the victim's is ever above E times the other law
        return np.minimum(total, local), fall

    def _sharpen(
        self, value: FloatArray, here: one.Rows, waiting: Waitings, copies: FloatArray, rows: np.ndarray
    ) -> None:
        """Improve rows few deviations away, by one dominating law or near the saddle, and those on a coarse lattice."""
        close = here.c * np.sqrt(here.bend) < one.CLOSE
        covered = np.flatnonzero(close)
        if covered.size:
            found = one.joined(here.x[covered], here.t[covered], waiting.at(covered), copies[covered], self.dither)
            close[covered[found < value[covered]]] = False
            value[covered] = np.minimum(value[covered], found)
        grainy = here.grain > one.GRAINY
        chosen = np.full(rows.size, -1)
        for k, option in enumerate(one.OPTIONS):
            wanted = close if option.dither == one.FINE else grainy
            at = np.flatnonzero(wanted & self._options[rows, k])
            if at.size:
                found = one.largest(here.at(at), waiting.at(at), option)
                chosen[at[found < value[at]]] = k
                value[at] = np.minimum(value[at], found)
        settled = close | grainy  # the best option at this eps will do for those nearby
        self._options[rows[settled]] = np.arange(len(one.OPTIONS)) == chosen[settled, None]


def epsilons(questions: Sequence[Sequence[SwapPair]], *, n: FloatArray, delta: FloatArray, tol: float) -> FloatArray:
    """The largest eps over the members of every question, among its n users, at its delta."""
    queue = Queue(questions, single.widest)
    members = cast(list[SwapPair], queue.members)
    limits = np.array([log_up(member.max_ratio) for member in members])
    best, alone = largest(
        queue, lambda which, users: SwapCurves(members, which, users, tol), limits, n=n, delta=delta, tol=tol
    )
    for rows in _same(questions, n, np.flatnonzero(alone)):
        best[rows] = _on_one_curve(questions[rows[0]], n=int(n[rows[0]]), delta=delta[rows], tol=tol)
    return best


def _same(questions: Sequence[Sequence[SwapPair]], n: FloatArray, rows: np.ndarray) -> list[list[int]]:
    """Rows in groups of the same victim pairs and n."""
    groups: dict[tuple[int, float], list[int]] = {}
    for i in rows.tolist():
        groups.setdefault((id(questions[i]), float(n[i])), []).append(i)
    return list(groups.values())


def _on_one_curve(members: Sequence[SwapPair], *, n: int, delta: FloatArray, tol: float) -> FloatArray:
    """eps at every delta; where these are many, by chords of one curve."""

    def solve(one_delta: float) -> float:
        return single.largest_epsilon(members, n=n, delta=one_delta, tol=tol)

    def values(eps: FloatArray) -> FloatArray:
        return np.asarray(np.max([one.Curve(member, n, tol).log_upper(eps) for member in members], axis=0))

    if delta.size < one_curve.MANY:
        return np.array([solve(x) for x in delta.tolist()])
    return one_curve.epsilons(values, solve, delta, tol)


def log_deltas(questions: Sequence[Sequence[SwapPair]], eps: FloatArray, *, n: FloatArray, tol: float) -> FloatArray:
    """The largest log delta over the members of every question, at its eps, among its n users."""
    queue = Queue(questions, single.widest)
    members = cast(list[SwapPair], queue.members)
    best = np.full(n.size, -np.inf)
    for member in queue.table:
        rows = np.flatnonzero(member >= 0)
        curves = SwapCurves(members, member[rows], n[rows], tol / 30.0)
        at = np.flatnonzero(curves.plain)
        alone = np.ones(rows.size, dtype=bool)
        if at.size:
            found = curves.at(at, eps[rows[at]], np.full(at.size, tol))
            good = rows[at[found.narrow]]
            best[good] = np.maximum(best[good], found.value[found.narrow])
            alone[at[found.narrow]] = False
        for some in _same(questions, n, rows[alone]):
            curve = one.Curve(members[member[some[0]]], int(n[some[0]]), tol / 30.0)
            best[some] = np.maximum(best[some], curve.log_upper(eps[some]))
    return best
