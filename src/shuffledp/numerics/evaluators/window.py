"""The direct sum over the counts that matter near one eps: for few atoms and small n, without a contour.

With counts h of n draws, D_E = sum_h Mult(h) (S_h)_+ / n with S = sum_j h_j X_j (numerics/pair.py).  One category takes
the rest of the draws, the most revealing one is summed along a slab from where S_h becomes positive, and the counts of
all others are a row.  Rows are cut where they are improbable.  S falls as E grows, so what is left out at the smallest
E of the window bounds what is left out at every E.  For any c > 0, with M(c) = E exp(cX), it adds at most

    M(c)^n / (e c n) Pr[the row is left out]    because (S)_+ <= e^{cS} / (e c), under the law tilted by e^{cX},
    M(c)^n s e^{-cs} / n                        for the counts with S >= s >= 1/c, because S e^{-cS} falls from 1/c on.

The upper bound includes all of it; the lower bound leaves it out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..few_atoms import Few, Tilt
from ..pair import FloatArray
from .window_plan import MOST_WIDE, REST_ERROR, Plan, Value

#: Leaving improbable rows out pays from this many counts on.
_PRUNED = 6_000
#: Roundings of one log-factorial (in units of its size), and of one value of S.
_LOG_ERROR, _VALUE_ERROR = 2.0**-50, 2.0**-48
#: log of a bound on the probability of S > 0 below which all are multiplied by one number, at most e^this more than it.
_TINY, _MOST_LARGER = -300.0, 600.0
#: Entries of the table of log-factorials before that of 0: counts below 0 have log-factorial inf.
_BEFORE = MOST_WIDE + 8


class Window:
    """Counts near one eps, with their probabilities; it answers every eps nearby.

    Examples
    --------
    >>> from shuffledp.numerics.few_atoms import saddle
    >>> few = Few(gap=(2.0, -2.0), v=(1.0, 3.0), t=(0.25, 0.25), rest=0.5)
    >>> window = Window.around(few, 100, 0.5, saddle(few.values(0.5), few.t, 100.0), rtol=1e-4)
    >>> found = window.log_bracket(0.5)
    >>> 0.0 < found.upper - found.lower < 1e-4
    True
    """

    def __init__(self, few: Few, n: int, plan: Plan) -> None:
        self.n, self.rtol, self.floor, self.ceiling = n, plan.rtol, plan.floor, plan.ceiling
        most, lead, wide = plan.most, plan.lead, plan.wide
        log_most, table = math.log(plan.mass[most]), _log_factorials(n + wide)
        count, log_p, gap, v = _rows(plan, n, log_most, table.up)
        missed = sum(axis.outside(n, plan.weight[axis.place]) for axis in plan.axes)
        if len(plan.axes) > 1 and (plan.cells > _PRUNED or int(count[-1]) > n):
            keep, pruned = _probable(plan, n, count, table.up)
            missed += pruned
            count, log_p, gap, v = count[keep], log_p[keep], gap[keep], v[keep]
        left = n - count
        # from the last count with S <= 0 at the floor on; beyond all draws there is nothing to sum
        first = plan.floor * v
        first -= gap
        first *= 1.0 / plan.step
        np.floor(first, out=first)
        np.maximum(first, 0.0, out=first)
        start = np.minimum(first, left + 1).astype(np.int64)
        log_step = math.log(plan.mass[lead]) - log_most
        mass = _stretches(table.up, start + _BEFORE, wide)
        mass += _stretches(table.down, start - left + (table.up.size - 1 - _BEFORE), wide)
        np.subtract((log_p + start * log_step)[:, None], mass, out=mass)
        self._steps, self._along = _slab(wide)
        mass += self._steps * log_step
        #: log of the unit of all probabilities: that of 1, unless they are near the smallest doubles
        self._unit = 0.0
        bound = n * math.log1p(plan.growth)
        if bound < _TINY:
            self._unit = max(float(mass.max(initial=-math.inf)), bound - _MOST_LARGER)
            mass -= self._unit
        np.exp(mass, out=mass)
        self._mass = mass
        self._tails: FloatArray | None = None
        self._step_gap, self._step_v = plan.gap[lead] - plan.gap[most], plan.v[lead] - plan.v[most]
        self._gap, self._v = gap + start * self._step_gap, v + start * self._step_v
        self.left_out = self._bound(few, plan, missed)
        logs = sum(abs(math.log(m)) for m in plan.mass) + abs(log_most)
        self._error = (
            _LOG_ERROR * ((len(plan.mass) + 2.0) * float(table.up[_BEFORE + n]) + 2.0 * n * logs)
            + n * REST_ERROR / plan.mass[most]
            + 2.0**-48
            + 2.0**-50 * abs(self._unit)
        )
        #: rounding of one S, times all probability, per unit of |gap| and of v
        doubt = _VALUE_ERROR * (len(plan.axes) + 4.0) * n * float(np.add.reduce(mass, axis=None))
        largest = max(map(abs, few.gap))
        self._doubt_gap, self._doubt_v = doubt * largest, doubt * max(few.v)
        #: probabilities below the smallest double were rounded to 0, and S is at most n times the largest gap
        self._least = max(mass.size * n * largest * 1e-323, 1e-322)

    @classmethod
    def around(cls, few: Few, n: int, growth: float, at: Tilt, rtol: float, *, upper: bool = True) -> Window | None:
        """The window near E = 1 + growth, given the law tilted near the saddle; None if it has too many counts."""
        plan = Plan.of(few, n, growth, at, rtol, upper=upper)
        return None if plan is None else cls(few, n, plan)

    def serve_many(self) -> Window:
        """Itself, with sums along every slab from each count on: an evaluation then costs one look-up per row."""
        mass, rows = self._mass, len(self._mass)
        tails = np.zeros((2, rows, mass.shape[1] + 1))
        for tail, weighted in zip(tails, (mass, mass * self._steps), strict=True):
            np.cumsum(weighted[:, ::-1], axis=1, out=tail[:, -2::-1])
        self._tails = tails.reshape(2, -1)
        self._starts = np.arange(rows) * (mass.shape[1] + 1)
        return self

    def _beyond(self, base: FloatArray, step: float) -> tuple[FloatArray, float]:
        """The probability of S > 0 in every row, and the sum over all rows of it times the place along the slab."""
        if self._tails is None or not step > 0.0:
            sums = (self._mass * (np.add.outer(base, step * self._steps) > 0.0)) @ self._along
            return sums[:, 0], float(np.add.reduce(sums[:, 1]))
        first = np.floor(base / -step) + 1.0
        places = self._starts + np.minimum(np.maximum(first, 0.0), self._steps.size).astype(np.int64)
        return self._tails[0][places], float(np.add.reduce(self._tails[1][places]))

    def covers(self, growth: float, rtol: float) -> bool:
        """Whether it may be used at E = 1 + growth with this accuracy."""
        return self.floor <= growth <= self.ceiling and self.rtol <= 2.0 * rtol

    def log_bracket(self, growth: float) -> Value:
        """log of an upper and a lower bound on D_E at E = 1 + growth, which must not be below the floor."""
        step, base = self._step_gap - growth * self._step_v, self._gap - growth * self._v
        rows, along = self._beyond(base, step)
        value, loss = float(base @ rows) + step * along, float(self._v @ rows) + self._step_v * along
        # where base is negative, its sum is at most that along the slab
        doubt = self._doubt_gap + growth * self._doubt_v + self._mass.size * 2.0**-51 * (abs(value) + abs(step) * along)
        doubt += self._least
        upper = value * (1.0 + self._error) + doubt + self.left_out
        lower = value * (1.0 - self._error) - doubt
        log_n = math.log(self.n)
        return Value(
            math.log(upper) - log_n + self._unit,
            math.log(lower) - log_n + self._unit if lower > 0.0 else -math.inf,
            -loss / self.n * math.exp(self._unit),
        )

    def _bound(self, few: Few, plan: Plan, missed: float) -> float:
        """At most the sum of Mult (S)_+ over the counts that are left out, at the floor and so at every larger E."""
        n, c, x = self.n, plan.c, few.values(plan.floor)
        doubt = n * 2.0**-48 * (1.0 + c * max(map(abs, x))) / (1.0 + plan.growth)  # rounding of M(c), n times
        if not doubt < 0.1:
            return math.inf
        share = missed / (math.e * c)
        if plan.wide < n + 2:  # S at the end of every slab, and S rises from there on
            end = plan.step * (plan.wide - 1.0) * (1.0 - 1e-9)
            if not c * end > 1.0:
                return math.inf
            share += end * math.exp(-c * end)
        return share * math.exp(n * math.log1p(plan.growth) + doubt - self._unit) * (1.0 + 1e-6)


def _rows(
    plan: Plan, n: int, log_most: float, table: FloatArray
) -> tuple[np.ndarray, FloatArray, FloatArray, FloatArray]:
    """Of every row: the number of draws, the log of what they contribute, and gap and V with nothing along the slab."""
    most = plan.most
    own_gap, own_v = plan.gap[most], plan.v[most]
    log_all = float(table[_BEFORE + n]) + n * log_most
    if not plan.axes:
        return np.zeros(1, dtype=np.int64), np.array([log_all]), np.array([n * own_gap]), np.array([n * own_v])
    parts: list[tuple[np.ndarray, ...]] = []
    for axis in plan.axes:
        j = axis.place
        h = np.arange(axis.low, axis.high + 1)
        log_own = h * (math.log(plan.mass[j]) - log_most)
        log_own -= table[_BEFORE + axis.low : _BEFORE + axis.high + 1]
        parts.append((h, log_own, h * (plan.gap[j] - own_gap), h * (plan.v[j] - own_v)))
    count, log_p, gap, v = parts[0]
    for more in parts[1:]:
        count, log_p, gap, v = (np.add.outer(a, b).ravel() for a, b in zip((count, log_p, gap, v), more, strict=True))
    log_p += log_all
    gap += n * own_gap
    v += n * own_v
    return count, log_p, gap, v


def _probable(plan: Plan, n: int, count: np.ndarray, table: FloatArray) -> tuple[np.ndarray, float]:
    """The rows worth summing, and at most the probability of the others under the law tilted at the floor."""
    left = plan.weight[plan.lead] + plan.weight[plan.most]
    log_left = math.log(left)
    log_row: FloatArray = np.array([float(table[_BEFORE + n]) + n * log_left])
    for axis in plan.axes:
        own = np.arange(axis.low, axis.high + 1) * (math.log(plan.weight[axis.place]) - log_left)
        own -= table[_BEFORE + axis.low : _BEFORE + axis.high + 1]
        log_row = np.add.outer(log_row, own).ravel()
    log_row = log_row - table[_BEFORE + np.maximum(n - count, -1)]  # rows of more draws than n are impossible
    improbable = log_row < plan.least - 0.5 * math.log(log_row.size)
    out = np.exp(log_row[improbable])
    return np.flatnonzero(~improbable), float(np.add.reduce(out)) * (1.0 + 1e-6)


def _stretches(values: FloatArray, start: np.ndarray, wide: int) -> FloatArray:
    """One row per start: that many consecutive values."""
    windows = np.ndarray((values.size - wide + 1, wide), np.float64, values, 0, (8, 8))  # a view of each stretch
    return np.asarray(windows[start])


@lru_cache(maxsize=256)
def _slab(wide: int) -> tuple[FloatArray, FloatArray]:
    """0, 1, ..., and the same beside ones."""
    steps = np.arange(float(wide))
    return steps, np.stack((np.ones(wide), steps), axis=1)


class _Factorials(NamedTuple):
    """log k! at _BEFORE + k, inf for k < 0; and the same backwards."""

    up: FloatArray
    down: FloatArray


def _log_factorials(most: int) -> _Factorials:
    """log k! for k up to ``most`` at least."""
    global _table
    if _table.up.size <= _BEFORE + most:
        size = 1 << max((_BEFORE + most).bit_length(), 12)
        k = np.maximum(np.arange(size, dtype=np.longdouble), 32)
        y = 1 / k
        z = y * y
        series = np.longdouble(1) / 1680 - z / 1188  # Stirling's; the first term left out is below 1e-19 from 32 on
        for part in (1260, 360, 12):
            series = np.longdouble(1) / part - z * series
        half_log = np.log(2 * np.longdouble("3.14159265358979323846264338327950288")) / 2
        made = ((k + 0.5) * np.log(k) - k + half_log + y * series).astype(np.float64)
        made[:32] = [math.log(math.factorial(i)) for i in range(32)]
        up = np.concatenate([np.full(_BEFORE, math.inf), made])
        _table = _Factorials(up, up[::-1].copy())
    return _table


_table = _Factorials(np.zeros(0), np.zeros(0))
