"""Several analyses of one mechanism that all hold: the smallest upper bound counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators.choose import Side, spread
from ..pair import FloatArray, ShuffledPair
from . import rough
from .base import Answer, Family, thinned
from .knots import Knots
from .swap import SwapSet, falling

#: Spreads that differ by no more than this share count as alike: half of it in eps.
_ALIKE = 1e-4
#: So many shuffled pairs are quickly evaluated at many eps.
_FEW = 64
#: Relative accuracy in delta of one look at an analysis that may not be needed.
GLANCE = 0.01
#: An approximate log delta this far from the one asked for decides without a look.
_CLEARLY = 0.5
#: A smaller eps by less than this part of the tolerance is not searched for.
_LEAST_GAIN = 0.3
#: Of more eps than this, every family is asked at so many; in between, those within this of the smallest log delta.
_MANY, _KNOTS, _NEAR = 96, 33, 0.05


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
        for name, family in self.order(n):
            if best.bound and (best.epsilon == 0.0 or says(family, "superseded_at", n)):
                continue
            if 0.0 < best.epsilon < math.inf and self.clearly_larger(name, best.epsilon, n):
                continue
            known = 0.0 < best.epsilon < math.inf
            # a little to the left: what it could gain beyond that is within the tolerance
            at = best.epsilon * (1.0 - _LEAST_GAIN * tol) if known else 0.0
            smaller: Callable[..., Answer | None] | None = getattr(family, "smaller", None)
            if known and smaller is not None:
                found = smaller(at, n=n, delta=delta, tol=tol)
                if found is None:
                    continue
                answer = found
            else:
                if known and (family.pairs(_FEW) is not None or getattr(family, "one_look", False)):
                    about = rough.log_delta(family, at, n)
                    excess = math.nan if about is None else about - math.log(delta)
                    if not abs(excess) > _CLEARLY:
                        excess = family.log_delta(np.array([at]), n=n, tol=GLANCE, side=side)[0] - math.log(delta)
                    if excess > 3.0 * GLANCE:
                        continue
                answer = family.epsilon(n=n, delta=delta, tol=tol, side=side)
            if answer.epsilon < best.epsilon or not best.bound:
                best = answer._replace(bound=name)
        return best

    @staticmethod
    def together(
        families: Sequence[Smallest], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py): :meth:`epsilon` for all of them, analysis after analysis."""
        from .smallest_many import epsilons

        return epsilons(families, n=n, delta=delta, tol=tol, side=side)

    @staticmethod
    def log_deltas_together(
        families: Sequence[Smallest], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """One log delta per row (families/pool.py): analyses of one kind are asked together; slow ones as usual."""
        from . import pool

        out = np.full(len(families), np.inf)
        alone = dict.fromkeys(families)
        often = len(alone) < len(families)  # several eps of one family
        asked = {family: family._asked(many=often) for family in alone}
        rows = np.array([i for i, family in enumerate(families) for _ in asked[family]])
        parts = [part for family in families for part in asked[family]]
        np.minimum.at(out, rows, pool.log_deltas(parts, eps[rows], n=n[rows], tol=tol, side=side))
        return out

    def order(self, n: int) -> list[tuple[str, Family]]:
        """The families in the order in which they are asked: those that are loose for this n last."""
        return sorted(self.families.items(), key=lambda item: says(item[1], "loose_for", n))

    def clearly_larger(self, name: str, eps: float, n: int) -> bool:
        """Whether the leading order alone says that this family is above a swap bound that was asked before it.

        It is trusted only if that bound has the leading order too: eps is at most some deviations of the sum.
        """
        ratio, least = self._leading.get(name, (0.0, 0.0))
        margin = 0.01 + 4.0 / max(n * self._common_mass, 1.0)
        return eps <= min(6.0 * math.sqrt(least / n), 1.0) and ratio > 1.0 and math.sqrt(ratio) - 1.0 > margin

    @cached_property
    def _swaps(self) -> list[tuple[float, float]]:
        """The largest spread and the common mass of every swap bound of few members."""
        found = (f.leading_order(_FEW) for f in self.families.values() if isinstance(f, SwapSet))
        return [order for order in found if order is not None]

    @cached_property
    def _common_mass(self) -> float:
        return min((mass for _, mass in self._swaps), default=0.0)

    @cached_property
    def _leading(self) -> dict[str, tuple[float, float]]:
        """The spread of every family of few pairs, over that of the swap bound's worst type, and the latter."""
        least = max((widest for widest, _ in self._swaps), default=math.inf)
        listed = {name: family.pairs(_FEW) for name, family in self.families.items()}
        return {
            name: (max(map(spread, pairs)) / least, least) for name, pairs in listed.items() if pairs and least > 0.0
        }

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The smallest log delta, for every eps; at many of them slow families are left out, if others are not slow."""
        asked = self._asked(many=eps.size > 1)
        if eps.size == 1 and side == "upper":
            return self._at_one(asked, eps, n, tol)
        if eps.size <= _MANY or len(asked) == 1 or side != "upper":
            return np.asarray(np.min([f.log_delta(eps, n=n, tol=tol, side=side) for f in asked], axis=0))
        knots = Knots(eps, _KNOTS)
        found = np.array([f.log_delta(eps[knots.rows], n=n, tol=tol, side=side) for f in asked])
        best = np.full(eps.shape, np.inf)
        best[knots.rows] = found.min(axis=0)
        for family, near in zip(asked, ~(found > best[knots.rows] + _NEAR), strict=True):
            rows = knots.between(near)
            if rows.size:
                best[rows] = np.minimum(best[rows], family.log_delta(eps[rows], n=n, tol=tol, side=side))
        return falling(eps, best)

    @staticmethod
    def _at_one(asked: Sequence[Family], eps: FloatArray, n: int, tol: float) -> FloatArray:
        """The smallest log delta at one eps; swap bounds come last, those that cannot be smaller are not evaluated."""
        best = np.full(1, np.inf)
        for family in sorted(asked, key=lambda family: isinstance(family, SwapSet)):
            if not (isinstance(family, SwapSet) and family.least(float(eps[0]), n) >= best[0]):
                best = np.minimum(best, family.log_delta(eps, n=n, tol=tol, side="upper"))
        return best

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): the smallest of the analyses that can tell."""
        found = (rough.log_delta(family, eps, n) for family in self.families.values())
        return min((value for value in found if value is not None), default=None)

    def _asked(self, *, many: bool) -> list[Family]:
        """The families that are asked at one eps, or at many."""
        every = list(self.families.values())
        return [f for f in every if not (many and getattr(f, "slow", False))] or every

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


def sharp(blanket: Family, swap: Family) -> bool:
    """Whether eps over the blanket has the leading order of a type in the swap bound: nothing is to be gained."""
    pairs = blanket.pairs(_FEW)
    order = swap.leading_order(_FEW) if pairs and isinstance(swap, SwapSet) else None
    if not pairs or order is None:
        return False
    return max(spread(pair) for pair in pairs) <= order[0] * (1.0 + _ALIKE)


def sharp_look(family: Family) -> bool:
    """Whether one evaluation is cheap and sharp enough to decide."""
    return isinstance(family, SwapSet) or family.pairs(_FEW) is not None


def says(family: Family, what: str, n: int) -> bool:
    """What a family may say of itself: loose_for(n), try others first; superseded_at(n), another's answer will do."""
    answer: Callable[[int], bool] | None = getattr(family, what, None)
    return answer is not None and answer(n)
