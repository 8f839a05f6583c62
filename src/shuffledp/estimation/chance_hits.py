"""How many hits chance alone gives to a string that nobody holds: what a search compares with."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The constant of the Berry-Esseen theorem for summands that differ (Shevtsova, Doklady Mathematics 2010).
_BERRY_ESSEEN = 0.56
#: Halvings of the interval of slopes; its end stays on the safe side.
_HALVINGS = 20


class _Cells(NamedTuple):
    """The different counts of every row, each with the share of the row's cells that have it."""

    row: NDArray[np.int64]
    hits: NDArray[np.float64]
    share: NDArray[np.float64]
    top: NDArray[np.float64]  #: the largest count of each row


class _Tilted(NamedTuple):
    """The sum after exponential tilting by a slope."""

    chance: float  #: log of a bound on P(hits >= mean)
    mean: float


def chance_limit(table: NDArray[Any], chance: float) -> float:
    """A number of hits that a sum of one random cell of every row reaches with probability at most ``chance``.

    ``table`` has the reports of one hash function per row and of one bucket per column.  The buckets of a string that
    nobody holds are independent of the reports, uniform and independent over the functions, so that its hits are such a
    sum: what the held strings put into the buckets is in the table, and so are collisions with them and the
    skewness of small counts, which standard errors of a normal law would miss.

    Notes
    -----
    With M(t) = E exp(t S), P(S >= s) = M(t) exp(-t s) E_t[exp(-t (S - s)); S >= s], where E_t is tilted so that its
    mean is s.  The last factor is at most 1, and at most exp(u^2/2) Phi(-u) + 2 D, where u = t times the tilted
    standard deviation and D is the distance of the tilted law from the normal one (Bahadur, Ranga Rao, Annals of
    Mathematical Statistics 1960; D by the Berry-Esseen theorem).  Infinite where nothing is that improbable.

    Examples
    --------
    >>> table = np.random.default_rng(0).poisson(0.5, size=(1000, 16))
    >>> limit = chance_limit(table, 1e-3)
    >>> sums = table[np.arange(1000), np.random.default_rng(1).integers(16, size=(5000, 1000))].sum(axis=1)
    >>> bool(np.mean(sums >= limit) < 1e-3), bool(limit < sums.mean() + 4.5 * sums.std())
    (True, True)
    """
    cells = _cells(np.asarray(table))
    spread = math.sqrt(float(np.asarray(table).var(axis=1).sum()))
    if spread == 0.0:
        return math.inf
    wanted, low, high = math.log(chance), 0.0, 2.0 / spread
    while _tilted(cells, high).chance > wanted:
        low, high = high, 2.0 * high
        if high > 700.0:  # all of the weight is on the fullest buckets: counts are whole numbers
            return math.inf
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _tilted(cells, middle).chance > wanted:
            low = middle
        else:
            high = middle
    return _tilted(cells, high).mean


def _cells(table: NDArray[Any]) -> _Cells:
    """Most cells of a row are equal, so a few numbers describe it."""
    size = int(table.max(initial=0)) + 1
    rows, columns = table.shape
    both, times = np.unique(np.arange(rows)[:, None] * size + table, return_counts=True)
    return _Cells(both // size, (both % size).astype(np.float64), times / columns, table.max(axis=1).astype(np.float64))


def _tilted(cells: _Cells, slope: float) -> _Tilted:
    row, count, top = cells.row, cells.hits, cells.top
    weight = cells.share * np.exp(slope * (count - top[row]))
    sums = np.bincount(row, weights=weight)
    weight /= sums[row]
    means = np.bincount(row, weights=weight * count)
    off = np.abs(count - means[row])
    variance, third = float(weight @ off**2), float(weight @ off**3)
    mean = float(means.sum())
    height = float((np.log(sums) + slope * (top - means)).sum())
    if variance < 1e-100:
        return _Tilted(height, mean)
    u = slope * math.sqrt(variance)
    # exp(u^2/2) Phi(-u) is at most 1/(u sqrt(2 pi)), which is used where the first factor would be too large
    tail = math.exp(0.5 * u * u) * NormalDist().cdf(-u) if u < 8.0 else 1.0 / (u * math.sqrt(2.0 * math.pi))
    return _Tilted(height + math.log(min(1.0, tail + 2.0 * _BERRY_ESSEEN * third / variance**1.5)), mean)
