"""Random numbers of messages: sums of independent binomials and Poissons, and their laws rounded to buckets.

An upper bound on delta needs a stochastically smaller law, so it rounds numbers down; a lower bound rounds them up.
The tails are kept: they are rounded to the smallest or largest possible number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, gammaincc  # type: ignore[import-untyped]

from .binomial import Window, binomial, ends_of_binomial, ends_of_poisson, poisson
from .ledger import charge
from .pair import FloatArray, IntArray, Side
from .search import smallest_whole

#: The size of a part without a largest value: (UNLIMITED, mean) is a Poisson number.
UNLIMITED = -1
_NO_END = 2**62
_SMALLEST = 2.0**-1022
#: Where there are several parts, those up to this length are built number by number.
_LONGEST = 2**21
#: Cells for the sum of all parts but the longest; cells for all parts if the longest exceeds that length; and the least
#: width of the latter, because rounding a number by a relative r moves eps by about r/2.
_CELLS, _COARSE_CELLS, _FINEST = 6144, 512, 3e-8
#: Buckets on either side of the mean, how far they reach in deviations, and how fast they widen.
_BUCKETS, _REACH, _WIDEN = 48, 12.0, 4.0

#: Probabilities of the low part, as shares of delta, where a random number of messages is cut in two.
_SHARES = (0.3, 0.03, 0.003)

#: (size, chance) of a binomial number, or (UNLIMITED, mean) of a Poisson number.
Part = tuple[int, float]


class Count(NamedTuple):
    """A random number: ``fixed`` plus an independent Bin(size, chance) for every (size, chance) of ``parts``.

    A part (UNLIMITED, mean) is Poisson(mean) instead.

    Examples
    --------
    >>> Count(3, ((10, 0.5), (UNLIMITED, 2.0))).mean
    10.0
    """

    fixed: int
    parts: tuple[Part, ...] = ()

    @property
    def least(self) -> int:
        """The smallest value."""
        return self.fixed

    @property
    def most(self) -> int:
        """The largest value; if there is none, a number above all that occur."""
        sizes = [size for size, _ in self.parts]
        return _NO_END if UNLIMITED in sizes else self.fixed + sum(sizes)

    @property
    def top(self) -> int:
        """The largest value considered: ``most``, or one that is exceeded with probability 1e-30 or less."""
        return self.fixed + sum(_ends(part)[1] - 1 if part[0] == UNLIMITED else part[0] for part in self.parts)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.fixed + sum(chance if size == UNLIMITED else size * chance for size, chance in self.parts)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(sum(c if size == UNLIMITED else size * c * (1.0 - c) for size, c in self.parts))

    def simplified(self) -> Count:
        """The same law: empty parts removed, parts of equal chance joined, parts of chance 1 made fixed."""
        sure = sum(size for size, chance in self.parts if size > 0 and chance >= 1.0)
        sizes: dict[float, int] = {}
        for size, chance in self.parts:
            if size > 0 and 0.0 < chance < 1.0:
                sizes[chance] = sizes.get(chance, 0) + size
        mean = sum(chance for size, chance in self.parts if size == UNLIMITED)
        unlimited = ((UNLIMITED, mean),) if mean > 0.0 else ()
        return Count(self.fixed + sure, (*((size, chance) for chance, size in sizes.items()), *unlimited))

    def thinned(self, chance: float) -> Count:
        """Every unit is kept with this probability, independently."""
        return Count(0, ((self.fixed, chance), *((size, chance * c) for size, c in self.parts))).simplified()


class Distribution:
    """Pr[count <= k], bounded from above (``up``, a law rounded down) or from below (a law rounded up).

    A single part uses its distribution function.  Several use Pr[A + B <= k] = sum_a Pr[A = a] Pr[B <= k - a], where B
    is the part that varies most and A the sum of the others.  If A has too many values, they are rounded to multiples
    of one number; so are those of B if B has too many.  Every term is positive, so the error is relative, even in the
    tails.
    """

    def __init__(self, count: Count, *, up: bool) -> None:
        self._up, self._count = up, count
        *others, self._part = sorted(count.parts, key=_reach) or [(0, 1.0)]
        self._unit = self._stride = 1
        if others:
            if _reach(self._part) <= _LONGEST:
                self._stride = math.ceil(sum(map(_reach, others)) / _CELLS)
            else:
                cells = sum(map(_reach, count.parts)) / _COARSE_CELLS
                self._unit = max(math.ceil(cells), math.ceil(_FINEST * count.mean))
            self._law = _in_cells(self._part, self._unit, up)
            self._total = np.cumsum(self._law.mass)
            self._others = _sum_of([_in_cells(part, self._unit * self._stride, up) for part in others])
        self._alone = not others
        self._left_out = 0.0 if self._alone else self._others.left_out + self._law.left_out
        #: the farthest that rounding moves a value
        self.moved = (len(others) + 1) * (self._unit * self._stride - 1)

    def at(self, k: IntArray) -> FloatArray:
        """The bound at every k; exactly 1 from the largest value on, 0 below the least."""
        return np.where(np.asarray(k) >= self._count.most, 1.0, self.inside(k))

    def inside(self, k: IntArray) -> FloatArray:
        """The same without the tail that is rounded further than :attr:`moved`, so it may never reach 1."""
        k = np.asarray(k, dtype=np.int64)
        flat = k.reshape(-1) - self._count.fixed
        value = (_cdf(*self._part, flat) if self._alone else self._summed(flat)).reshape(k.shape)
        bound = cumulative_error(np.minimum(value, 1.0), self._left_out, up=self._up)
        return np.where(k < self._count.least, 0.0, bound)

    def _summed(self, k: IntArray) -> FloatArray:
        """sum_a Pr[A = a] Pr[B <= k - a] for every k."""
        total, mass, stride = self._total, self._others.mass, self._stride
        top = k // self._unit - self._law.start - stride * self._others.start  # index in ``total`` beside the least A
        out = np.zeros(k.size)
        for i, here in enumerate(top.tolist()):
            # for A below ``full`` every B of the window fits; from ``stop`` on none does
            full = min(max(-(-(here - total.size + 1) // stride), 0), mass.size)
            stop = min(max(here // stride + 1, full), mass.size)
            rest = total[here - (stop - 1) * stride : here - full * stride + 1 : stride] if stop > full else total[:0]
            out[i] = mass[:full].sum() + mass[full:stop] @ rest[::-1]
        return out


@charge("a distribution function", "docs/proofs.md, Lemma 15")
def cumulative_error(value: FloatArray, left_out: float, *, up: bool) -> FloatArray:
    """A bound on Pr[count <= k].

    A binomial or Poisson distribution function is right to a relative 1e-6 (scipy 1.17: to 4e-8 at sizes up to 1e15 and
    to 1e-9 at means up to 1e14), sums of products of masses to far less.  What windows leave out is added to an upper
    value and counts nothing in a lower one.  Values below the smallest normal double have no relative accuracy, or are
    0, so this double is added or subtracted as well.
    """
    if up:
        return np.asarray(np.minimum(value * (1.0 + 1e-6) + (left_out + _SMALLEST), 1.0))
    return np.asarray(np.maximum(value * ((1.0 - 1e-6) * (1.0 - left_out)) - _SMALLEST, 0.0))


@lru_cache(maxsize=256)
def _ends(part: Part) -> tuple[int, int]:
    """The values [start, stop) of a part that are not negligible."""
    size, chance = part
    return ends_of_poisson(chance) if size == UNLIMITED else ends_of_binomial(size, chance, 1.0 - chance)


def _reach(part: Part) -> int:
    """How many values of a part are not negligible."""
    start, stop = _ends(part)
    return stop - start


@lru_cache(maxsize=16)  # the same numbers of messages are asked for by both bounds of an answer
def _window_of(part: Part) -> Window:
    """The law of one part, number by number."""
    size, chance = part
    if size != UNLIMITED and chance == 1.0:  # everybody, for certain
        return Window(size, np.ones(1), 0.0)
    return poisson(chance) if size == UNLIMITED else binomial(size, chance / (1.0 - chance))


def _in_cells(part: Part, width: int, up: bool) -> Window:
    """The law of a part divided by ``width`` and rounded down (``up``) or up."""
    start, stop = _ends(part)
    if stop - start <= _LONGEST:
        law = _window_of(part)
        value = np.arange(law.start, law.start + law.mass.size)
        cell = value // width if up else -(-value // width)
        return Window(int(cell[0]), np.bincount(cell - cell[0], law.mass).astype(np.float64), law.left_out)
    first, last = start // width, -(-stop // width)
    ends = np.arange(first, last + 1, dtype=np.int64) * width
    total = _cdf(*part, ends - 1 if up else ends)
    if up:  # below the window is left out, above it counts as its end
        return Window(first, np.append(np.diff(total), 1.0 - total[-1]), float(total[0]))
    return Window(first, np.diff(total, prepend=0.0), 0.0)  # above the window nothing counts


def _sum_of(laws: Sequence[Window]) -> Window:
    """The law of the sum of independent numbers."""
    start, mass, left_out = 0, np.ones(1), 0.0
    for law in laws:
        start, mass, left_out = start + law.start, np.convolve(mass, law.mass), left_out + law.left_out
    return Window(start, mass, left_out)


def _cdf(size: int, chance: float, k: IntArray) -> FloatArray:
    """Pr[Bin(size, chance) <= k], or of a Poisson number if unlimited, in the form whose argument is not rounded."""
    if size == UNLIMITED:
        value = np.where(k < 0, 0.0, gammaincc(np.maximum(k, 0) + 1.0, chance))
        return np.asarray(np.maximum.accumulate(value))
    inside = np.clip(k, 0, max(size - 1, 0)).astype(np.float64)
    a, b = size - inside, inside + 1.0
    value = betaincc(b, a, chance) if chance < 0.5 else betainc(a, b, 1.0 - chance)
    return np.asarray(np.maximum.accumulate(np.where(k < 0, 0.0, np.where(k >= size, 1.0, value))))


def grid(mean: float, spread: float, least: int, most: int, half: int) -> IntArray:
    """Whole numbers in [least, most], dense at the mean and sparser away from it, up to _REACH deviations."""
    z = np.sinh(np.linspace(-_WIDEN, _WIDEN, 2 * half + 1)) * (_REACH / math.sinh(_WIDEN))
    return np.unique(np.clip(np.rint(mean + spread * z), least, most).astype(np.int64))


def edges(count: Count, tol: float) -> IntArray:
    """Bucket edges from least to top, as close as a relative accuracy ``tol`` of eps needs, up to _BUCKETS a side.

    Rounding M by a relative r moves eps by about r/2.
    """
    step = max(1.2 * tol * count.mean / max(count.deviation, 1e-300), 1e-9)
    half = min(max(math.ceil(_REACH * _WIDEN / (math.sinh(_WIDEN) * step)), 6), _BUCKETS)
    if count.top - count.least <= 2 * half:
        return np.arange(count.least, count.top + 1)
    inner = grid(count.mean, count.deviation, count.least, count.top, half)
    return np.unique(np.concatenate([[count.least], inner, [count.top]]))


@charge("a number of messages that is rounded to an edge", "docs/proofs.md, Lemma 15")
def bucket_masses(distribution: Callable[[IntArray], FloatArray], at: IntArray, side: Side) -> FloatArray:
    """The masses of a law rounded to edges: down for an upper bound (the last edge takes the rest), up for a lower one.

    In an upper bound M in [edge, next edge) counts as edge, in a lower one M in (previous edge, edge].
    """
    total = np.append(distribution(at[1:] - 1), 1.0) if side == "upper" else distribution(at)
    return np.diff(total, prepend=0.0)


def buckets(count: Count, side: Side, tol: float) -> tuple[IntArray, FloatArray]:
    """Numbers and their probabilities: a law that is stochastically smaller (upper) or larger than that of ``count``.

    Examples
    --------
    >>> at, mass = buckets(Count(0, ((2, 0.5),)), "upper", 1e-3)
    >>> at.tolist(), mass.round(3).tolist()
    ([0, 1, 2], [0.25, 0.5, 0.25])
    """
    at = edges(count, tol)
    mass = bucket_masses(Distribution(count, up=side == "upper").at, at, side)
    return at[mass > 0.0], mass[mass > 0.0]


class Cut(NamedTuple):
    """A number k of other messages, and the share of delta that is left if k of them hide the victim."""

    k: int
    delta: float


def cuts(count: Count, delta: float) -> list[Cut]:
    """Numbers at which a random number of other messages may be cut in two, where it cannot be mixed piece by piece.

    delta(M + 1) falls with M, so if it is at most ``cut.delta`` at k + 1 messages, its mean is at most ``delta``.  The
    smallest eps over the cuts counts.

    Examples
    --------
    >>> [(cut.k, round(cut.delta / 1e-6, 3)) for cut in cuts(Count(0, ((10_000, 0.5),)), 1e-6)]
    [(4750, 0.729), (4729, 0.972), (4709, 0.997)]
    """
    law = count.simplified()
    below = Distribution(law, up=True)

    def fewer(k: int) -> float:
        """Pr[M < k], from above."""
        return float(below.at(np.array([k - 1]))[0]) if k > law.least else 0.0

    def largest(share: float) -> int:
        beyond = smallest_whole(
            lambda k: -1.0 if fewer(k) > share else 1.0, low=law.least, high=law.top, start=int(law.mean)
        )
        return law.top if beyond is None else beyond - 1

    return [Cut(k, delta_left(delta, fewer(k))) for k in (largest(share * delta) for share in _SHARES)]


@charge("the share of delta that is spent on a cut", "docs/proofs.md, Lemma 15")
def delta_left(delta: float, mass: float) -> float:
    """The largest delta(k + 1) with delta >= Pr[M < k] + delta(k + 1), where Pr[M < k] is at most ``mass``."""
    return (delta - mass) * (1.0 - 1e-12)
