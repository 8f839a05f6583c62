"""The two searches of the library: the smallest whole number that passes, and a real number next to one that fails.

Whole numbers (users, messages, rounds) are expensive to evaluate, so their search interpolates; the other one bisects.
In both the caller says which side is safe, and the returned number is one that was evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


def bisect(
    holds: Callable[[float], bool],
    *,
    safe: float,
    unsafe: float,
    close: Callable[[float], float] | None = None,
    geometric: bool = False,
) -> float:
    """A number where ``holds`` is true, within ``close`` of one where it is not.

    ``holds`` is true at ``safe``, which may lie on either side of ``unsafe``; neither end is evaluated.  ``close`` is
    the width at which the search ends, as a function of the safe end; None: when no double lies between the two.
    A geometric search halves the ratio of two positive ends.

    Examples
    --------
    >>> bisect(lambda x: x * x <= 2.0, safe=0.0, unsafe=2.0), bisect(lambda x: x * x >= 2.0, safe=2.0, unsafe=0.0)
    (1.414213562373095, 1.4142135623730951)
    """
    while close is None or abs(unsafe - safe) > close(safe):
        middle = _between(safe, unsafe) if geometric else 0.5 * (safe + unsafe)
        if middle in (safe, unsafe):
            break
        if holds(middle):
            safe = middle
        else:
            unsafe = middle
    return safe


def _between(a: float, b: float) -> float:
    """The geometric mean, also where the product would underflow."""
    return math.sqrt(a * b) if a * b > 1e-290 else math.sqrt(a) * math.sqrt(b)


class Look(NamedTuple):
    """A number and its excess, already evaluated."""

    at: int
    excess: float


def smallest_whole(excess: Callable[[int], float], *, low: int, high: int, start: int) -> int | None:
    """A whole number k in [low, high] with excess(k) <= 0, where k = low or excess(k - 1) > 0.

    If the excess falls, k is the smallest such number; None if ``high`` fails.  Steps from ``start`` double until they
    bracket k, or follow chords if these are longer.  Only the sign of the excess decides; its size, which may be
    infinite, says where to search next.

    Examples
    --------
    >>> smallest_whole(lambda k: 1000.0 - k * k, low=0, high=10**6, start=5)
    32
    """

    def look(at: int) -> Look:
        return Look(at, excess(at))

    here = look(min(max(start, low), high))
    step = max(1, here.at // 10_000)
    if here.excess <= 0.0:
        while here.at > low:
            below = look(max(low, here.at - step))
            if not below.excess <= 0.0:
                return close_in(excess, below, here).at
            here, step = below, _farther(here, below, step)
        return here.at
    while here.at < high:
        above = look(min(high, here.at + step))
        if above.excess <= 0.0:
            return close_in(excess, here, above).at
        here, step = above, _farther(here, above, step)
    return None


def _farther(last: Look, here: Look, step: int) -> int:
    """Twice the step, or slightly more than the chord needs to cross 0, if that is more (up to a quarter of ``at``)."""
    slope = abs(here.excess - last.excess) / abs(here.at - last.at)
    needed = 1.05 * abs(here.excess) / slope if 0.0 < slope < math.inf else 0.0
    return max(2 * step, int(min(needed, 0.25 * here.at)))


def close_in(excess: Callable[[int], float], below: Look, enough: Look) -> Look:
    """Close a bracket to width 1 and return its upper end, with at most one evaluation more than a bisection.

    Interpolate, truncate towards the middle, project onto what a bisection would have left: the ITP method (Oliveira,
    Takahashi, ACM Transactions on Mathematical Software 47, 2021) on whole numbers.
    """
    width = enough.at - below.at
    reach = 2.0 ** math.ceil(math.log2(width))  # half the width that a bisection would have left
    while (gap := enough.at - below.at) > 1:
        middle = 0.5 * (below.at + enough.at)
        fall = below.excess - enough.excess
        aim = below.at + gap * (below.excess / fall if math.isfinite(fall) and fall > 0.0 else 0.5)
        inward = math.copysign(1.0, middle - aim)
        aim += inward * min(max(0.2 * gap * gap / width, 1.0), abs(middle - aim))
        slack = max(reach - 0.5 * gap, 0.0)
        if not abs(aim - middle) <= slack:
            aim = middle - inward * slack
        reach *= 0.5
        at = min(max(round(aim), below.at + 1), enough.at - 1)
        new = Look(at, excess(at))
        below, enough = (below, new) if new.excess <= 0.0 else (new, enough)
    return enough
