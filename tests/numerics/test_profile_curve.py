"""A sampled profile and its pair of laws: above the profile everywhere, close to it, and still so on a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.fractions_oracle import round_enclosure
from reference.repetition import examples
from shuffledp.numerics.composition.profile_curve import (
    COARSE,
    EMPTY,
    FINE,
    Curve,
    Ladder,
    Losses,
    Masses,
    Plan,
    losses,
    lower_hull,
    sampled,
    symmetric,
)

LAWS = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])
N = 8
AT = [0.0, 0.03, 0.1, 0.25, 0.4, 0.6]


def exact(eps: float) -> float:
    """D of LAWS among N messages, from the definition."""
    return float(round_enclosure(*LAWS, N, eps)[1])


def log_delta(which: Sequence[int], eps: Sequence[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(divide="ignore"):
        return [np.log([exact(float(e)) for e in at]) for at in eps]


def sampled_by(ladder: Ladder) -> Curve:
    return sampled(log_delta, [Plan(math.log(2), ladder, -60.0)], [EMPTY])[0]


@pytest.fixture(scope="module")
def curve() -> Curve:
    return sampled_by(COARSE)


def profile_of(pair: Losses, eps: float) -> float:
    """D_E = E_Q[(L - E)_+] + Pr_P[loss = inf]."""
    ratio, E = np.exp(pair.eps), math.exp(eps)
    return float(pair.under_q @ np.maximum(ratio - E, 0.0)) + pair.infinite


def profile_on_grid(masses: Masses, step: float, eps: float) -> float:
    half = (masses.mass.size - 1) // 2
    loss = np.arange(-half, half + 1) * step
    return float(masses.mass @ np.maximum(-np.expm1(eps - loss), 0.0)) + masses.infinite


def test_nodes_rise_from_zero_to_the_limit(curve: Curve) -> None:
    assert curve.eps[0] == 0.0 and np.all(np.diff(curve.eps) > 0.0) and curve.eps[-1] == math.log(2)
    assert curve.log_delta[-1] == -np.inf and np.all(curve.log_delta <= 0.0)


def test_a_curve_that_is_continued_is_the_one_sampled_at_once() -> None:
    def bell(lowest: float, known: Curve = EMPTY) -> Curve:
        return sampled(lambda _, eps: [-3.0 - 50.0 * at**2 for at in eps], [Plan(9.0, COARSE, lowest)], [known])[0]

    short, whole = bell(-20.0), bell(-200.0)
    assert short.eps.size < whole.eps.size and short.log_delta[-1] <= -20.0
    assert all(mine.tolist() == all_.tolist() for mine, all_ in zip(bell(-200.0, short), whole, strict=True))
    assert bell(-20.0, whole) is whole


def test_the_pair_of_a_curve_is_above_the_profile_and_close(curve: Curve) -> None:
    pair = losses(curve)
    for eps in AT:
        assert exact(eps) * (1 - 1e-9) <= profile_of(pair, eps) <= exact(eps) * 1.1 + 1e-4


@pytest.mark.slow
def test_a_finer_ladder_is_closer(curve: Curve) -> None:
    fine = losses(sampled_by(FINE))
    gaps = [sum(profile_of(pair, eps) - exact(eps) for eps in AT) for pair in (losses(curve), fine)]
    assert 0.0 <= gaps[1] < 0.2 * gaps[0]


def test_a_cut_tail_is_an_infinite_loss(curve: Curve) -> None:
    whole, cut = losses(curve), losses(curve, lowest=-8.0)
    assert whole.infinite == 0.0 < cut.infinite <= math.exp(-8.0) and cut.eps.max() < whole.eps.max()
    for eps in AT:
        assert profile_of(cut, eps) >= exact(eps) * (1 - 1e-9)


@pytest.mark.parametrize("step", [0.3, 0.05, 0.004])
def test_spreading_onto_a_grid_only_raises_the_profile(curve: Curve, step: float) -> None:
    masses = symmetric(losses(curve), step)
    assert masses.mass.sum() == pytest.approx(1.0, abs=1e-9)
    for eps in AT:
        assert profile_on_grid(masses, step, eps) >= exact(eps) * (1 - 1e-9)
    mirrored = profile_on_grid(masses, step, -0.25)  # D_E = 1 - E + E D_{1/E} of the other direction, here the same
    assert mirrored >= 1 - math.exp(-0.25) + math.exp(-0.25) * exact(0.25) - 1e-9


def test_second_moment() -> None:
    pair = Losses(np.array([math.log(3)]), np.array([0.25]), 0.0, 0.5)  # randomized response: loss +-log 3
    assert pair.second_moment == pytest.approx(math.log(3) ** 2)


def test_nothing_revealed_is_one_node() -> None:
    flat = sampled(lambda _, eps: [np.full(at.shape, -np.inf) for at in eps], [Plan(1.0, COARSE, -60.0)], [EMPTY])[0]
    assert flat.eps.tolist() == [0.0] and losses(flat).eps.size == 0


@examples(100)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=12))
def test_the_hull_is_convex_and_below_all_points(heights: list[int]) -> None:
    x, y = np.arange(len(heights), dtype=float), np.array(heights, dtype=float)
    keep = lower_hull(x, y)
    assert keep[0] == 0 and keep[-1] == len(heights) - 1
    slopes = [Fraction(heights[b] - heights[a], int(b - a)) for a, b in itertools.pairwise(keep)]
    assert all(a < b for a, b in itertools.pairwise(slopes))
    assert np.all(np.interp(x, x[keep], y[keep]) <= y + 1e-9)
