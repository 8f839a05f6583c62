"""Which pairs of rows of a matrix the swap bound cannot leave out at some eps: from moments, by matrix products.

With omega the smallest entry of every column, l = R/omega >= 1 the levels, E = e^eps, w = l(a) - E l(b) for a pair, and
t = s R(x) for a type x, M_x(c) = sum t exp(c w omega/t) + 1 - s is, as sum w omega = 1 - E,

    M_x(c) <= 1 + c (1-E) + (c^2/2s) G_x,    G_x = sum omega (w^2/l(x) + k3 w^3/l(x)^2 + k4 w^4/l(x)^3),
    k3 = c/(3s),  k4 = 2 (c/s)^2 phi4(c r/s),  phi4(y) = (e^y - 1 - y - y^2/2 - y^3/6)/y^4,  r = max w:

phi4 rises with y (it is a mixture of e^(uy), 0 <= u <= 1), and c w omega/t <= c r/s.  G of all pairs and types is one
matrix product, of powers of w by powers of 1/l; nothing of the size pairs x types is kept.  Before that, the same
with second moments only (phi2 for its remainder), which need one product for all eps:

    V_E = sum omega w^2/l(x) <= (sqrt(V_1) + (E-1) sqrt(K))^2 + (E-1)^2,   K = max over b, x of sum R(b)^2/R(x) - 1,

because sum (R(a)-R(b)) R(b)/R(x) = sum (R(a)-R(b)) (R(b)-R(x))/R(x), by Cauchy and Schwarz.

*Rounding.*  |k3 w^3/l^2| is at most (w^2/l)/2 + (2/3) k4 w^4/l^3, because k4 >= k3^2 (3/4), so G is at least a third of
the sum of w^2/l and k4 w^4/l^3 and a fifth of the sum of the moduli of all its terms: whatever the ratios, its relative
error is at most five times that of a sum of positive terms.  Products are formed in single precision.

*From M to U.*  By screens that need an upper value of M and a lower one of the tilted variance (evaluators/swap.py), in
shells of G: types with G in (q' G, q G] have the M of q G and at least the variance of q' G, where
V >= G/(1 + y/3 + 2 phi4(y) y'^2), y = c r/s, y' = c max|w|/s, because w^3 <= r w^2 and w^4 <= max|w|^2 w^2.
A density between e^(-y')/M and e^(y')/M times a law keeps at least e^(-y')/M of its variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluators import swap
from ..pair import FloatArray
from ..remainders import remainder

Places = NDArray[np.int64]

#: Shells of G, as shares of the largest; below the last one nothing is known of the variance.
_SHELLS = (1.0, 0.9, 0.8, 0.65, 0.5)
#: Pairs x symbols at once.
_CELLS = 2**17
#: Dithers of the lines on which pairs are compared, in units of the tilted deviation: among few users nodes far away,
#: which only the dither bounds, cost more than a wide one does.
_DITHERS = (0.02, 0.05, 0.1, 0.15)
#: Values from which A is interpolated, and at how many places.
_MANY, _PLACES = 512, 129


class Terms(NamedTuple):
    """One question: e^eps - 1, the share s of a type's law that is used, copies, who waits, and what sums may miss."""

    gain: float
    share: float
    copies: float
    waiting: swap.Waiting
    missed: float


class Lines(NamedTuple):
    """What the pairs are compared with: one line each, and how far their scores reach on it."""

    line: swap.Line
    rise: FloatArray  # y = c r/s
    swing: FloatArray  # y' = c max|w|/s
    span: FloatArray

    def at(self, rows: Places) -> Lines:
        """Some of the pairs."""
        return Lines(self.line.at(rows), self.rise[rows], self.swing[rows], self.span[rows])


