"""The swap bound as a curve in eps: rows are victim pairs, each among others of several types (docs/swap.md).

At every eps a line is placed for the worst type, U is summed for it, and the other types are bounded cheaply on the
same line; those that may exceed the largest value so far are summed too, in falling order of their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from .. import tuning
from ..curve import Curve, Guess, Values, saddle_guess
from ..ledger import charge
from ..line import saddle, tilt
from ..pair import FloatArray, IntArray, Side
from ..rows import Laws, chunks, expose_rare, numbered, take_rows
from . import lines
from .lines import At
from .pair import Members, SwapPair, largest_of, ranges
from .waiting import Others, Waiting


class Tangent(NamedTuple):
    """A convex function at c, by row: its value, its slope, and the type whose function it is."""

    c: FloatArray
    value: FloatArray
    slope: FloatArray
    kind: IntArray


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
        self.spread = np.maximum.reduceat(members.spread[self._types], self._first) / n
        self.heavy = members.laws.t.size > tuning.CELLS
        self._laws: Laws | None = None
        self._seen: tuple[FloatArray, Values] | None = None
        self._lead, self._c = self._first, np.full(n.size, np.nan)
        self._ends = self._lead, self._lead  # the types on either side of c
        self._waiting: Waiting | None = None
        self._kept = np.zeros(n.size)
        #: The best way at some eps (lines.py), that eps and its abscissa; the way is used again nearby.
        self._way = np.zeros(n.size, dtype=np.int64)
        self._chosen_at, self._chosen_c = np.full((2, n.size), np.nan)

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
        """Some of the rows, with what is known of their lines."""
        part = type(self)(self.members, self.which[rows], self.n[rows], take_rows(self.others, rows), self.dither)
        part._lead, part._c = self._lead[rows] - self._first[rows] + part._first, self._c[rows]
        part._way, part._kept = self._way[rows], self._kept[rows]
        part._chosen_at, part._chosen_c = self._chosen_at[rows], self._chosen_c[rows]
        part._waiting = None if self._waiting is None else take_rows(self._waiting, rows)
        if self._seen is not None:
            eps, (value, slope) = self._seen
            part._seen = eps[rows], Values(value[rows], slope[rows])
        return part

    def _in_parts(self) -> list[IntArray]:
        """Rows that fit into scratch memory together."""
        cost = self.members.types[self.which] * float(self.members.laws.t.shape[1])
        return [np.arange(part.start, part.stop) for part in chunks(np.asarray(cost, dtype=np.float64))]

    @np.errstate(all="ignore")
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """U of the worst type on the best line, plus the term for the event that nobody is free."""
        parts = self._in_parts()
        if len(parts) > 1:
            found = [self.take(rows).at(eps[rows], rtol[rows]) for rows in parts]
            return Values(*(np.concatenate(part) for part in zip(*found, strict=True)))
        if self._seen is None or not np.array_equal(self._seen[0], eps):  # the accuracy does not depend on rtol
            self._seen = eps.copy(), self._evaluate(eps)
        return self._seen[1]

    def _evaluate(self, eps: FloatArray) -> Values:
        short, eps = self._slack - eps, np.maximum(eps - self._slack, 0.0)
        local = self.members.local(self.which, eps)
        live = np.flatnonzero(self._swaps & (eps < self._own_limit) & (local.log_delta > -np.inf))
        value, slope = np.where(eps < self._own_limit, local.log_delta, -np.inf), local.slope
        if live.size:
            part = self if live.size == eps.size else self.take(live)
            here, fall = part.placed(eps[live])
            largest = part._on_lines(here, eps[live])
            found = part._whole(largest, here, local.log_delta[live])
            share = np.where(found < value[live], np.exp(np.minimum(largest - found, 0.0)), 0.0)
            slope[live] = share * fall + (1.0 - share) * slope[live]
            value[live] = np.fmin(found, value[live])
        return Values(shifted(value, self._slack, short), np.where(np.isfinite(slope), slope, 1.0))

    @np.errstate(all="ignore")
    def crude(self, eps: FloatArray) -> FloatArray:
        """The cheap bounds of all types, on the line of the worst one."""
        parts = self._in_parts()
        if len(parts) > 1:
            return np.concatenate([self.take(rows).crude(eps[rows]) for rows in parts])
        short, eps = self._slack - eps, np.maximum(eps - self._slack, 0.0)
        local = self.members.local(self.which, eps).log_delta
        here, _ = self.placed(eps)
        value = np.fmin(self._whole(lines.largest_bound(here, self.dither), here, local), local)
        value = np.where(eps < self._own_limit, np.where(self._swaps, value, local), -np.inf)
        return shifted(value, self._slack, short)

    def _whole(self, value: FloatArray, here: At, log_local: FloatArray) -> FloatArray:
        """log delta, given the largest U + exposed of every row."""
        idle = np.maximum.reduceat(here.x.max(axis=1), here.first) <= 0.0  # then every mean of X is at most 0
        value = np.where(idle, np.maximum.reduceat(here.log_bare, here.first), value)
        return without_free_users(value, here.waiting.log_rest, self.others.lost, log_local)

    def placed(self, eps: FloatArray) -> tuple[At, FloatArray]:
        """The types at eps with the line of every row, and the slope -d log delta/d eps of the saddle-point formula."""
        if self._laws is None:
            n = self.n[self._owner]
            self._laws = expose_rare(take_rows(self.members.laws, self._types)._replace(n=n))
        x, bare = self._laws.at(eps[self._owner], "upper")
        t = self._laws.t
        self._c, self._lead, log_m = self._leaders(x, t)
        # between two types the slope is a mean of theirs, and one may be 0; the wider type decides the dither
        ends = [tilt(x[k], t[k], self._c) for k in (*self._ends, self._lead)]
        alike = [self._copies * (log_m - end.log_m) <= tuning.ALIKE for end in ends]
        variance = np.max([np.where(same, end.variance, 0.0) for same, end in zip(alike, ends, strict=True)], axis=0)
        deviation = np.maximum(np.sqrt(self._copies * variance), 1e-3 / self._c)
        falls = [(end.weight * self._laws.v[k]).sum(axis=1) for k, end in zip(self._ends, ends, strict=False)]
        slope = np.exp(eps) * self._c * self._copies * np.maximum(*falls)
        log_target = np.clip(self._copies * log_m - np.log(self._c * self.n), -745.0, 0.0)
        # a dither of s costs (s c)^2/2 of log delta: it must not be wider than that of a normal law with this target
        deviation = np.fmin(deviation, np.sqrt(tuning.WIDE - 2.0 * log_target) / self._c)
        waiting = self._waited(tuning.SWAP_CUT - np.where(np.isnan(log_target), -745.0, log_target))
        place = (self._owner, self._first, self._lead, self._c, deviation, self._copies, waiting)
        if t.shape[1] > 2 * tuning.GRID:
            y, mass = on_grid(x, t)
            # a few distant values make the cells wide; eps is about proportional to the root of E X^2
            if np.all((mass * y * y).sum(axis=1) <= (1.0 + tuning.GRID_COST) * (t * x * x).sum(axis=1)):
                x, t = y, mass
        return At(x, t, np.log(bare), *place), slope

    def _leaders(self, x: FloatArray, t: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """c near the minimum of the largest n log M_x(c) - 2 log c over types x; that type, and its log M(c).

        All these functions are convex in c.  So the minimum is on the side of c where the saddle of the largest one is,
        and it is not below the point where the tangents at both ends of the bracket meet.
        """
        lead, start = self._lead, None if np.isnan(self._c).any() else self._c
        c = own = self._saddle(x[lead], t[lead], start)
        unknown = np.full(c.size, np.nan)
        low, high = (Tangent(np.full(c.size, end), unknown, unknown, lead) for end in (0.0, np.inf))
        found = c, lead, np.full((2, c.size), np.inf)
        for _ in range(tuning.LEADERS):
            log_m = np.log1p((t * np.expm1(c[self._owner, None] * x)).sum(axis=1))
            worst = largest_of(log_m, self._owner, 1)
            if (worst != lead).any():
                own = self._saddle(x[worst], t[worst], c)
                lead = worst
            mean = (t[lead] * x[lead] * np.exp(c[:, None] * x[lead])).sum(axis=1) * np.exp(-log_m[lead])
            here = Tangent(c, self._copies * log_m[lead] - 2.0 * np.log(c), self._copies * mean - 2.0 / c, lead)
            better = ~(here.value >= found[2][0])
            found = (
                np.where(better, c, found[0]),
                np.where(better, lead, found[1]),
                np.where(better, [here.value, log_m[lead]], found[2]),
            )
            low = Tangent(*(np.where(own > c, new, old) for new, old in zip(here, low, strict=True)))
            high = Tangent(*(np.where(own > c, old, new) for new, old in zip(here, high, strict=True)))
            meet = (high.value - low.value + low.slope * low.c - high.slope * high.c) / (low.slope - high.slope)
            done = (np.abs(own - c) <= 1e-4 * c) | (found[2][0] - low.value - low.slope * (meet - low.c) <= 1e-4)
            if done.all():
                break
            c = np.where(done, c, np.where((low.c < own) & (own < high.c), own, meet))
            c = np.where((low.c <= c) & (c <= high.c), c, np.sqrt(low.c * high.c))
        self._ends = low.kind, high.kind
        return found[0], found[1], found[2][1]

    def _saddle(self, x: FloatArray, t: FloatArray, start: FloatArray | None) -> FloatArray:
        """The saddles of some laws, or 1 where the arithmetic fails: any abscissa is sound."""
        c = saddle(x, t, self._copies, start)
        return np.where((c > 0.0) & (c < 1e300), c, 1.0)

    def _waited(self, kept: FloatArray) -> Waiting:
        """Waiting times up to a rest below e^-kept, and a few more, so that they can be used again nearby."""
        if self._waiting is None or np.any(kept > self._kept):
            self._kept = 16.0 * np.ceil(1.1 * kept / 16.0)  # few distinct numbers: rows of one law share their sums
            self._waiting = Waiting.of(self.beta, self.others, self._kept)
        return self._waiting

    def _on_lines(self, here: At, eps: FloatArray) -> FloatArray:
        """max over types of log(U + exposed), in the best way, which is kept for nearby eps."""
        stale = ~(np.abs(eps - self._chosen_at) <= tuning.NEARBY * np.minimum(eps, self._own_limit - eps))
        stale |= ~(np.abs(here.c - self._chosen_c) <= tuning.SAME_LINE * here.c)  # at a kink c may jump
        value, old, new = np.empty(eps.size), np.flatnonzero(~stale), np.flatnonzero(stale)
        if old.size:
            value[old] = lines.in_way(here.take(old), self._way[old], self.dither)
        if new.size:
            value[new], self._way[new] = lines.best_way(here.take(new), self.dither)
            self._chosen_at[new], self._chosen_c[new] = eps[new], here.c[new]
        return value

    def guess(self, log_delta: FloatArray) -> Guess:
        """The saddle-point approximation of the few types of the largest spread, and what moduli and dither cost."""
        some = largest_of(self.members.spread[self._types], self._owner, tuning.GUESSED_TYPES)
        row, kind, laws = self._owner[some], self._types[some], self.members.laws
        law = laws.gap[kind], laws.v[kind], laws.t[kind]
        (eps, slope), _ = saddle_guess(*law, self._copies[row], log_delta[row], self._own_limit[row])
        q = 2.0 + slope**2 * self.members.spread[kind] / self._copies[row]
        eps = eps + 2.1 / (q**3 * slope)  # the cost of moduli in place of real parts, fitted to a Gaussian X
        worst = largest_of(np.where(self.members.spread[kind] > 0.0, eps, 0.0), row, 1)
        return Guess(np.maximum(eps[worst], 1e-17) * (1.0 + 0.5 * self.dither**2 + 1e-5), slope[worst])


@charge("very many symbols on a grid of X", "docs/swap.md, one dominating law")
def on_grid(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Laws on few values that dominate laws on many: every value is split between its two neighbors on a grid.

    Splitting keeps the mean, so E(X - a)_+ rises for every a.  A mass may be a sum of all given masses and lose 2^-53
    of itself with each addition.  As E(X - a)_+ is at most the range times Pr[X > a], raising all values by twice that
    share of the range, and by 1e-12 of the range, makes up for it.
    """
    low, span, last = x.min(axis=1, keepdims=True), np.ptp(x, axis=1, keepdims=True), tuning.GRID - 1
    place = (x - low) * (last / np.maximum(span, 1e-300))
    at = np.minimum(place.astype(np.int64), last - 1)
    cell, above = (at + tuning.GRID * np.arange(len(x))[:, None]).ravel(), np.clip(place - at, 0.0, 1.0) * t
    size = tuning.GRID * len(x)
    mass = np.bincount(cell, (t - above).ravel(), size) + np.bincount(cell + 1, above.ravel(), size)
    raised = 1e-12 + x.shape[1] * 2.0**-52
    return low + span * (np.arange(tuning.GRID) / last + raised), mass.reshape(len(x), -1).astype(np.float64)


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
