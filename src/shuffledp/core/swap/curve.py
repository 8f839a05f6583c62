"""The swap bound as a curve in eps: rows are victim pairs, each among others of several types (docs/swap.md).

At every eps a line is placed for the worst type, U is summed for it, and the other types are bounded cheaply on the same
line; those that may exceed the largest value so far are summed too, in falling order of their bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import tuning
from ..curve import Curve, Guess, Values, saddle_guess
from ..ledger import charge
from ..line import saddle, tilt
from ..pair import FloatArray, IntArray, Side
from ..rows import ULP, Laws, chunks, expose_rare, law_shift, numbered, pad
from .pair import SwapPair, stack
from .sums import Line, Swapped, log_screen, log_upper
from .waiting import Waiting

#: Lines that may be tried: the abscissa over the saddle, and the dither in tilted deviations.
_FINE = 0.01
_LINES = (
    (1.0, _FINE),
    (0.9, _FINE),
    (1.1, _FINE),
    (1.0, 0.05),
    (1.0, 0.1),
    (1.0, 0.2),
    (0.9, 0.1),
    (0.9, 0.2),
    (1.1, 0.1),
)
_SCALES, _DITHERS = (np.array(part) for part in zip(*_LINES, strict=True))


class Others(NamedTuple):
    """How many others there are, by row: several numbers with probabilities; with probability ``lost`` they do not count."""

    number: FloatArray  # (row, part)
    log_mass: FloatArray  # (row, part)
    lost: FloatArray  # (row)

    @classmethod
    def fixed(cls, n: FloatArray) -> Others:
        """All but the victim of n users."""
        return cls(n[:, None] - 1.0, np.zeros((n.size, 1)), np.zeros(n.size))

    def take(self, rows: IntArray) -> Others:
        """Some of the rows."""
        return Others(*(part[rows] for part in self))


class Members(NamedTuple):
    """Different victim pairs, with all their types in one table; rows of a curve refer to them by number."""

    laws: Laws
    start: IntArray
    count: IntArray
    beta: FloatArray
    limit: FloatArray
    floor: FloatArray
    gap: FloatArray  # P0 - P1 of the victim alone: (member, pair, symbol)
    p1: FloatArray

    @classmethod
    def of(cls, members: Sequence[SwapPair]) -> Members:
        """Their tables, one below the other."""
        count = np.array([len(member.laws.t) for member in members])
        mass = np.array([member.common_mass for member in members])
        beta = np.where(mass >= 1.0, 1.0, np.minimum(mass * (1.0 - ULP), 1.0 - 2.0**-53))
        gap, p1 = (pad([member.local[k] for member in members]) for k in (0, 1))
        limit, floor = (np.array(part) for part in zip(*((m.limit, m.floor) for m in members), strict=True))
        return cls(stack([m.laws for m in members]), np.cumsum(count) - count, count, beta, limit, floor, gap, p1)


class _At(NamedTuple):
    """The types of all rows at one eps each, flat, and the line of every row; ``owner`` is the row of a type."""

    x: FloatArray
    t: FloatArray
    log_bare: FloatArray
    owner: IntArray
    first: IntArray  # by row: where its types start
    lead: IntArray  # by row: its likeliest type
    c: FloatArray
    deviation: FloatArray
    waiting: Waiting
    log_local: FloatArray

    def take(self, rows: IntArray) -> _At:
        """Some of the rows."""
        count = np.diff(self.first, append=self.owner.size)[rows]
        flat, owner, first = ranges(self.first[rows], count)
        types = (part[flat] for part in (self.x, self.t, self.log_bare))
        by_row = (part[rows] for part in (self.c, self.deviation))
        lead = self.lead[rows] - self.first[rows] + first
        return _At(*types, owner, first, lead, *by_row, self.waiting.take(rows), self.log_local[rows])

    def on(self, types: IntArray, line: Line) -> Swapped:
        """Some types, given their lines."""
        x, row = self.x[types], self.owner[types]
        return Swapped(x, tilt(x, self.t[types], line.c), self.waiting.take(row), line)


def ranges(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """start_i, ..., start_i + count_i - 1 for every i in turn; which i each belongs to; and where those of i begin.

    Examples
    --------
    >>> [x.tolist() for x in ranges(np.array([5, 0]), np.array([2, 3]))]
    [[5, 6, 0, 1, 2], [0, 0, 1, 1, 1], [0, 2]]
    """
    owner = np.repeat(np.arange(count.size), count)
    first = np.cumsum(count) - count
    return np.arange(owner.size) + (start - first)[owner], owner, first


def _largest_of(value: FloatArray, owner: IntArray, most: int) -> IntArray:
    """The places of the ``most`` largest values of every owner; the owners are in order."""
    order = np.lexsort((-value, owner))
    return order[np.arange(order.size) - np.searchsorted(owner, owner) < most]


class SwapCurve(Curve):
    """Victim pairs among others of several types."""

    side: Side = "upper"

    def __init__(self, members: Members, which: IntArray, n: FloatArray, others: Others, dither: float) -> None:
        """``which`` is the victim pair of every row."""
        self.members, self.which, self.n, self.others, self._dither = members, which, n, others, dither
        self.limit, self.floor, self.beta = members.limit[which], members.floor[which], members.beta[which]
        flat, self._owner, self._first = ranges(members.start[which], members.count[which])
        self._types = flat
        self._copies = np.maximum(n - 1.0 / np.maximum(self.beta, 1e-15), 1.0)
        self._widths = (members.laws.t * members.laws.gap**2).sum(axis=1)
        self.spread = np.maximum.reduceat(self._widths[flat], self._first) / n
        self._laws: Laws | None = None
        self._lead = self._first
        self._c = np.full(n.size, np.nan)
        self._kept, self._waiting = np.zeros(n.size), None
        #: The line that was best at some eps, and that eps: it is used nearby.
        self._best, self._chosen_at = np.zeros(n.size, dtype=np.int64), np.full(n.size, np.nan)

    @classmethod
    def of(cls, members: Sequence[SwapPair], n: FloatArray, tol: float) -> SwapCurve:
        """One row per victim pair and its n; ``tol`` is the relative accuracy wanted of eps.

        Examples
        --------
        >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])
        >>> curve = SwapCurve.of([SwapPair((coin, coin.swapped()), 0.5)], np.array([1e3]), 1e-4)
        >>> curve.at(np.array([0.1]), np.array([1e-3])).log_delta.round(1).tolist()
        [-8.5]
        """
        first, which = numbered([id(member) for member in members])
        table = Members.of([members[i] for i in first.tolist()])
        dither = min(max(tol**0.5, _FINE), tuning.WIDEST_SWAP_DITHER)
        return cls(table, which, n, Others.fixed(n), dither)

    def take(self, rows: IntArray) -> SwapCurve:
        """Some of the rows, with what is known of their lines."""
        part = SwapCurve(self.members, self.which[rows], self.n[rows], self.others.take(rows), self._dither)
        part._lead, part._c = self._lead[rows] - self._first[rows] + part._first, self._c[rows]
        part._best, part._chosen_at, part._kept = self._best[rows], self._chosen_at[rows], self._kept[rows]
        part._waiting = None if self._waiting is None else self._waiting.take(rows)
        return part

    def _in_parts(self) -> list[IntArray]:
        """Rows that fit into scratch memory together."""
        cost = self.members.count[self.which] * float(self.members.laws.t.shape[1])
        return [np.arange(part.start, part.stop) for part in chunks(cost)]

    @np.errstate(all="ignore")
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """The worst type on the best line, and what is left where nobody is free."""
        parts = self._in_parts()
        if len(parts) > 1:
            found = [self.take(rows).at(eps[rows], rtol[rows]) for rows in parts]
            return Values(*(np.concatenate(part) for part in zip(*found, strict=True)))
        here, laws = self._placed(eps)
        value = self._on_lines(here, eps)
        weight = here.t[here.lead] * np.exp(here.c[:, None] * here.x[here.lead])
        mass = weight.sum(axis=1) + 1.0 - here.t[here.lead].sum(axis=1)
        slope = np.exp(eps) * here.c * self._copies * (weight * laws.v[here.lead]).sum(axis=1) / mass
        return Values(self._whole(value, here, eps), np.where(np.isfinite(slope), slope, 1.0))

    @np.errstate(all="ignore")
    def crude(self, eps: FloatArray) -> FloatArray:
        """All types by their cheap bounds, on the line of the worst one."""
        parts = self._in_parts()
        if len(parts) > 1:
            return np.concatenate([self.take(rows).crude(eps[rows]) for rows in parts])
        here, _ = self._placed(eps)
        line = Line.at(here.c, here.deviation, np.full(here.c.size, self._dither)).take(here.owner)
        screen = np.logaddexp(log_screen(here.on(np.arange(here.owner.size), line)), here.log_bare)
        return self._whole(np.maximum.reduceat(screen, here.first), here, eps)

    def _whole(self, value: FloatArray, here: _At, eps: FloatArray) -> FloatArray:
        """log delta, given the largest U + exposed of every row."""
        idle = np.maximum.reduceat(here.x.max(axis=1), here.first) <= 0.0  # every mean of X is then at most 0
        value = np.where(idle, np.maximum.reduceat(here.log_bare, here.first), value)
        value = without_free_users(value, here.waiting.log_rest, self.others.lost, here.log_local)
        hopeless = (self.n <= 2.0) | (self.n * self.beta <= tuning.NOBODY_FREE)
        value = np.where(hopeless, here.log_local, np.fmin(value, here.log_local))
        return np.where(eps >= self.limit, -np.inf, value)

    def _placed(self, eps: FloatArray) -> tuple[_At, Laws]:
        """The types at eps, the likeliest one of every row, its saddle and the waiting times that matter there."""
        if self._laws is None:
            n = self.n[self._owner]
            self._laws = expose_rare(self.members.laws.take(self._types)._replace(n=n))
        laws, owner, first = self._laws, self._owner, self._first
        x, bare = laws.at(eps[owner], "upper")
        c, lead, log_m = self._leaders(x, laws.t)
        at = tilt(x[lead], laws.t[lead], c)
        deviation = np.maximum(np.sqrt(self._copies * at.variance), 1e-3 / c)
        self._c, self._lead = c, lead
        log_target = np.clip(self._copies * log_m - np.log(c * self.n), -745.0, 0.0)
        waiting = self._waited(tuning.WAITS_KEPT - np.where(np.isnan(log_target), -745.0, log_target))
        growth = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), "upper"))[:, None, None]
        local = np.maximum(self.members.gap[self.which] - growth * self.members.p1[self.which], 0.0).sum(axis=2)
        log_local = np.log(np.minimum(local.max(axis=1), 1.0)) + 1e-12
        return _At(x, laws.t, np.log(bare), owner, first, lead, c, deviation, waiting, log_local), laws

    def _leaders(self, x: FloatArray, t: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        """An abscissa for every row, near the minimum over c of the largest of n log M_x(c) - 2 log c; that type; log M.

        The saddle of one type after the other, until it is largest at its own.
        """
        lead, start = self._lead, None if np.isnan(self._c).any() else self._c
        best = np.full(lead.size, np.inf)
        found = (np.ones(lead.size), lead, np.zeros(lead.size))
        for _ in range(tuning.LEADERS):
            c = saddle(x[lead], t[lead], self._copies, start)
            c = np.where((c > 0.0) & (c < 1e300), c, 1.0)
            log_m = np.log1p((t * np.expm1(c[self._owner, None] * x)).sum(axis=1))
            worst = _largest_of(log_m, self._owner, 1)
            height = self._copies * log_m[worst] - 2.0 * np.log(c)
            better = height < best
            found = tuple(np.where(better, new, old) for new, old in zip((c, worst, log_m[worst]), found, strict=True))
            best = np.fmin(best, height)
            if (worst == lead).all():
                break
            lead, start = worst, c
        return found

    def _waited(self, kept: FloatArray) -> Waiting:
        """Waiting times up to where the rest is below e^-kept, and more, so that they serve nearby."""
        if self._waiting is None or np.any(kept > self._kept):
            self._kept = 1.1 * kept
            self._waiting = Waiting.of(self.beta, self.others.number, self.others.log_mass, self._kept)
        return self._waiting

    def _on_lines(self, here: _At, eps: FloatArray) -> FloatArray:
        """max over types of log(U + exposed), on the best of some lines; the one that was best is so nearby."""
        stale = ~(np.abs(eps - self._chosen_at) <= tuning.NEARBY * eps)
        self._best[stale] = 0
        value, lead = self._over_types(here, self._best)
        rows = np.flatnonzero(stale)
        self._chosen_at[rows] = eps[rows]
        wide, law = here.deviation[rows], here.x[lead[rows]]
        close = here.c[rows] * wide < tuning.CLOSE
        grainy = (law.max(axis=1) - law.min(axis=1)) > tuning.GRAINY * wide
        fine = _DITHERS == _FINE
        row, k = np.nonzero((close[:, None] & fine) | (grainy[:, None] & ~fine))
        row, k = row[k > 0], k[k > 0]
        if not row.size:
            return value
        row = rows[row]
        line = Line.at(_SCALES[k] * here.c[row], here.deviation[row], self._dithers[k])
        found = np.logaddexp(log_upper(here.on(lead[row], line)), here.log_bare[lead[row]])
        order = np.lexsort((found, row))
        best = order[np.unique(row[order], return_index=True)[1]]
        best = best[found[best] < value[row[best]]]
        self._best[row[best]] = k[best]
        if best.size:
            better = row[best]
            value[better] = np.fmin(value[better], self._over_types(here.take(better), k[best])[0])
        return value

    @property
    def _dithers(self) -> FloatArray:
        return np.where(_DITHERS == _FINE, self._dither, _DITHERS)

    def _over_types(self, here: _At, k: IntArray) -> tuple[FloatArray, IntArray]:
        """max over types of log(U + exposed) on line k of every row, and the type where it is."""
        owner = here.owner
        line = Line.at(_SCALES[k] * here.c, here.deviation, self._dithers[k])
        value = np.full(owner.size, -np.inf)
        value[here.lead] = np.logaddexp(log_upper(here.on(here.lead, line)), here.log_bare[here.lead])
        best = value[here.lead]
        if owner.size == best.size:
            return best, here.lead
        every = here.on(np.arange(owner.size), line.take(owner))
        bound = np.logaddexp(log_screen(every), here.log_bare)
        bound[here.lead] = -np.inf
        while True:
            left = np.flatnonzero(~(bound <= best[owner]) & (best < here.log_local)[owner])
            if not left.size:
                break
            some = left[_largest_of(bound[left], owner[left], tuning.AT_ONCE)]
            value[some] = np.logaddexp(log_upper(every.take(some)), here.log_bare[some])
            bound[some] = -np.inf
            np.maximum.at(best, owner[some], value[some])
        return best, _largest_of(value, owner, 1)

    def guess(self, log_delta: FloatArray) -> Guess:
        """That of the few types of the largest spread, by the saddle-point approximation."""
        some = self._types[_largest_of(self._widths[self._types], self._owner, tuning.GUESSED_TYPES)]
        row = self._owner[_largest_of(self._widths[self._types], self._owner, tuning.GUESSED_TYPES)]
        laws = self.members.laws
        eps, slope = saddle_guess(
            laws.gap[some], laws.v[some], laws.t[some], self._copies[row], log_delta[row], self.limit[row]
        )[0]
        eps = np.where(self._widths[some] > 0.0, eps, 1e-17)
        worst = _largest_of(eps, row, 1)
        return Guess(eps[worst] * (1.0 + 0.5 * self._dither**2), slope[worst])


@charge("nobody is free, or too few others", "docs/swap.md, Theorem 1")
def without_free_users(value: FloatArray, log_rest: FloatArray, lost: FloatArray, log_local: FloatArray) -> FloatArray:
    """log of U + (Pr[k is not summed] + Pr[too few others]) local(E), rounded up; inf where U is not a number.

    In either case all but the victim's own message is revealed, which costs local(E) = sum (P0 - E P1)_+.
    """
    rest = np.logaddexp(log_rest, np.log(lost)) + log_local
    whole = np.logaddexp(value, rest) + 1e-13
    return np.where(np.isnan(whole), np.inf, whole)
