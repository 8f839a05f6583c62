"""Rounds among a random number of messages: delta = E_M[delta(M)], never delta at the mean of M.

One input-dependent message is hidden by M others, M = fixed + independent binomials.  delta falls with the
number of draws (round.py), so any law that is stochastically smaller than M gives an upper bound and any larger
one a lower bound.  M is rounded to some dozens of bucket edges, downwards or upwards; nothing is cut off, the far
ends are rounded to the smallest or largest number that M can be.

Two cases need no bucket: M fixed, and M ~ Bin(size, chance), which *is* a round of size + 1 draws with t scaled by
``chance`` (a message is sent or there is nothing).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc  # type: ignore[import-untyped]

from ..errors import ParameterError
from .contour import LogBracket
from .evaluate import Divergence, Side, brackets_over_one_blanket, floor
from .family import Answer
from .round import FloatArray, Round
from .solve import guess_epsilon, look, round_limit, solve, zero_suffices

#: Relative slack of a binomial distribution function (scipy 1.17 was right to 4e-8 at sizes up to 1e15).
CDF_SLACK = 1e-6
#: The evaluators are proved and tested up to this many messages.
MOST_MESSAGES = 10**15
#: Whole numbers that are convolved one by one; else cells of one binomial, and of a sum of several.
_DENSE, _CELLS, _SUM_CELLS = 16_000, 512, 4096
#: Buckets on either side of the mean, how far they reach in deviations, and how fast they widen.
_BUCKETS, _REACH, _WIDEN = 48, 12.0, 4.0

#: Curves of a mixture that are looked at before deciding how many of the others matter.
_FIRST_CURVES = 8

Ints = NDArray[np.int64]


class Count(NamedTuple):
    """A random number: ``fixed`` plus an independent Bin(size, chance) for every (size, chance) of ``parts``."""

    fixed: int
    parts: tuple[tuple[int, float], ...] = ()

    @property
    def least(self) -> int:
        """The smallest value."""
        return self.fixed

    @property
    def most(self) -> int:
        """The largest value."""
        return self.fixed + sum(size for size, _ in self.parts)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.fixed + sum(size * chance for size, chance in self.parts)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(sum(size * chance * (1.0 - chance) for size, chance in self.parts))

    def simplified(self) -> Count:
        """The same law without empty parts; parts of chance 1 are fixed."""
        sure = sum(size for size, chance in self.parts if chance >= 1.0)
        return Count(self.fixed + sure, tuple(x for x in self.parts if x[0] > 0 and 0.0 < x[1] < 1.0))

    def thinned(self, chance: float) -> Count:
        """Every unit is kept with this probability, independently."""
        return Count(0, ((self.fixed, chance), *((size, chance * c) for size, c in self.parts))).simplified()


class Piece(NamedTuple):
    """A round among so many draws, with the probability of that number."""

    mass: float
    round: Round
    draws: int


class Distribution:
    """Pr[count <= k], bounded from above (``up``, a law rounded down) or from below (a law rounded up).

    Whole numbers one by one where there are not too many within _REACH deviations, else cells of them.
    """

    def __init__(self, count: Count, *, up: bool) -> None:
        self._up, self._most = up, count.most
        reach = sum(_window(*part)[1] - _window(*part)[0] + 1 for part in count.parts)
        self._values, mass = (_one_by_one if reach <= _DENSE else _in_cells)(count, up)
        self._total = np.concatenate([[0.0], np.cumsum(mass)])

    def at(self, k: Ints) -> FloatArray:
        """The bound at every k; exactly 1 from the largest value on."""
        value = self._total[np.searchsorted(self._values, k, side="right")]
        value = np.minimum(value * (1.0 + CDF_SLACK), 1.0) if self._up else value * (1.0 - CDF_SLACK)
        return np.where(k >= self._most, 1.0, value)


def _cdf(size: int, chance: float, k: Ints) -> FloatArray:
    """Pr[Bin(size, chance) <= k], in the form whose argument is not rounded."""
    inside = np.clip(k, 0, size - 1).astype(np.float64)
    a, b = size - inside, inside + 1.0
    value = betaincc(b, a, chance) if chance < 0.5 else betainc(a, b, 1.0 - chance)
    return np.asarray(np.maximum.accumulate(np.where(k < 0, 0.0, np.where(k >= size, 1.0, value))))


def _window(size: int, chance: float) -> tuple[int, int]:
    """The values within _REACH deviations of the mean."""
    mean, reach = size * chance, _REACH * math.sqrt(size * chance * (1.0 - chance))
    return max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), size)


def _one_by_one(count: Count, up: bool) -> tuple[Ints, FloatArray]:
    """Convolution over the windows; beyond them a part is rounded to a window's end, or the sum to its least."""
    mass, first, below = np.ones(1), count.fixed, 0.0
    for size, chance in count.parts:
        low, high = _window(size, chance)
        total = _cdf(size, chance, np.arange(low - 1, high + 1))
        part = np.diff(total)
        if up:
            part, below = np.append(part, 1.0 - total[-1]), below + float(total[0])
        else:
            part[0] += total[0]
        mass, first = np.convolve(mass, part), first + low
    if up:
        return np.concatenate([[count.least], first + np.arange(mass.size)]), np.concatenate([[below], mass])
    return first + np.arange(mass.size), mass


