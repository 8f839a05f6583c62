"""Solving for a setting: time of ``calibrate`` with one unknown, and with a setting left open besides."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import shuffledp as sdp

from .rows import Row, at_most, compared, cpu, spelled

#: One unknown.
CLOSED: dict[str, dict[str, Any]] = {
    "general": {},
    "grr": {"d": 64},
    "unary": {"d": 64},
    "subset": {"d": 64, "k": 3},
    "local-hash": {"d": 64, "l": 8},
    "harmony": {"dim": 5},
    "pckv-grr": {"d": 16, "l": 3},
    "privunit": {"dim": 10, "cap": 0.1},
    "laplace": {},
    "randomized-response": {},
}
#: A whole number or a share is searched for as well.
OPEN: dict[str, dict[str, Any]] = {
    "subset": {"d": 10**6},
    "privset": {"d": 64, "s": 3},
    "local-hash": {"d": 10**6},
    "hadamard": {"d": 1024},
    "wheel": {"d": 64, "s": 3},
    "privunit": {"dim": 100},
}
TARGETS = ((10**3, 0.3), (10**6, 0.1), (10**9, 1.0))


def calibrations(cases: dict[str, dict[str, Any]], repeat: int, most: float, note: str = "") -> Iterator[Row]:
    """Each mechanism for three targets, the times of all three together."""
    for name, fixed in cases.items():
        times = []
        for n, eps in TARGETS:
            asked = partial(sdp.calibrate, name, n=n, epsilon=eps, delta=0.01 / n, **fixed)
            times.append(cpu(asked, repeat))
        given = ",".join(f"{k}={v}" for k, v in fixed.items())
        what = f"`calibrate` {name}{':' * bool(given)}{given}{note} at n = 1e3, 1e6, 1e9"
        yield compared.row(what, sum(times), most, f" in all; {', '.join(map(spelled, times))}")


def crowds() -> Iterator[Row]:
    """How many users."""
    for spec in ("grr:eps0=2,d=64", "general:eps0=10"):
        asked = partial(sdp.users_needed, spec, epsilon=0.01, delta=1e-10)
        yield at_most(f"`users_needed` {spec}, eps = 0.01", cpu(asked, 3), 0.2, f" (n = {asked():,})")


def rows() -> Iterator[Row]:
    """All of them."""
    yield from calibrations(CLOSED, 5, 1.0)
    yield from calibrations(OPEN, 2, 1.0, ", its setting open,")
    yield from crowds()
