"""How many others are looked at in vain, with a common mass and a number of users of its own for every row.

It stands wherever evaluators/swap.py takes a Waiting; every sum is the same, with the blocks of the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair import FloatArray
from . import swap
from .swap import ULP, Waiting


@dataclass(frozen=True)
class Waitings(Waiting):
    """One :class:`Waiting` per row: arrays over the rows, and over rows and blocks for ``first`` and ``last``.

    A row with fewer blocks than another repeats its last block with ``live`` False, which adds nothing.

    Examples
    --------
    >>> both = Waitings.of_rows(np.array([0.2, 1.0]), np.array([50.0, 80.0]), np.array([-20.0, -20.0]))
    >>> alone = [Waiting.of(0.2, 50, -20.0), Waiting.of(1.0, 80, -20.0)]
    >>> at = np.array([-0.1, 0.1])
    >>> expected = [one.log_sum(at[i : i + 1])[0] for i, one in enumerate(alone)]
    >>> bool(np.allclose(both.log_sum(at), expected, rtol=1e-13))
    True
    """

    common_mass: FloatArray  # type: ignore[assignment]
    others: FloatArray  # type: ignore[assignment]
    first: FloatArray
    last: FloatArray
    log_rest: FloatArray  # type: ignore[assignment]
    live: np.ndarray
    least_copies: FloatArray

    @classmethod
    @np.errstate(all="ignore")
    def of_rows(cls, common_mass: FloatArray, n: FloatArray, log_target: FloatArray) -> Waitings:
        """The blocks of every row, as :meth:`Waiting.of` makes them."""
        beta = common_mass * (1.0 - ULP)
        rate = np.log1p(-beta)
        count = np.floor(np.minimum((swap.NEGLIGIBLE - np.maximum(log_target, -745.0)) / -rate, n - 2.0)) + 1.0
        count = np.where(beta >= 1.0 - 2.0**-40, 1.0, count)
        whole = common_mass >= 1.0
        edges = [np.zeros(n.size)]
        while np.any(edges[-1] < count):
            here = edges[-1]
            wide = np.minimum(
                np.floor(here * (swap.GROWTH - 1.0)), np.floor((n - 1.0 - here) * (1.0 - 1.0 / swap.GROWTH))
            )
            edges.append(np.minimum(count, here + np.maximum(1.0, wide)))
        at = np.stack(edges, axis=1)
        live = at[:, 1:] > at[:, :-1]
        first, last = np.where(live, at[:, :-1], 0.0), np.where(live, at[:, 1:] - 1.0, 0.0)
        log_rest = np.where(whole, -np.inf, count * rate * (1.0 - ULP))
        return cls(np.where(whole, 1.0, beta), n - 1.0, first, last, log_rest, live, n - 1.0 - last.max(axis=1))

    @property
    def fewest(self) -> FloatArray:  # type: ignore[override]
        """The smallest number of copies in any block, row by row."""
        return self.least_copies

    def at(self, rows: np.ndarray) -> Waitings:
        """Some of the rows, in this order."""
        return Waitings(*(getattr(self, name)[rows] for name, made in self.__dataclass_fields__.items() if made.init))

    def log_sum(self, log_r: FloatArray) -> FloatArray:
        """log of (an upper value of) A(r), one r per row."""
        plain = self.others * log_r - np.log(self.others)
        if np.all(self.common_mass == 1.0):
            return np.asarray(plain)
        with np.errstate(all="ignore"):
            log_rho = np.log1p(-self.common_mass) - log_r
            log_rho = np.where(np.abs(log_rho) < 1e-9, 1e-9, log_rho)[:, None]  # the sum rises with rho
            # 1 + rho + ... + rho^(width-1), from its larger end, in units of the largest power of all blocks
            down, top = -np.abs(log_rho), self.last.max(axis=1)
            terms = np.exp(np.where(log_rho < 0.0, self.first, top[:, None] - self.last) * down)
            terms *= np.expm1((self.last - self.first + 1.0) * down)
            terms *= self.live / (self.others[:, None] - self.last)
            total = np.log(terms.sum(axis=1) / np.expm1(down[:, 0])) + np.maximum(log_rho[:, 0], 0.0) * top
            value = np.log(self.common_mass) + self.others * log_r + total + swap.SUMMING
        return np.where(self.common_mass == 1.0, plain, value)

    def log_sums(self, log_r: FloatArray, *, alike: bool = False) -> FloatArray:
        """The same: every row has an A of its own, and no table serves them all."""
        return self.log_sum(log_r)

    def sum(self, growth: np.ndarray, log_m: np.ndarray, peak: FloatArray, size: FloatArray) -> np.ndarray:
        """A(M)/e^peak for one complex M = 1 + growth per row."""
        plain = np.exp(self.others * log_m - np.log(self.others) - peak)
        if np.all(self.common_mass == 1.0):
            return np.asarray(plain)
        with np.errstate(all="ignore"):
            log_rho = (np.log1p(-self.common_mass) - log_m)[:, None]
            width = self.last - self.first + 1.0
            less = (self.common_mass + growth) / (1.0 + growth)  # 1 - rho without cancellation
            base = self.others * log_m - peak + np.log(self.common_mass)
            ends = np.exp(self.first * log_rho + base[:, None]) * -np.expm1(width * log_rho)
            total = (np.where(self.live, ends, 0.0) / (self.others[:, None] - self.last)).sum(axis=1) / less
            value = np.where(np.abs(less) < 1e-6, size, total)  # near a resonance the modulus will do
        return np.where(self.common_mass == 1.0, plain, value)
