"""A family of shuffled pairs: delta is the largest over its members, at every eps separately.

The worst member may change with eps, n and direction, so no pair is fixed in advance.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from ...errors import BoundNotApplicableError
from ..pair import FloatArray, ShuffledPair

# The evaluators are loaded by the first answer: a client, which only runs its mechanism, does without them.
if TYPE_CHECKING:
    from ..evaluators.choose import Side

#: Points from which intervals of eps are looked at, not single ones.
_MANY_POINTS = 256
#: Pairs that are looked at for an approximate answer.
_ROUGH = 4
#: Any number of shuffled pairs.
EVERY = 10**9


class Answer(NamedTuple):
    """An eps, and how many of the members had to be evaluated for it.

    ``note`` says "looser, because ..." where a quick bound stands in for a slow one; a Guarantee prints it.
    ``bound`` names the analysis that gave the answer, where several were compared.
    """

    epsilon: float
    evaluated: int
    members: int
    note: str = ""
    bound: str = ""


class Family(Protocol):
    """What a bound needs to know about a mechanism.

    A family that can answer many questions at once also has the static methods ``together`` and
    ``log_deltas_together``, which take one family of its kind, n and delta (or eps) per row (families/pool.py).
    """

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest eps with delta(eps) <= delta, on the named side."""

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta(eps) on the named side, one value per eps."""

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members as shuffled pairs, or None if there are more than ``most``."""


class PairSet:
    """Finitely many shuffled pairs, each in its own direction (add ``pair.swapped()`` for the other one).

    Examples
    --------
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2)
    0.17
    """

    def __init__(self, pairs: Sequence[ShuffledPair]) -> None:
        self._members = tuple(dict.fromkeys(pairs)) if len(pairs) > 1 else tuple(pairs)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members."""
        from ..solve import epsilon

        value = epsilon(self._members, n=n, delta=delta, tol=tol, side=side)
        return Answer(value, len(self._members), len(self._members))

    @staticmethod
    def together(
        families: Sequence[PairSet], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py)."""
        from ..many.pairs import epsilons

        found = epsilons([family._members for family in families], n=n, delta=delta, tol=tol, side=side)
        return [Answer(x, len(f._members), len(f._members)) for x, f in zip(found.tolist(), families, strict=True)]

    @staticmethod
    def log_deltas_together(
        families: Sequence[PairSet], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """One log delta per row (families/pool.py)."""
        from ..many.pairs import log_deltas

        return log_deltas([family._members for family in families], eps, n=n, tol=tol, side=side)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, for every eps."""
        from ..evaluators.choose import Divergence
        from .leaders import Listed, largest, largest_upper

        curves = [Divergence(pair, n, side, slopes=False) for pair in self._members]
        if side == "upper" and len(curves) > 2 and eps.size > 1:
            if eps.size >= _MANY_POINTS:
                return largest(Listed(curves), eps, tol)
            return largest_upper(curves, eps, tol)
        best = np.full(eps.shape, -np.inf)
        for curve in curves:
            point = curve.point(float(eps[0]), tol) if eps.size == 1 else None
            if point is not None:
                best = np.maximum(best, point.upper if side == "upper" else point.lower)
                continue
            bracket = curve.bracket(eps, tol)
            best = np.maximum(best, bracket.upper if side == "upper" else bracket.lower)
        return best

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): that of the pairs with the largest spread."""
        from ..evaluators.choose import spread
        from .rough import largest

        members = self._members if len(self._members) <= 2 else sorted(self._members, key=spread)[-_ROUGH:]
        return largest(members, n, eps)

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None

    def thinned(self, chance: float) -> Self:
        """Every other user takes part with this probability, independently: t is multiplied by it, exactly."""
        other = copy.copy(self)  # subclasses keep what else they know
        other._members = tuple(pair.thinned(chance) for pair in self._members)
        return other


def thinned(family: Family, chance: float) -> Family:
    """The family when every other user takes part with this probability; an error where that is not known."""
    if chance == 1.0:
        return family
    make: Callable[[float], Family] | None = getattr(family, "thinned", None)
    if make is None:
        raise BoundNotApplicableError(
            "participation below 1 is not known for this bound of this mechanism; state dropouts instead."
        )
    return make(chance)


def two_counts(pair: ShuffledPair) -> ShuffledPair:
    """The pair seen through two counts: {P0 > P1}, {P0 < P1} and the rest merged (paper, Theorem 5.1)."""
    laws = [np.asarray(a) for a in (pair.P0, pair.P1, pair.t)]
    side = np.sign(laws[0] - laws[1])
    return ShuffledPair(*([float(law[side == k].sum()) for k in (1, -1, 0)] for law in laws))


def both_directions(pair: ShuffledPair) -> list[ShuffledPair]:
    """The pair in both directions: a guarantee needs D(P||Q) and D(Q||P)."""
    return [pair, pair.swapped()]
