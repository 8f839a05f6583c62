"""The largest U over all types of a row, on the best of several lines, or by one law that dominates all types.

(c, h, s) must be the same for all types of a row (docs/swap.md, "Common contour"), so the types are compared on one
line at a time, and the best line is the one with the smallest maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import tuning
from ..ledger import charge
from ..line import saddle, tilt
from ..pair import FloatArray, IntArray
from ..rows import take_rows
from .pair import largest_of, ranges
from .sums import Line, Swapped, log_normal, log_screen, log_upper
from .waiting import Waiting

#: Dither of the usual line, in tilted deviations: it raises eps by half its square, relatively.
FINE = 0.01
#: Lines to try: the abscissa relative to the saddle, and the dither.
LINES = (
    *((1.0, FINE), (0.9, FINE), (1.1, FINE), (1.0, 0.05), (1.0, 0.1)),
    *((1.0, 0.2), (0.9, 0.1), (0.9, 0.2), (1.1, 0.1)),
)
_SCALES, _DITHERS = (np.array(part) for part in zip(*LINES, strict=True))
_USUAL = _DITHERS == FINE
#: Values of X closer together than this share of E(X - a)_+ are merged: slopes between them would be noise.
_COINCIDE = 2.0**-24


class At(NamedTuple):
    """The types of all rows in one list, each row at its eps, and its line; ``owner`` is the row of a type."""

    x: FloatArray
    t: FloatArray
    log_bare: FloatArray
    owner: IntArray
    first: IntArray  # by row: the place of its first type
    lead: IntArray  # by row: its likeliest type
    c: FloatArray
    deviation: FloatArray
    copies: FloatArray
    waiting: Waiting

    @property
    def types(self) -> IntArray:
        """How many types every row has."""
        return np.diff(self.first, append=self.owner.size)

    def take(self, rows: IntArray) -> At:
        """Some of the rows."""
        if rows.size == self.first.size:
            return self
        flat, owner, first = ranges(self.first[rows], self.types[rows])
        x, t, bare = (part[flat] for part in (self.x, self.t, self.log_bare))
        c, deviation, copies = (part[rows] for part in (self.c, self.deviation, self.copies))
        lead = self.lead[rows] - self.first[rows] + first
        return At(x, t, bare, owner, first, lead, c, deviation, copies, take_rows(self.waiting, rows))

    def on(self, types: IntArray, line: Line) -> Swapped:
        """Some types, given their lines."""
        x = self.x[types]
        return Swapped(x, tilt(x, self.t[types], line.c), take_rows(self.waiting, self.owner[types]), line)

    def line(self, rows: IntArray, k: IntArray, dither: float) -> Line:
        """Line k of some rows; ``dither`` is that of the usual lines."""
        return Line.at(_SCALES[k] * self.c[rows], self.deviation[rows], np.where(_USUAL, dither, _DITHERS)[k])


def largest_bound(here: At, dither: float) -> FloatArray:
    """A cheap upper value of the largest log(U + exposed) over all types of every row."""
    line = here.line(here.owner, np.zeros_like(here.owner), dither)
    bound = np.logaddexp(log_screen(here.on(np.arange(here.owner.size), line)), here.log_bare)
    return np.maximum.reduceat(bound, here.first)


def smallest_maximum(here: At, dither: float) -> FloatArray:
    """max over types of log(U + exposed) of every row, on the best of several lines, or by one dominating law.

    If the saddle is only a few deviations from 0, moduli cost much: one dominating law, or other abscissas, may be
    better.  If one X is many steps wide, lattices resonate, and wider dithers may be better.
    """
    flat = on_line(here, np.zeros_like(here.first), dither)
    value = np.maximum.reduceat(flat, here.first)
    close = here.c * here.deviation < tuning.CLOSE
    law = here.x[here.lead]
    grainy = (law.max(axis=1) - law.min(axis=1)) > tuning.GRAINY * here.deviation
    if grainy.any():
        grainy &= _resonates(here, flat, dither)
    able = (close | grainy) & (here.types * here.x.shape[1] <= tuning.MOST_JOINED)
    rows = np.flatnonzero(able & (here.waiting.closed | (here.waiting.others.shape[1] == 1)))  # else A has many blocks
    if rows.size:
        found = by_join(here.take(rows), dither)
        close[rows[found < value[rows]]] = False
        value[rows] = np.fmin(value[rows], found)
    if (close | grainy).any():
        best, k = _best_line(here, flat, (close[:, None] & _USUAL) | (grainy[:, None] & ~_USUAL), dither)
        rows = np.flatnonzero(best < value)
        if rows.size:
            part = here.take(rows)
            value[rows] = np.fmin(value[rows], np.maximum.reduceat(on_line(part, k[rows], dither), part.first))
    return value


def _resonates(here: At, flat: FloatArray, dither: float) -> np.ndarray:
    """Whether the worst type exceeds what nodes of a normal law add by half of what the next wider dither costs."""
    worst = largest_of(flat, here.owner, 1)
    line = here.line(np.arange(worst.size), np.zeros_like(worst), dither)
    cost = 0.5 * (_DITHERS[~_USUAL].min() * line.c * here.deviation) ** 2
    return np.asarray(~(flat[worst] <= log_normal(here.on(worst, line), here.copies) + 0.5 * cost))


def _best_line(here: At, flat: FloatArray, tried: np.ndarray, dither: float) -> tuple[FloatArray, IntArray]:
    """The line of every row on which its few worst types have the smallest maximum; ``flat`` is log U on the first."""
    some = largest_of(flat, here.owner, tuning.CONTENDERS)
    some = some[flat[some] > np.maximum.reduceat(flat, here.first)[here.owner[some]] - tuning.BEHIND]
    tried[:, 0] = False
    kind, k = np.nonzero(tried[here.owner[some]])
    kind = some[kind]
    row = here.owner[kind]
    found = np.logaddexp(log_upper(here.on(kind, here.line(row, k, dither))), here.log_bare[kind])
    most = np.where(tried, -np.inf, np.inf)
    np.maximum.at(most, (row, k), found)
    best = most.argmin(axis=1)
    return most[np.arange(best.size), best], best


def on_line(here: At, k: IntArray, dither: float) -> FloatArray:
    """log(U + exposed) on line k of every row, by type; -inf for types whose bounds are below the largest value."""
    owner, bare, lead = here.owner, here.log_bare, here.lead
    every = here.on(np.arange(owner.size), take_rows(here.line(np.arange(lead.size), k, dither), owner))
    if owner.size == lead.size:
        return np.logaddexp(log_upper(every), bare)
    value, bound = np.full(owner.size, -np.inf), np.logaddexp(log_screen(every), bare)
    some = lead
    while some.size:
        value[some] = np.logaddexp(log_upper(take_rows(every, some)), bare[some])
        bound[some] = -np.inf
        best = np.maximum.reduceat(value, here.first)
        left = np.flatnonzero(~(bound <= best[owner]) & (best < 0.0)[owner])
        some = left[largest_of(bound[left], owner[left], tuning.AT_ONCE)]
    # a row that reaches log 1 ends early: its open types cannot matter
    return value


def by_join(here: At, dither: float) -> FloatArray:
    """log(U + exposed) for one law that dominates every type; inf where it is much wider than the types.

    Symbols that some types never send are split off first, as in Theorem 1: they add at most the largest exposed.
    """
    types = here.types[:, None]
    kind = here.first[:, None] + np.minimum(np.arange(types.max()), types - 1)  # the last type may be repeated
    x, t = here.x[kind], here.t[kind]
    y, mass = join(x, t)
    good = np.flatnonzero((mass * y * y).sum(axis=1) <= tuning.NEARLY_JOINED * (t * x * x).sum(axis=2).max(axis=1))
    out = np.full(here.first.size, np.inf)
    if good.size:
        y, mass, copies = y[good], mass[good], here.copies[good]
        c = saddle(y, mass, copies, here.c[good])
        at = tilt(y, mass, c)
        deviation = np.maximum(np.sqrt(copies * at.variance), 1e-3 / c)
        line = Line.at(c, deviation, np.full(c.size, dither))
        out[good] = log_upper(Swapped(y, at, take_rows(here.waiting, good).in_blocks(), line), phases=True)
    return np.asarray(np.logaddexp(out, np.maximum.reduceat(here.log_bare, here.first)))


def join(x: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least law on the values of all types (row, type, symbol) that dominates each in increasing convex order.

    E(X - a)_+ of every type is convex in a, and linear between the values.  The largest of these at each value,
    connected by straight lines, is convex too: it is E(Y - a)_+ of a law whose masses are the changes of slope.
    """
    rows = len(x)
    points = np.sort(np.concatenate([x.reshape(rows, -1), np.zeros((rows, 1))], axis=1), axis=1)
    least = np.max([_excess(x[:, k], t[:, k], points) for k in range(x.shape[1])], axis=0)
    step, span = np.diff(points, axis=1), (points[:, -1] - points[:, 0])[:, None]
    apart = step > _COINCIDE * least[:, :-1] + 1e-12 * span
    slope = np.where(apart, np.diff(least, axis=1) / np.where(apart, step, 1.0), np.nan)
    slope = np.concatenate([np.full((rows, 1), -1.0), slope, np.zeros((rows, 1))], axis=1)
    for i in range(1, slope.shape[1]):  # merged values keep the slope before them, which only raises the function
        slope[:, i] = np.where(np.isnan(slope[:, i]), slope[:, i - 1], slope[:, i])
    mass = np.maximum(np.diff(slope, axis=1), 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1.0) * (1.0 + 1e-15)  # a law, even after rounding
    return raised_values(points, mass, least, span), mass


def _excess(x: FloatArray, t: FloatArray, points: FloatArray) -> FloatArray:
    """E(X - a)_+ at every point a; "nothing" counts as the value 0."""
    excess = (np.maximum(x[:, None, :] - points[:, :, None], 0.0) @ t[:, :, None])[:, :, 0]
    return np.asarray(excess + np.maximum(1.0 - t.sum(axis=1), 0.0)[:, None] * np.maximum(-points, 0.0))


@charge("rounding of the law that dominates all types", "docs/swap.md, one dominating law")
def raised_values(points: FloatArray, mass: FloatArray, least: FloatArray, span: FloatArray) -> FloatArray:
    """The values of Y, raised so that E(Y - a)_+ is at least ``least`` at every a although the masses are rounded.

    E(Y - a)_+ is summed again from the masses.  As it is at most range Pr[Y > a], raising all values by the range times
    the largest relative shortfall makes up for it at every a.
    """
    excess = _excess(points, mass, points)
    short = np.where(least > 0.0, least / np.maximum(excess, 1e-300), 1.0).max(axis=1) - 1.0
    return np.asarray(points + span * (np.maximum(short, 0.0)[:, None] + 1e-12))
