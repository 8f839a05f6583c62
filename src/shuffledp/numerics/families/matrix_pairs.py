"""All ordered input pairs of a probability matrix, over its blanket or over constant datasets.

A d x d matrix has d (d - 1) ordered pairs.  Three things keep that cheap and exact:

- equal rows and proportional columns are merged (same likelihood ratios for every pair);
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
from ..evaluators import contour, screen
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift, mass_slack
from ..evaluators.contour_nodes import NDArrayInt
from ..pair import TINY, FloatArray, ShuffledPair
from ..solve import epsilon, exceeds, log_up
from .base import Answer, PairSet, two_counts

_FEW_LEVELS = 8
_FEW_LAWS = 512
_FEW_PAIRS = 12
#: Pairs x symbols evaluated at once: more would not fit into the cache.
_CELLS = 100_000
_CANDIDATES = 24
#: Relative accuracies in delta at which suspects are evaluated; 0.01 in delta is below 1e-3 in eps.
_CASCADE = (0.2, 0.01)
#: Products of this size are not worth a second thread, whose waiting would cost more than it saves.
_STRIP = 2**18
#: With more suspects x symbols than this after the first pair it pays to search for the worst pair by a sharp screen.
_MANY_SUSPECTS, _NARROWINGS = 4000, 16
#: Laws are called equal when their masses agree to 2^-40; that moves eps by at most this much.
_SAME_LAW_SLACK = 4.0 * 2.0**-40


class BlanketPairs:
    """Every ordered pair of inputs over the blanket omega_j = min_x R(x)_j, or over a given one."""

    def __init__(self, matrix: FloatArray, blanket: FloatArray | None = None) -> None:
        self.rows = np.unique(matrix, axis=0)
        self._blanket = self.rows.min(axis=0) if blanket is None else blanket
        self.omega, self.level, self.bare = _reduce(self.rows, self._blanket)
        d = len(self.rows)
        self.first, self.second = (a.reshape(-1) for a in np.nonzero(~np.eye(d, dtype=bool)))
        self._few = self._distinct()

    @cached_property
    def _limit(self) -> float:
        """An eps above which no pair has any divergence left, or the largest that is evaluated."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nanmax(self.rows.max(axis=0) / self.rows.min(axis=0))
        return min(log_up(float(ratio)), LARGEST_EPSILON)

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """One shuffled pair per distinct law, if there are at most ``most``."""
        if self._few is not None:
            return self._few.pairs(most)
        if self.first.size <= most:
            return [self._pair(i) for i in range(self.first.size)]
        return None

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over all pairs; discards pairs by a sound bound before evaluating them."""
        if self.first.size == 0:
            return Answer(0.0, 0, 0)
        if self._few is not None:
            few = self._few.epsilon(n=n, delta=delta, tol=tol, side=side)
            eps = few.epsilon + (_SAME_LAW_SLACK if side == "upper" and few.epsilon > 0 else 0.0)
            return Answer(eps, few.evaluated, self.first.size)
        _only_upper(side)
        return self._search(n, delta, tol)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all pairs, for every eps."""
        if self.first.size == 0:
            return np.full(eps.shape, -np.inf)
        if self._few is not None:
            shift = _SAME_LAW_SLACK if side == "upper" else 0.0
            return self._few.log_delta(np.maximum(eps - shift, 0.0), n=n, tol=tol, side=side)
        _only_upper(side)
        return np.array([self._largest(float(x), n, tol) for x in eps])

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
            found = PairSet.together(laws, n=n[at], delta=delta[at], tol=tol, side=side)
            for i, answer in zip(at.tolist(), found, strict=True):
                eps = answer.epsilon + (_SAME_LAW_SLACK if side == "upper" and answer.epsilon > 0 else 0.0)
                out[i] = Answer(eps, answer.evaluated, families[i].first.size)
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
            worst = self._pair(chosen)
            if best == 0.0 or exceeds(worst, best, n=n, delta=delta):
                solved = max(solved, epsilon([worst], n=n, delta=delta, tol=0.5 * tol, side="upper"))
                best = solved * (1.0 + 0.25 * tol)  # settles near ties within tol
            if math.isinf(best):
                break
            # a pair discarded at one eps stays discarded at every larger one
            bounds = self._values(pending, best, n, None)
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
        return Answer(best, evaluated, self.first.size)

    def _most_promising(self, pairs: NDArrayInt, eps: float, n: int, log_delta: float) -> int:
        """The pair that the screen discards last as eps grows: most likely the worst."""
        low, high = eps, self._limit
        for _ in range(_NARROWINGS):
            middle = 0.5 * (low + high)
            left, _ = _above(pairs, self._values(pairs, middle, n, None), log_delta)
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
                batch, bound = _above(batch, np.fmin(self._values(batch, eps, n, rtol), bound), log_delta)
            start, size = start + size, 4 * size
            if batch.size:
                return int(batch[0]), np.concatenate([batch[1:], pairs[start:]])
        return None, pairs[:0]

    def _largest(self, eps: float, n: int, tol: float) -> float:
        """max over pairs of log delta at one eps, evaluating only pairs that the screen cannot discard."""
        every = np.arange(self.first.size)
        order, bounds = _above(every, self._values(every, eps, n, None), -np.inf)
        best = -np.inf
        start, size = 0, 16
        while start < order.size and bounds[start] > best:
            pairs, bound = order[start : start + size], bounds[start : start + size]
            if start:  # the first batch is likely to hold the worst pair; of later ones few pairs are near it
                pairs, bound = _above(pairs, np.fmin(self._values(pairs, eps, n, _CASCADE[-1]), bound), best)
            for i in range(0, pairs.size, 16):
                at = slice(i, i + 16)
                if bound[i] > best:
                    best = max(best, float(np.fmin(self._values(pairs[at], eps, n, tol), bound[at]).max()))
            start, size = start + size, 4 * size
        return best

    def _values(self, pairs: NDArrayInt, eps: float, n: int, rtol: float | None) -> FloatArray:
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
            out[at] = np.logaddexp(value, self._exposed(pairs[at], growth))
        return np.where(np.isnan(out), np.inf, out)

    def _exposed(self, pairs: NDArrayInt, growth: float) -> FloatArray:
        a, b = self.bare[self.first[pairs]], self.bare[self.second[pairs]]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum((a - b) - growth * b, 0.0).sum(axis=1) * (1.0 + 1e-14)))

    def spreads(self) -> FloatArray:
        """The leading order of eps, pair by pair: symbols that others never send count most."""
        weighted = self.level * self.omega
        square = (weighted * self.level).sum(axis=1)
        smooth = square[self.first] + square[self.second] - 2.0 * (weighted @ self.level.T)[self.first, self.second]
        bare = np.zeros(self.first.size)
        for j in range(self.bare.shape[1]):
            bare += np.maximum(self.bare[self.first, j] - self.bare[self.second, j], 0.0)
        return np.asarray(smooth + 1e12 * bare)

    def _pair(self, pair: int) -> ShuffledPair:
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
        levels, code = np.unique(self.level, return_inverse=True)
        if levels.size > _FEW_LEVELS or self.bare.shape[1]:
            few = self.first.size <= _FEW_PAIRS
            return PairSet([self._pair(i) for i in range(self.first.size)]) if few else None
        hot = np.stack([code.reshape(self.level.shape) == i for i in range(levels.size)], axis=1).astype(float)
        flat = hot.reshape(-1, self.level.shape[1])
        joint = ((flat * self.omega) @ flat.T).reshape(len(self.level), levels.size, len(self.level), levels.size)
        masses = joint.transpose(0, 2, 1, 3)[self.first, self.second].reshape(self.first.size, -1)
        mantissa, exponent = np.frexp(masses)
        keys = np.concatenate([np.round(mantissa * 2.0**41), exponent], axis=1)
        _, index = np.unique(keys, axis=0, return_index=True)
        if index.size > _FEW_LAWS:
            return None
        u, v = np.repeat(levels, levels.size), np.tile(levels, levels.size)
        return PairSet([ShuffledPair(P0=u * m, P1=v * m, t=m) for m in masses[index]])


