"""One victim pair, or many at once, among others of very many types, a few of which are expected to be the worst.

The line of the sum is chosen for the leading types; any line is sound, if it is the same for all types.  Most of the
others are then discarded on this line by the bounds of evaluators/swap_screen.py, and what is left is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np

from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift
from ..evaluators.contour import LogBracket
from ..evaluators.swap_screen import above
from ..pair import FloatArray, ShuffledPair
from ..solve import guess_epsilon, log_up, look, solve
from .base import Answer
from .swap import FEW_FREE, SwapPair, SwapSet, only_upper
from .swap_curve import Option, Rows, largest
from .type_table import TypeTable

#: Dither in units of the tilted deviation.
_DITHER = 0.01
#: Few deviations away other abscissas, these times the saddle, may be better.
_CLOSE, _SCALES = 3.5, (1.0, 0.9, 1.1)
#: Where fewer users than this are expected to be free, what the victim reveals on her own stands for the bound.
_FEWEST_FREE = 12.0
#: What was best at one eps is so up to this part of it.
_NEARBY = 0.01
#: Types evaluated before the rest is compared with them, and those that lead beside the expected ones at most.
_AT_ONCE, _MOST_MORE = 4, 8
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

    def __init__(
        self,
        leading: Sequence[ShuffledPair],
        others: Sequence[ShuffledPair] | Callable[[], TypeTable],
        common_mass: float,
    ) -> None:
        """The others may be given by a function: they are made when they are first needed."""
        self.leading = SwapPair(tuple(leading), common_mass)
        self._make = others if callable(others) else partial(TypeTable.of, others)

    @cached_property
    def others(self) -> TypeTable:
        """The types that are not expected to be the worst."""
        return self._make()

    @cached_property
    def _members(self) -> tuple[SwapPair, ...]:  # type: ignore[override]
        return (SwapPair((*self.leading.types, *self.others.pairs()), self.leading.common_mass),)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """eps of the leading types; others that exceed it there join them, until one look shows that none does."""
        only_upper(side)
        limit, count = log_up(self.leading.max_ratio), len(self.leading.types) + len(self.others)
        copies = max(int(n - 1.0 / max(self.leading.common_mass, 1e-15)), 1)
        guess = max(guess_epsilon(pair.atoms, copies, delta, limit) for pair in self.leading.types)
        leading, own = self._leading_at(guess.epsilon, n), len(self.leading.types)
        for _ in range(_ROUNDS):
            few = _Curve(leading, None, n, own)
            found = solve(few, delta, limit=limit, tol=tol, guess=guess)  # type: ignore[arg-type]
            if not len(self.others) or found >= limit:
                return Answer(found, count, count)
            every = _Curve(leading, self.others, n, own)
            every.chosen = few.chosen
            if look(every, found, tol, math.log(delta)).excess <= 0.0:  # type: ignore[arg-type]
                return Answer(found, count, count)
            guess = guess._replace(epsilon=found)
            leading = every.joined()
        return Answer(solve(every, delta, limit=limit, tol=tol, guess=guess), count, count)  # type: ignore[arg-type]

    @np.errstate(all="ignore")
    def _leading_at(self, eps: float, n: int) -> SwapPair:
        """The leading types, and those of the others that seem to exceed them at this eps: with a larger M(c)."""
        if not len(self.others) or n * self.leading.common_mass < _FEWEST_FREE:
            return self.leading
        at = np.array([eps])
        x, t, _ = self.leading.laws.at(at, n)
        c, height, _ = swap.saddle(x[0], np.ascontiguousarray(t[0]), max(n - 1.0 / self.leading.common_mass, 1.0))
        worst = int(np.where(np.isfinite(height), height, -np.inf).argmax())
        least = (t[0, worst] * np.expm1(c[worst] * x[0, worst])).sum()
        x, t, _ = self.others.laws.at(at, n)
        growth = (t[0] * np.expm1(c[worst] * x[0])).sum(axis=1)
        more = [k for k in np.argsort(-growth)[:_MOST_MORE].tolist() if growth[k] > least]
        return SwapPair((*self.leading.types, *map(self.others.pair, more)), self.leading.common_mass)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all types, for every eps."""
        only_upper(side)
        at = np.asarray(eps, dtype=np.float64)
        best = np.full(at.shape, np.inf)
        for i in range(0, at.size, _ROWS):
            best[i : i + _ROWS] = self._log_uppers(at[i : i + _ROWS], n, tol)
        return best

    def _log_uppers(self, eps: FloatArray, n: int, tol: float) -> FloatArray:
        """log delta at a few eps; where others exceed the leading types they join them, as long as that helps."""
        leading, own = self._leading_at(float(np.median(eps)), n), len(self.leading.types)
        best, left = np.full(eps.shape, np.inf), np.arange(eps.size)
        for _ in range(_ROUNDS):
            curve = _Curve(leading, self.others, n, own)
            found = curve.log_upper(eps[left])
            better = found < best[left] - tol
            best[left] = np.minimum(best[left], found)
            left = left[curve.exceeded & better]
            if not left.size:
                break
            leading = curve.joined()
        return best

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): that of the leading types alone."""
        if self.loose_for(n):
            return None
        value = float(_Curve(self.leading, None, n, len(self.leading.types)).log_upper(np.array([eps]))[0])
        return value if math.isfinite(value) else None

    def loose_for(self, n: int) -> bool:
        """Whether the users who are displaced are too many of n for the bound to be sharp."""
        return n * self.leading.common_mass < FEW_FREE

    @property
    def quick(self) -> bool:
        """No: there are very many types."""
        return False

    def thinned(self, chance: float) -> LedSwap:
        """Every other user takes part with this probability, independently."""
        lead = self.leading.thinned(chance)
        return LedSwap(lead.types, lambda: self.others.thinned(chance), lead.common_mass)


class _Curve:
    """The bound among n users, in the form that the solver asks for."""

    side: Side = "upper"

    def __init__(self, leading: SwapPair, others: TypeTable | None, n: int, revealing: int) -> None:
        self.leading, self.others, self.n = leading, others, n
        #: the first so many of the leading types have the victim pairs that reveal the most on their own
        self.revealing = revealing
        #: which of the others exceeded the leading types at some eps
        self.exceeding: set[int] = set()
        #: at which of the eps that were evaluated last
        self.exceeded = np.zeros(0, dtype=bool)
        #: an eps, and the line that was best there
        self.chosen = (math.nan, 1.0)

    def joined(self) -> SwapPair:
        """The leading types, and the others that exceeded them."""
        worse = [self.others.pair(i) for i in sorted(self.exceeding)] if self.others is not None else []
        return SwapPair((*self.leading.types, *worse), self.leading.common_mass)

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log delta (the lower end makes no claim), and its slope in eps."""
        at = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        upper, fall = self._evaluate(at)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return LogBracket(upper, np.full(at.shape, -np.inf), -fall * np.exp(upper))

    def log_upper(self, eps: FloatArray) -> FloatArray:
        """log delta at every eps."""
        return self._evaluate(np.asarray(eps, dtype=np.float64))[0]

    @np.errstate(all="ignore")
    def _evaluate(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log delta and -d(log delta)/d(eps), roughly."""
        eps, self.exceeded = np.minimum(eps, LARGEST_EPSILON), np.zeros(eps.size, dtype=bool)
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
        useless = local + (math.log(-math.expm1(waiting.log_rest)) if waiting.log_rest < 0.0 else -math.inf)
        here = Rows(x, t, alone, worst, c[pick], bend[pick], useless, eps)
        value, scale = self._on_lines(here, waiting)
        line = swap.line_at(scale * here.c, here.bend, _DITHER)
        if self.others is not None and len(self.others):
            far = self.others.laws.at(shifted, self.n)
            before = value
            value, worse = _with_others(value, *far, waiting, line)
            self.exceeding.update(worse)
            self.exceeded = value > before
        total = np.logaddexp(value, waiting.log_rest + local)
        weight = t[pick] * np.exp(line.c[:, None] * x[pick])
        slope = (weight * self.leading.laws.v[worst]).sum(axis=1) / (weight.sum(axis=1) + 1e-300)
        total = np.where(np.isnan(total), np.inf, total)
        return np.minimum(total, local), np.exp(eps) * line.c * copies * slope

    def _on_lines(self, here: Rows, waiting: swap.Waiting) -> tuple[FloatArray, FloatArray]:
        """max over the leading types of log(U + what is exposed), on the best of a few lines, and which one that is.

        Any line is sound; the one that was best at some eps will do for another one nearby.
        """
        single, at = here.eps.size == 1, float(here.eps[0])
        scale = np.ones(here.eps.size)
        if single and abs(at - self.chosen[0]) <= _NEARBY * at:
            scale[:] = self.chosen[1]
            return largest(here, waiting, Option(scale, _DITHER)), scale
        near = np.flatnonzero(~(here.deviations >= _CLOSE))
        if near.size:  # the worst type tells which line is best
            at_worst = (near, here.worst[near])
            own = here.at(near)._replace(
                x=here.x[at_worst][:, None],
                t=here.t[at_worst][:, None],
                alone=here.alone[at_worst][:, None],
                worst=np.zeros(near.size, dtype=np.int64),
            )
            found = np.array([largest(own, waiting, Option(other, _DITHER)) for other in _SCALES])
            scale[near] = np.array(_SCALES)[np.where(np.isnan(found), np.inf, found).argmin(axis=0)]
        value = largest(here, waiting, Option(scale, _DITHER))
        if single:
            self.chosen = (at, float(scale[0]))
        return value, scale


def _local(x: FloatArray, t: FloatArray, alone: FloatArray) -> FloatArray:
    """log of the largest sum (P0 - E P1)_+: what the victim's report reveals on its own."""
    reveals = (np.maximum(x, 0.0) * t).sum(axis=2) + alone
    return np.asarray(np.log(np.minimum(reveals.max(axis=1), 1.0)) + 1e-13)


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
