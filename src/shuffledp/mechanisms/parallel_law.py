"""The law of a parallel composition: the disjoint union of the rounds of its queries, scaled by their weights."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..core.round import Round
from ..errors import BoundNotApplicableError
from .base import Mechanism
from .finite import FiniteRandomizer

#: Combinations of per-query input pairs that are listed; beyond, queries fall back to their (p, beta, q).
MAX_ROUNDS = 1024

#: A query whose answer does not depend on its input.
NOTHING = Round(P0=[1.0], P1=[1.0], t=[1.0])


def tells(mechanism: Mechanism) -> bool:
    """Whether the answer depends on the input at all."""
    return mechanism.local_epsilon > 0.0


def pair_rounds(mechanism: Mechanism) -> list[Round]:
    """Rounds that dominate every ordered input pair of a query in convex order."""
    if not tells(mechanism):
        return [NOTHING]
    found: Sequence[Round] | None
    if isinstance(mechanism, FiniteRandomizer):
        found = _matrix_pairs(np.unique(np.asarray(mechanism.matrix), axis=0))
    else:
        try:
            found = mechanism.blanket().rounds(MAX_ROUNDS)
        except BoundNotApplicableError:
            found = None
    return both_unlike(found) if found else [mechanism.variation_ratio().round()]


def dataset_rounds(mechanism: Mechanism) -> list[Round]:
    """The constant datasets of a query, in both directions."""
    if not tells(mechanism):
        return [NOTHING]
    found = mechanism.constant_datasets().rounds(1000) if mechanism.lower_scope == Mechanism.lower_scope else None
    if not found:
        raise BoundNotApplicableError(
            f"no dataset of {mechanism.spec} is known as a round, so there is no lower bound."
        )
    return both_unlike(found)


def _matrix_pairs(rows: NDArray[np.float64]) -> list[Round] | None:
    """Every ordered pair of rows over the blanket (pairs that only nearly agree are kept apart), if not too many."""
    if len(rows) * (len(rows) - 1) > MAX_ROUNDS:
        return None
    omega = rows.min(axis=0)
    return [Round(P0=a, P1=b, t=omega) for a, b in itertools.permutations(rows, 2)]


def both_unlike(rounds: Sequence[Round]) -> list[Round]:
    """Both directions, without those that only reorder the symbols of another."""
    seen: dict[bytes, Round] = {}
    for round_ in (r for one in rounds for r in (one, one.swapped())):
        table = np.column_stack([np.asarray(x) for x in (round_.P0, round_.P1, round_.t)])
        seen.setdefault(table[np.lexsort(table.T)].tobytes(), round_)
    return list(seen.values())


def union(parts: Sequence[tuple[Fraction, Round]]) -> Round:
    """The disjoint union of rounds, each scaled by the weight of its query."""
    laws = [[float(w) * np.asarray(law) for w, law in ((w, getattr(r, key)) for w, r in parts)] for key in _LAW]
    return Round(*(np.concatenate(law) for law in laws))


_LAW = ("P0", "P1", "t")
