"""A tuple of answers by the swap bound: what another user may hold is a tuple of types.

The law of a tuple is the product of the laws of its answers, for the victim and for a user of any tuple of types, and
the product of the common parts is common to all.  A victim changes some answers and keeps the others.  A kept answer a
has P0 = P1 = R_a, which every listed pair that contains a shows beside every type: (P0, P0, t) and (P1, P1, t).

A type, or a pair of the victim's values, that an answer does not list is a mixture of listed ones or has a listed
spread of (P0/t, P1/t).  M of a product is affine in the law of each answer, and products of spreads are spreads
(numerics/product.py), so what is enough for an answer is enough for the tuple.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import PairSet
from ...numerics.matrix import swap_pairs
from ...numerics.pair import ShuffledPair
from ...numerics.product import product_pair, tuples_up_to_order, unchanged
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from ..base import Mechanism
from .joint_law import Rounded, matrix_of
from .parallel_law import MAX_PAIRS, NOTHING, multisets, symbols_in_order, tells, unlike

#: Tuples of types, over all pairs of the victim's values, that are listed.
MOST_TYPES = 1000
#: Symbols of one of them, beyond which they go to a grid, and of all together.
_SYMBOLS, _ALL_SYMBOLS = 1000, 200_000
#: Inputs of a tuple that is searched as one matrix.
_MATRIX_INPUTS = 64


def swap(answers: Sequence[Mechanism]) -> Rounded:
    """All pairs of tuples of the victim's inputs among others of every tuple of types."""
    alike = Counter(answers)  # equal answers are interchangeable: only the multiset of what happens to them matters
    try:
        listed = {m: _choices(m) for m in alike}
        if _size(listed, alike) > MOST_TYPES:
            raise BoundNotApplicableError(
                f"bound 'swap' lists at most {MOST_TYPES:,} combinations of what the victim and another user may "
                "answer, got more; use bound='auto' or fewer different answers."
            )
    except BoundNotApplicableError:
        rows = matrix_of(answers)
        if rows is None or len(rows) > _MATRIX_INPUTS:
            raise
        return Rounded(swap_pairs(rows), len(answers))
    members: list[SwapPair] = []
    symbols = 0
    for parts in multisets((listed[m], count) for m, count in alike.items()):
        if all(pair.max_ratio <= 1.0 for part in parts for pair in part.types):
            continue  # nothing changes
        mass = math.prod(part.common_mass for part in parts) * (1.0 - len(parts) * 2.0**-48)
        types = unlike(product_pair(some, most=_SYMBOLS) for some in _tuples(parts))
        symbols += sum(np.size(pair.t) for pair in types)
        if symbols > _ALL_SYMBOLS:
            raise BoundNotApplicableError(
                f"bound 'swap' of a tuple lists at most {_ALL_SYMBOLS:,} symbols, got more; use bound='auto'."
            )
        members.append(SwapPair(tuple(types), mass))
    return Rounded(SwapSet(members) if members else PairSet([]), len(answers))


def _choices(mechanism: Mechanism) -> list[SwapPair]:
    """What may happen to an answer: a pair of different inputs, or the same input twice; each among all types."""
    if not tells(mechanism):
        return [SwapPair((NOTHING,), 1.0)]
    found = mechanism.law.swap_members(MAX_PAIRS)
    if not found:
        raise BoundNotApplicableError(
            f"bound 'swap' of a tuple needs the types of every answer, and {mechanism.spec} does not list them; "
            "use bound='auto'."
        )
    seen: dict[frozenset[bytes], SwapPair] = {}
    for member in found:
        kept = zip(*(unchanged(pair) for pair in member.types), strict=True)
        for types in (member.types, *kept):
            few = unlike(product_pair([pair], most=_SYMBOLS) for pair in types)
            seen.setdefault(frozenset(map(symbols_in_order, few)), SwapPair(tuple(few), member.common_mass))
    return list(seen.values())


def _tuples(parts: Sequence[SwapPair]) -> Iterator[list[ShuffledPair]]:
    """One type per answer; answers to which the same happens are interchangeable."""
    counts = Counter(map(id, parts))
    distinct = {id(part): part for part in parts}
    return multisets((distinct[key].types, count) for key, count in counts.items())


def _size(listed: dict[Mechanism, list[SwapPair]], alike: Counter[Mechanism]) -> int:
    """How many tuples of (what happens, type) there are up to the order of equal answers."""
    return tuples_up_to_order([(sum(len(p.types) for p in listed[m]), count) for m, count in alike.items()])
