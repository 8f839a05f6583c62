"""The check of plans that ship: do the files match their lock, and do they compose to the budget?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.reading import LABELS, digest_of, read_bytes
from ..accounting.crowd import Crowd
from ..accounting.guarantee import TRUST
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism_in_file
from ..protocol.plan import Plan
from ..protocol.statement import Claim, odds, statement_of_all
from .composed import Progress, checked
from .plans import LOCK_NAME, Lock, Locked, Source, names_in, read_lock
from .result import Check, CheckedRounds
from .spec import Draft, Terms, draft

if TYPE_CHECKING:
    from .._support.statement import Statement


@dataclass(frozen=True)
class ShippedPlan:
    """A plan of a folder: its file, the name of its round, and "as locked", "changed", "missing" or "extra"."""

    file: str
    name: str
    state: str


@dataclass(frozen=True)
class CheckedPlans(Check):
    """Whether the plans that ship are those that were calibrated, and stay within the budget together.

    It is the check of what the plans run, of their users and their smallest batches; ``within`` only if every file is
    as the lock says too.  If a plan cannot be read, nothing is claimed: epsilon is inf, and there are no rounds.

    Attributes
    ----------
    folder : where they are
    plans : every file, and whether it is as the lock says
    problems : what does not match, one sentence each; empty if all does
    read : the plans that could be read

    Examples
    --------
    >>> import tempfile
    >>> import shuffledp as sdp
    >>> asked = {"version": 1, "target": {"epsilon": 1, "delta": "1e-8"}, "rounds": [
    ...     {"name": "Session", "task": "mean", "column": "session", "low": 0, "high": 60, "users": 10_000}]}
    >>> folder = tempfile.mkdtemp()
    >>> files = sdp.calibrate_programme(asked).save_plans(folder)
    >>> found = sdp.check(folder)
    >>> found.within, [plan.state for plan in found.plans], found.epsilon <= 1.0
    (True, ['as locked'], True)
    """

    folder: str = ""
    plans: tuple[ShippedPlan, ...] = ()
    problems: tuple[str, ...] = ()
    read: tuple[Plan, ...] = field(default=(), repr=False, compare=False)

    @property
    def verdict(self) -> str:
        """In a few words."""
        if not self.problems:
            return super().verdict
        verdict = f"PLANS DO NOT MATCH: {len(self.problems)} problem{'' if len(self.problems) == 1 else 's'}"
        return verdict + (", and OVER BUDGET" if self.rounds and self.epsilon > self.target_epsilon else "")

    def _lines(self) -> Iterator[str]:
        yield self.verdict
        yield from (f"- {problem}" for problem in self.problems)
        if not self.problems:
            number, locked = len(self.plans), all(plan.state == "as locked" for plan in self.plans)
            how = "as locked" if locked else "as stated: there is no lock"
            yield f"{number} plan{'' if number == 1 else 's'} in {self.folder!r}, {how}."
        if self.rounds:
            yield from list(super()._lines())[1:]

    def _left(self) -> str:
        if self.problems and self.epsilon <= self.target_epsilon:
            return "These plans stay within the budget, but they are not those that were calibrated."
        return super()._left()

    def to_dict(self) -> dict[str, Any]:
        """As that of a check; the plans are in their files."""
        return {key: value for key, value in Check.to_dict(replace(self, read=())).items() if key != "read"}

    def statement(self, *, kept: str = "") -> Statement:
        """One page for people who sign: all questions, and the odds for all their collections together.

        They are for the rounds of one period where the budget is for one, else for all rounds.

        kept : how long reports are kept, in words, such as "90 days"
        """
        if self.problems or len(self.read) != len(self.rounds):
            reason = self.problems[0] if self.problems else "a round that has no plan: write task and column into it."
            raise ParameterError(f"a statement must be of plans that ship for every round, as locked, got {reason}")
        every = self.per is not None and self.all_periods_epsilon is None  # any period is like any other
        counts = self.period_counts or tuple(entry.count for entry in self.rounds)
        number, whole = sum(counts), sum(entry.count for entry in self.rounds)
        when = f" in every {self._period}" if every else ""
        asked = [
            (entry.name, _often(count if every else entry.count) + when + _limited(entry), plan)
            for entry, count, plan in zip(self.rounds, counts, self.read, strict=True)
        ]
        of = f" of one {self._period}" if self.per else ""
        over = f" in all {number:,} collections{of} together" if number > 1 else ""
        claim = Claim(
            epsilon=self.epsilon,
            delta=self.delta,
            local=self.pure_epsilon,
            neighbors=self.neighbors,
            over=over,
            local_over=over if every else f" in all {whole:,} collections together" if whole > 1 else "",
        )
        return statement_of_all(
            self.name or self.folder,
            asked,
            claim,
            counted=f"one {self._period}, {_collections(number)}" if self.per else _collections(number),
            more=self._beyond(number),
            formal=[line.removeprefix("- ") for line in list(super()._lines())[1:]],
            warnings=() if self.within else (f"{self.verdict}; the numbers are those of what is run.",),
            kept=kept,
        )

    def _beyond(self, number: int) -> str:
        """What the numbers of the statement are not for."""
        if self.all_periods_epsilon is not None:
            return f"In all periods together, a guess {odds(self.all_periods_epsilon, self.delta)}."
        if self.per is not None:
            return (
                f"Every further {self._period} tells more about the same users, and so does a time that is part of two."
            )
        return f"A further collection, beyond {'this one' if number == 1 else f'these {number:,}'}, is not covered."


def _often(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _limited(entry: CheckedRounds) -> str:
    most = entry.participation_limit
    return "" if most is None or most >= entry.count else f" (each user in at most {most:,} of them)"


def _collections(number: int) -> str:
    return "one collection" if number == 1 else f"{number:,} collections from the same users"


def check_folder(
    folder: str | os.PathLike[str],
    *,
    programme: Source | None = None,
    path: str = "",
    progress: Progress | None = None,
) -> CheckedPlans:
    """Check a folder that calibrate wrote; with a programme, that it is the one that was calibrated."""
    where = Path(folder)
    if not where.is_dir():
        raise ParameterError(
            f"plans must be a folder that calibrate has written, got {os.fspath(folder)!r:.300}, which is not one; run "
            f"shuffledp calibrate --programme {path or 'FILE'} --plans {os.fspath(folder)[:200]}."
        )
    lock = read_lock(where)
    problems = list(_programme_problems(lock, programme, path))
    read: dict[str, Plan] = {}
    states: list[ShippedPlan] = []
    for entry in lock.rounds:
        if entry.file is not None:
            state, problem = _state(where, entry, read)
            states.append(ShippedPlan(entry.file, entry.name, state))
            problems += [problem] if problem else []
    for name in sorted(names_in(where) - set(lock.names) - {LOCK_NAME}):
        states.append(ShippedPlan(name, "", "extra"))
        problems.append(_extra(name))
    whole = len(read) == len(lock.names)
    found = _composed(lock, read, progress) if whole else _nothing(lock)
    return _judged(found, os.fspath(folder), states, problems, tuple(read.values()))


def shipped_plans(folder: str | os.PathLike[str]) -> dict[str, Plan]:
    """The plans of a folder by their files, each as its lock says; any other is refused."""
    where, read = Path(folder), dict[str, Plan]()
    problems = [_state(where, entry, read)[1] for entry in read_lock(where).rounds if entry.file is not None]
    for problem in filter(None, problems):
        raise ParameterError(f"plans must be as locked, got a folder where {problem}")
    return read


def _judged(
    found: Check, folder: str, states: list[ShippedPlan], problems: list[str], read: tuple[Plan, ...]
) -> CheckedPlans:
    known = {one.name: getattr(found, one.name) for one in fields(Check)}
    known["within"] = found.within and not problems
    return CheckedPlans(**known, folder=folder, plans=tuple(states), problems=tuple(problems), read=read)


def _nothing(lock: Lock) -> Check:
    """Where a plan cannot be read nothing is claimed."""
    asked = draft(lock.source.programme, settled=range(len(lock.rounds)))
    epsilon, delta = asked.written
    return Check(
        within=False,
        epsilon=math.inf,
        lower=None,
        target_epsilon=epsilon,
        delta=delta,
        left_epsilon=None,
        left_delta=None,
        pure_epsilon=math.inf,
        method="pld",
        name=asked.name,
        rounds=(),
        neighbors="replace-one",
        trust=TRUST,
        per=asked.per,
    )


def _programme_problems(lock: Lock, programme: Source | None, path: str) -> Iterator[str]:
    if lock.source.digest != lock.digest:
        yield f"{LOCK_NAME} changed: its programme has another digest than it says; calibrate again."
    if programme is None or programme.digest == lock.source.digest:
        return
    other = [name for name, digest in programme.files.items() if lock.source.files.get(name) != digest]
    names = other or [path or "the programme"]
    for name in names:
        yield f"{name} changed after the plans were calibrated; calibrate again: --programme {path or 'FILE'} --plans."


def _extra(name: str) -> str:
    return f"{name} is extra: the lock does not know it; remove it, or calibrate again."


def _state(where: Path, entry: Locked, read: dict[str, Plan]) -> tuple[str, str]:
    """Whether a plan is as locked, and the problem if it is not; what can be read is kept."""
    name = str(entry.file)
    path = where / name
    if not os.path.lexists(path):
        return "missing", f"{name} is missing; restore it, or calibrate again."
    try:
        plan = Plan.load(path)
    except ShuffleDPError as error:
        return "changed", f"{name} changed: {error}"
    read[name] = plan
    if plan.digest != entry.digest:
        said = f"its digest is {plan.digest[:12]}..., the lock says {str(entry.digest)[:12]}..."
        return "changed", f"{name} changed: {said}; restore it, or calibrate again."
    return "as locked", ""


def _composed(lock: Lock, read: dict[str, Plan], progress: Progress | None) -> Check:
    """All rounds with what the plans run, and their batches."""
    settled = {i: read[entry.file] for i, entry in enumerate(lock.rounds) if entry.file is not None}
    asked = draft(lock.source.programme, settled=settled)
    if len(asked.entries) != len(lock.rounds):
        raise ParameterError(
            f"the lock must have one round for each of the programme, {len(asked.entries)}, got {len(lock.rounds)}; "
            "calibrate again."
        )
    mechanisms: dict[int, Mechanism] = {i: plan.query.randomizer for i, plan in settled.items()}
    for i, entry in enumerate(lock.rounds):
        if entry.mechanism is not None and asked.entries[i].spec is None:
            mechanisms[i] = mechanism_in_file(entry.mechanism)
    entries = tuple(_as_planned(terms, settled.get(i)) for i, terms in enumerate(asked.entries))
    return checked(replace(asked, entries=entries).closed(mechanisms), progress)


def _as_planned(terms: Terms, plan: Plan | None) -> Terms:
    """The terms of an entry with the users and the smallest batch of its plan; who colludes is not in a plan."""
    if plan is None:
        return terms
    crowd = Crowd.of(plan.users, dropouts=plan.users - plan.smallest_batch, colluding=terms.crowd.colluding)
    numbers = {**terms.numbers, "reports_per_user": plan.reports_per_user}
    return replace(terms, name=terms.name or plan.name or None, crowd=crowd, numbers=numbers)


def check_plan(path: str | os.PathLike[str], *, progress: Progress | None = None) -> CheckedPlans:
    """Check one plan: that its claim holds and, where there is a lock beside it, that it is as locked."""
    plan, where = Plan.load(path), Path(path)
    name = plan.name or plan.query.question[:200]
    data = {
        "version": 1,
        "name": f"the claim of {name}"[:200],
        "target": {"epsilon": repr(plan.epsilon), "delta": repr(plan.delta)},
        "population": {"users": plan.users},
        "rounds": [{"name": name}],
    }
    asked: Draft = draft(data, settled=(0,))
    entries = (_as_planned(asked.entries[0], plan),)
    found = checked(replace(asked, entries=entries).closed({0: plan.query.randomizer}), progress)
    state, problem = "as stated", ""
    if os.path.lexists(where.parent / LOCK_NAME):
        entry = next((entry for entry in read_lock(where.parent).rounds if entry.file == where.name), None)
        state, problem = _state(where.parent, entry, {}) if entry else ("extra", _extra(where.name))
    shipped = ShippedPlan(where.name, name, state)
    return _judged(found, os.fspath(where.parent) or ".", [shipped], [problem] if problem else [], (plan,))


def current(data: dict[str, Any], folder: str) -> Source:
    """A programme as it is now, with the digests of the files of labels that it names."""
    names: set[str] = set()
    for entry in data.get("rounds") or ():
        labels = entry.get("labels") if isinstance(entry, dict) else None
        for one in labels.values() if isinstance(labels, dict) else (labels,):
            names |= {one} if isinstance(one, str) else set()
    return Source(data, {name: digest_of(read_bytes(os.path.join(folder, name), LABELS)) for name in sorted(names)})
