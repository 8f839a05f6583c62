"""How many others are looked at before the first free one, and the sums over it of the swap bound (swap.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ..pair import FloatArray

#: Each rounding step is charged this much (2^-48 is 16 units in the last place).
ULP = 2.0**-48
#: Charged on every sum for the roundings that do not grow with n.
SUMMING = 1e-12
#: k grows and n-1-k shrinks by at most this ratio in a block: 1/(n-1-k) is replaced by its largest value there.
GROWTH = 1.25
#: e^-this of a sum is not worth a term.
NEGLIGIBLE = 25.0
#: Values of r from which A is tabulated: for them alone, or for others as well.
_SOME, _MANY = 320, 1 << 12


def _depths(count: int) -> FloatArray:
    """From 1 to 0, finer and finer: far below the largest value of r the terms are too small to matter."""
    return np.asarray(np.expm1(np.linspace(12.0, 0.0, count)) / math.expm1(12.0))


#: How far below the largest value the entries of a table are, in units of its range.
_SHORT, _LONG = _depths(256), np.sort(np.append(_depths(1 << 11), np.linspace(0.0, 1.0, 1 << 11)[1:-1]))[::-1]


#: Places, and log A there.
Table: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Waiting:
    """The number k of others looked at before the first free one: geometric, in blocks [first, last] of k."""

    common_mass: float
    others: float
    first: FloatArray
    last: FloatArray
    #: log Pr[nobody among those of the blocks is free]
    log_rest: float
    #: log A at many places, once it was needed
    tables: list[Table] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, common_mass: float, n: int, log_target: float) -> Waiting:
        """Blocks up to where the rest is below e^(log_target - 25); ``n`` is at least 2."""
        beta = common_mass * (1.0 - ULP)
        if beta >= 1.0 - 2.0**-40:
            zero = np.zeros(1)
            return cls(1.0, n - 1.0, zero, zero, -math.inf) if common_mass >= 1.0 else cls._made(beta, n, 1)
        rate = -math.log1p(-beta)
        most = (NEGLIGIBLE - max(log_target, -745.0)) / rate
        return cls._made(beta, n, int(min(most, n - 2)) + 1)

    @classmethod
    def _made(cls, beta: float, n: int, count: int) -> Waiting:
        edges = [0]
        while edges[-1] < count:
            here = edges[-1]
            wide = min(int(here * (GROWTH - 1.0)), int((n - 1 - here) * (1.0 - 1.0 / GROWTH)))
            edges.append(min(count, here + max(1, wide)))
        at = np.array(edges, dtype=np.float64)
        rate = math.log1p(-beta)
        return cls(beta, n - 1.0, at[:-1], at[1:] - 1.0, count * rate * (1.0 - ULP))

    @property
    def fewest(self) -> float:
        """The smallest number of copies in any block."""
        return float(self.others - self.last[-1])

    def at(self, rows: np.ndarray) -> Waiting:
        """Itself: it is that of every row (swap_rows.py has one per row)."""
        return self

    def log_sum(self, log_r: FloatArray) -> FloatArray:
        """log of (an upper value of) A(r), each term raised to the largest 1/(n-1-k) of its block."""
        if self.common_mass == 1.0:
            return np.asarray(self.others * log_r - math.log(self.others))
        log_rho = math.log1p(-self.common_mass) - log_r[..., None]
        log_rho = np.where(np.abs(log_rho) < 1e-9, 1e-9, log_rho)  # the sum rises with rho
        # 1 + rho + ... + rho^(width-1), from its larger end, in units of the largest power of all blocks
        down = -np.abs(log_rho)
        ends = np.where(log_rho < 0.0, self.first, self.last[-1] - self.last)
        terms = np.exp(ends * down)
        terms *= np.expm1((self.last - self.first + 1.0) * down)
        terms /= self.others - self.last
        total = np.log(terms.sum(axis=-1) / np.expm1(down[..., 0])) + np.maximum(log_rho[..., 0], 0.0) * self.last[-1]
        return np.asarray(math.log(self.common_mass) + self.others * log_r + total + SUMMING)

    def log_sums(self, log_r: FloatArray, *, alike: bool = False) -> FloatArray:
        """The same at a flat array of values; where these are many, by chords between entries of a table.

        A has positive coefficients, so that log A is convex in log r, and its chords lie above it.  ``alike`` says that
        the terms that matter are all near the largest value: a short table will do.
        """
        if log_r.size < _SOME or self.common_mass == 1.0:
            return self.log_sum(log_r)
        low, high = float(log_r.min()), float(log_r.max())
        if not 1e-9 * max(abs(low), abs(high)) < high - low < math.inf:
            return self.log_sum(log_r)
        table = next((t for t in self.tables if t[0][0] <= low and high <= t[0][-1]), None)
        if table is None and log_r.size >= _MANY:
            table = self._widened(low, high)
        elif table is None and alike:
            table = self._tabulated(low, high, _SHORT)
        if table is None:
            return self.log_sum(log_r)
        found = np.interp(log_r, *table)
        return np.asarray(found + (2.0**-50 * np.abs(found) + SUMMING))

    def _widened(self, low: float, high: float) -> Table:
        """A table from ``low`` to ``high`` and beyond: later calls often ask for about the same."""
        for places, _ in self.tables:
            low, high = min(low, float(places[0])), max(high, float(places[-1]))
        room = 0.1 * (high - low)
        self.tables[:] = [self._tabulated(low - room, high + min(room, 1.0 / self.others), _LONG)]
        return self.tables[0]

    def _tabulated(self, low: float, high: float, depths: FloatArray) -> Table:
        places = high - (high - low) * depths
        places[0], places[-1] = low, high
        return places, self.log_sum(places)

    def sum(self, growth: np.ndarray, log_m: np.ndarray, peak: FloatArray, size: FloatArray) -> np.ndarray:
        """A(M)/e^peak for complex M = 1 + growth, weighted as in :meth:`log_sum`; ``size`` bounds its modulus."""
        if self.common_mass == 1.0:
            return np.asarray(np.exp(self.others * log_m - math.log(self.others) - peak))
        log_rho = (math.log1p(-self.common_mass) - log_m)[..., None]
        width = self.last - self.first + 1.0
        less = (self.common_mass + growth) / (1.0 + growth)  # 1 - rho without cancellation
        base = self.others * log_m - peak + math.log(self.common_mass)
        ends = np.exp(self.first * log_rho + base[..., None]) * -np.expm1(width * log_rho)
        total = (ends / (self.others - self.last)).sum(axis=-1) / less
        return np.where(np.abs(less) < 1e-6, size, total)  # near a resonance the modulus will do
