"""How the victim's two sets S0 and S1 and the set S of another user, of s items each, may overlap.

A cell says which of S0, S1 and S are meant: those with index 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from ...errors import BoundNotApplicableError
from ..two_level import CELLS, Cell

#: Up to this size all overlaps are listed, about s^4/10; those that dominate, about s^2.
MOST_HELD, MOST_LISTED = 4, 30

#: Items that all three sets have in common, and those that only S0 and S1, S0 and S, or S1 and S have.
Overlap = tuple[int, int, int, int]
_Number = TypeVar("_Number", int, float, Fraction)

#: For every cell, the cells that have one of its sets; and those that have all of the sets that it leaves out.
_TOUCHING = {cell: [x for x in CELLS if any(i and j for i, j in zip(cell, x, strict=True))] for cell in CELLS}
_WITHOUT = {cell: [x for x in CELLS if all(i or j for i, j in zip(cell, x, strict=True))] for cell in CELLS}


def every(items: int, s: int) -> Iterator[Overlap]:
    """All overlaps of two different sets and a third one, if there are this many items."""
    for three, a, b, c in itertools.product(range(s + 1), repeat=4):
        most = max(three + a + b, three + a + c, three + b + c)
        if three + a < s and most <= s and 3 * s - a - b - c - 2 * three <= items:
            yield three, a, b, c


def by_shared(items: int, s: int) -> list[list[Overlap]]:
    """The same, one list for every number of items that S0 and S1 share: sets with as many are alike.

    Examples
    --------
    >>> [len(thirds) for thirds in by_shared(items=5, s=2)]
    [5, 7]
    """
    found: dict[int, list[Overlap]] = {}
    for overlap in every(items, s):
        found.setdefault(overlap[0] + overlap[1], []).append(overlap)
    return list(found.values())


def dominating(items: int, s: int) -> Iterator[Overlap]:
    """Overlaps that are enough to bound all others, for reports that are likelier if they meet a set.

    Two changes raise a u - b v in convex order for all a, b >= 0, u = P0/t, v = P1/t (docs/proofs.md, Lemma 16):

    - an item of all three sets and one of S alone become one of S0 and S, and one of S1 and S;
    - an item of S0 and S1 that S does not have is replaced, in S1, by one that no set has.

    Both lower the number of items that S0 and S1 share, so that they end: in no item of all three or none of S alone,
    and in no item of S0 and S1 alone unless the three sets are all items.

    Examples
    --------
    >>> sorted(dominating(items=9, s=1))
    [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]
    """
    if s > MOST_LISTED:
        raise BoundNotApplicableError(
            f"bound 'swap' lists how three sets may meet, for sets of at most {MOST_LISTED} items, got {s}; "
            "use bound='auto'."
        )
    for three, own, other in itertools.product(range(s), range(s + 1), range(s + 1)):
        alone = s - three - own - other
        both = max(3 * s - own - other - 2 * three - items, 0)  # items of S0 and S1 that S does not have
        room = s - both - three - max(own, other)
        if alone >= 0 and (three == 0 or alone == 0) and room >= 0 and both + three < s:
            yield three, both, own, other


def parts(overlap: Overlap, s: int) -> dict[Cell, int]:
    """How many items are in exactly the sets of a cell."""
    three, a, b, c = overlap
    alone = {(1, 0, 0): s - three - a - b, (0, 1, 0): s - three - a - c, (0, 0, 1): s - three - b - c}
    return {(1, 1, 1): three, (1, 1, 0): a, (1, 0, 1): b, (0, 1, 1): c, **alone}


def unions(overlap: Overlap, s: int) -> dict[Cell, int]:
    """How many items the sets of a cell have together."""
    sizes = parts(overlap, s)
    return {cell: sum(sizes.get(part, 0) for part in _TOUCHING[cell]) for cell in CELLS}


def met(missed: Mapping[Cell, _Number]) -> dict[Cell, _Number]:
    """The chance to meet exactly the sets of a cell, from that of missing all sets of a cell: inclusion and exclusion.

    Examples
    --------
    >>> sum(met({cell: 2.0 ** -sum(cell) for cell in CELLS}).values())
    1.0
    """
    return {cell: sum((-1) ** (sum(x) + sum(cell) + 1) * missed[x] for x in _WITHOUT[cell]) for cell in CELLS}
