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
from ..accounting.guarantee import OWN_DATA, count_of
from ..errors import ParameterError
from ..queries.domains import Labels
from .messages import message_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mechanisms.randomizer import Randomizer
    from .plan import Plan

_COLLECTED, _SENT, _LEARNED, _FAILED = (
    *("What is collected", "What leaves the device", "What an attacker can learn", "If the shuffler fails"),
)
#: To be written on.
_LINE = "." * 40
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
    private: bool  # whether any guarantee holds
    once: bool  # whether every user is known to be in one batch only


@dataclass(frozen=True)
class Claim:
    """What holds for all collections that a statement is about, and which these are, in words.

    Attributes
    ----------
    epsilon, delta, local : of all of them together; ``local`` if the shuffler fails
    neighbors : which values the claim is for
    over, local_over : to stand after the odds, and after those without the shuffler: " in all 13 collections together"
    """

    epsilon: float
    delta: float
    local: float
    neighbors: str
    over: str = ""
    local_over: str = ""

    @property
    def near(self) -> list[str]:
        """Which values the odds are for, where these are not any two."""
        if self.neighbors == "replace-one":
            return []
        kind = self.neighbors
        return [f"This is for two values that the guarantee covers ({kind}); others are easier to tell apart."]

    def learned(self, *terms: str) -> Section:
        """With the shuffler, on these terms."""
        said = [
            "Suppose that someone sees everything that leaves the shuffler, knows the values of all other users, and "
            "knows that a user has one of two values, each as likely as the other.",
            f"Whatever they compute, their guess {odds(self.epsilon, self.delta)}{self.over}.",
            "Whoever tosses a coin instead is right half of the time.",
        ]
        return Section(_LEARNED, (*said, *terms, *self.near))

    def without_shuffler(self, what: str) -> Section:
        """Without it; ``what`` rests on it alone where no local guarantee remains."""
        if math.isinf(self.local):
            said = (
                "Nothing remains. If the shuffler is broken into, or works with an attacker, a single message can "
                f"reveal its sender's value: {what} on the shuffler alone."
            )
            return Section(_FAILED, (said,))
        said = (
            "If the shuffler is broken into, or works with an attacker, who then knows which messages a user sent, "
            f"a guess between two values {odds(self.local)}{self.local_over}. With the shuffler, it "
            f"{odds(self.epsilon, self.delta)}{self.over}."
        )
        return Section(_FAILED, (said, *self.near))


def _collected(plan: Plan) -> list[str]:
    query = plan.query
    sent = "one report" if plan.reports_per_user == 1 else f"{plan.reports_per_user:,} reports"
    said = [f"{count_of(plan.users)} are asked, to learn {query.question}."]
    held = query.to_dict()
    labels, shares = held.get("labels"), held.get("quantiles")
    if isinstance(labels, list):
        more = f" and {len(labels) - _LISTED:,} more" if len(labels) > _LISTED else ""
        rest = "" if held.get("other") is None else Labels(tuple(labels), held["other"]).rest
        more += f", and {shortened(rest, 40)} for all the rest" if rest else ""
        said.append(f"The options are {', '.join(shortened(str(x), 40) for x in labels[:_LISTED])}{more}.")
    if isinstance(shares, list):
        named = [f"p{100.0 * share:.10g}" for share in shares[:_LISTED]]
        more = f" and {len(shares) - _LISTED:,} more" if len(shares) > _LISTED else ""
        said.append(
            f"From it, {', '.join(named)}{more} are read: the numbers below which that percentage of all numbers lie."
        )
    said.append(f"Every one of them sends {sent}, whatever the value is, also if there is none.")
    if query.clipping:
        said.append(f"In the answer, {query.clipping}.")
    return said


def _sent(plan: Plan) -> list[str]:
    m = plan.query.randomizer
    size, many = message_length(m.codec), m.messages_per_user * plan.reports_per_user
    bytes_ = f"{size:,} byte{'' if size == 1 else 's'}"
    several = f"{many:.4g} messages" + ("" if m._message_limits[0] == many else " on average")
    what = f"one message of {bytes_}" if many == 1.0 else f"{several}, of {bytes_} each"
    said = [f"A device sends {what}: {m.description}."]
    if m._noise_by_shuffler:
        return [
            *said,
            "The message is the true value, without noise: the shuffler, which must not be able to read it, adds the "
            "noise. The message has no name, number or time in it.",
            "What leaves the shuffler is mixed with dummies that look the same.",
        ]
    said.append(
        "A single message can show the true value; it has no name, number or time in it, and only the mixing with "
        "those of all others hides whose it is."
        if math.isinf(plan.guarantee.local_epsilon)
        else f"{_true_of_100(m)} A message has no name, number or time in it."
    )
    crowd = count_of(plan.smallest_batch)
    said.append(f"A shuffler mixes the messages of at least {crowd} before anybody else sees them.")
    return said


