"""What can be solved for: mechanisms that differ in one number, its range, and which way privacy rises with it.

The class of a mechanism declares which parameters these are, and their ranges (mechanisms/parameters.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._support import validation as check
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..mechanisms.parameters import Parameter, Role, declared

Make = Callable[[float], Mechanism]

#: The smallest flip probability to try, and the most blanket messages, per user and in total.
_LEAST_FLIP = 1e-12
_MOST_MESSAGES, _MOST_TOTAL = 1e9, 1e15


@dataclass(frozen=True)
class Unknown:
    """Mechanisms that differ in one number.

    ``private`` is its value with the most privacy and ``loose`` the one with the least.  ``coordinate`` maps a value to
    u, which rises from private to loose such that log eps is roughly linear in u; ``inverse`` maps it back.
    """

    name: str
    role: Role
    make: Make
    private: float
    loose: float
    coordinate: Callable[[float], float]
    inverse: Callable[[float], float]
    whole: bool = False

    @property
    def is_budget(self) -> bool:
        """Less of it is more private."""
        return self.role == "budget"

    def value(self, u: float) -> float:
        """The number at u, kept inside its range despite rounding."""
        return min(max(self.inverse(u), min(self.private, self.loose)), max(self.private, self.loose))

    def at(self, u: float) -> Mechanism:
        """The mechanism at u."""
        return self.make(self.value(u))


def budget(name: str, make: Make, *, low: float = check.MIN_EPS0, high: float = check.MAX_EPS0) -> Unknown:
    """A local budget x, u = log(e^x - 1): eps grows like x while x is small and like e^(x/2) beyond."""

    def inverse(u: float) -> float:
        return max(u, 0.0) + math.log1p(math.exp(-abs(u)))

    return Unknown(name, "budget", make, low, high, lambda x: math.log(math.expm1(x)), inverse)


def flip(name: str, make: Make, *, low: float, top: float) -> Unknown:
    """A flip probability f below ``top``, where a report carries no information: u = log((top-f)/f).

    More flips are post-processing of fewer, and the part of a message that is blanket grows with f: eps falls.
    """

    def inverse(u: float) -> float:
        return top * (1.0 / (1.0 + math.exp(u)) if u < 0.0 else math.exp(-u) / (1.0 + math.exp(-u)))

    private, loose = top * (1.0 - 1e-9), max(low, _LEAST_FLIP)
    return Unknown(name, "flip", make, private, loose, lambda f: math.log((top - f) / f), inverse)


def messages(name: str, make: Make, *, n: int, low: float, high: float, whole: bool) -> Unknown:
    """Blanket messages per user (or their mean, where their number is random), u = -log(1 + n messages).

    If they are ``whole``, of all users together.  More of them make the number of messages stochastically larger, and
    eps smaller.
    """
    users, most = (1, _MOST_TOTAL) if whole else (n, min(_MOST_MESSAGES, _MOST_TOTAL / n))

    def inverse(u: float) -> float:
        found = math.expm1(-u) / users
        return math.ceil(found - 1e-6) if whole else found

    return Unknown(name, "messages", make, min(most, high), low, lambda m: -math.log1p(users * m), inverse, whole)


def noise(name: str, make: Make, *, low: float, high: float) -> Unknown:
    """The scale s of noise, u = -log s: eps is about proportional to 1/s."""
    return Unknown(name, "noise", make, high, low, lambda s: -math.log(s), lambda u: math.exp(-u))


def tunable(cls: type[Mechanism]) -> dict[str, Parameter]:
    """The parameters that can be solved for, in order."""
    return {name: parameter for name, parameter in declared(cls).items() if parameter.role != "setting"}


def named(cls: type[Mechanism], name: str, make: Make, given: dict[str, Any], n: int) -> Unknown:
    """The parameter of that name of a mechanism, whose other parameters are ``given``.

    The mechanism itself refuses bad ones, when its most private setting is made.
    """
    parameter = declared(cls)[name]
    low, high = parameter.limits(_Given(cls, {key: value for key, value in given.items() if key != name}))
    if parameter.role == "flip":
        found = flip(name, make, low=low, top=high)
    elif parameter.role == "noise":
        found = noise(name, make, low=low, high=high)
    elif parameter.role == "messages":
        found = messages(name, make, n=n, low=low, high=high, whole=parameter.whole)
    else:
        low = min(max(low, check.MIN_EPS0), check.MAX_EPS0)
        found = budget(name, make, low=low, high=max(low, min(high, check.MAX_EPS0)))
    found.make(found.private)
    return found


def row_of(free: FreeSetting, value: float) -> Unknown:
    """The mechanisms with this value of a free setting; only their eps0 is left to find."""
    low, high = free.budgets(value)
    return budget("eps0", lambda eps0: free.make(value, eps0), low=low, high=high)


class _Given:
    """A stand-in for a mechanism with some known parameters; each is checked when a limit asks for it."""

    def __init__(self, cls: type[Mechanism], given: dict[str, Any]) -> None:
        self._parameters, self._given = declared(cls), given
        self._open: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._given.get(name) is None:
            raise AttributeError(name)
        value = self._given[name]
        if name in self._open:
            return check.real(name, value)
        self._open.add(name)
        try:
            return self._parameters[name].checked(name, value, self)
        except AttributeError:  # its range depends on the unknown itself
            return check.real(name, value)
        finally:
            self._open.discard(name)
