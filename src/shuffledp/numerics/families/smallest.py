"""Several analyses of one mechanism that all hold: the smallest upper bound counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators.choose import Side
from ..pair import FloatArray, ShuffledPair
from .base import Answer, Family, thinned

#: So many shuffled pairs are quickly evaluated at many eps.
_FEW = 64
#: Relative accuracy in delta of one look at an analysis that may not be needed.
_GLANCE = 0.01


class Smallest:
    """Named families, the one that is usually smallest first; an answer says whose it is.

    Examples
    --------
    >>> from shuffledp.numerics.families.base import PairSet
    >>> few, many = (PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[t, t])]) for t in (0.1, 0.25))
    >>> Smallest({"few": few, "many": many}).epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").bound
    'many'
    """

    def __init__(self, families: Mapping[str, Family]) -> None:
        self.families = dict(families)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest eps; a later family is solved only if one look does not show that it is larger."""
        best = Answer(math.inf, 0, 0)
        for name, family in sorted(self.families.items(), key=lambda item: says(item[1], "loose_for", n)):
            if best.bound and (best.epsilon == 0.0 or says(family, "superseded_at", n)):
                continue
            if 0.0 < best.epsilon < math.inf:
                look = family.log_delta(np.array([best.epsilon]), n=n, tol=_GLANCE, side=side)[0]
                if look > math.log(delta) + 3.0 * _GLANCE:
                    continue
            answer = family.epsilon(n=n, delta=delta, tol=tol, side=side)
            if answer.epsilon < best.epsilon or not best.bound:
                best = answer._replace(bound=name)
        return best

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The smallest log delta, for every eps."""
        found = [family.log_delta(eps, n=n, tol=tol, side=side) for family in self.families.values()]
        return np.asarray(np.min(found, axis=0))

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """None: the analyses have different shuffled pairs."""
        return None

    @property
    def quick(self) -> bool:
        """Whether many eps at once cost little with every family."""
        return all(getattr(f, "quick", False) or f.pairs(_FEW) is not None for f in self.families.values())

    def thinned(self, chance: float) -> Smallest:
        """Every family that can be thinned; an error if none can."""
        found: dict[str, Family] = {}
        refused: BoundNotApplicableError | None = None
        for name, family in self.families.items():
            try:
                found[name] = thinned(family, chance)
            except BoundNotApplicableError as error:
                refused = error
        if not found and refused is not None:
            raise refused
        return Smallest(found)


def says(family: Family, what: str, n: int) -> bool:
    """What a family may say of itself: loose_for(n), try others first; superseded_at(n), another's answer will do."""
    answer: Callable[[int], bool] | None = getattr(family, what, None)
    return answer is not None and answer(n)
