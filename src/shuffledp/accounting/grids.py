"""The points of a sweep: mechanisms, their parameters, n and delta, one value each or several, in every combination."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from .._support import validation as check
from .._support.delta_rules import is_rule, read
from ..errors import ParameterError
from ..mechanisms.base import Mechanism, plain
from ..mechanisms.registry import canonical, made, split
from .arrays import MOST_ANSWERS
from .resolve import MechanismLike, Subject, as_mechanism

#: What may be swept: a mechanism or its spec, whose parameters are completed or replaced, or a function of them.
Sweepable = MechanismLike | Callable[..., MechanismLike]
#: The most values of one axis.
_MOST_VALUES = 10_000
#: What a sweep takes beside the parameters of its mechanisms.
_OWN = ("n", "delta", "bounds", "tol", "progress", "batched")


class Place(NamedTuple):
    """One point: what the mechanism is called, the values of its parameters, and the question.

    ``rule`` is delta as it was written, if it was a rule.
    """

    mechanism: str
    parameters: dict[str, float | str]
    subject: Subject
    n: int
    delta: float
    rule: str | None


@dataclasses.dataclass(frozen=True)
class Grid:
    """All points of a sweep, mechanism by mechanism.

    ``variable`` is the only axis, where it is eps0, n or delta of one mechanism; None: there are more, or others.
    """

    places: list[Place]
    variable: str | None


def grid(mechanism: Any, *, n: Any, delta: Any, parameters: dict[str, Any]) -> Grid:
    """Every point of a sweep; everything is checked before the first answer is computed.

    Examples
    --------
    >>> found = grid(["grr", "subset"], n=[100, 1000], delta="0.01/n", parameters={"eps0": 1.0, "d": [4, 8]})
    >>> len(found.places), found.variable, found.places[1].subject.mechanism.spec, found.places[1].n
    (8, None, 'grr:eps0=1,d=4', 1000)
    """
    given = {**parameters, "n": n, "delta": delta}
    several = [name for name, value in given.items() if is_sequence(value)]
    alone = several[0] if len(several) == 1 and several[0] in ("eps0", "n", "delta") else None
    many = isinstance(mechanism, list | tuple | Mapping)
    if not several and not many:
        raise ParameterError(
            "at least one of eps0, n, delta and the parameters of the mechanism must be a list of values, got none of "
            "them; give a list for every variable to sweep."
        )
    axes = {name: _values(name, value, once=many or not alone) for name, value in given.items()}
    asked = _asked(mechanism) if many else [("", mechanism)]
    size = len(asked) * int(np.prod([len(values) for values in axes.values()], dtype=object))
    if size > MOST_ANSWERS:
        raise ParameterError(
            f"the grid must have at most {MOST_ANSWERS:,} points, got {size:,}; leave some values out, or sweep in "
            "several calls."
        )
    parts = [_places(label, one, axes) for label, one in asked]
    if len({part[0].mechanism for part in parts}) < len(parts):
        raise ParameterError(
            "mechanisms must be different ones, got one of them twice; leave it out, or call them by names: "
            "{'first': ..., 'second': ...}."
        )
    return Grid([place for part in parts for place in part], None if many else alone)


def _places(label: str, mechanism: Any, axes: dict[str, list[Any]]) -> list[Place]:
    """The points of one mechanism; one subject for each choice of its parameters, so that its families are kept."""
    names = [name for name in axes if name not in ("n", "delta")]
    make = _maker(mechanism, names)
    found = []
    # a function may return one object for several values, and then its families are shared
    subjects: dict[int, Subject] = {}
    for values in itertools.product(*(axes[name] for name in names)):
        parameters = dict(zip(names, values, strict=True))
        one = make(parameters)
        subject = subjects.setdefault(id(one), Subject(one))
        for n, delta in itertools.product(axes["n"], axes["delta"]):
            rule = delta.strip() if isinstance(delta, str) else None
            found.append(Place(label, parameters, subject, n, read(delta).at(n), rule))
    if not label:  # a spec is called by itself, anything else by what its specs share
        specs = [place.subject.mechanism.spec for place in found]
        label = canonical(mechanism) if isinstance(mechanism, str) else common(specs)
    return [place._replace(mechanism=label) for place in found]


def _asked(mechanisms: Any) -> list[tuple[str, Any]]:
    """Mechanisms with what they are called; those of a list have no names yet."""
    if not isinstance(mechanisms, Mapping):
        found = [("", one) for one in mechanisms]
    else:
        wrong = next((key for key in mechanisms if not isinstance(key, str) or not key.strip()), None)
        if wrong is not None:
            raise ParameterError(
                f"mechanisms must be called by a text, got {check.shown(wrong)}; write {{'name': mechanism}}."
            )
        found = list(mechanisms.items())
    if not found:
        raise ParameterError("mechanisms must name at least one, got none; write ['grr:d=16', 'subset:d=16'].")
    return found


def common(specs: Sequence[str]) -> str:
    """What all the specs share: the name, and the parameters that do not change.

    >>> common(["grr:eps0=1,d=4", "grr:eps0=2,d=4"])
    'grr:d=4'
    """
    if len(set(specs)) == 1:
        return specs[0]
    name, _, parts = specs[0].partition(":")
    kept = [part for part in parts.split(",") if all(part in spec.partition(":")[2].split(",") for spec in specs)]
    return f"{name}:{','.join(kept)}" if kept else name


# -- values -----------------------------------------------------------------------------------------------------------


def is_sequence(value: Any) -> bool:
    """Whether this is an axis: a list, a tuple, a range, an array or a column of a frame."""
    try:
        return np.ndim(value) > 0
    except ValueError:  # lists of different lengths
        return True


def _values(name: str, given: Any, *, once: bool) -> list[Any]:
    """The checked values of an axis, or the only one; a study, in which values are looked up, has each ``once``."""
    listed = list(given) if is_sequence(given) else [given]
    if not 1 <= len(listed) <= _MOST_VALUES:
        raise ParameterError(
            f"{name} must hold 1 to {_MOST_VALUES:,} values, got {len(listed):,}; change their number."
        )
    found = [_value(name, value) for value in listed]
    if once and len(set(found)) < len(found):
        twice = next(value for value in found if found.count(value) > 1)
        raise ParameterError(f"{name} must hold every value once, got {twice!r} twice; leave one of them out.")
    return found


def _value(name: str, value: Any) -> Any:
    if name == "n":
        return check.users(value)
    if name == "delta":
        return value if is_rule(value) else read(value).number
    if name == "eps0":
        return check.local_budget(value)
    if isinstance(value, str):
        if "," in value or not value.strip():
            raise ParameterError(f"{name} must hold numbers or single words, got {check.shown(value)}; correct it.")
        return value.strip()
    number = check.real(name, value)
    return int(number) if number == int(number) and abs(number) < 2**53 else number


# -- mechanisms -------------------------------------------------------------------------------------------------------


def _maker(mechanism: Any, names: list[str]) -> Callable[[dict[str, Any]], Mechanism]:
    """The mechanism as a function of the named parameters (a constant one if there are none)."""
    if not names:
        fixed = as_mechanism(mechanism)
        return lambda _: fixed
    if isinstance(mechanism, str):
        cls, text = split(mechanism)
        _refuse_unknown(cls, names)
        _refuse_given(cls, text, names)
        before = f"{text}," if text else ""
        return lambda values: made(cls, before + ",".join(f"{key}={_written(value)}" for key, value in values.items()))
    if isinstance(mechanism, Mechanism):
        held: Any = mechanism
        _refuse_unknown(type(held), names)
        return lambda values: dataclasses.replace(held, **values)
    if callable(mechanism) and not isinstance(mechanism, type):
        return lambda values: as_mechanism(_call(mechanism, values))
    raise ParameterError(
        f"mechanism must be a spec without {names[0]}, a mechanism with a field {names[0]} or a function of "
        f"{names[0]}, got {mechanism!r:.200}; write for example 'subset:d=16' or lambda e: GRR(eps0=e, d=4)."
    )


def _call(function: Callable[..., MechanismLike], values: dict[str, Any]) -> Any:
    """eps0 is passed first, without its name; all else by name."""
    others = {key: value for key, value in values.items() if key != "eps0"}
    first = [values["eps0"]] if "eps0" in values else []
    try:
        inspect.signature(function).bind(*first, **others)
    except TypeError as error:
        raise ParameterError(
            f"mechanism must be a function of {', '.join(values)}, got one that cannot be called so ({error}); write "
            f"for example lambda {', '.join(values)}: ..."
        ) from None
    return function(*first, **others)


def _written(value: float | str) -> str:
    return value if isinstance(value, str) else plain(value)


def _refuse_unknown(cls: Any, names: Sequence[str]) -> None:
    known = [field.name for field in dataclasses.fields(cls) if field.init and field.name != "source"]
    for name in names:
        if name in known and cls._file_parameters is None:
            continue
        if name == "eps0":
            raise ParameterError(
                f"eps0 must be left out for {cls.name}, which has no such parameter, got values; sweep n or delta."
            )
        close = get_close_matches(name, [*known, *_OWN], n=1)
        advice = f"did you mean {close[0]!r}?" if close else "leave it out."
        raise ParameterError(
            f"{name} must be a parameter of {cls.name} ({', '.join(known)}), got no such name; {advice}"
        )


def _refuse_given(cls: Any, text: str, names: Sequence[str]) -> None:
    stated = [part.partition("=")[0].strip() for part in text.split(",")]
    for name in names:
        if name in stated:
            raise ParameterError(
                f"mechanism must be a spec without {name} where {name} is given, got {f'{cls.name}:{text}'!r}; "
                "leave it out."
            )
