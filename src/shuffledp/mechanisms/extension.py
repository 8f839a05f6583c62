"""Mechanisms from outside the package: requirements on a class, plug-ins of other packages, and module:Class.

A class is known by its name once it is registered.  That happens by ``@shuffledp.register``, by an entry point of an
installed package (group ``shuffledp.mechanisms``), or by a spec ``package.module:Class:key=value,...``.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._support.text import visible
from ..errors import ExtensionError, ParameterError
from .base import Mechanism
from .parameters import declared

#: Groups of plug-ins that are loaded.
LOADED: set[str] = set()
#: What a name looks like.
WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_DECORATOR = "@dataclass(frozen=True, kw_only=True)"
_PATH = re.compile(r"\s*(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*:\s*(?P<name>[^\W\d]\w*)\s*:(?P<text>.*)", re.DOTALL)


class ClassPath(NamedTuple):
    """A spec that names a class instead of a mechanism: package.module:Class:parameters."""

    module: str
    name: str
    text: str

    @classmethod
    def of(cls, spec: str) -> ClassPath | None:
        """The parts of such a spec; None for any other.

        Examples
        --------
        >>> ClassPath.of("survey.coins:Coin:eps0=1,d=4")
        ClassPath(module='survey.coins', name='Coin', text='eps0=1,d=4')
        >>> ClassPath.of("grr:eps0=1,d=4") is None
        True
        """
        found = _PATH.fullmatch(spec)
        return None if found is None else cls(found["module"], found["name"], found["text"])

    def names(self, found: type) -> bool:
        """Whether this is that class."""
        return (found.__module__, found.__qualname__) == (self.module, self.name)


# -- what a class must be -----------------------------------------------------------------------------------------


def refuse_incomplete(cls: object) -> None:
    """Raise unless this is a class that can be used like those of the library."""
    if not (isinstance(cls, type) and issubclass(cls, Mechanism)):
        got = cls.__name__ if isinstance(cls, type) else type(cls).__name__
        raise ExtensionError(
            f"register must be given a class derived from shuffledp.Mechanism, got {got}; "
            "derive it from FrequencyOracle, Randomizer or Mechanism."
        )
    for wrong in _faults(cls):
        raise ExtensionError(f"{cls.__name__} {wrong}")


def _faults(cls: type[Mechanism]) -> Iterator[str]:
    if "__dataclass_fields__" not in cls.__dict__ or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield f"must be a frozen dataclass, got another class; write {_DECORATOR} below @register."
    fields = [f for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    bare = [f.name for f in fields if not f.kw_only]
    if bare and cls._file_parameters is None:
        yield f"must take its parameters by name, got {', '.join(bare)} by position; write {_DECORATOR}."
    name = cls.__dict__.get("name")
    if not isinstance(name, str) or not WORD.fullmatch(name):
        got = "none" if name is None else repr(name)
        yield f'must have a name of lowercase letters, digits and hyphens, got {got}; write name = "my-mechanism".'
    undeclared = [f.name for f in fields if f.name not in declared(cls)]
    if undeclared and cls._file_parameters is None:
        yield (
            f"must declare the range of every parameter, got {', '.join(undeclared)} without one; "
            "make it by budget(), whole() or real() of shuffledp.extend."
        )
    if cls.local_epsilon is Mechanism.local_epsilon and "eps0" not in declared(cls):
        yield "must state its local guarantee, got neither a parameter eps0 nor local_epsilon; define one of them."
    if cls.variation_ratio is Mechanism.variation_ratio and cls._blanket is Mechanism._blanket:
        yield "must state its law, got neither variation_ratio nor _blanket; define one of them, or both."


# -- where it comes from ------------------------------------------------------------------------------------------


def load_plugins(group: str, register: Callable[[Any], object]) -> None:
    """Register, once, the plug-ins that installed packages offer in a group; warn about those that cannot be loaded."""
    from importlib import metadata  # slow to load, and rarely needed

    if group in LOADED:
        return
    LOADED.add(group)  # first: loading a plug-in may look up a mechanism
    for entry in metadata.entry_points(group=group):
        try:
            register(entry.load())
        except (Exception, SystemExit) as error:
            warnings.warn(
                f"plug-in {entry.name!r} of {group} must load and register, got {_told(error)} from {entry.value}; "
                "update or remove the package that installs it.",
                stacklevel=2,
            )


def imported(path: ClassPath) -> Any:
    """The object at module:Class, imported from the installed packages or the current directory."""
    try:
        with _current_directory():
            module = importlib.import_module(path.module)
    except (Exception, SystemExit) as error:
        raise ParameterError(
            f"module {path.module!r} must be one that can be imported, got {_told(error)}; "
            "run this from the module's directory, or correct its name."
        ) from None
    found = getattr(module, path.name, None)
    if found is None:
        raise ParameterError(
            f"{path.module}:{path.name} must name a class or function, got none of that name in the module; correct it."
        )
    return found


@contextmanager
def _current_directory() -> Iterator[None]:
    """Search the current directory too, after the installed packages, so that it hides none of them."""
    here = os.getcwd()
    if here in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def _told(error: BaseException) -> str:
    """An exception in a few words."""
    words = visible(" ".join(str(error).split()))[:160].rstrip(".;")
    return f"{type(error).__name__} ({words})" if words else type(error).__name__
