"""Sums of losses on a grid: against convolution in exact fractions, at deltas from 0.5 to 1e-60."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.numerics.composition.loss_grid import Sum, solve_epsilon
from shuffledp.numerics.composition.profile_curve import Masses

STEP = 0.125
#: Masses in 64ths at -2, ..., 2 steps, and at infinity.
KINDS = [([4, 8, 16, 12, 24], 0), ([1, 2, 10, 30, 20], 1), ([0, 0, 32, 0, 32], 0)]


def masses(kind: tuple[list[int], int]) -> Masses:
    return Masses(np.array(kind[0]) / 64, kind[1] / 64)


def truth(counts: list[int], eps: float) -> float:
    """delta(eps) from the definition: every infinite loss counts whole."""
    law, finite = {0: Fraction(1)}, Fraction(1)
    for (mass, infinite), count in zip(KINDS, counts, strict=True):
        for _ in range(count):
            finite *= 1 - Fraction(infinite, 64)
            new: dict[int, Fraction] = {}
            for k, p in law.items():
                for j, m in enumerate(mass):
                    new[k + j - 2] = new.get(k + j - 2, Fraction(0)) + p * Fraction(m, 64)
            law = new
    high = sum(float(p) * -math.expm1(eps - k * STEP) for k, p in law.items() if k * STEP > eps)
    return float(1 - finite) + high


@pytest.mark.parametrize("counts", [[1, 0, 0], [7, 0, 3], [3, 4, 5]])
@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0, 2.1])
def test_both_ends_enclose_the_convolution(counts: list[int], eps: float) -> None:
    whole = Sum([masses(kind) for kind in KINDS], counts, STEP)
    window = whole.around(eps)
    exact = truth(counts, eps)
    upper, lower = window.delta(eps, upper=True), window.delta(eps, upper=False)
    assert exact * (1 - 1e-12) <= upper <= exact * (1 + 1e-9) + whole.infinite
    if not counts[1]:  # a lower value leaves infinite losses out
        assert exact * (1 - 1e-9) - 1e-300 <= lower <= exact * (1 + 1e-12)


def test_small_deltas_do_not_drown() -> None:
    """A coin of loss +-step that rarely says yes: Pr[all 30 say yes] is 2^-180, far below the round-off of an FFT."""
    rare = Masses(np.array([63 / 64, 0.0, 1 / 64]), 0.0)
    whole = Sum([rare], [30], STEP)
    eps = 29.5 * STEP
    exact = 64.0**-30 * -math.expm1(-0.5 * STEP)
    assert whole.around(eps).delta(eps, upper=True) == pytest.approx(exact, rel=1e-6)
    assert whole.around(eps).delta(eps, upper=False) == pytest.approx(exact, rel=1e-6)


def test_moments_are_those_of_the_sum() -> None:
    whole = Sum([masses(KINDS[0]), masses(KINDS[2])], [3, 2], STEP)
    loss = STEP * np.arange(-2, 3)
    means = [masses(kind).mass @ loss for kind in (KINDS[0], KINDS[2])]
    squares = [masses(kind).mass @ loss**2 for kind in (KINDS[0], KINDS[2])]
    mean, deviation = whole.spread(0.0)
    assert mean == pytest.approx(3 * means[0] + 2 * means[1])
    assert deviation**2 == pytest.approx(3 * (squares[0] - means[0] ** 2) + 2 * (squares[1] - means[1] ** 2))
    tilted = [math.log(masses(kind).mass @ np.exp(0.7 * loss)) for kind in (KINDS[0], KINDS[2])]
    assert whole.log_mgf(0.7) == pytest.approx(3 * tilted[0] + 2 * tilted[1])


@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-4])
def test_the_solved_eps_is_on_the_safe_side(delta: float) -> None:
    counts = [7, 0, 3]
    whole = Sum([masses(kind) for kind in KINDS], counts, STEP)
    window = whole.window(whole.tilt_for_delta(delta))
    upper = solve_epsilon(window, delta, upper=True, most=20 * STEP)
    lower = solve_epsilon(window, delta, upper=False, most=20 * STEP)
    assert truth(counts, upper) <= delta * (1 + 1e-12) and truth(counts, lower) >= delta * (1 - 1e-12)
    assert lower <= upper <= lower + 1e-5


def test_a_target_that_no_eps_meets() -> None:
    whole = Sum([masses(KINDS[1])], [10], STEP)  # infinite losses: delta stays above 10/64
    assert solve_epsilon(whole.around(1.0), 1e-3, upper=True, most=20 * STEP) == math.inf
