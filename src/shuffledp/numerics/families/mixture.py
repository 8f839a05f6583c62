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
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...errors import ParameterError
from ..evaluators.choose import Divergence, Side, brackets_over_one_blanket
from ..evaluators.contour import LogBracket
from ..pair import FloatArray, ShuffledPair
from ..solve import guess_epsilon, look, pair_limit, solve, zero_suffices
from .base import Answer
from .message_counts import UNLIMITED, Count, Distribution, bucket_masses, edges

#: Coins that stand for a Poisson number, and the largest mean for which they do.
_COINS, _COINS_UP_TO = 10**14, 2e5
#: The evaluators are proved and tested up to this many messages.
MOST_MESSAGES = 10**15
#: Curves of a mixture that are evaluated before deciding how many of the others matter.
_FIRST_CURVES = 8


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
        wanted = float(np.min(rtol))
        upper = np.full(eps.shape, -np.inf)
        lower, slope = upper.copy(), np.zeros(eps.shape)
        start = 0
        while start < len(self._curves):
            if self._left[start] < 1e-3 * wanted * math.exp(max(float(upper.min()), -700.0)):  # delta <= 1 for the rest
                upper = np.logaddexp(upper, math.log(self._left[start]))
                break
            size = _FIRST_CURVES if start == 0 else self._worthwhile(start, 1e-3 * wanted, float(upper.min()))
            for mass, part in self._brackets(slice(start, start + size), eps, rtol):
                upper = np.logaddexp(upper, part.upper + math.log(mass))
                lower = np.logaddexp(lower, part.lower + math.log(mass))
                slope += mass * part.slope
            start += size
        doubt = 1e-12 if len(self._masses) > 1 else 0.0  # rounding of masses and sums
        return LogBracket(upper + doubt, lower - doubt, slope)

    def point(self, eps: float, rtol: float) -> None:
        """None: there are several curves."""
        return None

    def _worthwhile(self, start: int, share: float, log_value: float) -> int:
        """How many curves from ``start`` on may matter beside a value already found."""
        negligible = self._left[start:] < share * math.exp(max(log_value, -700.0))
        return int(negligible.argmax()) if negligible.any() else negligible.size

    def _brackets(self, which: slice, eps: FloatArray, rtol: FloatArray | float) -> Iterator[tuple[float, LogBracket]]:
        """(mass, bracket) of some curves; in one call where they have the same t."""
        curves, masses = self._curves[which], self._masses[which]
        together = brackets_over_one_blanket(curves, eps, rtol) if self._one_blanket else None
        for i, (mass, curve) in enumerate(zip(masses, curves, strict=True)):
            yield mass, curve.bracket(eps, rtol) if together is None else together[i]


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
        guess = guess_epsilon(curve.atoms, curve.n, delta, curve.limit)
        guess = guess._replace(epsilon=max(guess.epsilon, best))
        best = max(best, solve(curve, delta, limit=curve.limit, tol=tol, guess=guess))
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
