"""The exact evaluator: enumerate the counts where there are few of them.

With counts h of n draws, D_E = sum_h Mult(h) (U_h - E V_h)_+ / n, U = h.u, V = h.v.  That is a
convex piecewise linear function of E whose kinks are the ratios U_h / V_h.  Sorted by ratio, two
running sums answer every E by one binary search.

The heaviest category ("nothing", or one symbol) takes the rest of the n draws and is not enumerated.  Counts
with more than ``cap`` draws outside it are left out of the sum and *added* to the upper bound: by the same
size-biasing as in pair.py they weigh at most sum(P0) Pr[Bin(n-1, 1 - heaviest) >= cap].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..binomial import first_rare, log_multinomial, log_tail_bound
from ..pair import Atoms, FloatArray
from .contour import LogBracket

#: Largest table; building it costs some milliseconds.
MAX_ROWS = 60_000
#: The table is cut where what is left out has log-probability below this.
LOG_LEFT_OUT = -110.0
#: Relative rounding of one table entry (Loader's form) and of the running sums in extended precision.
TABLE_ERROR = 1e-12


@dataclass(frozen=True)
class Table:
    """Kinks in falling order, and the running sums of Mult(h) U_h / n and Mult(h) V_h / n."""

    kinks: FloatArray
    sum_u: np.ndarray[tuple[int], np.dtype[np.longdouble]]
    sum_v: np.ndarray[tuple[int], np.dtype[np.longdouble]]
    left_out: float


@dataclass(frozen=True)
class Categories:
    """The categories of a draw; the heaviest takes the rest of the n draws and is not enumerated.

    Where most draws are "nothing" the others are clones; where one symbol takes most draws, "nothing" is among the
    enumerated.  Either way few draws fall outside the rest.
    """

    u: FloatArray
    v: FloatArray
    mass: FloatArray
    rest_u: float
    rest_v: float

    @property
    def rest_is_nothing(self) -> bool:
        """Whether the heaviest category is "nothing"."""
        return self.rest_u == 0.0 and self.rest_v == 0.0

    @classmethod
    def of(cls, atoms: Atoms) -> Categories:
        """Atoms and "nothing" (u = v = 0), heaviest apart."""
        u, v = np.append(atoms.u, 0.0), np.append(atoms.v, 0.0)
        mass = np.append(atoms.t, max(0.0, 1.0 - float(atoms.t.sum())))
        heaviest = int(np.argmax(mass))
        keep = (np.arange(mass.size) != heaviest) & (mass > 0.0)
        return cls(u[keep], v[keep], mass[keep], float(u[heaviest]), float(v[heaviest]))


def clone_cap(atoms: Atoms, n: int) -> int:
    """Number of draws outside the rest beyond which the probability is below exp(LOG_LEFT_OUT)."""
    low = min(math.ceil((n - 1) * atoms.outside), n)
    found = first_rare(n - 1, atoms.outside, LOG_LEFT_OUT, low=low, high=n)
    return n if found is None else found


def rows_needed(atoms: Atoms, n: int) -> float:
    """Size of the table: count vectors with at most clone_cap draws outside the rest."""
    if n * atoms.outside > MAX_ROWS:
        return math.inf
    cap, k = clone_cap(atoms, n), Categories.of(atoms).mass.size
    return math.comb(cap + k, k) if min(cap, k) < 100 and max(cap, k) < 10**5 else math.inf


def build(atoms: Atoms, n: int) -> Table:
    """The table for one pair and one n; it answers every eps."""
    cap, split = clone_cap(atoms, n), Categories.of(atoms)
    counts = _compositions(cap, split.mass.size)
    weight = np.exp(log_multinomial(counts, n, split.mass)) / n
    rest = n - counts.sum(axis=1)
    u, v = counts @ split.u + rest * split.rest_u, counts @ split.v + rest * split.rest_v
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(u > 0, u / v, 0.0)
    order = np.argsort(-kinks, kind="stable")
    extended = weight[order].astype(np.longdouble)
    left_out = 0.0 if cap >= n else math.exp(log_tail_bound(n - 1, atoms.outside, cap)) * float(atoms.u @ atoms.t)
    return Table(
        kinks=kinks[order],
        sum_u=np.concatenate([[0], np.cumsum(extended * u[order])]).astype(np.longdouble),
        sum_v=np.concatenate([[0], np.cumsum(extended * v[order])]).astype(np.longdouble),
        left_out=left_out,
    )


def log_bracket(table: Table, eps: FloatArray) -> LogBracket:
    """Bracket log D_E for every eps from the table."""
    ratio = np.exp(eps)
    index = np.searchsorted(-table.kinks, -ratio, side="left")
    big = np.exp(eps.astype(np.longdouble))
    a, b = table.sum_u[index], big * table.sum_v[index]
    value = np.maximum(a - b, 0).astype(np.float64)
    # (U - E V) is known to the rounding of U and V: a few units in the last place of each
    doubt = 1e-15 * (a + b).astype(np.float64)
    upper = value * (1.0 + TABLE_ERROR) + doubt + table.left_out
    lower = value * (1.0 - TABLE_ERROR) - doubt
    with np.errstate(divide="ignore"):
        # a positive divergence may underflow, but it is not 0
        log_upper = np.log(np.where(index > 0, np.maximum(upper, 5e-324), table.left_out))
        log_lower = np.where(lower > 0, np.log(np.maximum(lower, 1e-320)), -np.inf)
    return LogBracket(log_upper, log_lower, -ratio * table.sum_v[index].astype(np.float64))


def _compositions(cap: int, k: int) -> FloatArray:
    """All vectors of k counts with sum <= cap, one per row."""
    rows = np.zeros((1, 0))
    left = np.array([cap])
    for _ in range(k):
        choices = left + 1
        parent = np.repeat(np.arange(left.size), choices)
        value = np.arange(parent.size) - np.repeat(np.cumsum(choices) - choices, choices)
        rows = np.column_stack([rows[parent], value])
        left = left[parent] - value
    return rows
