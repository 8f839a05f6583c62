"""A mixture over numbers of messages, by enumerating the counts of all numbers at once.

With counts h of M draws, D_E = sum_h Mult_M(h) (U_h - E V_h)_+ / M, U = h.u, V = h.v (evaluators/exact.py).  The
heaviest category takes the rest of the draws and is not enumerated.  log Mult_M(h) is a sum of one term per category,
each of them a small table over M and one count, so that the numbers of messages share nearly all of the work.

Counts outside a window are left out and *added* to the upper bound: by the size-biasing of pair.py they weigh at
most sum(P0) Pr[Bin(M-1, t_j) is outside the window], one count less on its upper end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..binomial import deviance, first_rare, log_draws, log_tail_bound, stirling_correction
from ..evaluators.contour import LogBracket
from ..evaluators.exact import TABLE_ERROR
from ..pair import Atoms, FloatArray

#: Windows leave out at most this log-probability on either side.
_LOG_LEFT_OUT = -60.0
#: Categories beside the rest, and the largest number of cells: where counts are so small that sums over nodes are slow
#: (lattices), and else.
_MOST_CATEGORIES, _SMALL, _MOST_SMALL, _MOST_CELLS = 3, 60.0, 400_000, 120_000
#: Draws that are "nothing" are not a category of their own if that costs less than this, relatively and absolutely.
_HARDLY_EVER, _LOST = 1e-8, 1e-14
#: Rounding of U - E V relative to M times the largest of its terms, of which there are at most five.
_ROUNDING = 2.0**-48


@dataclass(frozen=True)
class ManyCounts:
    """Cells (number of messages, counts), in one row: their weights, U - V and V, and a bound on their rounding."""

    weight: FloatArray  # mass of the number times Mult_M(h) / M
    gap: FloatArray
    v: FloatArray
    largest: FloatArray  # M times the largest |u - v| and v of a category
    raised: float  # what the upper end is raised by, relatively
    left_out: float

    @classmethod
    def of(cls, atoms: Sequence[Atoms], draws: Sequence[int], masses: Sequence[float]) -> ManyCounts | None:
        """The cells of pairs with the same t; None where there are too many."""
        t = atoms[0].t
        n, chance = np.array(draws, dtype=np.int64), np.array(masses)
        nothing = max(0.0, 1.0 - float(t.sum()))
        raised, lost = _one_less(n, chance, nothing)
        if 0.0 < lost < _LOST:
            t, atoms, nothing = t / (1.0 - nothing), [_scaled(a, 1.0 - nothing) for a in atoms], 0.0
        else:
            raised, lost = 0.0, 0.0
        mass = np.append(t, nothing)
        last = int(mass.argmax())
        kept = [j for j in range(mass.size) if j != last and mass[j] > 0.0]
        if len(kept) > _MOST_CATEGORIES or any(a.zero0.size for a in atoms):
            return None
        windows = [_window(int(n.min()), int(n.max()), float(mass[j])) for j in kept]
        most = _MOST_SMALL if n.max() * max((mass[j] for j in kept), default=0.0) <= _SMALL else _MOST_CELLS
        if n.size * math.prod(stop - start for start, stop, _ in windows) > most:
            return None
        counts, log_weight = _cells(n, [w[:2] for w in windows], [float(mass[j]) for j in kept])
        outside = np.asarray(sum(counts, np.zeros((1,) * (len(kept) + 1))))  # draws that are not the rest's
        rest = n.reshape(-1, *[1] * len(kept)) - outside
        fewest = int(outside.min())
        left = n[:, None] - np.arange(fewest, int(outside.max()) + 1, dtype=np.float64)
        term = np.where(left < 0.0, np.inf, _terms(np.maximum(left, 0.0), n.astype(np.float64) * mass[last]))
        log_weight = log_weight - term[:, (outside[0] - fewest).astype(np.int64)]
        log_weight = log_weight + np.log(chance / n).reshape(-1, *[1] * len(kept))
        gap, v = (np.stack([np.append(getattr(a, name), 0.0)[[*kept, last]] for a in atoms]) for name in ("gap", "v"))
        with np.errstate(under="ignore"):
            weight = np.exp(log_weight)
        live = weight > 0.0
        lead, loss = (_sum(counts, rest, x)[live] for x in (gap, v))
        largest = np.array([float((np.abs(x).max(axis=1) * n).max()) for x in (gap, v)])
        lost += sum(w[2] for w in windows) * float(chance.sum())
        return cls(weight[live], lead, loss, largest, raised, lost)

    @np.errstate(under="ignore", divide="ignore")
    def bracket(self, eps: FloatArray) -> LogBracket:
        """log upper, log lower and the slope in eps of the mixture, for every eps."""
        found = [self._at(float(one)) for one in eps]
        upper, lower, slope = (np.array(column) for column in zip(*found, strict=True))
        upper = upper * (1.0 + 2.0 * TABLE_ERROR + self.raised) + self.left_out
        lower = np.maximum(lower * (1.0 - 2.0 * TABLE_ERROR), 0.0)
        return LogBracket(np.log(np.maximum(upper, 5e-324)), np.log(lower), slope)

    def _at(self, eps: float) -> tuple[float, float, float]:
        growth = math.expm1(eps)
        value = self.gap - growth * self.v
        doubt = _ROUNDING * float(self.largest @ np.array([1.0, growth]))
        positive = np.flatnonzero(value > -doubt)
        weight, value = self.weight[positive], value[positive]
        total, sure = float(weight.sum()), float((weight * np.maximum(value, 0.0)).sum())
        return sure + total * doubt, sure - total * doubt, -math.exp(eps) * float((weight * self.v[positive]).sum())


def _one_less(n: NDArray[np.int64], chance: FloatArray, nothing: float) -> tuple[float, float]:
    """What it costs not to count draws that are "nothing", hardly ever one: a relative and an absolute part.

    delta falls with the number of draws, so that a number less one may be rounded down to the next one on the list,
    whose probability is raised.  Where that is too much, and for two of them, the victim counts as revealed.
    """
    order = np.argsort(n)
    moved = chance[order] * n[order] * nothing
    share = np.append(np.inf, moved[1:] / chance[order[:-1]])
    little = share < _HARDLY_EVER
    lost = float(moved[~little].sum() + (moved * n[order] * nothing).sum())
    return float(share[little].max(initial=0.0)) * (1.0 + 1e-9), lost * (1.0 + 1e-9)


def _scaled(a: Atoms, factor: float) -> Atoms:
    """The same victim where every symbol of the others is 1/factor as likely."""
    return replace(a, u=a.u * factor, v=a.v * factor, gap=a.gap * factor, t=a.t / factor)


def _sum(counts: Sequence[FloatArray], rest: FloatArray, x: FloatArray) -> FloatArray:
    """h.x in every cell."""
    shape = (-1, *[1] * len(counts))
    out = rest * x[:, -1].reshape(shape)
    for j, count in enumerate(counts):
        out = out + count * x[:, j].reshape(shape)
    return np.asarray(out)


def _window(fewest: int, most: int, mass: float) -> tuple[int, int, float]:
    """The counts [start, stop) of a category, whatever the number of draws, and the probability of the others."""
    high = first_rare(most - 1, mass, _LOG_LEFT_OUT, low=1, high=most) or most
    low = first_rare(fewest - 1, 1.0 - mass, _LOG_LEFT_OUT, low=1, high=fewest) or fewest
    start, stop = max(fewest - low, 0), min(high, most) + 1
    lost = math.exp(log_tail_bound(most - 1, mass, high)) if high < most else 0.0
    lost += math.exp(log_tail_bound(fewest - 1, 1.0 - mass, fewest - start)) if start > 0 else 0.0
    return start, stop, lost * (1.0 + 1e-9)


def _cells(
    n: NDArray[np.int64], windows: Sequence[tuple[int, int]], masses: Sequence[float]
) -> tuple[list[FloatArray], FloatArray]:
    """Counts of every category, and log Mult_M(h) without the term of the rest."""
    counts, log_weight = [], np.array([log_draws(m) for m in n.tolist()]).reshape(-1, *[1] * len(windows))
    for j, ((start, stop), mass) in enumerate(zip(windows, masses, strict=True)):
        count = np.arange(start, stop, dtype=np.float64)
        axes = [1] * (len(windows) + 1)
        axes[j + 1] = count.size
        counts.append(count.reshape(axes))
        axes[0] = n.size
        log_weight = log_weight - _terms(count, n.astype(np.float64) * mass).reshape(axes)
    return counts, log_weight


def _terms(count: FloatArray, mean: FloatArray) -> FloatArray:
    """-log of the factor of every count in a multinomial probability, for every mean (binomial.log_term)."""
    half_log = 0.5 * np.log(2.0 * np.pi * np.maximum(count, 1.0)) + stirling_correction(count)
    return np.asarray(np.where(count > 0.0, half_log, 0.0) + deviance(count, mean[:, None]))
