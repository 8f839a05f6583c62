"""Parameters of a mechanism, declared once: range, advice, default and role.

A mechanism is a frozen keyword-only dataclass whose fields are made here:

    eps0: float = budget()
    d: int = whole(low=2, high=2**32, hint="d counts the options")
    k: int = whole(low=1, high=lambda m: m.d - 1, choose=lambda m: best_k(m.eps0, m.d, 1))

Validation, spec strings, calibration and the documentation all read this declaration; nothing else states a range.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .._support import validation as check
from ..errors import ParameterError

#: A limit, or a function of the mechanism (its parameters before this one are checked already).
Limit = float | Callable[[Any], float]
#: What calibration may do with a parameter: a smaller budget is more private, so are larger values of the next three;
#: a setting says how the mechanism works and is not solved for.
Role = Literal["budget", "flip", "messages", "noise", "setting"]


class Free(NamedTuple):
    """How calibration tries the values of a setting that is left open.

    ``ratio`` is the step of the first grid, and good values are within a factor of ``near`` of the default
    (anywhere, unless it says so: after shuffling, a good size of a subset is far from that of the local model).  Two
    functions of the mechanism: ``frequency``, where the variance is its mean over the items (None: the variance takes
    no frequency), and ``limits``, the range to try (None: that of the parameter).
    """

    ratio: float
    frequency: Callable[[Any], float] | None = None
    limits: Callable[[Any], tuple[float, float]] | None = None
    near: float = math.inf


@dataclass(frozen=True)
class Parameter:
    """What one parameter may be.

    Attributes
    ----------
    low, high, low_open, high_open : its range
    hint : the advice at the end of an error message
    role : what calibration may do with it
    whole : whether it is a whole number
    choose : the value that the mechanism takes if none is given, as a function of the mechanism
    optional : whether None is a value (one of several parameters is given instead)
    free : how calibration chooses it where it is left out; None: it does not
    """

    low: Limit
    high: Limit
    hint: str = ""
    role: Role = "setting"
    whole: bool = False
    low_open: bool = False
    high_open: bool = False
    choose: Callable[[Any], Any] | None = None
    optional: bool = False
    free: Free | None = None

    def limits(self, mechanism: Any) -> tuple[float, float]:
        """The range, given the parameters that come before this one."""
        low, high = (limit(mechanism) if callable(limit) else limit for limit in (self.low, self.high))
        return low, high

    def parsed(self, name: str, text: str) -> Any:
        """The value written in a spec."""
        return check.parse_number(name, text)

    def checked(self, name: str, value: object, mechanism: Any) -> Any:
        """The value, checked for type and range; raises otherwise."""
        if value is None and self.choose is not None:
            value = self.choose(mechanism)
        if value is None and self.optional:
            return None
        low, high = self.limits(mechanism)
        if self.whole:
            return check.whole(name, value, low=int(low), high=int(high), hint=self.hint)
        return check.in_range(
            name, value, low=low, high=high, low_open=self.low_open, high_open=self.high_open, hint=self.hint
        )


def budget(*, low: Limit = check.MIN_EPS0, high: Limit = check.MAX_EPS0, hint: str = "eps0 is the local budget") -> Any:
    """A local budget: the smaller, the more private."""
    return _field(Parameter(low, high, hint, "budget"))


def whole(
    *,
    low: Limit,
    high: Limit = 2**53,
    hint: str = "",
    role: Role = "setting",
    choose: Callable[[Any], int] | None = None,
    default: int | None = None,
    optional: bool = False,
    free: Free | None = None,
) -> Any:
    """A whole number; with ``choose`` or ``default`` it may be left out."""
    return _field(Parameter(low, high, hint, role, True, choose=choose, optional=optional, free=free), default)


def real(
    *,
    low: Limit,
    high: Limit,
    low_open: bool = False,
    high_open: bool = False,
    hint: str = "",
    role: Role = "setting",
    choose: Callable[[Any], float | None] | None = None,
    default: float | None = None,
    optional: bool = False,
    free: Free | None = None,
) -> Any:
    """A real number; with ``choose`` or ``default`` it may be left out."""
    return _field(Parameter(low, high, hint, role, False, low_open, high_open, choose, optional, free), default)


@dataclass(frozen=True)
class Word(Parameter):
    """One of a few words; ``high`` is the place of the last."""

    words: tuple[str, ...] = ()

    def parsed(self, name: str, text: str) -> Any:
        """As it is written, in lower case."""
        return text.strip().lower()

    def checked(self, name: str, value: object, mechanism: Any) -> Any:
        """One of the words."""
        if not isinstance(value, str) or value not in self.words:
            listed = f"{', '.join(self.words[:-1])} or {self.words[-1]}"
            raise ParameterError(f"{name} must be {listed}, got {check.shown(value)}; {self.hint}.")
        return value


def word(words: tuple[str, ...], *, hint: str) -> Any:
    """One of these words."""
    return _field(Word(0, len(words) - 1, hint, words=words))


def _field(parameter: Parameter, default: float | None = None) -> Any:
    metadata = {"parameter": parameter}
    if default is None and parameter.choose is None and not parameter.optional:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parsed(cls: type, name: str, text: str) -> Any:
    """The value of a parameter, or of another number, that is written in a spec."""
    parameter = declared(cls).get(name)
    return check.parse_number(name, text) if parameter is None else parameter.parsed(name, text)


_DECLARED: dict[type, dict[str, Parameter]] = {}


def declared(cls: type) -> dict[str, Parameter]:
    """The declared parameters of a mechanism class, in order."""
    if cls not in _DECLARED:
        fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
        _DECLARED[cls] = {f.name: f.metadata["parameter"] for f in fields if "parameter" in f.metadata}
    return _DECLARED[cls]
