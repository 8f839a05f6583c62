"""A central target (epsilon, delta) for a crowd and a number of rounds, and the loosest mechanism that meets it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from .._support import validation as check
from .._support.numbers import round_down, round_up
from ..accounting.crowd import Crowd
from ..accounting.rounds import Rounds
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..numerics.composition.gaussian import epsilon_of, mu_of
from ..numerics.search import smallest_whole
from .search import best_of_range, largest
from .unknowns import Unknown, row_of

#: A setting is found to within the first factor by an approximate delta; it is the best within the second one by the
#: exact delta, settings that are the third one apart being compared first.
_ROUGHLY, _AROUND, _APART = 1.1, 1.3, 1.14
#: The coarsest relative accuracy of delta.
_COARSE = 0.02


#: Accuracy of a root in units of the tolerance; how far a root of an approximate delta may be off; a step for slopes.
_WINDOW, _DOUBT, _STEP = 0.3, 0.05, 1e-3
#: From this d(log eps)/du on, an approximate delta does not tell where eps meets the target.
_STEEP = 3.0


class _UnknownError(Exception):
    """No approximate delta is known."""


class Start(NamedTuple):
    """Where the search for the answer begins, d(log eps)/du there, how far it may be off, and by which factor that."""

    u: float
    slope: float
    doubt: float
    trust: float = 2.0


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
    #: how far the last root was from that of an approximate delta
    _offset: float = 0.0

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
        unknown = self._dealt_out(unknown)

        def reached(value: float) -> float:
            return _or_inf(lambda: self.reached(unknown.make(value)))

        def excess(u: float) -> float:
            eps = reached(unknown.value(u))
            return math.log(eps) - math.log(self.epsilon) if eps > 0.0 else -math.inf

        near = self.single.start_of(unknown)
        low, high = unknown.coordinate(unknown.private), unknown.coordinate(unknown.loose)
        start = low if near is None else near.u
        value: float | None
        if unknown.whole:
            value = smallest_whole(
                lambda m: reached(m) - self.epsilon,
                low=int(unknown.loose),
                high=int(unknown.private),
                start=int(unknown.value(start)),
            )
        else:
            u = self._loosest(unknown, excess, near, low, high)
            value = None if u is None else unknown.value(u)
        if unknown.is_budget and (value is None or value < self.epsilon):  # the local guarantee alone may suffice
            plain = min(self.epsilon, unknown.loose)
            value = plain if reached(plain) <= self.epsilon else value
        if value is None:
            raise self._impossible(unknown)
        return unknown.make(value)

    def _loosest(
        self, unknown: Unknown, excess: Callable[[float], float], near: Start | None, low: float, high: float
    ) -> float | None:
        """The largest u without excess in log eps."""
        window = -math.log1p(-self.tol)
        if near is None or self.count > 1:
            # of several rounds only the Gaussian picture is known
            start, reach = (low, 2.0 * self.tol) if near is None else (near.u, 0.2)
            return largest(excess, low=low, high=high, start=start, window=window, reach=reach)
        reach = max(2.0 * self.tol, near.doubt)
        return largest(
            excess,
            low=low,
            high=high,
            start=near.u,
            window=window,
            reach=reach,
            slope=near.slope,
            trust=near.trust,
        )

    def _dealt_out(self, unknown: Unknown) -> Unknown:
        """In whole numbers, where several reports of a user share messages of which no part can be dealt out."""
        if self.crowd.reports_per_user == 1 or unknown.role != "messages" or unknown.whole:
            return unknown
        try:
            self._rounds(unknown.make(math.floor(unknown.loose) + 0.5))
        except BoundNotApplicableError:
            return replace(
                unknown,
                private=math.floor(unknown.private),
                loose=math.ceil(unknown.loose),
                inverse=lambda u: math.ceil(unknown.inverse(u) - 1e-6),
                whole=True,
            )
        return unknown

    def start_of(self, unknown: Unknown) -> Start | None:
        """Where the answer is expected, and how fast log eps rises there; None if the target is never met.

        An approximate delta is enough, unless eps is so steep that its error would cost many evaluations of eps.
        """
        found = self.near(unknown)
        return None if found is None else Start(found, 0.7, 0.0, math.inf)

    def near(self, unknown: Unknown, *, window: float | None = None, start: float | None = None) -> float | None:
        """Where the target is met, from single evaluations of delta(epsilon), without solving for eps."""
        log_delta = math.log(self.delta)
        room = _WINDOW * self.tol if window is None else window
        fine = min(max(room * -log_delta, 1e-7), _COARSE)
        rtol = _COARSE if window is None else fine

        def excess(u: float) -> float:
            nonlocal rtol
            y = self._look(unknown, u, rtol)
            rtol = min(max(0.1 * abs(y) * -log_delta, fine), _COARSE)  # far from the root a coarse value suffices
            return y

        if start is None:
            start = self._first(unknown)
        found = self._root(unknown, excess, start, room)
        if found is not None:
            self.start = found
        return found

    def _root(self, unknown: Unknown, excess: Callable[[float], float], start: float, window: float) -> float | None:
        """The largest u without excess; with a budget below the target the local guarantee is enough."""
        ends = [unknown.private]
        if unknown.is_budget:
            ends.insert(0, min(max(self._inside * (1.0 - 1e-9), unknown.private), unknown.loose))
        slope = _usual_slope(unknown, start)
        for end in dict.fromkeys(ends):
            low, high = unknown.coordinate(end), unknown.coordinate(unknown.loose)
            close = min(0.05 * self.tol, window)
            found = largest(excess, low=low, high=high, start=start, window=window, close=close, slope=slope)
            if found is not None:
                return found
        return None

    def _first(self, unknown: Unknown) -> float:
        return self._guess(unknown) if self.start is None else self.start

    def setting(self, free: FreeSetting) -> float:
        """The setting whose loosest mechanism has the smallest predicted error.

        An approximate delta tells about where it is; settings around it are compared exactly.
        """

        def error(setting: float, limit: float) -> float:
            return self.error(free, setting, limit)

        start = free.start(self.likely_budget)
        return best_of_range(error, low=free.low, high=free.high, whole=free.whole, start=start, ratio=free.ratio)

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
        start = None
        if math.isfinite(limit):
            # the smallest u with an error within the limit, as the largest -u
            needed = largest(
                lambda v: short(-v), low=-high, high=-low, start=-(self.start or 0.0), window=1e-6, slope=1.0
            )
            doubt = -0.5 * _COARSE / math.log(self.delta)  # error of a coarse value
            if needed is None:
                return math.inf
            y = self._look(row, -needed, _COARSE)
            if y > doubt:
                return math.inf
            start = -needed - y / _usual_slope(row, -needed) if math.isfinite(y) else None
        u = self.near(row, start=start)
        return math.inf if u is None else free.error(row.at(u), self.n)

    @property
    def likely_budget(self) -> float:
        """The leading order for eps0: eps^2 n = 2 log(1/delta) (2 sinh(eps0/2))^2."""
        return min(max(2.0 * math.asinh(0.5 * math.sqrt(self.n * self._noise)), 1e-6), check.MAX_EPS0)

    @property
    def _noise(self) -> float:
        """eps^2 over 2 log(1/delta) + 1; targets beyond 1e-100 or 1e100 are treated as these."""
        return min(max(self.epsilon, 1e-100), 1e100) ** 2 / (1.0 - 2.0 * math.log(self.delta))

    @property
    def _inside(self) -> float:
        """The reported eps is above the truth by some part of tol: aim at the middle of that margin."""
        return self.epsilon * (1.0 - 0.5 * self.tol)

    def _look(self, unknown: Unknown, u: float, rtol: float, eps: float | None = None) -> float:
        """delta(epsilon) at u against the target, positive if not private enough; nearly linear in u."""

        def log_delta() -> float:
            return self._rounds(unknown.at(u)).log_delta(self._inside if eps is None else eps, tol=rtol)

        return scaled(_or_inf(log_delta)) - scaled(math.log(self.delta))

    @property
    def _finest(self) -> float:
        return min(max(1e-3 * _STEP * -math.log(self.delta), 1e-7), _COARSE)

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


def _usual_slope(unknown: Unknown, u: float) -> float:
    """How fast a scaled delta usually rises with u."""
    return 0.5 * (1.0 + math.exp(-unknown.value(u))) if unknown.is_budget else 0.5


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
