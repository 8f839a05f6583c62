"""Binary randomized response without a reduction: the maximum over how many of the others hold 1.

With a = e^eps0/(e^eps0 + 1) and b = 1 - a, let k of the other users hold 1 and m hold 0.  The adversary sees the
number of ones, Y + S with S = Bin(k, a) + Bin(m, b) of mass g and running sum G, and Y the victim's bit:

    D_E(0 || 1) = sum_s ((a - E b) g(s) - (E a - b) g(s-1))_+ = max_s [(a - E b) g(s) - (E - 1) G(s-1)].

The second form holds because g is log-concave (a sum of independent coins), so g(s)/g(s-1) falls with s and the
positive terms are those up to a threshold.  The other direction is the same with k and m exchanged, so the truth
for n users is the maximum of D(k, n-1-k) over k = 0, ..., n-1.

What is proved about that maximum: D(k, m) falls with k and with m (an adversary who is told a report is only
stronger), so k in [k1, k2] costs at most D(k1, n-1-k2).  A block of k that this inequality does not prove harmless
is halved, until all are.  That the worst k is small is an observation, used only to start the search; every k is
checked.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..evaluators.choose import Side
from ..pair import FloatArray, ShuffledPair
from ..solve import guess_epsilon
from ..windows import Window, binomial
from .base import Answer, Family, PairSet, both_directions
from .binary_curves import DatasetCurve, Ends
from .smallest import Smallest
from .swap import SwapSet, among

#: Up to here every k is evaluated on its own and the answer is the truth to rounding.
EVERY_K = 256
#: Beyond, the datasets are not searched.
MOST_USERS = 10**7
#: Evaluations after which the search over blocks accepts twice the distance to the best k found: at least the
#: first, and for small n, where they are cheap, the second divided by n.
PATIENCE, PATIENCE_TIMES_N = 64, 2**20
#: Users whose report does not depend on their value, from which on the swap bound is better (measured: 6,000).
SUPERSEDED = 15_000.0
_FIRST = 8  # k that a search starts from
#: Thresholds that are evaluated one by one; the guess is off by at most a few unless delta is extremely small.
_LONGEST_SCAN = 64
_STEPS = 200
#: More eps than this are answered together, by one cover of all k.
_FEW_EPSILONS = 4
#: Curves that this cover takes: at least the first, and for few users, where they are cheap, the second divided by n.
_BLOCKS, _BLOCKS_TIMES_N = 192, 2**22
#: The cover is made for deltas above the first; below the second, what windows leave out matters.
_ASKED, _RELIABLE = 1e-25, 1e-35


class Value(NamedTuple):
    """D_E between two bounds, and -d(upper)/d(eps)."""

    upper: float
    lower: float
    fall: float


class ExactCounts:
    """The family of all datasets of binary randomized response, for numerics/families/base.py.

    ``side="upper"`` bounds the maximum over all datasets and is never above the blanket; ``side="lower"`` is the
    exact divergence of the worst dataset that was evaluated, never below the constant ones.  Up to EVERY_K users
    both are the truth to rounding (delta) or tol (eps).  Up to MOST_USERS they meet to tol, or to two percent or so in
    eps (which may be a factor of two in a small delta) where the search was stopped.  Beyond, and where the search
    would be stopped too early, the upper side is the smaller of the blanket and the swap bound.

    Parameters
    ----------
    eps0 : local budget

    Examples
    --------
    >>> from shuffledp.numerics.families.binary_response import ExactCounts
    >>> truth = ExactCounts(1.0)
    >>> sides = [truth.epsilon(n=1000, delta=1e-6, tol=1e-4, side=s).epsilon for s in ("lower", "upper")]
    >>> [round(eps, 3) for eps in sides]
    [0.127, 0.127]
    """

    def __init__(self, eps0: float) -> None:
        self.eps0 = eps0
        keep = 1.0 / (1.0 + math.exp(-eps0))
        flip = math.exp(-eps0) * keep
        self._blanket = PairSet([ShuffledPair(P0=[keep, flip], P1=[flip, keep], t=[flip, flip])])
        self._held = ShuffledPair(P0=[keep, flip], P1=[flip, keep], t=[keep, flip])
        self._constant = PairSet(both_directions(self._held))
        #: all that can be said without going through the datasets
        swap = SwapSet([among(self._constant.pairs(2) or (), self._blanket)])
        self._known = Smallest({"blanket": self._blanket, "swap": swap})

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The eps of the worst dataset, on the named side."""
        known = (self._known if side == "upper" else self._constant).epsilon(n=n, delta=delta, tol=tol, side=side)
        if side == "lower":
            if n > MOST_USERS:
                return known
            best, tried = known.epsilon, _tried(n)
            for k in tried:
                if _divergence(self.eps0, k, n - 1 - k, best).lower > delta:
                    best = max(best, self._root(k, n - 1 - k, delta, side, tol))
            return Answer(best, len(tried), n)
        if known.epsilon == 0.0 or self._swap_is_sharper(n):
            return known._replace(bound="")
        best = max(self._root(k, n - 1 - k, delta, side, 0.1 * tol) for k in _likely(n))

        def safe(k: int, m: int, eps: float) -> bool:
            return _divergence(self.eps0, k, m, eps).upper <= delta

        def leaf(k: int, eps: float) -> float:
            return max(eps, self._root(k, n - 1 - k, delta, side, 0.1 * tol))

        eps, evaluated = _cover(n, best, known.epsilon, 0.4 * tol, safe, leaf)
        return Answer(min(eps, known.epsilon), evaluated, n)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta of the worst dataset for every eps, on the named side."""
        if eps.size > _FEW_EPSILONS:
            return self._log_delta_at_many(eps, n, tol, side)
        if side == "lower":
            known = self._constant.log_delta(eps, n=n, tol=tol, side=side)
            if n > MOST_USERS:
                return known
            found = [max(_divergence(self.eps0, k, n - 1 - k, float(x)).lower for k in _tried(n)) for x in eps]
            return np.maximum(known, _log(found))
        known = self._known.log_delta(eps, n=n, tol=tol, side=side)
        if self._swap_is_sharper(n):
            return known
        most = np.exp(np.minimum(known, 0.0))
        found = [self._largest(n, float(x), float(top), tol) for x, top in zip(eps, most, strict=True)]
        return np.minimum(known, _log(found))

    def _log_delta_at_many(self, eps: FloatArray, n: int, tol: float, side: Side) -> FloatArray:
        """The same for many eps: shuffled pairs are evaluated only where the datasets leave something to be gained."""
        pairs: Family = self._known if side == "upper" else self._constant
        if n > MOST_USERS or (side == "upper" and self._swap_is_sharper(n)):
            return pairs.log_delta(eps, n=n, tol=tol, side=side)
        if side == "upper":
            upper, sure = self._largest_of_all(n, eps, tol)
            out, open_ = _log(upper), upper > sure * (1.0 + tol)
        else:
            sure = np.max([self._curve(k, n - 1 - k, eps).lower for k in _tried(n)], axis=0)
            out, open_ = _log(sure), sure < _RELIABLE
        at = np.flatnonzero(open_ & (eps < self.eps0))
        if at.size:
            better = np.minimum if side == "upper" else np.maximum
            out[at] = better(out[at], pairs.log_delta(eps[at], n=n, tol=tol, side=side))
        return out

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): that of others who all hold one value."""
        return self._constant.rough_log_delta(eps, n)

    def _swap_is_sharper(self, n: int) -> bool:
        """Whether a search over the datasets, which is stopped early among so many, is above the swap bound."""
        return n > MOST_USERS or n * 2.0 / (1.0 + math.exp(self.eps0)) > SUPERSEDED

    def thinned(self, chance: float) -> Family:
        """Every other user takes part with this probability: the blanket, or the truth among nearly as many users."""
        from .message_counts import Count
        from .participation import Best, Sides, Split

        pairs = Sides(self._blanket.thinned(chance), self._constant.thinned(chance))
        return Best(pairs, Split(self, lambda n: Count(0, ((n - 1, chance),))))

    def pairs(self, most: int) -> None:
        """None: the datasets are not shuffled pairs (a certificate proves the swap bound)."""
        return None

    def _largest(self, n: int, eps: float, ceiling: float, tol: float) -> float:
        """An upper bound on delta at one eps; no search beyond ``ceiling``, which is known to be one."""

        def at(k: int, m: int) -> float:
            return _divergence(self.eps0, k, m, eps).upper

        def safe(k: int, m: int, level: float) -> bool:
            return at(k, m) <= level

        def leaf(k: int, level: float) -> float:
            return max(level, at(k, n - 1 - k))

        best = max(at(k, n - 1 - k) for k in _likely(n))
        return _cover(n, best, ceiling, 0.5 * tol, safe, leaf)[0]

    def _curve(self, k: int, m: int, eps: FloatArray) -> Ends:
        """Both bounds on D(k, m) at every eps."""
        return DatasetCurve(self.eps0, _mirrored(_binomial(self.eps0, k), k), _binomial(self.eps0, m)).ends(eps)

    def _largest_of_all(self, n: int, eps: FloatArray, tol: float) -> tuple[FloatArray, FloatArray]:
        """Upper and lower bounds on delta at every eps, by one cover of all k for all of them.

        The block of k that is furthest above the datasets evaluated so far is halved next.
        """
        sure = np.max([self._curve(k, n - 1 - k, eps).lower for k in _likely(n)], axis=0)
        upper = np.zeros(eps.shape)  # of the blocks that are settled
        # excess may only shrink as more datasets are evaluated, so that an old value is an upper one
        blocks = [(-math.inf, 0, n, self._curve(0, 0, eps).upper)]
        tol = 0.0 if n <= EVERY_K else 0.5 * tol
        for _ in range(max(_BLOCKS, min(_BLOCKS_TIMES_N // n, n))):
            while blocks:
                _, low, high, curve = heapq.heappop(blocks)
                excess = _excess(curve, sure, tol)
                if excess <= 0.0:
                    upper = np.maximum(upper, curve)
                elif blocks and -excess > blocks[0][0]:
                    heapq.heappush(blocks, (-excess, low, high, curve))
                else:
                    break
            else:
                break
            middle = (low + high) // 2
            for first, stop in ((low, middle), (middle, high)):
                found = self._curve(first, n - stop, eps)
                if stop - first == 1:
                    sure, upper = np.maximum(sure, found.lower), np.maximum(upper, found.upper)
                else:
                    heapq.heappush(blocks, (-_excess(found.upper, sure, tol), first, stop, found.upper))
        return np.maximum.reduce([upper, *(block[3] for block in blocks)]), sure

    def _root(self, k: int, m: int, delta: float, side: Side, tol: float) -> float:
        """The eps at which D(k, m) meets delta, on the named side, by Newton's method on log D."""
        upper = side == "upper"
        start = _divergence(self.eps0, k, m, 0.0)
        if (start.upper if upper else start.lower) <= delta:
            return 0.0
        low, high = 0.0, self.eps0
        # e^eps0 squared overflows in the guess; there nearly every report is true and eps is near eps0 anyway
        eps = guess_epsilon(self._held.atoms, k + m + 1, delta, high).epsilon if high < 100.0 else math.nan
        for _ in range(_STEPS):
            if not low < eps < high:
                eps = 0.5 * (low + high)
            value = _divergence(self.eps0, k, m, eps)
            height = value.upper if upper else value.lower
            low, high = (eps, high) if height > delta else (low, eps)
            if high - low <= 0.3 * tol * high:
                break
            # Newton, aimed a little beyond the root so that both ends close in
            step = height * math.log(height / delta) / value.fall if height > 0.0 and value.fall > 0.0 else math.nan
            eps = (eps + step) * (1.0 + (0.1 * tol if height > delta else -0.1 * tol))
        return high if upper else low


def _cover(
    n: int,
    best: float,
    ceiling: float,
    slack: float,
    safe: Callable[[int, int, float], bool],
    leaf: Callable[[int, float], float],
) -> tuple[float, int]:
    """A level (of eps or delta) at which every k is safe, and the number of evaluations.

    Starts a little above the best k known; a single k that is not safe raises the level to its own, and
    a search that takes too long raises it further.  Above ``ceiling`` the search stops and returns inf.
    """
    if n <= EVERY_K:
        for k in range(n):
            best = best if safe(k, n - 1 - k, best) else leaf(k, best)
        return best, n
    patience = max(PATIENCE, PATIENCE_TIMES_N // n)
    k, width, spent = 0, n, 0
    while k < n:
        level = max(best * (1.0 + slack), slack * ceiling)
        if level >= ceiling:
            return math.inf, spent
        width = min(width, n - k)
        if safe(k, n - k - width, level):
            k, width = k + width, width + width // 4 + 1
        elif width > 1:
            width //= 2
        else:
            best = leaf(k, level)
        spent += 1
        if spent % patience == 0:
            slack *= 2.0
    return level, spent


def _likely(n: int) -> list[int]:
    """Where the search for the worst k starts: it is usually among the first few, or in the middle for eps near 0."""
    return sorted({*range(min(n, _FIRST)), n // 2, n - 1})


def _tried(n: int) -> list[int]:
    """The datasets of the lower side: all of them where they are few."""
    return list(range(n)) if n <= EVERY_K else _likely(n)


def _divergence(eps0: float, k: int, m: int, eps: float) -> Value:
    """D_E(0 || 1) when k others hold 1 and m hold 0, with all rounding errors on the outside."""
    if eps >= eps0:
        return Value(0.0, 0.0, 0.0)
    keep = 1.0 / (1.0 + math.exp(-eps0))
    flip = math.exp(-eps0) * keep
    growth = math.expm1(eps)
    gain = -keep * math.expm1(eps - eps0)  # a - E b
    cost = keep * (growth - math.expm1(-eps0))  # E a - b
    ones, zeros = _mirrored(_binomial(eps0, k), k), _binomial(eps0, m)
    # Masses are products of at most len(window) ratios, each right to 5 roundings, divided by their sum; sums of
    # positive terms add one rounding each: 64 roundings per entry of both windows cover masses and running sums.
    error = 64.0 * (ones.mass.size + zeros.mass.size) * 2.0**-53
    lost = ones.left_out + zeros.left_out
    # the threshold is where g(s)/g(s-1) = cost/gain: the mean of S tilted by z = gain/cost, to within 1 or so
    z = gain / cost
    middle = int(k * keep * z / (flip + keep * z) + m * flip * z / (keep + flip * z))
    bottom = ones.start + zeros.start  # below, nothing but ``lost`` is left

    def rising(s: int) -> bool:
        here, before = _mass(ones, zeros, s), _mass(ones, zeros, s - 1)
        return s <= bottom or gain * here * (1.0 - error) >= cost * (before * (1.0 + error) + lost)

    def falling(s: int) -> bool:
        here, before = _mass(ones, zeros, s), _mass(ones, zeros, s - 1)
        return s > k + m or gain * (here * (1.0 + error) + lost) <= cost * before * (1.0 - error)

    # beyond a sign that is certain the terms only fall
    low, high = _gallop(middle, -1, rising), _gallop(middle + 1, 1, falling)
    if high - low > _LONGEST_SCAN:  # far out in the tail: f(s) <= gain g(s) <= gain G(high - 1)
        most = _total(ones, zeros, high - 1) * (1.0 + error) + lost
        return Value(gain * most, 0.0, (growth + 1.0) * most)
    low = max(low, 0)
    g = np.array([_mass(ones, zeros, s) for s in range(low, high)])
    below = _total(ones, zeros, low - 1) + np.cumsum(g) - g  # G(s-1)
    upper = gain * (g * (1.0 + error) + lost) - growth * below * (1.0 - error)
    lower = gain * g * (1.0 - error) - growth * (below * (1.0 + error) + lost)
    at = int(upper.argmax())
    fall = (growth + 1.0) * float(flip * g[at] + below[at])
    return Value(max(float(upper[at]), gain * lost, 0.0), max(float(lower.max()), 0.0), fall)


def _gallop(start: int, direction: int, found: Callable[[int], bool]) -> int:
    """The first of start, start +- 1, +- 3, +- 7, ... for which this is found."""
    step = 1
    while not found(start):
        start, step = start + direction * step, 2 * step
    return start


@lru_cache(maxsize=32)
def _binomial(eps0: float, size: int) -> Window:
    """Bin(size, b), b = 1/(e^eps0 + 1)."""
    return binomial(size, math.exp(-eps0))


def _mirrored(law: Window, size: int) -> Window:
    """The law of size - X."""
    mass = law.mass[::-1]
    return Window(size - law.start - mass.size + 1, mass, law.left_out)


def _overlap(first: Window, second: Window, s: int) -> tuple[int, int]:
    """The i with i in the first window and s - i in the second: low <= i < high."""
    low = max(first.start, s - second.start - second.mass.size + 1)
    return low, min(first.start + first.mass.size, s - second.start + 1)


def _mass(first: Window, second: Window, s: int) -> float:
    """g(s) = sum_i first(i) second(s - i)."""
    low, high = _overlap(first, second, s)
    if low >= high:
        return 0.0
    other = second.mass[s - high + 1 - second.start : s - low + 1 - second.start]
    return float(first.mass[low - first.start : high - first.start] @ other[::-1])


def _total(first: Window, second: Window, s: int) -> float:
    """G(s) = sum_i first(i) Pr[second <= s - i]."""
    low, high = _overlap(first, second, s)
    out = float(first.mass[: max(low - first.start, 0)].sum())  # for these i all of the second window counts
    if low < high:
        other = np.cumsum(second.mass[: s - low + 1 - second.start])[s - high + 1 - second.start :]
        out += float(first.mass[low - first.start : high - first.start] @ other[::-1])
    return out


def _excess(upper: FloatArray, sure: FloatArray, tol: float) -> float:
    """How far a curve is above what is sure, as a logarithm, at the worst eps whose delta anybody asks for."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = np.where((upper > sure * (1.0 + tol)) & (upper > _ASKED), np.log(upper / np.maximum(sure, _ASKED)), 0.0)
    return float(np.max(above, initial=0.0))


def _log(values: ArrayLike) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(values, dtype=np.float64)))
