"""Numbers of ones among independent coins of odds F : G, exactly or on a grid: the law behind sampling RAPPOR.

*All that another user may hold* (:func:`swap_set`), by convolving binomials.  The victim's sets S0 and S1 share as few
items as they may (docs/proofs.md, Lemma 17).  With m0, m1 and m ones inside S0, S1 and the set S of another user, and w
the probability of the report under plain coins, the three laws are w (1 + k m0)/Z, w (1 + k m1)/Z and w (1 + k m)/Z:
*affine* in the numbers of ones.  So a class (m0, m1, m) of reports may be split over points that have it as their mean
(docs/swap.md, Theorem 3, step 1).

m0 - m1 and m are kept.  The ones that both sets have at least, min(m0, m1), are put on a few knots: X = (P0 - E P1)/t
has 1 - E as a factor of them, so that this costs little.  S0 and S1 exchanged turn the type that has i items of S0 and
j of S1 into that with j and i, so that half of the types are computed.

Rounding.  A mass is a sum of products of positive numbers, with at most 4 s + 40 roundings; its parts on two knots are
rounded once more each.  So all entries of the three laws are right to a relative 2^-43 for s <= 64: t is lowered by
2^-42 and eps by 2^-41 (docs/proofs.md, Lemma 5).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...numerics.pair import FloatArray, IntArray, ShuffledPair
from ...numerics.rows import chunks
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, TypeTable

#: Sums of probabilities are exact up to this many terms; beyond, the Cauchy-Schwarz bound is used.
_MAX_TERMS = 100_000
#: Grid of the grouped laws, in standard deviations from the mean: fine where the mass is.
_GRID = [0.25 * i for i in range(11)] + [3.0, 3.5, 4.25, 5.0, 6.0, 8.0]
#: What t is lowered by, relatively, for the rounding of sums, and what eps is lowered by.
_LOWERED = 1.0 - 2.0**-42
SLACK = 2.0**-41
#: Doubles that are formed at once.
_SCRATCH = 2e6
#: Symbols of all types together, up to which they are proved.
_MOST_PROVED = 30_000
#: Inner knots lie the first number of deviations from the mean, for differences of at most the second number.
_INNER, _NEAR = 1.5, 1.6

Key = tuple[int, int, int]
Classes = dict[Key, int]


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


def binomials(size: int, F: int, G: int) -> list[int]:
    """The weights of 0, ..., size ones among coins with odds F : G."""
    return [math.comb(size, i) * F**i * G ** (size - i) for i in range(size + 1)]


def count(groups: Iterable[tuple[Key, int]], F: int, G: int) -> Classes:
    """Coins with odds F : G in groups; a one adds the vector of its group: the weight of every total."""
    classes: Classes = {(0, 0, 0): 1}
    for step, size in groups:
        weight = binomials(size, F, G)
        grown: Classes = {}
        for key, known in classes.items():
            for i, w in enumerate(weight):
                at = (key[0] + i * step[0], key[1] + i * step[1], key[2] + i * step[2])
                grown[at] = grown.get(at, 0) + known * w
        classes = grown
    return classes


def merged(pair: ShuffledPair, classes: Classes) -> ShuffledPair:
    """Classes with equal (ones in S0 - ones in S1, ones in S*) as one: (R0 - R1)/R* is the same in all of them."""
    _, label = np.unique([(i - j, m) for i, j, m in classes], axis=0, return_inverse=True)
    laws = (np.bincount(label.reshape(-1), weights=np.asarray(x)) for x in (pair.P0, pair.P1, pair.t))
    return ShuffledPair(*laws)


def _grid(size: int, f: float) -> list[int]:
    """Every number of ones up to 30 coins, else some: 0, all, and more of them near the mean."""
    if size <= 30:
        return list(range(size + 1))
    points = [size * f + sign * z * math.sqrt(size * f * (1.0 - f)) for z in _GRID for sign in (1, -1)]
    return sorted({0, size} | {round(x) for x in points if 0 < x < size})


def grouped_ones(
    size: int, F: int, G: int, likelihood: Callable[[int], Fraction], *, spread: bool
) -> tuple[FloatArray, FloatArray]:
    """Numbers of ones on the grid: mass, and mass times likelihood.

    Each number is moved to its two neighbors on the grid, keeping mass and mean, or counted with the one at or above.
    """
    grid = _grid(size, F / (F + G))
    sums = [[Fraction(0), Fraction(0)] for _ in grid]
    for ones, weight in enumerate(binomials(size, F, G)):
        chance, at = Fraction(weight, (F + G) ** size), bisect.bisect_left(grid, ones)
        back = Fraction(grid[at] - ones, grid[at] - grid[at - 1]) if spread and at else Fraction(0)
        for place, mass in ((at, chance * (1 - back)), (at - 1, chance * back)):
            sums[place][0] += mass
            sums[place][1] += mass * likelihood(grid[place] if spread else ones)
    plain, tilted = np.array(sums, dtype=np.float64).T
    return plain, tilted


class Held(NamedTuple):
    """By type, how many items another user holds that only S0 has, only S1, both, or none; and how to exchange them."""

    own: IntArray
    other: IntArray
    both: IntArray
    outside: IntArray
    mirror: IntArray  # the type with S0 and S1 exchanged

    @classmethod
    def of(cls, d: int, s: int) -> Held:
        """All types; the first three hold S0, S1, and as little as possible of either.

        Examples
        --------
        >>> np.stack(Held.of(d=7, s=2)[:4]).T.tolist()
        [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 2], [1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
        """
        apart = min(s, d - s)
        shared, outside = s - apart, d - s - apart  # one of them is 0
        own, other = (x.ravel() for x in np.indices((apart + 1, apart + 1)))
        rest = s - own - other
        kept = np.flatnonzero((rest >= 0) & (rest <= shared + outside))
        first = [kept[np.argmax(score[kept])] for score in (own - other, other - own, rest)]
        order = np.array([*dict.fromkeys(first), *(i for i in kept[::-1].tolist() if i not in first)])
        place = np.zeros(own.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        own, other, rest = own[order], other[order], rest[order]
        both = rest if shared else np.zeros_like(rest)
        return cls(own, other, both, rest - both, place[other * (apart + 1) + own])


class CoinTypes(SwapSet):
    """The swap bound of one pair of sets whose types are a table; a proof lists them all."""

    def laws(self, most: int) -> Sequence[SwapPair] | None:
        """The pair with every type written out, unless they have very many symbols."""
        listed = []
        for member in self._members:
            table = TypeTable.of(()) if member.more is None else member.more()
            if table.t.size > _MOST_PROVED:
                return None
            rest = map(table.pair, range(len(table)))
            listed.append(replace(member, types=(*member.types, *rest), more=None))
        return listed


def swap_set(d: int, s: int, odds: tuple[int, int], common_mass: float) -> CoinTypes:
    """The swap bound over all that another user may hold, coins having odds F : G.

    Examples
    --------
    >>> members = swap_set(d=20, s=5, odds=(1, 2), common_mass=0.5).laws(1)
    >>> len(members[0].types)  # (s+1)(s+2)/2
    21
    """
    F, G = odds
    k, scale = float(Fraction(G * G - F * F, s * F * F)), float(Fraction(F, G))
    difference, low = _knots(min(s, d - s), s, F / (F + G))
    mass = _classes(Held.of(d, s), d, s, odds, difference, low)
    ones = [(low + np.maximum(sign * difference, 0))[:, None] for sign in (1, -1)]
    laws = [
        (mass * (scale * (1.0 + k * number))).reshape(len(mass), -1) for number in (*ones, np.arange(s + 1)[None, :])
    ]
    table = TypeTable(laws[0], laws[1], laws[2] * _LOWERED)
    rest = TypeTable(table.P0[3:], table.P1[3:], table.t[3:])
    return CoinTypes([SwapPair(tuple(map(table.pair, range(3))), common_mass, more=lambda: rest, slack=SLACK)])


def _knots(apart: int, s: int, f: float) -> tuple[IntArray, IntArray]:
    """Where classes are put: m0 - m1 and min(m0, m1), in rising order; all of the latter, or both ends and two more."""
    difference, low = [], []
    deviation = math.sqrt(f * (1.0 - f) * s)
    for gap in range(-apart, apart + 1):
        most = s - abs(gap)
        mean = s * f - 0.5 * abs(gap)
        near = [round(mean + sign * _INNER * math.sqrt(0.5) * deviation) for sign in (-1, 1)]
        inner = [x for x in near if 0 < x < most] if abs(gap) <= _NEAR * math.sqrt(2.0) * deviation else []
        points = sorted({0, most, *inner})
        difference += [gap] * len(points)
        low += points
    return np.array(difference), np.array(low)


def _classes(held: Held, d: int, s: int, odds: tuple[int, int], difference: IntArray, low: IntArray) -> FloatArray:
    """The mass under plain coins by type, knot and m."""
    out = np.zeros((held.own.size, low.size, s + 1))
    half = np.flatnonzero(held.own >= held.other)
    for part in chunks(np.full(half.size, float(s + 1) ** 3), _SCRATCH):
        some = Held(*(x[half[part]] for x in held))
        found = out[half[part]]
        _spread(_ones(some, d, s, odds), difference, low, found)
        out[half[part]] = found
    exchanged = np.lexsort((low, -difference))  # knots with the difference reversed
    later = np.flatnonzero(held.own < held.other)
    out[later] = out[held.mirror[later]][:, exchanged]
    return out


def _ones(held: Held, d: int, s: int, odds: tuple[int, int]) -> FloatArray:
    """The mass under plain coins by type, m0, m1 and m."""
    coins, apart, n = _binomials(s, odds), min(s, d - s), held.own.size
    after = np.arange(s + 1)[None, :] - np.arange(s + 1)[:, None]
    later = np.where(after >= 0, after, s + 1)  # the last column is 0

    def of_a_set(mine: IntArray) -> FloatArray:
        """By type, ones among items that the other user holds too, and all ones."""
        return coins[mine][:, : s + 1, None] * coins[apart - mine][:, later]

    second = of_a_set(held.other).transpose(0, 2, 1) @ coins[held.outside][:, later]  # m1, ones of S but for S0
    second = np.concatenate([second, np.zeros((n, s + 1, 1))], axis=2)[:, :, later].transpose(0, 2, 1, 3)
    mass = of_a_set(held.own).transpose(0, 2, 1) @ second.reshape(n, s + 1, -1)
    mass = mass.reshape(n, s + 1, s + 1, s + 1)
    for number, seen in ((held.both, 1), (s - apart - held.both, 0)):  # items that S0 and S1 share
        if number.any():
            grown = np.zeros_like(mass)
            for j in range(int(number.max()) + 1):
                into = grown[:, j:, j:, seen * j :]
                into += coins[number, j, None, None, None] * mass[:, : s + 1 - j, : s + 1 - j, : s + 1 - seen * j]
            mass = grown
    return mass


def _spread(mass: FloatArray, difference: IntArray, low: IntArray, out: FloatArray) -> None:
    """Each class on the two knots beside it, keeping the mean."""
    s = mass.shape[3] - 1
    apart = int(difference[-1])
    for least in range(s + 1):  # min(m0, m1)
        gap = np.arange(-min(apart, s - least), min(apart, s - least) + 1)
        m0, m1 = least + np.maximum(gap, 0), least + np.maximum(-gap, 0)
        right = np.searchsorted(difference * (s + 2) + low, gap * (s + 2) + least)
        left = np.where(low[right] == least, right, right - 1)
        wide = np.maximum(low[right] - low[left], 1)
        part = mass[:, m0, m1]
        out[:, right] += part * np.where(left == right, 1.0, (least - low[left]) / wide)[:, None]
        out[:, left] += part * ((low[right] - least) / wide)[:, None]


def _binomials(s: int, odds: tuple[int, int]) -> FloatArray:
    """Bin(n, f) at j, for n and j up to s, each correctly rounded; one more column of zeros."""
    F, G = odds
    table = np.zeros((s + 1, s + 2))
    for n in range(s + 1):
        table[n, : n + 1] = [weight / (F + G) ** n for weight in binomials(n, F, G)]
    return table
