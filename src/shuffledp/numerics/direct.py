"""Few count vectors: list them all.

With counts h of n draws, D_E = sum_h Mult(h) (G_h - (E-1) V_h)_+ / n, G = h.gap, V = h.v: convex and piecewise linear
in E, with kinks where G_h = (E-1) V_h.  Sorted by kink, running sums answer every E by one binary search.  The heaviest
category ("nothing", or one symbol) takes the rest of the draws and is not listed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import tuning
from .binomial import LOG_LEFT_OUT, first_rare, log_multinomial, outside_window
from .ledger import charge
from .pair import FloatArray, IntArray

#: Relative error of a multinomial probability in Loader's form (binomial.py).
ENTRY_ERROR = 4e-12
#: Approximate half-width of the window of a count, in deviations.
_WIDE = math.sqrt(-2.0 * LOG_LEFT_OUT)


class Table(NamedTuple):
    """Kinks in E - 1, falling, and running sums of Mult(h)/n times G, V and U + V, U = G + V."""

    kinks: FloatArray
    gap: NDArray[np.longdouble]
    v: NDArray[np.longdouble]
    size: NDArray[np.longdouble]
    left_out: float
    doubt: float  # relative error of Mult(h)

    def at(self, growth: float) -> tuple[float, float, float]:
        """log of an upper and a lower value at E = 1 + growth, and about -d log delta/d eps."""
        place = np.searchsorted(-self.kinks, -growth, side="left")
        value = max(float(self.gap[place] - growth * self.v[place]), 0.0)
        room = table_rounding(self, value, float(self.size[place]) + abs(growth) * float(self.v[place]))
        upper, lower = value + room + self.left_out, value - room
        slope = (1.0 + growth) * float(self.v[place]) / upper if upper > 0.0 else 0.0
        return (math.log(upper) if upper > 0.0 else -math.inf), (math.log(lower) if lower > 0.0 else -math.inf), slope


@charge("rounding of a count table", "docs/proofs.md, Lemma 9")
def table_rounding(table: Table, value: float, size: float) -> float:
    """Every probability has a relative error ``doubt``; every G - (E-1) V is right to a few units of U + (E-1) V."""
    return value * table.doubt + 2.0**-48 * size


@charge("counts that a table leaves out", "docs/proofs.md, Lemma 10")
def count_windows(n: int, masses: list[float]) -> tuple[list[int], list[int], float]:
    """The least and the largest count of every category that a table lists, and what the others can add for sum P0 = 1.

    By the size-biasing of pair.py, the sum of Mult_n(h) U_h/n over counts h with h_j > high is at most Pr[Bin(n-1, t_j)
    >= high], and over those with h_j < low at most Pr[Bin(n-1, 1-t_j) >= n - low].
    """
    high = [first_rare(n - 1, min(mass, 1.0)) for mass in masses]
    low = [max(n - first_rare(n - 1, 1.0 - mass), 0) if n * mass > -LOG_LEFT_OUT else 0 for mass in masses]
    return low, high, outside_window(sum(x > 0 for x in low) + sum(x < n for x in high))


@np.errstate(over="ignore")
def about(t: FloatArray, n: FloatArray) -> FloatArray:
    """About how many count vectors the table of every row would have; inf where none is tried."""
    mass = np.column_stack([t, np.maximum(1.0 - t.sum(axis=1), 0.0)])
    wide = np.maximum(_WIDE * np.sqrt(n[:, None] * mass * np.maximum(1.0 - mass, 0.0)), 1.0)
    few = (t > 0.0).sum(axis=1) < tuning.MOST_CATEGORIES
    return np.where(few, wide.prod(axis=1) / wide.max(axis=1), np.inf)


def build(gap: FloatArray, v: FloatArray, t: FloatArray, n: float, most: int) -> Table | None:
    """The table of one law; None if it would have more than ``most`` count vectors."""
    live = t > 0.0
    mass = np.append(t[live], max(1.0 - float(t.sum()), 0.0))
    gap, v = np.append(gap[live], 0.0), np.append(v[live], 0.0)
    heaviest = int(mass.argmax())
    listed = (np.arange(mass.size) != heaviest) & (mass > 0.0)
    k, outside = int(listed.sum()), float(mass[listed].sum())
    if k >= tuning.MOST_CATEGORIES or n * outside > tuning.MOST_DRAWS:
        return None
    masses = mass[listed]
    low, high, lost = count_windows(int(n), [*masses.tolist(), outside])
    counts = _listing(low, high, most)
    if counts is None:
        return None
    rest = n - counts.sum(axis=1)
    log_p = log_multinomial(counts, int(n), masses)
    weight = np.exp(log_p) / n
    g, w = counts @ gap[listed] + rest * gap[heaviest], counts @ v[listed] + rest * v[heaviest]
    with np.errstate(divide="ignore", invalid="ignore"):
        kink = np.where((g > 0.0) | (w > 0.0), g / w, -np.inf)
    order = np.argsort(-kink, kind="stable")
    weight = weight[order].astype(np.longdouble)
    sums = [np.append(np.longdouble(0), np.cumsum(weight * a[order])) for a in (g, w, np.abs(g + w) + w)]
    whole = float(np.maximum(gap + v, 0.0) @ mass)
    return Table(kink[order], sums[0], sums[1], sums[2], lost * whole, ENTRY_ERROR)


def _listing(low: list[int], high: list[int], limit: int) -> IntArray | None:
    """All vectors of counts between ``low`` and ``high``, whose last entries bound the sum; None if too many."""
    rows, total = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for least, most in zip(low[:-1], high[:-1], strict=True):
        sizes = np.maximum(np.minimum(most, high[-1] - total) - least + 1, 0)
        if int(sizes.sum()) > limit:
            return None
        parent = np.repeat(np.arange(total.size), sizes)
        value = least + np.arange(parent.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows, total = np.column_stack([rows[parent], value]), total[parent] + value
    return rows[total >= low[-1]]
