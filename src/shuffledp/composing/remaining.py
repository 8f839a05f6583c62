"""How many more rounds fit into a budget."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..numerics.search import smallest_whole

#: The largest number of rounds that is tried.
MOST_REMAINING = 10**6
#: Most guesses before the search.
_GUESSES = 6


def most_rounds(spent: Callable[[int], float], target: float) -> int:
    """The largest number whose eps, ``spent(number)``, is at most the target; one more was checked not to fit.

    Examples
    --------
    >>> most_rounds(lambda count: 0.1 * count**0.5, 1.0)
    100
    """

    def room(count: int) -> float:
        left = target - spent(count)
        return left if left != 0.0 else 5e-324  # what fits exactly, fits

    if spent(0) > target:
        return 0
    start = 1
    for _ in range(_GUESSES):  # roughly, the squares of eps add up
        cost = spent(start) ** 2 - spent(0) ** 2
        more = start * (target**2 - spent(0) ** 2) / cost if 0.0 < cost < math.inf else 2.0 * start
        start, last = min(max(round(more), 1), MOST_REMAINING), start
        if abs(start - last) <= 1e-4 * last:
            break
    beyond = smallest_whole(room, low=1, high=MOST_REMAINING + 1, start=start)
    return MOST_REMAINING if beyond is None else beyond - 1
