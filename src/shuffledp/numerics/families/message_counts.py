"""Random numbers of messages: sums of independent binomials and Poissons, and their laws rounded to buckets.

A law rounded down is stochastically smaller, which is what an upper bound on delta needs; rounded up, a lower bound.
The tails are kept: they are rounded to the smallest or largest possible number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammaincc  # type: ignore[import-untyped]

from ..evaluators.choose import Side
from ..pair import FloatArray
from ..windows import Window, binomial, ends_of_binomial, ends_of_poisson, poisson

#: Relative slack of a binomial or Poisson distribution function (scipy 1.17 was right to 4e-8 at sizes up to 1e15
#: and to 1e-9 at means up to 1e14).
CDF_SLACK = 1e-6
#: The size of a part without a largest value: (UNLIMITED, mean) is a Poisson number.
UNLIMITED = -1
_NO_END = 2**62
#: Parts up to this length are built number by number: alone, and as one of several.
_LONGEST_ALONE, _LONGEST = 2**19, 2**21
#: Cells for the sum of all parts but the longest, cells for all where the longest is longer, and the least width of the
#: latter: rounding a number by a relative r moves eps by about r/2.
_CELLS, _COARSE_CELLS, _FINEST = 6144, 512, 3e-8
#: Buckets on either side of the mean, how far they reach in deviations, and how fast they widen.
_BUCKETS, _REACH, _WIDEN = 48, 12.0, 4.0

Ints = NDArray[np.int64]


class Count(NamedTuple):
    """A random number: ``fixed`` plus an independent Bin(size, chance) for every (size, chance) of ``parts``.

    A part (UNLIMITED, mean) is Poisson(mean) instead.
    """

    fixed: int
    parts: tuple[tuple[int, float], ...] = ()

    @property
    def least(self) -> int:
        """The smallest value."""
        return self.fixed

    @property
    def unlimited(self) -> bool:
        """Whether there is no largest value."""
        return any(size == UNLIMITED for size, _ in self.parts)

    @property
    def most(self) -> int:
        """The largest value (if there is none, a number beyond all that occur)."""
        return _NO_END if self.unlimited else self.fixed + sum(size for size, _ in self.parts)

    @property
    def top(self) -> int:
        """The largest value considered: ``most``, or one that is exceeded with probability 1e-30 or less."""
        return self.fixed + sum(ends_of_poisson(x[1])[1] - 1 if x[0] == UNLIMITED else x[0] for x in self.parts)

    @property
    def mean(self) -> float:
        """The expectation."""
        return self.fixed + sum(_moments(*part)[0] for part in self.parts)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(sum(_moments(*part)[1] for part in self.parts))

    def simplified(self) -> Count:
        """The same law without empty parts, parts of equal chance joined; parts of chance 1 are fixed."""
        sure = sum(size for size, chance in self.parts if size > 0 and chance >= 1.0)
        sizes: dict[float, int] = {}
        for size, chance in self.parts:
            if size > 0 and 0.0 < chance < 1.0:
                sizes[chance] = sizes.get(chance, 0) + size
        mean = sum(chance for size, chance in self.parts if size == UNLIMITED)
        poisson = ((UNLIMITED, mean),) if mean > 0.0 else ()
        return Count(self.fixed + sure, (*((size, chance) for chance, size in sizes.items()), *poisson))

    def thinned(self, chance: float) -> Count:
        """Every unit is kept with this probability, independently."""
        return Count(0, ((self.fixed, chance), *((size, chance * c) for size, c in self.parts))).simplified()


class Distribution:
    """Pr[count <= k], bounded from above (``up``, a law rounded down) or from below (a law rounded up).

    One part: by its distribution function.  Several: Pr[A + B <= k] = sum_a Pr[A = a] Pr[B <= k - a], where B is the
    part that varies most and A the sum of the others, whose values are rounded to multiples of one number where there
    are too many of them (and those of B where even they are).  Every term is positive, so that the error is relative,
    also in the tails.
    """

    def __init__(self, count: Count, *, up: bool) -> None:
        self._up, self._least, self._most, self._fixed = up, count.least, count.most, count.fixed
        *others, last = sorted(count.parts, key=_reach) or [(0, 1.0)]
        self._part, self._parts = last, len(others) + 1
        self._law: Window | None = None
        self._unit = self._stride = 1
        if not others:
            if last[0] and _reach(last) <= _LONGEST_ALONE:
                self._law = _window_of(last)
        elif _reach(last) <= _LONGEST:
            self._law = _window_of(last)
            self._stride = math.ceil(sum(map(_reach, others)) / _CELLS)
        else:
            reach = sum(map(_reach, count.parts))
            self._unit = max(math.ceil(reach / _COARSE_CELLS), math.ceil(_FINEST * count.mean))
            self._law = _in_cells(last, self._unit, up)
        self._total = None if self._law is None else np.cumsum(self._law.mass)
        self._others = _sum_of([_in_cells(part, self._unit * self._stride, up) for part in others])
        self._left_out = self._others.left_out + (0.0 if self._law is None else self._law.left_out)

    @property
    def moved(self) -> int:
        """How far a value is moved by rounding, at most."""
        return self._parts * (self._unit * self._stride - 1)

    def at(self, k: Ints) -> FloatArray:
        """The bound at every k; exactly 1 from the largest value on, 0 below the least."""
        return np.where(np.asarray(k) >= self._most, 1.0, self.inside(k))

    def inside(self, k: Ints) -> FloatArray:
        """The same, but only for values that were moved by at most :attr:`moved`: it may stay below 1 throughout."""
        k = np.asarray(k, dtype=np.int64)
        value = np.minimum(self._summed(k.reshape(-1) - self._fixed).reshape(k.shape), 1.0)
        if self._up:
            value = np.minimum(value * (1.0 + CDF_SLACK) + self._left_out, 1.0)
        else:
            value = value * ((1.0 - CDF_SLACK) * (1.0 - self._left_out))
        return np.where(k < self._least, 0.0, value)

    def _summed(self, k: Ints) -> FloatArray:
        """sum_a Pr[A = a] Pr[B <= k - a] for every k."""
        law, total, mass, stride = self._law, self._total, self._others.mass, self._stride
        if law is None or total is None:
            return _cdf(*self._part, k)
        top = k // self._unit - law.start - stride * self._others.start  # index in ``total`` beside the smallest A
        if mass.size == 1:
            return np.where(top < 0, 0.0, total[np.clip(top, 0, total.size - 1)])
        out = np.zeros(k.size)
        for i, here in enumerate(top.tolist()):
            # A up to ``full`` leave room for every B of the window; from ``stop`` on there is room for none
            full = min(max(-(-(here - total.size + 1) // stride), 0), mass.size)
            stop = min(max(here // stride + 1, full), mass.size)
            rest = total[here - (stop - 1) * stride : here - full * stride + 1 : stride] if stop > full else total[:0]
            out[i] = mass[:full].sum() + mass[full:stop] @ rest[::-1]
        return out


def _reach(part: tuple[int, float]) -> int:
    """How many values of a part are not negligible."""
    size, chance = part
    start, stop = ends_of_poisson(chance) if size == UNLIMITED else ends_of_binomial(size, chance, 1.0 - chance)
    return stop - start


@lru_cache(maxsize=16)  # the same numbers of messages are asked for by both bounds of an answer
def _window_of(part: tuple[int, float]) -> Window:
    """The law of one part, number by number."""
    size, chance = part
    if size != UNLIMITED and chance == 1.0:  # everybody, for certain
        return Window(size, np.ones(1), 0.0)
    return poisson(chance) if size == UNLIMITED else binomial(size, chance / (1.0 - chance))


def _in_cells(part: tuple[int, float], width: int, up: bool) -> Window:
    """The law of a part divided by ``width`` and rounded down (``up``) or up."""
    if _reach(part) <= _LONGEST:
        law = _window_of(part)
        if width == 1:
            return law
        # v in [c width, (c+1) width) counts as c, or v in ((c-1) width, c width] does
        first = law.start // width if up else -(-law.start // width)
        before = law.start - first * width if up else law.start - (first - 1) * width - 1
        padded = np.concatenate([np.zeros(before), law.mass, np.zeros(-(before + law.mass.size) % width)])
        return Window(first, padded.reshape(-1, width).sum(axis=1), law.left_out)
    size, chance = part
    start, stop = ends_of_poisson(chance) if size == UNLIMITED else ends_of_binomial(size, chance, 1.0 - chance)
    first, last = start // width, -(-stop // width)
    ends = np.arange(first, last + 1, dtype=np.int64) * width
    total = _cdf(size, chance, ends - 1 if up else ends)
    if up:  # what is below the window is left out, what is above it counts as its end
        return Window(first, np.append(np.diff(total), 1.0 - total[-1]), float(total[0]))
    return Window(first, np.diff(total, prepend=0.0), 0.0)  # what is above the window does not count


def _sum_of(laws: Sequence[Window]) -> Window:
    """The law of the sum of independent numbers; certainly 0 if there are none."""
    start, mass, left_out = 0, np.ones(1), 0.0
    for law in laws:
        start, mass, left_out = start + law.start, np.convolve(mass, law.mass), left_out + law.left_out
    return Window(start, mass, left_out)


def _moments(size: int, chance: float) -> tuple[float, float]:
    """Mean and variance of a part."""
    if size == UNLIMITED:
        return chance, chance
    return size * chance, size * chance * (1.0 - chance)


def _cdf(size: int, chance: float, k: Ints) -> FloatArray:
    """Pr[Bin(size, chance) <= k] (of a Poisson number if unlimited), in the form whose argument is not rounded."""
    if size == UNLIMITED:
        value = np.where(k < 0, 0.0, gammaincc(np.maximum(k, 0) + 1.0, chance))
        return np.asarray(np.maximum.accumulate(value))
    inside = np.clip(k, 0, size - 1).astype(np.float64)
    a, b = size - inside, inside + 1.0
    value = betaincc(b, a, chance) if chance < 0.5 else betainc(a, b, 1.0 - chance)
    return np.asarray(np.maximum.accumulate(np.where(k < 0, 0.0, np.where(k >= size, 1.0, value))))


def grid(mean: float, spread: float, least: int, most: int, half: int) -> Ints:
    """Whole numbers in [least, most], dense at the mean and ever wider apart up to _REACH deviations."""
    z = np.sinh(np.linspace(-_WIDEN, _WIDEN, 2 * half + 1)) * (_REACH / math.sinh(_WIDEN))
    return np.unique(np.clip(np.rint(mean + spread * z), least, most).astype(np.int64))


class Ranged(Protocol):
    """What :func:`edges` needs to know of a random number (see :class:`Count`)."""

    @property
    def least(self) -> int: ...  # noqa: D102
    @property
    def top(self) -> int: ...  # noqa: D102
    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def deviation(self) -> float: ...  # noqa: D102


def edges(count: Ranged, tol: float) -> Ints:
    """Bucket edges from least to most, near enough for a relative accuracy ``tol`` of eps where _BUCKETS allow.

    Rounding M by a relative r moves eps by about r/2.
    """
    step = max(1.2 * tol * count.mean / max(count.deviation, 1e-300), 1e-9)
    half = min(max(math.ceil(_REACH * _WIDEN / (math.sinh(_WIDEN) * step)), 6), _BUCKETS)
    if count.top - count.least <= 2 * half:
        return np.arange(count.least, count.top + 1)
    inner = grid(count.mean, count.deviation, count.least, count.top, half)
    return np.unique(np.concatenate([[count.least], inner, [count.top]]))


def bucket_masses(distribution: Callable[[Ints], FloatArray], at: Ints, side: Side) -> FloatArray:
    """The masses of a law rounded to edges: down for an upper bound (the last takes the rest), up for a lower one."""
    # upper: M in [edge, next edge) counts as edge; lower: M in (edge before, edge] does
    total = np.append(distribution(at[1:] - 1), 1.0) if side == "upper" else distribution(at)
    return np.diff(total, prepend=0.0)
