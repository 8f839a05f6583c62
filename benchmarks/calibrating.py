"""Solving for a setting: time of ``calibrate`` with one unknown, and with a setting left open besides."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rich.table import Table

import shuffledp as sdp

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


def _shortest(call: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _times(name: str, fixed: dict[str, Any], repeat: int) -> list[float]:
    return [
        _shortest(partial(sdp.calibrate, name, n=n, epsilon=eps, delta=0.01 / n, **fixed), repeat) for n, eps in TARGETS
    ]


def budgets(table: Table, ok: Callable[[bool], str]) -> None:
    for name, fixed in CLOSED.items():
        times = _times(name, fixed, 3)
        once = [_amplify_again(name, fixed, n, eps) for n, eps in TARGETS]
        shown = ", ".join(f"{1e3 * t:.0f} ms" for t in times)
        ratio = max(t / o for t, o in zip(times, once, strict=True))
        given = ",".join(f"{k}={v}" for k, v in fixed.items())
        table.add_row(f"calibrate {name}:{given} at n = 1e3, 1e6, 1e9", shown, "< 50 ms", ok(max(times) < 0.05))
        table.add_row("   largest ratio to one amplify of the result", f"{ratio:.1f}", "", "")


def _amplify_again(name: str, fixed: dict[str, Any], n: int, eps: float) -> float:
    m = sdp.calibrate(name, n=n, epsilon=eps, delta=0.01 / n, **fixed)
    return _shortest(partial(sdp.amplify, m, n=n, delta=0.01 / n), 3)


def settings(table: Table, ok: Callable[[bool], str]) -> None:
    for name, fixed in OPEN.items():
        times = _times(name, fixed, 1)
        shown = ", ".join(f"{t:.2f} s" for t in times)
        given = ",".join(f"{k}={v}" for k, v in fixed.items())
        table.add_row(f"calibrate {name}:{given}, its setting open", shown, "< 1 s", ok(max(times) < 1.0))


def crowds(table: Table, ok: Callable[[bool], str]) -> None:
    for spec in ("grr:eps0=2,d=64", "general:eps0=10"):
        spent = _shortest(partial(sdp.users_needed, spec, epsilon=0.01, delta=1e-10), 3)
        found = sdp.users_needed(spec, epsilon=0.01, delta=1e-10)
        table.add_row(
            f"users_needed {spec}, eps = 0.01", f"{1e3 * spent:.0f} ms (n = {found:,})", "< 0.2 s", ok(spent < 0.2)
        )


def add_rows(table: Table, ok: Callable[[bool], str]) -> None:
    for part in (budgets, settings, crowds):
        part(table, ok)
