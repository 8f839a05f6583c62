"""Multinomial probabilities and tails against mpmath, from n = 1 to 1e12."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.repetition import examples
from shuffledp.numerics import binomial
from shuffledp.numerics.binomial import deviance, log_multinomial, log_tail_bound, stirling_correction

mp.mp.dps = 60
SIZES = [1, 2, 3, 7, 15, 16, 17, 100, 10**4, 10**8, 10**12]


def true_correction(k: int) -> mp.mpf:
    return mp.loggamma(k + 1) - (k + mp.mpf(1) / 2) * mp.log(k) + k - mp.log(2 * mp.pi) / 2


@pytest.mark.parametrize("k", SIZES)
def test_stirling_correction(k: int) -> None:
    assert abs(float(stirling_correction(np.array(float(k)))) - true_correction(k)) < 2e-15


def test_stirling_correction_of_zero_is_zero() -> None:
    assert float(stirling_correction(np.array(0.0))) == 0.0


@examples(200)
@given(k=st.integers(0, 10**9), offset=st.floats(-0.999, 20.0))
def test_deviance(k: int, offset: float) -> None:
    mean = (k + 0.5) * (1.0 + offset)
    exact = (k * mp.log(mp.mpf(k) / mp.mpf(mean)) if k else 0) + mp.mpf(mean) - k
    found = float(deviance(np.array([float(k)]), mean)[0])
    assert found >= 0.0
    # relative accuracy near the mean, and rounding of the plain form far from it
    assert abs(found - exact) <= 1e-13 * exact + 1e-300


@examples(200)
@given(k=st.integers(1, 10**12), shift=st.floats(-1e-3, 1e-3))
def test_deviance_near_the_mean_has_no_cancellation(k: int, shift: float) -> None:
    mean = k * (1.0 + shift)
    exact = k * mp.log(mp.mpf(k) / mp.mpf(mean)) + mp.mpf(mean) - k
    assert abs(float(deviance(np.array([float(k)]), mean)[0]) - exact) <= 2e-14 * exact + 1e-300


def true_log_multinomial(counts: list[int], n: int, t: list[float]) -> mp.mpf:
    rest = n - sum(counts)
    nothing = 1 - sum(mp.mpf(x) for x in t)
    out = mp.loggamma(n + 1)
    for k, chance in [*zip(counts, [mp.mpf(x) for x in t], strict=True), (rest, nothing)]:
        if k:
            out += k * mp.log(chance) - mp.loggamma(k + 1)
    return out


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("t", [[0.25, 0.125], [0.5, 0.25], [2.0**-20, 2.0**-30], [0.25]])
@pytest.mark.parametrize("sway", [-6.0, -1.0, 0.0, 0.3, 5.0, 12.0])
def test_log_multinomial_around_the_mean(n: int, t: list[float], sway: float) -> None:
    counts = []
    for chance in t:
        k = round(n * chance + sway * math.sqrt(n * chance * (1 - chance)))
        counts.append(max(0, min(k, n - sum(counts))))
    found = float(log_multinomial(np.array([counts], dtype=float), n, np.array(t))[0])
    assert abs(found - true_log_multinomial(counts, n, t)) < 1e-12


def test_log_multinomial_without_room_for_nothing() -> None:
    found = log_multinomial(np.array([[2.0, 1.0], [1.0, 1.0]]), 3, np.array([0.5, 0.5]))
    assert float(found[0]) == pytest.approx(math.log(3 / 8), rel=1e-15) and found[1] == -math.inf


@pytest.mark.parametrize(("n", "t"), [(1, 0.5), (7, 0.25), (40, 0.0625), (200, 0.5), (200, 2.0**-12), (60, 1.0)])
def test_multinomial_sums_to_one(n: int, t: float) -> None:
    found = log_multinomial(np.arange(n + 1.0)[:, None], n, np.array([t]))
    assert float(np.exp(found).sum()) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(("n", "t"), [(1, 0.3), (10, 0.01), (50, 0.5), (120, 0.9), (300, 2.0**-10)])
def test_tail_bound_bounds(n: int, t: float) -> None:
    chance = mp.mpf(t)
    tail = mp.mpf(0)
    for k in range(n, -1, -1):
        tail += mp.binomial(n, k) * chance**k * (1 - chance) ** (n - k)
        bound = log_tail_bound(n, t, k)
        assert bound <= 0.0
        assert mp.log(tail) <= bound + 1e-12 * (1 + abs(bound))
        # and not absurdly loose: within the polynomial factor of a Chernoff bound
        if k > n * t:
            assert bound <= mp.log(tail) + mp.log(2 * n + 2)


@pytest.mark.parametrize(("n", "t", "k"), [(10**12, 1e-10, 300), (10**12, 0.25, 2.5e11 + 4e6), (10**8, 1e-3, 102_000)])
def test_tail_bound_at_large_n(n: int, t: float, k: float) -> None:
    x, chance = mp.mpf(k) / n, mp.mpf(t)
    exact = -n * (x * mp.log(x / chance) + (1 - x) * mp.log((1 - x) / (1 - chance)))
    assert abs(log_tail_bound(n, t, k) - exact) < 1e-5 * abs(exact)


def test_tail_bound_at_the_edges() -> None:
    assert log_tail_bound(10, 0.3, 11) == -math.inf
    assert log_tail_bound(10, 0.3, 3.0) == 0.0 and log_tail_bound(10, 0.3, 0) == 0.0
    assert log_tail_bound(10, 0.0, 1) == -math.inf
    assert log_tail_bound(10, 0.3, 10) == pytest.approx(10 * math.log(0.3), rel=1e-14)


def test_the_first_rare_count_is_found_in_a_few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    tail, asked = binomial.log_tail_bound, [0]

    def counted(n: int, t: float, k: float) -> float:
        asked[0] += 1
        return tail(n, t, k)

    monkeypatch.setattr(binomial, "log_tail_bound", counted)
    for n, t in ((10**6, 0.002), (10**4, 0.3), (10**9, 1e-8), (50, 0.99), (10**6, 0.999)):
        asked[0] = 0
        k = binomial.first_rare(n, t)
        assert asked[0] <= 8
        assert tail(n, t, k) <= binomial.LOG_LEFT_OUT < tail(n, t, k - 1)
