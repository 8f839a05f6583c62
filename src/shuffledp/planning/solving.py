"""The least noisy mechanism of a candidate that meets a budget over all rounds, or the most private one for an error.

Nothing here is trusted with privacy: the eps of what is returned was computed for it, by amplify's own resolution for
one round and by the accountant for several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .._support.numbers import round_down, round_up
from ..accounting.crowd import Crowd
from ..accounting.resolve import resolve
from ..accounting.rounds import Rounds, kind_of
from ..calibration.search import Crossing, best_of_range, largest
from ..calibration.target import Target
from ..calibration.unknowns import Unknown, row_of
from ..errors import ImpossibleError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..numerics.composition.profile_curve import COARSE, MEDIUM
from .candidates import Candidate
from .leading_order import PAIRS, at_divergence, divergence, likely_place

#: Relative accuracy of eps over several rounds, whose composition is expensive.
_TOL_ROUNDS = 2e-3
#: The bound whose profile is sampled quickly; others are at fewer points, which may cost 0.3 % of eps.
_QUICK = "blanket"
#: The bound that takes the place of one whose profile is not sampled quickly, where it is about as good.
_QUICK_TOO = "swap"
#: Pairs of inputs up to which a guarantee is computed quickly, and their atoms up to which it is over several rounds.
_FEW_PAIRS, _FEW_ATOMS = 4, 100
#: Significant figures of the numbers in a spec.
_FIGURES = 6


class Spent(NamedTuple):
    """The eps of a mechanism over all rounds, and the bound that gave that of a round."""

    epsilon: float
    bound: str


def one_round(mechanism: Mechanism, bound: str = "auto", *, n: int, delta: float, tol: float) -> Spent:
    """As amplify would answer."""
    asked = resolve(mechanism, bound, Crowd(n)).must_hold("be planned")
    found = asked.epsilon(delta=delta, tol=tol)
    return Spent(found.epsilon, found.bound or asked.bound.name)


@dataclass
class Budget:
    """(epsilon, delta) over all rounds of the users that can be counted on; ``tol`` is the accuracy of that of a round.

    ``most_local`` bounds what remains over all rounds if the shuffler fails.
    """

    n: int
    delta: float
    rounds: int = 1
    tol: float = 1e-3
    most_local: float = math.inf
    known: dict[str, Spent] = field(default_factory=dict)
    #: What was found for the name of a candidate and an epsilon, and about where it was looked for.
    found: dict[tuple[str, float], Mechanism] = field(default_factory=dict)
    near: dict[tuple[str, float], tuple[Unknown, Crossing]] = field(default_factory=dict)
    #: The divergence at which settings are compared for an epsilon, about the same for all candidates.
    levels: dict[float, float] = field(default_factory=dict)

    @property
    def anyhow(self) -> Budget:
        """The same without a limit on what remains if the shuffler fails."""
        if math.isinf(self.most_local):
            return self
        return Budget(n=self.n, delta=self.delta, rounds=self.rounds, tol=self.tol)

    def spent(self, mechanism: Mechanism, bound: str | None = None) -> Spent:
        """The eps of all rounds, never too small; that of several by one bound, the best of a round unless it is named.

        Another bound has no place in a search for the same mechanism: what was found first is kept.
        """
        spec = mechanism.spec
        if spec not in self.known:
            if self.rounds == 1:
                self.known[spec] = one_round(mechanism, n=self.n, delta=self.delta, tol=self.tol)
            else:
                by = bound or self._best_bound(mechanism)
                every = Rounds(mechanism, by, Crowd(self.n), count=self.rounds).must_hold("be planned")
                # one with kinks is sampled at more points than it is asked for: either way 0.05 % of eps
                ladder = MEDIUM if by == _QUICK and not kind_of(every.one).kinked else COARSE
                self.known[spec] = Spent(every.epsilon(delta=self.delta, tol=self.tol, ladder=ladder), by)
        return self.known[spec]

    def local(self, mechanism: Mechanism) -> float:
        """What remains over all rounds if the shuffler fails: the sum of the local guarantees, rounded up."""
        if self.rounds == 1:
            return mechanism.local_epsilon
        from ..numerics.composition.sequential import basic_composition

        return basic_composition([(mechanism.local_epsilon, self.rounds)])

    # -- a budget is given ------------------------------------------------------------------------------------------

    def look(self, candidates: Sequence[Candidate], epsilon: float) -> None:
        """Where each of them about meets epsilon, by the eps of one round: asked together, in half of the time."""
        target = self._target(self._each(epsilon))
        rows, starts, accounted = {}, [], []
        for candidate in candidates:
            with suppress(ShuffleDPError):  # it will say so when it is asked by itself
                row = self._row(candidate, epsilon)
                accounted.append(candidate.accounted(neat(row)))
                starts.append(_start(target, accounted[-1]))
                rows[candidate.name] = row
        found = target.crossings(accounted, starts)
        for (name, row), at in zip(rows.items(), found, strict=True):
            if at is not None:
                self.near[name, epsilon] = row, at

    def least_noisy(self, candidate: Candidate, epsilon: float) -> Mechanism:
        """The mechanism of the row that is loosest among those that meet epsilon."""
        asked = candidate.name, epsilon
        if asked not in self.found:
            self.found[asked] = self._least_noisy(candidate, epsilon)
        return self.found[asked]

    def _least_noisy(self, candidate: Candidate, epsilon: float) -> Mechanism:
        asked = candidate.name, epsilon
        if asked not in self.near:
            self.look([candidate], epsilon)
        row, near = self.near.get(asked) or (self._row(candidate, epsilon), None)
        target = replace(self._target(epsilon), count=self.rounds, near_by=near)
        if self.rounds > 1 and near is not None:  # by all bounds it would take several times as long
            target.bound = self._best_bound(candidate.runs(row.at(near.u)))
        return _loosest(target, candidate, row)

    def _row(self, candidate: Candidate, epsilon: float) -> Unknown:
        """With an open setting chosen."""
        row = candidate.row
        if isinstance(row, FreeSetting):
            return self._settled(candidate, row, epsilon)
        return self._within(candidate, row)

    def _within(self, candidate: Candidate, row: Unknown) -> Unknown:
        """The part of a row that leaves at most ``most_local`` if the shuffler fails."""
        if math.isinf(self.most_local):
            return row

        def excess(value: float) -> float:
            return self.local(candidate.runs(row.make(value))) / self.most_local - 1.0

        alone = self.most_local / self.rounds * (1.0 - 2.0**-50)
        if row.is_budget and row.private <= alone and excess(min(alone, row.loose)) <= 0.0:
            return replace(row, loose=min(alone, row.loose))
        low, high = row.coordinate(row.private), row.coordinate(row.loose)
        found = largest(lambda u: excess(row.value(u)), low=low, high=high, start=0.5 * (low + high), window=1e-6)
        if found is None:
            raise ImpossibleError(
                f"If the shuffler fails, it leaves more than local_epsilon = {self.most_local:g} at every setting."
            )
        return replace(row, loose=row.value(found))

    def settled(self, candidate: Candidate, epsilon: float) -> Unknown:
        """The row of a candidate with its open setting, if it has one, chosen for epsilon."""
        near = self.near.get((candidate.name, epsilon))
        return self._row(candidate, epsilon) if near is None else near[0]

    def _best_bound(self, mechanism: Mechanism) -> str:
        """Of one round, or another that is about as good and sampled quickly; "auto" where one round says little."""
        asked: dict[str, Any] = {"n": self.n, "delta": self.delta, "tol": _TOL_ROUNDS}
        try:
            best = one_round(mechanism, **asked)
            if best.bound == "local":  # which is not the best for several
                return "auto"
            if resolve(mechanism, best.bound, Crowd(self.n)).family.quick:
                return best.bound
        except ShuffleDPError:
            return "auto"
        with suppress(ShuffleDPError):
            if one_round(mechanism, _QUICK_TOO, **asked).epsilon <= best.epsilon * (1.0 + _TOL_ROUNDS):
                return _QUICK_TOO
        return best.bound

    def _each(self, epsilon: float) -> float:
        """An eps of one round with which all may meet the target: that of Gaussians."""
        return replace(self._target(epsilon), count=self.rounds).single.epsilon

    def _target(self, epsilon: float) -> _Remembered:
        """Of one round."""
        tol = self.tol if self.rounds == 1 else _TOL_ROUNDS
        return _Remembered(Crowd(self.n), epsilon, self.delta, "auto", tol, budget=self)

    def _settled(self, candidate: Candidate, free: FreeSetting, epsilon: float) -> Unknown:
        """The row with the value of the open setting that is best by a quick measure of privacy.

        Settings are compared at budgets of equal chi-square divergence from the blanket, sum (P0 - P1)^2/t, which
        decides the guarantee to leading order; the chosen one is calibrated properly afterward.
        """
        target = replace(self._target(self._each(epsilon)), tol=0.02)
        capped = min(target.likely_budget, self.most_local / self.rounds)
        start = min(max(free.start(capped), free.low), free.high)
        row = self._within(candidate, row_of(free, start))
        target.start = likely_place(target, row)
        known = self.levels.get(epsilon)
        near = target.near(row) if known is None else at_divergence(row, known, target.start)
        level = None if near is None else known or divergence(row.at(near))
        if near is None or level is None:
            return row
        self.levels[epsilon] = level

        def error(setting: float, limit: float) -> float:
            own = self._within(candidate, row_of(free, setting))
            u = at_divergence(own, level, near)
            return math.inf if u is None else free.error(own.at(u), self.n)

        best = _best_setting(free, start, error)
        return self._within(candidate, row_of(free, best if free.whole else float(f"{best:.4g}")))

    def takes_long(self, candidate: Candidate, epsilon: float) -> bool:
        """Whether a guarantee is the largest over many pairs of inputs, or over several rounds of many atoms."""
        row = candidate.row
        if isinstance(row, FreeSetting):
            return False
        try:
            pairs = row.at(self._target(epsilon)._guess(row)).law.blanket_pairs(PAIRS)
        except ShuffleDPError:
            return False
        if not pairs or self.rounds == 1:
            return len(pairs or ()) > _FEW_PAIRS
        return len(pairs) > _FEW_PAIRS or sum(np.size(pair.P0) for pair in pairs) > _FEW_ATOMS

    def likely(self, candidate: Candidate, epsilon: float) -> Mechanism | None:
        """What meets epsilon to leading order, without computing a guarantee; None where that is not known."""
        row, target = candidate.row, self._target(self._each(epsilon))
        if isinstance(row, FreeSetting):
            row = row_of(row, min(max(row.start(target.likely_budget), row.low), row.high))
        with suppress(ImpossibleError):
            row = self._within(candidate, row)
        start = likely_place(target, candidate.accounted(row))
        return None if start is None else row.at(start)

    # -- an error is given ------------------------------------------------------------------------------------------

    def most_private(self, candidate: Candidate, error: float, allowed: Callable[[Mechanism], float]) -> Mechanism:
        """The noisiest mechanism of the row whose error is small enough; ``allowed`` is <= 0 within other limits."""
        row = candidate.row
        if not isinstance(row, FreeSetting):
            return self._for_error(candidate, row, error, allowed)
        free = row

        def cost(setting: float, limit: float) -> float:
            try:
                found = self._for_error(candidate, row_of(free, setting), error, allowed)
            except ShuffleDPError:
                return math.inf
            return divergence(found) or math.inf

        start = min(max(free.start(2.0), free.low), free.high)
        best = _best_setting(free, start, cost)
        return self._for_error(candidate, row_of(free, best), error, allowed)

    def _for_error(
        self, candidate: Candidate, row: Unknown, error: float, allowed: Callable[[Mechanism], float]
    ) -> Mechanism:
        def short(u: float) -> float:
            """Positive where the mechanism is too noisy, or sends too much."""
            found = row.at(u)
            worst = candidate.accuracy(found, self.n).worst
            return max(math.log(worst / error) if worst > 0.0 else -math.inf, allowed(found))

        low, high = row.coordinate(row.private), row.coordinate(row.loose)
        start = row.coordinate(min(max(1.0, row.private), row.loose)) if row.is_budget else 0.5 * (low + high)
        # the smallest u that is precise enough, as the largest -u
        found = largest(lambda v: short(-v), low=-high, high=-low, start=-start, window=1e-4, slope=1.0)
        if found is None:
            raise ImpossibleError(
                f"error = {error:g} cannot be reached by {candidate.mechanism} with n = {self.n:,} within the limits "
                "given; raise the error or collect from more users."
            )
        value = row.value(-found)
        rounded = value if row.whole else float((round_up if row.is_budget else round_down)(value, _FIGURES))
        low_end, high_end = sorted((row.private, row.loose))
        return row.make(min(max(rounded, low_end), high_end))


def _best_setting(free: FreeSetting, start: float, error: Callable[[float, float], float]) -> float:
    """The value of an open setting, near the start, with the smallest error."""
    low, high = free.around(start)
    return best_of_range(error, low=low, high=high, whole=free.whole, start=start, ratio=free.ratio)


@dataclass
class _Remembered(Target):
    """A target whose budget remembers the eps that were computed; ``near_by`` is where it was looked for before."""

    budget: Budget = field(kw_only=True)
    near_by: Crossing | None = None

    def crossing(self, unknown: Unknown) -> Crossing | None:
        """About where the target is met."""
        return super().crossing(unknown) if self.near_by is None else self.near_by

    def crossings(self, rows: Sequence[Unknown], starts: Sequence[float | None]) -> list[Crossing | None]:
        """The same of several rows, each with where to start."""
        known = [self._guess(row) if at is None else at for row, at in zip(rows, starts, strict=True)]
        return self._crossings(rows, known, self.tol)

    def reached(self, mechanism: Mechanism) -> float:
        """As amplify or the accountant would report it; specs have few figures, and a search comes back to them."""
        return self.budget.spent(mechanism, self.bound).epsilon


def _loosest(target: _Remembered, candidate: Candidate, row: Unknown) -> Mechanism:
    """The mechanism of the row (not yet what is run) that is loosest among those that meet the target."""
    asked: dict[str, Mechanism] = {}
    row = neat(row)

    def make(value: float) -> Mechanism:
        made = row.make(value)
        run = candidate.runs(made)
        asked[run.spec] = made
        return run

    whole = replace(row, make=make)
    if target.near_by is None:
        target.start = _start(target.single, whole)
    return asked[target.loosest(whole).spec]


def neat(row: Unknown) -> Unknown:
    """The same row in numbers of a few figures, rounded to the private side, for specs that people read."""
    low, high = sorted((row.private, row.loose))
    rounded = round_down if row.is_budget else round_up

    def make(value: float) -> Mechanism:
        return row.make(min(max(float(rounded(value, _FIGURES)), low), high))

    return row if row.whole else replace(row, make=make)


def _start(target: Target, row: Unknown) -> float | None:
    return None if row.role == "flip" else likely_place(target, row)
