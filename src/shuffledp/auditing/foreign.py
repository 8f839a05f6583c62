"""Values and errors of foreign code in a few safe words, whatever their own ``repr`` or ``str`` may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._support.text import visible
from ..errors import ParameterError, ShuffleDPError

_T = TypeVar("_T")
_NAME_OF_TYPE: Any = type.__dict__["__name__"]  # not what a metaclass may have put in its place


def short(value: Any) -> str:
    """A value in at most 40 printable characters.

    Examples
    --------
    >>> short("red"), short(10**5000), short(chr(27))
    ("'red'", 'a whole number of about 5,000 digits', "'\\\\x1b'")
    """
    try:
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, int) and int.bit_length(value) > 1023:
            return f"a whole number of about {int.bit_length(value) * 0.30103:,.0f} digits"
        text = printable(repr(value))
    except BaseException as error:
        _unless_stopped(error)
        return f"a {kind(value)}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def printable(text: str) -> str:
    """Text on one line, with control characters written as escapes."""
    return visible(" ".join(text.split()))


def kind(value: Any) -> str:
    """The name of a value's type."""
    return printable(_NAME_OF_TYPE.__get__(type(value)))[:60]


def told(error: BaseException, where: str = "") -> str:
    """The type of an error and its text, if it has one that can be read.

    Examples
    --------
    >>> told(KeyError("no such user"), "on input 3"), told(StopIteration())
    ("KeyError on input 3 ('no such user')", 'StopIteration')
    """
    try:
        text = printable(str(error)[:1000])[:120].rstrip(".")
    except BaseException as other:
        _unless_stopped(other)
        text = ""
    return " ".join([kind(error), *([where] if where else []), *([f"({text})"] if text else [])])


def called(function: Callable[[Any], Any], argument: Any, value: Any) -> Any:
    """What the function returns for an argument, which stands for an input; every failure is one error message."""
    try:
        return function(argument)
    except BaseException as error:  # a randomizer that ends the program, or a generator, is broken too
        _unless_stopped(error)
        raise ParameterError(
            f"randomizer must return a report for every input, got {told(error, f'on input {short(value)}')}; "
            "try it on that input."
        ) from error


def looked_at(step: Callable[..., _T], *reports: Any) -> _T:
    """A step that copies, compares or hashes reports, each of which may run code of its own."""
    try:
        return step(*reports)
    except ShuffleDPError:
        raise
    except BaseException as error:
        _unless_stopped(error)
        raise ParameterError(
            f"randomizer must return reports that can be compared, got {told(error, 'when they were')}; "
            "return numbers, text, tuples, sets or arrays."
        ) from error


def _unless_stopped(error: BaseException) -> None:
    """Ctrl-C stops the audit; it cannot be distinguished from a KeyboardInterrupt that the code raises."""
    if type(error) is KeyboardInterrupt:
        raise error
