"""One scale for all that is open: the loosest mechanisms with which the rounds of every period meet the budget.

Every open entry has a weight.  *local*: its local budget is scale times weight.  *central*: the eps of one of its
rounds, at the delta of the budget, is scale times weight; this is defined for flips and messages too.  Either way each
entry becomes less private as the scale rises, and so does the whole.  The Gaussian picture says where to begin; what is
returned was computed as ``check`` computes it (:class:`Together`).  A programme that is over its budget is scaled the
same way, by one factor for all local budgets (:func:`fitting`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .._support.numbers import round_down, round_up
from ..accounting.rounds import Rounds
from ..calibration.asked import question
from ..calibration.search import largest
from ..calibration.target import Target, in_words
from ..calibration.unknowns import Unknown
from ..composing.accountant import Accountant
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError
from ..mechanisms.base import Mechanism
from ..numerics.composition.conversions import epsilon_of, mu_of
from ..numerics.composition.sequential import LEAST_DELTA
from .result import Fit
from .spec import Draft, Period, Programme
from .values import place

#: Relative accuracy of the eps of one round, as in amplify.
ACCURACY = 1e-4


class Together:
    """What the rounds of a period cost together; profiles are shared with ``shop``, an accountant.

    Attributes
    ----------
    method : "amplify" (one round), "pld" or "renyi"
    """

    def __init__(self, programme: Programme, period: Period, shop: Accountant) -> None:
        self._programme, self._period, self._shop = programme, period, shop
        counts = zip(programme.rounds, period.counts, strict=True)
        self._entries = [(i, planned.entry.first(count)) for i, (planned, count) in enumerate(counts) if count]
        small = 0.5 * programme.delta < LEAST_DELTA
        one = sum(entry.cost for _, entry in self._entries) == 1
        self.method = "amplify" if one else "renyi" if small else "pld"

    @cached_property
    def accountant(self) -> Accountant:
        """The accountant of these rounds."""
        made = self._shop.first(0)
        for number, entry in self._entries:
            with place(f"rounds[{number}]"):
                made.add(entry)
        return made

    def epsilon(self, delta: float) -> float:
        """eps of these rounds at delta."""
        accountant = self.accountant  # refuses rounds that cannot be composed
        if self.method == "amplify":
            number = self._entries[0][0]
            return self._programme.rounds[number].entry.resolved.epsilon(delta=delta, tol=ACCURACY).epsilon
        return accountant.epsilon(delta=delta, method=self.method)

    def lower(self, delta: float) -> float | None:
        """An eps that no analysis of these rounds can go below; None where nothing is known."""
        if self.method == "amplify":
            return self._entries[0][1].resolved.lower(delta=delta, tol=ACCURACY)
        return None if self.method == "renyi" else self.accountant.lower_epsilon(delta=delta)


# -- the search ------------------------------------------------------------------------------------------------

#: Figures of a number that was found.
_FIGURES = 6
_MORE = 1.0 + 1e-12
#: Smallest share of the budget that one round is asked to keep to.
_LEAST_SHARE = 1e-7
#: Relative accuracy of a first look.
_COARSE = 1e-2
#: The mechanisms of the open entries at a scale.
Make = Callable[[float], dict[int, Mechanism]]


@dataclass(frozen=True)
class Found:
    """The scale, the mechanisms of the open entries by their number, and eps as ``check`` gives it."""

    scale: float
    mechanisms: dict[int, Mechanism]
    epsilon: float


@dataclass
class Scale:
    """The search for the scale of a draft; ``rows`` are the open entries by number, ``weights`` their shares.

    Entries that are not open need no row: their mechanism is known (``fixed``, where the draft does not name it).
    """

    draft: Draft
    central: bool
    shop: Accountant = field(default_factory=Accountant)
    fixed: Mapping[int, Mechanism] = field(default_factory=dict)

    def target(self, number: int, epsilon: float) -> Target:
        """One round of an entry, which may cost ``epsilon``."""
        terms = self.draft.entries[number]
        reports = terms.numbers.get("reports_per_user", 1)
        crowd = dataclasses.replace(terms.crowd, reports_per_user=reports)
        return Target(crowd, epsilon, self.draft.delta, terms.bound, _COARSE)

    def shares(self, weights: Mapping[int, float]) -> dict[int, float]:
        """What one round of every open entry may cost, about, if the weights are those of eps and all of it is open."""
        mu = mu_of(self.draft.epsilon, self.draft.delta)
        most = max(sum(self._cost(i, period) * weights[i] ** 2 for i in weights) for period in self.draft.periods)
        unit = mu / math.sqrt(max(most, 1e-300))
        return {i: min(epsilon_of(unit * w, self.draft.delta), self.draft.epsilon) for i, w in weights.items()}

    def solve(self, rows: Mapping[int, Unknown], weights: Mapping[int, float], tol: float) -> Found:
        """The largest scale at which the worst period meets the budget, to within the share ``tol`` of it.

        Raises ImpossibleError where not even the smallest does.
        """
        make = self._by_share(rows, weights) if self.central else self._by_budget(rows, weights)
        low, high = self._range(rows, weights)
        seen: dict[float, Found] = {}

        def excess(u: float) -> float:
            found = self._look(math.exp(u), make)
            if found is None:
                return math.inf
            seen[u] = found
            return math.log(found.epsilon) - math.log(self.draft.epsilon) if found.epsilon > 0.0 else -math.inf

        start = self._start(rows, weights, low, high)
        slope = 1.0 if self.central else max(1.0, 0.5 * math.exp(start) * max(weights.values()))
        window = -math.log1p(-tol)
        u = largest(excess, low=low, high=high, start=start, window=window, close=1e-9, reach=0.3, slope=slope)
        if u is None:
            raise self._impossible(make(math.exp(low)))
        return seen[u]

    def one_round(self, found: Mapping[int, Mechanism]) -> dict[int, float]:
        """eps of one round of every entry that was found, at the delta of the budget."""
        return {i: self._one(i, m, _COARSE) for i, m in found.items()}

    # -- the parts of the search ----------------------------------------------------------------------------------

    def _by_budget(self, rows: Mapping[int, Unknown], weights: Mapping[int, float]) -> Make:
        return lambda scale: {i: row.make(shortened(scale * weights[i], row)) for i, row in rows.items()}

    def _by_share(self, rows: Mapping[int, Unknown], weights: Mapping[int, float]) -> Make:
        targets = {i: self.target(i, 1.0) for i in rows}

        def one(i: int, scale: float) -> Mechanism:
            targets[i].epsilon, targets[i].tol = scale * weights[i], 1e-4
            try:
                found = targets[i].loosest(rows[i])
            except ImpossibleError:
                return rows[i].make(rows[i].private)
            value = getattr(found, rows[i].name, None)
            return rows[i].make(shortened(value, rows[i])) if isinstance(value, float) else found

        return lambda scale: {i: one(i, scale) for i in rows}

    def _range(self, rows: Mapping[int, Unknown], weights: Mapping[int, float]) -> tuple[float, float]:
        """Logarithms of the scales that are tried."""
        if self.central:  # a round that costs more than the whole budget does not fit
            high = math.log(self.draft.epsilon) - math.log(max(weights.values()))
            return high + math.log(_LEAST_SHARE), high
        low = max(math.log(row.private / weights[i]) for i, row in rows.items())
        high = min(math.log(row.loose / weights[i]) for i, row in rows.items())
        if low > high:
            raise ImpossibleError(
                "weights leave no local budgets in their ranges at any scale; choose weights that are closer together."
            )
        return low, high

    def _look(self, scale: float, make: Make) -> Found | None:
        """What the programme costs at a scale, as check computes it; None outside the range of a mechanism."""
        try:
            mechanisms = make(scale)
            return Found(scale, mechanisms, self.spent(mechanisms))
        except (BoundNotApplicableError, ParameterError):
            return None

    def spent(self, mechanisms: Mapping[int, Mechanism]) -> float:
        """eps of the worst period with these mechanisms."""
        programme = self.draft.closed({**self.fixed, **mechanisms})
        return max(Together(programme, period, self.shop).epsilon(programme.delta) for period in programme.periods)

    def _start(self, rows: Mapping[int, Unknown], weights: Mapping[int, float], low: float, high: float) -> float:
        """Where the Gaussian picture meets the budget: the squares of mu add up."""
        delta = self.draft.delta
        mu = mu_of(self.draft.epsilon, delta)
        beside = {i: mu_of(self._one(i, None, _COARSE), delta) for i in range(len(self.draft.entries)) if i not in rows}
        make = None if self.central else self._by_budget(rows, weights)

        def excess(u: float) -> float:
            scale = math.exp(u)
            made = {} if make is None else make(scale)
            spent = {i: scale * weights[i] if make is None else self._one(i, made[i], _COARSE) for i in rows}
            mus = beside | {i: mu_of(max(eps, 1e-12), delta) for i, eps in spent.items()}
            most = max(sum(self._cost(i, p) * m * m for i, m in mus.items()) for p in self.draft.periods)
            return 0.5 * math.log(max(most, 1e-300)) - math.log(mu)

        shares = self.shares(weights)
        guess = min(shares[i] / w for i, w in weights.items())
        if make is not None:
            near = {i: self.target(i, shares[i]).near(row) for i, row in rows.items()}
            budgets = [rows[i].value(u) / weights[i] for i, u in near.items() if u is not None]
            guess = min(budgets, default=math.exp(low))
        begin = min(max(math.log(guess), low), high)
        found = largest(excess, low=low, high=high, start=begin, window=_COARSE, close=1e-3, slope=1.5)
        return low if found is None else found

    def _one(self, number: int, mechanism: Mechanism | None, tol: float) -> float:
        """eps of one round of an entry, about; inf where nothing is known."""
        terms = self.draft.entries[number]
        asked = mechanism or self.fixed.get(number) or terms.made().whole
        try:
            crowd = dataclasses.replace(terms.crowd, reports_per_user=1)
            return Rounds(asked, terms.bound, crowd).epsilon(delta=self.draft.delta, tol=tol)
        except (BoundNotApplicableError, ParameterError):
            return math.inf

    def _cost(self, number: int, period: Period) -> int:
        """How many times one user's value is at stake in the rounds of an entry in a period."""
        numbers, times = self.draft.entries[number].numbers, period.counts[number]
        limit = numbers.get("participation_limit")
        reports: int = numbers.get("reports_per_user", 1)
        return (times if limit is None else min(times, limit)) * reports

    def _impossible(self, most_private: dict[int, Mechanism]) -> ImpossibleError:
        least = self.spent(most_private)
        budget = f"epsilon = {round_down(self.draft.epsilon, 6)} at delta = {round_down(self.draft.delta, 6)}"
        return ImpossibleError(
            f"{budget} cannot be reached by this programme: even the most private settings of the open rounds leave "
            f"{in_words(least)}; raise epsilon or delta, run fewer rounds, or collect from more users."
        )


