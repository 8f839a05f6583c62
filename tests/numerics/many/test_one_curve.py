"""eps at many deltas by chords of one curve: on the safe side, close to the solver, whatever the values are like."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics.many import one_curve


def gaussian(eps: np.ndarray, scale: float) -> np.ndarray:
    """log of a function that is convex in E and falls like a Gaussian tail in eps."""
    return -((eps / scale) ** 2)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5])
@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_chords_are_above_the_curve_and_close(scale: float, tol: float) -> None:
    deltas = np.random.default_rng(0).permutation(np.geomspace(1e-12, 1e-3, 400))
    found = one_curve.epsilons(
        lambda x: gaussian(x, scale), lambda y: scale * math.sqrt(-math.log(y)) * (1 + 1e-12), deltas, tol
    )
    truth = scale * np.sqrt(-np.log(deltas))
    assert np.all(found >= truth) and np.all(found <= truth * (1.0 + tol))


def test_values_that_are_missing_or_rise_claim_nothing() -> None:
    """NaN and bumps upward only cost: the answer stays above the truth, and within the ends."""
    deltas = np.geomspace(1e-12, 1e-3, 300)

    def values(eps: np.ndarray) -> np.ndarray:
        rough = gaussian(eps, 0.1) + 0.2 * (np.arange(eps.size) % 3 == 0)
        return np.where(np.arange(eps.size) % 5 == 0, np.nan, rough)

    found = one_curve.epsilons(values, lambda y: 0.1 * math.sqrt(-math.log(y)) * (1 + 1e-12), deltas, 1e-4)
    truth = 0.1 * np.sqrt(-np.log(deltas))
    assert np.all(found >= truth) and np.all(found <= truth.max() * (1 + 1e-9)) and not np.isnan(found).any()


def test_one_eps_for_all_deltas() -> None:
    assert one_curve.epsilons(lambda x: -x, lambda y: 2.0, np.geomspace(1e-9, 1e-3, 50), 1e-4).tolist() == [2.0] * 50


@pytest.mark.parametrize("spec", ["general:eps0=1", "subset:eps0=2,d=16", "unary:eps0=1,d=8"])
def test_many_deltas_among_few_users_are_those_of_single_questions(spec: str) -> None:
    deltas, bound = np.geomspace(1e-10, 1e-2, 60), "swap-general" if "general" in spec else "swap"
    found = sdp.amplify(spec, n=80, delta=deltas, bound=bound).epsilon
    single = [sdp.amplify(spec, n=80, delta=float(x), bound=bound).epsilon for x in deltas[::7]]
    assert found[::7] == pytest.approx(single, rel=3e-4)
    assert np.all(np.diff(found) <= 1e-12)
    assert np.all(sdp.profile(spec, n=80, epsilon=found, side="lower") <= deltas)
