"""Laplace noise on a line: finitely many laws of a slot that cover all pairs and all that the others hold.

Grid inputs 0, ..., N; R(x)_y = tanh(r/2) a^|y-x| on all whole y, a = e^-r.  The victim's values are g < h, P0 and P1
their laws in either order; another user of type x fills her slot with X = (P0 - E P1)(J) / R(x)_J, J ~ R(x).  The swap
bound (docs/swap.md, Theorem 1) is a mean of (a mean of independent slots)_+, so it rises if the law of any
slot rises in convex order, whatever the others are.  For E >= a^(g-h) delta is 0; let E be smaller.

1. *If x >= g, moving g to the left raises the law of X; so does moving h to the right if x <= h.*  For P0 = R(g), X
   falls in y up to h and, if x > h, then rises to a constant below 0; it is positive and constant on {y <= g}, hence
   largest there.  E(X - s)_+ is the maximum over sets A of P0(A) - E P1(A) - s R(x)(A), attained at {X > s}, which is
   empty or contains {y <= g}.  As R(g-1) exceeds R(g) on {y < g} only, the value of this A rises.  For P1 = R(g) all
   is the same with the signs changed: X is negative and smallest on {y <= g}, and E(s - X)_+ rises.  Reflect for h.
2. So a type between g and h is covered by the pair (0, N) and the same type.
3. A type x > h with m0 <= h - g <= m1 is covered by the pair (h - m1, h), and shifting everything by m1 - h gives the
   pair (0, m1) and a type in (m1, N + m1 - m0].  Reflection turns types x < g into such ones, the order of P0 and P1
   being changed.
   Or they are covered by the pair (0, m1) and the same type, with a wider law.  After a shift by -g let m = h - g,
   u = R(m)/R(x), v = R(0)/R(x) and K = a^-max(x-m0, m1-x) >= u.  Given J, replace u by K with probability u/K and by 0
   else: this keeps its mean.  Now neither the law of u nor that of v depends on m, and as v falls in y,
   Pr[u = K, v <= s] = R(m)(y >= c)/K rises with m: u and -v become more concordant, and the sum of two variables is
   larger in convex order the more concordant they are.  So m = m1 covers all.
4. Types x0 < x < x1: R(x) >= A R(x0) + B R(x1) with A = sinh(r(x1-x))/sinh(r(x1-x0)), B = sinh(r(x-x0))/sinh(r(x1-x0)):
   equal for y <= x0 and y >= x1; from x0 to x, R(x) and R(x1) grow by the same factor while R(x0) falls; from x1 back
   to x it is R(x0) that goes with R(x).  A + B = cosh(r(x0+x1-2x)/2)/cosh(r(x1-x0)/2) >= s = 1/cosh(r(x1-x0)/2).
   A smaller t, and telling which of the two laws a report comes from, raise X in convex order: a mixture of the types
   x0 and x1, both with t = s R.
   (A and B do not depend on the pair, so this comes first, then 3.)
5. (P0/t, P1/t) runs on straight segments between 0, m and x, and is constant outside.  Points between two ends e, f of
   such a piece are moved to e and f, keeping the sums of P0, P1 and t: X is spread, its mean kept.  Each law is a
   multiple of a^y or a^-y there, so its sum over e..f is F times that of its two ends,
   F = (1 - a^L)/((1 - a)(1 + a^(L-1))), L = f - e + 1: e and f get F - 1 times what they have.  For the wider laws of
   3 only v runs between e and f, and its mean is kept for u = K and for u = 0.

The mass of the common part is that of the original types 0, ..., N, whatever stands in for them: a^(N/2).
How coarse the intervals of 3 and 4 are only decides how sharp the bound is: as wide as keeps the variance of X at E = 1
below that of the pair (0, N) among others who hold 0, which it should not exceed, and the largest X below e^eps0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.families.base import both_directions
from ...numerics.families.swap_led import LedSwap
from ...numerics.pair import FloatArray, ShuffledPair

#: a^k for whole k.
Power = Callable[[NDArray[Any]], FloatArray]

#: Pieces of a law, and the smallest eps0 that intervals are planned for (a plan for a larger one is finer).
PIECES = 96
_LEAST_BUDGET = 0.05
#: The wider law knows little of pairs whose log-ratio is near eps or below: it is for pairs this far apart.
_FAR_APART = 3.0
#: Of the room below the worst spread a group of distances takes this share, and a cell of types this share of the rest.
GROUP_SHARE, CELL_SHARE = 0.5, 0.5


class Slot(NamedTuple):
    """The pair (0, apart) and the others' type ``held``, present with probability ``share``.

    With ``nearest`` the law is the wider one that covers the distances from there to ``apart``.
    """

    apart: int
    held: int
    share: float
    nearest: int | None = None


def swap_set(size: int, rate: float, power: Power) -> LedSwap:
    """The swap bound over all pairs and types; the pair (0, N) among others who hold 0 or N should be the worst."""
    laws: list[ShuffledPair] = []
    for slot in slots(size, rate):
        both = both_directions(law(slot, rate, power))
        laws += both if slot.apart < size else both[:1]
    return LedSwap(laws[:2], laws[2:], math.exp(-0.5 * rate * size) * (1.0 - 2.0**-48))


def slots(size: int, rate: float) -> list[Slot]:
    """What covers everything, the pair (0, N) with types 0 and N first; pairs that are closer count in both orders."""
    plan = max(rate, _LEAST_BUDGET / size)
    most = _log_spread_far(size * plan, size * plan)
    ends = [*_between(size, plan, most)]
    ends = [*ends, *(size - x for x in reversed(ends[:-1]))]
    found = [Slot(size, x, share) for x, share in _shares(ends, rate)]
    found.sort(key=lambda slot: 0 < slot.held < size)
    top = size - 1
    while top > 0:
        group, lowest = _group(size, top, rate, plan, most)
        found += group
        top = lowest - 1
    return found


def _group(size: int, top: int, rate: float, plan: float, most: float) -> tuple[list[Slot], int]:
    """What covers the types beyond a pair at most ``top`` apart, down to a distance, and that distance."""
    moved = _widest(top, lambda w: _log_spread_far(top * plan, (size + w) * plan), most)
    wider = _widest(top, lambda w: _log_spread_wide(top * plan, (top - w) * plan, size * plan), most)
    wider = min(wider, top - math.ceil(_FAR_APART / plan))
    low = top - max(moved, wider)
    if moved >= wider:
        cells = _cells(size + moved, top, plan, most, lambda x: _log_spread_far(top * plan, x * plan))
        return [Slot(top, x, share) for x, share in _shares(cells, rate)], low
    cells = _cells(size, low, plan, most, lambda x: _log_spread_wide(top * plan, low * plan, x * plan))
    return [Slot(top, x, share, low) for x, share in _shares(cells, rate)], low


def _between(size: int, rate: float, most: float) -> Iterator[int]:
    """Types from 0 to N/2 for the pair (0, N); the cells widen away from 0."""
    whole, half, x = size * rate, size // 2, 0
    while x < half:
        yield x
        room = most - _log_spread_between(whole, x * rate)
        x += min(max(_cell(min(room, x * rate), rate), 1), half - x)
    yield half


def _cells(high: int, low: int, rate: float, most: float, spread: Callable[[int], float]) -> list[int]:
    """Types from ``low`` to ``high``, in cells that widen downwards from there."""
    x, found = high, []
    while x > low:
        found.append(x)
        x -= min(max(_cell(min(most - spread(x), (high - x) * rate), rate), 1), x - low)
    return [low, *reversed(found)]


def _widest(top: int, spread: Callable[[int], float], most: float) -> int:
    """The largest width for which distances top - width to top share their laws at a part of the room."""
    near = spread(0)
    limit = near + GROUP_SHARE * (most - near)
    low, high = 0, top - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if spread(middle) <= limit else (low, middle - 1)
    return low


def _cell(room: float, rate: float) -> int:
    """Steps D for which log cosh(r D/2) is a share of the room."""
    return int(min(2.0 / rate * math.acosh(math.exp(min(max(CELL_SHARE * room, 0.0), 300.0))), 1e9))


def _shares(ends: list[int], rate: float) -> Iterator[tuple[int, float]]:
    """Each end of a cell with the smaller s of the cells that it belongs to, rounded down.

    The point nearest to the middle of a cell of D steps is half a step off it for odd D, which leaves 1 for D = 1.
    """
    wide = np.diff(ends)
    shares = [math.cosh(0.5 * rate * (k % 2)) / math.cosh(min(0.5 * rate * k, 700.0)) for k in wide.tolist()]
    for x, left, right in zip(ends, [1.0, *shares], [*shares, 1.0], strict=True):
        yield x, min(left, right) * (1.0 - 2.0**-48)


def _log_spread_far(apart: float, held: float) -> float:
    """log of sum (P0 - P1)^2/t for a type beyond the pair, in the limit of a fine grid."""
    return held + 2.0 * math.log(-math.expm1(-apart)) + math.log((2.0 + math.exp(2.0 * apart - 3.0 * held)) / 3.0)


def _log_spread_wide(apart: float, nearest: float, held: float) -> float:
    """The same for the wider law: sum v^2 t + K - 2 sum u v t."""
    twice = 2.0 * math.exp(-apart) - 2.0 / 3.0 * (math.exp(-2.0 * apart) - math.exp(apart - 3.0 * held))
    level = math.exp(max(-nearest, apart - 2.0 * held))
    return held + math.log(2.0 / 3.0 + math.exp(-3.0 * held) / 3.0 + level - twice)


def _log_spread_between(apart: float, held: float) -> float:
    """The same for a type between the victim's two values."""
    fall = math.exp(-apart)

    def side(x: float) -> float:
        flat = (1.0 - fall) ** 2 - math.expm1(-3.0 * x) / 3.0 + 2.0 * fall * math.expm1(-x)
        return 0.5 * math.exp(x) * (flat + fall * fall * math.expm1(x))

    return math.log(side(held) + side(apart - held)) if apart < 300.0 else max(held, apart - held)


