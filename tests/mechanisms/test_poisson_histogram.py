"""The Poisson histogram: shipped numbers, sets of indices, sampler, estimate, and every question that can be asked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.poisson_histogram import truth

SHIPPED: dict[str, Any] = {"n": 10**6, "delta": 1e-10}
SPEC = "poisson-histogram:d=65536,poisson_per_index=0.00124512,indices=18"


def test_the_shipped_parameters() -> None:
    g = sdp.amplify(SPEC, **SHIPPED)
    assert g.epsilon == pytest.approx(0.9982, abs=5e-4) and g.lower <= g.epsilon <= g.lower * 1.0005
    one = sdp.amplify("poisson-histogram:65536,0.00124512", **SHIPPED)
    assert one.epsilon == pytest.approx(0.2241, abs=5e-5)
    found = sdp.calibrate("poisson-histogram:d=65536,indices=18", epsilon=1.0, **SHIPPED)
    assert found.poisson_per_index == pytest.approx(0.001241, abs=2e-6)
    assert 0.9999 <= sdp.amplify(found, **SHIPPED).epsilon <= 1.0
    again = sdp.calibrate(sdp.mechanism(SPEC), epsilon=1.0, **SHIPPED)
    assert again == found


def test_one_index_is_pure_dump_with_poisson_numbers() -> None:
    """Two analyses of the same protocol that share no code."""
    for mean, n in ((0.5, 100), (0.01, 5000)):
        ours = sdp.amplify(sdp.PoissonHistogram(d=8, poisson_per_index=mean), n=n, delta=1e-6)
        theirs = sdp.amplify(sdp.PureDump(d=8, poisson=8 * mean), n=n, delta=1e-6)
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=3e-4)
        assert ours.lower == pytest.approx(theirs.lower, rel=3e-4)
        assert ours.epsilon <= sdp.amplify(ours.mechanism, n=n, delta=1e-6, bound="variation-ratio").epsilon * (
            1 + 3e-4
        )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_brute_force_over_all_sets(n: int) -> None:
    m = sdp.PoissonHistogram(d=3, poisson_per_index=0.4, indices=2)
    for eps in (0.0, 0.3, 1.2):
        true = truth(3, 2, 0.4 * n, math.exp(eps))
        assert float(sdp.profile(m, n=n, epsilon=eps, side="lower")) <= true * (1 + 1e-9)
        assert true <= float(sdp.profile(m, n=n, epsilon=eps)) * (1 + 1e-9) <= true * 1.003


@pytest.mark.slow
def test_every_question_can_be_asked(tmp_path: Path) -> None:
    n = sdp.users_needed(SPEC, epsilon=1.0, delta=1e-10)
    assert sdp.amplify(SPEC, n=n, delta=1e-10).epsilon <= 1.0 < sdp.amplify(SPEC, n=n - 1, delta=1e-10).epsilon
    assert sdp.delta_needed(SPEC, n=10**6, epsilon=1.0) == pytest.approx(9.36e-11, rel=0.01)
    shown = sdp.compare(SPEC, **SHIPPED)
    assert "blanket" in str(shown) and "poisson-histogram" in str(shown)
    table = sdp.batch_table(SPEC, n=[10**5, 10**6], delta=1e-10)
    assert "0.99817" in str(table)
    path = tmp_path / "ledger.json"
    acc = sdp.Accountant().compose(SPEC, n=10**6, count=3)
    acc.save(path)
    assert sdp.Accountant.load(path).epsilon(delta=1e-10) == acc.epsilon(delta=1e-10)
    found = sdp.check(
        {
            "version": 1,
            "target": {"epsilon": 1, "delta": "1e-10"},
            "rounds": [{"mechanism": SPEC, "users": 1_000_000}],
        }
    )
    assert found.within and found.epsilon == pytest.approx(0.9982, abs=5e-4)


@pytest.mark.heavy
def test_composition_of_rounds_is_that_of_the_counts() -> None:
    """c rounds of k indices are as one round of c k indices (the counts are independent), to the grid's accuracy."""
    one = sdp.Accountant().compose(SPEC, n=10**6).epsilon(delta=1e-10)
    assert one == pytest.approx(sdp.amplify(SPEC, **SHIPPED).epsilon, rel=1e-3)
    four = sdp.Accountant().compose(SPEC, n=10**6, count=4).epsilon(delta=1e-10)
    wide = sdp.PoissonHistogram(d=65536, poisson_per_index=0.00124512, indices=72)
    exact = sdp.amplify(wide, **SHIPPED)
    assert exact.lower <= four <= exact.epsilon * 1.001


