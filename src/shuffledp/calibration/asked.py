"""What was asked: from a name, a spec, a mechanism or a function to the row of mechanisms to choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._support import validation as check
from ..accounting.resolve import MechanismLike, as_mechanism
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.parallel import Parallel
from ..mechanisms.registry import FROM_FILE
from ..mechanisms.registry import find as find_class
from .free_settings import FreeSetting, free_setting
from .unknowns import BLANKETS, TUNABLE, Unknown, budget, least_budget, named

#: What calibrate takes: a name or a spec with the unknown left out, a mechanism, or a function of one number.
Subject = str | Mechanism | Callable[[float], MechanismLike]


def question(subject: Subject, n: int, unknown: str | None, fixed: dict[str, Any]) -> Unknown | FreeSetting:
    """The row of mechanisms to choose from; with a setting left open, one row for each of its values."""
    if isinstance(subject, str):
        word, _, text = subject.partition(":")
        cls = find_class(word.strip())
        if cls.name not in FROM_FILE:
            return _of_class(cls, _given(cls, subject, text, fixed), n, unknown)
        subject = _of_file(cls, text)
    if fixed:
        raise ParameterError(
            f"{min(fixed)} must be part of the mechanism or function that was passed, got it as a keyword, too; "
            "remove it, or pass the name of a mechanism."
        )
    if isinstance(subject, Parallel):
        return _of_parallel(subject, unknown)
    if isinstance(subject, Mechanism):
        return _of_mechanism(subject, n, unknown)
    if not callable(subject):
        raise ParameterError(
            "subject must be a name such as 'grr', a spec, a mechanism, or a function that makes one from a number, "
            f"got {type(subject).__name__}; pass one of these."
        )
    if unknown is not None:
        raise ParameterError(f"unknown must be left out with a function of one number, got {unknown!r}; remove it.")
    make: Callable[[float], MechanismLike] = subject
    return budget("the number", lambda x: as_mechanism(make(x)))


def _of_class(cls: type[Mechanism], given: dict[str, Any], n: int, unknown: str | None) -> Unknown | FreeSetting:
    name = _choose(cls, [t for t in TUNABLE if given.get(t) is not None], unknown)
    needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
    missing = [f for f in needed if f not in given and f != name]
    if missing:
        raise ParameterError(
            f"{cls.name} needs {', '.join(missing)}, got {', '.join(given) or 'nothing'}; "
            f"pass {', '.join(f'{f}=VALUE' for f in missing)}."
        )
    row = named(name, cls.name, lambda value: cls(**{**given, name: value}), given, n)
    return free_setting(cls, given) or row if name == "eps0" else row


def _of_mechanism(mechanism: Mechanism, n: int, unknown: str | None) -> Unknown:
    """The parameter is replaced, everything else is kept."""
    held = {name: getattr(mechanism, name) for name in _fields(type(mechanism))}
    tunable = [t for t in TUNABLE if held.get(t) is not None]
    if unknown is None and len(tunable) > 1:
        raise ParameterError(
            f"unknown must name the parameter of {mechanism.name} to solve for, got none; "
            f"choose {' or '.join(tunable)}."
        )
    name = unknown or (tunable[0] if tunable else None)
    name = _choose(type(mechanism), [t for t in tunable if t != name and not {t, name} <= set(BLANKETS)], name)
    others = dict.fromkeys(BLANKETS) if name in BLANKETS else {}

    def make(value: float) -> Mechanism:
        changed: Mechanism = dataclasses.replace(mechanism, **{**others, name: value})  # type: ignore[type-var]
        return changed

    return named(name, mechanism.name, make, held, n)


def _fields(cls: type[Mechanism]) -> list[str]:
    """The parameters of a mechanism, in order."""
    return [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []


def _of_file(cls: type[Mechanism], text: str) -> Mechanism:
    """Distances of exponential-metric, or queries: a matrix leaves nothing to find."""
    if cls.name == "finite":
        raise _nothing_to_solve(cls)
    settings = {"eps": check.MIN_EPS0} if cls.name == "exponential-metric" else {}
    made: Mechanism = cls.from_file(text.strip().removeprefix("file="), **settings)  # type: ignore[attr-defined]
    return made


def _of_parallel(parallel: Parallel, unknown: str | None) -> Unknown:
    """One eps0 for all queries that have one; everything else is kept, but for the file, which says otherwise."""
    queries = [(weight, m, "eps0" in _fields(type(m))) for weight, m in parallel._queries]
    lows = [least_budget(m.name) for _, m, has_budget in queries if has_budget]
    if not lows:
        raise _nothing_to_solve(type(parallel))
    check.one_of("parameter to solve for", unknown or "eps0", ["eps0"])

    def make(eps0: float) -> Mechanism:
        return Parallel([(w, dataclasses.replace(m, eps0=eps0) if has else m) for w, m, has in queries])  # type: ignore[type-var]

    return budget("eps0", make, low=max(lows))


def _given(cls: type[Mechanism], spec: str, text: str, fixed: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a spec with one left out, and of keywords; unknown and repeated ones are refused."""
    fields = _fields(cls)
    given = dict(fixed)
    for part in (p for p in text.split(",") if p.strip()):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals:
            raise ParameterError(
                f"parameters must be written as key=value where one is left out, got {key!r} in {spec!r}; "
                "write for example grr:d=64."
            )
        if key in given:
            raise ParameterError(f"{key} must be given once, got it twice for {cls.name}; remove one of them.")
        given[key] = check.parse_number(key, value)
    for key in given:
        if key not in fields:
            raise ParameterError(
                f"{cls.name} has no parameter {key!r}, it takes {', '.join(fields)}; correct the name or remove it."
            )
    return given


def _choose(cls: type[Mechanism], given: list[str], unknown: str | None) -> str:
    """The tunable parameter that is not given; of the numbers of messages one is meant, by default the first."""
    tunable = [name for name in TUNABLE if name in _fields(cls)]
    if not tunable:
        raise _nothing_to_solve(cls)
    if unknown is not None:
        check.one_of("parameter to solve for", unknown, tunable)
    if set(given) & set(BLANKETS):
        skip = set(BLANKETS)
    else:
        skip = set(BLANKETS) - {unknown if unknown in BLANKETS else "messages"}
    missing = [t for t in tunable if t not in given and t not in skip]
    wanted = unknown or (missing[0] if len(missing) == 1 else None)
    if wanted is None and missing:
        raise ParameterError(
            f"all but one of {', '.join(missing)} must be given for {cls.name}, got none of them; give the known ones."
        )
    if wanted is None or wanted not in missing:
        raise ParameterError(
            f"{unknown or ' or '.join(tunable)} must be left out of {cls.name} to be solved for, got a value; "
            "remove it."
        )
    if len(missing) > 1:
        raise ParameterError(
            f"{cls.name} needs {', '.join(m for m in missing if m != wanted)} to be solved for {wanted}, got nothing; "
            "give it a value."
        )
    return wanted


def _nothing_to_solve(cls: type[Mechanism]) -> ParameterError:
    return ParameterError(
        f"mechanism must have a parameter to solve for ({', '.join(TUNABLE)}), got {cls.name}, which has none; "
        "in Python, pass a function that makes it from one number."
    )
