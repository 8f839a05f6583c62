"""What was asked: from a name, a spec, a mechanism or a function to the row of mechanisms to choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._support import validation as check
from ..accounting.resolve import MechanismLike, as_mechanism
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..mechanisms.parameters import parsed
from ..mechanisms.registry import split
from .unknowns import Unknown, budget, named, tunable

#: What calibrate takes: a name or a spec with the unknown left out, a mechanism, or a function of one number.
Subject = str | Mechanism | Callable[[float], MechanismLike]


def question(
    subject: Subject, n: int, unknown: str | None, fixed: dict[str, Any], *, imports: bool = True
) -> Unknown | FreeSetting:
    """The row of mechanisms to choose from; with a setting left open, one row for each of its values.

    A spec that was read from a file must not decide which code is imported: ``imports=False``.
    """
    if isinstance(subject, str):
        cls, text = split(subject, imports=imports)
        if cls._file_parameters is None:
            return _of_class(cls, _given(cls, subject, text, fixed), n, unknown)
        subject = _of_file(cls, cls._file_parameters, text)
    if fixed:
        raise ParameterError(
            f"{min(fixed)} must be part of the mechanism or function that was passed, got it as a keyword as well; "
            "remove it, or pass the name of a mechanism."
        )
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
    name = _choose(cls, [t for t in tunable(cls) if given.get(t) is not None], unknown)
    needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
    missing = [f for f in needed if f not in given and f != name]
    if missing:
        raise ParameterError(
            f"{cls.name} needs {', '.join(missing)}, got {', '.join(given) or 'nothing'}; "
            f"pass {', '.join(f'{f}=VALUE' for f in missing)}."
        )
    row = named(cls, name, lambda value: cls(**{**given, name: value}), given, n)
    return cls._free_setting(given) or row if row.is_budget else row


def _of_mechanism(mechanism: Mechanism, n: int, unknown: str | None) -> Unknown:
    """Replace the parameter and keep everything else; where parts share a budget, replace it in all of them."""
    shared = mechanism._shared_budget()
    if shared is not None:
        check.one_of("parameter to solve for", unknown or shared.name, [shared.name])
        return budget(shared.name, shared.make, low=shared.low, high=shared.high)
    cls = type(mechanism)
    held = {name: getattr(mechanism, name) for name in _fields(cls)}
    roles = tunable(cls)
    known = [t for t in roles if held.get(t) is not None]
    if unknown is None and len(known) > 1:
        raise ParameterError(
            f"unknown must name the parameter of {mechanism.name} to solve for, got none; choose {' or '.join(known)}."
        )
    name = unknown or (known[0] if known else None)
    alike = _messages(cls) if name in _messages(cls) else []
    name = _choose(cls, [t for t in known if t != name and t not in alike], name)
    others = dict.fromkeys(alike)

    def make(value: float) -> Mechanism:
        changed: Mechanism = dataclasses.replace(mechanism, **{**others, name: value})  # type: ignore[type-var]
        return changed

    return named(cls, name, make, held, n)


def _fields(cls: type[Mechanism]) -> list[str]:
    """The parameters of a mechanism, in order."""
    return [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []


def _messages(cls: type[Mechanism]) -> list[str]:
    """The parameters that can each state how many blanket messages there are."""
    return [name for name, parameter in tunable(cls).items() if parameter.role == "messages"]


def _of_file(cls: type[Mechanism], before: tuple[str, ...], text: str) -> Mechanism:
    """A mechanism that is read from a file, with the smallest budget allowed."""
    budgets = {name: check.MIN_EPS0 for name in before if name in tunable(cls)}
    if not budgets and cls._shared_budget is Mechanism._shared_budget:
        raise _nothing_to_solve(cls)
    made: Mechanism = cls.from_file(text.strip().removeprefix("file="), **budgets)  # type: ignore[attr-defined]
    return made


def _given(cls: type[Mechanism], spec: str, text: str, fixed: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a spec with one left out, and of keywords; unknown and repeated ones are refused."""
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
        given[key] = parsed(cls, key, value)
    for key in given:
        if key not in fields:
            raise ParameterError(
                f"{cls.name} has no parameter {key!r}, it takes {', '.join(fields)}; correct the name or remove it."
            )
    return given


def _choose(cls: type[Mechanism], given: list[str], unknown: str | None) -> str:
    """The tunable parameter that is not given; among several numbers of messages, the first by default."""
    names, messages = list(tunable(cls)), _messages(cls)
    if not names:
        raise _nothing_to_solve(cls)
    if unknown is not None:
        check.one_of("parameter to solve for", unknown, names)
    skip = set(messages)
    if messages and not skip & set(given):
        skip.remove(unknown if unknown in messages else messages[0])
    missing = [t for t in names if t not in given and t not in skip]
    wanted = unknown or (missing[0] if len(missing) == 1 else None)
    if wanted is None and missing:
        raise ParameterError(
            f"all but one of {', '.join(missing)} must be given for {cls.name}, got none of them; give the known ones."
        )
    if wanted is None or wanted not in missing:
        raise ParameterError(
            f"{unknown or ' or '.join(names)} must be left out of {cls.name} to be solved for, got a value; remove it."
        )
    if len(missing) > 1:
        raise ParameterError(
            f"{cls.name} needs {', '.join(m for m in missing if m != wanted)} to be solved for {wanted}, got nothing; "
            "give it a value."
        )
    return wanted


def _nothing_to_solve(cls: type[Mechanism]) -> ParameterError:
    return ParameterError(
        "mechanism must have a parameter to solve for (a budget, noise, a flip probability or a number of messages), "
        f"got {cls.name}, which has none; in Python, pass a function that makes it from one number."
    )
