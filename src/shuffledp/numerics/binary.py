"""Binary randomized response, under whatever name: the maximum over how many of the others hold 1.

With a = e^eps0/(e^eps0 + 1) and b = 1 - a, let k of the other users hold 1 and m hold 0.  The adversary sees the
number of ones, Y + S with S = Bin(k, a) + Bin(m, b) of mass g and running sum G, and Y the victim's bit:

    D_E(0 || 1) = sum_s ((a - E b) g(s) - (E a - b) g(s-1))_+ = max_s [(a - b) g(s) - (E - 1) (b g(s) + G(s-1))].

The second form holds because g is log-concave (a sum of independent coins), so g(s)/g(s-1) falls with s and the
positive terms are those up to a threshold.  It is a maximum of straight lines in E: the E at which it meets delta is
the largest one of a line.  The other direction is the same with k and m exchanged, so the truth for n users is the
maximum of D(k, n-1-k) over k = 0, ..., n-1.

What is proved about that maximum: D(k, m) falls with k and with m, because showing the adversary one more report can
only make it stronger.  So every k in [k1, k2] costs at most D(k1, n-1-k2).  The block of k with the largest bound is
halved next, until it holds one k, is no worse than an evaluated dataset, or enough blocks were evaluated.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .binomial import Lines, Window, binomial
from .family import Answer, OneByOne
from .ledger import charge
from .pair import FloatArray, Side

#: With more users the datasets are not searched.
MOST_USERS = 10**7
#: Expected reports that do not depend on the value, from which on the swap bound is better (measured: 6,000).
SUPERSEDED = 15_000.0
#: A search starts from this many first k: the worst is usually among them, or in the middle for eps near 0.
_FIRST = 8
#: Blocks to evaluate for a few eps, their number times n where blocks are cheap, and blocks for more than so many eps.
_BLOCKS, _BLOCKS_TIMES_N, _FEW_EPS, _FEWER_BLOCKS = 1536, 2**23, 16, 512
#: Deltas below this are not searched.
_ASKED = 1e-25
#: Up to this many users every dataset is evaluated, and the answer is the truth to rounding.
EVERY_K = 256

#: The cost of a dataset (k, m) on a side: its eps at delta, or its delta at some eps.
Cost = Callable[[int, int, Side], FloatArray]


@charge("rounding of a budget that is read from a matrix", "binary.py: a smaller budget is post-processing")
def budgets(eps0: float) -> tuple[float, float]:
    """A smaller and a larger eps0, for entries that are right to a relative 2^-50 and a rounded logarithm.

    A bit at some budget that is flipped once more is one at a smaller budget, whatever the others hold: delta of every
    dataset rises with eps0.
    """
    room = 2.0**-46 * (eps0 + 1.0)
    return max(eps0 - room, 0.0), eps0 + room


@charge("rounding and windows of the counts of binary randomized response", "binary.py")
def lines(eps0: float, k: int, m: int, side: Side) -> Lines:
    """The lines of k others who hold 1 and m who hold 0.

    Masses are products of at most len(window) ratios, each right to 5 roundings, divided by their sum; sums of positive
    terms add one rounding each: 64 roundings per entry of both windows cover masses g and running sums G.  What windows
    leave out may be anywhere: above, every g may be larger by it (also where the windows have no mass at all), below
    every G may be.  a, b and a - b are right to a few roundings, which 2^-48 covers.
    """
    keep = 1.0 / (1.0 + math.exp(-eps0))
    flip = math.exp(-eps0) * keep
    gain = -keep * math.expm1(-eps0)
    ones, zeros = _binomial(eps0, k), _binomial(eps0, m)
    error = 64.0 * (ones.mass.size + zeros.mass.size) * 2.0**-53
    lost = ones.left_out + zeros.left_out
    g = np.append(np.convolve(ones.mass[::-1], zeros.mass), 0.0)  # Bin(k, a) is k - Bin(k, b)
    before = np.append(0.0, np.cumsum(g[:-1]))  # not a difference, which would lose small sums
    before[-1] = 0.0
    if side == "upper":
        g, before = g * (1.0 + error) + lost, np.maximum(before, 0.0) * (1.0 - error)
        live = g > 0.0
        return Lines(gain * g[live] * (1.0 + 2.0**-48), (flip * g + before)[live] * (1.0 - 2.0**-48), side)
    g, before = g[:-1] * (1.0 - error), before[:-1] * (1.0 + error) + lost
    live = g > 0.0
    return Lines(gain * g[live] * (1.0 - 2.0**-48), (flip * g + before)[live] * (1.0 + 2.0**-48), side)


@lru_cache(maxsize=64)
def _binomial(eps0: float, size: int) -> Window:
    """Bin(size, b), b = 1/(e^eps0 + 1)."""
    return binomial(size, math.exp(-eps0))


def likely(n: int) -> list[int]:
    """Datasets that a search starts from, and those of a lower bound: all of them where they are few."""
    return list(range(n)) if n <= EVERY_K else [*range(_FIRST), n // 2, n - 1]


def cover(n: int, cost: Cost, tol: float, side: Side) -> tuple[FloatArray, int]:
    """What the worst dataset costs, and how many evaluations it took."""
    tried = likely(n)
    sure, evaluated = np.max([cost(k, n - 1 - k, "lower") for k in tried], axis=0), len(tried)
    if side == "lower" or n <= EVERY_K:
        return (sure if side == "lower" else np.max([cost(k, n - 1 - k, "upper") for k in tried], axis=0)), evaluated
    settled = np.zeros(sure.shape)
    blocks = [(-math.inf, 0, n, np.full(sure.shape, math.inf))]
    most = max(_BLOCKS, min(_BLOCKS_TIMES_N // n, 4 * n)) if sure.size <= _FEW_EPS else _FEWER_BLOCKS
    while blocks and evaluated < most:
        _, low, high, bound = heapq.heappop(blocks)
        excess = _excess(bound, sure, tol)  # it only shrinks as datasets are evaluated
        if excess <= 0.0:
            settled = np.maximum(settled, bound)
        elif blocks and -excess > blocks[0][0]:
            heapq.heappush(blocks, (-excess, low, high, bound))
        else:
            middle = (low + high) // 2
            for first, stop in ((low, middle), (middle, high)):
                bound, evaluated = cost(first, n - stop, "upper"), evaluated + 1
                if stop - first == 1:
                    settled, sure = np.maximum(settled, bound), np.maximum(sure, cost(first, n - stop, "lower"))
                else:
                    heapq.heappush(blocks, (-_excess(bound, sure, tol), first, stop, bound))
    return np.maximum.reduce([settled, *(block[3] for block in blocks)]), evaluated


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _excess(cost: FloatArray, sure: FloatArray, tol: float) -> float:
    """log of the largest ratio of a cost to what is sure, over the eps whose delta is above _ASKED."""
    above = (cost > sure * (1.0 + tol)) & (cost > _ASKED)
    return float(np.max(np.where(above, np.log(cost / np.maximum(sure, _ASKED)), 0.0), initial=0.0))


class BinaryResponse(OneByOne):
    """The family of all datasets of binary randomized response, as long as they can be searched.

    ``side="upper"`` bounds the maximum over all datasets, ``side="lower"`` is the exact divergence of the worst
    dataset that was evaluated.  Up to EVERY_K users both are the truth to rounding.  For more users they agree to tol,
    or to about two percent in eps where the search was stopped (which may be a factor of two in a small delta).  Beyond
    MOST_USERS nothing is claimed, and no upper bound where the search would end above the swap bound.

    Parameters
    ----------
    low, high : local budget, rounded down and up

    Examples
    --------
    >>> truth = BinaryResponse(1.0, 1.0)
    >>> sides = [truth.epsilon(n=1000, delta=1e-6, tol=1e-4, side=s).epsilon for s in ("lower", "upper")]
    >>> [round(eps, 3) for eps in sides]
    [0.127, 0.127]
    """

    quick = True  # a search answers all eps together

    def __init__(self, low: float, high: float) -> None:
        self._budget: dict[Side, float] = {"lower": low, "upper": high}

    def covers(self, n: int) -> bool:
        """Whether an upper bound is claimed."""
        return self._searched(n, "upper")

    def _searched(self, n: int, side: Side) -> bool:
        """Whether the datasets are searched; a search that must stop early would end above the swap bound."""
        eps0 = self._budget[side]
        blankets = n * 2.0 / (1.0 + math.exp(eps0)) if eps0 < 700.0 else 0.0
        return n <= MOST_USERS and (side == "lower" or blankets <= SUPERSEDED)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The eps of the worst dataset, on the named side."""

        def cost(k: int, m: int, end: Side) -> FloatArray:
            return np.array([lines(self._budget[end], k, m, end).epsilon(delta)])

        if not self._searched(n, side):
            return Answer(math.inf if side == "upper" else 0.0, 0, 0)
        found, evaluated = cover(n, cost, 0.4 * tol, side)
        return Answer(min(float(found[0]), self._budget[side]), evaluated, n)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta of the worst dataset for every eps, on the named side."""

        def cost(k: int, m: int, end: Side) -> FloatArray:
            eps0 = self._budget[end]
            return np.where(eps >= eps0, 0.0, lines(eps0, k, m, end).delta(np.minimum(eps, eps0)))

        if not self._searched(n, side):
            return np.full(eps.shape, 0.0 if side == "upper" else -np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(cover(n, cost, 0.5 * tol, side)[0]))
