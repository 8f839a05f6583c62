"""Spec strings: "name:key=value,..." makes a mechanism, the same in Python, on the command line and in files."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any, TypeVar

from .._support import names as _names
from .._support.validation import shown
from ..errors import ExtensionError, ParameterError
from .base import Mechanism
from .catalog import CATALOG
from .extension import ClassPath, imported, load_plugins, refuse_incomplete
from .parameters import parsed

#: The mechanism given by a matrix, and the word reserved for a bare shuffled pair.
BY_MATRIX, RESERVED = "finite", "round"
#: Installed packages name their mechanisms in this group of entry points.
GROUP = "shuffledp.mechanisms"
#: Classes that were registered, by name; plug-ins of installed packages are loaded when a name is not known yet.
_REGISTERED: dict[str, type[Mechanism]] = {}
_Class = TypeVar("_Class", bound=type[Mechanism])


def register(cls: _Class) -> _Class:
    """Make a mechanism class known by its name, as a class decorator.

    From then on its spec works wherever one of the library does: in Python, on the command line and in files.

    Raises
    ------
    ExtensionError
        The class is not complete, or its name is taken.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> sdp.register(dict)
    Traceback (most recent call last):
    shuffledp.errors.ExtensionError: register must be given a class derived from shuffledp.Mechanism, got dict; derive \
it from FrequencyOracle, Randomizer or Mechanism.
    """
    refuse_incomplete(cls)
    taken = _names.resolve(cls.name, [*CATALOG, *_REGISTERED, RESERVED])
    before = _REGISTERED.get(taken) if taken is not None else None
    again = before is not None and (before.__module__, before.__qualname__) == (cls.__module__, cls.__qualname__)
    if taken is not None and not again:  # a cell of a notebook may be run twice
        raise ExtensionError(
            f"{cls.__name__} must have a name of its own, got {cls.name!r}, which is taken; rename it."
        )
    _REGISTERED[cls.name] = cls
    return cls


def names() -> list[str]:
    """Every word that may start a spec, those of plug-ins included."""
    load_plugins(GROUP, register)
    return sorted([*CATALOG, *_REGISTERED])


def _word(name: str) -> str | None:
    """The word behind a name; plug-ins are loaded only if the name is not known without them."""
    found = _names.resolve(name, [*CATALOG, *_REGISTERED])
    if found is None:
        load_plugins(GROUP, register)
        found = _names.resolve(name, _REGISTERED)
    return found


def find(name: str) -> type[Mechanism]:
    """The class behind the word of a spec."""
    word = word_of(name)
    if word in _REGISTERED:
        return _REGISTERED[word]
    module, cls = CATALOG[word]
    found: type[Mechanism] = getattr(importlib.import_module(f".{module}", __package__), cls)
    return found


def word_of(name: str) -> str:
    """The word of the catalog for a name in any case, with any hyphens, or for an alias; unknown ones are refused.

    Examples
    --------
    >>> word_of("kRR"), word_of("Local_Hash")
    ('grr', 'local-hash')
    """
    word = _word(name)
    if word is None:
        known = names()
        close = _names.near(name, known)
        hint = f"did you mean {close!r}?" if close else f"'shuffledp mechanisms' lists all {len(known)}."
        raise ParameterError(f"unknown mechanism {shown(name)}; {hint}")
    return word


def split(spec: str, *, imports: bool = True) -> tuple[type[Mechanism], str]:
    """The class that a spec names and the text of its parameters.

    ``package.module:Class:parameters`` names a class by its module.  The class is imported, and registered,
    only with ``imports``: a spec that was read from a file must never decide which code is run.

    Examples
    --------
    >>> split("kRR:eps0=1,d=4")
    (<class 'shuffledp.mechanisms.categorical.grr.GRR'>, 'eps0=1,d=4')
    """
    word, _, text = spec.partition(":")
    path = ClassPath.of(spec) if _word(word.strip()) is None else None
    if path is None:
        return find(word.strip()), text
    for known in _REGISTERED.values():
        if path.names(known):
            return known, path.text
    if not imports:
        raise ParameterError(
            f"a spec in a file must name a mechanism that is registered, got the class {path.module}:{path.name}; "
            "register it in Python first (shuffledp.register), or install the package that offers it."
        )
    return register(imported(path)), path.text


def canonical(spec: str) -> str:
    """The spec with the word of the catalog in front; its parameters are left as they are.

    Examples
    --------
    >>> canonical("OLH: eps0=1,d=9")
    'local-hash: eps0=1,d=9'
    """
    cls, text = split(spec)
    return f"{cls.name}:{text}" if ":" in spec else cls.name


def signatures() -> Iterator[tuple[str, str]]:
    """(name, parameters) of every spec, optional ones in brackets, for help texts and docs."""
    for name in names():
        cls = find(name)
        if cls._file_parameters is not None:
            yield name, ",".join([*cls._file_parameters, "file"])
            continue
        needed, optional = _parameters(cls)
        yield name, (",".join(needed) + "".join(f"[,{x}]" for x in optional)).replace("[,", "[", not needed)


def mechanism(spec: str) -> Mechanism:
    """The mechanism named by a spec string.

    Values may be given by name or, in the order of the parameters, without one.  Case and hyphens of the name do not
    matter, and names of the literature are known: krr, oue, sue, rappor, olh, hr, ss.  Name a class of your own
    by its module, ``package.module:Class:eps0=1,d=4``; this imports and registers it.

    Examples
    --------
    >>> mechanism("general:eps0=1")
    General(eps0=1.0)
    >>> mechanism("variation-ratio:3,0.4,3").spec
    'variation-ratio:p=3,beta=0.4,q=3'
    >>> mechanism("kRR:eps0=1,d=4")
    GRR(eps0=1.0, d=4)
    """
    if not isinstance(spec, str):
        raise ParameterError(
            f"spec must be a string like 'general:eps0=1', got {shown(spec)}; write name:key=value,..."
        )
    return made(*split(spec))


def mechanism_in_file(spec: str) -> Mechanism:
    """The mechanism named by a spec that was read from a file: no code is imported that the file names.

    Examples
    --------
    >>> mechanism_in_file("general:eps0=1")
    General(eps0=1.0)
    >>> mechanism_in_file("survey.coins:Coin:eps0=1")
    Traceback (most recent call last):
    shuffledp.errors.ParameterError: a spec in a file must name a mechanism that is registered, got the class \