def _above(pairs: NDArrayInt, values: FloatArray, least: float) -> tuple[NDArrayInt, FloatArray]:
    """The pairs with values above ``least``, largest first, and their values."""
    order = np.argsort(-values)
    order = order[values[order] > least]
    return pairs[order], values[order]


def _only_upper(side: Side) -> None:
    """The search discards pairs by upper bounds; lower bounds come from datasets."""
    if side != "upper":
        raise BoundNotApplicableError("the blanket is an upper bound; take the lower one from constant datasets.")


def constant_datasets(matrix: FloatArray) -> PairSet:
    """Pairs with t = R(x*) for the most distinguishable inputs and x*: each is the *exact* divergence of a dataset.

    Any choice is a valid lower bound, so only the largest in leading order are kept.
    """
    rows = np.unique(matrix, axis=0)
    return _unlike([ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x]) for a, b, x in _most_telling(rows)], matrix.size)


def two_count_datasets(matrix: FloatArray) -> PairSet:
    """The paper's Theorem 5.1: the same datasets, seen through two counts only (both directions).

    A+ = {R0 > R1} and A- = {R0 < R1} are merged into one symbol each, the rest into a third.
    """
    rows = np.unique(matrix, axis=0)
    pairs = [two_counts(ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x])) for a, b, x in _most_telling(rows)]
    return _unlike(pairs, matrix.size)


