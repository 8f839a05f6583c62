"""What a programme file says, checked key by key: rounds, who can be counted on, and the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from .._support import validation as valid
from .._support.delta_rules import below, is_rule, read
from .._support.reading import as_written, mapping
from ..accounting.crowd import Crowd
from ..accounting.resolve import subject_of
from ..composing.ledger import LedgerEntry, make_entry
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism_in_file

VERSION = 1
MOST_ENTRIES = 1000
KEYS = {"version", "name", "population", "target", "rounds", "minimum_batch"}
CROWD = {"users", "dropouts", "colluding"}
TARGET = {"epsilon", "delta"}
ROUND = CROWD | {
    "name",
    "mechanism",
    "count",
    "bound",
    "participation_limit",
    "reports_per_user",
    "minimum_batch",
    "memoised",
}


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
class Programme:
    """All rounds of a programme and its budget.

    ``epsilon`` and ``delta`` are the largest floats that are not above what was written, to be compared with;
    ``written`` are the nearest ones, to be shown.
    """

    name: str | None
    epsilon: float
    delta: float
    written: tuple[float, float]
    rounds: tuple[PlannedRounds, ...]


def parse(data: object) -> Programme:
    """A checked programme from plain data; what is wrong is named with its place."""
    whole = mapping("the programme", data, optional=KEYS)
    version = whole.get("version")
    if isinstance(version, bool) or str(version) != str(VERSION):
        got = "nothing" if version is None else repr(version)[:40]
        raise ParameterError(f"version must be {VERSION}, got {got}; write version: {VERSION} or update shuffledp.")
    target = mapping("target", whole.get("target"), optional=TARGET)
    population = mapping("population", whole.get("population", {}), optional=CROWD)
    epsilon, shown_epsilon = below_written("target.epsilon", target.get("epsilon"))
    with place("target"):
        hint = "it is the eps that all rounds together may cost"
        valid.in_range("epsilon", epsilon, low=0.0, high=math.inf, low_open=True, high_open=True, hint=hint)
    delta_among = _delta(target.get("delta"))
    rounds = whole.get("rounds")
    if not isinstance(rounds, list) or not 1 <= len(rounds) <= MOST_ENTRIES:
        got = f"{len(rounds)}" if isinstance(rounds, list) else _kind(rounds)
        raise ParameterError(f"rounds must be a list of 1 to {MOST_ENTRIES} entries, got {got}; list what is run.")
    defaults = {f"population.{key}": value for key, value in population.items()}
    if "minimum_batch" in whole:
        defaults["minimum_batch"] = whole["minimum_batch"]
    _one_rule("population", defaults)
    planned = tuple(_round(f"rounds[{i}]", item, defaults) for i, item in enumerate(rounds))
    with place("target"):  # at most c/n for the n of every round
        delta, shown_delta = delta_among(max(round_.crowd.n for round_ in planned))
    return Programme(_name("name", whole.get("name")), epsilon, delta, (shown_epsilon, shown_delta), planned)


def _one_rule(where: str, given: dict[str, Any]) -> None:
    """Dropouts are either assumed to be few or made harmless by a smallest batch."""
    names = {key.rpartition(".")[2] for key in given}
    if {"dropouts", "minimum_batch"} <= names:
        raise ParameterError(
            f"{where} must have dropouts or minimum_batch, got both; a smallest batch already allows all others to "
            "drop out, so remove dropouts."
        )


def _round(where: str, item: object, defaults: dict[str, Any]) -> PlannedRounds:
    if isinstance(item, dict) and any("=" in str(key) for key in item):
        raise ParameterError(
            f'{where}.mechanism must stand in quotes inside braces, got none; write {{mechanism: "grr:eps0=2,d=64"}}.'
        )
    given = mapping(where, item, optional=ROUND)
    _one_rule(where, given)
    own = {f"{where}.{key}": given[key] for key in (*CROWD, "minimum_batch") if key in given}
    # a key of the round replaces the default; dropouts and minimum_batch replace each other
    settled = {key.rpartition(".")[2] for key in own}
    settled |= {"dropouts", "minimum_batch"} if settled & {"dropouts", "minimum_batch"} else set()
    terms = own | {key: value for key, value in defaults.items() if key.rpartition(".")[2] not in settled}
    if not isinstance(given.get("mechanism"), str):
        raise ParameterError(
            f"{where}.mechanism must be a spec such as grr:eps0=2,d=64, got {_kind(given.get('mechanism'))}; name it."
        )
    crowd, smallest = _crowd(where, terms)
    memoised, bound = given.get("memoised", False), given.get("bound", "auto")
    if memoised is not False:
        raise ParameterError(
            f"{where}.memoised must be false, got {_shown(memoised)}; an answer that is drawn once and sent again lets "
            "batches be linked, so draw fresh randomness in every round."
        )
    with place(f"{where}.mechanism"):
        asked = subject_of(mechanism_in_file(given["mechanism"]))
    name = _name(f"{where}.name", given.get("name"))
    numbers: dict[str, Any] = {
        key: None if given[key] is None else whole_number(f"{where}.{key}", given[key])
        for key in ("count", "participation_limit", "reports_per_user")
        if key in given
    }
    with place(where):
        entry = make_entry(asked.left_of(crowd), n=crowd.honest, bound=bound, name=name, **numbers)
    return PlannedRounds(name or asked.mechanism.spec, asked.mechanism, crowd, entry, smallest)


def _crowd(where: str, terms: dict[str, Any]) -> tuple[Crowd, int | None]:
    """Those who can be counted on; with a smallest batch, at most the others are missing from one that is released."""
    named = {key.rpartition(".")[2]: (key, value) for key, value in terms.items()}
    if "users" not in named:
        raise ParameterError(f"{where}.users must be given, got nothing; write it there or in population.")
    key, value = named["users"]
    users = valid.users(whole_number(key, value), key)
    away = {name: _missing(*named[name], users) for name in ("dropouts", "colluding") if name in named}
    smallest = None
    if "minimum_batch" in named:
        key, value = named["minimum_batch"]
        smallest = valid.users(whole_number(key, value), key)
        if smallest > users:
            raise ParameterError(
                f"{key} must not exceed the number of users, {users:,}, got {smallest:,}; lower it or raise users."
            )
        away["dropouts"] = users - smallest
    with place(where):
        return Crowd.of(users, **away), smallest


# -- values ----------------------------------------------------------------------------------------------------


@contextmanager
def place(where: str) -> Iterator[None]:
    """Errors say where they arose."""
    try:
        yield
    except ShuffleDPError as error:
        raise ParameterError(f"{where}: {error}") from None


def exact(where: str, value: object) -> tuple[Fraction, bool]:
    """A number as it is written, and whether it is written as a count (without a decimal point).

    Examples
    --------
    >>> exact("delta", "1e-8"), exact("users", "1_000_000")
    ((Fraction(1, 100000000), True), (Fraction(1000000, 1), True))
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        if abs(int(value)) > 10**40:  # so large that it would not even be printed
            raise ParameterError(f"{where} must be a number below 1e40, got a larger one; check its digits.")
        return Fraction(int(value)), True
    text = str(value) if isinstance(value, float) else value.strip() if isinstance(value, str) else ""
    number = as_written(text)
    if number is not None:
        return number, not {".", "/"} & set(text)
    raise ParameterError(f"{where} must be a number such as 1_000_000, 0.05 or 1e-8, got {_shown(value)}; correct it.")


