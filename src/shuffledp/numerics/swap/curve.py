"""The swap bound as a curve in eps: rows are victim pairs, each among others of several types (docs/swap.md).

At every eps a line is placed for the worst type, U is summed for it, and the other types are bounded cheaply on the
same line; those that may exceed the largest value so far are summed too, in falling order of their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from .. import tuning
from ..curve import Curve, Guess, Values, saddle_guess
from ..ledger import charge
from ..line import saddle, tilt
from ..pair import FloatArray, IntArray, Side
from ..rows import chunks, expose_rare, numbered, take_rows
from . import lines
from .lines import At
from .pair import Members, SwapPair, largest_of, ranges
from .waiting import Others, Waiting


class SwapCurve(Curve):
    """Victim pairs among others of several types."""

    side: Side = "upper"

    def __init__(self, members: Members, which: IntArray, n: FloatArray, others: Others, dither: float) -> None:
        """``which`` is the victim pair of every row."""
        self.members, self.which, self.n, self.others, self.dither = members, which, n, others, dither
        self._own_limit, self.floor, self.beta = members.limit[which], members.floor[which], members.beta[which]
        self._slack = members.slack[which]
        self.limit = self._own_limit + self._slack  # a law that is known up to a shift counts until there
        #: whether anybody may be free; if not, only the victim's own message counts
        self._swaps = (n > 2.0) & (n * self.beta > members.fewest_free[which])
        self._types, self._owner, self._first = ranges(members.start[which], members.types[which])
        self._copies = np.maximum(n - 1.0 / np.maximum(self.beta, 1e-15), 1.0)
        self._spread = members.spread[self._types]
        self.spread = np.maximum.reduceat(self._spread, self._first) / n
        self.heavy = members.laws.t.size > tuning.CELLS
        self._seen: tuple[FloatArray, Values] | None = None
        self._lead, self._c = self._first, np.full(n.size, np.nan)  # where the next search for a line starts

    @classmethod
    def of(cls, members: Sequence[SwapPair], n: FloatArray, tol: float) -> Self:
        """One row per victim pair and its n; ``tol`` is the requested relative accuracy of eps.

        Examples
        --------
        >>> from shuffledp.numerics.pair import ShuffledPair
        >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])
        >>> curve = SwapCurve.of([SwapPair((coin, coin.swapped()), 0.5)], np.array([1e3]), 1e-4)
        >>> curve.at(np.array([0.1]), np.array([1e-3])).log_delta.round(1).tolist()
        [-9.9]
        """
        first, which = numbered([id(member) for member in members])
        table = Members.of([members[i] for i in first.tolist()])
        return cls(table, which, n, Others.fixed(n), dither_for(tol))

    def take(self, rows: IntArray) -> Self:
        """Some of the rows, with their last values and lines."""
        part = type(self)(self.members, self.which[rows], self.n[rows], take_rows(self.others, rows), self.dither)
        part._lead, part._c = self._lead[rows] - self._first[rows] + part._first, self._c[rows]
        part._seen = None if self._seen is None else (self._seen[0][rows], take_rows(self._seen[1], rows))
        return part

    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """U of the worst type on the best line, plus the term for the event that nobody is free."""
        if self._seen is None or not np.array_equal(self._seen[0], eps):  # the accuracy does not depend on rtol
            self._seen = eps.copy(), self._values(eps, lines.smallest_maximum)
        return self._seen[1]

    def crude(self, eps: FloatArray) -> FloatArray:
        """The cheap bounds of all types, on the line of the worst one."""
        return self._values(eps, lines.largest_bound).log_delta

    @np.errstate(all="ignore")
    def _values(self, eps: FloatArray, largest: Callable[[At, float], FloatArray]) -> Values:
        """log delta and its slope, given a way to bound the largest U + exposed; parts fit into scratch memory."""
        cost = self.members.types[self.which] * float(self.members.laws.t.shape[1])
        if len(parts := chunks(np.asarray(cost, dtype=np.float64))) > 1:
            every = np.arange(eps.size)
            several = [self.take(every[part])._values(eps[part], largest) for part in parts]
            return Values(*map(np.concatenate, zip(*several, strict=True)))
        short, eps = self._slack - eps, np.maximum(eps - self._slack, 0.0)
        local = self.members.local(self.which, eps)
        value, slope = np.where(eps < self._own_limit, local.log_delta, -np.inf), local.slope
        live = np.flatnonzero(self._swaps & (value > -np.inf))
        if live.size:
            part = self if live.size == eps.size else self.take(live)
            here, fall = part.placed(eps[live])
            most = largest(here, self.dither)
            found = part._whole(most, here, value[live])
            share = np.where(found < value[live], np.exp(np.minimum(most - found, 0.0)), 0.0)
            slope[live] = share * fall + (1.0 - share) * slope[live]
            value[live] = np.fmin(found, value[live])
        return Values(shifted(value, self._slack, short), np.where(np.isfinite(slope), slope, 1.0))

    def _whole(self, value: FloatArray, here: At, log_local: FloatArray) -> FloatArray:
        """log delta, given the largest U + exposed of every row."""
        idle = np.maximum.reduceat(here.x.max(axis=1), here.first) <= 0.0  # then every mean of X is at most 0
        value = np.where(idle, np.maximum.reduceat(here.log_bare, here.first), value)
        return without_free_users(value, here.waiting.log_rest, self.others.lost, log_local)

    def placed(self, eps: FloatArray) -> tuple[At, FloatArray]:
        """The types at eps with the line of every row, and the slope -d log delta/d eps of the saddle-point formula."""
        owner, first, copies = self._owner, self._first, self._copies
        laws = expose_rare(take_rows(self.members.laws, self._types)._replace(n=self.n[owner]))
        (x, bare), t = laws.at(eps[owner], "upper"), laws.t
        c, lead = self._abscissas(x, t)
        at = tilt(x, t, c[owner])
        self._c, self._lead, log_m = c, lead, at.log_m[lead]
        variance, fall = at.variance[lead], (at.weight[lead] * laws.v[lead]).sum(axis=1)
        log_target = np.clip(copies * log_m - np.log(c * self.n), -745.0, 0.0)
        # a dither of s costs (s c)^2/2 of log delta: it must not be wider than that of a normal law with this target
        widest = np.sqrt(tuning.WIDE - 2.0 * log_target) / c
        deviation = np.fmin(np.maximum(np.sqrt(copies * variance), 1e-3 / c), widest)
        kept = 1.1 * (tuning.SWAP_CUT - np.where(np.isnan(log_target), -745.0, log_target))
        # few distinct numbers: rows of one law share their sums
        waiting = Waiting.of(self.beta, self.others, 16.0 * np.ceil(kept / 16.0))
        here = At(x, t, np.log(bare), owner, first, lead, c, deviation, waiting)
        return here, np.exp(eps) * c * copies * fall

    def _abscissas(self, x: FloatArray, t: FloatArray) -> tuple[FloatArray, IntArray]:
        """c near the minimum of the largest n log M_x(c) - 2 log c over types x, and the largest type there.

        All these functions are convex in c, so the minimum is on the side where the saddle of the largest one is.
        """
        lead, start = self._lead, None if np.isnan(self._c).any() else self._c
        c = own = saddle(x[lead], t[lead], self._copies, start)
        low, high = np.zeros(c.size), np.full(c.size, np.inf)
        for _ in range(tuning.LEADERS):
            worst = largest_of((t * np.expm1(c[self._owner, None] * x)).sum(axis=1), self._owner, 1)
            if (worst != lead).any():
                own, lead = saddle(x[worst], t[worst], self._copies, c), worst
            done = np.abs(own - c) <= 1e-3 * c
            if done.all():
                break
            low, high = np.where(own > c, c, low), np.where(own > c, high, c)
            c = np.where(done, c, np.where((low < own) & (own < high), own, np.sqrt(low * high)))
        return c, lead

    def guess(self, log_delta: FloatArray) -> Guess:
        """The saddle-point approximation of the few types of the largest spread, and what moduli and dither cost."""
        some = largest_of(self._spread, self._owner, tuning.GUESSED_TYPES)
        row, kind, laws = self._owner[some], self._types[some], self.members.laws
        law = laws.gap[kind], laws.v[kind], laws.t[kind]
        (eps, slope), _ = saddle_guess(*law, self._copies[row], log_delta[row], self._own_limit[row])
        q = 2.0 + slope**2 * self.members.spread[kind] / self._copies[row]
        eps = eps + 2.1 / (q**3 * slope)  # the cost of moduli in place of real parts, fitted to a Gaussian X
        worst = largest_of(np.where(self.members.spread[kind] > 0.0, eps, 0.0), row, 1)
        return Guess(np.maximum(eps[worst], 1e-17) * (1.0 + 0.5 * self.dither**2 + 1e-5), slope[worst])


def dither_for(tol: float) -> float:
    """The dither, in tilted deviations, for a relative accuracy ``tol`` of eps."""
    return min(max(math.sqrt(tol), lines.FINE), tuning.WIDEST_SWAP_DITHER)


@charge("laws that are known up to a shift of eps", "docs/proofs.md, Lemma 19")
def shifted(log_delta: FloatArray, slack: FloatArray, short: FloatArray) -> FloatArray:
    """log delta at eps from that at eps - slack; where eps is too small by ``short``, from that at 0.

    (P0 - e^-a P1)_+ is at most (P0 - P1)_+ and (1 - e^-a) P1 <= a P1.
    """
    more = np.logaddexp(log_delta, np.log(np.maximum(short, 1e-300)))
    return np.asarray(np.where(short > 0.0, more, log_delta) + slack)


@charge("nobody is free, or too few others", "docs/swap.md, Theorem 1")
def without_free_users(value: FloatArray, log_rest: FloatArray, lost: FloatArray, log_local: FloatArray) -> FloatArray:
    """log of U + (Pr[k is not summed] + Pr[too few others]) local(E), rounded up; inf where U is not a number.

    In either event only the victim's own message hides its value, which costs local(E) = sum (P0 - E P1)_+.
    """
    rest = np.logaddexp(log_rest, np.log(lost)) + log_local
    whole = np.logaddexp(value, rest) + 1e-13
    return np.where(np.isnan(whole), np.inf, whole)
