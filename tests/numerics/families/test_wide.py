"""Profiles of many eps: nothing that a double shows is lost where most of them are not evaluated."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics.families import wide
from shuffledp.numerics.families.base import Answer
from shuffledp.numerics.pair import FloatArray


class Line:
    """log delta = -slope eps, exactly 0 from ``end`` on; counts how many eps it is asked for."""

    def __init__(self, slope: float, end: float = np.inf) -> None:
        self.slope, self.end, self.asked = slope, end, 0

    def epsilon(self, **_: object) -> Answer:
        raise NotImplementedError

    def log_delta(self, eps: FloatArray, **_: object) -> FloatArray:
        self.asked += eps.size
        return np.where(eps < self.end, -self.slope * eps, -np.inf)

    def pairs(self, most: int) -> None:
        return None


@pytest.mark.parametrize("slope", [1.0, 300.0, 1e4, 1e9])
@pytest.mark.parametrize("end", [np.inf, 1.3, 2.0])
@pytest.mark.parametrize("side", ["upper", "lower"])
def test_what_doubles_show_is_the_same(slope: float, end: float, side: str) -> None:
    eps = np.random.default_rng(1).permutation(np.linspace(0.0, 3.0, 5000))
    family = Line(slope, end)
    got = wide.log_delta(family, eps, n=5, tol=1e-4, side=side)  # type: ignore[arg-type]
    truth = Line(slope, end).log_delta(eps)
    with np.errstate(under="ignore"):
        assert np.array_equal(np.exp(got), np.exp(truth))
    assert np.all(got >= truth) if side == "upper" else np.all(got <= truth)
    assert np.array_equal(np.isneginf(got), np.isneginf(truth)) or side == "lower"
    assert slope < 1e4 or family.asked < 1000


@pytest.mark.parametrize("spec", ["hadamard:eps0=2,d=64", "harmony:eps0=1,dim=4", "randomized-response:eps0=1"])
def test_profiles_are_those_of_few_eps(spec: str) -> None:
    eps = np.linspace(0.0, sdp.mechanism(spec).local_epsilon * 1.01, 400)
    for side in ("upper", "lower"):
        many = sdp.profile(spec, n=10**5, epsilon=eps, side=side)
        few = np.concatenate([sdp.profile(spec, n=10**5, epsilon=part, side=side) for part in np.split(eps[::10], 2)])
        live = few > 1e-300
        assert many[::10][live] == pytest.approx(few[live], rel=3e-4)
        assert np.array_equal(many[::10] == 0.0, few == 0.0)


def test_no_eps_below_the_local_guarantee() -> None:
    assert sdp.profile("cheu-zhilyaev:flip=0.4,d=16,messages=1", n=10**5, epsilon=5.0) == 0.0
