"""Random numbers of messages: sums of independent binomials and Poissons, and their laws rounded to buckets.

A law rounded down is stochastically smaller, which is what an upper bound on delta needs; rounded up, a lower bound.
The tails are kept: they are rounded to the smallest or largest possible number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, gammaincc  # type: ignore[import-untyped]

from ..evaluators.choose import Side
from ..pair import FloatArray

#: Relative slack of a binomial or Poisson distribution function (scipy 1.17 was right to 4e-8 at sizes up to 1e15
#: and to 1e-9 at means up to 1e14).
CDF_SLACK = 1e-6
#: The size of a part without a largest value: (UNLIMITED, mean) is a Poisson number.
UNLIMITED = -1
_NO_END = 2**62
#: Whole numbers that are convolved one by one; else cells of one binomial, and of a sum of several.
_DENSE, _CELLS, _SUM_CELLS = 16_000, 512, 4096
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
        return self.fixed + sum(_window(*x)[1] if x[0] == UNLIMITED else x[0] for x in self.parts)

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


def _window(size: int, chance: float) -> tuple[int, int]:
    """The values within _REACH deviations of the mean, of a Poisson number a little more above it."""
    mean, variance = _moments(size, chance)
    reach = _REACH * math.sqrt(variance)
    if size == UNLIMITED:  # Chernoff: Pr[> mean + 12 sqrt(mean) + 60] < 1e-30 for every mean
        return max(math.floor(mean - reach), 0), math.ceil(mean + reach) + 60
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
        mean, variance = _moments(size, chance)
        last = _NO_END if size == UNLIMITED else size
        ends = grid(mean, math.sqrt(variance), 0, last - 1, _CELLS // 2)
        more = np.concatenate([[0], ends + 1]) if up else np.concatenate([ends, [last]])
        weight = np.diff(np.concatenate([[0.0], _cdf(size, chance, ends), [1.0]]))
        if size == UNLIMITED and not up:  # values beyond the last end are not counted
            more, weight = more[:-1], weight[:-1]
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
