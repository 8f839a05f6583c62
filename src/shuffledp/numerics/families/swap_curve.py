"""The swap bound of one victim pair as a curve in eps: the worst type, the best line, and a law that dominates all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift
from ..evaluators.contour import LogBracket
from ..pair import FloatArray
from .knots import try_ways
from .swap_join import join
from .swap_pair import SwapPair

#: Dither in units of the tilted deviation: it costs its square over 2 of eps.
FINE, _COARSE = 0.01, 0.05
#: Where one user's X is more than this many steps of the sum, lattices resonate, and other lines may be better.
GRAINY = 0.1
#: Below this many deviations the modulus costs so much that the law that dominates every type is tried too.
CLOSE = 3.5
#: It is used if its spread is at most this far above that of the worst type; if it is worse by so much of log delta, it
#: is not tried again nearby.
_NEARLY, _MUCH = 1.1, 0.05
#: What was best at one eps is so up to this part of it.
_NEARBY = 0.01
#: Free users that are expected, below which the swap bound is the local delta to within this part.
_NOBODY = 1e-6
#: Types x symbols up to which that law is worth its price, and up to which other lines are.
MOST_JOINED, MOST_SHARPENED = 256, 1024
#: The number of the dominating law among the ways to improve a row; the others are those of the lines.
_JOIN = -1


class Option(NamedTuple):
    """Another line to try: the abscissa over the saddle, and the dither (or one of them per row)."""

    scale: Any
    dither: Any


OPTIONS = tuple(
    Option(*option)
    for option in ((0.9, FINE), (1.1, FINE), (1.0, 0.05), (1.0, 0.1), (1.0, 0.2), (0.9, 0.1), (0.9, 0.2), (1.1, 0.1))
)


class Rows(NamedTuple):
    """Laws of X (eps, type, symbol), what is exposed (eps, type); the leading type, its saddle and its bend (eps)."""

    x: FloatArray
    t: FloatArray
    alone: FloatArray
    worst: np.ndarray
    c: FloatArray
    bend: FloatArray
    #: log of a sum that is of no use: with it the bound is above the local delta
    useless: FloatArray
    eps: FloatArray

    def at(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        return Rows(*(part[rows] for part in self))

    @property
    def deviations(self) -> FloatArray:
        """How many deviations of the sum the abscissa is from 0."""
        return np.asarray(self.c * np.sqrt(self.bend))

    @property
    def grain(self) -> FloatArray:
        """How many deviations of the sum one user's X may be."""
        own = self.x[np.arange(len(self.x)), self.worst]
        return np.asarray((own.max(axis=1) - own.min(axis=1)) / np.sqrt(np.maximum(self.bend, 1e-300)))


def largest(here: Rows, waiting: swap.Waiting, option: Option) -> FloatArray:
    """max over types of log(U + what is exposed): the leading type, then those that may exceed it."""
    rows, types, symbols = here.x.shape
    at, worst, bare = np.arange(rows), here.worst, np.log(here.alone)
    line = swap.line_at(option.scale * here.c, here.bend, option.dither)
    first = swap.log_upper(here.x[at, worst], here.t[at, worst], waiting, line)
    value: FloatArray = np.asarray(np.logaddexp(first, bare[at, worst]))
    useful = ~(value >= here.useless)
    if types == 1 or not useful.any():
        return value
    each = np.repeat(at, types)
    laws = here.x.reshape(-1, symbols), here.t.reshape(-1, symbols)
    screen = swap.log_screen(*laws, waiting.at(each), line.at(each))
    open_ = ~(np.logaddexp(screen.reshape(rows, types), bare) <= value[:, None])
    open_[at, worst] = False
    open_ &= useful[:, None]
    row, kind = np.nonzero(open_)
    if row.size:
        other = swap.log_upper(here.x[row, kind], here.t[row, kind], waiting.at(row), line.at(row))
        np.maximum.at(value, row, np.logaddexp(other, bare[row, kind]))
    return value


def dither_for(tol: float) -> float:
    """The dither, in units of the tilted deviation, that suits a relative accuracy ``tol`` of eps."""
    return min(max(math.sqrt(tol), FINE), _COARSE)


