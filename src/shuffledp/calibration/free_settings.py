"""Settings that a mechanism derives from eps0 unless told: each value is calibrated on its own, the best one is kept.

For a fixed value eps rises with eps0; a default that changes with eps0 makes eps jump, so nothing is ever searched
across such a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._support import validation as check
from ..mechanisms.base import Mechanism
from .unknowns import Unknown, budget

#: name of the mechanism -> its setting
_SETTING = {"subset": "k", "privset": "k", "local-hash": "l", "wheel": "w", "privunit": "cap"}
#: The smallest shares of a circle or a sphere that are worth trying: eps0 would be above 50 to use them well.
_LEAST_ARC, _LEAST_CAP = 2.0**-30, 2.0**-70


@dataclass(frozen=True)
class FreeSetting:
    """A range of values of one setting; ``unknown(value)`` are the mechanisms with that value.

    ``start(eps0)`` is the value that the mechanism itself would take, ``ratio`` the step of the first grid over the
    range; ``frequency`` is the mean of the estimated frequencies,
    at which a variance is the mean over the items, whatever the data (it is linear in the frequency).
    """

    low: float
    high: float
    whole: bool
    ratio: float
    start: Callable[[float], float]
    unknown: Callable[[float], Unknown]
    frequency: float | None

    def error(self, mechanism: Mechanism, n: int) -> float:
        """The predicted error: the mean variance of the estimate."""
        variance: Callable[..., float] = mechanism.variance  # type: ignore[attr-defined]
        return variance(n) if self.frequency is None else variance(n, self.frequency)


def free_setting(cls: type[Mechanism], given: dict[str, Any]) -> FreeSetting | None:
    """The setting that these parameters leave open, None if there is none."""
    if cls.name == "hadamard":
        return _blocks(cls, given)
    name = _SETTING.get(cls.name)
    if name is None or given.get(name) is not None:
        return None
    probe: Any = cls(**{**given, "eps0": 1.0})  # refuses what is wrong with the others

    def unknown(value: float) -> Unknown:
        return budget("eps0", lambda eps0: cls(**{**given, name: value, "eps0": eps0}))

    def start(eps0: float) -> float:
        value: float = getattr(cls(**{**given, "eps0": eps0}), name)
        return value

    if cls.name == "subset":
        return FreeSetting(1, probe.d - 1, True, 2.0, start, unknown, 1.0 / probe.d)
    if cls.name == "privset":
        return FreeSetting(1, probe.d, True, 2.0, start, unknown, probe.s / (probe.d + probe.s))
    if cls.name == "local-hash":
        return FreeSetting(2, 2**31, True, 4.0, start, unknown, 1.0 / probe.d)
    if cls.name == "wheel":
        return FreeSetting(_LEAST_ARC, (1.0 - 2.0**-20) / probe.s, False, 4.0, start, unknown, probe.s / probe.d)
    return FreeSetting(_LEAST_CAP, 0.5, False, 4.0, start, unknown, None)


def _blocks(cls: type[Mechanism], given: dict[str, Any]) -> FreeSetting:
    """Hadamard response has 2^(L-1) blocks for eps0 in ((L-1) log 2, L log 2], up to about 2d: L is the setting."""
    probe: Any = cls(**{**given, "eps0": 1.0})
    most = (2 * probe.d - 1).bit_length()

    def make(eps0: float) -> Mechanism:
        return cls(**{**given, "eps0": eps0})

    def last(level: int) -> float:
        """The largest eps0 with this many levels, as the mechanism itself counts them."""
        if level == most:
            return check.MAX_EPS0
        eps0 = math.nextafter(level * math.log(2.0), math.inf)
        while make(eps0).blocks > 1 << (level - 1):  # type: ignore[attr-defined]
            eps0 = math.nextafter(eps0, 0.0)
        return eps0

    def unknown(level: float) -> Unknown:
        low = check.MIN_EPS0 if level == 1 else math.nextafter(last(int(level) - 1), math.inf)
        return budget("eps0", make, low=low, high=last(int(level)))

    def start(eps0: float) -> float:
        return make(eps0).blocks.bit_length()  # type: ignore[attr-defined,no-any-return]

    return FreeSetting(1, most, True, 1.0 + 1.0 / most, start, unknown, 1.0 / probe.d)
