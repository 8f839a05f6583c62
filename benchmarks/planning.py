"""Choosing a mechanism: CPU time of ``recommend``, all mechanisms of a task calibrated and ranked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import shuffledp as sdp

from .rows import Row, compared, cpu

#: Users and eps of a mean in [-1, 1] -> n times the squared error of Laplace noise and of the design for the shuffle
#: model; the CPU seconds of such a ranking.
MEANS = {
    (10**4, 0.1): (1.820, 1.0505),
    (10**4, 1.0): (0.2325, 0.0529),
    (10**6, 0.5): (0.0911, 0.00460),
    (10**6, 1.0): (0.0730, 0.00203),
}
MEAN_LIMIT = 0.5
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


def means() -> Iterator[Row]:
    """The first choice of one message per user, by the planner's own error."""
    for (n, epsilon), (laplace, design) in MEANS.items():
        asked = partial(sdp.recommend, "mean", n=n, epsilon=epsilon, delta=1e-8, low=-1, high=1, messages=1)
        used, best = cpu(asked, 3), asked().best
        size = n * best.error**2
        shown = f"{best.mechanism}: {size:.4g}, {laplace / size:.2g} times less than Laplace noise; {used:.2f} s"
        kept = size <= 1.03 * design and used < MEAN_LIMIT and 0.9995 * epsilon <= best.epsilon <= epsilon
        wanted = f"<= {design:g} + 3 %, < {MEAN_LIMIT:g} s"
        yield Row(f"`recommend` mean in [-1, 1], n = {n:g}, eps = {epsilon:g}: n x error^2", shown, wanted, kept)


def rows() -> Iterator[Row]:
    """Every task, for a million users, and the designs for the shuffle model."""
    for name, given in TASKS.items():
        asked = partial(sdp.recommend, **given, n=10**6, delta=1e-8)
        ranked = len(asked().choices)
        yield compared.row(f"`recommend` {name}, n = 1e6", cpu(asked, 2), 1.0, f", {ranked} mechanisms ranked")
    yield from means()
