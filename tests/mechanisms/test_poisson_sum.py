"""The Poisson sum: the table of the design, exact divergences, users who are missing, its error and its proof."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.designs import simulated
from reference.places import DATA
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


PROOF = sdp.amplify("poisson-sum:units=8,poisson=2", n=300, delta=1e-4, certify=True)


def test_a_certificate_proves_the_exact_eps(tmp_path: Path) -> None:
    exact = sdp.amplify(PROOF.mechanism, n=300, delta=1e-4)
    assert exact.epsilon <= PROOF.epsilon <= exact.epsilon * (1 + 1e-4)
    assert truth(600.0, 8, math.exp(PROOF.epsilon)) <= 1e-4 * (1 + 1e-9)
    PROOF.certificate.write(tmp_path / "proof.json")
    again = sdp.verify(tmp_path / "proof.json")
    assert again.proved_delta <= 1e-4 and again.format == "shuffledp-certificate/4"
    data = json.loads((tmp_path / "proof.json").read_text())
    text = json.dumps([[p["mean"], p["most"]] for p in data["pairs"]], separators=(",", ":"))
    assert data["law_sha256"] == hashlib.sha256(text.encode()).hexdigest()  # as anyone can make it from the file


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": "1.1"}, "the certificate does not hold"),
        ({"epsilon": "1.1015"}, "the certificate does not hold"),
        ({"delta": "0.00009"}, "the certificate does not hold"),
        ({"n": 299}, "the certificate does not hold"),
        ({"mechanism": "poisson-sum:units=9,poisson=2"}, "proves another law"),
        ({"mechanism": "poisson-sum:units=8,poisson=1.9"}, "proves another law"),
        ({"bound": "swap"}, "cannot be made|not those of"),
        ({"law_sha256": "0" * 64}, "law_sha256 must be"),
        ({"format": "shuffledp-certificate/3"}, "unknown key in pair 'mean'"),
        ({"format": "shuffledp-certificate/5"}, "'shuffledp-certificate/5' in .*; verify it with a later version"),
        ({"mean": "3"}, "proves another law"),
        ({"mean": "0.1"}, "not an exact double"),
        ({"mean": 2}, "is not in"),
        ({"mean": "-2"}, "is not in"),
        ({"most": 7}, "proves another law"),
        ({"most": 0}, "most must be a whole number from 1"),
        ({"most": True}, "most must be a whole number"),
        ({"most": 10**9}, "most must be a whole number"),
        ({"method": {"kind": "local", "bits": 128}}, "is proved by 'count'"),
        ({"method": {"kind": "count", "bits": 8}}, "bits"),
        ({"proved": ["0.00009", "0.00009"]}, "more than its method proves"),
    ],
    ids=repr,
)
def test_an_altered_certificate_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    data = PROOF.certificate.to_dict()
    for key, value in change.items():
        (data["pairs"][0] if key in data["pairs"][0] else data)[key] = value
    (tmp_path / "forged.json").write_text(json.dumps(data))
    with pytest.raises((sdp.VerificationError, sdp.ParameterError, sdp.CertificationError), match=words) as error:
        sdp.verify(tmp_path / "forged.json")
    assert str(error.value).endswith(".")


def test_other_certificates_keep_the_format_that_earlier_versions_read() -> None:
    assert sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-4, certify=True).certificate.format.endswith("/3")


def test_a_file_of_the_fourth_format_still_verifies() -> None:
    """It was written by the first version that has counts."""
    found = sdp.verify(DATA / "certificate-4-poisson.json")
    assert found == PROOF.certificate and len(found.notes) == 1


def test_no_certificate_of_a_count_that_reveals_the_value() -> None:
    with pytest.raises(sdp.CertificationError, match="no finite eps"):
        sdp.amplify("poisson-sum:units=8,poisson=0", n=300, delta=1e-4, certify=True)
