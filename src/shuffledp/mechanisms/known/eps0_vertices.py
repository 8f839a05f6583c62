"""Everything that the swap bound needs of a mechanism of which only its largest ratios are known.

A symbol has probabilities (P0, P1, R_x) under the victim's two values and under another user's.  If P0/P1 is at most q
and P0/R_x, P1/R_x at most Q, both ways, the triple is a positive combination of the six rays of that cone.  Splitting
a symbol accordingly only helps an adversary, and the bound is convex in the masses on the rays, whose three sums are
1: so the maximum is at a vertex, a law on at most three rays (docs/swap.md, Theorem 3).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...numerics.pair import ShuffledPair
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair

_Ray = tuple[int, int, int]


@lru_cache(maxsize=64)
def worst_laws(own: float, crowd: float) -> tuple[ShuffledPair, ...]:
    """The vertices, for log-ratios up to ``own`` between the victim's values and ``crowd`` between two users.

    Examples
    --------
    >>> sorted(len(pair.t) for pair in worst_laws(1.0, 1.0))
    [2, 2, 2, 3, 3]
    """
    found: dict[frozenset[_Ray], ShuffledPair] = {}
    for rays in itertools.combinations(_rays(own, crowd), 3):
        whole = _determinant(rays)
        if whole == 0:
            continue
        sign = 1 if whole > 0 else -1
        mass = [sign * _determinant([(1, 1, 1) if i == k else ray for i, ray in enumerate(rays)]) for k in range(3)]
        if min(mass) >= 0:  # Cramer's rule, exactly
            live = [(m, ray) for m, ray in zip(mass, rays, strict=True) if m > 0]
            vertex = frozenset(ray for _, ray in live)
            if vertex not in found:  # the masses on these rays are determined by them
                laws = [[float(Fraction(m * ray[i], abs(whole))) for m, ray in live] for i in range(3)]
                found[vertex] = ShuffledPair(*laws)
    return tuple(found.values())


def swap_of(own: float, crowd: float) -> SwapSet:
    """The swap bound of any mechanism with these log-ratios; its common part has at least the mass e^-crowd."""
    return SwapSet([SwapPair(worst_laws(own, crowd), math.exp(-crowd) * (1.0 - 2.0**-50))])


def informative(own: float, crowd: float) -> list[ShuffledPair]:
    """Those vertices that distinguish the victim's values; each is a mechanism and a dataset."""
    return [pair for pair in worst_laws(own, crowd) if not np.array_equal(pair.P0, pair.P1)]


def _rays(own: float, crowd: float) -> list[_Ray]:
    """(P0, P1, t) up to scale: the corners of {P0/t, P1/t in [1/Q, Q], P0/P1 in [1/q, q]}, in whole numbers."""
    (q, of_q), (big, of_big) = (Fraction(math.exp(-x)).as_integer_ratio() for x in (own, crowd))
    # the larger of P0/t, P1/t is Q, or the smaller is 1/Q
    near, far = of_q * of_big, q * of_big
    high: list[_Ray] = [(of_big, of_big, big), (near, far, big * of_q), (far, near, big * of_q)]
    low: list[_Ray] = [(big, big, of_big), (big * q, big * of_q, far), (big * of_q, big * q, far)]
    return high + low


def _determinant(rays: tuple[_Ray, ...] | list[_Ray]) -> int:
    (a, b, c), (d, e, f), (g, h, i) = rays
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
