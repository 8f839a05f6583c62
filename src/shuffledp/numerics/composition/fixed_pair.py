"""A lower bound for compositions: no analysis can go below one fixed pair of datasets, used in every round.

At some nodes both directions of a fixed pair are bracketed, lo <= h <= hi.  h is convex, so on a cell [x_j, x_j+1]
it lies above the chord of the cell to the left, extended to the right, and above the chord of the cell to the right,
extended to the left; the lower convex hull of these pieces is a polygon below h.  Its atoms are then moved *down* to
the grid: D_E = sum_L p(L) (1 - e^(eps - L))_+ rises with every loss, also after composition.

The right half (E >= 1) comes from D(P||Q), the left half from D(Q||P).  Glued together they are a lower bound at every
E > 0 if the total mass M under P is at most 1 and M <= sum p(L) e^-L, because then for E < 1

    g(E) = M - E sum p(L) e^-L + E g_left(1/E) <= 1 - E + E D_{1/E}(Q || P) = D_E(P || Q).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..curve import PairCurve
from ..ledger import charge
from ..pair import FloatArray, ShuffledPair, Side
from .loss_grid import Sum, solve_epsilon
from .profile_curve import EMPTY, FINE, Ladder, Masses, Plan, lower_hull, sampled

#: Taken off every mass for the rounding of slopes and exponentials.
_SLACK = 1e-11
#: A lower bound ignores everything below this log delta.
_LOWEST = -45.0
#: ... and atoms of less mass than this.
_NEGLIGIBLE = 1e-30
#: Cells of the composed law: more than an upper bound has, because losses are moved by up to a whole cell.
_CELLS = 2**20


class PairLosses(NamedTuple):
    """Losses under P with their masses; their profile is nowhere above that of the pair (top of this module)."""

    loss: FloatArray
    mass: FloatArray


def most_telling(pairs: Sequence[ShuffledPair], n: int) -> ShuffledPair:
    """The pair with the largest total variation distance; any choice is valid."""
    return pairs[int(pair_values(pairs, n, np.zeros(len(pairs)), 1e-3, "lower").argmax())]


def pair_values(pairs: Sequence[ShuffledPair], n: int, eps: FloatArray, tol: float, side: Side) -> FloatArray:
    """log delta of every pair at its eps."""
    return PairCurve.of(pairs, np.full(eps.size, float(n)), side).at(eps, np.full(eps.size, tol)).log_delta


def pair_losses(pair: ShuffledPair, n: int, ladder: Ladder = FINE) -> PairLosses | None:
    """Atoms of a law whose profile is below that of this pair among n messages; None if nothing is revealed."""
    right = _atoms(pair, n, ladder)
    left = right if pair.symmetric else _atoms(pair.swapped(), n, ladder)
    if right is None or left is None:
        return None
    (x, q), (y, p_left) = right, left
    gain, cost = float(q @ x), float(p_left @ y)  # both estimate the total variation distance from below
    if gain <= 0.0 or cost <= 0.0:
        return None
    q = q * (min(1.0, cost / gain) * (1.0 - _SLACK))
    p = q * (1.0 + x)
    total = float(p.sum() + p_left.sum())
    rest = 1.0 - total - _SLACK
    loss = np.concatenate([-np.log1p(y), [0.0], np.log1p(x)])
    mass = np.concatenate([p_left, [max(rest, 0.0)], p])
    if rest < 0.0:
        mass *= (1.0 - _SLACK) / total
    # dropping an atom above 0 lowers the profile and keeps M <= sum p(L) e^-L; tiny ones only blur sums
    kept = (loss <= 0.0) | (mass > _NEGLIGIBLE)
    return PairLosses(loss[kept], mass[kept])


@charge("losses of a lower bound between the points of a grid", "docs/proofs.md, section 7")
def rounded_down(pair: PairLosses, step: float) -> Masses:
    """The atoms on multiples of ``step``, each moved to the next one below."""
    index = np.floor(pair.loss / step - 1e-9).astype(np.int64)
    index[pair.loss == 0.0] = 0
    half = int(np.abs(index).max(initial=0))
    mass = np.bincount(index + half, weights=pair.mass, minlength=2 * half + 1)
    return Masses(mass.astype(np.float64), 0.0)


def _atoms(pair: ShuffledPair, n: int, ladder: Ladder) -> tuple[FloatArray, FloatArray] | None:
    """The points x_i and masses Pr_Q[L = 1 + x_i] of a polygon below D_{1+x} in this direction."""

    def log_delta(eps: FloatArray, side: Side = "upper") -> FloatArray:
        return pair_values([pair] * eps.size, n, eps, ladder.tol, side)

    plan = Plan(pair.limit, ladder, _LOWEST)
    curve = sampled(lambda _, eps: [log_delta(at) for at in eps], [plan], [EMPTY])[0]
    if curve.eps.size < 3:
        return None
    x = np.expm1(curve.eps)
    with np.errstate(under="ignore"):
        hi = np.exp(curve.log_delta)
        lo = np.exp(log_delta(curve.eps, "lower"))
    lo = np.minimum(lo, hi)
    points = polygon_below(x, lo, hi)
    keep = lower_hull(points[0], points[1])
    a, b = points[0][keep], points[1][keep]
    slope = np.minimum(np.append(np.diff(b) / np.diff(a), 0.0), 0.0)
    mass = np.maximum(np.diff(slope), 0.0) * (1.0 - _SLACK)
    return a[1:], mass


@charge("a profile from below between its nodes", "fixed_pair.py: h is convex")
def polygon_below(x: FloatArray, lo: FloatArray, hi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corner points of a function below every convex falling h with lo <= h <= hi at the nodes."""
    width = np.diff(x)
    fall = np.minimum((lo[1:] - hi[:-1]) / width, 0.0)  # at least as steep as the chord
    rise = np.minimum((hi[1:] - lo[:-1]) / width, 0.0)  # at most as steep as the chord
    xs, ys = [x], [lo]
    # inside cell j: line A from (x_j, lo_j) with slope fall_(j-1), line B from (x_j+1, lo_j+1) with slope rise_(j+1)
    a_slope = fall[:-1]
    b_slope = np.append(rise[2:], 0.0)
    left, right, u, v = x[1:-1], x[2:], lo[1:-1], lo[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = left + (v - b_slope * (right - left) - u) / (a_slope - b_slope)
    inside = (cross > left) & (cross < right)
    xs.append(cross[inside])
    ys.append((u + a_slope * (cross - left))[inside])
    # the first cell has no cell to its left: line B alone
    xs.append(x[:1])
    ys.append(np.minimum(lo[:1], lo[1:2] - rise[1:2] * width[:1]))
    # beyond the last node: line A until it meets 0
    if lo[-1] > 0.0 and fall[-1] < 0.0:
        xs.append(x[-1:] - lo[-1:] / fall[-1])
        ys.append(np.zeros(1))
    elif lo[-1] > 0.0:
        ys[0] = np.append(lo[:-1], 0.0)
    flat_x, flat_y = np.concatenate(xs), np.concatenate(ys)
    order = np.lexsort((flat_y, flat_x))
    flat_x, flat_y = flat_x[order], flat_y[order]
    first = np.append(True, np.diff(flat_x) > 0.0)  # where several points share x, the lowest counts
    return flat_x[first], flat_y[first]


def lower_epsilon(pairs: Sequence[PairLosses], counts: Sequence[int], delta: float, upper: float) -> float:
    """A lower bound on the eps of the composition of fixed pairs; ``upper`` is a known upper bound on it.

    Every loss moves down by up to one step, which lowers eps by about half a step per round.
    """
    if not 0.0 < upper < math.inf or not pairs:
        return 0.0
    total = float(sum(counts))
    largest = max(float(np.abs(pair.loss).max()) for pair in pairs)
    step = max(0.002 * upper / total, 2.0 * upper / _CELLS, 2.0 * largest / _CELLS)
    return lower_epsilon_of(Sum([rounded_down(pair, step) for pair in pairs], counts, step), delta, upper)


def lower_epsilon_of(whole: Sum, delta: float, upper: float) -> float:
    """A lower bound on the eps of a sum of losses whose profile is below the true one."""
    if not whole.reach:
        return 0.0
    theta, found = whole.tilt_for_delta(delta), 0.0
    for _ in range(6):  # any tilt is valid; one that is too strong leaves nothing but round-off near the answer
        found = solve_epsilon(whole.window(theta), delta, upper=False, most=upper)
        if found > 0.0:
            break
        theta *= 0.25
    return found
