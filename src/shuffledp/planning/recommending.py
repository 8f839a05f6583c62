"""recommend: every mechanism that fits a task under a central budget, or for an error, ranked."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._support import validation as check
from .._support.by_name import by_name
from .._support.delta_rules import delta_at
from ..accounting.crowd import missing as users_missing
from ..errors import ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.catalog import CATALOG
from ..mechanisms.randomizer import Randomizer
from ..protocol.messages import message_length
from .candidates import Candidate, Refusal, candidates, capped
from .choice import Choice, front, ranked
from .recommendation import Recommendation
from .references import references
from .solving import Budget
from .tasks import Task, sized, task_named

#: Limits, in words.
_WORDS = {"messages": "messages", "bits": "bits", "local_epsilon": "of local eps"}
#: Most rounds of a plan.
_MOST_ROUNDS = 10**6
#: A mechanism that is this much more private than asked for, at its loosest, is not ranked.
_SLACK = 0.9
#: Variants whose error is larger than that of another one by this factor are not calibrated.
_BEHIND = 1.5


@by_name
def recommend(
    task: str,
    *,
    n: int,
    epsilon: float | None = None,
    delta: float | str | None = None,
    error: float | None = None,
    d: int | Sequence[int] | None = None,
    dim: int | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    norm: float | None = None,
    unit: str | None = None,
    missing: float | str | None = None,
    quantiles: Sequence[float] | None = None,
    shape: Sequence[float] | str | None = None,
    length: int | None = None,
    columns: int | None = None,
    ways: int | None = None,
    subsets: Sequence[Sequence[int]] | None = None,
    dropouts: float | str = 0,
    rounds: int = 1,
    messages: float | None = None,
    bits: float | None = None,
    local_epsilon: float | None = None,
) -> Recommendation:
    """Which mechanism, with which setting: all that fit the task, calibrated to one target and ranked.

    Give the target as ``epsilon`` (then the least noisy setting of every mechanism is found, and the smallest error is
    ranked first) or as ``error`` (then the most private setting that is precise enough, and the smallest eps first).

    Parameters
    ----------
    task : "histogram", "sum of bits", "mean", "vector mean", "range", "quantile", "sets", "key-value", "location",
        "marginals" or "heavy hitters"; hyphens, underscores and spaces are interchangeable
    n : users who are asked
    epsilon, delta : the central budget of all rounds together; delta may be a rule such as "0.01/n"
    error : the target: root-mean-square error per item, in the units of the task
    d : options (histogram), items (sets), keys, bins (range, quantile) or cells (location); for marginals the options
        of every column, or one number for all
    dim : coordinates of a vector
    size : items or keys of one user, at most
    low, high : the range of a number, in the users' units; 0 to 1 unless given
    norm : the largest Euclidean length of a vector; 1 unless given
    unit : of a number, such as "min"; errors are stated in it
    missing : what a missing number counts as; for ranges and quantiles also "option": an option of its own
    quantiles : those whose errors are predicted in the unit; 0.5, 0.95 and 0.99 unless given
    shape : how the numbers are spread, for that: weights of bins of equal width, or the path of a file with one number
        a line, which is read here and goes nowhere; unless given, they fall off exponentially
    length : bytes of a string, at most (heavy hitters)
    columns, ways, subsets : how many columns there are, and over how many of them a marginal is (2 unless given), or
        the places of those of every marginal
    dropouts : users who may be missing, as a number or a fraction below 1: privacy and error are those of the rest
    rounds : how often the same users are asked
    messages, bits : most messages and bits of a user in a round, on average
    local_epsilon : most that a round may leave to a user if the shuffler fails

    Raises
    ------
    ImpossibleError
        No mechanism meets the target within the limits.

    Examples
    --------
    >>> found = recommend("histogram", n=100_000, d=16, epsilon=1.0, delta=1e-8)
    >>> found.best.mechanism, found.best.epsilon <= 1.0, found.best.on_front
    ('pure-dump', True, True)
    >>> recommend("histogram", n=100_000, d=16, epsilon=1.0, delta=1e-8, messages=1).best.mechanism
    'grr'
    """
    sizes: dict[str, Any] = {"d": d, "dim": dim, "size": size, "low": low, "high": high, "norm": norm}
    sizes |= {"unit": unit, "missing": missing, "quantiles": quantiles, "shape": shape, "length": length}
    asked = task_named(task, {**sizes, "columns": columns, "ways": ways, "subsets": subsets})
    users = check.users(n)
    away = users_missing("dropouts", dropouts, users)
    if away >= users:
        raise ParameterError(f"dropouts must leave one of the n = {users:,} users, got {away:,}; lower them.")
    times = check.whole("rounds", rounds, low=1, high=_MOST_ROUNDS, hint="it is how often the same users are asked")
    if (epsilon is None) == (error is None):
        got = "neither" if epsilon is None else "both"
        raise ParameterError(
            f"exactly one of epsilon and error must be given, got {got}; give the target that is fixed."
        )
    if delta is None:
        raise ParameterError("delta must be given, got none; pass for example delta=1e-8 or delta='0.01/n'.")
    limits = {
        name: None if value is None else _positive(name, value, "it is a limit; leave it out if there is none")
        for name, value in (("messages", messages), ("bits", bits), ("local_epsilon", local_epsilon))
    }
    question = Question(
        task=asked,
        budget=Budget(n=users - away, delta=delta_at(delta, users), rounds=times, tol=asked.tol),
        epsilon=None if epsilon is None else _positive("epsilon", epsilon),
        error=None if error is None else _positive("error", error),
        limits=limits,
    )
    return question.answer(users, away)


def _positive(name: str, value: object, hint: str = "it is the target") -> float:
    return check.inside(name, value, hint=hint)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One call of recommend, checked; a programme asks the same of every round that is a question."""

    task: Task
    budget: Budget
    epsilon: float | None
    error: float | None
    limits: dict[str, Any]

    def rows(self) -> tuple[list[Candidate], list[Refusal]]:
        """The mechanisms that fit the task, with no more budget than a limit allows; and those that do not."""
        every = list(candidates(self.task, self.budget.n))
        cap = self.limits.get("local_epsilon")
        rows = [found for found in every if isinstance(found, Candidate)]
        refused = [found for found in every if isinstance(found, Refusal)]
        return rows if cap is None else [capped(row, cap) for row in rows], refused

    def ranking(self, rows: list[Candidate]) -> tuple[list[Choice], list[Refusal]]:
        """The choices within the limits, best first, and what was refused."""
        choices, refused, hopeless = [], [], self._hopeless(rows)
        for row in rows:
            try:
                if row.name in hopeless:
                    raise ImpossibleError(hopeless[row.name])
                choices.append(self._choice(row))
            except ShuffleDPError as why:
                refused.append(Refusal(row.name, str(why), fits=True))
        if not choices:
            reasons = "; ".join(f"{no.mechanism}: {no.reason.rstrip('.')}" for no in refused)
            raise ImpossibleError(
                f"no mechanism meets the target of the task {self.task.name!r} ({reasons[:600]}); raise the "
                "target or the limits, or collect from more users."
            )
        return ranked(choices, "error" if self.error is None else "epsilon"), refused

    def answer(self, users: int, away: int) -> Recommendation:
        """The ranking with all that is said of it."""
        rows, unfit = self.rows()
        choices, missed = self.ranking(rows)
        refused = [*unfit, *missed]
        kept = front(choices)
        choices = [replace(choice, on_front=choice.name in kept) for choice in choices]
        epsilon = choices[0].epsilon if self.epsilon is None else self.epsilon
        budget = self.budget
        return Recommendation(
            task=self.task.name,
            n=users,
            epsilon=epsilon,
            delta=budget.delta,
            error=self.error,
            rounds=budget.rounds,
            dropouts=away,
            **self.limits,
            choices=tuple(choices),
            references=references(self.task, rows, budget, epsilon),
            floor=self.task.floor(rows, budget, epsilon),
            refused=tuple(refused),
            question=self.task,
        )

    def _hopeless(self, rows: list[Candidate]) -> dict[str, str]:
        """The names of candidates that are far behind another one to leading order, and why they are not calibrated.

        One's own mechanisms are always ranked.
        """
        if self.epsilon is None:
            return {}
        variants, behind = Counter(row.mechanism for row in rows), {}
        looks = [
            (row, self.budget.likely(row, self.epsilon))
            for row in rows
            if variants[row.mechanism] > 2 or math.isfinite(self.task.far)
        ]
        likely = [
            (row, row.accuracy(made, self.budget.n).worst, _sent(row.runs(made))["bits"])
            for row, made in looks
            if made is not None and self._beyond(row.runs(made)) <= 0.0
        ]
        for (row, error, bits), (other, least, fewer) in itertools.product(likely, likely):
            if row.mechanism == other.mechanism and error > _BEHIND * least:
                behind[row.name] = f"Another variant of {row.mechanism} has a much smaller error."
            elif error > self.task.far * least and bits >= fewer and row.mechanism in CATALOG:
                behind[row.name] = f"To leading order its error is {error / least:.2g} times that of {other.name}."
        return behind

    def _choice(self, candidate: Candidate) -> Choice:
        if self.epsilon is not None:
            made = self.budget.least_noisy(candidate, self.epsilon)
        else:
            allowed: Callable[[Mechanism], float] = lambda made: self._beyond(candidate.runs(made))  # noqa: E731
            made = self.budget.most_private(candidate, float(self.error or 0.0), allowed)
        run = candidate.runs(made)
        sent = _sent(run)
        if self._beyond(run) > 0.0:
            limit = " and ".join(f"{limit:g} {_WORDS[key]}" for key, limit in self.limits.items() if limit)
            needs = f"{sent['messages']:.4g} messages and {sent['bits']:.4g} bits"
            local = "" if self.limits.get("local_epsilon") is None else f", and leaves {_left(sent)},"
            raise ImpossibleError(f"It needs {needs} per user{local} above the limit of {limit}.")
        eps, bound = self.budget.spent(run)
        accuracy = candidate.accuracy(made, self.budget.n)
        if not sized(accuracy.worst):
            raise ImpossibleError("Its reports do not distinguish single items in double precision.")
        if self.epsilon is not None and eps > self.epsilon:
            raise ImpossibleError(f"Its eps of {eps:g} is above the target.")
        bare = run.messages_per_user == 1.0 and not run.single_message
        if self.epsilon is not None and eps < _SLACK * self.epsilon and bare:
            why = "Its flips alone give more privacy than the target needs"
            raise ImpossibleError(f"{why}, so that it sends no blanket message.")
        if math.isinf(eps):
            raise ImpossibleError("No finite eps is proved for the setting that is precise enough.")
        return Choice(
            mechanism=candidate.mechanism,
            variant=candidate.variant,
            spec=made.spec,
            epsilon=eps,
            delta=self.budget.delta,
            bound=bound,
            local_epsilon=self.budget.local(run),
            error=accuracy.worst,
            typical_error=accuracy.typical,
            item_error=accuracy.entry,
            bits=sent["bits"],
            messages=sent["messages"],
            most_messages=run._message_limits[1],
            asked=made,
            run=run,
        )

    def _beyond(self, run: Randomizer) -> float:
        """Positive where a mechanism sends more than is allowed."""
        sent = _sent(run)
        return max((sent[key] / limit - 1.0 - 1e-9 for key, limit in self.limits.items() if limit), default=-1.0)


def _sent(run: Randomizer) -> dict[str, float]:
    """What a user sends in a round, on average."""
    bits = run.messages_per_user * 8 * message_length(run.codec)
    return {"messages": run.messages_per_user, "bits": bits, "local_epsilon": run.local_epsilon}


def _left(sent: dict[str, float]) -> str:
    eps = sent["local_epsilon"]
    return "nothing if the shuffler fails" if math.isinf(eps) else f"eps0 = {eps:.4g} if the shuffler fails"
