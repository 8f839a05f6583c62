"""Any (eps0, delta0)-LDP randomizer: against mechanisms with these parameters, exactly, over all small datasets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, worst_divergence


def leaking(eps0: float, delta0: float, options: int) -> list[list[float]]:
    """Randomized response that reveals the input with probability delta0: it is (eps0, delta0)-LDP."""
    p = math.exp(eps0)
    whole = p + options - 1.0
    return [
        [(1 - delta0) * (p if y == x else 1.0) / whole for y in range(options)]
        + [delta0 if y == x else 0.0 for y in range(options)]
        for x in range(options)
    ]


@pytest.mark.parametrize("options", [2, 3])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(("eps0", "delta0"), [(0.5, 1e-3), (1.0, 0.02), (2.0, 1e-4), (3.0, 1e-2)])
def test_no_leaking_response_is_worse(eps0: float, delta0: float, n: int, options: int) -> None:
    law = [[Fraction(value) for value in row] for row in leaking(eps0, delta0, options)]
    eps = [0.0, 0.1, 0.4 * eps0, 0.9 * eps0, eps0, 1.5 * eps0]
    stated = sdp.profile(sdp.Approximate(eps0=eps0 * (1 + 1e-12), delta0=delta0), n=n, epsilon=eps)
    for at, upper in zip(eps, stated, strict=True):
        assert float(worst_divergence(law, n, exp_enclosure(at)[1])) <= upper * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_no_random_matrix_is_worse(seed: int) -> None:
    """Random laws, with the smallest delta0 for a given eps0."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(4, 0.7), size=3)
    eps0, n = float(rng.uniform(0.3, 2.0)), int(rng.integers(2, 5))
    gaps = np.maximum(law[:, None, :] - math.exp(eps0) * law[None, :, :], 0.0).sum(axis=2)
    delta0 = float(gaps.max()) * (1 + 1e-9) + 1e-12
    exact = [[Fraction(value) for value in row] for row in law.tolist()]
    exact = [[value / sum(row) for value in row] for row in exact]
    eps = [0.05, 0.5 * eps0, eps0, 2.0 * eps0]
    stated = sdp.profile(sdp.Approximate(eps0=eps0, delta0=min(delta0, 0.999)), n=n, epsilon=eps)
    for at, upper in zip(eps, stated, strict=True):
        assert float(worst_divergence(exact, n, exp_enclosure(at)[1])) <= upper * (1 + 1e-9)


@pytest.mark.parametrize("n", [100, 10_000, 10**8])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_epsilon_and_profile_agree_and_a_tiny_delta0_is_that_of_eps0_alone(n: int, delta: float) -> None:
    pure = sdp.amplify("general:eps0=1.5", n=n, delta=delta).epsilon
    for delta0 in (1e-30, 1e-3 * delta / n, 0.05 * delta / n):
        m = sdp.Approximate(eps0=1.5, delta0=delta0)
        g = sdp.amplify(m, n=n, delta=delta)
        assert pure * (1 - 1e-3) <= g.epsilon <= 1.5 and g.lower is not None and g.lower <= g.epsilon
        assert sdp.profile(m, n=n, epsilon=[g.epsilon])[0] <= delta * (1 + 1e-6)
    assert sdp.amplify("approximate:eps0=1.5,delta0=1e-30", n=n, delta=delta).epsilon == pytest.approx(pure, rel=1e-3)


@pytest.mark.heavy
def test_what_is_left_where_delta0_is_large() -> None:
    assert sdp.amplify("approximate:eps0=2,delta0=1e-8", n=10_000, delta=1e-6).epsilon == 2.0
    g = sdp.amplify("approximate:eps0=2,delta0=1e-5", n=10_000, delta=1e-6)
    assert math.isinf(g.epsilon) and math.isinf(g.local_epsilon)
    year = sdp.Accountant().compose("approximate:eps0=2,delta0=1e-14", n=10_000, count=10)
    pure = sdp.Accountant().compose("general:eps0=2", n=10_000, count=10)
    assert pure.epsilon(delta=1e-6) <= year.epsilon(delta=1e-6) <= 1.02 * pure.epsilon(delta=1e-6)


@pytest.mark.parametrize("delta0", [0.0, 1.0, -0.1, math.nan])
def test_delta0_is_a_probability(delta0: float) -> None:
    with pytest.raises(sdp.ParameterError, match="delta0"):
        sdp.Approximate(eps0=1.0, delta0=delta0)
