"""One victim pair, or many at once, among others of very many types, a few of which are expected to be the worst.

The line of the sum is chosen for the leading types; any line is sound, if it is the same for all types.  Most of the
others are then discarded on this line by the bounds of evaluators/swap_screen.py, and what is left is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift, spread
from ..evaluators.contour import LogBracket
from ..evaluators.swap_screen import above
from ..pair import FloatArray, ShuffledPair
from ..solve import guess_epsilon, log_up, look, solve
from .base import Answer
from .swap import SwapPair, SwapSet, only_upper

#: Dither in units of the tilted deviation.
_DITHER = 0.01
#: Few deviations away other abscissas, these times the saddle, may be better.
_CLOSE, _SCALES = 3.5, (0.9, 1.1)
#: Where fewer users than this are expected to be free, what the victim reveals on her own stands for the bound.
_FEWEST_FREE = 12.0
#: Types evaluated before the rest is compared with them.
_AT_ONCE = 4
#: eps evaluated at once; times that types are added to those that eps is solved for.
_ROWS, _ROUNDS = 16, 4


class LedSwap(SwapSet):
    """The swap bound of types of which ``leading`` may be the worst ones, and ``others``: all count.

    The types may belong to different victim pairs, or to none, if the law of every user's slot is dominated by one of
    theirs in convex order; but no victim pair may reveal more on its own than those of the leading types do.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])
    >>> led = LedSwap([coin.swapped()], [coin], 0.5)
    >>> round(led.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.142
    """

    def __init__(self, leading: Sequence[ShuffledPair], others: Sequence[ShuffledPair], common_mass: float) -> None:
        super().__init__([SwapPair((*leading, *others), common_mass)])
        self.leading = SwapPair(tuple(leading), common_mass)
        self.others = SwapPair(tuple(others), common_mass) if others else None

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """eps of the leading types; others that exceed it there join them, until one look shows that none does."""
        only_upper(side)
        (member,) = self._members
        limit, count = log_up(self.leading.max_ratio), len(member.types)
        copies = max(int(n - 1.0 / max(member.common_mass, 1e-15)), 1)
        guess = guess_epsilon(max(self.leading.types, key=spread).atoms, copies, delta, limit)
        leading, own = self.leading, len(self.leading.types)
        for _ in range(_ROUNDS):
            found = solve(_Curve(leading, None, n, own), delta, limit=limit, tol=tol, guess=guess)  # type: ignore[arg-type]
            if self.others is None or found >= limit:
                return Answer(found, count, count)
            every = _Curve(leading, self.others, n, own)
            if look(every, found, tol, math.log(delta)).excess <= 0.0:  # type: ignore[arg-type]
                return Answer(found, count, count)
            guess = guess._replace(epsilon=found)
            leading = every.joined()
        return Answer(solve(every, delta, limit=limit, tol=tol, guess=guess), count, count)  # type: ignore[arg-type]

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all types, for every eps."""
        only_upper(side)
        best, leading, own = np.full(np.shape(eps), np.inf), self.leading, len(self.leading.types)
        for _ in range(_ROUNDS):
            curve = _Curve(leading, self.others, n, own)
            best = np.minimum(best, curve.log_upper(eps))
            if not curve.exceeding:
                break
            leading = curve.joined()
        return best

    def thinned(self, chance: float) -> LedSwap:
        """Every other user takes part with this probability, independently."""
        lead = self.leading.thinned(chance)
        rest = self.others.thinned(chance).types if self.others else ()
        return LedSwap(lead.types, rest, lead.common_mass)


class _Curve:
    """The bound among n users, in the form that the solver asks for."""

    side: Side = "upper"

    def __init__(self, leading: SwapPair, others: SwapPair | None, n: int, revealing: int) -> None:
        self.leading, self.others, self.n = leading, others, n
        #: the first so many of the leading types have the victim pairs that reveal the most on their own
        self.revealing = revealing
        #: which of the others exceeded the leading types at some eps
        self.exceeding: set[int] = set()

    def joined(self) -> SwapPair:
        """The leading types, and the others that exceeded them."""
        worse = [self.others.types[i] for i in sorted(self.exceeding)] if self.others else []
        return SwapPair((*self.leading.types, *worse), self.leading.common_mass)

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log delta (the lower end makes no claim), and its slope in eps."""
        at = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        upper, fall = self._evaluate(at)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return LogBracket(upper, np.full(at.shape, -np.inf), -fall * np.exp(upper))

    def log_upper(self, eps: FloatArray) -> FloatArray:
        """log delta at every eps."""
        at = np.asarray(eps, dtype=np.float64)
        parts = [self._evaluate(at[i : i + _ROWS])[0] for i in range(0, at.size, _ROWS)]
        return np.concatenate(parts) if parts else at.copy()

    @np.errstate(all="ignore")
    def _evaluate(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log delta and -d(log delta)/d(eps), roughly."""
        eps = np.minimum(eps, LARGEST_EPSILON)
        shifted = eps - law_shift(eps)
        x, t, alone = self.leading.laws.at(shifted, self.n)  # eps, type, symbol
        first = slice(None, self.revealing)
        local = _local(x[:, first], t[:, first], alone[:, first])
        common = self.leading.common_mass
        if (self.n - 1) * common < _FEWEST_FREE:
            return local, np.ones(eps.size)
        rows, types, symbols = x.shape
        copies = max(self.n - 1.0 / common, 1.0)
        flat = x.reshape(-1, symbols), np.ascontiguousarray(t).reshape(-1, symbols)
        c, height, bend = (a.reshape(rows, types) for a in swap.saddle(*flat, copies))
        worst = np.where(np.isfinite(height), height, -np.inf).argmax(axis=1)
        pick = (np.arange(rows), worst)
        target = float(np.min(np.maximum(height[pick] - math.log(self.n), -740.0), initial=0.0))
        waiting = swap.Waiting.of(common, self.n, target)
        line = swap.line_at(c[pick], bend[pick], _DITHER)
        value = _largest(x, t, alone, waiting, line)
        near = np.flatnonzero(~(line.c * np.sqrt(bend[pick]) >= _CLOSE))
        for scale in _SCALES if near.size else ():
            other = swap.line_at(scale * line.c, bend[pick], _DITHER)
            again = _largest(x[near], t[near], alone[near], waiting, other.at(near))
            better = near[again < value[near]]
            value[better] = again[again < value[near]]
            for mine, theirs in ((line.c, other.c), (line.h, other.h), (line.s, other.s)):
                mine[better] = theirs[better]
        if self.others is not None:
            far = self.others.laws.at(shifted, self.n)
            value, worse = _with_others(value, *far, waiting, line)
            self.exceeding.update(worse)
        total = np.logaddexp(value, waiting.log_rest + local)
        weight = t[pick] * np.exp(line.c[:, None] * x[pick])
        slope = (weight * self.leading.laws.v[worst]).sum(axis=1) / (weight.sum(axis=1) + 1e-300)
        total = np.where(np.isnan(total), np.inf, total)
        return np.minimum(total, local), np.exp(eps) * line.c * copies * slope


def _local(x: FloatArray, t: FloatArray, alone: FloatArray) -> FloatArray:
    """log of the largest sum (P0 - E P1)_+: what the victim's report reveals on its own."""
    reveals = (np.maximum(x, 0.0) * t).sum(axis=2) + alone
    return np.asarray(np.log(np.minimum(reveals.max(axis=1), 1.0)) + 1e-13)


def _largest(x: FloatArray, t: FloatArray, alone: FloatArray, waiting: swap.Waiting, line: swap.Line) -> FloatArray:
    """max over types of log(U + what is exposed)."""
    rows, types, symbols = x.shape
    each = line.at(np.repeat(np.arange(rows), types))
    value = swap.log_upper(x.reshape(-1, symbols), np.ascontiguousarray(t).reshape(-1, symbols), waiting, each)
    return np.asarray(np.logaddexp(value.reshape(rows, types), np.log(alone)).max(axis=1))


def _with_others(
    value: FloatArray, x: FloatArray, t: FloatArray, alone: FloatArray, waiting: swap.Waiting, line: swap.Line
) -> tuple[FloatArray, list[int]]:
    """The same with further types, and which of them exceed it: those that cannot are not evaluated."""
    rows, types, symbols = x.shape
    row = np.repeat(np.arange(rows), types)
    flat_x, flat_t = x.reshape(-1, symbols), np.ascontiguousarray(t).reshape(-1, symbols)
    bare = np.log(alone).reshape(-1)
    worse: list[int] = []
    value, left = value.copy(), np.arange(row.size)
    for quick in (True, False):
        most = value[row[left]]
        room = most + np.log1p(-np.minimum(np.exp(bare[left] - most), 1.0))  # log(e^most - exposed)
        left = left[above(flat_x[left], flat_t[left], waiting, line.at(row[left]), room, quick=quick)]
        now = _promising(flat_x[left], flat_t[left], line.at(row[left]), row[left]) if quick else np.arange(left.size)
        some = left[now]
        sums = np.logaddexp(swap.log_upper(flat_x[some], flat_t[some], waiting, line.at(row[some])), bare[some])
        worse += (some[~(sums <= value[row[some]])] % types).tolist()
        np.maximum.at(value, row[some], sums)
        left = np.delete(left, now)
    return value, worse


def _promising(x: FloatArray, t: FloatArray, line: swap.Line, row: np.ndarray) -> np.ndarray:
    """A few of every row with the largest M(c): once evaluated, they may exclude the rest."""
    growth = (t * np.expm1(line.c[:, None] * x)).sum(axis=1)
    order = np.lexsort((-growth, row))
    place = np.arange(order.size) - np.searchsorted(row[order], row[order])
    return order[place < _AT_ONCE]