def shortened(value: float, row: Unknown) -> float:
    """The value in few figures, on the private side: less of a budget, more flips, messages or noise."""
    if row.whole:
        return value
    # what differs by round-off alone from a short number is that number
    short = float(round_down(value * _MORE, _FIGURES) if row.is_budget else round_up(value / _MORE, _FIGURES))
    return min(max(short, min(row.private, row.loose)), max(row.private, row.loose))


# -- what would fit --------------------------------------------------------------------------------------------

#: Longer programmes are not searched: each look composes all of their rounds.
_MOST = 20
#: The answer is within this share of the budget.
_TOL = 0.01


def fitting(programme: Programme, shop: Accountant) -> Fit | None:
    """The factor for all local budgets with which the programme fits; None if there is none, or it was not searched.

    Mechanisms without a local budget of their own (flips, messages, several parts) are left as they are.
    """
    if len(programme.rounds) > _MOST:
        return None
    rows, weights = {}, {}
    for number, planned in enumerate(programme.rounds):
        try:
            row = question(planned.whole, planned.crowd.n, None, {})
        except (ParameterError, BoundNotApplicableError):
            continue
        held = getattr(planned.whole, row.name, None) if isinstance(row, Unknown) and row.is_budget else None
        if isinstance(held, float) and isinstance(row, Unknown):
            rows[number], weights[number] = row, held
    fixed = {number: planned.whole for number, planned in enumerate(programme.rounds) if number not in rows}
    if not rows:
        return None
    try:
        found = Scale(programme, central=False, shop=shop, fixed=fixed).solve(rows, weights, _TOL)
    except (ImpossibleError, BoundNotApplicableError, ParameterError):
        return None
    whole = {**fixed, **found.mechanisms}
    specs = tuple(whole[number].spec for number in range(len(programme.rounds)))
    return Fit(factor=found.scale, epsilon=found.epsilon, mechanisms=specs)
