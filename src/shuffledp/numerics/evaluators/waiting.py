"""How many others are looked at before the first free one, and the sums over it of the swap bound (swap.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
#: Values of r from which A is tabulated, and the entries of the table: where only the largest count, and otherwise.
_SOME, _SHORT = 320, 192
_MANY, _TABLE = 1 << 12, 1 << 12


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
    tables: list[tuple[FloatArray, FloatArray]] = field(default_factory=list, init=False, repr=False, compare=False)

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

    def log_sums(self, log_r: FloatArray, *, falling: bool = False) -> FloatArray:
        """The same at a flat array of values; where these are many, by chords between entries of a table.

        A has positive coefficients, so that log A is convex in log r, and its chords lie above it.  ``falling`` says
        that what is far below the largest value matters little: a short table will do, which is finer toward the top.
        """
        if log_r.size < _SOME or self.common_mass == 1.0:
            return self.log_sum(log_r)
        low, high = float(log_r.min()), float(log_r.max())
        if not 1e-9 * max(abs(low), abs(high)) < high - low < math.inf:
            return self.log_sum(log_r)
        if falling and log_r.size < _MANY:
            places = high - (high - low) * np.linspace(1.0, 0.0, _SHORT) ** 2
            places[0], places[-1] = low, high
            return np.asarray(np.interp(log_r, places, self.log_sum(places))) + SUMMING
        if log_r.size < _MANY and not any(table[0][0] <= low and high <= table[0][-1] for table in self.tables):
            return self.log_sum(log_r)
        return np.asarray(np.interp(log_r, *self._table(low, high))) + SUMMING

    def _table(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Places and values of log A from ``low`` to ``high`` or beyond; later calls often ask for about the same."""
        for table in self.tables:
            if table[0][0] <= low and high <= table[0][-1]:
                return table
        ends = [(table[0][0], table[0][-1]) for table in self.tables]
        low, high = min([low, *(end[0] for end in ends)]), max([high, *(end[1] for end in ends)])
        room = 0.1 * (high - low)
        places = np.linspace(low - room, high + room, _TABLE)
        self.tables[:] = [(places, self.log_sum(places))]
        return self.tables[0]

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
