"""A central target (epsilon, delta) for a crowd and a number of rounds, and the loosest mechanism that meets it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from .._support import validation as check
from .._support.numbers import round_down, round_up
from ..accounting.crowd import Crowd
from ..accounting.rounds import Rounds
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..numerics.bisect import smallest_whole
from ..numerics.composition.gaussian import epsilon_of, mu_of
from .search import largest
from .unknowns import Unknown, row_of

#: The coarsest relative accuracy of delta.
_COARSE = 0.02


@dataclass
class Target:
    """The target that ``amplify`` must confirm: eps at most ``epsilon``; ``start`` is where the last search ended.

    With ``count`` rounds it is the accountant that must confirm it.
    """

    crowd: Crowd
    epsilon: float
    delta: float
    bound: str
    tol: float
    count: int = 1
    start: float | None = None

    @property
    def n(self) -> int:
        """Users who can be counted on."""
        return self.crowd.honest

    @cached_property
    def single(self) -> Target:
        """About what one round may cost: where searches begin, and what settings are chosen for."""
        if self.count == 1:
            return self
        once = epsilon_of(mu_of(self.epsilon, self.delta) / math.sqrt(self.count), self.delta)
        return replace(self, epsilon=min(once, self.epsilon), count=1)

    def reached(self, mechanism: Mechanism) -> float:
        """eps as amplify, or the accountant, would report it."""
        return self._rounds(mechanism).epsilon(delta=self.delta, tol=self.tol)

    def _rounds(self, mechanism: Mechanism) -> Rounds:
        return Rounds(mechanism, self.bound, self.crowd, count=self.count).must_hold("be solved for")

    def loosest(self, unknown: Unknown) -> Mechanism:
        """The mechanism with the least privacy that meets the target, checked by :meth:`reached`."""

        def reached(value: float) -> float:
            return _or_inf(lambda: self.reached(unknown.make(value)))

        def excess(u: float) -> float:
            eps = reached(unknown.value(u))
            return math.log(eps) - math.log(self.epsilon) if eps > 0.0 else -math.inf

        near = self.single.near(unknown)
        low, high = unknown.coordinate(unknown.private), unknown.coordinate(unknown.loose)
        start = low if near is None else near
        value: float | None
        if unknown.whole:
            value = smallest_whole(
                lambda m: reached(m) - self.epsilon,
                low=int(unknown.loose),
                high=int(unknown.private),
                start=int(unknown.value(start)),
            )
        else:
            window = -math.log1p(-self.tol)
            # one round was solved for already; of several only the Gaussian picture is known
            reach = 2.0 * self.tol if self.count == 1 else 0.2
            u = largest(excess, low=low, high=high, start=start, window=window, reach=reach)
            value = None if u is None else unknown.value(u)
        if unknown.is_budget and (value is None or value < self.epsilon):  # the local guarantee alone may suffice
            plain = min(self.epsilon, unknown.loose)
            value = plain if reached(plain) <= self.epsilon else value
        if value is None:
            raise self._impossible(unknown)
        return unknown.make(value)

    def near(self, unknown: Unknown) -> float | None:
        """Where the target is met, from single evaluations of delta(epsilon), without solving for eps."""
        log_delta = math.log(self.delta)
        fine = min(max(0.3 * self.tol * -log_delta, 1e-7), _COARSE)
        rtol = _COARSE

        def excess(u: float) -> float:
            nonlocal rtol
            y = self._look(unknown, u, rtol)
            rtol = min(max(0.1 * abs(y) * -log_delta, fine), _COARSE)  # far from the root a coarse value suffices
            return y

        ends = [unknown.private]
        if unknown.is_budget:  # below the target the local guarantee is enough
            ends.insert(0, min(max(self._inside * (1.0 - 1e-9), unknown.private), unknown.loose))
        for end in dict.fromkeys(ends):
            low, high = unknown.coordinate(end), unknown.coordinate(unknown.loose)
            start = self._guess(unknown) if self.start is None else self.start
            slope = 0.5 * (1.0 + math.exp(-unknown.value(start))) if unknown.is_budget else 0.5
            found = largest(
                excess, low=low, high=high, start=start, window=0.3 * self.tol, close=0.05 * self.tol, slope=slope
            )
            if found is not None:
                self.start = found
                return found
        return None

    def error(self, free: FreeSetting, setting: float, limit: float) -> float:
        """The predicted error of the loosest mechanism with this setting, inf if it is above ``limit``.

        The error falls as eps0 rises.  Where eps0 would be too large at the limit already, one evaluation settles it.
        """
        row = row_of(free, setting)
        if limit == 0.0:  # huge budgets: nothing is better
            return math.inf

        def short(u: float) -> float:
            error = free.error(row.at(u), self.n)
            return math.log(error) - math.log(limit) if error > 0.0 else -math.inf

        low, high = row.coordinate(row.private), row.coordinate(row.loose)
        if math.isfinite(limit):
            # the smallest u with an error within the limit, as the largest -u
            needed = largest(
                lambda v: short(-v), low=-high, high=-low, start=-(self.start or 0.0), window=1e-6, slope=1.0
            )
            doubt = -0.5 * _COARSE / math.log(self.delta)  # error of a coarse value
            if needed is None or self._look(row, -needed, _COARSE) > doubt:
                return math.inf
        u = self.near(row)
        return math.inf if u is None else free.error(row.at(u), self.n)

    @property
    def likely_budget(self) -> float:
        """The leading order for eps0: eps^2 n = 2 log(1/delta) (2 sinh(eps0/2))^2."""
        return min(max(2.0 * math.asinh(0.5 * math.sqrt(self.n * self._noise)), 1e-6), check.MAX_EPS0)

    @property
    def _noise(self) -> float:
        """eps^2 over 2 log(1/delta) + 1; targets beyond 1e-100 or 1e100 are treated as these."""
        return min(max(self.epsilon, 1e-100), 1e100) ** 2 / (2.0 * math.log(1.0 / self.delta) + 1.0)

    @property
    def _inside(self) -> float:
        """The reported eps is above the truth by some part of tol: aim at the middle of that margin."""
        return self.epsilon * (1.0 - 0.5 * self.tol)

    def _look(self, unknown: Unknown, u: float, rtol: float) -> float:
        """delta(epsilon) at u against the target, positive if not private enough; nearly linear in u."""

        def log_delta() -> float:
            return self._rounds(unknown.at(u)).log_delta(self._inside, tol=rtol)

        return scaled(_or_inf(log_delta)) - scaled(math.log(self.delta))

    def _guess(self, unknown: Unknown) -> float:
        """The leading order, with 1/flip or the number of messages for the square in :attr:`likely_budget`."""
        if unknown.is_budget:
            value = self.likely_budget
        elif unknown.role == "flip":
            value = min(2.0 / (self.n * self._noise), 0.5 * unknown.private)
        elif unknown.role == "noise":  # of numbers in [0, 1], a part of the range of others
            value = 1e-6 * unknown.private / math.sqrt(self.n * self._noise)
        else:
            value = 4.0 / self._noise / (1 if unknown.whole else self.n)
        ends = sorted((unknown.private, unknown.loose))
        return unknown.coordinate(min(max(value, ends[0]), ends[1]))

    def _impossible(self, unknown: Unknown) -> ShuffleDPError:
        """In words; where the bound or the mechanism refuses the most private value, that is the answer."""
        try:
            mechanism = unknown.make(unknown.private)
            eps = self.reached(mechanism)
        except (ParameterError, BoundNotApplicableError) as error:
            return error
        return ImpossibleError(
            f"epsilon = {round_down(self.epsilon, 6)} at delta = {round_down(self.delta, 6)} cannot be reached "
            f"by {self._in_words(mechanism)}: even {unknown.name} = {unknown.private:g} leaves {in_words(eps)}; raise "
            "epsilon or delta, or collect from more users."
        )

    def _in_words(self, mechanism: Mechanism) -> str:
        """What was asked to meet the target."""
        times = f"{self.count:,} rounds of " if self.count > 1 else ""
        n, less = self.crowd.n, self.crowd.n - self.n
        return f"{times}{mechanism.name} with n = {n:,}" + (f", {less:,} of them missing" if less else "")


def scaled(log_delta: float) -> float:
    """-log(-log delta)/2: nearly linear in log eps0 and in log n, since log delta is like -(eps/sigma)^2/2."""
    if log_delta == -math.inf:
        return -math.inf
    return -0.5 * math.log(-log_delta) if log_delta < -1e-9 else math.inf


def in_words(eps: float) -> str:
    """An eps for the end of a sentence."""
    return "no finite eps" if math.isinf(eps) else f"eps = {round_up(eps)}"


def _or_inf(call: Callable[[], float]) -> float:
    """Outside the range of a mechanism or of a bound nothing is private enough."""
    try:
        return call()
    except (ParameterError, BoundNotApplicableError):
        return math.inf
