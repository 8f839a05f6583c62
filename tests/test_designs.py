"""The statements of docs/designs.md on random rays and mechanisms, and the numbers in its sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from house.design_numbers import budget
from reference.designs import simulated, worst_number
from reference.repetition import slow
from shuffledp.numerics.pair import FloatArray

ITEMS = (3, 4, 5, 9)


def averages(u: FloatArray) -> tuple[float, float, float, float]:
    """L, S, A, B of a ray."""
    d, p2, S = len(u), float(u @ u), float((1.0 / u).sum())
    A = (p2 * S - d * d) / (d * (d - 1))
    B = 2.0 * ((d - 1) * p2 * S - d * d * S + d * d) / (d * (d - 1) * (d - 2))
    return (p2 - d) / (d - 1), S, A, B


def rays(d: int, count: int) -> list[FloatArray]:
    rng = np.random.default_rng(d)
    drawn = [d * rng.dirichlet(np.full(d, rng.choice([0.3, 1.0, 3.0, 30.0]))) for _ in range(count)]
    return [u for u in drawn if u.min() > 1e-6]


def two_valued(d: int, one: float) -> FloatArray:
    """The first entry is given, all others are equal."""
    return np.array([one, *[(d - one) / (d - 1)] * (d - 1)])


def grr(V: float, d: int) -> float:
    """t of GRR with V* = V = 2d(1-t)^2/t, d >= 3."""
    return 1.0 + V / (4 * d) - math.sqrt((1.0 + V / (4 * d)) ** 2 - 1.0)


def least_error(V: float, d: int) -> float:
    """n x total MSE of Theorem F: (b) above the threshold, the better of (c) and (d) below."""
    t = grr(V, d)
    lam = d * (1.0 - t) ** 2
    if 8.0 / (d - 2) > V:
        w = np.linspace(0.0, 1.0, 100_001)[1:-1] ** 2
        phi = 2.0 * w / (1.0 + (d - 1) * np.sqrt(w)) + 2.0 * (d - 1) * w / (1.0 - np.sqrt(w))
        lam = min(d * float(w[np.searchsorted(phi, V)]), ((d - 2) ** 2 * V / 2.0 + 4.0) / (d * (d - 1)))
    return (d - 1) * (1.0 / lam - 1.0 / d)


def worst(P: FloatArray) -> float:
    """V*."""
    return max(float(((a - b) ** 2 / r).sum()) for a in P for b in P for r in P)


@pytest.mark.parametrize("d", ITEMS)
def test_averages_are_what_they_are_called(d: int) -> None:
    u, every = rays(d, 1)[0], range(d)
    pairs = [(x, y) for x in every for y in every if x != y]
    triples = [(x, y, r) for x, y in pairs for r in every if r not in (x, y)]
    L, S, A, B = averages(u)
    assert pytest.approx(np.mean([(u[x] - u[y]) ** 2 / 2 for x, y in pairs])) == L
    assert pytest.approx(np.mean([(u[x] - u[y]) ** 2 / u[y] for x, y in pairs])) == A
    assert pytest.approx(np.mean([(u[x] - u[y]) ** 2 / u[r] for x, y, r in triples])) == B
    assert pytest.approx((2 * A + (d - 2) * B) / d) == 2 * L * S / d


@pytest.mark.parametrize("d", ITEMS)
def test_the_lemma(d: int) -> None:
    for u in rays(d, 500):
        L, S, *_ = averages(u)
        step = math.sqrt(L * (d - 1) ** 2 / d)  # an entry that is 1 + step or 1 - step, and L of the others
        same, least, *_ = averages(two_valued(d, 1.0 + step))
        assert same == pytest.approx(L) and least <= S * (1.0 + 1e-12)
        if u @ u < d * d / (d - 1):
            assert averages(two_valued(d, 1.0 - step))[1] >= S * (1.0 - 1e-12)


@pytest.mark.parametrize("d", ITEMS)
def test_the_tangent_is_above_every_ray_up_to_the_threshold(d: int) -> None:
    """Inequality (2), and f = 0 at the threshold: there the tangent touches the ray with a zero."""
    for t in np.linspace(0.01, (d - 2) / d, 12):
        b, c = t * t / (1 + t), d * (1 - t) ** 3 / (1 + t)
        for u in rays(d, 200):
            L, _, _, B = averages(u)
            assert b * B + c + 1e-12 >= L
    L, _, _, B = averages(two_valued(d, 1e-9))
    assert pytest.approx(b * B + c, rel=1e-6) == L


@pytest.mark.parametrize("d", ITEMS)
def test_no_random_mechanism_is_below_the_floor(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(60):
        outputs = int(rng.integers(d, 3 * d))
        P = rng.dirichlet(np.full(outputs, rng.choice([1.0, 5.0])), size=d)
        m = P.mean(axis=0)
        error = float(np.trace(np.linalg.inv((P / m) @ P.T))) - 1.0
        assert error >= least_error(worst(P), d)
    for q in (1.2, 1.5, 3.0, 30.0):
        P = (np.ones((d, d)) + (q - 1) * np.eye(d)) / (q + d - 1)
        error, V = float(np.trace(np.linalg.inv(d * P @ P.T))) - 1.0, worst(P)
        assert pytest.approx(2 * (q - 1) ** 2 / (q + d - 1)) == V
        assert error >= least_error(V, d) * (1 - 1e-4)
        if 8 / (d - 2) <= V:
            assert pytest.approx(least_error(V, d)) == error


@pytest.mark.parametrize("d", ITEMS)
def test_a_mixture_wins_just_below_the_threshold(d: int) -> None:
    V, gained = 0.9 * 8.0 / (d - 2), 0.0
    for low in (0.02, 0.05, 0.1, 0.2):
        L, _, A, B = averages(two_valued(d, low))
        for share in (0.005, 0.01, 0.02, 0.05):
            t = grr((V - share * B) / (1 - share), d)  # the rest of V
            L1, _, A1, _ = averages(two_valued(d, d - (d - 1) * t))
            if share * A + (1 - share) * A1 <= V:
                gained = max(gained, share * L + (1 - share) * L1 - d * (1 - grr(V, d)) ** 2)
    assert gained > 0.0


def test_theorem_m_and_the_constant_crowd() -> None:
    """Of random laws of -1, x and 1: the best weights that are unbiased at the ends, at x in between."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        P = rng.dirichlet(np.ones(6), size=3)
        x, R = float(rng.uniform(-1, 1)), P[1]
        ends = np.stack([P[0], P[2]])
        goal = np.array([-1.0 - x, 1.0 - x])  # a - x has these means at the ends; its mean square under R is least
        least = float(goal @ np.linalg.solve((ends / R) @ ends.T, goal))
        assert least >= 4.0 / worst(P) * (1 - 1e-9)
        w = rng.dirichlet(np.ones(3))
        spread = sum(share * (np.diag(row) - np.outer(row, row)) for share, row in zip(w, P, strict=True))
        assert (P[2] - P[0]) @ np.linalg.pinv(spread) @ (P[2] - P[0]) <= worst(P) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "percent"), [(0.1, 0.1), (0.5, 5), (1.0, 19)])
