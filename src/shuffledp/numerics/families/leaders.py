"""The largest of many divergence curves at many eps, where only those that may lead somewhere are evaluated there.

Every divergence D(E) is convex and falling in E = e^eps.  So on an interval of E the chord between upper values at its
ends is an upper value in between, and a member is below the leader L on the whole interval if at both ends

    U <= L/r,   r = the largest ratio of the chord of L to L at any eps asked for in the interval,

because its chord is then below the chord of L over r.  Intervals are split until no member is left open or r is close
to 1; the members that are left are evaluated at every eps there.  No member is left out without this proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..evaluators import screen
from ..evaluators.choose import LARGEST_EPSILON, Divergence, law_shift
from ..evaluators.contour import LogBracket
from ..pair import FloatArray
from ..solve import log_up

Places = NDArray[np.int64]

#: Below every positive double: the log of a smaller divergence is not needed.
_FLOOR = -750.0
#: An interval on which the chord is at most so far above the leader is not split: for few members, for many.
_STRAIGHT, _TINY = 0.25, 0.01
#: So many members are evaluated at the ends of an interval before it is split, where the chord is so close.
_FEW, _WORTH_A_LOOK = 32, 1.5
#: On fewer points than this a member is evaluated at once; so many are compared to find a new leader.
_SHORT, _LIKELY = 16, 4
#: Further below the leader than this screens need not be sharp.
_BELOW = 3.0
#: Relative accuracies in delta at which the members are evaluated, to find the largest one.
_CASCADE = (0.1, 0.01)


class Bracketed(Protocol):
    """A divergence curve."""

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """Upper values of log delta, and more."""


class Members(Protocol):
    """Curves, of which there may be very many."""

    #: eps from which all of them are 0
    limit: float
    #: relative accuracies at which a member is evaluated before it is evaluated finely
    cascade: ClassVar[tuple[float, ...]]

    def order(self) -> Places:
        """All members, the one that is likely to lead first."""

    def screened(self, members: Places, eps: float, enough: float, leader: float) -> FloatArray:
        """Cheap upper values of log delta at one eps; they need not be sharp below ``enough`` or above the leader."""

    def curve(self, member: int) -> Bracketed:
        """One of them."""


@np.errstate(all="ignore")
def screened(curve: Divergence, eps: FloatArray) -> FloatArray:
    """Cheap upper values of log delta of one curve (screen.py)."""
    at = np.minimum(eps, LARGEST_EPSILON)
    at = at - law_shift(at)
    out = np.log(curve.atoms.exposed(at)) + 1e-14
    if curve.atoms.t.size:
        out = np.logaddexp(out, screen.log_upper(curve.atoms.values(at), curve.atoms.t, curve.n))
    return np.where(np.isnan(out), np.inf, out)


class Listed:
    """A few curves, each with a law of its own."""

    cascade: ClassVar[tuple[float, ...]] = (0.1, 0.01)

    def __init__(self, curves: Sequence[Divergence]) -> None:
        self._curves = curves
        self.limit = log_up(max(curve.max_ratio for curve in curves))

    def order(self) -> Places:
        """By the leading order of eps; symbols that nobody else sends count most."""
        exposed = [float(np.maximum(c.atoms.zero0 - c.atoms.zero1, 0.0).sum()) for c in self._curves]
        spread = [float(c.atoms.t @ c.atoms.gap**2) for c in self._curves]
        return np.lexsort((spread, exposed))[::-1].astype(np.int64)

    def screened(self, members: Places, eps: float, enough: float, leader: float) -> FloatArray:
        """By screen.py."""
        return np.array([screened(self._curves[i], np.array([eps]))[0] for i in members.tolist()])

    def curve(self, member: int) -> Divergence:
        """One of them."""
        return self._curves[member]


def largest(members: Members, eps: FloatArray, tol: float) -> FloatArray:
    """The largest upper log delta over the members, at every eps; values below e^-750 may be given as that."""
    points, place = np.unique(eps, return_inverse=True)
    live = int(np.searchsorted(points, min(members.limit, LARGEST_EPSILON)))
    out = np.full(points.size, -np.inf)
    if live:
        out[:live] = _Search(members, points[:live], tol).run()
    if points[-1] > LARGEST_EPSILON and members.limit > LARGEST_EPSILON:  # upper values stop falling there
        last = _Search(members, np.array([LARGEST_EPSILON]), tol).run()
        out[live:] = last[0]
    return out[place].reshape(eps.shape)


class _Search:
    def __init__(self, members: Members, points: FloatArray, tol: float) -> None:
        self._members, self._points, self._tol = members, points, tol
        self._best = np.full(points.size, _FLOOR)
        self._known: dict[tuple[int, int, float], float] = {}

    def run(self) -> FloatArray:
        """The leader at every point."""
        order, start = self._members.order(), 0
        leader, last = int(order[0]), -1
        while True:
            last = self._visible(leader, start)
            self._raise(leader, slice(start, last + 1))
            rest = order[order != leader]
            if rest.size:
                self._settle(start, last, rest, self._screened(rest, start), self._screened(rest, last))
            if last == self._points.size - 1 or self._best[last] <= _FLOOR:
                self._best[last:] = self._best[last]  # deltas fall
                return self._best
            start = last + 1  # the leader ends here, others do not
            leader = self._next(order, start)

    def _next(self, order: Places, at: int) -> int:
        """A member that is likely to lead at a point where nothing is known."""
        likely = order[np.argsort(-self._screened(order, at), kind="stable")[:_LIKELY]]
        return int(likely[self._finer(likely, at, 0.1).argmax()])

    def _visible(self, leader: int, start: int) -> int:
        """The last point, or one soon after the leader falls below every positive double."""
        low, high = start, self._points.size - 1
        curve = self._members.curve(leader)
        while high - low > max(8, (high - start) // 32):
            middle = (low + high) // 2
            upper = float(curve.bracket(self._points[middle : middle + 1], 0.1).upper[0])
            low, high = (middle, high) if upper > _FLOOR else (low, middle)
        return high

    def _raise(self, member: int, where: slice) -> None:
        """Evaluate a member at all points there."""
        curve = self._members.curve(member)
        found = curve.bracket(self._points[where], self._tol).upper
        self._best[where] = np.maximum(self._best[where], found)

    def _screened(self, members: Places, at: int) -> FloatArray:
        best = float(self._best[at])
        return self._members.screened(members, float(self._points[at]), best - _BELOW, best)

    def _slack(self, low: int, high: int) -> float:
        """log of the largest ratio of the chord to the leader between two points."""
        if high - low < 2:
            return 0.0
        best, at = self._best[low : high + 1], np.expm1(self._points[low : high + 1] - self._points[low])
        share = at / at[-1]
        with np.errstate(divide="ignore", under="ignore"):
            chord = np.logaddexp(best[0] + np.log1p(-share), best[-1] + np.log(share))
        return float(np.max(chord - best)) + 1e-9

    def _settle(self, low: int, high: int, members: Places, left: FloatArray, right: FloatArray) -> None:
        """Make sure that no member is above the leader at the points low, ..., high; given their values at both."""
        slack = self._slack(low, high)
        members, left, right = self._open(low, high, slack, members, left, right)
        few = members.size <= _FEW
        look = few and slack <= _WORTH_A_LOOK and high - low > _SHORT
        for rtol in self._members.cascade if look else ():
            left, right = (np.minimum(u, self._finer(members, at, rtol)) for u, at in ((left, low), (right, high)))
            members, left, right = self._open(low, high, slack, members, left, right)
        if not members.size:
            return
        if high - low < 2 or slack <= (_STRAIGHT if few else _TINY):
            for i in np.argsort(-np.maximum(left, right), kind="stable"):
                self._evaluate(low, high, int(members[i]), left[i : i + 1], right[i : i + 1])
            return
        # where the leader is half way down
        half = 0.5 * (self._best[low] + self._best[high])
        middle = low + int(np.searchsorted(-self._best[low : high + 1], -half))
        middle = min(max(middle, low + 1), high - 1)
        values = self._screened(members, middle)
        self._settle(low, middle, members, left, values)
        self._settle(middle, high, members, values, right)

    def _evaluate(self, low: int, high: int, member: int, left: FloatArray, right: FloatArray) -> None:
        """Evaluate one member between two points, if it may be above the leader by then."""
        one = np.array([member])
        for rtol in (None, *(self._members.cascade if high - low > _SHORT else ())):
            if rtol is not None:
                left, right = (np.minimum(u, self._finer(one, at, rtol)) for u, at in ((left, low), (right, high)))
            if not self._open(low, high, self._slack(low, high), one, left, right)[0].size:
                return
        self._raise(member, slice(low, high + 1))

    def _finer(self, members: Places, at: int, rtol: float) -> FloatArray:
        for i in members.tolist():
            if (i, at, rtol) not in self._known:
                upper = self._members.curve(i).bracket(self._points[at : at + 1], rtol).upper
                self._known[i, at, rtol] = float(upper[0])
        return np.array([self._known[i, at, rtol] for i in members.tolist()])

    def _open(
        self, low: int, high: int, slack: float, members: Places, left: FloatArray, right: FloatArray
    ) -> tuple[Places, FloatArray, FloatArray]:
        """Those that may be above the leader in between."""
        open_ = ~((left <= self._best[low] - slack) & (right <= self._best[high] - slack))
        return members[open_], left[open_], right[open_]


def largest_upper(curves: Sequence[Divergence], eps: FloatArray, tol: float) -> FloatArray:
    """The largest upper value at every eps: at each, only the leading curve is evaluated more finely.

    A curve that never leads is below the leader by a screen or a coarser evaluation, which are upper values as well.
    """
    levels = [*(rtol for rtol in _CASCADE if rtol > 3.0 * tol), tol]
    upper = np.array([screened(curve, eps) for curve in curves])
    seen = np.zeros(upper.shape, dtype=np.int64)  # how many levels
    while True:
        leader = upper.argmax(axis=0)
        level = seen[leader, np.arange(eps.size)]
        if np.all(level == len(levels)):
            return np.asarray(upper.max(axis=0))
        for i, depth in sorted(set(zip(leader.tolist(), level.tolist(), strict=True))):
            at = np.flatnonzero((leader == i) & (level == depth))
            if depth < len(levels):
                upper[i, at] = np.fmin(curves[i].bracket(eps[at], levels[depth]).upper, upper[i, at])
                seen[i, at] += 1
