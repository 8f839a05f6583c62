"""All ordered input pairs of a probability matrix over its blanket.

A d x d matrix has d (d - 1) ordered pairs.  Three things keep that cheap and exact:

- equal rows and proportional columns are merged (same likelihood ratios for every pair), and pairs that a symmetry of
  the matrix exchanges are looked at once (alike.py);
- matrices with few distinct ratios R(x)_j / omega_j (every textbook randomizer) have few distinct laws;
- elsewhere the worst pair is found by solving the most promising one, and every other pair is
  discarded by the bound of screen.py at that eps, or evaluated there; no pair is dropped without proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...errors import BoundNotApplicableError
from ..distinct import distinct
from ..evaluators import contour, screen
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift, mass_slack
from ..evaluators.contour_nodes import NDArrayInt
from ..pair import TINY, FloatArray, ShuffledPair
from ..solve import epsilon, exceeds, log_up
from .alike import SAME_LAW, distinct_rows, exact, groups, representatives
from .base import Answer, PairSet
from .leaders import largest
from .matrix_curves import PairCurves

_FEW_LEVELS = 8
_FEW_LAWS = 512
_FEW_PAIRS = 12
#: Pairs x symbols evaluated at once: more would not fit into the cache.
_CELLS = 100_000
#: Relative accuracies in delta at which suspects are evaluated; 0.01 in delta is below 1e-3 in eps.
_CASCADE = (0.2, 0.01)
#: With more suspects x symbols than this after the first pair it pays to search for the worst pair by a sharp screen.
_MANY_SUSPECTS, _NARROWINGS = 4000, 16
#: Points from which intervals of eps are looked at, not single ones.
_MANY_POINTS = 24


class BlanketPairs:
    """Every ordered pair of inputs over the blanket omega_j = min_x R(x)_j, or over a given one."""

    def __init__(
        self,
        matrix: FloatArray,
        blanket: FloatArray | None = None,
    ) -> None:
        self.rows = distinct_rows(matrix)
        self._blanket = self.rows.min(axis=0) if blanket is None else blanket
        d = len(self.rows)
        self.first, self.second = np.divmod(representatives(self.rows, self._blanket), d)
        self._members = d * (d - 1)
        # laws that stand for others take some room, in t and in eps, unless they are equal to the last bit
        merged = self.first.size < self._members and not exact(np.vstack([self.rows, self._blanket]))
        self._room = SAME_LAW if merged else 0.0
        self.omega, self.level, self.bare = _reduce(self.rows, self._blanket * (1.0 - self._room))
        self._few_room = self._room
        self._few = self._distinct()

    @cached_property
    def limit(self) -> float:
        """An eps above which no pair has any divergence left, or the largest that is evaluated."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nanmax(self.rows.max(axis=0) / self.rows.min(axis=0))
        return min(log_up(float(ratio)), LARGEST_EPSILON)

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """One shuffled pair per distinct law, if there are at most ``most``."""
        if self._few is not None:
            return self._few.pairs(most)
        if self.first.size <= most:
            return [self.pair(i) for i in range(self.first.size)]
        return None

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over all pairs; discards pairs by a sound bound before evaluating them."""
        if self.first.size == 0:
            return Answer(0.0, 0, 0)
        if self._few is not None:
            room = self._few_room if side == "upper" else 0.0
            few = self._few.epsilon(n=n, delta=delta * (1.0 - room), tol=tol, side=side)
            return Answer(few.epsilon + room, few.evaluated, self._members)
        _only_upper(side)
        found = self._search(n, delta * (1.0 - self._room), tol)
        return found._replace(epsilon=found.epsilon + self._room)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all pairs, for every eps."""
        if self.first.size == 0:
            return np.full(eps.shape, -np.inf)
        if self._few is not None:
            room = self._few_room if side == "upper" else 0.0
            at = np.maximum(eps - room, 0.0)
            return _with_room(self._few.log_delta(at, n=n, tol=tol, side=side), eps, room)
        _only_upper(side)
        at = np.maximum(eps - self._room, 0.0)
        if eps.size >= _MANY_POINTS:
            return _with_room(largest(PairCurves(self, n), at, tol), eps, self._room)
        return _with_room(np.array([self._largest(float(x), n, tol) for x in at]), eps, self._room)

    @staticmethod
    def together(
        families: Sequence[BlanketPairs], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py); matrices with many levels are searched one by one."""
        few = np.array([family._few is not None and family.first.size > 0 for family in families])
        out: list[Answer | None] = [None] * len(families)
        at = np.flatnonzero(few)
        laws = [family._few for family in families if family._few is not None and family.first.size > 0]
        if laws:
            room = np.array([families[i]._few_room if side == "upper" else 0.0 for i in at.tolist()])
            found = PairSet.together(laws, n=n[at], delta=delta[at] * (1.0 - room), tol=tol, side=side)
            for i, more, answer in zip(at.tolist(), room.tolist(), found, strict=True):
                out[i] = Answer(answer.epsilon + more, answer.evaluated, families[i]._members)
        for i in np.flatnonzero(~few).tolist():
            out[i] = families[i].epsilon(n=int(n[i]), delta=float(delta[i]), tol=tol, side=side)
        return [answer for answer in out if answer is not None]

    def thinned(self, chance: float) -> BlanketPairs:
        """Every other user takes part with this probability, independently: omega is multiplied by it, exactly."""
        return BlanketPairs(self.rows, self._blanket * chance)

    def _search(self, n: int, delta: float, tol: float) -> Answer:
        """Solve a promising pair, discard others at its eps, evaluate the rest, solve the first found above it."""
        log_delta = math.log(delta)
        pending = np.argsort(-self.spreads())
        chosen, pending = int(pending[0]), pending[1:]
        solved = best = 0.0
        evaluated, suspects = 1, False
        while True:
            worst = self.pair(chosen)
            if best == 0.0 or exceeds(worst, best, n=n, delta=delta):
                solved = max(solved, epsilon([worst], n=n, delta=delta, tol=0.5 * tol, side="upper"))
                best = solved * (1.0 + 0.25 * tol)  # settles near ties within tol
            if math.isinf(best):
                break
            # a pair discarded at one eps stays discarded at every larger one
            bounds = self.values(pending, best, n, None)
            pending, bounds = _above(pending, bounds, log_delta)
            if not suspects:
                suspects, evaluated = True, evaluated + pending.size
                if pending.size * self.omega.size > _MANY_SUSPECTS and screen.few_draws(self.omega, n):
                    chosen = self._most_promising(pending, best, n, log_delta)
                    pending = pending[pending != chosen]
                    continue
            found, pending = self._exceeding(pending, bounds, best, n, log_delta)
            if found is None:
                break
            chosen = found
        return Answer(best, evaluated, self._members)

    def _most_promising(self, pairs: NDArrayInt, eps: float, n: int, log_delta: float) -> int:
        """The pair that the screen discards last as eps grows: most likely the worst."""
        low, high = eps, self.limit
        for _ in range(_NARROWINGS):
            middle = 0.5 * (low + high)
            left, _ = _above(pairs, self.values(pairs, middle, n, None), log_delta)
            low, high, pairs = (middle, high, left) if left.size else (low, middle, pairs)
            if pairs.size == 1:
                break
        return int(pairs[0])

    def _exceeding(
        self, pairs: NDArrayInt, bounds: FloatArray, eps: float, n: int, log_delta: float
    ) -> tuple[int | None, NDArrayInt]:
        """The first pair found (with its batch, the largest there) to be above delta at eps, and those still open.

        ``pairs`` come with their screens, largest first; the others of a batch that was evaluated are settled.
        """
        start, size = 0, 16
        while start < pairs.size:
            batch, bound = pairs[start : start + size], bounds[start : start + size]
            for rtol in _CASCADE:
                batch, bound = _above(batch, np.fmin(self.values(batch, eps, n, rtol), bound), log_delta)
            start, size = start + size, 4 * size
            if batch.size:
                return int(batch[0]), np.concatenate([batch[1:], pairs[start:]])
        return None, pairs[:0]

    def _largest(self, eps: float, n: int, tol: float) -> float:
        """max over pairs of log delta at one eps, evaluating only pairs that the screen cannot discard."""
        every = np.arange(self.first.size)
        order, bounds = _above(every, self.values(every, eps, n, None), -np.inf)
        best = -np.inf
        start, size = 0, 16
        while start < order.size and bounds[start] > best:
            pairs, bound = order[start : start + size], bounds[start : start + size]
            if start:  # the first batch is likely to hold the worst pair; of later ones few pairs are near it
                pairs, bound = _above(pairs, np.fmin(self.values(pairs, eps, n, _CASCADE[-1]), bound), best)
            for i in range(0, pairs.size, 16):
                at = slice(i, i + 16)
                if bound[i] > best:
                    best = max(best, float(np.fmin(self.values(pairs[at], eps, n, tol), bound[at]).max()))
            start, size = start + size, 4 * size
        return best

    def values(self, pairs: NDArrayInt, eps: float, n: int, rtol: float | None) -> FloatArray:
        """log delta (upper) of some pairs at one eps; by the screen where rtol is None."""
        out = np.full(pairs.size, -np.inf)
        growth = math.expm1(eps - float(law_shift(np.array(eps))))
        shrink = 1.0 - mass_slack(self.rows.shape[1])
        t = self.omega * shrink
        size = max(1, _CELLS // max(self.level.shape[1], 1))
        for start in range(0, pairs.size, size):
            at = slice(start, start + size)
            u, v = self.level[self.first[pairs[at]]], self.level[self.second[pairs[at]]]
            l = ((u - v) - growth * v) / shrink
            if not t.size:
                value = np.full(len(l), -np.inf)
            elif rtol is None:
                value = screen.log_upper(l, t, n)
            else:
                value = contour.log_bracket(l, None, t, n, np.full(len(l), rtol)).upper
            out[at] = np.logaddexp(value, self.exposed(pairs[at], growth))
        return np.where(np.isnan(out), np.inf, out)

    def exposed(self, pairs: NDArrayInt, growth: float) -> FloatArray:
        """log of what the symbols that nobody else sends add to delta; ``growth`` is e^eps - 1."""
        a, b = self.bare[self.first[pairs]], self.bare[self.second[pairs]]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum((a - b) - growth * b, 0.0).sum(axis=1) * (1.0 + 1e-14)))

    def spreads(self) -> FloatArray:
        """The leading order of eps, pair by pair: symbols that others never send count most."""
        bare = np.zeros(self.first.size)
        for j in range(self.bare.shape[1]):
            bare += np.maximum(self.bare[self.first, j] - self.bare[self.second, j], 0.0)
        return np.asarray(self.smooth() + 1e12 * bare)

    def smooth(self) -> FloatArray:
        """sum (P0 - P1)^2/t over the symbols that others send, pair by pair."""
        weighted = self.level * self.omega
        square = (weighted * self.level).sum(axis=1)
        return np.asarray(
            square[self.first] + square[self.second] - 2.0 * (weighted @ self.level.T)[self.first, self.second]
        )

    def pair(self, pair: int) -> ShuffledPair:
        """One of them."""
        a, b = self.first[pair], self.second[pair]
        return ShuffledPair(
            P0=np.concatenate([self.level[a] * self.omega, self.bare[a]]),
            P1=np.concatenate([self.level[b] * self.omega, self.bare[b]]),
            t=np.concatenate([self.omega, np.zeros(self.bare.shape[1])]),
        )

    def _distinct(self) -> PairSet | None:
        """The distinct laws over all pairs, where the matrix has few levels; None elsewhere."""
        if self.first.size == 0:
            return PairSet([])
        levels, code = groups(self.level)
        if levels.size > _FEW_LEVELS or self.bare.shape[1]:
            few = self.first.size <= _FEW_PAIRS
            return PairSet([self.pair(i) for i in range(self.first.size)]) if few else None
        hot = np.stack([code.reshape(self.level.shape) == i for i in range(levels.size)], axis=1).astype(float)
        flat = hot.reshape(-1, self.level.shape[1])
        joint = ((flat * self.omega) @ flat.T).reshape(len(self.level), levels.size, len(self.level), levels.size)
        masses = joint.transpose(0, 2, 1, 3)[self.first, self.second].reshape(self.first.size, -1)
        _, index = np.unique(groups(masses)[1], axis=0, return_index=True)
        if index.size > _FEW_LAWS:
            return None
        u, v = np.repeat(levels, levels.size), np.tile(levels, levels.size)
        room = 0.0 if exact(self.level) and exact(masses) else SAME_LAW
        self._few_room = max(self._room, room)
        return PairSet([ShuffledPair(P0=u * m, P1=v * m, t=m * (1.0 - room)) for m in masses[index]])


def _with_room(log_delta: FloatArray, eps: FloatArray, room: float) -> FloatArray:
    """log delta(eps) of all laws that one stands for, from its value at eps - room (alike.py).

    Below eps = room the ratio E' = e^(eps - room) is less than 1, where D_E' <= D_1 + (1 - E') <= D_1 + room - eps.
    """
    if room == 0.0:
        return log_delta
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(log_delta, np.log(np.maximum(room - eps, 0.0))) + room)


def _above(pairs: NDArrayInt, values: FloatArray, least: float) -> tuple[NDArrayInt, FloatArray]:
    """The pairs with values above ``least``, largest first, and their values."""
    order = np.argsort(-values)
    order = order[values[order] > least]
    return pairs[order], values[order]


def _only_upper(side: Side) -> None:
    """The search discards pairs by upper bounds; lower bounds come from datasets."""
    if side != "upper":
        raise BoundNotApplicableError("the blanket is an upper bound; take the lower one from constant datasets.")


def _reduce(rows: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Blanket masses, levels R/omega with proportional columns merged, and the columns without blanket."""
    hidden = omega > TINY
    levels = rows[:, hidden] / omega[hidden]
    first, label = distinct(levels.T)
    levels = levels[:, first]
    mass = np.bincount(label, weights=omega[hidden], minlength=first.size)
    rest = rows[:, ~hidden]
    rest = rest[:, rest.max(axis=0) > 0]
    if rest.shape[1]:
        top = rest.max(axis=0)
        shapes = rest / top
        first, label = distinct(shapes.T)
        rest = shapes[:, first] * np.bincount(label, weights=top, minlength=first.size)
    return mass.astype(np.float64), levels, rest
