"""Chords: never below a convex curve, as near to it as asked for, and from few of its values."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics import chords
from shuffledp.numerics.pair import FloatArray


class Lines:
    """The largest of some lines in E, 0 among them: convex, with kinks, and 0 from some E on."""

    def __init__(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        self.top = np.exp(rng.uniform(0.0, 3.0, count))
        self.height = np.exp(-rng.uniform(0.0, 30.0, count) * np.log(self.top))
        self.asked = 0

    def exact(self, eps: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum((self.top - np.exp(eps)[:, None]) * self.height, 0.0).max(axis=1)))

    def __call__(self, eps: FloatArray, tol: float) -> FloatArray:
        self.asked += eps.size
        return self.exact(eps) + 0.5 * tol


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_above_and_near_kinked_curves(seed: int, tol: float) -> None:
    curve = Lines(seed, 40)
    eps = np.random.default_rng(seed).permutation(np.linspace(0.0, 3.2, 4000))
    found, true = chords.log_upper(curve, eps, tol), curve.exact(eps)
    assert np.all(found >= true - 1e-12)
    assert np.all((found == true) | (found <= true + 4.0 * tol))


def test_few_values_of_a_smooth_curve() -> None:
    asked: list[int] = []

    def values(eps: FloatArray, tol: float) -> FloatArray:
        asked.append(eps.size)
        return -20.0 * eps

    eps = np.linspace(0.0, 1.0, 10_000)
    found = chords.log_upper(values, eps, 1e-3)
    assert sum(asked) < 1_000
    assert np.all(found >= -20.0 * eps - 1e-12) and np.all(found <= -20.0 * eps + 1e-3)


def test_repeated_and_few_points() -> None:
    eps = np.full(1000, 0.5)
    assert np.array_equal(chords.log_upper(lambda x, tol: -x, eps, 1e-3), -eps)
    assert chords.log_upper(lambda x, tol: -x, np.zeros(0), 1e-3).size == 0


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    eps = np.linspace(0.0, 1.0, 600)
    assert np.all(chords.log_upper(lambda x, tol: np.full(x.shape, np.inf), eps, 1e-3) == np.inf)


@pytest.mark.parametrize("bound", ["variation-ratio", "general"])
@pytest.mark.parametrize("n", [30, 5_000])
def test_profiles_of_many_points_are_those_of_few(bound: str, n: int) -> None:
    spec = "grr:eps0=2,d=8"
    eps = np.linspace(0.0, 1.5 * sdp.amplify(spec, n=n, delta=1e-12).epsilon, 3_000)
    whole = sdp.profile(spec, n=n, epsilon=eps, bound=bound)
    some = np.arange(0, eps.size, 37)
    few = sdp.profile(spec, n=n, epsilon=eps[some], bound=bound, tol=1e-6)
    assert np.all(whole[some] >= few * (1.0 - 2e-6))
    assert np.all((whole[some] <= few * (1.0 + 3e-4)) | (few < 1e-290))
    assert np.all(np.diff(whole) <= 1e-4 * whole[:-1])


@pytest.mark.parametrize("spec", ["grr:eps0=2,d=8", "general:eps0=1", "unary:eps0=1,d=8"])
def test_profiles_stay_above_a_lower_one(spec: str) -> None:
    eps = np.linspace(0.0, 1.2, 2_000)
    upper = sdp.profile(spec, n=400, epsilon=eps)
    lower = sdp.profile(spec, n=400, epsilon=eps, side="lower")
    assert np.all(upper >= lower) and np.count_nonzero(lower) > 500


def test_a_value_that_is_not_a_number_claims_nothing() -> None:
    eps = np.linspace(0.0, 5.0, 2000)
    found = chords.log_upper(lambda x, tol: np.where((x > 1.0) & (x < 2.0), np.nan, -3.0 * x), eps, 1e-3)
    assert not np.isnan(found).any() and np.all(found >= -3.0 * eps)
    assert np.all(found[(eps > 1.0) & (eps < 2.0)] == np.inf)
