"""What a programme file says, checked key by key: rounds, who can be counted on, the budget and its periods.

A :class:`Draft` may leave budgets open, which calibrate_programme solves for; :meth:`Draft.closed` is the programme
with every mechanism in its place.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from .._support import validation as valid
from .._support.reading import mapping
from ..accounting.crowd import Crowd, missing
from ..accounting.resolve import subject_of
from ..composing.ledger import LedgerEntry, make_entry
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism_in_file
from .asking import Asked
from .opening import OPENING, Opening
from .values import (
    MOST_DATES,
    Step,
    below_written,
    delta_rule,
    exact,
    kind,
    one_line,
    place,
    read_date,
    shown,
    whole_number,
)

VERSION = 1
MOST_ENTRIES = 1000
#: Most ways in which the periods of a programme may differ.
MOST_KINDS = 60
DATES = {"start", "until"}
KEYS = {"version", "name", "population", "target", "rounds", "minimum_batch", "weights", "plans"} | DATES
CROWD = {"users", "opt_in", "dropouts", "colluding"}
TARGET = {"epsilon", "delta", "per"}
#: What the weights of open rounds divide.
WEIGHTS = ("local", "central")
ROUND = CROWD | DATES | OPENING
ROUND |= {"name", "count", "every", "bound", "participation_limit", "reports_per_user", "minimum_batch", "memoized"}


@dataclass(frozen=True)
class PlannedRounds:
    """One entry of a programme: ``entry`` is what the honest users run, ``crowd`` those who were asked.

    ``whole`` is the mechanism as written: a fixed total of blanket messages is smaller in ``entry``, without the
    shares of the missing.
    """

    name: str
    whole: Mechanism
    crowd: Crowd
    entry: LedgerEntry
    minimum_batch: int | None


@dataclass(frozen=True)
class Period:
    """Rounds of every entry in one period: ``label`` is the first such period, ``number`` how many are alike."""

    label: str | None
    number: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """One entry of a draft: all but its mechanism, which is ``spec``, or is ``open``."""

    where: str
    name: str | None
    crowd: Crowd
    minimum_batch: int | None
    bound: Any
    numbers: dict[str, Any]
    dates: tuple[date, ...] | None
    spec: str | None
    open: Opening | Asked | None

    def made(self, mechanism: Mechanism | None = None) -> PlannedRounds:
        """The entry with this mechanism in its place, or with the one that it names."""
        if mechanism is None and self.spec is None:
            raise ParameterError(
                f"{self.where} must give the whole mechanism to be checked, got one that is left open; let shuffledp "
                "calibrate --programme FILE --plans DIR find it, and check FILE --plans DIR."
            )
        with place(f"{self.where}.mechanism"):
            asked = subject_of(mechanism or mechanism_in_file(self.spec or ""))
        with place(self.where):
            left = asked.left_of(self.crowd)
            entry = make_entry(left, n=self.crowd.honest, bound=self.bound, name=self.name, **self.numbers)
        name = self.name or asked.mechanism.spec
        return PlannedRounds(name, asked.mechanism, self.crowd, entry, self.minimum_batch)


@dataclass(frozen=True)
class Draft:
    """A programme of which some mechanisms may be open, and its budget; ``weights`` says what is divided, if not None.

    ``epsilon`` and ``delta`` are the largest floats that are not above what was written, to be compared with;
    ``written`` are the nearest ones, to be shown.  ``per`` is the period that the budget is for, None for all rounds;
    ``periods`` are those that no other exceeds in every entry.
    """

    name: str | None
    epsilon: float
    delta: float
    written: tuple[float, float]
    entries: tuple[Terms, ...]
    per: str | None
    periods: tuple[Period, ...]
    weights: str | None
    plans: str | None = None

    @property
    def opened(self) -> dict[int, Opening | Asked]:
        """What is left open, by the number of the entry."""
        return {i: terms.open for i, terms in enumerate(self.entries) if terms.open is not None}

    def closed(self, found: Mapping[int, Mechanism] | None = None) -> Programme:
        """The programme with the mechanisms that were found, by the number of their entry."""
        settled = found or {}
        rounds = tuple(terms.made(settled.get(i)) for i, terms in enumerate(self.entries))
        known = {field.name: getattr(self, field.name) for field in fields(Draft)}
        return Programme(**known, rounds=rounds)


@dataclass(frozen=True)
class Programme(Draft):
    """A draft with every mechanism in its place: all rounds."""

    rounds: tuple[PlannedRounds, ...] = ()

    @property
    def dated(self) -> bool:
        """Whether the budget is one per period and the periods are known by their dates."""
        return self.per is not None and any(terms.dates is not None for terms in self.entries)


def parse(data: object) -> Programme:
    """A checked programme from plain data; what is wrong is named with its place."""
    return draft(data).closed()


def draft(data: object, *, folder: str = "", settled: Collection[int] = ()) -> Draft:
    """A checked draft from plain data; what is wrong is named with its place.

    ``folder`` is where files of labels are looked for.  The questions of ``settled`` rounds, whose mechanisms are known
    from elsewhere, are not read.
    """
    whole = mapping("the programme", data, optional=KEYS)
    version = whole.get("version")
    if isinstance(version, bool) or str(version) != str(VERSION):
        got = "nothing" if version is None else repr(version)[:40]
        raise ParameterError(f"version must be {VERSION}, got {got}; write version: {VERSION} or update shuffledp.")
    target = mapping("target", whole.get("target"), optional=TARGET)
    population = mapping("population", whole.get("population", {}), optional=CROWD)
    epsilon, shown_epsilon = below_written("target.epsilon", target.get("epsilon"))
    with place("target"):
        valid.inside("epsilon", epsilon, hint="it is the eps that all rounds together may cost")
    delta_among = delta_rule(target.get("delta"))
    per = None if target.get("per") is None else Step.read("target.per", target["per"])
    weights = whole.get("weights")
    if weights is not None and weights not in WEIGHTS:
        raise ParameterError(f"weights must be {' or '.join(WEIGHTS)}, got {shown(weights)}; write one of them.")
    rounds = whole.get("rounds")
    if not isinstance(rounds, list) or not 1 <= len(rounds) <= MOST_ENTRIES:
        got = f"{len(rounds)}" if isinstance(rounds, list) else kind(rounds)
        raise ParameterError(f"rounds must be a list of 1 to {MOST_ENTRIES} entries, got {got}; list what is run.")
    defaults = {f"population.{key}": value for key, value in population.items()}
    defaults |= {key: whole[key] for key in ("minimum_batch", *sorted(DATES)) if key in whole}
    _one_rule("population", defaults)
    left = MOST_DATES
    planned = []
    for i, item in enumerate(rounds):
        planned.append(_round(f"rounds[{i}]", item, defaults, left, folder if i not in settled else None))
        left -= len(planned[-1].dates or ())
    with place("target"):  # at most c/n for the n of every round
        delta, shown_delta = delta_among(max(terms.crowd.n for terms in planned))
    origin = read_date("start", whole["start"]) if "start" in whole else None
    name, each = one_line("name", whole.get("name")), None if per is None else str(per)
    written, periods = (shown_epsilon, shown_delta), _periods(planned, per, origin)
    plans = one_line("plans", whole.get("plans"))
    return Draft(name, epsilon, delta, written, tuple(planned), each, periods, weights, plans)


def _one_rule(where: str, given: dict[str, Any]) -> None:
    """Dropouts are either assumed to be few or made harmless by a smallest batch."""
    names = {key.rpartition(".")[2] for key in given}
    if {"dropouts", "minimum_batch"} <= names:
        raise ParameterError(
            f"{where} must have dropouts or minimum_batch, got both; a smallest batch already allows all others to "
            "drop out, so remove dropouts."
        )


def _round(where: str, item: object, defaults: dict[str, Any], most_dates: int, folder: str | None) -> Terms:
    if isinstance(item, dict) and any("=" in str(key) for key in item):
        raise ParameterError(
            f'{where}.mechanism must be in quotes inside braces, got no quotes; write {{mechanism: "grr:eps0=2,d=64"}}.'
        )
    given = mapping(where, item, optional=ROUND)
    _one_rule(where, given)
    own = {f"{where}.{key}": given[key] for key in (*CROWD, *DATES, "minimum_batch") if key in given}
    # a key of the round replaces the default; dropouts and minimum_batch replace each other
    settled = {key.rpartition(".")[2] for key in own}
    settled |= {"dropouts", "minimum_batch"} if settled & {"dropouts", "minimum_batch"} else set()
    terms = own | {key: value for key, value in defaults.items() if key.rpartition(".")[2] not in settled}
    named = {key.rpartition(".")[2]: (key, value) for key, value in terms.items()}
    opening = None if folder is None else Opening.read(where, given, folder)
    crowd, smallest = _crowd(where, named)
    memoized, bound = given.get("memoized", False), given.get("bound", "auto")
    if memoized is not False:
        raise ParameterError(
            f"{where}.memoized must be false, got {shown(memoized)}; an answer that is drawn once and sent again lets "
            "batches be linked, so draw fresh randomness in every round."
        )
    spec = given["mechanism"] if opening is None and folder is not None else None
    if spec is not None:
        opening = Opening.of_spec(where, spec, crowd.n)
        spec = None if opening is not None else spec
    name = one_line(f"{where}.name", given.get("name"))
    numbers: dict[str, Any] = {
        key: None if given[key] is None else whole_number(f"{where}.{key}", given[key])
        for key in ("count", "participation_limit", "reports_per_user")
        if key in given
    }
    dates = _dates(where, given, named, most_dates)
    if dates is not None:
        numbers["count"] = len(dates)
    return Terms(where, name, crowd, smallest, bound, numbers, dates, spec, opening)


def _crowd(where: str, named: dict[str, tuple[str, Any]]) -> tuple[Crowd, int | None]:
    """Those who can be counted on; with a smallest batch, at most the others are missing from one that is released."""
    if "users" not in named:
        raise ParameterError(f"{where}.users must be given, got nothing; write it there or in population.")
    key, value = named["users"]
    users = valid.users(value, key)
    if "opt_in" in named:
        users = _opted_in(*named["opt_in"], users)
    away = {name: missing(*named[name], users) for name in ("dropouts", "colluding") if name in named}
    smallest = None
    if "minimum_batch" in named:
        key, value = named["minimum_batch"]
        smallest = valid.users(value, key)
        if smallest > users:
            raise ParameterError(
                f"{key} must not exceed the number of users, {users:,}, got {smallest:,}; lower it or raise users."
            )
        away["dropouts"] = users - smallest
    with place(where):
        return Crowd.of(users, **away), smallest


def _opted_in(where: str, value: object, users: int) -> int:
    """How many of the users take part: a share of them, rounded down."""
    share = valid.percent(value) if isinstance(value, str) else None
    if share is None:
        share, _ = exact(where, value)
    if not 0 < share <= 1:
        raise ParameterError(
            f"{where} must be a share of the users such as 60% or 0.6, got {shown(value)}; correct it."
        )
    found = math.floor(share * users)
    if found < 1:
        raise ParameterError(f"{where} must leave at least one of {users:,} users, got {shown(value)}; raise it.")
    return found


# -- dates and periods -----------------------------------------------------------------------------------------


def _dates(where: str, given: dict[str, Any], named: dict[str, tuple[str, Any]], most: int) -> tuple[date, ...] | None:
    """When the rounds are run; None where they are only counted."""
    if "every" not in given:
        own = DATES & given.keys()
        if own:
            raise ParameterError(
                f"{where}.{min(own)} must be given together with every, got no every; write every: week."
            )
        return None
    if "count" in given:
        raise ParameterError(f"{where} must have count or every, got both; dates are counted, so remove count.")
    step = Step.read(f"{where}.every", given["every"])
    for key in sorted(DATES - named.keys()):
        raise ParameterError(
            f"{where}.{key} must be given together with every, got nothing; write it there or at the top."
        )
    start, until = (read_date(*named[key]) for key in ("start", "until"))
    found: list[date] = []
    for day in step.dates(start, until):
        found.append(day)
        if len(found) > most:
            raise ParameterError(
                f"{where}.until must leave at most {MOST_DATES:,} dates in all rounds, got more; choose an earlier one."
            )
    if not found:
        raise ParameterError(f"{where}.until must not be before start, {start}, got {until}; correct one of them.")
    return tuple(found)


def _periods(planned: list[Terms], per: Step | None, origin: date | None) -> tuple[Period, ...]:
    """The periods that no other exceeds in every entry; one of everything where the budget is for all rounds."""
    dated = [terms for terms in planned if terms.dates is not None]
    if per is None or not dated:
        return (Period(None, 1, tuple(terms.numbers.get("count", 1) for terms in planned)),)
    if len(dated) < len(planned):
        counted = next(terms for terms in planned if terms.dates is None)
        raise ParameterError(
            f"{counted.where} must have every, like {dated[0].where}, where the budget is per {per}, got a count; "
            "write when it is run."
        )
    first = origin or min(terms.dates[0] for terms in dated if terms.dates)
    found: dict[str, list[int]] = {}
    begins: dict[str, date] = {}
    for number, terms in enumerate(planned):
        for day in terms.dates or ():
            label = per.period(day, first)
            found.setdefault(label, [0] * len(planned))[number] += 1
            begins[label] = min(begins.get(label, day), day)
    kinds: dict[tuple[int, ...], list[str]] = {}
    for label in sorted(found, key=lambda label: begins[label]):
        kinds.setdefault(tuple(found[label]), []).append(label)
    most = [
        Period(labels[0], len(labels), counts)
        for counts, labels in kinds.items()
        if not any(other != counts and all(map(int.__le__, counts, other)) for other in kinds)
    ]
    if len(most) > MOST_KINDS:
        raise ParameterError(
            f"target.per must make periods that differ in at most {MOST_KINDS} ways, got {len(most)}; "
            "choose longer periods, or steps that divide them."
        )
    return tuple(most)
