"""Shuffled pairs among a random number of messages: delta = E_M[delta(M)], never delta at the mean of M.

One input-dependent message is hidden by M others, M = fixed + independent binomials and Poissons.  delta falls with the
number of draws (pair.py), so any law that is stochastically smaller than M gives an upper bound and any larger one a
lower bound.  M is rounded to a few dozen bucket edges, down or up; the tails are rounded to the smallest or largest
number that M can be.  A Poisson number has no largest value: beyond the last edge it counts as that edge in an upper
bound, and as nothing (delta >= 0) in a lower one.

Three cases need no bucket: M fixed; M ~ Bin(size, chance), which *is* a shuffled pair among size + 1 draws with t
scaled by ``chance`` (a draw is a message or nothing); and M ~ Poisson(mean), as a sum of many coins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from ..errors import ParameterError
from . import tuning
from .counts import UNLIMITED, Count, buckets
from .curve import Curve, Guess, PairCurve, Values
from .family import Listed, Rows
from .ledger import charge
from .pair import FloatArray, IntArray, ShuffledPair, Side
from .rows import numbered
from .swap.pair import ranges

#: Coins that stand for a Poisson number, and the largest mean for which they do.
_COINS, _COINS_UP_TO = 10**14, 2e5
#: The evaluators are proved and tested up to this many messages.
MOST_MESSAGES = 10**15


class Piece(NamedTuple):
    """A shuffled pair, its number of draws, and the probability of that number."""

    mass: float
    pair: ShuffledPair
    draws: int


#: The members of a family among n users, each a mixture of pieces, for a side and an accuracy.
Make = Callable[[int, Side, float], Sequence[Sequence[Piece]]]


def pieces(pair: ShuffledPair, count: Count, side: Side, tol: float) -> list[Piece]:
    """The pair among ``count`` other messages, as a mixture over fixed numbers of them."""
    count = count.simplified()
    if count.top > MOST_MESSAGES:
        raise ParameterError(
            f"n users may send at most 1e15 messages in all, got {count.top:.3g}; use fewer messages or users."
        )
    if not count.parts:
        return [Piece(1.0, pair, count.fixed + 1)]
    size, chance = count.parts[0]
    if count.fixed == 0 and len(count.parts) == 1 and size != UNLIMITED:
        return [Piece(1.0, pair.thinned(chance), size + 1)]
    if count.fixed == 0 and len(count.parts) == 1 and chance <= _COINS_UP_TO:
        return [poisson_by_coins(pair, chance, side)]
    return [Piece(w, pair, m + 1) for m, w in zip(*(x.tolist() for x in buckets(count, side, tol)), strict=True)]


@charge("a Poisson number of messages as many coins", "mixture.py")
def poisson_by_coins(pair: ShuffledPair, mean: float, side: Side) -> Piece:
    """The pair among a Poisson number of messages: a sum of N independent Poisson(x), x = mean/N, with N huge.

    Each of them is at least a coin of probability 1 - e^-x, which gives the upper bound.  With probability ((1 + x)
    e^-x)^N >= e^(-mean^2/2N) none exceeds 1; each is then a coin of probability x/(1 + x), which gives the lower one.
    """
    x = mean / _COINS
    if side == "upper":
        return Piece(1.0, pair.thinned(-math.expm1(-x)), _COINS + 1)
    return Piece(math.exp(-0.5 * mean * x), pair.thinned(x / (1.0 + x) * (1.0 + 1e-15)), _COINS + 1)


class MixtureCurve(Curve):
    """Rows sum_k mass_k D_E(pair_k, draws_k); the pieces of a row are consecutive, the likeliest first."""

    def __init__(self, curve: PairCurve, log_mass: FloatArray, sizes: IntArray) -> None:
        self._curve, self._log_mass, self._sizes, self.side = curve, log_mass, sizes, curve.side
        self._start = np.cumsum(sizes) - sizes
        self._row = np.repeat(np.arange(sizes.size), sizes)
        mass = np.exp(log_mass)
        self.limit = np.maximum.reduceat(curve.limit, self._start)
        self.floor = np.add.reduceat(mass * curve.floor, self._start) * (1.0 - 1e-12)
        self.spread = np.add.reduceat(mass * curve.spread, self._start)

    @classmethod
    def of(cls, members: Sequence[Sequence[Piece]], side: Side) -> MixtureCurve:
        """One row per member.

        Examples
        --------
        >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
        >>> curve = MixtureCurve.of([[Piece(0.5, coin, 1000), Piece(0.5, coin, 2000)]], "upper")
        >>> curve.at(np.array([0.1]), np.full(1, 1e-3)).log_delta.round(2).tolist()
        [-9.14]
        """
        ordered = [sorted(parts, key=lambda piece: -piece.mass) for parts in members]
        flat = [piece for parts in ordered for piece in parts]
        curve = PairCurve.of([piece.pair for piece in flat], np.array([float(piece.draws) for piece in flat]), side)
        sizes = np.array([len(parts) for parts in ordered], dtype=np.int64)
        return cls(curve, np.log(np.array([piece.mass for piece in flat])), sizes)

    def take(self, rows: IntArray) -> MixtureCurve:
        """Some of the rows."""
        sizes = self._sizes[rows]
        flat, _, _ = ranges(self._start[rows], sizes)
        return MixtureCurve(self._curve.take(flat), self._log_mass[flat], sizes)

    @np.errstate(all="ignore")
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """Bound all pieces crudely, then evaluate those that matter, each as finely as its share of the sum needs."""
        row = self._row
        value, slope, fine = np.full(row.size, -np.inf), np.zeros(row.size), rtol[row]
        crude, live = np.full(row.size, np.inf), np.ones(row.size, dtype=bool)
        if row.size > self._sizes.size:
            crude = self._curve.crude(eps[row])
            share = (crude + self._log_mass - self._total(crude)[row]) + tuning.CRUDE  # log, of the true sum
            live = ~(share < np.log(tuning.LEAST_SHARE * rtol / self._sizes)[row]) | (self._sizes == 1)[row]
            fine = np.clip(fine * np.exp(-share) / self._sizes[row], fine, np.maximum(fine, tuning.GLANCE))
        which = np.flatnonzero(live)
        part = self._curve if which.size == row.size else self._curve.take(which)
        value[which], slope[which] = part.at(eps[row[which]], fine[which])
        if self.side == "upper":  # a count table adds what it leaves out, and a crude value may be better
            value = np.fmin(value, crude)
        log_delta = self._total(value)
        fall = np.add.reduceat(
            np.where(live, np.exp(value + self._log_mass - log_delta[row]) * slope, 0.0), self._start
        )
        several = self._sizes > 1
        if several.any():
            skipped = self._total(np.where(live, -np.inf, crude))
            log_delta = np.where(several, sum_of_pieces(log_delta, skipped, self.side), log_delta)
        return Values(np.where(eps >= self.limit, -np.inf, log_delta), np.where(np.isfinite(fall), fall, 0.0))

    @np.errstate(divide="ignore")  # pieces may all be -inf
    def _total(self, value: FloatArray) -> FloatArray:
        """log of the sum of mass times e^value, by row."""
        value = value + self._log_mass
        top = np.maximum.reduceat(value, self._start)
        top = np.where(np.isfinite(top), top, 0.0)
        return np.asarray(top + np.log(np.add.reduceat(np.exp(value - top[self._row]), self._start)))

    @np.errstate(all="ignore")
    def guess(self, log_delta: FloatArray) -> Guess:
        """Solve for the sum of Gaussian tails, each of which meets delta where its piece alone does, at eps_k.

        The tail of piece k is log delta_k(eps) = log delta - slope_k (eps^2 - eps_k^2)/(2 eps_k).
        """
        alone = self._curve.guess(log_delta[self._row])
        first = Guess(alone.epsilon[self._start], alone.slope[self._start])
        if (self._sizes == 1).all():
            return first
        eps, fall = first
        steep = alone.slope / (2.0 * alone.epsilon)
        for _ in range(6):
            at = eps[self._row]
            value = np.minimum(
                -steep * (at - alone.epsilon) * (at + alone.epsilon), -log_delta[self._row]
            )  # delta <= 1
            excess = self._total(value)
            share = np.exp(value + self._log_mass - excess[self._row])
            fall = np.add.reduceat(share * 2.0 * steep * at, self._start)
            eps = eps + np.clip(excess / fall, -0.5 * eps, eps)
        good = np.isfinite(eps) & (eps > 0.0) & (fall > 0.0)
        return Guess(np.where(good, eps, first.epsilon), np.where(good, fall, first.slope))

    def crude(self, eps: FloatArray) -> FloatArray:
        """The sum of the crude values of all pieces."""
        return self._total(self._curve.crude(eps[self._row])) + 1e-12


@charge("pieces of a mixture that are not evaluated, and rounding of their sum", "mixture.py")
def sum_of_pieces(log_delta: FloatArray, skipped: FloatArray, side: Side) -> FloatArray:
    """log of the sum with its errors.

    Masses and sums carry fewer than 1,000 roundings: 1e-12.  A piece that was skipped adds at most its mass times its
    crude value (``skipped`` is the log of their sum), and at least nothing.
    """
    if side == "lower":
        return np.asarray(log_delta - 1e-12)
    whole = np.asarray(np.logaddexp(log_delta, skipped) + 1e-12)
    return np.where(np.isnan(whole), np.inf, whole)


class MixtureSet(Listed):
    """A family whose members are mixtures; ``make`` gives their pieces for n users, a side and an accuracy."""

    def __init__(self, make: Make) -> None:
        self._make = make

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per member that has pieces (one without any has the lower bound 0)."""
        first, which = numbered([(id(family), users) for family, users in zip(families, n.tolist(), strict=True)])
        made = [[parts for parts in families[i]._make(int(n[i]), side, tol) if parts] for i in first.tolist()]
        sizes = np.array([len(parts) for parts in made], dtype=np.int64)
        member, owner, _ = ranges((np.cumsum(sizes) - sizes)[which], sizes[which])
        return Rows(owner, MixtureCurve.of([parts for some in made for parts in some], side).take(member))


class Among(MixtureSet):
    """Every one of these pairs among ``count(n)`` other messages.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
    >>> family = Among([coin], lambda n: Count(n, ((n, 0.5),)))
    >>> round(family.epsilon(n=1000, delta=1e-6, tol=1e-3, side="upper").epsilon, 2)
    0.2
    """

    def __init__(self, pairs: Sequence[ShuffledPair], count: Callable[[int], Count]) -> None:
        self._members, self._count = list(dict.fromkeys(pairs)), count
        super().__init__(self._pieces)

    def _pieces(self, n: int, side: Side, tol: float) -> list[list[Piece]]:
        return [pieces(pair, self._count(n), side, tol) for pair in self._members]
