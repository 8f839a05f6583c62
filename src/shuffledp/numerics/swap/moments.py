"""Upper values of the swap bound of all pairs of rows of a matrix, over all types, from moments by matrix products.

With omega the smallest entry of every column, l = R/omega >= 1 the levels, E = e^eps, w = l(a) - E l(b) for a pair, and
t = s R(x) for a type x, M_x(c) = sum t exp(c w omega/t) + 1 - s is, as sum w omega = 1 - E,

    M_x(c) <= 1 + c (1-E) + (c^2/2s) G_x,    G_x = sum omega (w^2/l(x) + k3 w^3/l(x)^2 + k4 w^4/l(x)^3),
    k3 = c/(3s),  k4 = 2 (c/s)^2 phi4(c r/s),  r = max w                                      (screen.remainder).

G of all pairs and types is one matrix product, of powers of w by powers of 1/l; nothing of the size pairs x types is
kept.  Before that, the same with second moments only (phi2 for its remainder), which need one product for all eps:

    V_E = sum omega w^2/l(x) <= (sqrt(V_1) + (E-1) sqrt(K))^2 + (E-1)^2,   K = max over b, x of sum R(b)^2/R(x) - 1,

because sum (R(a)-R(b)) R(b)/R(x) = sum (R(a)-R(b)) (R(b)-R(x))/R(x), by Cauchy and Schwarz.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from ..ledger import charge
from ..line import tilt
from ..pair import FloatArray, IntArray
from ..rows import chunks, law_shift
from ..screen import log_tail, remainder
from .sums import log_top
from .waiting import Others, Waiting

#: Shells of G, as shares of the largest; below the last one nothing is known of the variance.
_SHELLS = (1.0, 0.9, 0.8, 0.65, 0.5)
#: Levels from which on powers are formed in double precision: in single precision they would overflow or vanish.
_LARGEST_LEVEL = 1e6


class Question(NamedTuple):
    """What rows of pairs are asked, by row; ``which`` is the row's place among the waiting times."""

    gain: FloatArray  # e^eps - 1
    copies: FloatArray
    missed: FloatArray  # what the sums of two rows may miss
    which: IntArray
    waiting: Waiting

    def take(self, rows: IntArray) -> Question:
        """Some of the rows."""
        return Question(self.gain[rows], self.copies[rows], self.missed[rows], self.which[rows], self.waiting)


class Lines(NamedTuple):
    """Abscissa and dither of every row, and how far its scores reach there."""

    c: FloatArray
    s: FloatArray
    rise: FloatArray  # c r/s
    swing: FloatArray  # c max|w|/s
    span: FloatArray

    def take(self, rows: IntArray) -> Lines:
        """Some of the rows."""
        return Lines(*(part[rows] for part in self))


