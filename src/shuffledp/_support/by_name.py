"""Numbers are passed by name; a bare one is refused with a sentence that shows how to write the call."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from ..errors import ParameterError
from .spelling import american

P = ParamSpec("P")
R = TypeVar("R")


def by_name(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse positional arguments beyond those that the function has, in one sentence, and names of British spelling.

    Examples
    --------
    >>> @by_name
    ... def area(shape, *, width): ...
    >>> area("square", 3)
    Traceback (most recent call last):
    shuffledp.errors.ParameterError: area takes its numbers by name, got 3; write area(shape, width=3).
    """
    most, code = _positional(function), cast(Any, function).__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    refuse, refuse_british = (functools.partial(f, function) for f in (_refuse_call, _refuse_british))

    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            refuse_british(known, kwargs)
        if len(args) > most:
            refuse(args, kwargs)
        return function(*args, **kwargs)

    # doctest finds the examples of a function only in the module whose globals it has
    plain = cast(types.FunctionType, checked)
    made = types.FunctionType(plain.__code__, cast(Any, function).__globals__, closure=plain.__closure__)
    return functools.update_wrapper(cast(Callable[P, R], made), function)


def refuse_positional(cls: type, args: tuple[object, ...], given: dict[str, object]) -> None:
    """Raise if a class whose numbers have names was called with bare ones."""
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    most = _positional(init) - 1
    if len(args) <= most:
        return
    accepted, names = _names(init, most + 1, given)
    extra = args[most:]
    values = [f"{name}={_shown(value)}" for name, value in zip(names, extra, strict=False)]
    _refuse(cls.__name__, [*accepted[1:], *values], extra, given)


def _refuse_british(function: Callable[..., object], known: Collection[str], given: Iterable[str]) -> None:
    """Raise what Python raises for an unknown name, with the name that it has now; others the call itself refuses."""
    for key in given:
        if key not in known and (present := american(key)) in known:
            called = cast(Any, function).__name__
            raise TypeError(f"{called}() got an unexpected keyword argument {key!r}; it is {present!r} now")


def _refuse_call(function: Callable[..., object], args: tuple[object, ...], given: dict[str, object]) -> None:
    most = _positional(function)
    accepted, names = _names(function, most, given)
    extra = args[most:]
    # of several numbers only their author knows which is which
    values = [f"{names[0]}={_shown(extra[0])}"] if len(extra) == 1 and names else [f"{name}=..." for name in names]
    qualified = cast(Any, function).__qualname__.rpartition("<locals>.")[2]
    method = "." in qualified
    _refuse(qualified, [*accepted[method:], *values], extra, given)


def _refuse(name: str, written: Sequence[str], extra: tuple[object, ...], given: dict[str, object]) -> None:
    *others, last = [_shown(value) for value in extra] if len(extra) <= 3 else [*map(_shown, extra[:3]), "more"]
    got = f"{', '.join(others)} and {last}" if others else last
    call = ", ".join([*written, *(f"{key}={_shown(value)}" for key, value in given.items())])
    raise ParameterError(f"{name} takes its numbers by name, got {got}; write {name}({call}).")


def _positional(function: Callable[..., object]) -> int:
    """How many arguments may stand without a name."""
    return cast(int, cast(Any, function).__code__.co_argcount)


def _names(function: Callable[..., object], most: int, given: dict[str, object]) -> tuple[list[str], list[str]]:
    """Parameters that need no name, and those without a default that are still to be named."""
    parameters = list(inspect.signature(function).parameters.values())
    named = [p for p in parameters[most:] if p.kind is p.KEYWORD_ONLY and p.name not in given]
    return [p.name for p in parameters[:most]], [p.name for p in named if p.default is p.empty]


def _shown(value: object) -> str:
    """A number as it is, anything long as dots."""
    text = repr(value)
    return text if len(text) <= 30 and "\n" not in text else "..."
