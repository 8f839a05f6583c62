"""What a check found: every entry of a programme, the verdict, and the statement for a privacy review."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, count_column, epsilon_column
from .._support.text import visible
from ..accounting.guarantee import absent, at_most, not_below
from ..accounting.outputs import About, WithOutputs
from ..composing.composed_guarantee import rounds_in_words
from ..errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels
    from .._support.statement import Statement
    from ..composing.accountant import Accountant

#: How eps was found, in words.
_WORDS = {
    "amplify": "one round, no composition",
    "pld": "composed by privacy loss distributions",
    "renyi": "composed by Renyi divergences, since delta is too small for privacy loss distributions",
}


@dataclass(frozen=True)
class CheckedRounds:
    """One entry of a programme.

    Attributes
    ----------
    name, mechanism : as written; a missing name is replaced by the spec
    epsilon : of *one* of these rounds at the target delta, never too small
    bound : the bound that gave it
    users, dropouts, colluding, counted : users asked, users who may be missing at worst, and the rest
    minimum_batch : a smaller batch is not released, or None
    count, participation_limit, reports_per_user : as written
    cost : how many times one user's value is put at stake
    local_epsilon : the local guarantee of one round if the shuffler fails; inf if there is none

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.check({"version": 1, "target": {"epsilon": 1, "delta": "1e-8"},
    ...                    "rounds": [{"mechanism": "grr:eps0=2,d=64", "users": 1000, "colluding": 0.05}]})
    >>> found.rounds[0].counted, found.rounds[0].local_epsilon
    (950, 2.0)
    """

    name: str
    mechanism: str
    epsilon: float
    bound: str
    users: int
    dropouts: int
    colluding: int
    counted: int
    minimum_batch: int | None
    count: int
    participation_limit: int | None
    reports_per_user: int
    cost: int
    local_epsilon: float

    def cost_of(self, count: int) -> int:
        """How many times one user's value is put at stake in ``count`` of these rounds."""
        most = count if self.participation_limit is None else self.participation_limit
        return min(count, most) * self.reports_per_user

    def __repr__(self) -> str:
        """One line: how many rounds of which mechanism, and the eps of one of them."""
        eps = "no finite eps" if math.isinf(self.epsilon) else f"eps <= {round_up(self.epsilon)}"
        return visible(f"<CheckedRounds {self.name!r}: {rounds_in_words(self.count)}, {eps} each>")

    def __str__(self) -> str:
        """One line of the statement."""
        text = f"{self.name}: {rounds_in_words(self.count)}"
        text += f" of {self.mechanism}" if self.name != self.mechanism else ""
        text += f" with {self.users:,} users"
        if self.minimum_batch is None:
            text += absent(self.users, self.dropouts, self.colluding)
        else:
            text += f", released only with {self.minimum_batch:,} or more" + absent(self.users, 0, self.colluding)
        if self.participation_limit is not None and self.participation_limit < self.count:
            text += f", each user in at most {self.participation_limit:,}"
        if self.reports_per_user > 1:
            text += f", {self.reports_per_user:,} reports of each user"
        single = "one report has" if self.reports_per_user > 1 else "one round has" if self.count > 1 else "it has"
        eps = "no finite eps" if math.isinf(self.epsilon) else f"eps = {round_up(self.epsilon)}"
        local = "nothing" if math.isinf(self.local_epsilon) else f"eps0 = {round_up(self.local_epsilon)}"
        return f"{text}; {single} {eps} (bound: {self.bound}), and {local} without the shuffler."


@dataclass(frozen=True)
class Fit:
    """What would fit: every local budget times ``factor``.

    Attributes
    ----------
    factor : below 1
    epsilon : of the programme with these budgets, within it
    mechanisms : the specs, entry by entry; what has no local budget is unchanged

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.check({"version": 1, "target": {"epsilon": 0.1, "delta": "1e-8"},
    ...                    "rounds": [{"mechanism": "grr:eps0=2,d=64", "users": 1000}]})
    >>> found.fits.factor < 1.0, found.fits.epsilon <= 0.1
    (True, True)
    """

    factor: float
    epsilon: float
    mechanisms: tuple[str, ...]