def whole_number(where: str, value: object) -> int:
    """A whole number as it is written."""
    number, _ = exact(where, value)
    if number.denominator != 1:
        raise ParameterError(f"{where} must be a whole number, got {_shown(value)}; round it.")
    return int(number)


def _missing(where: str, value: object, users: int) -> int:
    """A number of users, or a part of them that is rounded up."""
    number, count = exact(where, value)
    if 0 <= number < 1:
        return math.ceil(number * users)
    if number < 0 or not count or number.denominator != 1:
        raise ParameterError(
            f"{where} must be a whole number of users or a part of them in [0, 1), got {_shown(value)}; "
            "write for example 100 or 0.05."
        )
    return int(number)


def below_written(where: str, value: object) -> tuple[float, float]:
    """The largest float that is not above the number as written (a budget is never rounded up), and the nearest."""
    number, _ = exact(where, value)
    try:
        return below(number), float(number)
    except OverflowError:
        raise ParameterError(f"{where} must be below 1e308, got {_shown(value)}; correct it.") from None


def _delta(value: object) -> Callable[[int], tuple[float, float]]:
    """The same of delta, as a function of n for a rule such as 0.01/n, which is checked for every n at once."""
    if not is_rule(value):
        found = below_written("target.delta", value)
        with place("target"):
            valid.probability_delta(found[0])
        return lambda n: found
    with place("target"):
        rule = read(value)

    def among(n: int) -> tuple[float, float]:
        number = rule.exact(n)
        return below(number), float(number)

    return among


def _name(where: str, value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()):
        raise ParameterError(f"{where} must be one line of up to 200 characters, got {_shown(value)}; shorten it.")
    return value


def _kind(value: object) -> str:
    """What a value is, in the words of the file."""
    if value is None:
        return "nothing"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else _shown(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
