"""Upper values of delta for all ordered pairs of rows of a matrix, over all types: moments by matrix products.

A row a has the law omega l(a), and a type x sends t = s omega l(x), l(x) >= 1.  For a pair (a, b) at E = e^eps let
w = l(a) - E l(b), r = max |w|, u = w/r and y = c r/s.  Then X = w/(s l(x)) with probability t, and

    M_x(c) <= 1 + c m + s (y^2 T2/2 + y^3 T3/6 + y^4 phi(c max w/s) T4),    Tk = sum omega u^k/l(x)^(k-1),

m = sum omega w, phi the remainder of the series (screen.py).  The Tk of all pairs and types are three matrix products,
and no table of pairs x types is kept.  Triples (a, b, x) that these bounds leave open are bounded from their laws, and
summed where that is not enough.

The rows are the types of the swap bound.  The blanket bound has one type with l = 1: everybody is free, and the sum has
one more copy of X.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from . import tuning
from .ledger import charge
from .line import saddle, tilt
from .pair import FloatArray, IntArray
from .rows import chunks, law_shift, take_rows
from .screen import law_tail, log_tail, remainder
from .swap.sums import Line, Swapped, dithered_count, log_screen, log_top, log_upper
from .swap.waiting import Others, Waiting

#: Shells of types, by their distance in log delta from the largest; beyond the last shell the variance is not used.
_SHELLS = (0.0, 0.02, 0.1, 0.5, 2.0)
#: Powers are formed in single precision if levels are below the first and blanket masses above the second.
_LARGEST_LEVEL, _SMALLEST_MASS = 1e6, 1e-25
#: Up to this many open pairs x types, each is bounded on its own before any law is made.
_MOST_ALONE = 1_000_000
#: Up to this c X the abscissa is found from two moments.
_SMALL = 0.1
#: Abscissas to try, relative to the saddle: where c X is large, moments bound nothing.
_SHRINK = 0.7 ** np.arange(8.0)
#: Dither of the sum of a triple, in tilted deviations.
_DITHER = 0.02


class Pairs(NamedTuple):
    """What is asked of pairs (first, second), by row; ``which`` is the row's place among the waiting times."""

    first: IntArray
    second: IntArray
    gain: FloatArray  # e^eps - 1
    copies: FloatArray
    level: FloatArray  # log delta below which an upper value need not be sharp
    which: IntArray
    waiting: Waiting

    def take(self, rows: IntArray) -> Pairs:
        """Some of the rows."""
        first, second, which = self.first[rows], self.second[rows], self.which[rows]
        return Pairs(first, second, self.gain[rows], self.copies[rows], self.level[rows], which, self.waiting)


class Bounds(NamedTuple):
    """Pairs on their lines, and what is known of every type there (pair, type)."""

    c: FloatArray
    moved: np.ndarray  # whether c is below the saddle, because moments bound nothing at the saddle
    most: FloatArray  # max w, or 0
    width: FloatArray  # at least the range of X
    log_m: FloatArray  # at least log M(c)
    variance: FloatArray  # at most that of the tilted X


