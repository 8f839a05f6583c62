"""Which counts the direct sum of window.py takes: the cuts, the slab, what that costs, and the point to charge from."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..binomial import log_tail_bound
from ..few_atoms import Few, Tilt, tilted

#: Most draws: log-factorials are then right to about 1e-10.
MOST_DRAWS = 1 << 17
#: Most counts along a slab; most rows and most counts of a window for one eps or two, and of one for many.
MOST_WIDE = 1_024
_MOST_ROWS, _MOST_CELLS = (4_096, 20_000), (60_000, 500_000)
#: What is left out, as a share of the accuracy asked for, in a window of few counts and of many.
_SHARES, _FEW_CELLS = (0.05, 0.25), 5_000
#: A window serves values of log delta within this distance of where it was placed: one for an eps or two, one for many.
_REACH = (0.6, 3.0)
#: Rounding of "nothing", which is 1 - sum(t).
REST_ERROR = 2.0**-52
#: Microseconds, roughly: one window and two sums over it, those of more than one axis, per count and per row.
_COST, _COST_AXES, _COST_CELL, _COST_ROW = 70.0, 40.0, 0.007, 0.03


class Value(NamedTuple):
    """log of an upper and a lower bound on a divergence D_E, and its derivative in E."""

    upper: float
    lower: float
    slope: float


class Axis(NamedTuple):
    """A category that is cut on both sides: counts low to high."""

    place: int
    low: int
    high: int

    def outside(self, n: int, weight: float) -> float:
        """At most the probability of another count, if each draw is of this category with this probability."""
        found = math.exp(log_tail_bound(n, weight, self.high + 1.0)) if self.high < n else 0.0
        if self.low > 0:
            found += math.exp(log_tail_bound(n, 1.0 - weight, n - self.low + 1.0))
        return found


class Plan(NamedTuple):
    """What is summed, before a single probability is computed."""

    #: gap, v, mass of every category, "nothing" included
    gap: list[float]
    v: list[float]
    mass: list[float]
    #: tilted at the floor of the window, where all that is left out is bounded
    weight: list[float]
    growth: float
    lead: int
    most: int
    axes: list[Axis]
    floor: float
    ceiling: float
    #: change of S along the slab at the floor, and its length
    step: float
    wide: int
    #: rows with a smaller probability than this (its logarithm) may be left out
    least: float
    c: float
    rtol: float

    @property
    def rows(self) -> int:
        """Rows before the improbable ones are left out."""
        return math.prod(axis.high - axis.low + 1 for axis in self.axes)

    @property
    def cells(self) -> int:
        """Counts before the improbable ones are left out."""
        return self.rows * self.wide

    @property
    def cost(self) -> float:
        """Microseconds, roughly."""
        if len(self.axes) <= 1:
            return _COST + _COST_CELL * self.cells
        return _COST + _COST_AXES + _COST_ROW * self.rows + _COST_CELL * self.cells * 0.65 ** (len(self.axes) - 1)

    @property
    def cost_of_many(self) -> float:
        """Microseconds for each of many eps, roughly."""
        return 20.0 + 0.0005 * self.cells + 0.015 * self.rows

    @property
    def small(self) -> bool:
        """Whether nothing else can be faster."""
        return self.cells <= _FEW_CELLS

    @classmethod
    def of(
        cls, few: Few, n: int, growth: float, at: Tilt, rtol: float, *, upper: bool = True, many: bool = False
    ) -> Plan | None:
        """The plan near E = 1 + growth, given the law tilted near the saddle; None if there are too many counts.

        ``many``: it is to serve many eps, so that more counts are worth their price.
        """
        if n > MOST_DRAWS:
            return None
        plan = cls._with(few, n, growth, at, rtol, _SHARES[0], upper, _REACH[many])
        if plan is not None and plan.cells > _FEW_CELLS:
            plan = cls._with(few, n, growth, at, rtol, _SHARES[1], upper, _REACH[many])
        return None if plan is None or plan.rows > _MOST_ROWS[many] or plan.cells > _MOST_CELLS[many] else plan

    @classmethod
    def _with(
        cls, few: Few, n: int, growth: float, at: Tilt, rtol: float, share: float, upper: bool, distance: float
    ) -> Plan | None:
        """The categories, the cuts and the slab; None if the slab is too long."""
        c = at.c
        fall = n * c * sum(w * v for w, v in zip(at.weights, few.v, strict=True))  # -d log delta / d growth
        reach = distance / fall if fall > 0.0 else 0.0
        floor = max(growth - reach, 0.0)
        x = few.values(floor)
        at_floor = tilted(x, few.t, c)
        rest = few.rest + (REST_ERROR if upper else -REST_ERROR)
        mass, gap, v = [*few.t], [*few.gap], [*few.v]
        weight = [max(w, 1e-300) for w in at_floor.weights]  # rounded up: it bounds what is left out
        if rest > 0.0:
            mass.append(rest)
            weight.append(rest / (1.0 + at_floor.growth))
            gap.append(0.0)
            v.append(0.0)
            x.append(0.0)
        lead = x.index(max(x))
        other = [j for j in range(len(x)) if j != lead]
        if not other:
            return None
        most = max(other, key=weight.__getitem__)
        other.remove(most)
        # the sum is about M^n / (n c) / (c sqrt(2 pi bend)), and that at the floor is e^reach of it
        digits = math.log(c) + 0.5 * math.log(2.0 * math.pi * (n * at.variance + 2.0 / (c * c)))
        digits += distance - math.log(share * rtol)
        step = x[lead] - x[most]
        folds = max(digits + math.log(max(digits, math.e)) + 0.2, 3.0)
        if not (step > 0.0 and folds < c * step * (MOST_WIDE - 3)):
            return None
        need = max(digits - 1.0 + math.log(2.0 * len(other) + 1.0), 1.0)
        axes = [_axis(j, n, weight[j], need) for j in other]
        wide = min(math.ceil(folds / (c * step)) + 2, n + 2)
        return cls(
            gap,
            v,
            mass,
            weight,
            at_floor.growth,
            lead,
            most,
            axes,
            floor,
            growth + reach,
            step,
            wide,
            -need - 1.0,
            c,
            rtol,
        )


def _axis(place: int, n: int, weight: float, need: float) -> Axis:
    """Cut where either tail has a log-probability below -need, roughly."""
    mean = n * weight
    if mean < 0.01:  # Pr[h >= k] <= mean^k
        return Axis(place, 0, min(math.ceil(need / -math.log(mean)) - 1 if mean > 0.0 else 0, n))
    spread = mean * (1.0 - weight)
    up = need / 3.0 + math.sqrt(need * need / 9.0 + 2.0 * need * spread)  # Bernstein's inequality
    down = math.sqrt(2.0 * need * spread) if weight <= 0.5 else up  # the lower tail of a small weight is lighter
    high = math.ceil(mean + up)
    if mean < 30.0:
        while high > mean + 1.0 and log_tail_bound(n, weight, high) <= -need:
            high -= 1
    return Axis(place, max(math.floor(mean - down), 0), min(high, n))
