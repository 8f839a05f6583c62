"""Shuffled pairs among a random number of messages: delta = E_M[delta(M)], never delta at the mean of M.

One input-dependent message is hidden by M others, M = fixed + independent binomials and Poissons.  delta falls with the
number of draws (pair.py), so any law that is stochastically smaller than M gives an upper bound and any larger
one a lower bound.  M is rounded to some dozens of bucket edges, downwards or upwards; the tails are
rounded to the smallest or largest number that M can be (a Poisson has no largest one: what lies beyond the
last edge counts as the edge in an upper bound, and as nothing, delta >= 0, in a lower one).

Three cases need no bucket: M fixed; M ~ Bin(size, chance), which *is* a shuffled pair among size + 1 draws with t
scaled by ``chance`` (a message is sent or there is nothing); and M ~ Poisson(mean), a sum of N independent Poisson(x),
x = mean/N, with N huge.  Each of them is at least a coin of probability 1 - e^-x (upper bound).  With probability
((1 + x) e^-x)^N >= e^(-mean^2/2N) none exceeds 1, and then each is a coin of probability x/(1 + x) (lower bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ..evaluators.choose import LARGEST_EPSILON, Divergence, Side, brackets_over_one_blanket, law_shift
from ..evaluators.contour import UNDERFLOW, LogBracket
from ..evaluators.contour_nodes import saddle
from ..pair import FloatArray, ShuffledPair
from ..solve import Guess, guess_epsilon, look, pair_limit, solve, zero_suffices
from .base import Answer
from .message_counts import UNLIMITED, Count, Distribution, bucket_masses, edges
from .mixture_counts import ManyCounts

#: Coins that stand for a Poisson number, and the largest mean for which they do.
_COINS, _COINS_UP_TO = 10**14, 2e5
#: The evaluators are proved and tested up to this many messages.
MOST_MESSAGES = 10**15
#: Curves of a mixture that are evaluated before deciding how many of the others matter.
_FIRST_CURVES = 8
#: Curves whose brackets are too wide are evaluated once more with a tolerance so many times smaller.
_FINER = 8.0
#: More eps than this at once are not enumerated cell by cell; nor are numbers of messages of less probability.
_FEW_EPSILONS, _NEGLIGIBLE = 8, 1e-25
#: Numbers of messages far from the others that are evaluated on their own, at most.
_MOST_APART = 2
#: Relative width of a sharp bracket; eps is then solved for to this part of the accuracy asked for.
_SHARP, _POLISHED = 1e-7, 0.01


class Piece(NamedTuple):
    """A shuffled pair, its number of draws, and the probability of that number."""

    mass: float
    pair: ShuffledPair
    draws: int


def pieces(pair: ShuffledPair, count: Count, side: Side, tol: float) -> list[Piece]:
    """The pair among ``count`` other messages, as a mixture over fixed numbers of them."""
    count = count.simplified()
    if count.top > MOST_MESSAGES:
        raise ParameterError(
            f"n users may send at most 1e15 messages in all, got {count.top:.3g}; take fewer messages or users."
        )
    if not count.parts:
        return [Piece(1.0, pair, count.fixed + 1)]
    if count.fixed == 0 and len(count.parts) == 1:
        size, chance = count.parts[0]
        if size != UNLIMITED:
            return [Piece(1.0, pair.thinned(chance), size + 1)]
        if chance <= _COINS_UP_TO:
            x = chance / _COINS
            if side == "upper":
                return [Piece(1.0, pair.thinned(-math.expm1(-x)), _COINS + 1)]
            return [Piece(math.exp(-0.5 * chance * x), pair.thinned(x / (1.0 + x) * (1.0 + 1e-15)), _COINS + 1)]
    at = edges(count, tol)
    mass = bucket_masses(Distribution(count, up=side == "upper").at, at, side)
    return [Piece(float(w), pair, int(m) + 1) for w, m in zip(mass, at, strict=True) if w > 0.0]


class Mixture(Divergence):
    """The curve sum_k mass_k D_E(pair_k, draws_k), bracketed like a single one."""

    def __init__(self, parts: Sequence[Piece], side: Side) -> None:
        ordered = sorted(parts, key=lambda piece: -piece.mass)
        super().__init__(ordered[0].pair, ordered[0].draws, side)  # the first guess of eps comes from this one
        self._masses = [piece.mass for piece in ordered]
        self._left = np.cumsum(self._masses[::-1])[::-1] * (1.0 + 1e-12)  # what is still to come, rounded up
        #: numbers of messages that are enumerated, and the probability of the others
        self._live = int(np.count_nonzero(self._left > _NEGLIGIBLE))
        self._dropped = float(self._left[self._live]) if self._live < len(ordered) else 0.0
        self._curves = [Divergence(piece.pair, piece.draws, side) for piece in ordered]
        self._one_blanket = all(np.array_equal(c.atoms.t, self._curves[0].atoms.t) for c in self._curves[1:])
        self.limit = max(pair_limit(piece.pair) for piece in ordered)

    @property
    def floor(self) -> float:
        """delta at eps -> inf."""
        return sum(w * c.floor for w, c in zip(self._masses, self._curves, strict=True))

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log upper, log lower and d(upper)/d(eps) of the mixture."""
        eps = np.atleast_1d(np.asarray(eps, dtype=np.float64))
        wanted = np.broadcast_to(np.asarray(rtol, dtype=np.float64), eps.shape)
        if len(self._curves) == 1:
            return self._alone(eps, wanted)
        if self._counts is None or eps.size > _FEW_EPSILONS or bool(np.any(eps > LARGEST_EPSILON)):
            return self._from_curves(eps, wanted)
        counts, apart = self._counts
        found = self._with(counts.bracket(eps + self._sign * law_shift(eps)), apart, eps, wanted)
        upper = np.logaddexp(found.upper, math.log(self._dropped)) if self._dropped else found.upper
        loose = ~(upper - found.lower <= np.maximum(2.0 * wanted, _SHARP))
        if not loose.any():
            return found._replace(upper=upper)
        return self._from_curves(eps, wanted)

    def _alone(self, eps: FloatArray, rtol: FloatArray) -> LogBracket:
        """The bracket of the only curve."""
        found, log_mass = self._curves[0].bracket(eps, rtol), math.log(self._masses[0])
        return LogBracket(found.upper + log_mass, found.lower + log_mass, found.slope * self._masses[0])

    def is_sharp(self, eps: float) -> bool:
        """Whether brackets near eps are as narrow as rounding allows and cost next to nothing."""
        if len(self._curves) == 1 or self._counts is None or not 0.0 < eps <= LARGEST_EPSILON:
            return False
        bracket = self.bracket(np.array([eps]), 1e-2)
        return bool(bracket.upper[0] - bracket.lower[0] <= _SHARP)

    @cached_property
    def _counts(self) -> tuple[ManyCounts, list[int]] | None:
        """All counts of all numbers of messages, where there are not too many; and numbers far from the others."""
        if len(self._curves) == 1 or not self._one_blanket or any(c._kept is not None for c in self._curves):
            return None
        usual = self._curves[0].n
        order = sorted(range(self._live), key=lambda i: abs(self._curves[i].n - usual))
        for apart in range(min(_MOST_APART, self._live - 2) + 1):
            last = self._live - apart
            if apart and not _stands_out(*(self._curves[order[i]].n - usual for i in (last - 1, last))):
                return None
            live = sorted(order[:last])
            curves = [self._curves[i] for i in live]
            found = ManyCounts.of([c.atoms for c in curves], [c.n for c in curves], [self._masses[i] for i in live])
            if found is not None:
                return found, order[last:]
        return None

    def _with(self, found: LogBracket, apart: Sequence[int], eps: FloatArray, rtol: FloatArray) -> LogBracket:
        """The bracket of most numbers of messages, and that of a few others."""
        for i in apart:
            part, log_mass = self._curves[i].bracket(eps, rtol), math.log(self._masses[i])
            found = LogBracket(
                np.logaddexp(found.upper, part.upper + log_mass) + 1e-15,
                np.logaddexp(found.lower, part.lower + log_mass) - 1e-15,
                found.slope + part.slope * self._masses[i],
            )
        return found

    def _from_curves(self, eps: FloatArray, wanted: FloatArray) -> LogBracket:
        """The same curve by curve, those with the same t together."""
        log_mass, found = np.log(self._masses), list[LogBracket]()
        rest, least = -np.inf, 1e-3 * float(wanted.min(initial=1.0))
        while len(found) < len(self._curves):
            start, value = len(found), -np.inf
            if found:
                value = float(_total(log_mass[:start], [part.upper for part in found]).min(initial=0.0))
            if self._left[start] < least * math.exp(max(value, -700.0)):  # delta <= 1 for the rest
                rest = math.log(self._left[start])
                break
            size = _FIRST_CURVES if start == 0 else self._worthwhile(start, least, value)
            found += self._brackets(np.arange(start, min(start + size, len(self._curves))), eps, wanted)
        log_mass = log_mass[: len(found)]
        for finer in (wanted / _FINER, None):
            doubtful = self._doubtful(log_mass, found, wanted)
            if not doubtful.size:
                break
            self._improve(found, doubtful, eps, wanted, finer)
        doubt = 1e-12 if len(self._masses) > 1 else 0.0  # rounding of masses and sums
        upper = np.logaddexp(_total(log_mass, [part.upper for part in found]), rest)
        lower = _total(log_mass, [part.lower for part in found])
        slope = np.exp(log_mass) @ np.stack([part.slope for part in found])
        return LogBracket(upper + doubt, lower - doubt, np.asarray(slope))

    def guess(self, delta: float) -> Guess:
        """About where the mixture meets delta: a guess for the likeliest number, moved by that for all of them."""
        first = guess_epsilon(self.atoms, self.n, delta, self.limit)
        if len(self._curves) == 1 or not self._one_blanket or not self.atoms.t.size:
            return first
        with np.errstate(all="ignore"):
            found = self._moved(first.epsilon, math.log(delta))
        return first if found is None else found

    def _moved(self, eps: float, log_delta: float) -> Guess | None:
        """Newton's method on the saddle-point approximation of the mixture; None where that fails."""
        t, n = self.atoms.t, np.array([float(curve.n) for curve in self._curves])
        gap, v = (np.stack([getattr(curve.atoms, name) for curve in self._curves]) for name in ("gap", "v"))
        log_mass, low, high = np.log(self._masses), 0.0, self.limit
        for _ in range(12):
            if eps > LARGEST_EPSILON:
                return None
            l = gap - math.expm1(eps) * v
            c = saddle(l, t, n)
            weight = t * np.exp(c[:, None] * l)
            total = 1.0 + np.expm1(c[:, None] * l) @ t
            m1 = (weight * l).sum(axis=1) / total
            pull = n * m1 - 2.0 / c
            bend = n * ((weight * l * l).sum(axis=1) / total - m1 * m1) + 2.0 / c**2
            value = log_mass + n * np.log(total) - 2.0 * np.log(c) - 0.5 * pull * pull / bend
            value -= 0.5 * np.log(2.0 * math.pi * bend) + np.log(n)
            share = np.exp(value - value.max())
            excess = float(value.max()) + math.log(share.sum()) - log_delta
            fall = float(share @ (c * n * (weight * v).sum(axis=1) / total)) / float(share.sum()) * math.exp(eps)
            if not (math.isfinite(excess) and 0.0 < fall < math.inf):
                return None
            low, high = (eps, high) if excess > 0.0 else (low, eps)
            new = eps + excess / fall
            if not low < new < high:
                new = 0.5 * (low + high) if math.isfinite(high) else 2.0 * eps
            if abs(new - eps) <= 1e-5 * eps:
                return Guess(new, fall)
            eps = new
        return None

    def point(self, eps: float, rtol: float) -> None:
        """None: there are several curves."""
        return None

    def _worthwhile(self, start: int, share: float, log_value: float) -> int:
        """How many curves from ``start`` on may matter beside a value already found."""
        negligible = self._left[start:] < share * math.exp(max(log_value, -700.0))
        return int(negligible.argmax()) if negligible.any() else negligible.size

    def _brackets(self, which: NDArray[np.int64], eps: FloatArray, rtol: FloatArray) -> list[LogBracket]:
        """Brackets of some curves; in one call where they have the same t, and then perhaps too wide."""
        curves = [self._curves[i] for i in which.tolist()]
        together = brackets_over_one_blanket(curves, eps, rtol) if self._one_blanket else None
        return [curve.bracket(eps, rtol) for curve in curves] if together is None else together

    @staticmethod
    def _doubtful(log_mass: FloatArray, found: Sequence[LogBracket], rtol: FloatArray) -> NDArray[np.int64]:
        """The curves that make the bracket of the mixture wider than asked for: without their doubt it is not."""
        upper = np.stack([part.upper for part in found]) + log_mass[:, None]
        lower = np.stack([part.lower for part in found]) + log_mass[:, None]
        top = upper.max(axis=0)
        with np.errstate(all="ignore"):
            doubt = np.exp(upper - top) - np.exp(lower - top)
            doubt = np.where(np.isfinite(doubt), doubt, np.inf)
            room = np.expm1(2.0 * rtol) * np.exp(lower - top).sum(axis=0)
        loose = ~(doubt.sum(axis=0) <= room) & (top > UNDERFLOW)
        if not loose.any():
            return np.zeros(0, dtype=np.int64)
        # the smallest doubts are kept as long as they fit into a third of the room
        share = (doubt[:, loose] / np.maximum(room[loose], 1e-300)).max(axis=1)
        order = np.argsort(share)
        return np.sort(order[np.cumsum(share[order]) > 0.3])

    def _improve(
        self,
        found: list[LogBracket],
        which: NDArray[np.int64],
        eps: FloatArray,
        rtol: FloatArray,
        finer: FloatArray | None,
    ) -> None:
        """Evaluate some curves again, all at once with this accuracy, or each in its own best way."""
        if finer is None or not self._one_blanket:
            again = [self._curves[i].bracket(eps, rtol) for i in which.tolist()]
        else:
            again = self._brackets(which, eps, finer)
        for i, new in zip(which.tolist(), again, strict=True):  # both hold
            old, better = found[i], ~(new.upper >= found[i].upper)
            slope = np.where(better, new.slope, old.slope)
            found[i] = LogBracket(np.fmin(new.upper, old.upper), np.fmax(new.lower, old.lower), slope)


