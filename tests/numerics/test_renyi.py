"""Renyi divergences: the chord integral against the definition, and the way back to eps."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import _send, fractions_of
from shuffledp.numerics.composition import conversions as renyi
from shuffledp.numerics.composition.profile_curve import EMPTY, FINE, Curve, Plan, sampled
from shuffledp.numerics.curve import PairCurve

ORDERS = [1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 11.3, 16.0]
SYMMETRIC = {
    "general eps0=1": sdp.General(eps0=1.0).variation_ratio().pair(),
    "general eps0=3": sdp.General(eps0=3.0).variation_ratio().pair(),
    "ratio with a remainder": sdp.VariationRatio(p=5.0, beta=0.2, q=9.0).pair(),
    "grr d=5": sdp.GRR(eps0=2.0, d=5).law.blanket().pairs(1)[0],  # type: ignore[index]
}


def log_delta(pair: sdp.ShuffledPair, n: int, eps: np.ndarray) -> np.ndarray:
    curve = PairCurve.of([pair] * eps.size, np.full(eps.size, float(n)), "upper")
    return curve.at(eps, np.full(eps.size, 1e-9)).log_delta


def dense(pair: sdp.ShuffledPair, n: int, cells: int = 10_000) -> Curve:
    """The profile of one round at many nodes, closely spaced near 0."""
    eps = pair.limit * np.linspace(0.0, 1.0, cells) ** 1.5
    return Curve(eps, np.append(log_delta(pair, n, eps)[:-1], -np.inf))


@lru_cache(maxsize=32)
def laws(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Both laws of the counts, from the definition in fractions: others one after the other, then the victim."""
    pair = SYMMETRIC[name]
    p0, p1, t = (fractions_of(np.asarray(law).tolist()) for law in (pair.P0, pair.P1, pair.t))
    others = {(0,) * len(t): Fraction(1)}
    for _ in range(n - 1):
        others = _send(others, t, 1 - sum(t))
    first, second = (_send(others, p, Fraction(0)) for p in (p0, p1))
    return tuple(np.array([float(law[key]) for key in first]) for law in (first, second))  # type: ignore[return-value]


def exact(name: str, n: int) -> np.ndarray:
    p, q = laws(name, n)
    return np.array([math.log(math.fsum(p * (p / q) ** (a - 1))) / (a - 1) for a in ORDERS])


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_chord_integral_agrees_with_the_definition(name: str, n: int) -> None:
    upper = renyi.from_curve(dense(SYMMETRIC[name], n), ORDERS)
    assert np.all(upper >= exact(name, n) * (1 - 1e-12))
    assert np.all(upper <= exact(name, n) * (1 + 1e-5))


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_coarse_curve_errs_upwards_only(name: str) -> None:
    pair, truth = SYMMETRIC[name], exact(name, 7)
    plan = Plan(pair.limit, FINE, -math.inf)
    fine = sampled(lambda _, eps: [log_delta(pair, 7, at) for at in eps], [plan], [EMPTY])[0]
    assert np.all(renyi.from_curve(fine, ORDERS) >= truth * (1 - 1e-12))
    assert np.all(renyi.from_curve(fine, ORDERS) <= truth * 1.01)
    for cells in (2, 3, 10):
        rough = renyi.from_curve(dense(pair, 7, cells), ORDERS)
        assert np.all(rough >= truth * (1 - 1e-12)) and np.all(rough <= pair.limit)


def test_the_leading_term() -> None:
    """For large n the divergence is a beta q (1 - 1/p)/n (spec of the variation-ratio pair)."""
    m, n = sdp.General(eps0=1.0), 10**6
    values = sdp.Accountant().compose(m, n=n, bound="general").renyi([2.0, 8.0])
    v = m.variation_ratio()
    lead = np.array([2.0, 8.0]) * v.beta * v.q * (1 - 1 / v.p) / n
    assert np.all(np.abs(values / lead - 1) < 2e-3)


def test_powers_far_beyond_the_range_of_doubles() -> None:
    acc = sdp.Accountant().compose("general:eps0=2", n=10**6, count=3)
    orders = [1.0001, 2.0, 50.0, 1e3, 1e4, 1e6]
    values = acc.renyi(orders)
    assert np.all(np.isfinite(values)) and np.all(np.diff(values) > 0) and values[-1] <= 6.0 * (1 + 1e-9)


def test_no_local_guarantee_means_infinite_divergence() -> None:
    acc = sdp.Accountant().compose("variation-ratio:p=inf,beta=0.7,q=4", n=1000)
    assert np.all(np.isinf(acc.renyi([2.0, 3.0])))
    assert acc.epsilon(delta=1e-6, method="renyi") == math.inf
    assert acc.epsilon(delta=1e-6) < math.inf
    open_end = Curve(np.array([0.0, 1.0]), np.log(np.array([0.4, 0.1])))
    assert np.all(np.isinf(renyi.from_curve(open_end, [2.0])))


def test_nothing_revealed() -> None:
    assert renyi.from_curve(Curve(np.zeros(1), np.full(1, -np.inf)), [2.0, 9.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_conversion(delta: float) -> None:
    """Gaussian mechanism: D_a = a rho; the conversion must lie above the exact eps and agree with dp-accounting."""
    from dp_accounting import rdp

    rho = 0.02
    values = rho * np.array(renyi.ORDERS)
    eps = renyi.to_epsilon(renyi.ORDERS, values, delta)
    theirs, _ = rdp.compute_epsilon(renyi.ORDERS, values, delta)
    assert eps == pytest.approx(theirs, rel=1e-9)
    assert renyi.to_delta(renyi.ORDERS, values, eps) == pytest.approx(delta, rel=1e-6)
    mu = math.sqrt(2 * rho)

    def tail(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2))

    assert tail(eps / mu - mu / 2) - math.exp(eps) * tail(eps / mu + mu / 2) <= delta


def test_conversion_ends() -> None:
    assert renyi.to_epsilon([2.0], [0.0], 0.9) == 0.0
    assert renyi.to_delta([2.0], [100.0], 0.1) == 1.0
    assert renyi.to_epsilon([2.0], [math.inf], 0.1) == math.inf