class PairMoments:
    """The moments of all ordered pairs a d + b of rows (without zeros) among types s R(x)."""

    def __init__(self, rows: FloatArray, share: float) -> None:
        self.count, self.symbols = rows.shape
        self.omega, self._share = rows.min(axis=0), share
        self.level = rows / self.omega
        self._tallest = float(self.level.max())
        inverse = 1.0 / self.level
        self._type: type[np.floating[Any]] = np.float32 if self._tallest < _LARGEST_LEVEL else np.float64
        self._powers = np.concatenate([inverse, inverse**2, inverse**3], axis=1).astype(self._type).T
        self._room, self._floor = product_rounding(self.symbols, single=self._type is np.float32)
        #: rows sum to 1 up to this
        self._sums = float(np.abs(rows.sum(axis=1) - 1.0).max()) + self.symbols * 2.0**-52

    @cached_property
    def _second(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The largest V_1 over all types, rounded up, max |w| at E = 1, and max R(a)/R(b), by pair."""
        d = self.count
        spread, reach, ratio = np.ones((3, d, d))
        first, second = np.triu_indices(d, 1)
        for part in chunks(np.full(first.size, float(self.symbols))):
            a, b = first[part], second[part]
            gap, over = self.level[a] - self.level[b], self.level[a] / self.level[b]
            found = (self.omega * gap * gap).astype(self._type) @ self._powers[: self.symbols]
            spread[a, b] = spread[b, a] = found.max(axis=1).astype(np.float64) * (1.0 + self._room) + self._floor
            reach[a, b] = reach[b, a] = np.abs(gap).max(axis=1) * (1.0 + 1e-12)
            ratio[a, b], ratio[b, a] = over.max(axis=1), 1.0 / over.min(axis=1)
        return spread.reshape(-1), reach.reshape(-1), ratio.reshape(-1)

    @property
    def spread(self) -> FloatArray:
        """The largest sum (R(a)-R(b))^2/R(x) over all types x, by pair: the leading order of eps."""
        return self._second[0]

    @property
    def limit(self) -> FloatArray:
        """The eps beyond every ratio, by pair."""
        return np.asarray(np.log(self._second[2]) * (1.0 + 2.0**-50) + 2.0**-49)

    @cached_property
    def _chi_square(self) -> float:
        """K: the largest chi-square of a row and a type."""
        most = ((self.omega * self.level * self.level) @ (1.0 / self.level.T)).max()
        return float(max(float(most) * (1.0 + 1e-12) - 1.0, 0.0) + 3.0 * self._sums)

    def question(self, beta: float, n: FloatArray, eps: FloatArray, level: FloatArray) -> Question:
        """Rows that are next to each other and ask the same share their waiting times."""
        new = np.append(True, (n[1:] != n[:-1]) | (eps[1:] != eps[:-1]) | (level[1:] != level[:-1]))
        first = np.flatnonzero(new)
        kept = tuning.SWAP_CUT - np.clip(level[first], -745.0, 0.0)
        waiting = Waiting.of(np.full(first.size, beta), Others.fixed(n[first]), kept)
        gain = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), "upper"))
        return Question(gain, np.maximum(n - 1.0 / beta, 1.0), (2.0 + gain) * self._sums, np.cumsum(new) - 1, waiting)

    @np.errstate(all="ignore")
    def by_variance(self, pairs: IntArray, asked: Question, level: FloatArray) -> tuple[FloatArray, Lines]:
        """An upper value of log delta from second moments, and the line of every row, near the saddle."""
        gain, share = asked.gain, self._share
        root = np.sqrt(self.spread[pairs]) + np.abs(gain) * math.sqrt(self._chi_square)
        variance = (root * root + gain * gain) * (1.0 + 1e-12) + 4.0 * np.abs(gain) * self._sums
        most, drift = variance / share, -asked.copies * gain
        c = (np.sqrt(drift * drift + 8.0 * asked.copies * most) - drift) / (2.0 * asked.copies * most)
        reach, scale = self._second[1][pairs], c * (1.0 + 1e-12) / share
        swing = reach + np.abs(gain) * self._tallest
        span = 2.0 * swing / share * (1.0 + 1e-12)
        rise = scale * (reach + np.maximum(-gain, 0.0) * self._tallest)
        lines = Lines(c, np.minimum(math.sqrt(0.1) / c, 2.0 * span), rise, scale * swing, span)
        return self._in_shells(variance * 2.0 * remainder(rise, 2), variance, asked, lines, level), lines

    @np.errstate(all="ignore")
    def by_moments(self, pairs: IntArray, asked: Question, lines: Lines, level: FloatArray) -> FloatArray:
        """An upper value of log delta from four moments, all types of a row on its line; where it exceeds the level,
        from the laws of those types that four moments leave open."""
        out, looked = np.empty(pairs.size), 0
        for part in chunks(np.full(pairs.size, 3.0 * self.symbols)):
            rows = np.arange(part.start, part.stop)
            mine, here = asked.take(rows), lines.take(rows)
            table = self._table(pairs[rows], mine, here)
            most, share = self._raised(table.max(axis=1)), self._least_variance(here)
            value = self._in_shells(most, most * share, mine, here, level[rows])
            left = np.flatnonzero(~(value <= level[rows]))
            if left.size:
                each, kind = np.repeat(left, self.count), np.tile(np.arange(self.count), left.size)
                g = self._raised(table[left].reshape(-1))
                alone = self._bound(g, g * share[each] - self._floor, mine.take(each), here.take(each))
                open_ = np.flatnonzero(~(alone <= level[rows[each]]))
                each, alone, looked = each[open_], alone[open_], looked + open_.size * self.symbols
                if looked <= tuning.MOST_OPEN_CELLS:
                    law = self._by_laws(pairs[rows[each]], kind[open_], mine.take(each), here.take(each))
                    alone = np.fmin(law, alone)
                value[left] = level[rows[left]]
                np.maximum.at(value, each, alone)
            out[rows] = value
        return out

    def _by_laws(self, pairs: IntArray, kinds: IntArray, asked: Question, lines: Lines) -> FloatArray:
        """An upper value of log delta of pairs among types one by one, from their laws."""
        a, b = np.divmod(pairs, self.count)
        log_m, variance, width = np.empty((3, pairs.size))
        for part in chunks(np.full(pairs.size, float(self.symbols))):
            first, second, t = self.level[a[part]], self.level[b[part]], self.level[kinds[part]] * self._share
            x = ((first - second) - asked.gain[part, None] * second) / t
            at = tilt(x, t * self.omega, lines.c[part])
            log_m[part], variance[part], width[part] = log_top(at), at.variance, at.width
        return self._value(log_m, variance, width, asked, lines)

    def _table(self, pairs: IntArray, asked: Question, lines: Lines) -> NDArray[Any]:
        """G of these pairs by type, up to rounding."""
        a, b = np.divmod(pairs, self.count)
        w = (self.level[a] - self.level[b] - asked.gain[:, None] * self.level[b]).astype(self._type)
        scale = lines.c / self._share
        k3, more = scale / 3.0, 6.0 * scale * remainder(lines.rise, 4)  # k4 = k3 times more
        powers = np.empty((len(w), 3 * self.symbols), dtype=self._type)
        square, cube, fourth = np.split(powers, 3, axis=1)
        np.multiply(w * self.omega.astype(self._type), w, out=square)
        np.multiply(square, w * k3.astype(self._type)[:, None], out=cube)
        np.multiply(cube, w * more.astype(self._type)[:, None], out=fourth)
        return np.asarray(powers @ self._powers)

    def _raised(self, g: NDArray[Any]) -> FloatArray:
        """G, rounded up; NaN bounds nothing."""
        found = g.astype(np.float64)
        return np.asarray(np.where(np.isnan(found), np.inf, found) * (1.0 + self._room) + self._floor)

    def _least_variance(self, lines: Lines) -> FloatArray:
        """V is at least this share of G: w^3 <= r w^2, w^4 <= max|w|^2 w^2, and l >= 1."""
        more = 1.0 + lines.rise / 3.0 + 2.0 * remainder(lines.rise, 4) * lines.swing**2
        return np.asarray((1.0 - 2.0 * self._room) / more)

    def _in_shells(
        self, most: FloatArray, variance: FloatArray, asked: Question, lines: Lines, level: FloatArray
    ) -> FloatArray:
        """An upper value of log delta of types with G up to ``most``; V is at least q variance if G >= q most.

        Types with G in (q' most, q most] have at most the M of q most, and at least the variance of q' most.
        """
        value = self._bound(most, np.zeros(most.size), asked, lines)
        left = np.flatnonzero(~(value <= level))
        if left.size:
            mine, here, top = asked.take(left), lines.take(left), most[left]
            found = self._bound(_SHELLS[-1] * top, np.zeros(left.size), mine, here)
            for above, below in pairwise(_SHELLS):
                found = np.maximum(found, self._bound(above * top, below * variance[left], mine, here))
            value[left] = found
        return value

    def _bound(self, g: FloatArray, variance: FloatArray, asked: Question, lines: Lines) -> FloatArray:
        """An upper value of log delta of a type with at most this G and at least this V."""
        log_m = log_growth(g, lines.c, asked.gain, asked.missed, self._share)
        least = tilted_variance(variance / self._share, asked.gain, lines.swing, log_m)
        return self._value(log_m, least, lines.span, asked, lines)

    def _value(
        self, log_m: FloatArray, variance: FloatArray, width: FloatArray, asked: Question, lines: Lines
    ) -> FloatArray:
        """An upper value of log delta, given upper values of log M and of the range, a lower one of the variance."""
        least = variance * asked.waiting.fewest[asked.which]
        top = np.full(asked.waiting.fewest.size, -np.inf)
        np.maximum.at(top, asked.which, log_m)
        value = asked.waiting.log_sums(asked.which, log_m, top)
        value = value + log_tail(least, width * width / least, width, lines.c, lines.s)
        value = np.logaddexp(value, asked.waiting.log_rest[asked.which])  # who is not free reveals at most everything
        return np.where(np.isnan(value), np.inf, value)


@charge("rounding of moments that are formed by matrix products", "docs/proofs.md, Lemma 12")
def product_rounding(symbols: int, *, single: bool) -> tuple[float, float]:
    """The relative error of G, and what may vanish in a product.

    |k3 w^3/l^2| is at most (w^2/l)/2 + (2/3) k4 w^4/l^3, because k4 >= k3^2 (3/4), so G is at least a third of the sum
    of w^2/l and k4 w^4/l^3 and a fifth of the sum of the moduli of all its terms: whatever the ratios, its relative
    error is at most five times that of a sum of positive terms, 3 symbols + 40 roundings; six are charged.
    """
    unit, floor = (2.0**-24, 1e-30) if single else (2.0**-53, 1e-290)
    return 6.0 * (3 * symbols + 40) * unit, floor


@charge("M of a type that is known by its moments", "docs/proofs.md, Lemma 12")
def log_growth(g: FloatArray, c: FloatArray, gain: FloatArray, missed: FloatArray, share: float) -> FloatArray:
    """log M(c) <= log(1 + c (1-E) + (c^2/2s) G), rounded up; ``missed`` is what the sums of two rows may be off 1."""
    excess = c * (missed - gain * (1.0 - np.copysign(1e-13, gain))) + 0.5 * c * c / share * g * (1.0 + 1e-12)
    return np.asarray(np.log1p(np.maximum(excess, -0.9) + 1e-15))


@charge("the tilted variance of a type that is known by its moments", "docs/proofs.md, Lemma 12")
def tilted_variance(square: FloatArray, gain: FloatArray, swing: FloatArray, log_m: FloatArray) -> FloatArray:
    """At least e^-swing/M of the variance E X^2 - (E - 1)^2: a density of at least that keeps that part of it."""
    least = np.maximum(square * (1.0 - 1e-9) - gain * gain, 0.0)
    return np.asarray(least * np.exp(-np.minimum(swing, 700.0) - log_m) + 1e-300)
