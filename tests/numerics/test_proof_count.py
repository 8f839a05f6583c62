"""Proofs for a Poisson count: an independent oracle lies in the proved interval, whatever the precision."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp

from shuffledp.errors import CertificationError
from shuffledp.numerics.poisson.one_count import RaisedCount
from shuffledp.numerics.proof.one_count import choose, prove
from shuffledp.numerics.proof.pairs import Method


def truth(mu: mp.mpf, units: int, eps: float) -> mp.mpf:
    """sum_k (a_k - E b_k)_+ by the definition, the largest over all shifts up to ``units`` and both directions."""
    ratio, stop = mp.exp(mp.mpf(eps)), int(mu + 40 * mp.sqrt(mu)) + 300 + units
    mass = [mp.exp(-mu)]
    for k in range(1, stop):
        mass.append(mass[-1] * mu / k)
    found = mp.mpf(0)
    for s in {1, (units + 1) // 2, units}:
        moved = [mp.mpf(0)] * s + mass[: stop - s]
        for a, b in ((mass, moved), (moved, mass)):
            found = max(found, mp.fsum(x - ratio * y for x, y in zip(a, b, strict=True) if x > ratio * y))
    return found


@pytest.mark.parametrize("eps", [0.0, 0.05, 0.7, 3.0])
@pytest.mark.parametrize(
    ("mean", "n", "units"), [(0.5, 1, 1), (0.2, 10, 3), (2.0, 1, 2), (0.01, 5000, 7), (3.0, 300, 40)]
)
def test_the_truth_lies_in_the_proved_interval(mean: float, n: int, units: int, eps: float) -> None:
    proof = prove(RaisedCount(mean, units), n, Fraction(eps), choose(n))
    with mp.workdps(60):
        true = truth(n * mp.mpf(mean), units, eps)
        low, high = (mp.mpf(x.numerator) / x.denominator for x in (proof.lower, proof.upper))
        assert low <= true * (1 + mp.mpf(10) ** -40) and true <= high
        assert high <= true * (1 + 1e-12) and low >= true * (1 - 1e-14)


@pytest.mark.parametrize("bits", [64, 72, 100, 512])
def test_any_precision_is_an_upper_bound(bits: int) -> None:
    law = RaisedCount(0.65, 8)
    fine = prove(law, 10_000, Fraction(1, 2), choose(10_000))
    proof = prove(law, 10_000, Fraction(1, 2), Method("count", bits))
    assert proof.lower <= fine.upper and fine.lower <= proof.upper


@pytest.mark.heavy
def test_large_means_are_capped_and_a_mean_of_zero_reveals_everything() -> None:
    """delta falls with the mean, so that the capped one is proved."""
    at = {mu: prove(RaisedCount(mu, 16), 1, Fraction(1, 250), choose(1)) for mu in (2.0**27, 2.0**28, 1e9)}
    assert at[2.0**27].lower > at[2.0**28].upper and at[2.0**28] == at[1e9]
    assert prove(RaisedCount(0.0, 3), 10, Fraction(5), choose(10)) == prove(
        RaisedCount(0.0, 3), 9, Fraction(1), choose(9)
    )
    assert prove(RaisedCount(0.0, 3), 10, Fraction(5), choose(10)).lower == 1


def test_a_tie_of_two_events_is_decided_either_way() -> None:
    """R(k) = E exactly: at eps = 0 and r = 1, k = mu."""
    proof = prove(RaisedCount(1.0, 1), 50, Fraction(0), choose(50))
    mode = math.exp(50 * math.log(50) - 50 - math.lgamma(51))
    assert float(proof.upper) == pytest.approx(mode, rel=1e-12)


def test_an_eps_beyond_all_need_ends_in_a_proof_or_in_a_sentence() -> None:
    """The best event is then {k >= 50 e^1000}: two neighbors are the same number to 142 bits."""
    assert prove(RaisedCount(0.5, 60), 100, Fraction(1000), choose(100)).lower > Fraction(9, 10)
    with pytest.raises(CertificationError, match=r"too wide to find the best event; raise n or delta\.$"):
        prove(RaisedCount(0.5, 1), 100, Fraction(1000), choose(100))


def test_other_methods_prove_nothing_about_a_count() -> None:
    for kind in ("counts", "contour", "swap", "local"):
        with pytest.raises(CertificationError, match=f"proved by 'count', got '{kind}'"):
            prove(RaisedCount(1.0, 2), 10, Fraction(1), Method(kind, 128, cap=10))