def _stands_out(near: int, far: int) -> bool:
    """Whether a number of messages is so far from the usual one, compared with the next, that it is looked at alone."""
    return abs(far) > 2 * abs(near)


def _total(log_mass: FloatArray, values: Sequence[FloatArray]) -> FloatArray:
    """log of the sum of mass times e^value, for every eps."""
    return np.asarray(np.logaddexp.reduce(np.stack(values) + log_mass[:, None], axis=0))


@lru_cache(maxsize=32)  # several bounds of one mechanism are often the same law
def _largest_epsilon(members: tuple[tuple[Piece, ...], ...], delta: float, tol: float, side: Side) -> float:
    """The largest eps over mixtures; one that does not raise the current answer costs one evaluation."""
    best = 0.0
    for parts in members:
        if not parts:  # no pieces: the lower bound is 0
            continue
        curve = Mixture(parts, side)
        if curve.limit <= best:
            continue
        if best > 0.0 and look(curve, best, 1e-3, math.log(delta)).excess <= 0.0:
            continue
        if best == 0.0 and zero_suffices(curve, delta):
            continue
        if math.isinf(curve.limit) and curve.floor > delta * (1.0 + 1e-12):
            return math.inf
        guess = curve.guess(delta)
        guess = guess._replace(epsilon=max(guess.epsilon, best))
        fine = _POLISHED * tol if curve.is_sharp(guess.epsilon) else tol
        best = max(best, solve(curve, delta, limit=curve.limit, tol=fine, guess=guess))
    return best


