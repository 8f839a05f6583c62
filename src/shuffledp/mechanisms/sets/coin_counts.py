"""Numbers of ones among independent coins of odds F : G, exactly or on a grid: the law behind sampling RAPPOR."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...numerics.pair import ShuffledPair

#: Sums of probabilities are exact up to this many terms; beyond, the Cauchy-Schwarz bound is used.
_MAX_TERMS = 100_000
#: Grid of the grouped laws, in standard deviations from the mean: fine where the mass is.
_GRID = [0.25 * i for i in range(11)] + [3.0, 3.5, 4.25, 5.0, 6.0, 8.0]

Key = tuple[int, int, int]
Classes = dict[Key, int]
#: Mass, and mass times likelihood.
Piece = tuple[float, float]


@lru_cache(maxsize=64)
def meetings(k: int, f: float) -> float:
    """sum_{i<k} Pr[N_i = N'_i] for N_i, N'_i ~ Bin(i, f), rounded up; (i+1) u_{i+1} = (2i+1) A u_i - i B u_{i-1}."""
    g = f * (1.0 - f)
    if k > _MAX_TERMS:  # E|N-N'| <= sqrt(2 k g)
        return min(float(k), math.sqrt(k / (2.0 * g)) * (1.0 + 1e-12))
    A, B = 1.0 - 2.0 * g, (1.0 - 2.0 * f) ** 2
    last, now, total = 0.0, 1.0, 0.0
    for i in range(k):
        total += now
        last, now = now, ((2 * i + 1) * A * now - i * B * last) / (i + 1)
    return min(float(k), total * (1.0 + k * 2.0**-51))


def count(groups: Iterable[tuple[Key, int]], F: int, G: int) -> Classes:
    """Coins with odds F : G in groups; a one adds the vector of its group: the weight of every total."""
    classes: Classes = {(0, 0, 0): 1}
    for step, size in groups:
        weight = [math.comb(size, i) * F**i * G ** (size - i) for i in range(size + 1)]
        grown: Classes = {}
        for key, known in classes.items():
            for i, w in enumerate(weight):
                at = (key[0] + i * step[0], key[1] + i * step[1], key[2] + i * step[2])
                grown[at] = grown.get(at, 0) + known * w
        classes = grown
    return classes


def times(count: int, factor: Fraction) -> float:
    """Correctly rounded, whatever the size of the integers."""
    return count * factor.numerator / factor.denominator


def product(ones: list[Piece], blanket: Callable[[Piece, Piece], float]) -> ShuffledPair:
    """Numbers of ones in S0 and in S1 are independent under plain coins; t as a function of the two."""
    rows = [(x[1] * y[0], x[0] * y[1], blanket(x, y)) for x, y in itertools.product(ones, ones)]
    return ShuffledPair(*zip(*rows, strict=True))


def merged(pair: ShuffledPair, classes: Classes) -> ShuffledPair:
    """Classes with equal (ones in S0 - ones in S1, ones in S*) as one: (R0 - R1)/R* is the same in all of them."""
    _, label = np.unique([(i - j, m) for i, j, m in classes], axis=0, return_inverse=True)
    laws = (np.bincount(label.reshape(-1), weights=np.asarray(x)) for x in (pair.P0, pair.P1, pair.t))
    return ShuffledPair(*laws)


def _binomial(size: int, F: int, G: int) -> list[Fraction]:
    return [Fraction(math.comb(size, i) * F**i * G ** (size - i), (F + G) ** size) for i in range(size + 1)]


def _grid(size: int, f: float) -> list[int]:
    """Every number of ones up to 30 coins, else some: 0, all, and more of them near the mean."""
    if size <= 30:
        return list(range(size + 1))
    points = [size * f + sign * z * math.sqrt(size * f * (1.0 - f)) for z in _GRID for sign in (1, -1)]
    return sorted({0, size} | {round(x) for x in points if 0 < x < size})


def spread_ones(size: int, F: int, G: int, likelihood: Callable[[int], Fraction]) -> list[Piece]:
    """Each number of ones moved to its two neighbors on the grid, keeping mass and mean."""
    grid = _grid(size, F / (F + G))
    mass = dict.fromkeys(grid, Fraction(0))
    for ones, chance in enumerate(_binomial(size, F, G)):
        at = bisect.bisect_left(grid, ones)
        low, high = grid[max(at - 1, 0)], grid[at]
        share = Fraction(ones - low, high - low) if high > low else Fraction(1)
        mass[low] += chance * (1 - share)
        mass[high] += chance * share
    return [(float(m), float(m * likelihood(ones))) for ones, m in mass.items()]


def merged_ones(size: int, F: int, G: int, likelihood: Callable[[int], Fraction]) -> list[Piece]:
    """Each number of ones counted with the grid point at or above it."""
    grid = _grid(size, F / (F + G))
    sums = [[Fraction(0), Fraction(0)] for _ in grid]
    for ones, chance in enumerate(_binomial(size, F, G)):
        at = bisect.bisect_left(grid, ones)
        sums[at][0] += chance
        sums[at][1] += chance * likelihood(ones)
    return [(float(plain), float(tilted)) for plain, tilted in sums]
