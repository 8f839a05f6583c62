"""Golden values of the mechanisms that were made for the shuffle model, and simulations of means."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from reference.places import DATA

DESIGNS: dict[str, list[dict[str, Any]]] = json.loads((DATA / "designs.json").read_text(encoding="utf-8"))


def worst_number(m: Any) -> float:
    """Where the variance of a report is largest, to a thousandth of a step of the grid."""
    x = np.interp(np.linspace(0, len(m._points) - 1, 1000 * len(m._points)), np.arange(len(m._points)), m._points)
    return float(x[np.argmax(np.interp(x, m._points, m._squares) - x**2)])


def simulated(m: Any, value: float, n: int, runs: int) -> tuple[float, float]:
    """The mean square error of many estimates from n users who all hold the value, and the coverage at 95 %."""
    rng, values = np.random.default_rng(20), np.full(n, value)
    square = covered = 0.0
    for _ in range(runs):
        found = m.estimate(m.privatize_counts(values, rng=rng))
        low, high = found.interval(0.95)
        square += float(found.value[0] - value) ** 2
        covered += bool(low[0] <= value <= high[0])
    return square / runs, covered / runs
