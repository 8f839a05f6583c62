"""Laplace noise on a line: finitely many laws of a slot that cover all pairs and all that the others hold.

Grid inputs 0, ..., N; R(x)_y = tanh(r/2) a^|y-x| on all whole y, a = e^-r.  The victim's values are g < h, P0 and P1
their laws in either order; another user of type x fills a slot with X = (P0 - E P1)(J) / R(x)_J, J ~ R(x).  The swap
bound (docs/swap.md, Theorem 1) is a mean of (a mean of independent slots)_+, so it rises if the law of any
slot rises in convex order, whatever the others are.  For E >= a^(g-h) delta is 0; let E be smaller.

1. *If x >= g, moving g to the left raises the law of X; so does moving h to the right if x <= h.*  For P0 = R(g), X
   falls in y up to h and, if x > h, then rises to a constant below 0; it is positive and constant on {y <= g}, hence
   largest there.  E(X - s)_+ is the maximum over sets A of P0(A) - E P1(A) - s R(x)(A), attained at {X > s}, which is
   empty or contains {y <= g}.  As R(g-1) exceeds R(g) on {y < g} only, the value of this A rises.  For P1 = R(g) all
   is the same with the signs changed: X is negative and smallest on {y <= g}, and E(s - X)_+ rises.  Reflect for h.
2. So a type between g and h is covered by the pair (0, N) and the same type.
3. A type x = h + e, e > 0, with m0 <= h - g <= m1 is covered by the pair (h - m1, h), and shifting everything by m1 - h
   gives the pair (0, m1) and the type m1 + e, with e <= N - m0.  Reflection turns types x < g into such ones, with P0
   and P1 exchanged.  These laws serve every pair at most m1 apart: closer pairs need only types with e > N - m0.
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
The widths of the intervals of 3 and 4 only decide how sharp the bound is.  They are as large as keeps the variance of X
at E = 1 below that of the pair (0, N) among others who hold 0, and the largest X below e^eps0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from .laplace_laws import Power, Slot, law, table

#: The smallest eps0 that intervals are planned for (a plan for a larger one is finer).
_LEAST_BUDGET = 0.05
#: The wider law knows little of pairs whose log-ratio is near eps or below: it is for pairs this far apart.
_FAR_APART = 3.0
#: Of the room below the worst spread a group of distances takes this share, and a cell of types this share of the rest.
GROUP_SHARE, CELL_SHARE = 0.5, 0.5


def swap_set(listed: Sequence[Slot], apart: int, length: int, rate: float, power: Power) -> SwapSet:
    """The swap bound over these slots; the widest pair among others at the far end should be the worst."""
    worst = law(Slot(apart, length, 1.0), rate, power)
    common = math.exp(-0.5 * rate * length) * (1.0 - 2.0**-48)
    return SwapSet([SwapPair((worst, worst.swapped()), common, more=partial(table, listed, rate, power))])


def slots(apart: int, length: int, rate: float, *, room: float = 0.0, wide: bool = True) -> Iterator[Slot]:
    """Slots that cover all pairs at most ``apart`` from each other in a domain of this length, each in both orders.

    The logarithm of a spread may exceed that of the worst pair and type by ``room``; ``wide`` admits the wider law,
    which lists all points.
    """
    plan = max(rate, _LEAST_BUDGET / length)
    most = log_spread_far(apart * plan, length * plan) + room

    def beside(x: int) -> float:
        return min(most - _log_spread_between(apart * plan, x * plan), x * plan + room)

    half = cells(0, (apart + 1) // 2, plan, beside)
    yield from (Slot(apart, x, share) for x, share in shares([*half, *(apart - x for x in half)], rate))
    top, covered = min(apart, length - 1), 0
    while top > 0:
        near, far, low = _group(length, top, plan, most, wide)

        def beyond(x: int, top: int = top, near: int | None = near, far: int = far) -> float:
            at = top * plan, x * plan
            spread = log_spread_far(*at) if near is None else _log_spread_wide(at[0], near * plan, at[1])
            return min(most - spread, (far - x) * plan + room)

        ends = cells(far, covered + (top if near is None else near), plan, beyond)
        yield from (Slot(top, x, share, near) for x, share in shares(ends, rate))
        top, covered = low - 1, length - low if near is None else covered


def _group(length: int, top: int, plan: float, most: float, wide: bool) -> tuple[int | None, int, int]:
    """How types beyond pairs at most ``top`` apart are covered: from which distance on the wider law is, if it is; the
    farthest type; and the smallest distance."""
    moved = widest(top, lambda w: log_spread_far(top * plan, (length + w) * plan), most)
    if wide and (shortest := math.ceil(_FAR_APART / plan)) < top - moved:
        wider = widest(top, lambda w: _log_spread_wide(top * plan, (top - w) * plan, length * plan), most)
        if (low := max(top - wider, shortest)) < top - moved:
            return low, length, low
    return None, length + moved, top - moved


def cells(start: int, stop: int, rate: float, room: Callable[[int], float]) -> list[int]:
    """Types from ``start`` to ``stop``: a cell of D steps adds log cosh(r D/2) to the spread, a share of the room."""
    sign, x, found = (1 if stop > start else -1), start, []
    while x != stop:
        found.append(x)
        wide = 2.0 / rate * math.acosh(math.exp(min(max(CELL_SHARE * room(x), 0.0), 300.0)))
        x += sign * min(max(int(min(wide, 2.0**60)), 1), abs(stop - x))
    return [*found, stop]


def widest(top: int, spread: Callable[[int], float], most: float) -> int:
    """The largest width for which the distances from top - width to top share laws, within their share of the room."""
    near = spread(0)
    limit = near + GROUP_SHARE * (most - near)
    low, high = 0, top - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if spread(middle) <= limit else (low, middle - 1)
    return low


def shares(ends: Iterable[int], rate: float) -> Iterator[tuple[int, float]]:
    """Each end of a cell, rising, and the smaller s of the cells that it belongs to, rounded down.

    The point nearest to the middle of a cell of D steps is half a step off it for odd D, which leaves 1 for D = 1.
    """
    ends = sorted(set(ends))
    wide = np.diff(ends).tolist()
    each = [math.cosh(0.5 * rate * (k % 2)) / math.cosh(min(0.5 * rate * k, 700.0)) for k in wide]
    for x, left, right in zip(ends, [1.0, *each], [*each, 1.0], strict=True):
        yield x, min(left, right) * (1.0 - 2.0**-48)


def log_spread_far(apart: float, held: float) -> float:
    """log of sum (P0 - P1)^2/t for a type beyond the pair, in the limit of a fine grid."""
    return held + 2.0 * math.log(-math.expm1(-apart)) + math.log((2.0 + math.exp(2.0 * apart - 3.0 * held)) / 3.0)


def _log_spread_between(apart: float, held: float) -> float:
    """The same for a type between the victim's two values."""
    fall = math.exp(-apart)

    def side(x: float) -> float:
        flat = (1.0 - fall) ** 2 - math.expm1(-3.0 * x) / 3.0 + 2.0 * fall * math.expm1(-x)
        return 0.5 * math.exp(x) * (flat + fall * fall * math.expm1(x))

    return math.log(side(held) + side(apart - held)) if apart < 300.0 else max(held, apart - held)


def _log_spread_wide(apart: float, nearest: float, held: float) -> float:
    """The same for the wider law: sum v^2 t + K - 2 sum u v t."""
    twice = 2.0 * math.exp(-apart) - 2.0 / 3.0 * (math.exp(-2.0 * apart) - math.exp(apart - 3.0 * held))
    level = math.exp(max(-nearest, apart - 2.0 * held))
    return held + math.log(2.0 / 3.0 + math.exp(-3.0 * held) / 3.0 + level - twice)