class MixtureSet:
    """A family whose members are mixtures; ``make`` gives their pieces for n users, a side and an accuracy."""

    def __init__(self, make: Callable[[int, Side, float], Sequence[Sequence[Piece]]]) -> None:
        self._make = make

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members."""
        members = self._make(n, side, tol)
        value = _largest_epsilon(tuple(tuple(parts) for parts in members), delta, tol, side)
        return Answer(value, len(members), len(members))

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, for every eps."""
        best = np.full(eps.shape, -np.inf)
        for parts in self._make(n, side, tol):
            if parts:
                bracket = Mixture(parts, side).bracket(eps, tol)
                best = np.maximum(best, bracket.upper if side == "upper" else bracket.lower)
        return best

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """None: the members are mixtures, not shuffled pairs among n messages."""
        return None


class _Among(MixtureSet):
    """Pairs among count(n) other messages; it also knows how many remain if users may stay away."""

    def __init__(self, pairs: Sequence[ShuffledPair], count: Callable[[int], Count]) -> None:
        super().__init__(lambda n, side, tol: [pieces(r, count(n), side, tol) for r in pairs])
        self._members, self._count = pairs, count

    def thinned(self, chance: float) -> MixtureSet:
        """Every other user takes part with this probability, with all of its messages or none."""
        from .participation import present_among

        return present_among(self._members, self._count, chance)


def among(pairs: Sequence[ShuffledPair], count: Callable[[int], Count]) -> MixtureSet:
    """Every one of these pairs among ``count(n)`` other messages.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
    >>> family = among([coin], lambda n: Count(n, ((n, 0.5),)))
    >>> round(family.epsilon(n=1000, delta=1e-6, tol=1e-3, side="upper").epsilon, 2)
    0.2
    """
    return _Among(list(dict.fromkeys(pairs)), count)