def _true_of_100(m: Randomizer) -> str:
    """How many of 100 messages are true, rounded up.

    >>> from shuffledp import GRR, Laplace
    >>> _true_of_100(GRR(eps0=4.0, d=4))
    'About 95 of 100 messages are the true value; chance decides on the device which ones.'
    >>> _true_of_100(Laplace(eps0=1.0))
    'A message is drawn by chance on the device; the true value decides how likely each message is.'
    """
    share, how = m._truth
    if not how:
        return "A message is drawn by chance on the device; the true value decides how likely each message is."
    of = math.ceil(100.0 * share)
    often = "more than 99" if of > 99 else "fewer than 2" if of < 2 else f"about {of}"
    return f"{often[:1].upper()}{often[1:]} of 100 messages {how}; chance decides on the device which ones."


def _lasting(counted: str, more: str, kept: str) -> Section:
    """``counted`` is what the numbers are for, ``more`` what they are not for."""
    keeping = f"Reports are kept for {kept}." if kept else "The plan does not say how long reports are kept."
    lasts = (
        "The guarantee does not wear off: it holds for everything that is computed from the reports, at any later "
        "time, with any computer and any other knowledge."
    )
    return Section("For how long", (f"The numbers are for {counted}. {more}", keeping, lasts))


def _unprotected(users: int) -> Section:
    return Section(
        "What is not protected",
        (
            f"That somebody belongs to the {count_of(users)} who are asked.",
            "What the answer says about people in general: it is learned about those who took no part as well.",
            "The connection: whoever carries the messages can see network addresses, and when they were sent.",
            "A device that does not run the plan as it is, and values before they are randomized.",
            "Users among devices that work with the attacker: the crowd that hides a user must be honest.",
            "Somebody whose fellow users' reports were held back or made up on the way: once an answer is published, "
            "only the odds without the shuffler hold for that person.",
            "Whatever else is collected from the same users.",
            "The answer against lies: a device that sends what it likes is not noticed, and can bend the result.",
        ),
        listed=True,
    )


def _signed(plans: Sequence[Plan]) -> Section:
    """What plans know of those who are asked, which plans these are, and lines for what they do not know."""
    users = max(plan.users for plan in plans)
    asked = ("Share of them who opted in", "Owner of the data, with an address for questions", "Date", "Signature")
    lines = (f"Population: {count_of(users)}, namely", *asked)
    digests = (f"Plan: {digest}" for digest in dict.fromkeys(plan.digest for plan in plans))
    return Section("To fill in and sign", (*digests, *(f"{line}: {_LINE}" for line in lines)), listed=True)


# -- of an answer ---------------------------------------------------------------------------------------------------


def _answered(found: Found | None) -> list[Section]:
    if found is None:
        return []
    many = "one batch" if found.batches == 1 else f"{found.batches:,} batches"
    said = f"The answer is from the reports of {count_of(found.users)} in {many}."
    return [Section("This answer", (*found.warnings, said))]


def _learned(claim: Claim, found: Found | None) -> Section:
    """Of an answer only what holds for its reports."""
    if found is None:
        return claim.learned()
    if not found.private:
        return Section(_LEARNED, ("Nothing limits what is learned: see the warnings.",))
    return claim.learned(*() if found.once else ("This is for a user who sent in one batch only.",))


def _failed(claim: Claim, found: Found | None) -> Section:
    if found is not None and not found.private:
        return Section(_FAILED, ("Nothing remains: see the warnings.",))
    return claim.without_shuffler("this plan rests")


# -- the pages ------------------------------------------------------------------------------------------------------


