"""One victim among users with other budgets, who hide it with their whole laws: the swap bound over classes."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.parallel_law import unlike
from ..numerics.pair import ShuffledPair, mass_slack
from ..numerics.product import product_pair, rounding_slack
from ..numerics.swap.family import Class, ClassSet, Mixed
from ..numerics.swap.pair import SwapPair
from .crowd import Crowd
from .mixed_blankets import Candidate, lists_its_law, matrix_of, reports_of

#: Cells of the laws of all classes, and ordered pairs of the victim's inputs.
_MOST_CELLS, _MOST_PAIRS = 20_000, 30


def swap_candidates(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd) -> list[Candidate]:
    """The swap bound among the victim's own class and among all classes, where they apply.

    What other classes send may be told to the adversary, so the own class may be taken alone.
    """
    found = []
    users = sizes[victim] - (crowd.n - crowd.honest)  # in the worst case all that are missing are of this class
    with contextlib.suppress(BoundNotApplicableError):
        if users >= 1:
            found.append(Candidate("swap", victim.law.swap().thinned(crowd.participation), users))
    with contextlib.suppress(BoundNotApplicableError):
        if len(sizes) > 1 and (classes := _all_classes(victim, sizes, crowd)):
            found.append(Candidate("swap", classes, crowd.n, rounding_slack(1)))
    return found


def _all_classes(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd) -> ClassSet | None:
    """Where the laws are small and nobody is missing: a missing user could be of any class, which is not covered."""
    if crowd.honest < crowd.n or crowd.participation < 1.0 or crowd.n < 2:
        return None
    if not all(lists_its_law(m) for m in sizes) or len({reports_of(m) for m in sizes}) > 1:
        return None
    matrices = {m: matrix_of(m) for m in sizes}
    own = matrices[victim]
    pairs = [(0, 1)] if all(m.law.inputs_alike for m in sizes) else list(itertools.permutations(range(len(own)), 2))
    if len(pairs) > _MOST_PAIRS or sum(map(np.size, matrices.values())) > _MOST_CELLS:
        return None
    every = np.concatenate(list(matrices.values()))
    common = float(every.min(axis=0).sum()) * (1.0 - mass_slack(every.shape[1]))
    members = []
    for a, b in pairs:
        classes = []
        for m, rows in matrices.items():
            types = unlike(product_pair([ShuffledPair(P0=own[a], P1=own[b], t=row)]) for row in rows)
            share = (sizes[m] - (m == victim)) / (crowd.n - 1)
            classes.append(Class(share, SwapPair(tuple(types), common)))
        members.append(Mixed(tuple(classes), common))
    return ClassSet(members)
