"""Solving for a setting: time of ``calibrate`` with one unknown, and with a setting left open besides."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import shuffledp as sdp

from .rows import Row, cpu

#: One unknown, laws with few atoms: the time should be that of a few evaluations.
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


def _times(name: str, fixed: dict[str, Any], repeat: int) -> list[float]:
    return [cpu(partial(sdp.calibrate, name, n=n, epsilon=eps, delta=0.01 / n, **fixed), repeat) for n, eps in TARGETS]


def budgets() -> Iterator[Row]:
    """One unknown."""
    for name, fixed in CLOSED.items():
        times = _times(name, fixed, 3)
        once = [_amplify_again(name, fixed, n, eps) for n, eps in TARGETS]
        shown = ", ".join(f"{1e3 * t:.0f} ms" for t in times)
        ratio = max(t / o for t, o in zip(times, once, strict=True))
        given = ",".join(f"{k}={v}" for k, v in fixed.items())
        shown += f"; at most {ratio:.1f} times one amplify"
        yield Row(f"`calibrate` {name}:{given} at n = 1e3, 1e6, 1e9", shown, "< 50 ms", max(times) < 0.05)


def _amplify_again(name: str, fixed: dict[str, Any], n: int, eps: float) -> float:
    m = sdp.calibrate(name, n=n, epsilon=eps, delta=0.01 / n, **fixed)
    return cpu(partial(sdp.amplify, m, n=n, delta=0.01 / n), 3)


def settings() -> Iterator[Row]:
    """A setting open besides."""
    for name, fixed in OPEN.items():
        times = _times(name, fixed, 1)
        shown = ", ".join(f"{t:.2f} s" for t in times)
        given = ",".join(f"{k}={v}" for k, v in fixed.items())
        yield Row(f"`calibrate` {name}:{given}, its setting open", shown, "< 1 s", max(times) < 1.0)


def crowds() -> Iterator[Row]:
    """How many users."""
    for spec in ("grr:eps0=2,d=64", "general:eps0=10"):
        spent = cpu(partial(sdp.users_needed, spec, epsilon=0.01, delta=1e-10), 3)
        found = sdp.users_needed(spec, epsilon=0.01, delta=1e-10)
        yield Row(f"`users_needed` {spec}, eps = 0.01", f"{1e3 * spent:.0f} ms (n = {found:,})", "< 0.2 s", spent < 0.2)


def rows() -> Iterator[Row]:
    """All of them."""
    for part in (budgets, settings, crowds):
        yield from part()
