"""Choosing a mechanism: CPU time of ``recommend``, all mechanisms of a task calibrated and ranked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import shuffledp as sdp

from .rows import Row, compared, cpu

TASKS: dict[str, dict[str, Any]] = {
    "histogram, d = 16": {"task": "histogram", "d": 16, "epsilon": 1.0},
    "histogram, d = 500": {"task": "histogram", "d": 500, "epsilon": 1.0},
    "histogram, d = 10,000": {"task": "histogram", "d": 10**4, "epsilon": 1.0},
    "histogram, d = 1,000,000": {"task": "histogram", "d": 10**6, "epsilon": 1.0},
    "histogram, d = 500, error = 1e-4": {"task": "histogram", "d": 500, "error": 1e-4},
    "histogram, d = 64, 13 rounds": {"task": "histogram", "d": 64, "epsilon": 1.0, "rounds": 13},
    "range, d = 256": {"task": "range", "d": 256, "epsilon": 1.0},
    "mean": {"task": "mean", "epsilon": 1.0},
    "sets, d = 1000, size = 10": {"task": "sets", "d": 1000, "size": 10, "epsilon": 1.0},
}


def rows() -> Iterator[Row]:
    """Every task, for a million users."""
    for name, given in TASKS.items():
        asked = partial(sdp.recommend, **given, n=10**6, delta=1e-8)
        ranked = len(asked().choices)
        yield compared.row(f"`recommend` {name}, n = 1e6", cpu(asked, 2), 1.0, f", {ranked} mechanisms ranked")