def statement_of(
    plan: Plan, found: Found | None = None, *, rounds: int = 1, kept: str = "", epsilon: float | None = None
) -> Statement:
    """The statement of a plan, or of an answer of it; ``epsilon`` is that of all rounds where it is known."""
    rounds = check.whole("rounds", rounds, low=1, high=10**6, hint="it is how often the same users are asked")
    kept = _short(kept)
    if epsilon is None:
        epsilon = plan.epsilon if rounds == 1 else _composed(plan, rounds)
    epsilon = max(epsilon, plan.epsilon)
    over = "" if rounds == 1 else f" in all {rounds:,} collections together"
    local = plan.guarantee.local_epsilon * rounds
    claim = Claim(epsilon, plan.delta, local, plan.guarantee.neighbors, over, over)
    more = "Asked again, the same users give more away: the guarantees of several collections must be composed."
    if rounds > 1:
        more = f"A further one, beyond these {rounds:,}, is not covered."
    counted = "one collection" if rounds == 1 else f"{rounds:,} collections from the same users"
    sections = (
        *_answered(found),
        Section(_COLLECTED, tuple(_collected(plan))),
        Section(_SENT, tuple(_sent(plan))),
        _learned(claim, found),
        _failed(claim, found),
        _lasting(counted, more, kept),
        _unprotected(plan.users),
        _signed([plan]),
    )
    warnings, notes = ((), ()) if found is None else (found.warnings, found.notes)
    formal = f"({round_up(epsilon)}, {round_up(plan.delta, 6)})-DP"
    total = (
        () if rounds == 1 else (f"Over {rounds:,} such batches of the same users, it is {formal} in all; {OWN_DATA}.",)
    )
    paragraphs = (*warnings, *plan._formally(released=found is not None), *total, *notes)
    return Statement(paragraphs, f"Privacy statement: {plan.name or plan.query.question}", sections)


def statement_of_all(
    title: str,
    asked: Sequence[tuple[str, str, Plan]],
    claim: Claim,
    *,
    counted: str,
    more: str,
    formal: Sequence[str],
    warnings: Sequence[str] = (),
    kept: str = "",
) -> Statement:
    """One statement for several plans that ask the same users.

    asked : the name of each, how often it is asked, such as "13 times in every quarter", and its plan
    claim : what holds for all their collections together
    counted, more : what the numbers are for, and what is beyond them, in words
    formal, warnings : the last paragraphs, and what must be said first
    """
    users = max(plan.users for *_, plan in asked)
    often = [(f"{name}, {times}", _collected(plan)) for name, times, plan in asked]
    sections = (
        *([Section("Warning", tuple(warnings))] if warnings else []),
        Section(_COLLECTED, _merged(often), listed=True),
        Section(_SENT, _merged([(name, _sent(plan)) for name, _, plan in asked]), listed=True),
        claim.learned(),
        claim.without_shuffler("at least one of these plans rests"),
        _lasting(counted, more, _short(kept)),
        _unprotected(users),
        _signed([plan for *_, plan in asked]),
    )
    return Statement(formal, f"Privacy statement: {title}", sections)


def _merged(said: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """A text for each, under its name, and after them once what holds for all.

    >>> _merged([("a", ["One.", "Same."]), ("b", ["Two.", "Same."])])
    ('a: One.', 'b: Two.', 'Same.')
    """
    (_, first), *rest = said
    same = [text for text in first[1:] if rest and all(text in other for _, other in rest)]
    own = [(name, [text for text in texts if text not in same]) for name, texts in said]
    return (*(f"{name}: {' '.join(texts)}" for name, texts in own), *same)


def _short(kept: str) -> str:
    if not isinstance(kept, str) or len(kept) > 200 or not kept.isprintable():
        raise ParameterError(f"kept must be a short text such as '90 days', got {kept!r:.60}; shorten it.")
    return kept.strip().rstrip(".")


def _composed(plan: Plan, rounds: int) -> float:
    """eps of this many rounds at the plan's delta."""
    from ..composing.accountant import Accountant

    asked: dict[str, Any] = {"n": plan.smallest_batch, "reports_per_user": plan.reports_per_user}
    return float(Accountant().compose(plan.query.randomizer, count=rounds, **asked).epsilon(delta=plan.delta))


def odds(epsilon: float, delta: float = 0.0) -> str:
    """In words, to stand after what is guessed."""
    right, of = right_guesses(epsilon, delta)
    always = "can be right every time" if math.isinf(epsilon) else "can be right almost every time"
    return always if right == of else f"is right at most {right:,} times out of {of:,}"
