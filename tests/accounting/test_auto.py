"""auto is the smallest of all sound bounds, always: of random questions, and of those that once were not."""

from __future__ import annotations

import contextlib
import math
import random
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import all_cases
from shuffledp.bounds import BOUNDS

#: Answers are within this part of the smallest that a bound could give, so that two of them may differ by it.
TOL = 1e-4
SOUND = [name for name, bound in BOUNDS.items() if bound.side == "upper" and bound.sound]
SPECS = [
    *("general:eps0={e}", "grr:eps0={e},d={d}", "randomized-response:eps0={e}", "laplace:eps0={e}"),
    *(
        "unary:eps0={e},d={d}",
        "optimized-unary:eps0={e},d={d}",
        "subset:eps0={e},d={d},k=1",
        "local-hash:eps0={e},d={d}",
    ),
    *("hadamard:eps0={e},d={d}", "duchi:eps0={e},dim=3", "harmony:eps0={e},dim=3", "variation-ratio:p=9,beta=0.4,q=9"),
]
CASES = [case.mechanism for case in all_cases()]


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    """A mechanism and a question."""
    src = random.Random(seed)
    kind = src.random()
    if kind < 0.6:
        eps0 = round(math.exp(src.uniform(math.log(0.05), math.log(8.0))), 3)
        m = sdp.mechanism(src.choice(SPECS).format(e=eps0, d=src.choice([2, 3, 4, 16, 64])))
    elif kind < 0.85:
        m = src.choice(CASES)
    else:
        rng = np.random.default_rng(seed)
        m = sdp.FiniteRandomizer(
            rng.dirichlet(np.full(src.randint(2, 5), src.choice([0.5, 5.0])), size=src.randint(2, 5))
        )
    asked: dict[str, Any] = {"n": int(10 ** src.uniform(0.5, 7.0)), "delta": 10 ** src.uniform(-12.0, -0.4)}
    if "total_messages" not in m.spec:
        asked |= src.choice([{}, {}, {}, {"dropouts": 0.1}])
    return m, asked


def each(m: Any, asked: dict[str, Any], names: list[str]) -> dict[str, float]:
    found = {}
    for name in names:
        try:
            found[name] = sdp.amplify(m, bound=name, tol=TOL, **asked).epsilon
        except sdp.BoundNotApplicableError:
            continue
    return found


def check(m: Any, asked: dict[str, Any], names: list[str]) -> None:
    auto = sdp.amplify(m, tol=TOL, **asked)
    least = min(each(m, asked, names).values())
    assert auto.epsilon <= least * (1.0 + 1.5 * TOL) + 1e-12
    assert auto.lower is None or auto.lower <= auto.epsilon
    crowd = {key: value for key, value in asked.items() if key not in ("n", "delta")}
    grid = np.array([0.0, 0.5, 0.95, 1.3]) * min(auto.epsilon, 20.0)
    curve = sdp.profile(m, n=asked["n"], epsilon=grid, **crowd)
    for name in ("swap", "swap-general", "blanket", "variation-ratio", "local"):
        try:
            other = sdp.profile(m, n=asked["n"], epsilon=grid, bound=name, **crowd)
        except sdp.BoundNotApplicableError:
            continue
        assert np.all(curve <= other * (1.0 + 3e-3) + 1e-300), name


@pytest.mark.slow_cases("1*")
@pytest.mark.slow_cases("12", "8", "9")
@pytest.mark.parametrize("seed", range(20))
def test_random_questions(seed: int) -> None:
    check(*drawn(seed), ["swap", "swap-general", "blanket", "variation-ratio", "general", "local"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_more_random_questions_and_all_sound_bounds(seed: int) -> None:
    check(*drawn(seed), SOUND)


@pytest.mark.slow_cases("laplace:eps0=6-1000-1e-05-swap", "metric-laplace:d01=1,dmax=1-15-6.5e-06-blanket")
@pytest.mark.parametrize(
    ("spec", "n", "delta", "bound"),
    [
        ("general:eps0=1", 100, 0.05, "swap-general"),
        ("grr:eps0=3,d=4", 200, 1e-6, "swap"),
        ("laplace:eps0=6", 1000, 1e-5, "swap"),
        ("metric-laplace:d01=1,dmax=1", 15, 6.5e-6, "blanket"),
    ],
)
def test_what_was_larger_is_not(spec: str, n: int, delta: float, bound: str) -> None:
    auto, other = (sdp.amplify(spec, n=n, delta=delta, bound=name) for name in ("auto", bound))
    assert auto.epsilon <= other.epsilon and auto.bound == bound
    many = sdp.amplify(spec, n=np.full(12, n), delta=delta)
    assert many.epsilon == pytest.approx(auto.epsilon, rel=1.5 * TOL, abs=1e-12) and set(many.bound) == {bound}
    if not spec.startswith("laplace"):  # whose profile takes seconds
        account = sdp.Accountant().compose(spec, n=n)
        assert account.epsilon(delta=delta) <= other.epsilon * (1.0 + 5e-3) + 1e-12


@pytest.mark.heavy_cases("laplace-1000-1e-05-swap")
@pytest.mark.parametrize(
    ("spec", "n", "delta", "bound"), [("grr:d=4", 200, 1e-6, "swap"), ("laplace", 1000, 1e-5, "swap")]
)
def test_calibration_finds_as_much(spec: str, n: int, delta: float, bound: str) -> None:
    auto, other = (sdp.calibrate(spec, n=n, epsilon=2.2, delta=delta, bound=name).eps0 for name in ("auto", bound))
    assert auto >= other * (1.0 - 3.0 * TOL)


@pytest.mark.parametrize(("n", "delta"), [(4, 0.006), (1000, 1e-6), (10**6, 1e-9)])
def test_no_bound_of_a_shuffled_pair_is_below_its_exact_value(n: int, delta: float) -> None:
    """The victim's ratios say nothing about how much of its messages the others send: bounds from eps0 need both."""
    pair = sdp.ShuffledPair(P0=[0.25, 0.25, 0.5], P1=[0.25, 0.375, 0.375], t=[0.0625, 0.25, 0.0625])
    least = sdp.amplify(pair, n=n, delta=delta, bound="constant-dataset-lower").epsilon
    for name in SOUND:
        with contextlib.suppress(sdp.BoundNotApplicableError):
            assert sdp.amplify(pair, n=n, delta=delta, bound=name).epsilon >= least, name
