"""The Gaussian picture: the profile of Balle and Wang, its inverses, and that shuffled rounds are close to it."""

from __future__ import annotations

import math

import mpmath
import pytest

import shuffledp as sdp
from shuffledp.numerics.composition.conversions import epsilon_of, mu_of


def profile(mu: float, epsilon: float) -> float:
    with mpmath.workdps(250):
        m, eps = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - eps / m) - mpmath.exp(eps) * mpmath.ncdf(-m / 2 - eps / m))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 1e-8), (1e-3, 1e-6), (50, 1e-10), (0.1, 0.3), (1, 1e-200), (300, 1e-9)]
)
def test_the_profile_is_met(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert math.log(profile(mu, epsilon)) == pytest.approx(math.log(delta), rel=1e-2)
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.heavy
def test_shuffled_rounds_are_nearly_gaussian() -> None:
    one = sdp.amplify("grr:eps0=2,d=16", n=100_000, delta=1e-6).epsilon
    many = sdp.Accountant().compose("grr:eps0=2,d=16", n=100_000, count=25).epsilon(delta=1e-6)
    assert epsilon_of(5.0 * mu_of(one, 1e-6), 1e-6) == pytest.approx(many, rel=0.02)
