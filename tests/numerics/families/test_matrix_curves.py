"""The first screen of a matrix at many eps is above every pair's curve, and profiles are those of single eps."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.families.matrix_curves import PairCurves
from shuffledp.numerics.families.matrix_pairs import BlanketPairs

from .test_swap_moments import SHAPES, shaped


def matrix(name: str, seed: int) -> np.ndarray:
    if name != "zeros":
        return shaped(name, seed)
    rows = np.random.default_rng(seed).dirichlet(np.ones(5), size=6)
    rows[1, 2] = rows[4, 0] = 0.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", [*SHAPES, "zeros"])
def test_the_screen_is_above_every_curve(name: str) -> None:
    pairs = BlanketPairs(matrix(name, 2))
    every = np.arange(pairs.first.size)
    for n in (1, 50, 10**6):
        curves = PairCurves(pairs, n)
        for eps in (0.0, 0.05, 1.0):
            screens = curves.by_variance(every, eps)
            sharp = curves.screened(every, eps, -np.inf, 0.0)
            for i in every[::3]:
                lower = float(Divergence(pairs.pair(int(i)), n, "lower").bracket(np.array([eps]), 1e-3).lower[0])
                assert screens[i] >= lower and sharp[i] >= lower


@pytest.mark.parametrize("name", ["random", "ratios", "tiny", "zeros"])
@pytest.mark.parametrize("n", [30, 5000])
def test_many_eps_are_as_single_ones(name: str, n: int) -> None:
    pairs = BlanketPairs(matrix(name, 4))
    eps = np.linspace(0.0, 0.8, 60)
    many = pairs.log_delta(eps, n=n, tol=1e-4, side="upper")[::12]
    single = np.array([pairs.log_delta(eps[[i]], n=n, tol=1e-4, side="upper")[0] for i in range(0, 60, 12)])
    assert np.all(many <= np.maximum(single, -750.0) + 3e-4)
    every = [Divergence(pairs.pair(i), n, "lower").bracket(eps[::12], 1e-4).lower for i in range(pairs.first.size)]
    assert np.all(many >= np.max(every, axis=0))
