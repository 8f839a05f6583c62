"""Sampling RAPPOR: the laws of all that another user may hold, by convolving binomials.

The victim's sets S0 and S1 share as few items as they may.  With m0, m1 and m ones inside S0, S1 and the set S of
another user, and w the probability of the report under plain coins, the three laws are w (1 + k m0)/Z, w (1 + k m1)/Z
and w (1 + k m)/Z: *affine* in the numbers of ones.  So splitting a class of reports over points (m0, m1, m) that have
its mean is sound (docs/swap.md, Theorem 3, step 1), and all that is needed of a class is its mass and that mean.

- Classes are (m0 - m1, m), each with the mean of m1, which is put on the two ends of its range.  X = (P0 - E P1)/t has
  1 - E as factor of m1, so that this costs little.
- If there are too many of them, P0/t - P1/t is split between neighbors on a grid, and P1/t between the ends of its
  range: about h^2/6 of the variance for steps of h deviations.  Then P0/t may be negative, which is of no account:
  only the law of X is used, and it is spread with its mean kept, at every E.

Rounding.  Masses, and sums of m1, are sums of products of positive numbers with at most 4 s + 40 roundings each; the
parts of a class on two ends add up to it, so that they belong to a class whose mass and mean are right to a relative
2^-43 for s <= 64.  t is lowered by 2^-42 and eps by 2^-41 (docs/proofs.md, Lemma 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...numerics.pair import FloatArray, IntArray
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, TypeTable

#: What t is lowered by, relatively, for the rounding of sums, and what eps is lowered by.
_LOWERED = 1.0 - 2.0**-42
SLACK = 2.0**-41
#: Classes of all types together, up to which they are kept.
_MOST_CELLS = 120_000
#: The grid of P0/t - P1/t: steps in deviations up to as many deviations; beyond, they grow by a ratio.
_STEP, _NEAR, _GROWTH = 0.06, 4.5, 1.25


class Held(NamedTuple):
    """Numbers of items by type: of those that another user holds, how many only S0 has, only S1, both, none."""

    own: IntArray
    other: IntArray
    both: IntArray
    outside: IntArray

    @classmethod
    def of(cls, d: int, s: int) -> Held:
        """All types; the first three hold S0, S1, and as many items outside as there are.

        Examples
        --------
        >>> np.stack(Held.of(d=7, s=2)).T.tolist()
        [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 2], [0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]]
        """
        apart = min(s, d - s)
        shared, outside = s - apart, d - s - apart
        own, other = (x.ravel() for x in np.indices((apart + 1, apart + 1)))
        rest = s - own - other
        both = np.clip(rest - outside, 0, shared)
        kept = np.flatnonzero((rest >= both) & (rest - both <= outside))
        order = kept[np.lexsort((own[kept], other[kept], -_leading(own, other, rest)[kept]))]
        return cls(own[order], other[order], both[order], (rest - both)[order])


def _leading(own: IntArray, other: IntArray, rest: IntArray) -> IntArray:
    """3, 2, 1 for those who share most with S0, with S1, and least with both; 0 for all others."""
    lead = np.zeros(own.size, dtype=np.int64)
    for rank, score in enumerate((-own - other, other - own, own - other), start=1):
        lead[np.argmax(score)] = rank
    return lead


class CoinTypes(SwapSet):
    """The swap bound of one pair of sets whose types are a table; a proof lists them all."""

    def laws(self, most: int) -> Sequence[SwapPair] | None:
        """The pair with every type written out, unless these are on a grid."""
        (member,) = self._members
        rest = None if member.more is None else member.more()
        if rest is None or np.any(rest.P0 < 0.0):
            return None
        return [replace(member, types=(*member.types, *map(rest.pair, range(len(rest)))), more=None)]

    def thinned(self, chance: float) -> CoinTypes:
        """Every other user takes part with this probability, independently."""
        return CoinTypes([member.thinned(chance) for member in self._members])


def swap_set(d: int, s: int, odds: tuple[int, int], common_mass: float) -> CoinTypes:
    """The swap bound over all that another user may hold, coins having odds F : G."""
    F, G = odds
    held, k, scale = Held.of(d, s), float(Fraction(G * G - F * F, s * F * F)), float(Fraction(F, G))
    mass, ones = _classes(held, d, s, odds)
    leading = _on_ends(mass[:3], ones[:3], k, scale)
    rest = (_on_ends if 2 * mass.size <= _MOST_CELLS else _on_grid)(mass[3:], ones[3:], k, scale)
    types = tuple(map(leading.pair, range(len(leading))))
    return CoinTypes([SwapPair(types, common_mass, more=lambda: rest, slack=SLACK)])


def _on_ends(mass: FloatArray, ones: FloatArray, k: float, scale: float) -> TypeTable:
    """Classes (m0 - m1, m) with m1 on the two ends of its range; ``ones`` is what it exceeds the lower one by."""
    difference, m, s = *_numbers(mass), mass.shape[2] - 1
    low, wide = np.maximum(0, -difference), s - np.abs(difference)
    upper = np.minimum(ones / np.maximum(wide, 1), mass)
    laws = []
    for which in range(3):
        parts = []
        for part, m1 in ((mass - upper, low), (upper, low + wide)):
            parts.append((part * (scale * (1.0 + k * (m1 + difference, m1, m)[which]))).reshape(len(mass), -1))
        laws.append(np.concatenate(parts, axis=1))
    return TypeTable(laws[0], laws[1], laws[2] * _LOWERED)


def _on_grid(mass: FloatArray, ones: FloatArray, k: float, scale: float) -> TypeTable:
    """P0/t - P1/t on a grid and P1/t on two ends, for all types alike."""
    difference, m = _numbers(mass)
    density, low = 1.0 + k * m, np.maximum(0, -difference)
    gap = (k * difference / density).ravel()
    t = (mass * (scale * density * _LOWERED)).reshape(len(mass), -1)
    p1 = (scale * _LOWERED) * ((1.0 + k * low) * mass + k * ones).reshape(len(mass), -1)
    side = _grid(float(np.max(gap)), math.sqrt(float(np.max(t @ (gap * gap)))))
    # from 0 outwards, so that small values lose no digits
    at = np.minimum(np.searchsorted(side, np.abs(gap), side="right") - 1, side.size - 2)
    far = np.minimum((np.abs(gap) - side[at]) / np.diff(side)[at], 1.0)
    sign, last = np.where(gap < 0.0, -1, 1), side.size - 1
    cell = 2 * sign * at + sign
    order = np.argsort(cell, kind="stable")
    _, start = np.unique(cell[order], return_index=True)
    near, beyond = (last + sign * (at + more) for more in (0, 1))
    least, most = 1.0 / density.max(), density.max()
    upper = np.clip((p1 - least * t) / (most - least), 0.0, t)
    law = np.zeros((2, len(mass), 2 * last + 1))
    for out, part in zip(law, (t - upper, upper), strict=True):
        out[:, near[order][start]] += np.add.reduceat((part * (1.0 - far))[:, order], start, axis=1)
        out[:, beyond[order][start]] += np.add.reduceat((part * far)[:, order], start, axis=1)
    law = np.concatenate(law, axis=1)
    value = np.repeat([least, most], 2 * last + 1)
    grid = np.concatenate([-side[:0:-1], side])
    return TypeTable(law * (np.tile(grid, 2) + value), law * value, law)


def _numbers(mass: FloatArray) -> tuple[IntArray, IntArray]:
    """m0 - m1 and m of every class."""
    apart = mass.shape[1] // 2
    return np.arange(-apart, apart + 1)[:, None], np.arange(mass.shape[2])[None, :]


def _grid(most: float, deviation: float) -> FloatArray:
    """Points from 0 up to the largest value, dense where the mass is."""
    near = _STEP * np.arange(math.ceil(_NEAR / _STEP))
    far = _NEAR + _STEP * np.cumsum(_GROWTH ** np.arange(60.0))
    side = deviation * np.concatenate([near, far])
    return np.append(side[side < most], most)


def _classes(held: Held, d: int, s: int, odds: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """By type, m0 - m1 and m: the mass under plain coins, and the sum of min(m0, m1) over it.

    Where m0 >= m1 that is the sum of m1, elsewhere of m0: that of the type with S0 and S1 exchanged, which is listed.
    """
    coins = _binomials(s, odds)
    apart = min(s, d - s)
    f, shared = odds[0] / sum(odds), s - apart
    number, width = held.own.size, 2 * apart + 1
    own, other = coins[held.own], coins[held.other]
    both = coins[held.both + held.outside]
    # ones of S0 alone less ones of S1 alone, among the items that the other user does not hold; and the latter's sum
    difference, sums = np.zeros((number, width)), np.zeros((number, width))
    for j in range(apart + 1):
        part = coins[apart - held.other, j, None] * coins[apart - held.own][:, : apart + 1]
        difference[:, apart - j : width - j] += part
        sums[:, apart - j : width - j] += j * part
    sums += (f * (shared - held.both))[:, None] * difference
    # those that it holds and S1 alone has
    shape = number, width, s + 1
    mass, ones = np.zeros(shape), np.zeros(shape)
    for j in range(apart + 1):
        mass[:, : width - j, j] = other[:, j, None] * difference[:, j:]
        ones[:, : width - j, j] = other[:, j, None] * (sums + j * difference)[:, j:]
    # those that S0 alone has
    grown, more = np.zeros(shape), np.zeros(shape)
    for j in range(apart + 1):
        for out, before in ((grown, mass), (more, ones)):
            out[:, j:, j:] += own[:, j, None, None] * before[:, : width - j, : s + 1 - j]
    # those that both or none have: of n ones among them, n both/(both + outside) are in S1
    shift = np.arange(s + 1)[None, :] - np.arange(s + 1)[:, None]
    steps = np.where(shift >= 0, both[:, np.maximum(shift, 0)], 0.0)
    in_both = (held.both / np.maximum(held.both + held.outside, 1))[:, None, None] * np.maximum(shift, 0)
    mass, ones = grown @ steps, more @ steps + grown @ (steps * in_both)
    place = {pair: i for i, pair in enumerate(zip(held.own.tolist(), held.other.tolist(), strict=True))}
    mirror = [place[pair] for pair in zip(held.other.tolist(), held.own.tolist(), strict=True)]
    ones[:, :apart] = ones[mirror, :apart:-1]
    return mass, ones


def _binomials(s: int, odds: tuple[int, int]) -> FloatArray:
    """Bin(n, f) at j, for n and j up to s, each correctly rounded."""
    F, G = odds
    table = np.zeros((s + 1, s + 1))
    for n in range(s + 1):
        whole = (F + G) ** n
        table[n, : n + 1] = [math.comb(n, j) * F**j * G ** (n - j) / whole for j in range(n + 1)]
    return table
