"""The contract between evaluators, solver, profiles and families, and the curve of shuffled pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from . import contour, direct, tuning
from .line import first_abscissa
from .pair import FloatArray, IntArray, ShuffledPair, Side
from .rows import Laws, law_shift, numbered, take_rows
from .screen import log_screen


class Values(NamedTuple):
    """log delta of every row on its private side, and about -d log delta/d eps there."""

    log_delta: FloatArray
    slope: FloatArray


class Guess(NamedTuple):
    """About where every row meets its delta, and about -d log delta/d eps there; soundness does not rest on it."""

    epsilon: FloatArray
    slope: FloatArray


class Curve(ABC):
    """Rows of functions log delta(eps); the true ones are convex in e^eps and fall.

    ``side`` says which way errors are charged.  By row: ``limit`` is an eps from which on delta is 0, ``floor`` is at
    most delta at eps -> inf, and ``spread`` approximates the variance that eps grows with: rows with a large spread
    are evaluated first.
    """

    side: Side
    limit: FloatArray
    floor: FloatArray
    spread: FloatArray
    #: How many rows of one question may be evaluated; the others count with their cheap bounds.
    most_evaluated: int = 10**9
    #: Whether rows take so long that only the likeliest of a question is solved before the others are compared with it.
    heavy: bool = False

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Some of the rows."""

    @abstractmethod
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """log delta of every row at its eps, on the private side, to about a relative rtol in delta.

        Where nothing can be said an upper value is inf (or log 1 = 0), a lower one -inf; never NaN.
        """

    @abstractmethod
    def guess(self, log_delta: FloatArray) -> Guess:
        """Where a search for log_delta starts."""

    def crude(self, eps: FloatArray) -> FloatArray:
        """A cheap upper value of log delta (whatever the side), to decide which rows need an evaluation."""
        return np.zeros(eps.size)

    def screen(self, eps: FloatArray, level: FloatArray) -> FloatArray:
        """Cheap upper values of log delta; where they are at most ``level`` they need not be sharp."""
        return self.crude(eps)


class PairCurve(Curve):
    """Shuffled pairs among n messages: the contour, or a table where there are few count vectors."""

    def __init__(self, laws: Laws, side: Side, keys: IntArray, tables: dict[int, direct.Table | None]) -> None:
        """``keys`` are equal for rows of one law and n; ``tables`` is filled by key."""
        self.laws, self.side, self._keys, self._tables = laws, side, keys, tables
        self.limit, self.floor, self.spread = laws.limit, laws.floor, laws.spread / laws.n
        self._counts = direct.about(laws.t, laws.n)
        self._c: FloatArray | None = None

    @classmethod
    def of(cls, pairs: Sequence[ShuffledPair], n: FloatArray, side: Side) -> PairCurve:
        """One row per pair and its n.

        Examples
        --------
        >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
        >>> curve = PairCurve.of([coin, coin], np.array([1e3, 1e6]), "upper")
        >>> curve.at(np.array([0.1, 0.003]), np.full(2, 1e-3)).log_delta.round(1).tolist()
        [-8.5, -11.7]
        """
        keys = numbered(list(zip(map(id, pairs), n.tolist(), strict=True)))[1]
        return cls(Laws.of(pairs, n, side), side, keys, {})

    def take(self, rows: IntArray) -> PairCurve:
        """Some of the rows."""
        part = PairCurve(take_rows(self.laws, rows), self.side, self._keys[rows], self._tables)
        part._c = None if self._c is None else self._c[rows]
        return part

    def _table(self, row: int, most: int) -> direct.Table | None:
        """The table of a row, of at most ``most`` count vectors."""
        key, laws = int(self._keys[row]), self.laws
        if key not in self._tables:
            self._tables[key] = direct.build(laws.gap[row], laws.v[row], laws.t[row], float(laws.n[row]), most)
        return self._tables[key]

    @np.errstate(all="ignore")
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """From the tables where there are any, else on the contour; exposed symbols are added."""
        laws, upper = self.laws, self.side == "upper"
        x, exposed = laws.at(eps, self.side)
        value, slope = np.full(eps.size, -np.inf), np.zeros(eps.size)
        growth = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), self.side))
        uses = np.bincount(self._keys)[self._keys]  # a table may be larger if many rows use it
        most = np.minimum(tuning.COUNTS_OF_A_USE * (uses + 1), tuning.MOST_COUNTS)
        few = self._counts <= 2.0 * most
        for i in np.flatnonzero(few).tolist():
            table = self._table(i, int(most[i]))
            if table is None:
                few[i] = False
            else:
                high, low, slope[i] = table.at(float(growth[i]))
                value[i] = high if upper else low
        rest = np.flatnonzero(~few)
        if rest.size:
            value[rest], slope[rest] = self._many(rest, x[rest], eps[rest], rtol[rest])
        if exposed.any():
            value, slope = _with_exposed(value, slope, exposed, laws, x, upper=upper)
        value = np.where(np.isnan(value), np.inf if upper else -np.inf, value)
        if not upper:
            value = np.where(eps > tuning.LARGEST_EPSILON, -np.inf, value)  # it is that of a smaller eps
            value = np.fmax(value, np.log(self.floor))  # delta never falls below its limit at eps -> inf
        return Values(np.where(eps >= self.limit, -np.inf, value), slope)

    def _many(self, rows: IntArray, x: FloatArray, eps: FloatArray, rtol: FloatArray) -> Values:
        """On the contour."""
        laws = self.laws if rows.size == self.limit.size else take_rows(self.laws, rows)
        value, c = contour.log_delta(x, laws.t, laws.n, rtol, self.side, None if self._c is None else self._c[rows])
        self._c = np.ones(self.limit.size) if self._c is None else self._c
        self._c[rows] = c
        return Values(value, _slope(x, laws, eps, c))

    def guess(self, log_delta: FloatArray) -> Guess:
        """By the saddle-point approximation."""
        laws = self.laws
        found, self._c = saddle_guess(laws.gap, laws.v, laws.t, laws.n, log_delta, self.limit)
        return found

    @np.errstate(all="ignore")
    def crude(self, eps: FloatArray) -> FloatArray:
        """From four moments, at the saddle of each row."""
        x, exposed = self.laws.at(eps, "upper")
        value = log_screen(x, self.laws.t, self.laws.n)
        return np.where(eps >= self.limit, -np.inf, np.logaddexp(value, np.log(exposed)))


