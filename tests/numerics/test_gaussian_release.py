"""The delta of a Gaussian release in logarithms, against ball arithmetic, and the mu that comes from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from shuffledp.numerics.composition.gaussian import largest_mu, log_delta, mus, smallest_mu
from shuffledp.numerics.composition.profile_curve import Curve

#: From deltas near 1 to log deltas of -1e7.
CASES = [
    (mu, ratio * mu)
    for mu in (1e-9, 1e-5, 1e-3, 0.1, 1.0, 5.0, 40.0)
    for ratio in (0.0, 1e-3, 0.5, 3.0, 38.0, 1e3, 4e3)
]


def exact(mu: float, eps: float) -> float:
    """log of Phi(-x) - e^eps Phi(-y), in 500 bits: the difference loses about 100 of them."""
    before = ctx.prec
    try:
        ctx.prec = 500
        m, e, root = arb(mu), arb(eps), arb(2).sqrt()
        tails = [((e / m + sign * m / 2) / root).erfc() / 2 for sign in (-1, 1)]
        found = (tails[0] - e.exp() * tails[1]).log()
        assert found.rad() < 1e-20
        return float(found.mid())
    finally:
        ctx.prec = before


@pytest.mark.parametrize(("mu", "eps"), CASES)
def test_both_sides_hold_and_are_close(mu: float, eps: float) -> None:
    lower, upper = (float(log_delta(np.array([mu]), np.array([eps]), side)[0]) for side in ("lower", "upper"))
    truth = exact(mu, eps)
    assert lower <= truth <= upper
    assert upper - lower <= 1e-2 + 1e-14 * abs(truth)


def test_mu_is_on_the_named_side() -> None:
    rng = np.random.default_rng(5)
    mu = 10.0 ** rng.uniform(-6.0, 1.0, 300)
    eps = mu * 10.0 ** rng.uniform(-2.0, 4.0, 300)
    above, below = (mus(eps, log_delta(mu, eps, side), side) for side in ("upper", "lower"))
    assert np.all(below <= mu) and np.all(mu <= above) and np.all(above <= below * (1 + 1e-3))
    assert mus(np.zeros(1), np.full(1, -np.inf), "upper")[0] == 0.0
    assert mus(np.ones(1), np.zeros(1), "upper")[0] == math.inf
    assert largest_mu(np.zeros(0), np.zeros(0)) == 0.0


@pytest.mark.parametrize("mu", [1e-4, 0.05, 2.0])
@pytest.mark.parametrize("slack", [0.0, 1e-9])
def test_the_smallest_mu_of_a_gaussian_profile_is_its_own(mu: float, slack: float) -> None:
    end = 60.0 * mu

    def ask(eps: np.ndarray) -> np.ndarray:
        return np.where(eps < end, log_delta(np.full(eps.shape, mu), eps, "upper"), -np.inf)

    eps = mu * np.append(np.arange(0.0, 8.0, 0.1), np.geomspace(8.0, 60.0, 16))
    found = smallest_mu(Curve(eps, ask(eps)), ask, slack)
    assert found <= mu * 1.003 and (found >= mu if not slack else found >= 0.99 * mu)


def test_a_profile_that_never_reaches_the_slack_has_no_mu() -> None:
    curve = Curve(np.array([0.0, 1.0]), np.log(np.array([0.5, 1e-3])))
    assert smallest_mu(curve, lambda eps: eps, 0.0) == math.inf == smallest_mu(curve, lambda eps: eps, 1e-4)
    assert smallest_mu(curve, lambda eps: np.full(eps.shape, math.log(0.5)), 2e-3) < math.inf
