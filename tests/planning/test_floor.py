"""The least error of one message: Theorems F and M against laws, mixtures and rankings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import shuffledp as sdp
from shuffledp._support.arrays import FloatArray
from shuffledp.planning.candidates import Candidate, candidates
from shuffledp.planning.leading_order import leading_order, theorem_f, theorem_m
from shuffledp.planning.solving import Budget
from shuffledp.planning.tasks import task_named


def spread(law: FloatArray) -> float:
    """V of a matrix of probabilities: the largest sum of (P0 - P1)^2/R over all inputs."""
    return max(float(((law - one) ** 2 @ (1.0 / law).T).max()) for one in law)


def total(d: int, eps0: float) -> float:
    """n times the total squared error at the floor."""
    return d * theorem_f(d, eps0, n=1).error ** 2


def best_mixture(d: int, V: float) -> float:
    """n times the least total squared error of symmetric mixtures of many rays with this V, a linear program.

    A ray is the vector u of the laws of all inputs at a report over their mean, in any order; tried are those of all
    k-subsets at many budgets, and random ones.
    """
    rng, rays = np.random.default_rng(0), [np.ones(d)]
    for q in np.exp(np.linspace(0.01, 2.0 + math.log(V + d), 400)):
        rays += [np.where(np.arange(d) < k, q, 1.0) for k in range(1, min(d, 40))]
    rays += [rng.exponential(size=d) ** rng.uniform(0.1, 2.0) for _ in range(2000)]
    u = np.array([ray * d / ray.sum() for ray in rays])
    squares, inverses = (u**2).sum(axis=1), (1.0 / u).sum(axis=1)
    kept = (squares - d) / (d - 1)
    near = (squares * inverses - d * d) / (d * (d - 1))
    far = near if d == 2 else 2 * ((d - 1) * inverses * squares - d * d * inverses + d * d) / (d * (d - 1) * (d - 2))
    ones = np.ones((1, len(u)))
    found = linprog(-kept, A_ub=np.stack([near, far]), b_ub=[V, V], A_eq=ones, b_eq=[1.0])
    return (d - 1) * (-1.0 / found.fun - 1.0 / d)


@pytest.mark.parametrize(("d", "eps0"), [(2, 0.3), (2, 4.0), (3, 3.0), (4, 2.0), (8, 3.0), (16, 5.0)])
def test_above_the_threshold_nothing_beats_grr(d: int, eps0: float) -> None:
    m = sdp.GRR(eps0=eps0, d=d)
    assert total(d, eps0) == pytest.approx(d * m.accuracy(1).typical ** 2, rel=1e-12)
    assert "than GRR" in theorem_f(d, eps0, n=1).words
    best = best_mixture(d, spread(m.probabilities()))
    assert total(d, eps0) * (1.0 - 1e-9) <= best <= total(d, eps0) * 1.001


@pytest.mark.heavy_cases("64-0.1")
@pytest.mark.parametrize(("d", "eps0"), [(3, 0.67829), (4, 0.5), (5, 1.0), (16, 0.4), (64, 0.1)])
def test_below_it_mixtures_gain_less_than_is_said(d: int, eps0: float) -> None:
    grr = d * sdp.GRR(eps0=eps0, d=d).accuracy(1).typical ** 2
    best, floor = best_mixture(d, spread(sdp.GRR(eps0=eps0, d=d).probabilities())), theorem_f(d, eps0, n=1)
    assert total(d, eps0) <= best <= grr * (1.0 + 1e-9) and total(d, eps0) >= 0.8 * grr
    q = math.exp(eps0)  # part (c): at equal error V is at least this part of that of GRR, and V falls with the error
    assert total(d, eps0) >= (1.0 - (1.0 - 1.0 / q) / d) * grr * (1.0 - 1e-9)
    assert f"more than {100 * (1 - total(d, eps0) / grr):.2g} % below GRR's" in floor.words


@pytest.mark.heavy
def test_near_the_threshold_the_floor_is_grr() -> None:
    """Part (d); and the floor is at most 18 % below the best mixture of three options (by (c) alone 27 %)."""
    for d in (3, 4, 8):
        q = (3 * d - 2) / (d - 2)
        grr = d * sdp.GRR(eps0=math.log(q) - 1e-4, d=d).accuracy(1).typical ** 2
        assert 0.999 * grr < total(d, math.log(q) - 1e-4) <= grr
    below = [
        1 - total(3, e) / best_mixture(3, spread(sdp.GRR(eps0=e, d=3).probabilities())) for e in (0.5, 1.0, 1.39, 1.9)
    ]
    assert max(below) < 0.18


def test_three_options_have_the_numbers_of_the_spec() -> None:
    m: Any = sdp.calibrate("grr", d=3, n=1000, epsilon=0.1, delta=1e-8)
    assert 3 * m.accuracy(1).typical ** 2 == pytest.approx(10.48, rel=2e-3)
    best = best_mixture(3, spread(m.probabilities()))  # to leading order
    assert 1.0 - best / (3 * m.accuracy(1).typical ** 2) == pytest.approx(0.136, abs=1e-3)
    assert 0.84 * best < total(3, m.eps0) < best


NUMERIC = (
    [f"window:eps0={e},d={d},cells={c}" for e, d, c in [(1, 3, 4), (3, 3, 8), (5, 5, 4), (8, 12, 2), (2, 4, 1)]]
    + [f"levels:eps0={e},d={d}" for e, d in [(1, 2), (2, 3), (6, 9)]]
    + [f"piecewise:eps0={e}" for e in (0.5, 2, 4)]
    + [f"binomial:flips={N},stretch=1.1,shape=0.4,noise={g}" for N, g in [(1, 0.5), (4, 0.28), (16, 0.07)]]
    + [f"duchi:eps0={e},dim=1" for e in (0.1, 1, 5)]
)


@pytest.mark.parametrize("spec", NUMERIC)
def test_no_mean_is_below_theorem_m(spec: str) -> None:
    m: Any = sdp.mechanism(spec)
    V = spread(np.asarray(m.probabilities()))
    assert theorem_m(V, 2.0, n=100).error <= m.accuracy(100).typical <= m.accuracy(100).worst


def test_the_leading_order_of_the_spec() -> None:
    at = [leading_order(eps, 1e-8, n=10**4) for eps in (0.1, 0.5, 1.0)]
    assert at == pytest.approx([4.739, 102.8, 384.0], rel=2e-3)
    assert leading_order(0.5, 1e-8, n=10**4, rounds=4) == pytest.approx(at[1] / 4)


@pytest.mark.slow_cases("*-3")
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(("task", "sizes", "d"), [("histogram", {"d": 16}, 16), ("sum of bits", {}, 2)])
def test_histograms_have_that_of_a_calibrated_grr(task: str, sizes: dict[str, Any], d: int, rounds: int) -> None:
    asked = task_named(task, sizes)
    rows = [row for row in candidates(asked, 20_000) if isinstance(row, Candidate)]
    found = asked.floor(rows, Budget(n=20_000, delta=1e-6, rounds=rounds), 1.0)
    given: dict[str, Any] = {"n": 20_000, "epsilon": 1.0, "delta": 1e-6, "count": rounds}
    same: list[Any] = [sdp.calibrate("grr", d=d, **given)]
    same += [sdp.calibrate("randomized-response", **given)] if d == 2 else []
    least = min(theorem_f(d, m.eps0, n=20_000).error for m in same)
    assert found is not None and found.error == pytest.approx(least, rel=2e-3)


@pytest.mark.heavy
def test_the_floor_of_a_target_error_is_at_the_eps_of_the_best() -> None:
    found = sdp.recommend("histogram", n=20_000, d=16, error=0.01, delta=1e-6)
    m: Any = sdp.calibrate("grr", d=16, n=20_000, epsilon=found.epsilon, delta=1e-6)
    assert found.floor is not None and found.floor.error > 0.01  # the best sends several messages
    assert found.floor.error == pytest.approx(theorem_f(16, m.eps0, n=20_000).error, rel=2e-3)


@pytest.mark.heavy
def test_rankings_say_how_far_they_are_from_it() -> None:
    given: dict[str, Any] = {"n": 10_000, "epsilon": 0.5, "delta": 1e-8}
    bits = sdp.recommend("sum of bits", **given)
    assert all((bits.above_floor(c) or 1.0) > 0.998 for c in bits.choices)
    assert bits.above_floor(bits.choice("randomized-response")) == pytest.approx(1.0)
    assert bits.floor is not None and f"Floor: error {10_000 * bits.floor.error:.3g} users; the error of" in str(bits)
    mean = sdp.recommend("mean", low=-1, high=1, **given)
    assert mean.floor is not None and mean.floor.error == pytest.approx(math.sqrt(4 / 102.8 / 10_000), rel=1e-3)
    assert f"the error of window is {mean.above_floor(mean.choice('window')):.2f} times that" in str(mean)
    assert mean.above_floor(mean.choice("poisson-sum")) is None
    assert "4/V* = 0.0389; for V* >= 30 the best known is at least twice that." in str(mean)
    data, place = mean.to_dict(), [c.mechanism for c in mean.choices].index("window")
    assert data["floor"] == {"error": mean.floor.error, "words": mean.floor.words}
    assert data["choices"][place]["above_floor"] == pytest.approx(1.84, abs=0.01)
    assert "x floor" in mean.table().text()
    sets = sdp.recommend("sets", d=8, size=2, **given)
    assert sets.floor is None and sets.to_dict()["floor"] is None and "x floor" not in str(sets)
    ranges = sdp.recommend("range", d=16, **given)
    assert ranges.floor is not None and all((ranges.above_floor(c) or 1.0) >= 1.0 for c in ranges.choices)