def law(slot: Slot, rate: float, power: Power) -> ShuffledPair:
    """The victim's two laws and t on the ends of the pieces."""
    if slot.nearest is not None:
        return _wide_law(slot, slot.nearest, rate, power)
    ends = _ends(slot, rate)
    a, count = math.exp(-rate), np.diff(ends) + 1.0
    more = np.expm1(-rate * count) / (math.expm1(-rate) * (1.0 + np.exp(-rate * (count - 1.0)))) - 1.0
    weight = np.ones(ends.size)
    weight[[0, -1]] = -1.0 / math.expm1(-rate)  # with the whole tail
    weight[:-1] += more
    weight[1:] += more
    weight *= -math.expm1(-rate) / (1.0 + a)
    p0, p1, t = (weight * power(np.abs(ends - x)) for x in (0, slot.apart, slot.held))
    return ShuffledPair(P0=p0, P1=p1, t=slot.share * t)


def _wide_law(slot: Slot, nearest: int, rate: float, power: Power) -> ShuffledPair:
    """The law that covers the distances ``nearest`` to ``apart``: u is K or 0, and v is put on the ends of pieces."""
    apart, held = slot.apart, slot.held
    count = min(PIECES // 2, held)
    places = -np.log1p(math.expm1(-rate * held) * np.arange(count) / count) / rate  # finest near 0
    ends = np.unique([*np.rint(places).astype(np.int64), held]) if count < held else np.arange(held + 1)
    y = np.arange(max(held, apart) + 1)
    left = np.minimum(np.searchsorted(ends, y, side="right") - 1, ends.size - 2)
    inside = np.minimum(y, held) - ends[left]
    ahead = (
        np.expm1(-2.0 * rate * inside) / np.expm1(-2.0 * rate * np.diff(ends))[left]
    )  # the part that goes to the right
    weight = np.full(y.size, -math.expm1(-rate) / (1.0 + math.exp(-rate)))
    weight[[0, -1]] = 1.0 / (1.0 + math.exp(-rate))  # with the whole tail
    from_k = np.abs(y - apart) - np.abs(y - held) + max(held - nearest, apart - held)  # u/K = a^this
    t = weight * power(np.abs(y - held))
    parts = []
    for mass in (t * power(from_k), t * -np.expm1(-rate * from_k)):
        at = np.bincount(left, mass * (1.0 - ahead), ends.size) + np.bincount(left + 1, mass * ahead, ends.size)
        parts.append(at)
    v = power(2 * ends - held)
    sent, rest = parts
    k = power(np.array(-max(held - nearest, apart - held)))
    p0, p1 = np.concatenate([sent * v, rest * v]), np.concatenate([sent * k, np.zeros(rest.size)])
    return ShuffledPair(P0=p0, P1=p1, t=slot.share * np.concatenate([sent, rest]))


def _ends(slot: Slot, rate: float) -> NDArray[np.int64]:
    """Ends of the pieces: 0, apart, held, and points in between.

    A piece of width w adds about f w^3 to the variance, f the density t times the square of the slope of X.  So widths
    go with f^(-1/3), which is a^-y, or a^y between a type and ``apart`` to its right.
    """
    apart, held = slot.apart, slot.held
    found, weights = [], []
    for i, j in zip(cuts := sorted({0, apart, held}), cuts[1:], strict=False):
        outer, inner = (apart - j, apart - i) if i >= held else (i, j)  # distances from where a piece is finest
        # f = e^(held - 3y) left of the type, times (e^apart - 1)^2 right of apart; e^(-held) times the mirror image
        size = (apart - held) / 3.0 if i >= held else held / 3.0
        level = 2.0 / 3.0 * math.log(math.expm1(min(rate * apart, 300.0))) if i >= apart else 0.0
        found.append((i, j, i >= held))
        weights.append(math.exp(min(rate * size + level - rate * outer, 600.0)) * -math.expm1(-rate * (inner - outer)))
    share = np.array(weights) / max(sum(weights), 1e-300)
    out = [np.zeros(1, dtype=np.int64)]
    for (i, j, mirrored), part in zip(found, share.tolist(), strict=True):
        length, count = j - i, max(1, round(PIECES * part))
        depth = -np.log1p(math.expm1(-rate * length) * np.arange(1, count) / count) / rate
        inner_ends = np.arange(1, length) if count >= length else np.unique(np.rint(depth).astype(np.int64))
        inner_ends = inner_ends[(inner_ends > 0) & (inner_ends < length)]
        out += [j - inner_ends[::-1] if mirrored else i + inner_ends, np.array([j], dtype=np.int64)]
    return np.concatenate(out)
