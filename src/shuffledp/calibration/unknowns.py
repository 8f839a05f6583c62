"""What can be solved for: mechanisms that differ in one number, its range, and which way privacy rises with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._support import validation as check
from ..mechanisms.base import Mechanism

Make = Callable[[float], Mechanism]

#: Parameters in which privacy falls, and those in which it rises.
BUDGETS = ("eps0", "eps", "d01", "dmax")
BLANKETS = ("messages", "total_messages", "poisson")
TUNABLE = (*BUDGETS, "flip", *BLANKETS)
#: Budgets below this are refused by the mechanisms themselves.
_LEAST = dict.fromkeys(("laplace", "metric-general", "metric-laplace", "planar-laplace"), 1e-6)
_LEAST_FLIP = 1e-12
_MOST_MESSAGES, _MOST_TOTAL = 1e9, 1e15


@dataclass(frozen=True)
class Unknown:
    """Mechanisms that differ in one number.

    ``private`` is its value with the most privacy and ``loose`` the one with the least.  ``coordinate`` maps a value to
    u, which rises from private to loose such that log eps is roughly linear in u; ``inverse`` maps it back.
    """

    name: str
    make: Make
    private: float
    loose: float
    coordinate: Callable[[float], float]
    inverse: Callable[[float], float]

    @property
    def is_budget(self) -> bool:
        """Less of it is more private."""
        return self.private <= self.loose

    def value(self, u: float) -> float:
        """The number at u, inside its range whatever the rounding."""
        return min(max(self.inverse(u), min(self.private, self.loose)), max(self.private, self.loose))

    def at(self, u: float) -> Mechanism:
        """The mechanism at u."""
        return self.make(self.value(u))


def budget(name: str, make: Make, *, low: float = check.MIN_EPS0, high: float = check.MAX_EPS0) -> Unknown:
    """A local budget x, u = log(e^x - 1): eps grows like x while x is small and like e^(x/2) beyond."""
    return Unknown(name, make, low, high, _log_expm1, lambda u: max(u, 0.0) + math.log1p(math.exp(-abs(u))))


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x))


def flip(make: Make, *, top: float) -> Unknown:
    """A flip probability f below ``top``, where a report says nothing: u = log((top-f)/f).

    More flips are post-processing of fewer, and the part of a message that is blanket grows with f: eps falls.
    """
    return Unknown(
        "flip",
        make,
        top * (1.0 - 1e-9),
        _LEAST_FLIP,
        lambda f: math.log((top - f) / f),
        lambda u: top * (1.0 / (1.0 + math.exp(u)) if u < 0.0 else math.exp(-u) / (1.0 + math.exp(-u))),
    )


def messages(make: Make, *, n: int, name: str = "messages") -> Unknown:
    """Blanket messages per user (a mean, for poisson, too), u = -log(1 + n messages).

    With more of them their number is stochastically larger, and eps smaller.
    """
    most = min(_MOST_MESSAGES, _MOST_TOTAL / n)
    return Unknown(name, make, most, 0.0, lambda m: -math.log1p(n * m), lambda u: math.expm1(-u) / n)


def total_messages(make: Make) -> Unknown:
    """Blanket messages of all users together, a whole number."""
    return Unknown(
        "total_messages", make, _MOST_TOTAL, 0.0, lambda m: -math.log1p(m), lambda u: math.ceil(math.expm1(-u) - 1e-6)
    )


def least_budget(mechanism: str) -> float:
    """The smallest budget that the mechanism of that name takes."""
    return _LEAST.get(mechanism, check.MIN_EPS0)


def named(name: str, mechanism: str, make: Make, given: dict[str, Any], n: int) -> Unknown:
    """The parameter of that name of a mechanism, whose other parameters are ``given``.

    Bad ones are refused by the mechanism, in its own words, when the most private one is made.
    """
    if name == "flip":
        d = float(check.whole("d", given["d"], low=2)) if mechanism == "mix-dump" else 2.0
        found = flip(make, top=(d - 1.0) / d)
    elif name == "total_messages":
        found = total_messages(make)
    elif name in BLANKETS:
        found = messages(make, n=n, name=name)
    else:
        low, high = least_budget(mechanism), check.MAX_EPS0
        if name == "dmax":
            low = min(max(low, check.real("d01", given["d01"])), high)
        elif name == "d01":
            high = max(low, min(high, check.real("dmax", given["dmax"])))
        found = budget(name, make, low=low, high=high)
    found.make(found.private)
    return found