def test_missing_users_take_their_fabricated_messages_with_them() -> None:
    left = sdp.amplify(SPEC, dropouts=0.1, colluding=1000, **SHIPPED)
    assert left.epsilon == sdp.amplify(SPEC, n=899_000, delta=1e-10).epsilon


def test_an_index_that_may_be_alone_has_no_finite_eps() -> None:
    g = sdp.amplify("poisson-histogram:d=10,poisson_per_index=0.001", n=10_000, delta=1e-6)  # e^-10 > 1e-6
    assert math.isinf(g.epsilon) and "no finite eps" in str(g)
    assert math.isinf(sdp.amplify("poisson-histogram:d=10,poisson_per_index=0", n=10, delta=0.1).epsilon)


def test_rows_of_indices_and_the_fabricated_ones() -> None:
    m = sdp.PoissonHistogram(d=50, poisson_per_index=0.2, indices=3)
    assert m.messages_per_user == 13.0
    rows = np.tile([[7, -1, 3]], (4000, 1))
    reports = m.privatize(rows, rng=np.random.default_rng(1))
    assert reports.data.dtype == np.uint8 and reports.users == 4000
    seen = np.bincount(reports.data, minlength=50) - 4000 * np.isin(np.arange(50), [3, 7])
    assert np.all(seen >= 0)
    assert stats.kstest(stats.poisson.cdf(seen, 800) + 1e-12, "uniform").pvalue > 1e-4
    assert stats.norm.sf(abs(seen.sum() - 40_000) / 200.0) > 1e-5
    est = m.estimate(reports)
    assert est.stderr == pytest.approx(np.full(50, math.sqrt(0.2 / 4000)))
    assert m.variance(4000) == pytest.approx(0.2 / 4000)
    raw = m.estimate(reports.data, users=4000)
    assert raw.value == pytest.approx(est.value)
    assert not np.array_equal(reports.data[:8], [7, 3] * 4)  # shuffled
    assert m.privatize(np.full((5, 1), -1), rng=np.random.default_rng(0)).users == 5  # nobody holds anything


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1, 1]], "got 1 twice"),
        ([[1, 2, 3]], "m <= 2"),
        ([[1, 9]], r"\[0, 9\)"),
        ([[1, -2]], "got -2"),
        ([[0.5, 1.0]], "whole numbers"),
        (np.array([[2**64 - 1]], dtype=np.uint64), r"\[0, 9\)"),
    ],
)
def test_rows_that_are_no_sets_are_refused(values: Any, words: str) -> None:
    m = sdp.PoissonHistogram(d=9, poisson_per_index=0.2, indices=2)
    with pytest.raises(sdp.ParameterError, match=words):
        m.privatize(values, rng=np.random.default_rng(0))


def test_refusals() -> None:
    with pytest.raises(sdp.ParameterError, match="indices must lie in"):
        sdp.PoissonHistogram(d=5, poisson_per_index=0.1, indices=6)
    with pytest.raises(sdp.ParameterError, match="poisson_per_index must lie in"):
        sdp.PoissonHistogram(d=5, poisson_per_index=-0.1)
    m = sdp.PoissonHistogram(d=5, poisson_per_index=0.1, indices=2)
    with pytest.raises(sdp.BoundNotApplicableError, match="got indices = 2"):
        m.variation_ratio()
    with pytest.raises(sdp.ParameterError, match="users must be given"):
        m.tally(np.array([1, 2], dtype=np.uint8))
    with pytest.raises(sdp.CertificationError):
        sdp.amplify(m, n=1000, delta=1e-6, certify=True)