survey.coins:Coin; register it in Python first (shuffledp.register), or install the package that offers it.
    """
    return made(*split(spec, imports=False))


def of_matrix(matrix: Any) -> Mechanism:
    """The mechanism with these probabilities, rows = inputs."""
    cls: Any = find(BY_MATRIX)
    made: Mechanism = cls(matrix)
    return made


def made_again(identity: dict[str, Any]) -> Mechanism:
    """The mechanism with this :meth:`Mechanism._identity`, as a ledger or certificate stores it: a spec or a matrix.

    Examples
    --------
    >>> made_again({"spec": "general:eps0=1"})
    General(eps0=1.0)
    """
    if len(identity) == 1 and isinstance(identity.get("spec"), str):
        return mechanism_in_file(identity["spec"])
    if len(identity) == 1 and "matrix" in identity:
        return of_matrix(identity["matrix"])
    raise ParameterError("mechanism must be a spec or a matrix, got something else; restore the file.")


def made(cls: type[Mechanism], text: str) -> Mechanism:
    """The mechanism of a class with the parameters in the text of a spec.

    Examples
    --------
    >>> made(find("general"), "eps0=1")
    General(eps0=1.0)
    """
    if cls._file_parameters is not None:
        return _from_file(cls, list(cls._file_parameters), text)
    return cls(**_values(cls, text, *_parameters(cls)))


def _from_file(cls: type[Mechanism], numeric: list[str], text: str) -> Mechanism:
    """The last parameter is a path and may hold any character; numbers come before it."""
    name = cls.name
    parts = text.split(",", len(numeric))
    path = parts[-1].strip().removeprefix("file=") if len(parts) > len(numeric) else ""
    if not path:
        usage = ",".join([*(f"{x}=VALUE" for x in numeric), "matrix.csv"])
        raise ParameterError(
            f"{name} needs {', '.join([*numeric, 'a file'])}, got {shown(text)}; write {name}:{usage}."
        )
    values = _values(cls, ",".join(parts[:-1]), numeric, [])
    made: Mechanism = cls.from_file(path, **values)  # type: ignore[attr-defined]
    return made


def _parameters(cls: type[Mechanism]) -> tuple[list[str], list[str]]:
    fields = [f for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    needed = [f.name for f in fields if f.default is dataclasses.MISSING]
    return needed, [f.name for f in fields if f.default is not dataclasses.MISSING]


def _values(cls: type[Mechanism], text: str, needed: list[str], optional: list[str]) -> dict[str, Any]:
    """Parse "a=1,b=2" or "1,2"; unknown, repeated and missing parameters are refused."""
    name, fields = cls.name, [*needed, *optional]
    values: dict[str, Any] = {}
    usage = f"write {name}:" + ",".join(f"{f}=VALUE" for f in needed)
    for position, part in enumerate(p for p in text.split(",") if p.strip()):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals:
            if list(values) != fields[:position]:
                raise ParameterError(f"{name} takes unnamed values first, got {shown(key)} after a named one; {usage}.")
            if position >= len(fields):
                raise ParameterError(f"{name} takes {', '.join(fields)}, got the extra value {shown(key)}; {usage}.")
            key, value = fields[position], key
        elif key not in fields:
            raise ParameterError(f"{name} has no parameter {shown(key)}, it takes {', '.join(fields)}; {usage}.")
        if key in values:
            raise ParameterError(f"{key} must be given once, got it twice in {shown(f'{name}:{text}')}; {usage}.")
        values[key] = parsed(cls, key, value)
    missing = [f for f in needed if f not in values]
    if missing:
        raise ParameterError(f"{name} needs {', '.join(missing)}, got {shown(text) if text else 'nothing'}; {usage}.")
    return values
