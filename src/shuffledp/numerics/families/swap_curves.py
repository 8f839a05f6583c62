"""The swap bound of all pairs of a matrix at many eps: what the search for the leading ones needs (leaders.py).

The true delta of a pair, the largest over all datasets of the others, is a maximum of convex functions of e^eps, and
convex itself; so what leaders.py does with upper values of it is sound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..evaluators.contour import LogBracket
from ..pair import FloatArray
from .swap import Curve, SwapPair
from .swap_moments import Places

if TYPE_CHECKING:
    from .swap_matrix import SwapMatrix

#: Types x symbols x eps evaluated at once.
_CELLS = 1_000_000
#: A pair is looked at on this second level, so far below the leader, if it is open on the first.
_NEAR = 0.3


class SwapCurves:
    """The pairs of a matrix, numbered a d + b, among n users."""

    cascade: ClassVar[tuple[float, ...]] = (1.0,)  # there is but one accuracy

    def __init__(self, matrix: SwapMatrix, n: int, tol: float) -> None:
        self._matrix, self._n, self._tol = matrix, n, tol
        self._made: dict[int, ChunkedCurve] = {}
        self.limit = matrix.limit

    def order(self) -> Places:
        """The most telling pair first."""
        return self._matrix.every

    def screened(self, members: Places, eps: float, enough: float, leader: float) -> FloatArray:
        """``enough``, or a little below the leader, for the pairs shown to be below that; inf for the others."""
        out, left = np.full(members.size, np.inf), np.arange(members.size)
        for level in (enough, leader - _NEAR):
            found = self._matrix.open_at(members[left], eps, self._n, level, sums=False)
            if found is None:
                continue
            closed = ~np.isin(members[left], found)
            out[left[closed]] = level
            left = left[~closed]
        return out

    def curve(self, member: int) -> ChunkedCurve:
        """One pair."""
        if member not in self._made:
            pair = self._matrix.member(*divmod(member, len(self._matrix.rows)))
            self._made[member] = ChunkedCurve(pair, self._n, self._tol)
        return self._made[member]


class ChunkedCurve:
    """A curve of many types that is asked for some eps at a time, which bounds the memory."""

    def __init__(self, pair: SwapPair, n: int, tol: float) -> None:
        self._pair, self._n, self._tol = pair, n, tol
        self._step = max(1, _CELLS // sum(np.size(kind.t) for kind in pair.types))

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """As that of a curve that was not asked before, which would remember what was best at another eps."""
        parts = [
            Curve(self._pair, self._n, self._tol).bracket(eps[i : i + self._step], rtol)
            for i in range(0, eps.size, self._step)
        ]
        return LogBracket(*(np.concatenate(part) for part in zip(*parts, strict=True)))