class PairMoments:
    """Rows omega l and ``bare``, on symbols that nobody else sends, among types share omega l(x)."""

    def __init__(
        self, level: FloatArray, omega: FloatArray, bare: FloatArray, types: FloatArray, share: float, beta: float
    ) -> None:
        """``beta`` is the probability that another user is free."""
        self.level, self.omega, self.bare, self.types, self.share, self.beta = level, omega, bare, types, share, beta
        self.symbols = omega.size
        self._mass = (level * omega).sum(axis=1)
        small = max(level.max(), types.max()) < _LARGEST_LEVEL and omega.min() > _SMALLEST_MASS
        self._type: type[np.floating[Any]] = np.float32 if small else np.float64
        self._powers = [(types.T**-k).astype(self._type) for k in (1.0, 2.0, 3.0)]
        self._room, self._floor = product_rounding(self.symbols, single=small)

    @np.errstate(all="ignore")
    def facts(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """By pair: the largest sum (P0 - P1)^2/t over all types, to which symbols that nobody else sends add far more;
        and the eps beyond every ratio."""
        spread, limit = np.empty((2, first.size))
        for part in chunks(np.full(first.size, float(self.symbols + self.bare.shape[1]))):
            a, b = first[part], second[part]
            gap, bare = self.level[a] - self.level[b], self.bare[a] - self.bare[b]
            found = (self.omega * gap * gap).astype(self._type) @ self._powers[0]
            spread[part] = found.max(axis=1) / self.share + 1e12 * np.maximum(bare, 0.0).sum(axis=1)
            ratio = np.fmax.reduce(self.level[a] / self.level[b], axis=1, initial=1.0)
            ratio = np.fmax(ratio, np.fmax.reduce(self.bare[a] / self.bare[b], axis=1, initial=1.0))
            limit[part] = np.where(ratio > 1.0, np.log(ratio) * (1.0 + 2.0**-50) + 2.0**-49, 0.0)
        return spread, limit

    @np.errstate(all="ignore")
    def screen(
        self,
        first: IntArray,
        second: IntArray,
        users: FloatArray,
        eps: FloatArray,
        level: FloatArray,
        abscissas: Callable[[IntArray], FloatArray],
    ) -> FloatArray:
        """Upper values of log delta of pairs, over all types; where they are at most ``level`` they need not be sharp.

        The first values come from four moments.  Where these exceed the level, the laws of the types that they leave
        open decide; where moments bound nothing, the laws of all types do, at the given ``abscissas``.
        """
        gain = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), "upper"))
        bare = np.maximum(self.bare[first] - (1.0 + gain)[:, None] * self.bare[second], 0.0).sum(axis=1) * (1.0 + 1e-12)
        hidden = np.exp(level) - bare  # what is left of delta; if nothing is, no bound needs to be sharp
        hidden = np.where(bare > 0.0, np.where(hidden > 0.0, np.log(hidden), np.inf), level)
        asked = self._asked(first, second, users, gain, hidden)
        value, far, settled, found, looked = np.empty(eps.size), [], [], [], 0
        for part in chunks(np.full(eps.size, 3.0 * self.symbols)):
            rows = np.arange(part.start, part.stop)
            mine = asked.take(rows)
            bounds = self._bounds(mine)
            value[rows] = self._in_shells(bounds, mine)
            left = np.flatnonzero(~(value[rows] <= mine.level))
            far.append(rows[left[bounds.moved[left]]])
            left = left[~bounds.moved[left]]
            looked += left.size * len(self.types)
            if looked <= _MOST_ALONE:
                row, kind = self._triples(left)
                alone = self._bound(bounds.log_m[row, kind], bounds.variance[row, kind], bounds, row, mine)
                kept = np.flatnonzero(~(alone <= mine.level[row]))
                settled.append(rows[left])
                found.append((rows[row[kept]], kind[kept], bounds.c[row[kept]]))
        rows = np.concatenate([*far, np.zeros(0, dtype=np.int64)])
        if 0 < rows.size * self.types.size <= tuning.MOST_OPEN_CELLS:
            row, kind = self._triples(np.arange(rows.size))
            settled.append(rows)
            found.append((rows[row], kind, abscissas(rows)[row]))
        if found and sum(len(c) for *_, c in found) * self.symbols <= tuning.MOST_OPEN_CELLS:
            row, kind, c = (np.concatenate(column) for column in zip(*found, strict=True))
            rows = np.concatenate(settled)
            finer = hidden.copy()
            np.maximum.at(finer, row, self._by_laws(asked.take(row), row, kind, c))
            value[rows] = np.fmin(value[rows], finer[rows])
        return np.asarray(np.logaddexp(value, np.log(bare)))

    def _triples(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Some rows with all types."""
        return np.repeat(rows, len(self.types)), np.tile(np.arange(len(self.types)), rows.size)

    def _asked(
        self, first: IntArray, second: IntArray, users: FloatArray, gain: FloatArray, level: FloatArray
    ) -> Pairs:
        """Consecutive rows with the same users and level share their waiting times."""
        new = np.append(True, (users[1:] != users[:-1]) | (level[1:] != level[:-1]))
        start = np.flatnonzero(new)
        kept = tuning.SWAP_CUT - np.clip(level[start], -745.0, 0.0)
        waiting = Waiting.of(np.full(start.size, self.beta), Others.fixed(users[start]), kept)
        return Pairs(first, second, gain, np.maximum(users - 1.0 / self.beta, 1.0), level, np.cumsum(new) - 1, waiting)

    def _bounds(self, asked: Pairs) -> Bounds:
        """Four moments of every type, and the line near the saddle of the widest one."""
        a, b, s = asked.first, asked.second, self.share
        w = self.level[a] - self.level[b] - asked.gain[:, None] * self.level[b]
        most, least = np.maximum(w.max(axis=1), 0.0), np.minimum(w.min(axis=1), 0.0)
        reach = np.maximum(np.maximum(most, -least), 1e-300)
        u = (w / reach[:, None]).astype(self._type)
        square = self.omega.astype(self._type) * u * u
        t2, t3, t4 = (
            (part @ power).astype(np.float64)
            for part, power in zip((square, square * u, square * u * u), self._powers, strict=True)
        )
        t2, t4 = (t * (1.0 + self._room) + self._floor for t in (t2, t4))
        t3 += self._room * t2 + self._floor
        doubt = (self.symbols + 8) * 2.0**-52 * (self._mass[a] + (1.0 + np.abs(asked.gain)) * self._mass[b])
        mean = self._mass[a] - self._mass[b] - asked.gain * self._mass[b] + doubt

        def terms(c: FloatArray, *moments: FloatArray) -> tuple[FloatArray, ...]:
            y = c * (reach / s)[:, None]
            return c * mean[:, None], *(s * y**k * t for k, t in enumerate(moments, start=2))

        kind = t2.argmax(axis=1)[:, None]
        lead = [np.take_along_axis(moment, kind, 1) for moment in (t2, t3, t4)]
        pull, bend = asked.copies * mean, asked.copies * (lead[0][:, 0] / s) * reach**2
        near = (np.sqrt(pull * pull + 8.0 * bend) - pull) / (2.0 * bend)  # the saddle, if X is small
        some = np.flatnonzero(~(near * reach <= _SMALL * s))
        law = self.types[kind[some, 0]] * s
        near[some] = saddle(w[some] / law, law * self.omega, asked.copies[some])
        trial = near[:, None] * _SHRINK
        growth = log_growth(trial * (most / s)[:, None], *terms(trial, *lead))
        height = asked.copies[:, None] * growth - 2.0 * np.log(trial)
        place = np.where(np.isnan(height), np.inf, height).argmin(axis=1)[:, None]
        c = np.take_along_axis(trial, place, 1)
        e1, e2, e3, e4 = terms(c, t2, t3, t4)
        log_m = log_growth(c * (most / s)[:, None], e1, e2, e3, e4)
        y = c * (reach / s)[:, None]
        error = 2.0 * (self._room * (1.0 + y) * e2 + self._floor * s * y**2 * (1.0 + y) + c * doubt[:, None])
        variance = tilted_variance(e1, e2, e3, log_m, error) / (c * c)
        return Bounds(c[:, 0], place[:, 0] > 0, most, (most - least) / s * (1.0 + 1e-12), log_m, variance)

    def _in_shells(self, bounds: Bounds, asked: Pairs) -> FloatArray:
        """Upper values of log delta over all types: a type of a shell has at most its M and at least its variance."""
        top = bounds.log_m.max(axis=1)
        value = _whole(top, -1.0 - np.log(bounds.c) + 1e-9, asked.which, asked.waiting)  # for any variance
        value[~(bounds.most > 0.0)] = -np.inf
        rows = np.flatnonzero(~(value <= asked.level) & ~np.isnan(top))
        copies, highest, log_m = asked.copies[rows], top[rows], bounds.log_m[rows]
        depth = copies[:, None] * (highest[:, None] - log_m)
        found = self._bound(highest - _SHELLS[-1] / copies, np.zeros(rows.size), bounds, rows, asked)
        for above, below in pairwise(_SHELLS):
            least = np.where((depth >= above) & (depth < below), bounds.variance[rows], np.inf).min(
                axis=1, initial=np.inf
            )
            shell = self._bound(highest - above / copies, least, bounds, rows, asked)
            found = np.where(least < np.inf, np.maximum(found, shell), found)
        value[rows] = np.fmin(value[rows], found)
        return value

    def _bound(
        self, log_m: FloatArray, variance: FloatArray, bounds: Bounds, row: IntArray, asked: Pairs
    ) -> FloatArray:
        """An upper value of log delta, given an upper value of log M and a lower one of the tilted variance."""
        variance = variance * asked.waiting.fewest[asked.which[row]]
        tail = log_tail(variance, bounds.width[row] ** 2 / variance, bounds.c[row])  # E(X - X')^4 <= 2 V width^2
        return _whole(log_m, tail, asked.which[row], asked.waiting)

    def _law(self, asked: Pairs, kind: IntArray) -> tuple[FloatArray, FloatArray]:
        """X and t of triples."""
        b, t = self.level[asked.second], self.types[kind] * self.share
        return ((self.level[asked.first] - b) - asked.gain[:, None] * b) / t, t * self.omega

    def _by_laws(self, asked: Pairs, row: IntArray, kind: IntArray, c: FloatArray) -> FloatArray:
        """Upper values of log delta of triples, the largest of their pair, from their laws; open pairs are summed."""
        value, deviation = np.empty((2, c.size))
        for part in chunks(np.full(c.size, float(self.symbols))):
            mine = asked.take(np.arange(part.start, part.stop))
            x, t = self._law(mine, kind[part])
            at = tilt(x, t, c[part])
            fewest = mine.waiting.fewest[mine.which]
            value[part] = _whole(log_top(at), law_tail(x, t, at, fewest), mine.which, mine.waiting)
            deviation[part] = np.maximum(np.sqrt(fewest * at.variance), 1e-3 / c[part])
        _, place, pair = np.unique(row, return_index=True, return_inverse=True)
        worst = np.full(place.size, -np.inf)
        np.maximum.at(worst, pair, value)
        left = np.flatnonzero(~(worst <= asked.level[place]))
        first = place[left]
        if 0 < left.size * self.types.size <= tuning.MOST_OPEN_CELLS:
            worst[left] = np.fmin(worst[left], self._on_one_line(asked.take(first), c[first], deviation[first]))
        return np.asarray(worst[pair])

    def _on_one_line(self, asked: Pairs, c: FloatArray, deviation: FloatArray) -> FloatArray:
        """Upper values of log delta of pairs: all types on the pair's line, those that exceed the level summed, if few.

        Types that were bounded on another line are bounded again: only on a common line does the largest one count.
        """
        row, kind = self._triples(np.arange(c.size))
        line, value = Line.at(c, deviation, np.full(c.size, _DITHER)), np.full(row.size, np.inf)
        for sum_of in (log_screen, log_upper):
            left = np.flatnonzero(~(value <= asked.level[row]))
            if (
                sum_of is log_upper
                and (dithered_count(line)[row[left]] * self.symbols).sum() > tuning.MOST_SUMMED_CELLS
            ):
                break
            for part in chunks(np.full(left.size, float(self.symbols))):
                some = left[part]
                mine = asked.take(row[some])
                x, t = self._law(mine, kind[some])
                waiting = take_rows(mine.waiting, mine.which)
                found = sum_of(Swapped(x, tilt(x, t, c[row[some]]), waiting, take_rows(line, row[some])))
                value[some] = np.fmin(value[some], np.logaddexp(found, waiting.log_rest) + 1e-12)
        return np.asarray(np.maximum.reduceat(value, np.arange(c.size) * len(self.types)))


def _whole(log_m: FloatArray, tail: FloatArray, which: IntArray, waiting: Waiting) -> FloatArray:
    """log of A(M) e^tail + Pr[nobody is free]; in the latter event delta is at most 1."""
    value = np.logaddexp(waiting.log_sum(which, log_m) + tail, waiting.log_rest[which]) + 1e-12
    return np.where(np.isnan(value), np.inf, value)


@charge("rounding of moments that are formed by matrix products", "docs/proofs.md, Lemma 12")
def product_rounding(symbols: int, *, single: bool) -> tuple[float, float]:
    """The relative error of T2 and T4, which are sums of positive terms, and a bound on what a product underflows.

    The error of T3, a sum of terms of both signs, is at most as much of T2, because |u| <= 1 and l(x) >= 1.
    """
    unit, floor = (2.0**-24, 1e-30) if single else (2.0**-53, 1e-290)
    return 2.0 * (symbols + 40) * unit, floor


@charge("M of a type that is known by its moments", "docs/proofs.md, Lemma 12")
def log_growth(rise: FloatArray, e1: FloatArray, e2: FloatArray, e3: FloatArray, e4: FloatArray) -> FloatArray:
    """log M(c) <= log(1 + e1 + e2/2 + e3/6 + phi(rise) e4), rounded up, if ek is at least c^k E X^k and cX <= rise.

    |e3| is at most (e2 + e4)/2, so its rounding is also covered.
    """
    excess = e1 + e2 * (0.5 + 1e-12) + e3 / 6.0 + e4 * (remainder(rise) + 1e-12)
    return np.asarray(np.log1p(np.maximum(excess, -0.9) + 1e-15))


@charge("the tilted variance of a type that is known by its moments", "docs/proofs.md, Lemma 12")
def tilted_variance(e1: FloatArray, e2: FloatArray, e3: FloatArray, log_m: FloatArray, error: FloatArray) -> FloatArray:
    """c^2 Var(X) under the tilted law, rounded down; ek is right to ``error`` and log M at least the true one.

    As e^z >= 1 + z, M E~(cX - a)^2 >= E (cX - a)^2 (1 + cX) = e2 + e3 - 2 a (e1 + e2) + a^2 (1 + e1) for every a, of
    which (e2 + e3) - (e1 + e2)^2/(1 + e1) is the smallest value.
    """
    off = np.abs(e1 + e2) + 2.0 * error
    least = e2 + e3 - 1e-12 * (e2 + np.abs(e3)) - 2.0 * error - off * off / (1.0 + e1 - error)
    return np.where(e1 - error > -0.9, np.fmax(least, 0.0), 0.0) * np.exp(-log_m) + 1e-300
