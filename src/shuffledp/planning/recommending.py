"""recommend: every mechanism that fits a task under a central budget, or for an error, ranked."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._support import validation as check
from .._support.delta_rules import delta_at
from .._support.numbers import round_up
from ..accounting.crowd import missing as users_missing
from ..errors import ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.catalog import CATALOG
from ..mechanisms.randomizer import Randomizer
from ..protocol.messages import message_length
from .candidates import Candidate, Choice, Refusal, candidates, front, ranked
from .recommendation import Recommendation
from .references import references
from .solving import Budget
from .tasks import Task, task_named

#: Who may make the noise.
_NOISE = ("users", "shuffler")
#: Most rounds of a plan.
_MOST_ROUNDS = 10**6
#: A mechanism that is this much more private than asked for, at its loosest, is not ranked.
_SLACK = 0.9
#: Variants whose error is larger than that of another one by this factor are not calibrated.
_BEHIND = 1.25


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
    noise: str = "users",
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
        per line, which is read here and goes nowhere; unless given, they fall off exponentially
    length : bytes of a string, at most (heavy hitters)
    columns, ways, subsets : how many columns there are, and over how many of them a marginal is (2 unless given), or
        the places of those of every marginal
    dropouts : users who may be missing, as a number or a fraction below 1: privacy and error are those of the rest
    rounds : how often the same users are asked
    messages, bits : most messages and bits of a user in a round, on average
    local_epsilon : the most that may remain over all rounds if the shuffler fails (the sum of the local guarantees)
    noise : "users" (they make it), or "shuffler": also rank mechanisms whose users send their values without noise,
        encrypted for the collector, and whose shuffler is trusted to add it; if it fails, nothing remains

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
        raise ParameterError(f"dropouts must leave at least one of the n = {users:,} users, got {away:,}; lower them.")
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
    if noise not in _NOISE:
        raise ParameterError(f"noise must be users or shuffler, got {check.shown(noise)}; it is who makes the noise.")
    most_local = limits["local_epsilon"] or math.inf
    question = Question(
        task=asked,
        budget=Budget(n=users - away, delta=delta_at(delta, users), rounds=times, tol=asked.tol, most_local=most_local),
        epsilon=None if epsilon is None else _positive("epsilon", epsilon),
        error=None if error is None else _positive("error", error),
        limits=limits,
        shuffler_noise=noise == "shuffler",
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
    shuffler_noise: bool = False

    def rows(self) -> tuple[list[Candidate], list[Refusal]]:
        """The mechanisms that fit the task, and those that do not."""
        every = list(candidates(self.task, self.budget.n, shuffler_noise=self.shuffler_noise))
        rows = [found for found in every if isinstance(found, Candidate)]
        refused = [found for found in every if isinstance(found, Refusal)]
        return rows, refused

    def ranking(self, rows: list[Candidate]) -> tuple[list[Choice], list[Refusal]]:
        """The choices within the limits, best first, and what was refused."""
        choices: list[Choice] = []
        refused: list[Refusal] = []
        variants, slow = self._variants_behind(rows), {row.name for row in rows if self._takes_long(row)}
        for late in (False, True):
            some = [row for row in rows if (row.name in slow) == late]
            hopeless = {**variants, **(self._far_behind(some, choices) if late else {})}
            if self.epsilon is not None:
                self.budget.look([row for row in some if row.name not in hopeless], self.epsilon)
            for row in some:
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
            noise="shuffler" if self.shuffler_noise else "users",
            choices=tuple(choices),
            references=references(self.task, rows, budget, epsilon),
            floor=self.task.floor(rows, budget, epsilon),
            refused=tuple(refused),
            question=self.task,
        )

    def _variants_behind(self, rows: list[Candidate]) -> dict[str, str]:
        """The names of variants that are far behind another one of the same mechanism, which are not calibrated."""
        if self.epsilon is None:
            return {}
        count, behind = Counter(row.mechanism for row in rows), {}
        likely = [(row, found[0]) for row in rows if count[row.mechanism] > 2 and (found := self._likely(row))]
        for (row, error), (other, least) in itertools.product(likely, likely):
            if row.mechanism == other.mechanism and error > _BEHIND * least:
                behind[row.name] = f"Another variant of {row.mechanism} has a much smaller error."
        return behind

    def _takes_long(self, row: Candidate) -> bool:
        """Whether it is one of ours whose calibration compares many pairs of inputs, where that matters to the task."""
        asked = self.epsilon is not None and math.isfinite(self.task.far) and row.mechanism in CATALOG
        return asked and self.budget.takes_long(row, self.epsilon or 0.0)

    def _far_behind(self, slow: list[Candidate], choices: list[Choice]) -> dict[str, str]:
        """The names of these candidates that are far behind one of the choices, and why they are not calibrated."""
        behind = {}
        for row, (error, bits) in ((row, found) for row in slow if (found := self._likely(row))):
            better = [one for one in choices if error > self.task.far * one.error and one.bits <= bits]
            if better:
                best = min(better, key=lambda one: one.error)
                behind[row.name] = f"To leading order its error is {error / best.error:.2g} times that of {best.name}."
        return behind

    def _likely(self, row: Candidate) -> tuple[float, float] | None:
        """The error to leading order, and the bits of a user; None where they are not known, or above the limits."""
        made = self.budget.likely(row, self.epsilon or 0.0)
        if made is None or self._beyond(row.runs(made)) > 0.0:
            return None
        return row.accuracy(made, self.budget.n).worst, _sent(row.runs(made))["bits"]

    def _choice(self, candidate: Candidate) -> Choice:
        if self.epsilon is not None:
            made = self.budget.least_noisy(candidate, self.epsilon)
        else:
            allowed: Callable[[Mechanism], float] = lambda made: self._beyond(candidate.runs(made))  # noqa: E731
            made = self.budget.most_private(candidate, float(self.error or 0.0), allowed)
        run = candidate.runs(made)
        sent = _sent(run)
        if self._beyond(run) > 0.0:
            limits = {key: most for key in sent if (most := self.limits[key])}
            limit = " and ".join(f"{most:g} {key if most != 1 else key[:-1]}" for key, most in limits.items())
            needs = f"{sent['messages']:.4g} messages and {sent['bits']:.4g} bits"
            raise ImpossibleError(f"It needs {needs} per user, above the limit of {limit}.")
        if self.budget.local(run) > self.budget.most_local:
            raise ImpossibleError(
                f"It leaves eps = {round_up(self.budget.local(run))} if the shuffler fails, above the limit."
            )
        eps, bound = self.budget.spent(run)
        accuracy = candidate.accuracy(made, self.budget.n)
        if not 0.0 <= accuracy.worst < math.inf:
            raise ImpossibleError("Its reports do not distinguish single items in double precision.")
        if self.epsilon is not None and eps > self.epsilon:
            raise ImpossibleError(f"Its eps of {round_up(eps)} is above the target.")
        bare = run.messages_per_user == 1.0 and not run.single_message and not run._noise_by_shuffler
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
        return max((sent[key] / self.limits[key] - 1.0 - 1e-9 for key in sent if self.limits[key]), default=-1.0)


def _sent(run: Randomizer) -> dict[str, float]:
    """What a user sends in a round, on average."""
    return {"messages": run.messages_per_user, "bits": run.messages_per_user * 8 * message_length(run.codec)}