def test_how_far_leading_order_is_off(epsilon: float, percent: float) -> None:
    q = math.exp(sdp.calibrate("grr", n=10_000, epsilon=epsilon, delta=1e-8, d=4).eps0)  # type: ignore[attr-defined]
    assert 100 * (budget(10_000, epsilon) / (2 * (q - 1) ** 2 / (q + 3)) - 1) == pytest.approx(percent, rel=0.1)


@pytest.mark.parametrize(("V", "d", "error"), [(1000.0, 7, 0.0230), (1e8, 280, 1.94 * 1e8 ** (-2 / 3))])
def test_windows_at_large_budgets(V: float, d: int, error: float) -> None:
    """n x MSE of the best window is 5.75/V at V = 1000, and 1.94 V^(-2/3) for large V."""
    q = 1 + (V + math.sqrt(V * V + 8 * V * d)) / 4  # V = 2(q-1)^2/(q+d-1)
    m = sdp.Window(eps0=math.log(q), d=d, cells=64)
    assert m.variance(1) == pytest.approx(error, rel=0.02)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("spec", "worst"),
    [
        ("window:eps0=5.12111,d=5", None),
        slow("window:eps0=9.68832,d=20", None),
        slow("binomial:flips=4,stretch=1.169,shape=0.3294,noise=0.283,inputs=17", None),
        slow("binomial:flips=16,stretch=1.07436,shape=0.4836,noise=0.0669184", None),
        slow("levels:eps0=5,d=7", None),
        slow("piecewise:eps0=5", None),
        slow("poisson-sum:units=16,poisson=0.7", -1.0 + 1.0 / 16),
    ],
)
def test_two_thousand_repetitions_of_ten_thousand_users(spec: str, worst: float | None) -> None:
    """The mean square error is within 5 % of the predicted one, and 93 to 97 % of the intervals hold the mean.

    Of 2,000 squares of normal errors the mean has a standard error of sqrt(2/2000) = 3.2 %, and the coverage one of
    0.5 %; the seed is fixed.
    """
    m: Any = sdp.mechanism(spec)
    error, covered = simulated(m, worst_number(m) if worst is None else worst, 10_000, 2000)
    assert error == pytest.approx(m.variance(10_000), rel=0.05)
    assert 0.93 <= covered <= 0.97