def _unlike(pairs: list[ShuffledPair], cells: int) -> PairSet:
    """The first few shuffled pairs with different laws; more of them for a small matrix."""
    seen: dict[bytes, ShuffledPair] = {}
    for pair in pairs:
        atoms = pair.atoms
        table = np.column_stack([atoms.u, atoms.v, atoms.t])
        key = np.round(table[np.lexsort(np.round(table.T, 9))], 9)
        bare = np.sort(np.round(atoms.zero0 - 1j * atoms.zero1, 9))
        seen.setdefault(key.tobytes() + bare.tobytes(), pair)
    return PairSet(list(seen.values())[: _CANDIDATES if cells <= 4096 else 8])


def _most_telling(rows: FloatArray) -> list[tuple[int, int, int]]:
    """(x0, x1, x*) by falling sum (R0 - R1)^2 / R(x*), exposed symbols first; one pair per x* if d is large."""
    d = len(rows)
    found = []
    strip = d if d <= 64 else max(1, _STRIP // rows.size)
    for x in range(d) if d > 1 else ():
        hidden = rows[x] > TINY
        weight = np.where(hidden, 1.0 / np.where(hidden, rows[x], 1.0), 0.0)
        square = (rows * rows * weight).sum(axis=1)
        score = np.add.outer(square, square)
        double = 2.0 * rows * weight
        for i in range(0, d, strip):
            score[i : i + strip] -= double[i : i + strip] @ rows.T
        bare = rows[:, ~hidden]
        for j in range(bare.shape[1]):
            score += 1e12 * np.maximum(bare[:, None, j] - bare[None, :, j], 0.0)
        np.fill_diagonal(score, -1.0)
        best = range(d * d) if d <= 8 else _top(score) if d <= 64 else _both(int(score.argmax()), d)
        found += [(float(score.flat[i]), i // d, i % d, x) for i in best if score.flat[i] > 0]
    found.sort(key=lambda item: -item[0])
    return [(a, b, x) for _, a, b, x in found]


def _top(score: FloatArray) -> list[int]:
    return [int(i) for i in np.argpartition(-score, 8, axis=None)[:8]]


def _both(i: int, d: int) -> list[int]:
    """A place in a d x d matrix and its mirror image: the pair in both directions."""
    return [i, i % d * d + i // d]


def _reduce(rows: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Blanket masses, levels R/omega with proportional columns merged, and the columns without blanket."""
    hidden = omega > TINY
    levels, label = np.unique(rows[:, hidden] / omega[hidden], axis=1, return_inverse=True)
    mass = np.bincount(label.reshape(-1), weights=omega[hidden], minlength=levels.shape[1])
    rest = rows[:, ~hidden]
    rest = rest[:, rest.max(axis=0) > 0]
    if rest.shape[1]:
        top = rest.max(axis=0)
        shapes, label = np.unique(rest / top, axis=1, return_inverse=True)
        rest = shapes * np.bincount(label.reshape(-1), weights=top, minlength=shapes.shape[1])
    return mass.astype(np.float64), levels, rest
