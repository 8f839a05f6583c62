"""Renyi divergences: the chord integral against counts, counts against the definition, and the way back to eps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import shuffledp as sdp
from reference.fractions_oracle import _send, fractions_of
from reference.rounds import Laws, rounds
from shuffledp.numerics.composition import renyi
from shuffledp.numerics.composition.profile_curve import FINE, Curve, sample
from shuffledp.numerics.pair import Divergence
from shuffledp.numerics.solve import pair_limit

ORDERS = [1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 11.3, 16.0]
SYMMETRIC = {
    "general eps0=1": sdp.General(eps0=1.0).variation_ratio().pair(),
    "general eps0=3": sdp.General(eps0=3.0).variation_ratio().pair(),
    "ratio with a remainder": sdp.VariationRatio(p=5.0, beta=0.2, q=9.0).pair(),
    "grr d=5": sdp.GRR(eps0=2.0, d=5).law.blanket().pairs(1)[0],  # type: ignore[index]
}


def dense(round_: sdp.ShuffledPair, n: int, cells: int = 60_000) -> Curve:
    """The profile of one round at many nodes, closely spaced near 0."""
    eps = pair_limit(round_) * np.linspace(0.0, 1.0, cells) ** 1.5
    value = Divergence(round_, n).bracket(eps, 1e-9).upper
    return Curve(eps, np.append(value[:-1], -np.inf))


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_chord_integral_agrees_with_the_counts(name: str, n: int) -> None:
    upper = renyi.from_curve(dense(SYMMETRIC[name], n), ORDERS)
    exact = np.array([renyi.by_counts(SYMMETRIC[name], n=n, order=a) for a in ORDERS])
    assert np.all(upper >= exact * (1 - 1e-12))
    assert np.all(upper <= exact * (1 + 1e-6))


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_coarse_curve_errs_upwards_only(name: str) -> None:
    exact = np.array([renyi.by_counts(SYMMETRIC[name], n=20, order=a) for a in ORDERS])
    curve = Divergence(SYMMETRIC[name], 20)
    limit = pair_limit(SYMMETRIC[name])
    fine = sample(lambda eps, tol: curve.bracket(eps, tol).upper, limit=limit, ladder=FINE, lowest=-math.inf)
    assert np.all(renyi.from_curve(fine, ORDERS) >= exact * (1 - 1e-12))
    assert np.all(renyi.from_curve(fine, ORDERS) <= exact * 1.01)
    for cells in (2, 3, 10):
        rough = renyi.from_curve(dense(SYMMETRIC[name], 20, cells), ORDERS)
        assert np.all(rough >= exact * (1 - 1e-12)) and np.all(rough <= limit)


def moment(laws: Laws, n: int, order: int) -> Fraction | None:
    """E_Q[(P/Q)^order] in fractions from the definition; None if infinite."""
    p0, p1, t = (fractions_of(law) for law in laws)
    others = {(0,) * len(t): Fraction(1)}
    for _ in range(n - 1):
        others = _send(others, t, 1 - sum(t))
    first, second = _send(others, p0, Fraction(0)), _send(others, p1, Fraction(0))
    if any(mass and not second.get(key) for key, mass in first.items()):
        return None
    return sum((mass**order * second[key] ** (1 - order) for key, mass in first.items() if mass), Fraction(0))


@settings(max_examples=60, deadline=None)
@given(rounds(most=4))
def test_counts_agree_with_the_definition(laws: Laws) -> None:
    for n, order in ((1, 2), (2, 3), (3, 5)):
        truth = moment(laws, n, order)
        found = renyi.by_counts(sdp.ShuffledPair(*laws), n=n, order=float(order))
        if truth is None:
            assert found == math.inf
        else:
            assert found * (order - 1) == pytest.approx(math.log(truth), rel=1e-9, abs=1e-9)


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