class Curve:
    """The swap bound of one victim pair among n users, in the form that the solver asks for."""

    side: Side = "upper"

    def __init__(self, member: SwapPair, n: int, tol: float) -> None:
        """``tol`` is the relative accuracy wanted of eps; that of delta is about 30 times as much."""
        self.member, self.n = member, n
        self.dither = dither_for(tol)
        #: the line of the saddle and others, until the best one at some eps is known
        self._plain = Option(1.0, self.dither)
        self._options: Sequence[Option] = (self._plain, *OPTIONS)
        self._chosen_at = math.nan
        #: whether a law that dominates every type may help
        self._join = True

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log delta (the lower end makes no claim), and its slope in eps."""
        at = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        upper, fall = self._evaluate(np.minimum(at, LARGEST_EPSILON))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return LogBracket(upper, np.full(at.shape, -np.inf), -fall * np.exp(upper))

    def log_upper(self, eps: FloatArray) -> FloatArray:
        """log delta at every eps."""
        return self._evaluate(np.minimum(np.asarray(eps, dtype=np.float64), LARGEST_EPSILON))[0]

    def _waiting(self, log_target: float) -> swap.Waiting:
        """How many others are looked at in vain, up to where it does not matter for a delta of e^log_target."""
        return swap.Waiting.of(self.member.common_mass, self.n, min(log_target, 0.0))

    @np.errstate(all="ignore")
    def screened(self, eps: float) -> float:
        """A cheap upper value of log delta at one eps."""
        if self.n <= 2 or self.member.common_mass <= 0.0:
            return 0.0
        at = np.array([min(eps, LARGEST_EPSILON)])
        x, t, alone = self.member.laws.at(at - law_shift(at), self.n)
        copies = max(self.n - 1.0 / self.member.common_mass, 1.0)
        c, height, bend = swap.saddle(x[0], t[0], copies)
        worst = int(np.where(np.isfinite(height), height, -np.inf).argmax())
        line = swap.line_at(c[[worst]], bend[[worst]], self.dither).at(np.zeros(len(c), dtype=np.int64))
        waiting = self._waiting(max(float(height[worst]) - math.log(self.n), -740.0))
        value = np.logaddexp(swap.log_screen(x[0], t[0], waiting, line), np.log(alone[0])).max()
        return float(np.logaddexp(value, waiting.log_rest)) if value == value else math.inf

    @np.errstate(all="ignore")
    def _evaluate(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log delta and -d(log delta)/d(eps), roughly."""
        shifted = eps - law_shift(eps)
        laws = self.member.laws
        x, t, alone = laws.at(shifted, self.n)  # eps, type, symbol
        own = (x, t, alone) if self.member.victim is None else self.member.victim.at(shifted, self.n)
        every = (np.maximum(own[0], 0.0) * own[1]).sum(axis=2) + own[2]  # the same for every type, hole or not
        local = np.log(np.minimum(every.max(axis=1), 1.0)) + 1e-13
        # one other hides nothing, E[(X)_+] is the local delta; and hardly anybody is free: the bound is at least
        # (1 - n beta) times the local delta
        if self.n <= 2 or self.n * self.member.common_mass <= _NOBODY:
            return local, np.ones(eps.size)
        rows, types, symbols = x.shape
        copies = max(self.n - 1.0 / self.member.common_mass, 1.0)
        flat_x, flat_t = x.reshape(-1, symbols), np.ascontiguousarray(t).reshape(-1, symbols)
        c, height, bend = (a.reshape(rows, types) for a in swap.saddle(flat_x, flat_t, copies))
        worst = np.where(np.isfinite(height), height, -np.inf).argmax(axis=1)
        pick = (np.arange(rows), worst)
        target = float(np.min(np.maximum(height[pick] - math.log(self.n), -740.0), initial=0.0))
        waiting = self._waiting(target)
        useless = local + (math.log(-math.expm1(waiting.log_rest)) if waiting.log_rest < 0.0 else -math.inf)
        here = Rows(x, t, alone, worst, c[pick], bend[pick], useless, eps)
        if rows == 1 and x[0].size <= MOST_SHARPENED:
            value = self._sharp(here, waiting, copies)
        elif x[0].size <= MOST_SHARPENED:
            value = self._sharpened(here, waiting, copies)
        else:
            value = largest(here, waiting, self._plain)
        total = np.logaddexp(value, waiting.log_rest + local)
        weight = t[pick] * np.exp(here.c[:, None] * x[pick])
        fall = np.exp(eps) * here.c * copies * (weight * laws.v[worst]).sum(axis=1) / (weight.sum(axis=1) + 1e-300)
        total = np.where(np.isnan(total), np.inf, total)
        total[local == -np.inf] = -np.inf  # nothing of the victim's is ever above E times the other law
        return np.minimum(total, local), fall

    def _sharp(self, here: Rows, waiting: swap.Waiting, copies: float) -> FloatArray:
        """The bound at one eps, by the best of several lines, or by one dominating law; nearby that way will do."""
        at = float(here.eps[0])
        close, grainy = float(here.deviations[0]) < CLOSE, float(here.grain[0]) > GRAINY
        if not abs(at - self._chosen_at) <= _NEARBY * at:
            self._join, self._options, self._chosen_at = True, (self._plain, *OPTIONS), at
        value, ways = np.array([np.inf]), list(self._options)
        if close and self._join and here.x[0].size <= MOST_JOINED and here.alone.max() == 0.0:
            found = joined(here.x, here.t, waiting, copies, self.dither)
            self._join = bool(found[0] < np.inf)
            if self._join:
                value = largest(here, waiting, self._plain)
                self._join = bool(found[0] < value[0] + _MUCH)  # where it is far off it is so nearby
                close = not found[0] < value[0]
                value = np.minimum(value, found)
                ways = [way for way in ways if way is not self._plain]
        ways = [way for way in ways if way is self._plain or (close if way.dither == FINE else grainy)]
        if not ways and value[0] < np.inf:
            return value
        if len(ways) <= 1:
            return np.asarray(np.minimum(value, largest(here, waiting, ways[0] if ways else self._plain)))
        every = here.at(np.zeros(len(ways), dtype=np.int64))
        sums = largest(every, waiting, Option(*(np.array(part) for part in zip(*ways, strict=True))))
        best = int(sums.argmin())
        self._options = [ways[best] if sums[best] < value[0] else self._plain]
        return np.asarray(np.minimum(value, sums[best]))

    def _sharpened(self, here: Rows, waiting: swap.Waiting, copies: float) -> FloatArray:
        """The bound at many eps: few deviations away also by one dominating law, or near the saddle, and by other lines
        on a coarse lattice."""
        value = np.full(here.eps.size, np.inf)
        close = here.deviations < CLOSE
        covered = close & (here.alone.max(axis=1) == 0.0) & (here.x[0].size <= MOST_JOINED)
        grainy = here.grain > GRAINY
        options = (self._plain, *OPTIONS)

        def attempt(way: int, rows: np.ndarray) -> np.ndarray:
            """Improve the rows to which this way applies, and say which of them it has improved."""
            option = options[way] if way >= 0 else None
            if way:
                rows = rows[(covered if option is None else close if option.dither == FINE else grainy)[rows]]
            if not rows.size:
                return rows
            if option is None:
                found = joined(here.x[rows], here.t[rows], waiting, copies, self.dither)
            else:
                found = largest(here.at(rows), waiting, option)
            better = found < value[rows]
            value[rows[better]] = found[better]
            if option is None:
                close[rows[better]] = False
            return np.asarray(rows[better])

        try_ways(attempt, here.eps, [0, _JOIN, *range(1, len(options))])
        return value


def joined(
    x: FloatArray, t: FloatArray, waiting: swap.Waiting, copies: float | FloatArray, dither: float
) -> FloatArray:
    """The bound by one law that dominates every type; inf where that is much wider than the types."""
    y, mass = join(x, t)
    out = np.full(len(y), np.inf)
    wide = (mass * y * y).sum(axis=1)
    good = np.flatnonzero(wide <= _NEARLY * (t * x * x).sum(axis=2).max(axis=1))
    if good.size:
        users = np.broadcast_to(np.asarray(copies, dtype=np.float64), len(y))[good]
        c, _, bend = swap.saddle(y[good], mass[good], users)
        line = swap.line_at(c, bend, dither)
        out[good] = swap.log_upper(y[good], mass[good], waiting.at(good), line, phases=True)
    return out