class PairMoments:
    """The moments of all ordered pairs of rows (without zeros) among all types, numbered a d + b."""

    def __init__(self, rows: FloatArray) -> None:
        self.count, self.symbols = rows.shape
        self.omega = rows.min(axis=0)
        self.level = rows / self.omega
        inverse = 1.0 / self.level
        # in single precision powers of very large levels would overflow or vanish
        self._type: type[np.floating] = np.float32 if float(self.level.max()) < 1e6 else np.float64
        self._powers = np.concatenate([inverse, inverse**2, inverse**3], axis=1).astype(self._type).T
        terms = 3 * self.symbols + 40
        self._room = 6.0 * terms * (2.0**-24 if self._type is np.float32 else 2.0**-53)
        self._floor = 1e-30 if self._type is np.float32 else 1e-290  # what may vanish in a product
        self._tallest = float(self.level.max())
        #: rows sum to 1 up to this
        self._sums = float(np.abs(rows.sum(axis=1) - 1.0).max()) + self.symbols * 2.0**-52

    @cached_property
    def _second(self) -> tuple[FloatArray, FloatArray]:
        """The largest V_1 over all types, rounded up, and max |w| at E = 1, both by (a, b)."""
        d = self.count
        spread, reach = np.zeros((d, d)), np.zeros((d, d))
        inverse = self._powers[: self.symbols]
        first, second = np.triu_indices(d, 1)
        step = max(1, _CELLS // self.symbols)
        for start in range(0, first.size, step):
            a, b = first[start : start + step], second[start : start + step]
            gap = self.level[a] - self.level[b]
            found = (self.omega * gap * gap).astype(self._type) @ inverse
            spread[a, b] = found.max(axis=1).astype(np.float64)
            reach[a, b] = np.abs(gap).max(axis=1)
        spread *= 1.0 + self._room
        return spread + spread.T + self._floor, (reach + reach.T) * (1.0 + 1e-12)

    def terms(self, eps: float, share: float, common_mass: float, n: int, level: float) -> Terms:
        """The question at one eps, where a delta of e^level matters."""
        gain = math.expm1(eps)
        waiting = Chords.of(common_mass, n, level)
        return Terms(gain, share, max(n - 1.0 / common_mass, 1.0), waiting, (2.0 + gain) * self._sums)

    @property
    def spread(self) -> FloatArray:
        """The largest sum (R(a)-R(b))^2/R(x) over all types x, by pair (a, b): the leading order of eps."""
        return np.asarray(self._second[0])

    @cached_property
    def _apart(self) -> float:
        """K: the largest chi-square of a row and a type."""
        most = ((self.omega * self.level * self.level) @ (1.0 / self.level.T)).max()
        return float(max(float(most) * (1.0 + 1e-12) - 1.0, 0.0) + 3.0 * self._sums)

    def variance(self, pairs: Places, gain: float) -> FloatArray:
        """An upper value of V_E of the worst type."""
        root = np.sqrt(self.spread.reshape(-1)[pairs]) + abs(gain) * math.sqrt(self._apart)
        return np.asarray((root * root + gain * gain) * (1.0 + 1e-12) + 4.0 * abs(gain) * self._sums)

    def lines(self, pairs: Places, terms: Terms) -> Lines:
        """A line near the saddle for every pair, from the variance of its worst type."""
        most = self.variance(pairs, terms.gain) / terms.share
        drift = -terms.copies * terms.gain
        c = (np.sqrt(drift * drift + 8.0 * terms.copies * most) - drift) / (2.0 * terms.copies * most)
        apart = self._second[1].reshape(-1)[pairs]
        scale = c * (1.0 + 1e-12) / terms.share
        rise = scale * (apart + max(-terms.gain, 0.0) * self._tallest)
        reach = apart + abs(terms.gain) * self._tallest
        span = 2.0 * reach / terms.share * (1 + 1e-12)
        dither = _best_dither(c, most, span, terms)
        return Lines(swap.line_at(c, terms.copies * most, dither), rise, scale * reach, span)

    @np.errstate(all="ignore")
    def open_by_variance(self, pairs: Places, terms: Terms, lines: Lines, level: float) -> NDArray[np.bool_]:
        """Which pairs second moments do not show to be below ``level`` (a log delta)."""
        most, factor = self.variance(pairs, terms.gain), 2.0 * remainder(lines.rise, 2)
        return _open_shells(most * factor, most, terms, lines, level)

    @np.errstate(all="ignore")
    def open_by_moments(
        self, pairs: Places, terms: Terms, lines: Lines, level: float, most_open: float
    ) -> tuple[Places, NDArray[np.bool_]] | None:
        """The places of the pairs that four moments do not show to be below ``level``, and their types that are open.

        All types of a pair are compared on its line.  None: more than ``most_open`` types are open, over all pairs.
        """
        step = max(1, _CELLS // self.symbols)
        places: list[Places] = [np.empty(0, dtype=np.int64)]
        kinds: list[NDArray[np.bool_]] = [np.empty((0, self.count), dtype=bool)]
        count = 0
        for start in range(0, pairs.size, step):
            here = np.arange(start, min(start + step, pairs.size))
            mine = lines.at(here)
            table = self._table(pairs[here], terms, mine)
            part = self._variance_share(mine)
            most = self._raised(table.max(axis=1))
            left = np.flatnonzero(_open_shells(most, most * part, terms, mine, level))
            if left.size:
                each = np.repeat(left, self.count)
                g = self._raised(table[left].reshape(-1))
                some = _above(g, g * part[each] - self._floor, terms, mine.at(each), level).reshape(left.size, -1)
                left, some = left[some.any(axis=1)], some[some.any(axis=1)]
                places.append(here[left])
                kinds.append(some)
                count += int(some.sum())
                if count > most_open:
                    return None
        return np.concatenate(places), np.concatenate(kinds)

    def _table(self, pairs: Places, terms: Terms, lines: Lines) -> NDArray[np.floating]:
        """G of these pairs by type, up to rounding."""
        a, b = np.divmod(pairs, self.count)
        w = (self.level[a] - self.level[b] - terms.gain * self.level[b]).astype(self._type)
        scale = lines.line.c / terms.share
        k3, more = scale / 3.0, 6.0 * scale * remainder(lines.rise, 4)  # k4 = k3 times more
        square, cube, fourth = np.split(np.empty((len(w), 3 * self.symbols), dtype=self._type), 3, axis=1)
        np.multiply(w * self.omega.astype(self._type), w, out=square)
        np.multiply(square, w * k3.astype(self._type)[:, None], out=cube)
        np.multiply(cube, w * more.astype(self._type)[:, None], out=fourth)
        return np.asarray(square.base @ self._powers)  # type: ignore[operator]

    def _raised(self, g: NDArray[np.floating]) -> FloatArray:
        """What the products may have lost to rounding is added; NaN bounds nothing."""
        found = g.astype(np.float64)
        return np.asarray(np.where(np.isnan(found), np.inf, found) * (1.0 + self._room) + self._floor)

    def _variance_share(self, lines: Lines) -> FloatArray:
        """V is at least this share of G."""
        return np.asarray(
            (1.0 - 2.0 * self._room) / (1.0 + lines.rise / 3.0 + 2.0 * remainder(lines.rise, 4) * lines.swing**2)
        )


@dataclass(frozen=True)
class Chords(swap.Waiting):
    """The same waiting time, with log A(e^u), which is convex in u, replaced by its chords where it is asked often."""

    def log_sum(self, log_r: FloatArray) -> FloatArray:
        """An upper value of log A(r)."""
        live = np.isfinite(log_r)
        if log_r.size < _MANY or not live.any():
            return super().log_sum(log_r)
        at = np.linspace(float(log_r[live].min()), float(log_r[live].max()), _PLACES)
        value = np.interp(log_r, at, super().log_sum(at)) + 1e-11
        return np.asarray(np.where(live, value, np.inf))


@np.errstate(all="ignore")
def _best_dither(c: FloatArray, variance: FloatArray, span: FloatArray, terms: Terms) -> float:
    """The dither with the smallest bound for the pair of the largest variance; each of them is sound."""
    if not c.size:
        return _DITHERS[0]
    widest = np.full(len(_DITHERS), int(variance.argmax()))
    line = swap.line_at(c[widest], terms.copies * variance[widest], np.array(_DITHERS))
    found = swap.log_screened(np.zeros(widest.size), variance[widest], span[widest], terms.waiting, line)
    return _DITHERS[int(found.argmin())]


def _log_m(g: FloatArray, terms: Terms, lines: Lines) -> FloatArray:
    """An upper value of log M(c)."""
    c = lines.line.c
    excess = c * (terms.missed - terms.gain * (1.0 - 1e-13)) + 0.5 * c * c / terms.share * g * (1.0 + 1e-12)
    return np.asarray(np.log1p(np.maximum(excess, -0.9) + 1e-15))


def _above(g: FloatArray, variance: FloatArray, terms: Terms, lines: Lines, level: float) -> NDArray[np.bool_]:
    """Where types with this G and at least this V may be above ``level``."""
    log_m = _log_m(g, terms, lines)
    least = np.maximum(variance / terms.share * (1.0 - 1e-9) - terms.gain**2, 0.0)
    least = least * np.exp(-np.minimum(lines.swing, 700.0) - log_m) + 1e-300
    value = swap.log_screened(log_m, least, lines.span, terms.waiting, lines.line)
    return ~(np.logaddexp(value, terms.waiting.log_rest) <= level)


def _open_shells(most: FloatArray, variance: FloatArray, terms: Terms, lines: Lines, level: float) -> NDArray[np.bool_]:
    """Where a type with G up to ``most`` may be above ``level``; V is at least q variance if G is at least q most."""
    nothing = np.zeros(most.shape)
    found = _above(most, nothing, terms, lines, level)
    left = np.flatnonzero(found)
    if not left.size:
        return found
    mine, top = lines.at(left), most[left]
    open_ = _above(_SHELLS[-1] * top, nothing[left], terms, mine, level)
    for above, below in pairwise(_SHELLS):
        open_ |= _above(above * top, below * variance[left], terms, mine, level)
    found[left] = open_
    return found