def _in_cells(count: Count, up: bool) -> tuple[Ints, FloatArray]:
    """Every part is rounded to the low (``up``) or high ends of its cells."""
    values, mass = np.array([count.fixed], dtype=np.int64), np.ones(1)
    for size, chance in count.parts:
        spread = math.sqrt(size * chance * (1.0 - chance))
        ends = grid(size * chance, spread, 0, size - 1, _CELLS // 2)
        more = np.concatenate([[0], ends + 1]) if up else np.concatenate([ends, [size]])
        weight = np.diff(np.concatenate([[0.0], _cdf(size, chance, ends), [1.0]]))
        values, mass = _compress((values[:, None] + more).ravel(), (mass[:, None] * weight).ravel(), up)
    return values, mass


def grid(mean: float, spread: float, least: int, most: int, half: int) -> Ints:
    """Whole numbers in [least, most], dense at the mean and ever wider apart up to _REACH deviations."""
    z = np.sinh(np.linspace(-_WIDEN, _WIDEN, 2 * half + 1)) * (_REACH / math.sinh(_WIDEN))
    return np.unique(np.clip(np.rint(mean + spread * z), least, most).astype(np.int64))


def _compress(values: Ints, mass: FloatArray, up: bool) -> tuple[Ints, FloatArray]:
    """Equal values merged, neighbours rounded together if there are too many."""
    points, label = np.unique(values, return_inverse=True)
    mass = np.bincount(label.reshape(-1), weights=mass, minlength=points.size).astype(np.float64)
    if points.size <= _SUM_CELLS:
        return points, mass
    starts = np.unique(np.linspace(0, points.size, _SUM_CELLS, endpoint=False).astype(np.int64))
    ends = np.append(starts[1:], points.size) - 1
    return points[starts] if up else points[ends], np.add.reduceat(mass, starts)


def edges(count: Count, tol: float) -> Ints:
    """Bucket edges from least to most, near enough for a relative accuracy ``tol`` of eps where _BUCKETS allow.

    Rounding M by a relative r moves eps by about r/2.
    """
    step = max(1.2 * tol * count.mean / max(count.deviation, 1e-300), 1e-9)
    half = min(max(math.ceil(_REACH * _WIDEN / (math.sinh(_WIDEN) * step)), 6), _BUCKETS)
    if count.most - count.least <= 2 * half:
        return np.arange(count.least, count.most + 1)
    inner = grid(count.mean, count.deviation, count.least, count.most, half)
    return np.unique(np.concatenate([[count.least], inner, [count.most]]))


def pieces(round_: Round, count: Count, side: Side, tol: float) -> list[Piece]:
    """The round among ``count`` other messages, as rounds among fixed numbers of them."""
    count = count.simplified()
    if count.most > MOST_MESSAGES:
        raise ParameterError(
            f"n users may send at most 1e15 messages in all, got {count.most:.3g}; take fewer messages or users."
        )
    if not count.parts:
        return [Piece(1.0, round_, count.fixed + 1)]
    if count.fixed == 0 and len(count.parts) == 1:
        size, chance = count.parts[0]
        return [Piece(1.0, Round(P0=round_.P0, P1=round_.P1, t=np.asarray(round_.t) * chance), size + 1)]
    at = edges(count, tol)
    if side == "upper":  # M in [edge, next edge) counts as edge
        total = np.append(Distribution(count, up=True).at(at[1:] - 1), 1.0)
    else:  # M in (edge before, edge] counts as edge
        total = Distribution(count, up=False).at(at)
    mass = np.diff(total, prepend=0.0)
    return [Piece(float(w), round_, int(m) + 1) for w, m in zip(mass, at, strict=True) if w > 0.0]


class Mixture(Divergence):
    """The curve sum_k mass_k D_E(round_k, draws_k), bracketed like a single one."""

    def __init__(self, parts: Sequence[Piece], side: Side) -> None:
        ordered = sorted(parts, key=lambda piece: -piece.mass)
        super().__init__(ordered[0].round, ordered[0].draws, side)  # what a first guess of eps is made from
        self._masses = [piece.mass for piece in ordered]
        self._left = np.cumsum(self._masses[::-1])[::-1] * (1.0 + 1e-12)  # what is still to come, rounded up
        self._curves = [Divergence(piece.round, piece.draws, side) for piece in ordered]
        self._one_blanket = all(np.array_equal(c.atoms.t, self._curves[0].atoms.t) for c in self._curves[1:])
        self.limit = max(round_limit(piece.round) for piece in ordered)
        self.floor = sum(w * floor(c.atoms, c.n) for w, c in zip(self._masses, self._curves, strict=True))

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
    """The largest eps over mixtures; one no worse than the current answer costs one look."""
    best = 0.0
    for parts in members:
        if not parts:  # a lower bound of which nothing is left
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

    def rounds(self, most: int) -> Sequence[Round] | None:
        """None: the members are not rounds among n messages."""
        return None


def among(rounds: Sequence[Round], count: Callable[[int], Count]) -> MixtureSet:
    """Every round among ``count(n)`` other messages.

    Examples
    --------
    >>> coin = Round(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
    >>> family = among([coin], lambda n: Count(n, ((n, 0.5),)))
    >>> round(family.epsilon(n=1000, delta=1e-6, tol=1e-3, side="upper").epsilon, 2)
    0.2
    """
    distinct = list(dict.fromkeys(rounds))
    return MixtureSet(lambda n, side, tol: [pieces(r, count(n), side, tol) for r in distinct])
