"""The law of a tuple of answers: products of one pair per answer, some of which may not change."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import Best, Family, PairSet
from ...numerics.matrix import blanket_pairs
from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.product import moments, product_pair, rounding_slack, tells_most, tuples_up_to_order, unchanged
from ...numerics.symmetry import Alike
from ..base import Mechanism
from ..matrix import MatrixRandomizer
from .parallel_law import both_unlike, dataset_pairs, dominating_pairs, multisets

if TYPE_CHECKING:
    from ...numerics.family import Law

#: Combinations of one pair per answer that are listed; beyond, answers fall back to one matrix or to (p, beta, q).
MAX_PAIRS = 512
#: Inputs and cells of a product of matrices that is searched as one matrix.
_MATRIX_INPUTS, _MATRIX_CELLS = 200, 60_000
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


class Subsets(Best):
    """Datasets of some of the answers and of all of them: the leading order does not tell which subset is best."""

    def __init__(self, groups: Sequence[Sequence[ShuffledPair]]) -> None:
        self._members = [pair for group in groups for pair in group]
        super().__init__(*map(PairSet, groups))

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
