"""Victim pairs among others of several types, by the swap bound (evaluators/swap.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators.choose import Side, spread
from ..guess import Guess, guess_epsilon
from ..pair import FloatArray
from ..solve import log_up, look, solve
from .base import Answer
from .swap_curve import MOST_SHARPENED
from .swap_curve import Curve as Curve
from .swap_join import join as join
from .swap_pair import SwapPair as SwapPair
from .swap_pair import among as among
from .swap_pair import common_mass as common_mass

#: Fewer free users than this make the bound loose.
FEW_FREE = 60.0
#: How many deviations the saddle must be from 0 for the price of the modulus to be known, and to matter.
_FEWEST, _MOST = 0.8, 5.0
_ABSCISSAS = (0.9, 1.0, 1.1)
#: Victim pairs, and types of all of them, that are looked at for an approximate answer.
_ROUGH, _FEW_TYPES = 4, 16


class SwapSet:
    """The largest swap bound over some ordered victim pairs."""

    def __init__(self, members: Sequence[SwapPair]) -> None:
        self._members = tuple(members)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members."""
        only_upper(side)
        count = len(self._members)
        return Answer(largest_epsilon(self._members, n=n, delta=delta, tol=tol), count, count)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, for every eps."""
        only_upper(side)
        best = np.full(eps.shape, -np.inf)
        if not eps.size:
            return best
        for member in _widest_first(self._members) if eps.size == 1 else self._members:
            curve = Curve(member, n, tol / 30.0)
            if eps.size == 1 and best[0] > -np.inf and curve.screened(float(eps[0])) <= best[0]:
                continue
            best = np.maximum(best, curve.log_upper(eps))
        return falling(eps, best)

    @staticmethod
    def together(
        families: Sequence[SwapSet], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """One answer per row (families/pool.py)."""
        from .swap_many import epsilons

        only_upper(side)
        found = epsilons([family._members for family in families], n=n, delta=delta, tol=tol)
        return [Answer(x, len(f._members), len(f._members)) for x, f in zip(found.tolist(), families, strict=True)]

    @staticmethod
    def log_deltas_together(
        families: Sequence[SwapSet], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """One log delta per row (families/pool.py)."""
        from .swap_many import log_deltas

        only_upper(side)
        return log_deltas([family._members for family in families], eps, n=n, tol=tol)

    @property
    def quick(self) -> bool:
        """Whether many eps at once cost little."""
        return sum(np.size(pair.t) for member in self._members for pair in member.types) <= MOST_SHARPENED

    def rough_log_delta(self, eps: float, n: int) -> float | None:
        """About log delta (families/rough.py): that of others of one type, without those who are displaced."""
        from .rough import largest

        members = self.members(_ROUGH)
        if not members or self.loose_for(n) or sum(len(member.types) for member in members) > _FEW_TYPES:
            return None
        found = [largest(m.types, n - 1.0 / m.common_mass, eps) for m in members]
        known = [value for value in found if value is not None]
        return max(known) if len(known) == len(found) else None

    def loose_for(self, n: int) -> bool:
        """Whether the users who are displaced are too many of n for the bound to be sharp."""
        return any(n * member.common_mass < FEW_FREE for member in self._members)

    def pairs(self, most: int) -> None:
        """None: a member is not one shuffled pair but several types."""
        return None

    def members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return SwapSet([member.thinned(chance) for member in self._members])


def largest_epsilon(members: Sequence[SwapPair], *, n: int, delta: float, tol: float) -> float:
    """The largest eps over some victim pairs."""
    if any(math.isinf(member.max_ratio) and member.floor > delta for member in members):
        return math.inf
    best = 0.0
    for member in _widest_first(members):
        best = max(best, epsilon_of(member, n=n, delta=delta, tol=tol, least=best))
    return best


def epsilon_of(member: SwapPair, *, n: int, delta: float, tol: float, least: float = 0.0) -> float:
    """eps of one victim pair; ``least`` or less if that is enough."""
    limit = log_up(member.max_ratio)
    if limit <= least:
        return least
    curve = Curve(member, n, tol)
    log_delta = math.log(delta)
    if least > 0.0 and curve.screened(least) <= log_delta:
        return least
    spread_out = min(widest(member), 1e300)
    likely = least > 0.0 or delta >= 0.3 * math.sqrt(spread_out / n)
    if likely and look(curve, least, 1e-3, log_delta).excess <= 0.0:  # type: ignore[arg-type]
        return least
    return solve(curve, delta, limit=limit, tol=tol, guess=_first_guess(curve, delta, limit))  # type: ignore[arg-type]


def _first_guess(curve: Curve, delta: float, limit: float) -> Guess:
    """eps of the worst type alone, and what dither and modulus cost: the first evaluation is then often the last."""
    member, worst = curve.member, max(curve.member.types, key=spread)
    guess = guess_epsilon(worst.atoms, max(int(curve.n - 1.0 / max(member.common_mass, 1e-15)), 1), delta, limit)
    dearer = 1.0 + 0.5 * curve.dither**2 + 3e-5
    deviations = guess.abscissa * math.sqrt(min(spread(worst), 1e300) * curve.n)
    if _FEWEST < deviations < _MOST and guess.slope > 0.0:
        dearer += _log_modulus_cost(deviations) / (guess.slope * guess.epsilon)
    return guess._replace(epsilon=guess.epsilon * dearer)


def _log_modulus_cost(q: float) -> float:
    """log of what absolute values add to the sum, if X is Gaussian and the saddle is q deviations from 0.

    The saddle is at c with mean + V c = 2/c, q = c sqrt(V).  Up to a factor of c, E(T)_+ is the first of these, and the
    integral of the modulus at the abscissa k c is the second; the best of those that are tried counts.
    """
    z = 2.0 / q - q
    exact = q * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) + (2.0 - q * q) * 0.5 * math.erfc(-z / math.sqrt(2.0))
    tried = (
        k * (2.0 - q * q) + (k * q) ** 2 + math.log(0.5 * math.erfc(k * q / math.sqrt(2.0)) / k) for k in _ABSCISSAS
    )
    return min(tried) - math.log(exact)


def falling(eps: FloatArray, log_delta: FloatArray) -> FloatArray:
    """The smallest value at any smaller eps: the true delta falls with eps, an upper bound on it need not."""
    order = np.argsort(eps, kind="stable")
    out = np.empty_like(log_delta)
    out[order] = np.minimum.accumulate(log_delta[order])
    return out


def only_upper(side: Side) -> None:
    """The swap bound says nothing from below."""
    if side != "upper":
        raise BoundNotApplicableError("the swap bound is an upper bound; take the lower one from constant datasets.")


def widest(member: SwapPair) -> float:
    """The largest spread of any type."""
    return max(spread(pair) for pair in member.types)


def _widest_first(members: Sequence[SwapPair]) -> list[SwapPair]:
    return sorted(members, key=widest, reverse=True)
