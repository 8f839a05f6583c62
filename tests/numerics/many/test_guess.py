"""Guesses for many rows are those for one, and near the root."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics import solve as single
from shuffledp.numerics.many.guess import guess_epsilons
from shuffledp.numerics.many.laws import Laws
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
THREE = ShuffledPair(P0=[0.6, 0.1, 0.3], P1=[0.1, 0.6, 0.3], t=[0.1, 0.1, 0.3])


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


def test_guesses_are_near_the_root() -> None:
    n, delta = crowd([1e3, 1e5, 1e8, 1e11]), 1e-7
    for pair in (COIN, THREE):
        limit = np.full(4, single.pair_limit(pair))
        laws = Laws.of([pair], np.zeros(4, dtype=np.int64), n, "lower")
        found = guess_epsilons(laws, np.full(4, np.log(delta)), limit)
        for eps, slope, users in zip(found.epsilon, found.slope, n, strict=True):
            alone = single.guess_epsilon(pair.atoms, int(users), delta, float(limit[0]))
            assert eps == pytest.approx(alone.epsilon, rel=2e-3) and slope == pytest.approx(alone.slope, rel=0.02)
            root = single.epsilon([pair], n=int(users), delta=delta, tol=1e-6, side="upper")
            assert eps == pytest.approx(root, rel=0.01)


def test_a_hopeless_guess_is_still_inside() -> None:
    laws = Laws.of([COIN], np.zeros(3, dtype=np.int64), crowd([1, 2, 1e15]), "lower")
    limit = np.full(3, 1.0986)
    found = guess_epsilons(laws, np.log(np.array([1e-300, 0.9, 1e-300])), limit)
    assert np.all((found.epsilon > 0.0) & (found.epsilon <= limit)) and np.all(np.isfinite(found.slope))
