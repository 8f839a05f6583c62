"""Laplace noise of scale 1 on a line: laws of a slot that cover all pairs that are near and all that the others hold.

Notation of line_pairs.py: grid points 0, ..., M of step h, neighbors at most m steps apart.  Steps 1 to 5 of
numeric/laplace_types.py hold for all whole numbers, wherever the domain ends; for a pair g < k and a type x:

- if x lies between them, the pair is moved apart to (g, g + m): types 0, ..., m of the pair (0, m);
- if x > k and low <= k - g <= top, g is moved to k - top, which raises the law of the slot, and everything is shifted:
  the pair (0, top) and types in (top, M + top - low], as x - g <= M.  Types x < g are the mirror images of these;
- types in a cell of D units are mixtures of those at its ends, present with probability 1/cosh(D/2).

How wide cells and groups of distances are decides only how sharp the bound is: so wide that their spread, the variance
of X at E = 1, stays below that of the pair (0, m) among others who hold M, or exceeds it by ROOM.  The mass of the
common part is that of the types 0, ..., M: e^(-hM/2).
"""

from __future__ import annotations

import math
from functools import partial

from ...errors import BoundNotApplicableError
from ...numerics.pair import ShuffledPair
from ...numerics.rows import pad
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, TypeTable
from ..numeric.laplace_types import cells, log_spread_between, log_spread_far, shares, widest
from .line_pairs import LinePairs

#: By how much the logarithm of a spread may exceed that of the worst pair and type.
_ROOM = 4e-4
#: Beyond this length hardly any user is free; and the most laws that are listed.
_LONGEST, _MOST_SLOTS = 12.0, 600

#: The pair (0, top), the type that the others are, and with what probability they are present.
Slot = tuple[int, int, float]


def swap_set(line: LinePairs) -> SwapSet:
    """The swap bound over all pairs and types; the pair (0, m) among others who hold M should be the worst."""
    length = line.step * line.length
    if length > _LONGEST:
        raise BoundNotApplicableError(
            f"bound 'swap' of metric-laplace needs dmax up to {_LONGEST:g}, got {length:g}: beyond, hardly any user is "
            "free to be exchanged for the victim; use bound='auto'."
        )
    worst = ShuffledPair(*line.among(line.apart, line.length))
    common = math.exp(-0.5 * length) * (1.0 - 2.0**-48)
    return SwapSet([SwapPair((worst, worst.swapped()), common, more=partial(_table, line, slots(line)))])


def _table(line: LinePairs, listed: list[Slot]) -> TypeTable:
    """The laws in both directions."""
    laws = []
    for top, held, share in listed:
        p0, p1, t = line.among(top, held)
        laws += [(p0, p1, share * t), (p1, p0, share * t)]
    return TypeTable(*(pad(list(column)) for column in zip(*laws, strict=True)))


def slots(line: LinePairs) -> list[Slot]:
    """What covers all pairs and types."""
    h, apart, far = line.step, line.apart, line.length
    most = log_spread_far(h * apart, h * far) + _ROOM
    half = cells(0, (apart + 1) // 2, h, lambda x: most - log_spread_between(h * apart, h * x))
    found = [(apart, x, share) for x, share in shares([*half, *(apart - x for x in half)], h)]
    top = apart
    while top > 0:
        ends, width = _group(line, top, most)
        found += [(top, x, share) for x, share in shares(ends, h)]
        if len(found) > _MOST_SLOTS:
            raise BoundNotApplicableError(
                "bound 'swap' of metric-laplace takes too many laws for such distances; use bound='auto'."
            )
        top -= width + 1
    return found


def _group(line: LinePairs, top: int, most: float) -> tuple[list[int], int]:
    """Ends of cells of the types beyond a pair at most ``top`` apart, and how many smaller distances they are for."""
    h, far = line.step, line.length
    width = widest(top, lambda more: log_spread_far(h * top, h * (far + more)), most)
    return cells(far + width, top, h, lambda x: most - log_spread_far(h * top, h * x)), width
