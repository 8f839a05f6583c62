"""Spec strings: "name:key=value,..." makes a mechanism, the same in Python, on the command line and in files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from .. import _validation as check
from ..errors import ParameterError
from .base import Mechanism
from .finite import FiniteRandomizer
from .general import General, VariationRatio

#: Mechanisms whose parameters are numbers, by the word of their spec.
NUMERIC: dict[str, type[Mechanism]] = {cls.name: cls for cls in (General, VariationRatio)}
#: Mechanisms read from a file.
FROM_FILE: dict[str, Callable[[str], Mechanism]] = {FiniteRandomizer.name: FiniteRandomizer.from_file}


def names() -> list[str]:
    """Every word that may start a spec."""
    return sorted([*NUMERIC, *FROM_FILE])


def signatures() -> Iterator[tuple[str, str]]:
    """(name, parameters) of every spec, for help texts."""
    for name in names():
        yield name, "file" if name in FROM_FILE else ",".join(_fields(NUMERIC[name]))


def mechanism(spec: str) -> Mechanism:
    """The mechanism named by a spec string.

    Values may be given by name or, in the order of the parameters, without one.

    Examples
    --------
    >>> mechanism("general:eps0=1")
    General(eps0=1.0)
    >>> mechanism("variation-ratio:3,0.4,3") == VariationRatio(p=3, beta=0.4, q=3)
    True
    """
    if not isinstance(spec, str):
        raise ParameterError(f"spec must be a string like 'general:eps0=1', got {spec!r}; write name:key=value,...")
    name, _, rest = spec.partition(":")
    name = check.one_of("mechanism", name.strip(), names())
    if name in FROM_FILE:
        path = rest.strip().removeprefix("file=")
        if not path:
            raise ParameterError(f"{name} needs a file, got none; write for example {name}:matrix.csv.")
        return FROM_FILE[name](path)
    cls = NUMERIC[name]
    return cls(**_values(name, rest, _fields(cls)))


def _fields(cls: type[Mechanism]) -> list[str]:
    return [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]


def _values(name: str, text: str, fields: list[str]) -> dict[str, float]:
    """Parse "a=1,b=2" or "1,2"; unknown, repeated and missing parameters are refused."""
    values: dict[str, float] = {}
    usage = f"write {name}:" + ",".join(f"{f}=..." for f in fields)
    for position, part in enumerate(p for p in text.split(",") if p.strip()):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals:
            if position >= len(fields) or list(values) != fields[:position]:
                raise ParameterError(f"{name} takes {', '.join(fields)}, got the extra value {key!r}; {usage}.")
            key, value = fields[position], key
        elif key not in fields:
            raise ParameterError(f"{name} has no parameter {key!r}, it takes {', '.join(fields)}; {usage}.")
        if key in values:
            raise ParameterError(f"{key} must be given once, got it twice in {name}:{text}; {usage}.")
        values[key] = check.parse_number(key, value)
    missing = [f for f in fields if f not in values]
    if missing:
        raise ParameterError(f"{name} needs {', '.join(missing)}, got {text or 'nothing'!r}; {usage}.")
    return values
