"""One victim among users with other budgets, who hide it with their whole laws: the swap bound over classes."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.parallel_law import unlike
from ..numerics.pair import (
    ShuffledPair,
    mass_slack,
)
from ..numerics.product import product_pair, rounding_slack
from ..numerics.swap.family import Class, ClassSet, Mixed
from ..numerics.swap.pair import SwapPair
from .crowd import Crowd
from .mixed_blankets import lists_its_law, matrix_of, reports_of

#: Cells of the laws of all classes, and ordered pairs of the victim's inputs.
_MOST_CELLS, _MOST_PAIRS = 20_000, 30


def swap_epsilon(
    victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd, delta: float, tol: float, *, enough: float
) -> float:
    """eps by the swap bound, among the victim's own class or all classes; inf where neither applies.

    What other classes send may be told to the adversary, so the own class may be taken alone.  An eps of ``enough`` or
    more is of no use and need not be found.
    """
    alone = _own_class(victim, sizes[victim] - (crowd.n - crowd.honest), crowd.participation, delta, tol)
    if len(sizes) == 1:
        return alone
    return min(alone, _all_classes(victim, sizes, crowd, delta, tol, min(enough, alone)))


def _own_class(victim: Mechanism, users: int, participation: float, delta: float, tol: float) -> float:
    """Users who all run the same mechanism, by its swap bound; in the worst case all that are missing are theirs."""
    if users < 1:
        return math.inf
    try:
        family = victim.law.swap().thinned(participation)
        return family.epsilon(n=users, delta=delta, tol=tol, side="upper").epsilon
    except BoundNotApplicableError:
        return math.inf


def _all_classes(
    victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd, delta: float, tol: float, enough: float
) -> float:
    """Where the laws are small and nobody is missing: a missing user may be of any class, which is not weighed up."""
    if crowd.honest < crowd.n or crowd.participation < 1.0 or crowd.n < 2:
        return math.inf
    if not all(lists_its_law(m) for m in sizes) or len({reports_of(m) for m in sizes}) > 1:
        return math.inf
    try:
        matrices = {m: matrix_of(m) for m in sizes}
    except BoundNotApplicableError:
        return math.inf
    if sum(map(np.size, matrices.values())) > _MOST_CELLS:
        return math.inf
    own = matrices[victim]
    pairs = [(0, 1)] if all(m.law.inputs_alike for m in sizes) else list(itertools.permutations(range(len(own)), 2))
    if len(pairs) > _MOST_PAIRS:
        return math.inf
    every = np.concatenate(list(matrices.values()))
    common = float(every.min(axis=0).sum()) * (1.0 - mass_slack(every.shape[1]))
    slack, members = rounding_slack(1), []
    for a, b in pairs:
        classes = []
        for m, rows in matrices.items():
            types = unlike(product_pair([ShuffledPair(P0=own[a], P1=own[b], t=row)]) for row in rows)
            share = (sizes[m] - (m == victim)) / (crowd.n - 1)
            classes.append(Class(share, SwapPair(tuple(types), common)))
        members.append(Mixed(tuple(classes), common))
    found = ClassSet(members).epsilon(n=crowd.n, delta=delta * (1.0 - slack), tol=tol, side="upper").epsilon
    return min(found + slack, victim.local_epsilon) if found > 0.0 else 0.0
