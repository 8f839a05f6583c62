"""The law of a tuple of answers: products of one pair per answer, some of which may not change.

*The swap bound.*  The law of a tuple is the product of the laws of its answers, for the victim and for a user of any
tuple of types, and the product of the common parts is common to all.  A victim changes some answers and keeps the
others.  A kept answer a has P0 = P1 = R_a, which every listed pair that contains a shows beside every type: (P0, P0, t)
and (P1, P1, t).

A type, or a pair of the victim's values, that an answer does not list is a mixture of listed ones or has a listed
spread of (P0/t, P1/t).  M of a product is affine in the law of each answer, and products of spreads are spreads
(numerics/product.py), so what is enough for an answer is enough for the tuple.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import Answer, Asked, Family, PairSet, Smallest
from ...numerics.matrix import blanket_pairs, swap_pairs
from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.product import moments, product_pair, rounding_slack, tells_most, tuples_up_to_order, unchanged
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from ...numerics.symmetry import Alike
from ..base import Mechanism
from ..matrix import MatrixRandomizer
from .parallel_law import (
    NOTHING,
    both_unlike,
    dataset_pairs,
    dominating_pairs,
    multisets,
    symbols_in_order,
    tells,
    unlike,
)

if TYPE_CHECKING:
    from ...numerics.family import Law

#: Combinations of one pair per answer that are listed; beyond, answers fall back to one matrix or to (p, beta, q).
MAX_PAIRS = 512
#: Pairs of one answer that are listed for the swap bound.
_SWAP_PAIRS = 1024
#: Inputs and cells of a product of matrices that is searched as one matrix: over the blanket, and among all types.
_MATRIX_INPUTS, _MATRIX_CELLS, _SWAP_INPUTS = 200, 60_000, 64
#: Tuples of types, over all pairs of the victim's values, that are listed.
MOST_TYPES = 1000
#: Symbols of one of them, beyond which they go to a grid, and of all together.
_SYMBOLS, _ALL_SYMBOLS = 1000, 200_000
#: Products of datasets that are compared in leading order for the lower bound, and those that are evaluated.
_COMBINATIONS, _DATASETS = 4096, 16


class Rounded(Alike):
    """A family of products of ``factors`` laws, whose rounding is added to every upper answer."""

    def __init__(self, family: Family, factors: int) -> None:
        super().__init__(family, room=rounding_slack(factors))

    def laws(self, most: int) -> Sequence[Law] | None:
        """Those of the family: a proof has more room than products of laws need."""
        return self.family.laws(most)


def blanket(answers: Sequence[Mechanism]) -> Rounded:
    """All pairs of tuples of inputs over the product of the blankets (see numerics/product.py)."""
    alike = Counter(answers)  # equal answers are interchangeable: only the multiset of their pairs matters
    listed = {m: _with_unchanged(dominating_pairs(m)) for m in alike}

    def combinations(*of: Mechanism) -> int:
        return tuples_up_to_order([(len(listed[m]), alike[m]) for m in of or alike])

    if combinations() > MAX_PAIRS and (rows := matrix_of(answers)) is not None:
        return Rounded(blanket_pairs(rows), len(answers))
    left = list(alike)
    while combinations() > MAX_PAIRS:
        if not left:
            raise BoundNotApplicableError(
                "answers must have at most 512 combinations of input pairs for bound 'blanket', got more; "
                "use bound='variation-ratio' or fewer different answers."
            )
        left.remove(largest := max(left, key=combinations))
        listed[largest] = _with_unchanged(both_unlike([largest.variation_ratio().pair()]))
    tuples = multisets((listed[m], count) for m, count in alike.items())
    return Rounded(PairSet([product_pair(parts) for parts in tuples]), len(answers))


class Subsets(Smallest):
    """Datasets of some of the answers and of all of them: the leading order does not tell which subset is best."""

    def __init__(self, groups: Sequence[Sequence[ShuffledPair]]) -> None:
        self._members = [pair for group in groups for pair in group]
        super().__init__({str(k): PairSet(group) for k, group in enumerate(groups)})

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """The largest lower bounds, without saying which subset gave them."""
        return [answer._replace(bound="") for answer in super().epsilons(families, asked)]

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members of all groups, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None


def constant_datasets(answers: Sequence[Mechanism]) -> Subsets:
    """Products of the answers' own constant datasets, those that are easiest to distinguish in leading order.

    Leaving out answers is post-processing.  A product of many answers has outcomes so rare that no crowd of some size
    ever sends them, and then fewer answers distinguish better: the first 1, 2, 4, ... by what they tell are tried.
    """
    listed = sorted((dataset_pairs(m) for m in answers), key=lambda pairs: max(map(_score, pairs)), reverse=True)
    sizes = [2**i for i in range(len(listed).bit_length()) if 2**i < len(listed)]
    chosen = [*(_telling(listed[:size], 2) for size in sizes), _telling(listed, _DATASETS)]
    return Subsets([both_unlike([product_pair(choice, side="lower") for choice in group]) for group in chosen])


def _telling(listed: Sequence[Sequence[ShuffledPair]], count: int) -> list[tuple[ShuffledPair, ...]]:
    """The combinations of one dataset per answer that are easiest to distinguish in leading order."""
    keep = max(1, int(_COMBINATIONS ** (1.0 / len(listed)) + 1e-9))
    best = [sorted(pairs, key=_score, reverse=True)[:keep] for pairs in listed]
    return sorted(itertools.product(*best), key=lambda choice: _score(*choice), reverse=True)[:count]


def _score(*pairs: ShuffledPair) -> float:
    """sum (P0 - P1)^2/t of the product."""
    with np.errstate(over="ignore", invalid="ignore"):
        own, cross, other = reduce(np.multiply, (moments(pair) for pair in pairs))
        score = float(own - 2.0 * cross + other)
    return np.inf if np.isnan(score) else score


def _with_unchanged(pairs: Sequence[ShuffledPair]) -> list[ShuffledPair]:
    """These pairs, and the same answer under both hypotheses where a pair does not cover it."""
    same = [r for pair in pairs if not tells_most(pair) for r in unchanged(pair)]
    return both_unlike([*pairs, *same])


def matrix_of(answers: Sequence[Mechanism]) -> FloatArray | None:
    """The matrix of the whole tuple, where all answers have one and it is small."""
    parts = [m._law for m in answers if isinstance(m, MatrixRandomizer)]
    if len(parts) < len(answers):
        return None
    inputs, outputs = np.prod([part.shape for part in parts], axis=0, dtype=np.float64)
    if inputs > _MATRIX_INPUTS or inputs * outputs > _MATRIX_CELLS:
        return None
    return kronecker(parts)


def kronecker(parts: Sequence[FloatArray]) -> FloatArray:
    """The matrix of independent answers: rows are tuples of inputs, columns tuples of outputs, the first varies least.

    Examples
    --------
    >>> kronecker([np.eye(2), np.array([[0.5, 0.5]])]).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    made = parts[0]
    for part in parts[1:]:
        made = np.asarray(np.kron(made, part))
    return made


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
        if rows is None or len(rows) > _SWAP_INPUTS:
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
    found = mechanism.law.swap_members(_SWAP_PAIRS)
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
