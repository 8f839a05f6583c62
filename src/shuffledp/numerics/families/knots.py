"""Some of many eps, at which everything is tried: between two of them, what was best at one of the two will do.

That saves time, never soundness: whatever is tried at an eps is an upper bound there, and nothing has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..pair import FloatArray

#: More rows than this are many; everything is then tried at so many of them.
_MANY, _KNOTS = 48, 33
#: Between knots at which different ways are best there are further ones, in so many rounds.
_ROUNDS = 2


class Knots:
    """About so many of some eps, evenly spaced in their order; the first and the last are among them.

    Attributes
    ----------
    rows : the places of these eps, from the smallest to the largest

    Examples
    --------
    >>> knots = Knots(np.array([0.5, 0.1, 0.3, 0.2, 0.4]), 3)
    >>> knots.rows.tolist(), knots.between(np.array([True, False, False])).tolist()
    ([1, 2, 0], [3])
    """

    def __init__(self, eps: FloatArray, count: int) -> None:
        order = np.argsort(eps, kind="stable")
        places = np.unique(np.linspace(0, eps.size - 1, count).round().astype(np.int64))
        self.rows = order[places]
        inner = np.setdiff1d(np.arange(eps.size), places)
        self._others = order[inner]
        self._right = np.searchsorted(places, inner)

    def between(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The places of the other eps next to a knot that is chosen (one value per knot)."""
        return np.asarray(self._others[chosen[self._right - 1] | chosen[self._right]])

    def neighbours(self, best: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The places of the other eps, and what is best at the knots to the left and to the right of each."""
        return self._others, best[self._right - 1], best[self._right]


def try_ways(
    attempt: Callable[[int, NDArray[np.int64]], NDArray[np.int64]], eps: FloatArray, ways: Sequence[int]
) -> None:
    """Improve all rows in several ways, in this order; where they are many, most only in the ways that win nearby.

    ``attempt(way, rows)`` improves what it can, and returns the rows that have become better.
    """
    every = np.arange(eps.size)
    if eps.size <= _MANY:
        for way in ways:
            attempt(way, every)
        return
    for _ in range(_ROUNDS):
        knots = Knots(eps[every], _KNOTS)
        best = np.full(eps.size, min(ways) - 1)  # none
        for way in ways:
            best[attempt(way, every[knots.rows])] = way
        rows, left, right = knots.neighbours(best[every[knots.rows]])
        for way in ways:
            attempt(way, every[rows[(left == way) | (right == way)]])
        every = every[rows[left != right]]  # a third way may be better between them
        if not every.size:
            break
