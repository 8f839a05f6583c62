"""The hits of a string that nobody holds: the limit is reached as rarely as it says, and is not much too high."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.estimation.chance_hits import chance_limit


def law(table: np.ndarray) -> np.ndarray:
    """The exact law of the sum of one random cell of every row."""
    out = np.ones(1)
    for row in table:
        out = np.convolve(out, np.bincount(row) / row.size)
    return out


@pytest.mark.parametrize("chance", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("shape", ["sparse", "full", "one heavy"])
def test_the_limit_is_above_the_exact_one_and_near_it(shape: str, chance: float) -> None:
    rng = np.random.default_rng(2)
    table = rng.poisson({"sparse": 0.01, "full": 20.0, "one heavy": 0.1}[shape], size=(300, 16))
    if shape == "one heavy":
        table[np.arange(300), rng.integers(16, size=300)] += rng.poisson(3.0, size=300)
    exact = law(table)
    beyond = np.cumsum(exact[::-1])[::-1]  # P(sum >= s)
    limit = chance_limit(table, chance)
    assert beyond[math.ceil(limit)] <= chance
    smallest = int(np.flatnonzero(beyond <= chance)[0])
    at = np.arange(exact.size)
    mean = float(exact @ at)
    spread = math.sqrt(float(exact @ (at - mean) ** 2))
    assert limit <= smallest + 0.8 * spread + 1.0


def test_where_chance_explains_everything_there_is_no_limit() -> None:
    assert chance_limit(np.array([[5, 0, 0, 0]]), 0.1) == math.inf  # one function: a quarter of all strings
    assert chance_limit(np.zeros((8, 4), dtype=np.int64), 0.1) == math.inf
    assert chance_limit(np.array([[5, 0, 0, 0]]), 0.3) <= 5.0
