"""The Poisson sum: the table of the design, exact divergences, users who are missing, its error and its proof."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.designs import simulated
from reference.repetition import slow
from shuffledp.numerics.poisson.one_count import PoissonSteps

#: n, eps, units -> n x MSE and messages per user, at delta = 1e-8.
TABLE = [(10_000, 0.5, 8, 0.0562, 4.7), (10_000, 0.5, 16, 0.0436, 10.5), (10_000, 1.0, 16, 0.0148, 8.7)]


@pytest.mark.parametrize(("n", "eps", "units", "error", "messages"), TABLE)
def test_the_table_of_the_design(n: int, eps: float, units: int, error: float, messages: float) -> None:
    m = sdp.calibrate(f"poisson-sum:units={units}", n=n, epsilon=eps, delta=1e-8)
    assert m.variance(1) == pytest.approx(error, abs=6e-5)
    assert m.messages_per_user == pytest.approx(messages, abs=0.06)
    g = sdp.amplify(m, n=n, delta=1e-8)
    assert eps * 0.9998 <= g.lower <= g.epsilon <= eps and g.epsilon <= g.lower * (1 + 1e-6)
    assert m.local_epsilon == math.inf


def truth(mu: float, units: int, ratio: float) -> float:
    """The largest hockey-stick divergence of a shift by up to ``units``, both ways, from the masses."""
    k = np.arange(0, int(mu + 40 * math.sqrt(mu)) + 200)
    still = stats.poisson.pmf(k, mu)
    found = 0.0
    for s in range(1, units + 1):
        moved = stats.poisson.pmf(k - s, mu)
        both = ((moved, still), (still, moved))
        found = max(found, *(math.fsum(np.maximum(a - ratio * b, 0.0)) for a, b in both))
    return found


@pytest.mark.slow_cases("2.0-2000-40")
@pytest.mark.parametrize(
    ("mean", "n", "units"), [(0.5, 1, 1), (0.2, 10, 3), (3.0, 50, 7), (0.01, 5000, 2), (2.0, 2000, 40)]
)
def test_upper_and_lower_bound_are_the_truth(mean: float, n: int, units: int) -> None:
    m = sdp.PoissonSum(units=units, poisson=mean)
    eps = np.array([0.0, 0.05, 0.3, 1.0, 2.5])
    true = np.array([truth(n * mean, units, math.exp(x)) for x in eps])
    upper, lower = (sdp.profile(m, n=n, epsilon=eps, side=side) for side in ("upper", "lower"))
    seen = true > 1e-14
    assert np.all(lower <= true * (1 + 1e-9)) and np.all(true <= upper * (1 + 1e-9) + 1e-25)
    assert upper[seen] == pytest.approx(true[seen], rel=1e-7) and lower[seen] == pytest.approx(true[seen], rel=1e-7)
    for delta in (0.05, 1e-6):
        g = sdp.amplify(m, n=n, delta=delta)
        if math.isfinite(g.epsilon):
            assert truth(n * mean, units, math.exp(g.epsilon)) <= delta * (1 + 1e-9)
            assert g.epsilon == pytest.approx(g.lower, rel=1e-6)
        else:
            assert stats.poisson.cdf(units - 1, n * mean) > delta  # a count below r says that it is not the largest


def test_missing_users_take_their_fabricated_messages_along() -> None:
    m = sdp.PoissonSum(units=8, poisson=0.65)
    fewer = sdp.amplify(m, n=10_000, delta=1e-8, dropouts=1500, colluding=500).epsilon
    assert fewer == pytest.approx(sdp.amplify(m, n=8000, delta=1e-8).epsilon, rel=1e-9)
    two = sdp.amplify(m, n=10_000, delta=1e-8, reports_per_user=2).epsilon
    assert two > sdp.amplify(sdp.PoissonSum(units=8, poisson=0.325), n=10_000, delta=1e-8).epsilon


def test_rounds_compose() -> None:
    """Four rounds of a shift by r are nearly those of a Gaussian of half the deviation."""
    m = sdp.PoissonSum(units=4, poisson=1.0)
    account = sdp.Accountant().compose(m, n=10_000, count=4)
    assert account.epsilon(delta=1e-6) == pytest.approx(
        sdp.amplify(sdp.PoissonSum(units=8, poisson=1.0), n=10_000, delta=1e-6).epsilon, rel=0.01
    )


def test_huge_and_empty_crowds() -> None:
    far = PoissonSteps(mean=1e9, most=5)
    for side in ("upper", "lower"):
        assert far.epsilon(n=10**9, delta=1e-9, tol=1e-4, side=side).epsilon <= 0.01
    assert sdp.amplify("poisson-sum:units=3,poisson=0", n=10, delta=1e-9).epsilon == math.inf
    assert sdp.profile("poisson-sum:units=3,poisson=0", n=10, epsilon=1.0) == pytest.approx(1.0)


@pytest.mark.heavy
@pytest.mark.parametrize(("n", "runs"), [(1000, 500), slow(10_000, 6000)])
def test_the_error_at_the_worst_number_is_the_predicted_one(n: int, runs: int) -> None:
    m = sdp.PoissonSum(units=8, poisson=0.65)
    error, covered = simulated(m, 0.125, n, runs)  # in the middle between two units
    assert error == pytest.approx(m.variance(n), rel=0.05 if runs > 2000 else 0.2)
    assert abs(covered - 0.95) <= (0.02 if runs > 2000 else 0.035)


def test_only_the_number_of_messages_is_sent() -> None:
    m = sdp.PoissonSum(units=4, poisson=0.5)
    reports = m.privatize(np.full(1000, 1.0), rng=np.random.default_rng(0))
    assert not reports.data.any() and reports.data.dtype == np.uint8
    assert len(reports.data) - 4000 == pytest.approx(500, abs=6 * math.sqrt(500))
    with pytest.raises(sdp.BoundNotApplicableError):
        m.variation_ratio()
    with pytest.raises(sdp.BoundNotApplicableError):
        sdp.amplify(m, n=100, delta=1e-6, bound="variation-ratio-lower")


def test_no_certificate() -> None:
    with pytest.raises(sdp.CertificationError, match=r"of one message, and .* use certify=False: no"):
        sdp.amplify("poisson-sum:units=8,poisson=2", n=300, delta=1e-4, certify=True)
