"""Binary randomized response over all datasets, against exact integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.fractions_oracle import exp_enclosure, shuffled_divergence, worst_divergence
from shuffledp.mechanisms.categorical.grr import GRR
from shuffledp.numerics import binary
from shuffledp.numerics.binary import BinaryResponse, budgets, lines
from shuffledp.numerics.pair import Side

EPS0 = math.log(3.0)


def divergence(eps0: float, k: int, m: int, eps: float, side: Side = "upper") -> float:
    return float(lines(eps0, k, m, side).delta(np.array([eps]))[0])


def truth(k: int, m: int, eps: float) -> float:
    """D_E for e^eps0 = 3: the mass of S is a coefficient of (1 + 3x)^k (3 + x)^m over 4^(k+m), all integers."""
    ones = [math.comb(k, i) * 3**i for i in range(k + 1)]
    zeros = [math.comb(m, i) * 3 ** (m - i) for i in range(m + 1)]
    low, high = (ones, zeros) if k < m else (zeros, ones)
    g = [0] * (k + m + 1)
    for i, weight in enumerate(low):
        for j, other in enumerate(high):
            g[i + j] += weight * other
    E = Fraction(math.exp(eps))
    total = Fraction(0)
    for s in range(k + m + 2):
        here, before = g[s] if s <= k + m else 0, g[s - 1] if s else 0
        total += max(Fraction(0), 3 * here + before - E * (here + 3 * before))
    return float(total / 4 ** (k + m + 1))


@pytest.mark.parametrize(("k", "m"), [(0, 0), (1, 0), (0, 5), (3, 4), (60, 0), (20, 100), (5, 900)])
def test_one_dataset_equals_integers(k: int, m: int) -> None:
    for eps in (0.0, 0.01, 0.1, 0.3, 1.0):
        exact = truth(k, m, eps)
        low, high = (divergence(EPS0, k, m, eps, side) for side in ("lower", "upper"))
        assert low <= exact * (1 + 1e-14) + 1e-300 and exact <= high * (1 + 1e-14)
        if exact > 1e-30:
            assert [low, high] == pytest.approx([exact, exact], rel=1e-9)


@pytest.mark.parametrize("eps0", [20.0, 30.0, 35.0])
def test_one_dataset_where_hardly_anybody_lies(eps0: float) -> None:
    """The chance that fewer than all say 1 is far below the rounding of 1, and must not be lost in it."""
    low, high = exp_enclosure(eps0)
    R = [[high / (1 + high), 1 / (1 + high)], [1 / (1 + low), low / (1 + low)]]
    for eps in (0.5 * eps0, 0.9 * eps0, 0.97 * eps0):
        exact = shuffled_divergence(R, 0, 1, [1], exp_enclosure(eps)[0])
        assert divergence(eps0, 1, 0, eps, "lower") <= exact <= divergence(eps0, 1, 0, eps)
        assert divergence(eps0, 1, 0, eps) == pytest.approx(float(exact), rel=1e-9)


def test_both_directions_are_the_same_with_zeros_and_ones_exchanged() -> None:
    R = GRR(eps0=0.7, d=2).probabilities().tolist()
    E = Fraction(math.exp(0.2))
    for k, m in ((0, 3), (2, 1)):
        others = [1] * k + [0] * m
        assert divergence(0.7, k, m, 0.2) == pytest.approx(float(shuffled_divergence(R, 0, 1, others, E)), rel=1e-12)
        assert divergence(0.7, m, k, 0.2) == pytest.approx(float(shuffled_divergence(R, 1, 0, others, E)), rel=1e-12)


@pytest.mark.parametrize("eps0", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_small_n_is_the_truth(eps0: float, n: int) -> None:
    R = [[Fraction(x) for x in row] for row in GRR(eps0=eps0, d=2).probabilities().tolist()]
    family = BinaryResponse(eps0, eps0)
    eps = np.array([0.0, 0.1 * eps0, 0.5 * eps0, 0.9 * eps0])
    exact = [float(worst_divergence(R, n, Fraction(math.exp(x)))) for x in eps]
    for side in ("upper", "lower"):
        assert np.exp(family.log_delta(eps, n=n, tol=1e-4, side=side)) == pytest.approx(exact, rel=1e-9)  # type: ignore[arg-type]


def every_k(eps0: float, n: int, eps: float) -> float:
    """max over k in plain floats: convolutions of binomials, sum of positive parts."""
    a = 1 / (1 + math.exp(-eps0))
    laws = [np.array([1.0])]
    for _ in range(n - 1):
        laws.append(np.convolve(laws[-1], [a, 1 - a]))
    best = 0.0
    for k in range(n):
        g = np.convolve(laws[k][::-1], laws[n - 1 - k])
        P, Q = np.convolve(g, [a, 1 - a]), np.convolve(g, [1 - a, a])
        best = max(best, float(np.maximum(P - math.exp(eps) * Q, 0).sum()))
    return best


@pytest.mark.parametrize("eps0", [0.05, 1.0])
def test_both_sides_meet_where_every_k_is_tried(eps0: float) -> None:
    eps = np.array([0.0, 0.1, 0.4]) * eps0
    low, high = (BinaryResponse(eps0, eps0).log_delta(eps, n=60, tol=1e-4, side=s) for s in ("lower", "upper"))  # type: ignore[arg-type]
    assert low == pytest.approx(high, abs=1e-9)
    assert np.exp(high) == pytest.approx([every_k(eps0, 60, float(x)) for x in eps], rel=1e-9)


@pytest.mark.parametrize(("eps0", "n"), [(0.2, 40), (1.0, 300), (3.0, 300)])
def test_blocks_cover_every_k(eps0: float, n: int) -> None:
    family = BinaryResponse(eps0, eps0)
    eps = np.array([0.0, 0.05, 0.1]) * eps0
    exact = np.array([every_k(eps0, n, float(x)) for x in eps])
    upper = np.exp(family.log_delta(eps, n=n, tol=1e-4, side="upper"))
    assert np.all(upper >= exact * (1 - 1e-11)) and np.all(upper <= exact * (1 + 5e-4))
    for delta in (float(exact[1]), float(exact[2])):
        low, high = (family.epsilon(n=n, delta=delta, tol=1e-4, side=s).epsilon for s in ("lower", "upper"))  # type: ignore[arg-type]
        assert low <= high <= low * (1 + 2e-4)
        assert every_k(eps0, n, high) <= delta * (1 + 1e-11)


def test_more_others_never_hurt() -> None:
    """The inequality that blocks of k rest on."""
    for eps in (0.0, 0.1, 0.4):
        table = np.array([[divergence(1.0, k, m, eps) for m in range(12)] for k in range(12)])
        assert np.all(np.diff(table, axis=0) <= 1e-13) and np.all(np.diff(table, axis=1) <= 1e-13)


@pytest.mark.slow_cases("5000")
@pytest.mark.parametrize("n", [2, 50, 300, 5000, 100_000])
def test_between_the_constant_datasets_and_the_blanket(n: int) -> None:
    for eps0, delta in ((0.3, 1e-4), (1.0, 1e-6), (5.0, 1e-6)):
        family, rounds = BinaryResponse(eps0, eps0), GRR(eps0=eps0, d=2)
        blanket, swap = (
            other.epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon
            for other in (rounds.law.blanket(), rounds.law.swap())
        )
        constant = rounds.law.constant_datasets().epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
        low, high = (family.epsilon(n=n, delta=delta, tol=1e-4, side=s).epsilon for s in ("lower", "upper"))  # type: ignore[arg-type]
        assert constant <= low * (1 + 1e-12) and low <= high
        assert (high <= blanket * (1 + 1e-12)) == family.covers(n)
        assert min(high, swap) <= low * 1.025 + 1e-6


@pytest.mark.parametrize(("eps0", "n"), [(1.0, 300), (2.0, 300), (1.0, 1000), (2.0, 1000)])
def test_saves_what_the_reduction_loses(eps0: float, n: int) -> None:
    """11 to 25 % of eps."""
    blanket = GRR(eps0=eps0, d=2).law.blanket().epsilon(n=n, delta=1e-6, tol=1e-4, side="upper").epsilon
    saved = 1 - BinaryResponse(eps0, eps0).epsilon(n=n, delta=1e-6, tol=1e-4, side="upper").epsilon / blanket
    assert 0.11 <= saved <= 0.25


def test_nothing_is_claimed_for_too_many_users(monkeypatch: pytest.MonkeyPatch) -> None:
    family, eps = BinaryResponse(1.0, 1.0), np.array([0.01, 0.1])
    assert family.covers(20_000) and not family.covers(40_000)  # there the swap bound is closer than a search
    assert family.epsilon(n=40_000, delta=1e-6, tol=1e-4, side="lower").epsilon > 0
    monkeypatch.setattr(binary, "MOST_USERS", 1000)
    ends = [family.epsilon(n=1001, delta=1e-6, tol=1e-4, side=s).epsilon for s in ("lower", "upper")]  # type: ignore[arg-type]
    assert ends == [0.0, math.inf]
    assert family.log_delta(eps, n=1001, tol=1e-4, side="upper").tolist() == [0.0, 0.0]
    assert np.all(family.log_delta(eps, n=1001, tol=1e-4, side="lower") == -np.inf)


@pytest.mark.parametrize("eps0", [1e-9, 0.3, 4.0, 300.0])
def test_budgets(eps0: float) -> None:
    """Entries that are right to a relative 2^-50 move the log of their ratio by less than what is charged."""
    low, high = budgets(eps0)
    assert low + 2.0**-48 <= eps0 <= high - 2.0**-48 or low == 0.0
    rise = [float(lines(x, 3, 4, "upper").delta(np.array([0.1 * eps0]))[0]) for x in (low, high)]
    assert rise[0] <= rise[1]


@pytest.mark.slow_cases("1000-0.01", "1000-1e-06", "1000-500.0")
@pytest.mark.parametrize("eps0", [1e-6, 0.01, 40.0, 500.0])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_extremes(eps0: float, n: int) -> None:
    family = BinaryResponse(eps0, eps0)
    for delta in (0.5, 1e-9, 1e-300):
        low, high = (family.epsilon(n=n, delta=delta, tol=1e-4, side=s).epsilon for s in ("lower", "upper"))  # type: ignore[arg-type]
        assert 0 <= low <= high <= eps0 * (1 + 1e-12)
    eps = np.array([0.0, 0.5 * eps0, eps0, 2 * eps0])
    low_curve, high_curve = (family.log_delta(eps, n=n, tol=1e-4, side=s) for s in ("lower", "upper"))  # type: ignore[arg-type]
    assert np.all(low_curve <= high_curve + 1e-12)
    assert low_curve[2] == low_curve[3] == -np.inf


@pytest.mark.heavy
def test_far_out_in_the_tail_the_bound_still_holds() -> None:
    for eps in (0.6, 0.9, 1.09):
        exact = truth(0, 1500, eps)
        low, high = (divergence(EPS0, 0, 1500, eps, side) for side in ("lower", "upper"))
        assert low <= exact * (1 + 1e-12) and exact <= high


def test_members_are_not_rounds() -> None:
    assert BinaryResponse(1.0, 1.0).pairs(10**9) is None


@pytest.mark.slow_cases("300-0.3")
@pytest.mark.parametrize("eps0", [0.3, 1.0, 4.0, 9.0])
@pytest.mark.parametrize("n", [1, 2, 5, 40, 300])
def test_many_eps_are_those_one_by_one(eps0: float, n: int) -> None:
    family, eps = BinaryResponse(eps0, eps0), np.linspace(0.0, 1.05 * eps0, 11)
    for side in ("upper", "lower"):
        together = family.log_delta(eps, n=n, tol=1e-4, side=side)
        alone = np.array([family.log_delta(np.array([x]), n=n, tol=1e-4, side=side)[0] for x in eps])
        live = alone > math.log(1e-24)
        assert np.all(np.isneginf(together) == np.isneginf(alone))
        better = (alone[live] - together[live]) * (1 if side == "upper" else -1)  # one by one, a search may end early
        assert np.all(better >= -1e-4) if n > 256 else np.all(np.abs(better) <= 1e-9)
