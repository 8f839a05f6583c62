"""A setting that a mechanism derives from eps0 unless it is given; calibration tries its values one by one.

With the setting fixed, eps rises with eps0.  A default that changes with eps0 makes eps jump, so calibration never
searches across such a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support import validation as check

if TYPE_CHECKING:
    from .base import Mechanism


@dataclass(frozen=True)
class FreeSetting:
    """A range of values of one setting.

    Attributes
    ----------
    low, high, whole : the range, and whether only whole numbers count
    ratio : the step of the first grid over the range
    near : a good value is within this factor of the default
    start : eps0 -> the default of the mechanism
    make : (value, eps0) -> the mechanism
    frequency : the mean of the estimated frequencies, at which a variance is the mean over the items, whatever the
        data (it is linear in the frequency); None where the variance takes none
    budgets : value -> the range of eps0 with this value
    """

    low: float
    high: float
    whole: bool
    ratio: float
    near: float
    start: Callable[[float], float]
    make: Callable[[float, float], Mechanism]
    frequency: float | None
    budgets: Callable[[float], tuple[float, float]] = lambda value: (check.MIN_EPS0, check.MAX_EPS0)

    def around(self, value: float) -> tuple[float, float]:
        """The part of the range that is worth trying if this is the default."""
        low = math.floor(value / self.near) if self.whole else value / self.near
        return min(max(self.low, low), self.high), max(min(self.high, value * self.near), self.low)

    def error(self, mechanism: Mechanism, n: int) -> float:
        """The predicted error: the mean variance of the estimate."""
        variance: Callable[..., float] = mechanism.variance  # type: ignore[attr-defined]
        return variance(n) if self.frequency is None else variance(n, self.frequency)


@dataclass(frozen=True)
class SharedBudget:
    """A budget that several parts of one mechanism have in common: ``make`` is the mechanism with that budget."""

    name: str
    low: float
    high: float
    make: Callable[[float], Mechanism]


def open_setting(
    cls: type[Mechanism],
    given: dict[str, Any],
    name: str,
    *,
    limits: Callable[[Any], tuple[float, float]],
    whole: bool,
    ratio: float,
    frequency: Callable[[Any], float] | None,
    near: float,
) -> FreeSetting | None:
    """The setting ``name`` of a mechanism, if ``given`` leaves it open; ``limits`` and ``frequency`` of an example."""
    if given.get(name) is not None:
        return None
    example: Any = cls(**{**given, "eps0": 1.0})  # refuses what is wrong with the others
    low, high = limits(example)

    def start(eps0: float) -> float:
        value: float = getattr(cls(**{**given, "eps0": eps0}), name)
        return value

    def make(value: float, eps0: float) -> Mechanism:
        return cls(**{**given, name: value, "eps0": eps0})

    return FreeSetting(low, high, whole, ratio, near, start, make, None if frequency is None else frequency(example))