@dataclass(frozen=True)
class Check(WithOutputs, Tabular):
    """Whether all rounds of a programme together stay within its budget.

    Attributes
    ----------
    within : epsilon is at most the target as it was written; str() is the statement for a review
    epsilon : of all rounds together at ``delta``, never too small; inf if no finite value reaches it
    lower : an eps that no analysis of these rounds can go below; None where nothing is known
    target_epsilon, delta : the budget
    left_epsilon, left_delta : the remaining budget: anything else on the same users fits if it is
        (left_epsilon, left_delta)-DP (basic composition: the rounds are charged at delta - left_delta); None if nothing
        is left
    pure_epsilon : the sum of the local guarantees, which holds with delta = 0 even if the shuffler fails; of one period
        where the rounds of a period are counted, else of all rounds
    method : "amplify" (one round), "pld" or "renyi"
    name, rounds : of the programme
    neighbors, trust : the terms
    per : the period that the budget, and ``epsilon``, are for ("quarter"); None for all rounds together
    period, period_counts : the period that costs most, and how many rounds of every entry it has; None without dates
    all_periods_epsilon : of all periods together, where their dates are known
    fits : over budget, the local budgets that would fit; None if there are none, or more than 20 entries
    accountant : of the rounds that ``epsilon`` is for; :meth:`tradeoff`, :meth:`renyi_curve` and :meth:`profile` ask it

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.check({"version": 1, "target": {"epsilon": 1, "delta": "1e-8"},
    ...                    "rounds": [{"mechanism": "grr:eps0=2,d=64", "users": 1000}]})
    >>> found.within, found.method
    (True, 'amplify')
    """

    within: bool
    epsilon: float
    lower: float | None
    target_epsilon: float
    delta: float
    left_epsilon: float | None
    left_delta: float | None
    pure_epsilon: float
    method: str
    name: str | None
    rounds: tuple[CheckedRounds, ...]
    neighbors: str
    trust: str
    per: str | None = None
    period: str | None = None
    period_counts: tuple[int, ...] | None = None
    all_periods_epsilon: float | None = None
    fits: Fit | None = None
    accountant: Accountant | None = field(default=None, repr=False, compare=False)

    def _about(self) -> About:
        if self.accountant is None:
            raise ParameterError(
                "a check must have rounds to give further outputs, got one of plans that cannot be read; repair them "
                "first."
            )
        found = self.accountant._about()
        name = f"{self.name!r}, {found['subject']}" if self.name else found["subject"]
        return About(**{**found, "subject": f"{name} in one {self._period}" if self.per else name, "trust": self.trust})

    def table(self) -> Table:
        """One row per entry of the programme."""
        rows = self.rounds
        limited = any(r.participation_limit is not None for r in rows)
        columns = (
            Column(name="name", head="rounds", values=[r.name for r in rows]),
            Column(name="mechanism", head="mechanism", values=[r.mechanism for r in rows]),
            count_column("users", "users", [r.users for r in rows]),
            count_column("counted", "counted on", [r.counted for r in rows]),
            count_column("count", "rounds", [r.count for r in rows]),
            count_column("participation_limit", "limit" if limited else None, [r.participation_limit for r in rows]),
            count_column("cost", "cost" if limited else None, [r.cost for r in rows]),
            epsilon_column("epsilon", "eps of one", [r.epsilon for r in rows]),
            Column(name="bound", head="bound", values=[r.bound for r in rows]),
            epsilon_column("local_epsilon", "local eps", [r.local_epsilon for r in rows]),
        )
        return Table(columns, caption=self.verdict, notes=tuple(map(visible, self._lines())))

    @property
    def verdict(self) -> str:
        """Within or over the budget, and the name of the programme."""
        verdict = "WITHIN BUDGET" if self.within else "OVER BUDGET"
        return visible(f"{verdict}: {self.name}" if self.name else verdict)

    def __repr__(self) -> str:
        """One line: the verdict, what is spent and the budget."""
        number = rounds_in_words(sum(r.count for r in self.rounds))
        spent = at_most(self.epsilon, self.delta)
        return f"<Check {self.verdict}: {spent}, budget {round_down(self.target_epsilon, 12)}, {number}>"

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """A figure: what is spent against the budget (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing import draw_check

        return draw_check(self, width=width, ax=ax, labels=labels)

    def __str__(self) -> str:
        """A statement that can be pasted into a privacy review."""
        return "\n".join(map(visible, self._lines()))

    def statement(self, *, kept: str = "") -> Statement:
        """One page for people who sign, of all questions together; only of plans that ship (:class:`CheckedPlans`).

        kept : how long reports are kept, in words, such as "90 days"
        """
        raise ParameterError(
            "a statement must be asked of the plans that ship, got the check of a programme without any; write them "
            "with shuffledp calibrate --programme FILE --plans DIR."
        )

    def _lines(self) -> Iterator[str]:
        yield self.verdict
        counts = self.period_counts or tuple(r.count for r in self.rounds)
        number, cost = sum(counts), sum(r.cost_of(count) for r, count in zip(self.rounds, counts, strict=True))
        delta, least = round_up(self.delta, 12), round_down(self.delta, 12)
        together = "1 round is" if number == 1 else f"{number:,} rounds over the same users are together"
        often = f", for users whose value is at stake {cost:,} times at most" if cost != number else ""
        budget = f"the budget is ({round_down(self.target_epsilon, 12)}, {least})"
        budget += f" per {self.per}" if self.per else ""
        if math.isinf(self.epsilon):
            yield f"{rounds_in_words(number)}: no finite eps reaches delta = {least}, {self.neighbors}; {budget}."
        else:
            yield (
                f"{self._when()}{together} ({round_up(self.epsilon)}, {delta})-DP, {self.neighbors}{often} "
                f"({_WORDS[self.method]}){self._least()}; {budget}."
            )
        for entry in self.rounds:
            yield f"- {entry}"
        yield self._left()
        if self.fits is not None:
            yield self._fits(self.fits)
        counted = self.per is not None and self.all_periods_epsilon is None
        if counted:
            yield (
                f"The budget is for one {self._period}: several of them together, or a span that reaches into two, may "
                "cost the same users more."
            )
        elif self.all_periods_epsilon is not None:
            whole = self.all_periods_epsilon
            eps = "no finite eps" if math.isinf(whole) else f"({round_up(whole)}, {delta})-DP"
            yield f"The budget is for one {self._period}; all of them together: {eps}."
        if math.isinf(self.pure_epsilon):
            yield "If the shuffler fails, not every round has a local guarantee that remains."
        else:
            of = f" of one {self._period}" if counted else ""
            yield f"If the shuffler fails, all local guarantees{of} together leave eps = {round_up(self.pure_epsilon)}."
        yield f"Trusted: {self.trust}."

    @property
    def _period(self) -> str:
        """What the budget is for, as a noun."""
        return f"period of {self.per}" if self.per and self.per[0].isdigit() else self.per or ""

    def _when(self) -> str:
        """The period that the claim is for, where there is one."""
        if self.period and self.period.startswith("from "):
            return f"In the {self._period} {self.period}, the one that costs most, "
        if self.period:
            return f"In {self.period}, the {self._period} that costs most, "
        return f"In every {self._period} " if self.per else ""

    def _fits(self, fits: Fit) -> str:
        """What to write instead; those who read the statement copy it."""
        changed = [
            f"{made} for {entry.name}" if entry.name != entry.mechanism else made
            for entry, made in zip(self.rounds, fits.mechanisms, strict=True)
            if made != entry.mechanism
        ]
        return f"It fits with the local budgets times {round_down(fits.factor, 4)}: {'; '.join(changed)}."

    @property
    def _hopeless(self) -> bool:
        """Whether no analysis can bring these rounds within the budget."""
        return self.lower is not None and self.lower > self.target_epsilon

    def _least(self) -> str:
        """The lower end, to stand behind the upper one."""
        if self.lower is None or self._hopeless:  # then it has a sentence of its own
            return ""
        return f"; no analysis can claim less than {not_below(self.lower, self.delta)}"

    def _left(self) -> str:
        if not self.within:
            if self.lower is not None and self._hopeless:
                least = not_below(self.lower, self.delta)
                return f"No analysis of these rounds can claim less than eps = {least}: change them."
            return "Run fewer rounds, collect from more users, or lower the local budgets."
        if self.left_epsilon is None or self.left_delta is None:
            return "Remaining budget: none worth stating."
        when = f" in each {self._period}" if self.per else ""
        left = f"({round_down(self.left_epsilon)}, {round_down(self.left_delta, 6)})-DP"
        return (
            f"Remaining budget: {left} for anything else on the same users{when}; further rounds may cost less if they "
            "are listed here."
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        plain = asdict(replace(self, accountant=None))
        del plain["accountant"]
        return {**json_object(plain), "statement": str(self)}
