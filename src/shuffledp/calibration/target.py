"""A central target (epsilon, delta) for a crowd and a number of rounds, and the loosest mechanism that meets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._support import validation as check
from .._support.numbers import round_down, round_up
from ..accounting.crowd import Crowd
from ..accounting.many import log_deltas
from ..accounting.resolve import Resolved
from ..accounting.rounds import Rounds
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..numerics.composition.conversions import epsilon_of, mu_of
from ..numerics.search import smallest_whole
from .search import Crossing, best_in_passes, crossing, largest, together
from .unknowns import Unknown, row_of

#: The longest first steps of a search, from a guess and from an interpolated root.
_REACH, _SURE = 0.5, 1e-3
#: Settings whose error exceeds the best by this factor are dropped: by a first guess, and by a good one.
_FIRST_LOOK, _NEARLY = 2.0, 1.05
#: Relative accuracy of eps where settings are compared.
_ALIKE = 1e-3
#: Where eps jumps, the unknown is found to this relative accuracy.
_JUMP = 1e-8
#: The coarsest relative accuracy of delta.
_COARSE = 0.02


@dataclass
class Target:
    """The target that ``amplify`` must confirm: eps at most ``epsilon``; ``start`` is where the last search ended.

    ``steps`` are those of the analyses seen so far.  With several rounds the accountant must confirm the target.
    """

    crowd: Crowd
    epsilon: float
    delta: float
    bound: str
    tol: float
    count: int = 1
    start: float | None = None
    steps: float = 0.0

    @property
    def n(self) -> int:
        """Users who can be counted on."""
        return self.crowd.honest

    @cached_property
    def single(self) -> Target:
        """The approximate target of one report, from which searches start and for which settings are chosen."""
        uses = self.count * self.crowd.reports_per_user
        if uses == 1:
            return self
        once = epsilon_of(mu_of(self.epsilon, self.delta) / math.sqrt(uses), self.delta)
        return replace(self, crowd=replace(self.crowd, reports_per_user=1), epsilon=min(once, self.epsilon), count=1)

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

        near = self.single.crossing(unknown)
        low, high = unknown.coordinate(unknown.private), unknown.coordinate(unknown.loose)
        value: float | None
        if unknown.whole:
            value = smallest_whole(
                lambda m: reached(m) - self.epsilon,
                low=int(unknown.loose),
                high=int(unknown.private),
                start=int(unknown.value(low if near is None else near.u)),
            )
        else:
            start, slope, jump = near or Crossing(low, 0.7)

            def excess(u: float) -> float:
                eps = reached(unknown.value(u))
                return math.log(eps) - math.log(self.epsilon) if eps > 0.0 else -math.inf

            u = largest(
                excess,
                low=low,
                high=high,
                start=start,
                window=-math.log1p(-self.single._accuracy(self.tol)),
                close=_JUMP,
                reach=min(max(2.0 * self.tol, _SURE), jump) if self.single is self else 0.2,
                slope=min(max(slope, 0.1), 1e12),
            )
            value = None if u is None else unknown.value(u)
        if unknown.is_budget and (value is None or value < self.epsilon):  # the local guarantee alone may suffice
            plain = min(self.epsilon, unknown.loose)
            value = plain if reached(plain) <= self.epsilon else value
        if value is None:
            raise self._impossible(unknown)
        return unknown.make(value)

    def _dealt_out(self, unknown: Unknown) -> Unknown:
        """A whole number of messages where several reports of a user share them, since a message cannot be divided."""
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

    def near(self, unknown: Unknown) -> float | None:
        """About where the target is met, to within ``tol``; None if nowhere."""
        found = self.crossing(unknown)
        return None if found is None else found.u

    def crossing(self, unknown: Unknown) -> Crossing | None:
        """The same with its slope, from settings that are evaluated together."""
        found = self._crossings([unknown], [self._guess(unknown) if self.start is None else self.start], self.tol)[0]
        if found is not None:
            self.start = found.u
        return found

    def _crossings(
        self,
        rows: Sequence[Unknown],
        starts: Sequence[float],
        tol: float,
        hopeless: Callable[[dict[int, float]], set[int]] | None = None,
    ) -> list[Crossing | None]:
        """Where every row of mechanisms meets the target; one call asks for one or two settings of each."""
        searches = [
            crossing(
                low=row.coordinate(row.private),
                high=row.coordinate(row.loose),
                start=start,
                reach=_REACH,
                window=lambda: 0.3 * self._accuracy(tol),
                slope=_usual_slope(row, start),
            )
            for row, start in zip(rows, starts, strict=True)
        ]
        return together(searches, lambda at: self._looks([self._question(rows[i], u) for i, u in at], tol), hopeless)

    def _accuracy(self, tol: float) -> float:
        """How well eps can be met: to ``tol``, or to the steps that the analysis itself makes."""
        return max(tol, self.steps)

    def _question(self, row: Unknown, u: float) -> Resolved | None:
        """One round of the mechanism at u; None outside its range and that of the bound."""
        try:
            question = self._rounds(row.at(u)).one
            self.steps = max(self.steps, question.family.steps)
        except (ParameterError, BoundNotApplicableError):
            return None
        return question

    def _looks(self, asked: Sequence[Resolved | None], tol: float) -> list[float]:
        """delta(epsilon) of every question against the target, positive if not private enough; nearly linear in u."""
        at, rtol = self.epsilon * (1.0 - 0.5 * tol), min(max(0.3 * tol * -math.log(self.delta), 1e-7), _COARSE)
        known = [question for question in asked if question is not None]
        try:
            found = iter(log_deltas(known, np.full(len(known), at), tol=rtol).tolist())
        except (ParameterError, BoundNotApplicableError):  # some are refused: ask one by one
            if len(asked) == 1:
                return [math.inf]
            return [y for question in asked for y in self._looks([question], tol)]
        level = scaled(math.log(self.delta))
        return [math.inf if question is None else scaled(next(found)) - level for question in asked]

    def setting(self, free: FreeSetting) -> float:
        """The setting whose loosest mechanism has the smallest predicted error; a whole grid is evaluated together."""
        known: dict[float, float] = {}

        def errors(settings: list[float]) -> list[float]:
            rows = [row_of(free, setting) for setting in settings]
            starts, margin = [self._guess(row) for row in rows], _FIRST_LOOK if len(best) <= 2 else _NEARLY
            if known:
                places = sorted(known)
                starts = np.interp(np.log(settings), np.log(places), [known[s] for s in places]).tolist()

            def error(i: int, u: float) -> float:
                return free.error(rows[i].at(u), self.n)

            def hopeless(about: dict[int, float]) -> set[int]:
                return {i for i, u in about.items() if error(i, u) > margin * min(best)}

            found = self._crossings(rows, starts, _ALIKE, hopeless)
            known.update({s: at.u for s, at in zip(settings, found, strict=True) if at is not None})
            values = [math.inf if at is None else error(i, at.u) for i, at in enumerate(found)]
            best.append(min(values))
            return values

        best = [math.inf]
        start = free.start(self.likely_budget)
        low, high = free.around(start)
        chosen = best_in_passes(errors, low=low, high=high, whole=free.whole, start=start, ratio=free.ratio)
        self.start = known.get(chosen)
        return chosen

    @property
    def likely_budget(self) -> float:
        """The leading order for eps0: eps^2 n = 2 log(1/delta) (2 sinh(eps0/2))^2."""
        return min(max(2.0 * math.asinh(0.5 * math.sqrt(self.n * self._noise)), 1e-6), check.MAX_EPS0)

    @property
    def _noise(self) -> float:
        """eps^2 over 2 log(1/delta) + 1; targets beyond 1e-100 or 1e100 are treated as these."""
        return min(max(self.epsilon, 1e-100), 1e100) ** 2 / (1.0 - 2.0 * math.log(self.delta))

    def _guess(self, unknown: Unknown) -> float:
        """The leading order, with 1/flip or the number of messages for the square in :attr:`likely_budget`."""
        if unknown.is_budget:
            value = self.likely_budget
        elif unknown.role == "flip":
            value = min(2.0 / (self.n * self._noise), 0.5 * unknown.private)
        elif unknown.role == "noise":  # a number in [0, 1], or a share of the range
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
    """-log(z)/2, nearly linear in log eps0 and in log n: x = -log delta is about z = (eps/sigma)^2/2, and 3 more."""
    x = -log_delta
    if math.isinf(x):
        return log_delta
    return -0.5 * math.log(x * x / (x + 4.0)) if x > 1e-9 else math.inf


def in_words(eps: float) -> str:
    """An eps for the end of a sentence."""
    return "no finite eps" if math.isinf(eps) else f"eps = {round_up(eps)}"


def _or_inf(call: Callable[[], float]) -> float:
    """Infinity outside the range of a mechanism or a bound, where nothing is private enough."""
    try:
        return call()
    except (ParameterError, BoundNotApplicableError):
        return math.inf
