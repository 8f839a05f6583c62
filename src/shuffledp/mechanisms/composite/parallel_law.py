"""The law of a parallel composition: the disjoint union of the pairs of its queries, scaled by their weights."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.pair import ShuffledPair
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from ..base import Mechanism

_T = TypeVar("_T")
#: Combinations of per-query input pairs that are listed; beyond, queries fall back to their (p, beta, q).
MAX_PAIRS = 1024

#: Combinations of what another user may hold in all queries that are listed for the swap bound.
MOST_TYPES = 1000

#: A query whose answer does not depend on its input.
NOTHING = ShuffledPair(P0=[1.0], P1=[1.0], t=[1.0])
#: A query whose answer reveals its user: that of the weight that the others leave out.
REVEALING = ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[0.0, 0.0])


def tells(mechanism: Mechanism) -> bool:
    """Whether the answer depends on the input at all."""
    return mechanism.local_epsilon > 0.0


def dominating_pairs(mechanism: Mechanism) -> list[ShuffledPair]:
    """Shuffled pairs that dominate every ordered input pair of a query in convex order."""
    if not tells(mechanism):
        return [NOTHING]
    found = mechanism.law.dominating_pairs(MAX_PAIRS)
    return both_unlike(found) if found else [mechanism.variation_ratio().pair()]


def swap_pairs(mechanism: Mechanism) -> Sequence[SwapPair]:
    """The victim pairs of a query, each among every type of another user."""
    if not tells(mechanism):
        return [SwapPair((NOTHING,), 1.0)]
    family = mechanism.law.swap()
    found = family.members(MAX_PAIRS) if isinstance(family, SwapSet) else None
    if not found:
        raise BoundNotApplicableError(
            f"bound 'swap' needs the types of every query, and {mechanism.spec} has too many; use bound='auto'."
        )
    return found


def dataset_pairs(mechanism: Mechanism) -> list[ShuffledPair]:
    """The constant datasets of a query, in both directions."""
    if not tells(mechanism):
        return [NOTHING]
    found = mechanism.law.dataset_pairs(1000) if mechanism.law.lower_scope == Mechanism._lower_scope else None
    if not found:
        raise BoundNotApplicableError(
            f"no dataset of {mechanism.spec} is known as a shuffled pair, so there is no lower bound."
        )
    return both_unlike(found)


def both_unlike(pairs: Sequence[ShuffledPair]) -> list[ShuffledPair]:
    """Both directions, without those that only reorder the symbols of another."""
    return unlike(r for one in pairs for r in (one, one.swapped()))


def unlike(pairs: Iterable[ShuffledPair]) -> list[ShuffledPair]:
    """Without those that only reorder the symbols of another."""
    seen: dict[bytes, ShuffledPair] = {}
    for pair in pairs:
        seen.setdefault(symbols_in_order(pair), pair)
    return list(seen.values())


def symbols_in_order(pair: ShuffledPair) -> bytes:
    """The same for pairs that only differ in the order of their symbols."""
    table = np.column_stack([np.asarray(x) for x in (pair.P0, pair.P1, pair.t)])
    return table[np.lexsort(table.T)].tobytes()


def multisets(options: Iterable[tuple[Sequence[_T], int]]) -> Iterator[list[_T]]:
    """Every choice of ``count`` of some, with repetition and up to their order, from every (some, count) at once.

    Examples
    --------
    >>> list(multisets([("ab", 2), ("c", 1)]))
    [['a', 'a', 'c'], ['a', 'b', 'c'], ['b', 'b', 'c']]
    """
    ways = (itertools.combinations_with_replacement(some, count) for some, count in options)
    return (list(itertools.chain(*way)) for way in itertools.product(*ways))


def union(parts: Sequence[tuple[Fraction, ShuffledPair]]) -> ShuffledPair:
    """The disjoint union of pairs, each scaled by the weight of its query; what the weights leave out is revealing.

    It is a symbol here, because many symbols may round more than a few weights: their sum could hide it.
    """
    rest = 1 - sum((w for w, _ in parts), Fraction(0))
    parts = [*parts, (rest, REVEALING)] if rest > 0 else parts
    laws = [[float(w) * np.asarray(law) for w, law in ((w, getattr(r, key)) for w, r in parts)] for key in _LAW]
    return ShuffledPair(*(np.concatenate(law) for law in laws))


_LAW = ("P0", "P1", "t")
