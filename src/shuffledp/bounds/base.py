"""What every bound is: where it comes from, what it needs, where it holds, and its two answers (eps, delta)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..numerics.family import Answer, Family, PairSet
from ..numerics.pair import FloatArray, Side
from ..numerics.search import bisect

#: Closed forms are increased by this relative amount, to cover their rounding.
_ROUNDING = 1e-12
#: Closed forms in eps are first evaluated on this grid, then on finer grids inside the step that was found.
_SMALLEST, _LARGEST, _POINTS, _REFINED = 1e-9, 200.0, 161, 65
#: log of the smallest delta at which a closed form is evaluated when it is inverted.
_LOG_LEAST_DELTA = -700.0


@dataclass(frozen=True, kw_only=True)
class Bound(ABC):
    """A published or proved bound.

    Attributes
    ----------
    name, title, citation : its name, what it is, who proved it.
    side : "upper" bounds eps from above (what can be claimed), "lower" from below (what cannot be beaten).
    sound : False only for formulas kept as printed, to reproduce a paper.
    needs : what it must know about a mechanism, in words.
    validity : where it holds, in words; elsewhere it raises BoundNotApplicableError.

    Examples
    --------
    >>> from shuffledp.bounds import BOUNDS
    >>> isinstance(BOUNDS["blanket"], Bound), BOUNDS["blanket"].side
    (True, 'upper')
    """

    name: str
    title: str
    citation: str
    side: Side = "upper"
    sound: bool = True
    needs: str
    validity: str = "everywhere"

    def epsilon(self, mechanism: Mechanism, *, n: int, delta: float, tol: float) -> Answer:
        """The eps of this bound; an upper one is capped by the local guarantee, which always holds."""
        answer = self._epsilon(mechanism, n, delta, tol)
        if self.side == "lower":
            return answer
        return answer._replace(epsilon=min(answer.epsilon, mechanism.local_epsilon))

    def log_delta(self, mechanism: Mechanism, eps: FloatArray, *, n: int, tol: float) -> FloatArray:
        """log delta(eps); -inf exactly where the local guarantee alone gives delta = 0."""
        return capped(self._log_delta(mechanism, eps, n, tol), eps, mechanism.local_epsilon)

    def family(self, mechanism: Mechanism) -> Family:
        """The shuffled pairs behind a numerical bound; closed forms have none."""
        raise BoundNotApplicableError(
            f"bound {self.name!r} is a closed form without shuffled pairs, which this question needs; use bound='auto'."
        )

    def refuse(self, found: str) -> BoundNotApplicableError:
        """The error for parameters outside the range of this bound."""
        return BoundNotApplicableError(f"bound {self.name!r} holds for {self.validity}, got {found}; use bound='auto'.")

    @abstractmethod
    def _epsilon(self, mechanism: Mechanism, n: int, delta: float, tol: float) -> Answer:
        """eps, not yet capped."""

    @abstractmethod
    def _log_delta(self, mechanism: Mechanism, eps: FloatArray, n: int, tol: float) -> FloatArray:
        """log delta, not yet capped."""


def capped(log_delta: FloatArray, eps: FloatArray, cap: float) -> FloatArray:
    """At most 0, and -inf from the local guarantee ``cap`` on, which alone gives delta = 0 there."""
    return np.where(eps >= cap, -np.inf, np.minimum(log_delta, 0.0))


def covering(bound: Bound, family: Family, mechanism: Mechanism, n: int) -> Family:
    """The family of a bound, refused where it claims nothing for n users; "auto" then has the local guarantee."""
    if bound.name == "auto" or family.covers(n):
        return family
    most = bisect_left(range(1, n), True, key=lambda users: not family.covers(users))
    raise BoundNotApplicableError(
        f"bound {bound.name!r} holds for up to {most:,} users of {mechanism.spec}, got {n:,}; use bound='auto'."
    )


@dataclass(frozen=True, kw_only=True)
class Numerical(Bound):
    """The formula of numerics/pair.py, evaluated on a family of shuffled pairs."""

    pairs: Callable[[Mechanism], Family]

    def family(self, mechanism: Mechanism) -> Family:
        """The family of this bound, which is empty where reports do not depend on the input."""
        return self.pairs(mechanism) if mechanism.local_epsilon > 0.0 else PairSet([])

    def _epsilon(self, mechanism: Mechanism, n: int, delta: float, tol: float) -> Answer:
        return covering(self, self.family(mechanism), mechanism, n).epsilon(n=n, delta=delta, tol=tol, side=self.side)

    def _log_delta(self, mechanism: Mechanism, eps: FloatArray, n: int, tol: float) -> FloatArray:
        return covering(self, self.family(mechanism), mechanism, n).log_delta(eps, n=n, tol=tol, side=self.side)


def log_over(numerator: float, delta: float) -> float:
    """log(numerator/delta), also where the quotient overflows."""
    return math.log(numerator) - math.log(delta)


class Question(NamedTuple):
    """The arguments of a closed form; ``refuse`` makes the exception for parameters outside its range."""

    mechanism: Mechanism
    n: int
    delta: float
    refuse: Callable[[str], BoundNotApplicableError]


@dataclass(frozen=True, kw_only=True)
class EpsilonFormula(Bound):
    """A closed form eps(n, delta), decreasing in delta where it holds; inverting it gives delta(eps)."""

    formula: Callable[[Question], float]
    largest_delta: float = 1.0 - 2.0**-53  # for a formula in parts: that of the part with the smallest range

    def _epsilon(self, mechanism: Mechanism, n: int, delta: float, tol: float) -> Answer:
        return Answer(self._value(mechanism, n, delta), 1, 1)

    def _value(self, mechanism: Mechanism, n: int, delta: float) -> float:
        if mechanism.local_epsilon <= 0.0:
            return 0.0
        value = self.formula(Question(mechanism, n, delta, self.refuse)) * (1.0 + _ROUNDING)
        return math.inf if math.isnan(value) else value  # NaN never counts as private enough

    def _log_delta(self, mechanism: Mechanism, eps: FloatArray, n: int, tol: float) -> FloatArray:
        self._value(mechanism, n, self.largest_delta)  # raises if the formula never applies
        return np.array([self._invert(mechanism, n, float(e)) for e in eps.reshape(-1)]).reshape(eps.shape)

    def _invert(self, mechanism: Mechanism, n: int, eps: float) -> float:
        """The smallest log delta at which the formula holds and is at most eps; 0 (delta = 1) if there is none."""

        def enough(log_delta: float) -> bool:
            try:
                return self._value(mechanism, n, math.exp(log_delta)) <= eps
            except BoundNotApplicableError:
                return False

        most = next((x for x in (-(2.0**-53), math.log(self.largest_delta)) if enough(x)), 0.0)
        if most == 0.0:
            return 0.0
        if enough(_LOG_LEAST_DELTA):
            return _LOG_LEAST_DELTA
        return bisect(enough, safe=most, unsafe=_LOG_LEAST_DELTA, close=lambda x: 1e-9 * (1.0 - x))


@dataclass(frozen=True, kw_only=True)
class DeltaFormula(Bound):
    """A closed form delta(eps); eps(delta) is the first eps at which it is small enough.

    ``curve(mechanism, n, refuse)`` returns log delta as a function of an array of eps > 0.  It need not be
    decreasing: the true delta is, so the smallest value at any eps' <= eps holds at eps.  ``falling`` declares that
    the curve is decreasing, which saves evaluations.
    """

    curve: Callable[[Mechanism, int, Callable[[str], BoundNotApplicableError]], Callable[[FloatArray], FloatArray]]
    falling: bool = False

    def _values(self, mechanism: Mechanism, n: int) -> Callable[[FloatArray], FloatArray]:
        curve = self.curve(mechanism, n, self.refuse)

        def safe(eps: FloatArray) -> FloatArray:
            with np.errstate(all="ignore"):
                value = curve(eps)
                slack = np.where(np.isfinite(value), _ROUNDING * (1.0 + np.abs(value)), 0.0)
            return np.where(np.isnan(value), np.inf, value) + slack  # NaN never counts as private enough

        return safe

    def _epsilon(self, mechanism: Mechanism, n: int, delta: float, tol: float) -> Answer:
        if mechanism.local_epsilon <= 0.0:
            return Answer(0.0, 1, 1)
        values, log_delta = self._values(mechanism, n), math.log(delta)
        grid = _grid(mechanism)
        if self.falling:
            grid = grid[[0, -1]]
        while True:
            small = values(grid) <= log_delta
            if not small.any():
                return Answer(math.inf, 1, 1)
            first = int(small.argmax())
            if first == 0 or grid[first] <= grid[first - 1] * (1.0 + 1e-7):
                return Answer(float(grid[first]), 1, 1)
            grid = np.geomspace(grid[first - 1], grid[first], 3 if self.falling else _REFINED)

    def _log_delta(self, mechanism: Mechanism, eps: FloatArray, n: int, tol: float) -> FloatArray:
        if mechanism.local_epsilon <= 0.0:
            return np.full(eps.shape, -np.inf)
        values = self._values(mechanism, n)
        points = np.unique(np.concatenate([_grid(mechanism), eps.reshape(-1)]))
        at = np.maximum(points, _SMALLEST)  # nothing is claimed for smaller eps
        found = np.minimum.accumulate(np.where(points >= _SMALLEST, values(at), np.inf))
        return np.asarray(found[np.searchsorted(points, eps)])


def _grid(mechanism: Mechanism) -> FloatArray:
    return np.geomspace(_SMALLEST, max(min(mechanism.local_epsilon, _LARGEST), 2.0 * _SMALLEST), _POINTS)
