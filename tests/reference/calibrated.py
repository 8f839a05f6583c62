"""Whether the answers of a query are unbiased and their errors what they say: the same users, many repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from shuffledp.estimation.estimate import Estimate

#: Repetitions of the quick run and of the full one.
QUICK, FULL = 100, 2000
repeats = pytest.mark.parametrize("repeats", [QUICK, pytest.param(FULL, marks=pytest.mark.slow)])
LEVEL = 0.95


def answers(query: Any, columns: Sequence[Any], repeats: int, seed: int) -> list[Estimate]:
    """Answers from counts, with fresh noise (and fresh draws of the clients) every time."""
    rng = np.random.default_rng(seed)
    m = query.randomizer
    return [query.answer(m.privatize_counts(query.inputs(columns, rng=rng), rng=rng)) for _ in range(repeats)]


def calibrated(
    found: Sequence[Estimate],
    truth: np.ndarray,
    *,
    wide: bool = False,
    part: Callable[[Estimate], Estimate] = lambda e: e,
) -> None:
    """Mean error within 4 standard errors of 0, RMSE over predicted of 1, coverage of the nominal one.

    Pooled over items, with standard errors from the spread between repetitions (items of one are not independent).
    ``wide``: errors are documented to be larger than the truth, so only one side is checked.
    """
    parts = [part(e) for e in found]
    runs, truth = len(parts), np.asarray(truth, dtype=float).ravel()
    value = np.array([e.value.ravel() for e in parts])
    error = np.array([e.stderr.ravel() for e in parts])
    off = value - truth
    mean, spread = off.mean(axis=0), off.std(axis=0, ddof=1)
    assert np.all(np.abs(mean) <= 4.5 * spread / math.sqrt(runs) + 1e-15), (mean / spread * math.sqrt(runs)).round(1)
    pooled = mean.mean() / (off.mean(axis=1).std(ddof=1) / math.sqrt(runs) + 1e-15)
    assert abs(pooled) <= 4.0 or abs(mean.mean()) < 1e-12, pooled

    square, claimed = (off**2).mean(axis=1), (error**2).mean()
    ratio = math.sqrt(square.mean() / claimed)
    room = 4.0 * square.std(ddof=1) / math.sqrt(runs) / claimed / (2.0 * ratio)
    assert ratio <= 1.0 + room, (ratio, room)
    assert wide or ratio >= 1.0 - room, (ratio, room)

    hits = np.array(
        [(low <= truth + 1e-12) & (truth <= high + 1e-12) for low, high in (_ends(e) for e in parts)], dtype=float
    )
    share, between = hits.mean(), hits.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    room = 4.0 * max(between, math.sqrt(LEVEL * (1 - LEVEL) / hits.size))
    # an interval reaches up to one count further than it must: about the density at its ends times a count
    grain = np.mean([np.broadcast_to(e.grain, e.value.shape) for e in parts]) / math.sqrt(claimed)
    lattice = 3.0 * stats.norm.pdf(stats.norm.isf(0.5 * (1 - LEVEL))) * grain
    assert share >= LEVEL - room, (share, room)
    assert wide or share <= LEVEL + room + lattice, (share, room, lattice)


def _ends(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
    low, high = estimate.interval(LEVEL)
    return low.ravel(), high.ravel()


def round_trip(query: Any, users: int = 10_000) -> Any:
    """The query read back from the file of a plan; everything about it is the same."""
    import json

    import shuffledp as sdp

    plan = sdp.Plan(query=query, users=users, delta=1e-6)
    again = sdp.Plan.from_dict(json.loads(json.dumps(plan.to_dict())), verify=False)
    assert again.digest == plan.digest and again.query == query
    assert again.query.randomizer == query.randomizer and again.query.question == query.question
    assert math.isfinite(plan.epsilon)
    return again
