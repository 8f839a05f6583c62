"""Several analyses of one mechanism that all hold: the smallest upper bound counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators.choose import Side
from ..pair import FloatArray, ShuffledPair
from . import pool, rough
from .base import Answer, Family, thinned
from .swap import falling

#: So many shuffled pairs are quickly evaluated at many eps.
_FEW = 64


class Smallest:
    """Named families; every one is asked, and an answer says whose it is.

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
        """The smallest eps of all families; long searches come last, and end once they are known not to be below."""
        best = Answer(math.inf, 0, 0)
        for name, family in sorted(self.families.items(), key=lambda item: _searches(item[1])):
            asked: dict[str, Any] = {"n": n, "delta": delta, "tol": tol, "side": side}
            search = getattr(family, "epsilon_below", None)
            best = _smaller(best, name, search(best.epsilon, **asked) if search else family.epsilon(**asked))
            if best.epsilon == 0.0:
                break
        return best

    @staticmethod
    def together(
        families: Sequence[Smallest], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py): :meth:`epsilon` for all of them, family after family."""
        if any(_searches(part) for family in families for part in family.families.values()):
            known: dict[tuple[int, float, float], Answer] = {}
            for family, m, target in zip(families, n.tolist(), delta.tolist(), strict=True):
                key = (id(family), m, target)
                known[key] = known.get(key) or family.epsilon(n=int(m), delta=target, tol=tol, side=side)
            return [known[id(f), m, x] for f, m, x in zip(families, n.tolist(), delta.tolist(), strict=True)]
        best = [Answer(math.inf, 0, 0)] * len(families)
        for place in range(max((len(family.families) for family in families), default=0)):
            asked = {
                i: list(family.families.items())[place]
                for i, family in enumerate(families)
                if place < len(family.families) and best[i].epsilon > 0.0
            }
            rows = list(asked)
            mine = [family for _, family in asked.values()]
            found = pool.epsilons(mine, n=n[rows], delta=delta[rows], tol=tol, side=side) if rows else []
            for i, answer in zip(rows, found, strict=True):
                best[i] = _smaller(best[i], asked[i][0], answer)
        return best

    @staticmethod
    def log_deltas_together(
        families: Sequence[Smallest], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """One log delta per row (families/pool.py): families of one kind are asked together."""
        out = np.full(len(families), np.inf)
        rows = np.array([i for i, family in enumerate(families) for _ in family.families])
        parts = [part for family in families for part in family.families.values()]
        np.minimum.at(out, rows, pool.log_deltas(parts, eps[rows], n=n[rows], tol=tol, side=side))
        return out

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The smallest log delta of all families, for every eps."""
        found = [family.log_delta(eps, n=n, tol=tol, side=side) for family in self.families.values()]
        return falling(eps, np.min(found, axis=0))

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): the smallest of the families that can tell."""
        found = (rough.log_delta(family, eps, n) for family in self.families.values())
        return min((value for value in found if value is not None), default=None)

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """None: the families have different shuffled pairs."""
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


def _searches(family: Family) -> bool:
    """Whether the family is searched pair by pair, so that it is worth knowing where to stop."""
    return hasattr(family, "epsilon_below")


def _smaller(best: Answer, name: str, answer: Answer) -> Answer:
    """The smaller of the best answer so far and that of the family of this name."""
    return answer._replace(bound=name) if answer.epsilon < best.epsilon or not best.bound else best
