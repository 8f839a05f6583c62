"""The largest U over all types of a row, on the best of several lines.

(c, h, s) must be the same for all types of a row (docs/swap.md, "Common contour"), so the types are compared on one
line at a time, and the best line is the one with the smallest maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import tuning
from ..line import tilt
from ..pair import FloatArray, IntArray
from ..rows import take_rows
from .pair import largest_of, ranges
from .sums import Line, Swapped, log_screen, log_upper
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
        lead = self.lead[rows] - self.first[rows] + first
        return At(x, t, bare, owner, first, lead, self.c[rows], self.deviation[rows], take_rows(self.waiting, rows))

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
    """max over types of log(U + exposed) of every row, on the best of several lines.

    If the saddle is only a few deviations from 0, moduli cost much, and other abscissas may be better.  If one X is
    many steps wide, lattices resonate, and wider dithers may be better.
    """
    flat = on_line(here, np.zeros_like(here.first), dither)
    value = np.maximum.reduceat(flat, here.first)
    close = here.c * here.deviation < tuning.CLOSE
    law = here.x[here.lead]
    grainy = (law.max(axis=1) - law.min(axis=1)) > tuning.GRAINY * here.deviation
    if (close | grainy).any():
        best, k = _best_line(here, flat, (close[:, None] & _USUAL) | (grainy[:, None] & ~_USUAL), dither)
        rows = np.flatnonzero(best < value)
        if rows.size:
            part = here.take(rows)
            value[rows] = np.fmin(value[rows], np.maximum.reduceat(on_line(part, k[rows], dither), part.first))
    return value


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
