"""What a plan or an answer means, for people who sign: in words and odds, with the formal paragraph last.

An attacker who must say which of two equally likely values a user has is right with probability at most
1/2 + TV/2, where TV is the total variation distance of what is seen in the two cases.  If that is (eps, delta)-DP, then
TV <= (e^eps - 1 + 2 delta)/(e^eps + 1): both errors a, b of a test satisfy a + e^eps b >= 1 - delta and
b + e^eps a >= 1 - delta (Kairouz, Oh, Viswanath, ICML 2015, Theorem 2.1), so that a + b >= 2 (1 - delta)/(1 + e^eps).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support import validation as check
from .._support.numbers import round_up
from .._support.statement import Section, Statement
from .._support.text import shortened
from ..accounting.guarantee import count_of
from ..errors import ParameterError
from .messages import message_length

if TYPE_CHECKING:
    from .plan import Plan

#: Options that are listed.
_LISTED = 12
#: More than the rounding of the few steps to a probability.
_SLACK = 2.0**-45


def right_guesses(epsilon: float, delta: float = 0.0) -> tuple[int, int]:
    """How often, of how many times, a guess between two equally likely values can be right; rounded up.

    Examples
    --------
    >>> right_guesses(0.1, 1e-8), right_guesses(0.001, 1e-8), right_guesses(2.0), right_guesses(math.inf)
    ((53, 100), (5003, 10000), (89, 100), (10000, 10000))
    """
    likely = 1.0 if math.isinf(epsilon) else (1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon))
    near = min(likely - 0.5, 0.5 * (1.0 - likely))  # to knowing nothing, or everything: then more figures are shown
    of = next((of for of, least in ((100, 0.02), (1000, 0.002)) if near >= least), 10_000)
    return min(of, math.ceil(of * likely * (1.0 + _SLACK))), of


@dataclass(frozen=True)
class Found:
    """What is known of an answer beyond its plan: warnings, what holds for its reports, and how many were counted."""

    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    users: int
    batches: int
    shuffled: bool  # whether the guarantee of the shuffled batch holds
    private: bool  # whether any guarantee holds
    once: bool  # whether every user is known to be in one batch only


@dataclass(frozen=True)
class _Said:
    """The parts of a statement."""

    plan: Plan
    rounds: int
    kept: str
    epsilon: float
    found: Found | None

    @property
    def over(self) -> str:
        return "" if self.rounds == 1 else f" in all {self.rounds:,} collections together"

    @property
    def near(self) -> list[str]:
        """Which values the odds are for, where these are not any two."""
        kind = self.plan.guarantee.neighbors
        if kind == "replace-one":
            return []
        return [f"This is for two values that the guarantee covers ({kind}); others are easier to tell apart."]

    def collected(self) -> Section:
        plan, query = self.plan, self.plan.query
        sent = "one report" if plan.reports_per_user == 1 else f"{plan.reports_per_user:,} reports"
        said = [f"{count_of(plan.users)} are asked, to learn {query.question}."]
        labels = query.to_dict().get("labels")
        if isinstance(labels, list):
            more = f" and {len(labels) - _LISTED:,} more" if len(labels) > _LISTED else ""
            said.append(f"The options are {', '.join(shortened(str(x), 40) for x in labels[:_LISTED])}{more}.")
        said.append(f"Every one of them sends {sent}, whatever the value is, also if there is none.")
        if query.clipping:
            said.append(f"In the answer, {query.clipping}.")
        return Section("What is collected", tuple(said))

    def sent(self) -> Section:
        m = self.plan.query.randomizer
        size, many = message_length(m.codec), m.messages_per_user * self.plan.reports_per_user
        bytes_ = f"{size:,} byte{'' if size == 1 else 's'}"
        several = f"{many:.4g} messages" + ("" if m._message_limits[0] == many else " on average")
        what = f"one message of {bytes_}" if many == 1.0 else f"{several}, of {bytes_} each"
        said = [f"A device sends {what}: {m.description}."]
        said.append(
            "A single message can show the true value; it has no name, number or time in it, and only the mixing with "
            "those of all others hides whose it is."
            if math.isinf(self.plan.guarantee.local_epsilon)
            else "A message is drawn by chance on the device, so that it may show the true value or not. It has no "
            "name, number or time in it."
        )
        crowd = count_of(self.plan.smallest_batch)
        said.append(f"A shuffler mixes the messages of at least {crowd} before anybody else sees them.")
        return Section("What leaves the device", tuple(said))

    def learned(self) -> Section:
        heading = "What an attacker can learn"
        if self.found is not None and not self.found.private:
            return Section(heading, ("Nothing limits what is learned: see the warnings.",))
        if self.found is not None and not self.found.shuffled:
            few = "A batch was too small for mixing to protect its users: for them only the next section holds."
            return Section(heading, (few,))
        said = [
            "Suppose that someone sees everything that leaves the shuffler, knows the values of all other users, and "
            "knows that a user has one of two values, each as likely as the other.",
            f"Whatever they compute, their guess {_odds(self.epsilon, self.plan.delta)}{self.over}.",
            "Whoever tosses a coin instead is right half of the time.",
        ]
        if self.found is not None and not self.found.once:
            said.append("This is for a user who sent in one batch only.")
        return Section(heading, (*said, *self.near))

    def without_shuffler(self) -> Section:
        heading, local = "If the shuffler fails", self.plan.guarantee.local_epsilon * self.rounds
        if self.found is not None and not self.found.private:
            return Section(heading, ("Nothing remains: see the warnings.",))
        if math.isinf(local):
            said = (
                "Nothing remains. If the shuffler is broken into, or works with an attacker, a single message can "
                "reveal its sender's value: this plan rests on the shuffler alone."
            )
            return Section(heading, (said,))
        said = (
            "If the shuffler is broken into, or works with an attacker, who then knows which messages a user sent, "
            f"a guess between two values {_odds(local)}{self.over}."
        )
        return Section(heading, (said, *self.near))

    def lasting(self) -> Section:
        more = "Asked again, the same users give more away: the guarantees of several collections must be composed."
        if self.rounds > 1:
            more = f"A further one, beyond these {self.rounds:,}, is not covered."
        counted = "one collection" if self.rounds == 1 else f"{self.rounds:,} collections from the same users"
        kept = f"Reports are kept for {self.kept}." if self.kept else "The plan does not say how long reports are kept."
        lasts = (
            "The guarantee does not wear off: it holds for everything that is computed from the reports, at any later "
            "time, with any computer and any other knowledge."
        )
        return Section("For how long", (f"The numbers are for {counted}. {more}", kept, lasts))

    def unprotected(self) -> Section:
        return Section(
            "What is not protected",
            (
                f"That somebody belongs to the {count_of(self.plan.users)} who are asked.",
                "What the answer says about people in general: it is learned about those who took no part as well.",
                "The connection: whoever carries the messages can see network addresses, and when they were sent.",
                "A device that does not run the plan as it is, and values before they are randomized.",
                "Users among devices that work with the attacker: the crowd that hides a user must be honest.",
                "Whatever else is collected from the same users.",
                "The answer against lies: a device that sends what it likes is not noticed, and can bend the result.",
            ),
            listed=True,
        )

    def answer(self) -> list[Section]:
        if self.found is None:
            return []
        many = "one batch" if self.found.batches == 1 else f"{self.found.batches:,} batches"
        said = f"The answer is from the reports of {count_of(self.found.users)} in {many}."
        return [Section("This answer", (*self.found.warnings, said))]


def statement_of(
    plan: Plan, found: Found | None = None, *, rounds: int = 1, kept: str = "", epsilon: float | None = None
) -> Statement:
    """The statement of a plan, or of an answer of it; ``epsilon`` is that of all rounds where it is known."""
    rounds = check.whole("rounds", rounds, low=1, high=10**6, hint="it is how often the same users are asked")
    if not isinstance(kept, str) or len(kept) > 200 or not kept.isprintable():
        raise ParameterError(f"kept must be a short text such as '90 days', got {kept!r:.60}; shorten it.")
    if epsilon is None:
        epsilon = plan.epsilon if rounds == 1 else _composed(plan, rounds)
    said = _Said(plan, rounds, kept.strip().rstrip("."), max(epsilon, plan.epsilon), found)
    title = f"Privacy statement: {plan.name or plan.query.question}"
    parts = (said.collected, said.sent, said.learned, said.without_shuffler, said.lasting, said.unprotected)
    sections = (*said.answer(), *(part() for part in parts))
    warnings, notes = ((), ()) if found is None else (found.warnings, found.notes)
    claim = f"({round_up(said.epsilon)}, {round_up(plan.delta, 6)})-DP"
    total = [f"Over {rounds:,} such batches of the same users, it is {claim} in all."] if rounds > 1 else []
    return Statement(" ".join([*warnings, plan.formal_paragraph(), *total, *notes]), title, sections)


def _composed(plan: Plan, rounds: int) -> float:
    """eps of this many rounds at the plan's delta."""
    from ..composing.accountant import Accountant

    asked: dict[str, Any] = {"n": plan.smallest_batch, "reports_per_user": plan.reports_per_user}
    return float(Accountant().compose(plan.query.randomizer, count=rounds, **asked).epsilon(delta=plan.delta))


def _odds(epsilon: float, delta: float = 0.0) -> str:
    """In words, to stand after what is guessed."""
    right, of = right_guesses(epsilon, delta)
    always = "can be right every time" if math.isinf(epsilon) else "can be right almost every time"
    return always if right == of else f"is right at most {right:,} times of {of:,}"