def _with_exposed(
    value: FloatArray, slope: FloatArray, exposed: FloatArray, laws: Laws, x: FloatArray, *, upper: bool
) -> tuple[FloatArray, FloatArray]:
    """Add the symbols that only the victim sends; Jensen's E[(mean X)_+] >= (E X)_+ may raise a lower value."""
    if not upper:
        value = np.fmax(value, np.log(np.maximum((x * laws.t).sum(axis=1), 0.0)) - 1e-12)
    whole = np.logaddexp(value, np.log(exposed))
    return whole, slope * np.where(whole > -np.inf, np.exp(value - whole), 1.0)


def _slope(x: FloatArray, laws: Laws, eps: FloatArray, c: FloatArray) -> FloatArray:
    """The slope of the saddle-point approximation: E c n times the tilted mean of v."""
    weight = laws.t * np.exp(c[:, None] * x)
    mass = weight.sum(axis=1) + 1.0 - laws.t.sum(axis=1)
    return np.asarray(np.exp(eps) * c * laws.n * (weight * laws.v).sum(axis=1) / mass)


@np.errstate(all="ignore")
def saddle_guess(
    gap: FloatArray, v: FloatArray, t: FloatArray, n: FloatArray, log_delta: FloatArray, limit: FloatArray
) -> tuple[Guess, FloatArray]:
    """eps by the saddle-point approximation with its first correction, and the abscissa there.

    Every iteration takes a Newton step in c and one in eps; the result is good to 1e-5 for many users.
    """
    sigma = np.sqrt((t * gap * gap).sum(axis=1) / n)
    most = np.minimum(limit, tuning.LARGEST_EPSILON)
    deviations = np.sqrt(np.maximum(-2.0 * (log_delta - np.log(sigma)) - 4.0, 0.5))
    eps = np.clip(np.log1p(deviations * sigma), 1e-17, 0.9 * most)
    low, high, fall = np.zeros(eps.size), most, 1.0 / eps
    c = first_abscissa(gap - np.expm1(eps)[:, None] * v, t, n)
    settled, target = ((t * gap) <= 0.0).all(axis=1), np.log(n) + log_delta
    powers = np.empty((4, *t.shape))
    for _ in range(tuning.GUESSES):
        x = gap - np.expm1(eps)[:, None] * v
        c = np.clip(c, 1e-300, 500.0 / np.maximum(x.max(axis=1), 1e-300))
        grown = t * np.expm1(c[:, None] * x)
        total = 1.0 + grown.sum(axis=1)
        weight = (grown + t) / total[:, None]
        powers[0] = x
        np.multiply(x, x, out=powers[1])
        np.multiply(powers[1], x, out=powers[2])
        np.multiply(powers[1], powers[1], out=powers[3])
        m1, m2, m3, m4 = np.einsum("ij,kij->ki", weight, powers)
        pull, bend = n * m1 - 2.0 / c, n * np.maximum(m2 - m1 * m1, 0.0) + 2.0 / (c * c)
        third = n * (m3 - 3.0 * m1 * m2 + 2.0 * m1**3) - 4.0 / c**3
        fourth = n * (m4 - 4.0 * m1 * m3 - 3.0 * m2**2 + 12.0 * m1**2 * m2 - 6.0 * m1**4) + 12.0 / c**4
        curl = np.clip(fourth / (8.0 * bend**2) - 5.0 * third**2 / (24.0 * bend**3), -0.5, 0.5)
        q = c * c * bend  # the last term is fitted to what the correction misses for a Gaussian X
        value = n * np.log(total) - 2.0 * np.log(c) - 0.5 * pull * pull / bend - 0.5 * np.log(2.0 * np.pi * bend)
        excess = value + np.log1p(curl) - 5.0 / (q * q * (q + 13.3 + 50.0 / q + 3800.0 / q**3)) - target
        slope = np.exp(eps) * c * n * (weight * v).sum(axis=1)
        step = np.clip(c - pull / bend, 0.3 * c, 3.0 * c)
        good = np.isfinite(excess) & (slope > 0.0)
        above = good & (excess > 0.0)
        low, high = np.where(above, eps, low), np.where(above, high, np.minimum(high, eps))
        new = np.where(good, eps + excess / slope, np.nan)
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        done = (np.abs(new - eps) <= 3e-4 * eps) & (np.abs(pull) <= 1e-3 * np.sqrt(bend))
        # a settled row stays as it is, so that its guess does not depend on the other rows
        eps, fall = np.where(settled, eps, new), np.where(good & ~settled, slope, fall)
        c = np.where(np.isfinite(step) & ~settled, step, c)
        settled |= done
        if settled.all():
            break
        stuck = high - low <= 1e-3 * high  # the root moves while c settles: open the bracket again
        low, high = np.where(stuck, 0.0, low), np.where(stuck, most, high)
    return Guess(np.maximum(eps, 1e-17), fall), c
