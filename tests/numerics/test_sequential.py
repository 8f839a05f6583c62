"""Sequential composition of profiles: against all products of losses, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.numerics.composition import conversions, profile_curve, sequential
from shuffledp.numerics.composition.fixed_pair import PairLosses, lower_epsilon
from shuffledp.numerics.composition.sequential import Kind, basic_composition, choose_step, pure_epsilon

#: P = (stay, 1 - stay), Q the other way round: randomized response on two options, one user.
COINS = [Fraction(3, 4), Fraction(2, 3), Fraction(3, 5)]


def coin(stay: Fraction) -> Kind:
    high, low = float(stay), float(1 - stay)

    def log_delta(eps: np.ndarray, tol: float) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(high - np.exp(eps) * low, 0.0))

    return Kind(log_delta, math.log(high / low))


def truth(stays: list[Fraction], E: Fraction) -> Fraction:
    """D_E of the product of these coins, by enumeration."""
    total = Fraction(0)
    for told in product([True, False], repeat=len(stays)):
        p = math.prod(s if right else 1 - s for s, right in zip(stays, told, strict=True))
        q = math.prod(1 - s if right else s for s, right in zip(stays, told, strict=True))
        total += max(p - E * q, Fraction(0))
    return total


@pytest.mark.parametrize("counts", [(1, 1, 1), (4, 0, 0), (2, 1, 3)])
def test_delta_and_eps_are_above_the_truth_and_close(counts: tuple[int, ...]) -> None:
    pairs = [(stay, count) for stay, count in zip(COINS, counts, strict=True) if count]
    kinds, numbers = [coin(stay) for stay, _ in pairs], [count for _, count in pairs]
    stays = [stay for stay, count in pairs for _ in range(count)]
    for eps in (0.1, 0.7, 1.5):
        exact = float(truth(stays, Fraction(math.exp(eps))))
        found = sequential.delta(kinds, numbers, eps)
        assert exact * (1 - 1e-12) <= found <= exact * 1.02 + 1e-9
        if exact > 0.01:
            back = sequential.epsilon(kinds, numbers, exact)
            assert eps - 1e-9 <= back <= eps + 0.02


def test_nothing_is_left_from_the_sum_of_the_local_budgets_on() -> None:
    kinds = [coin(COINS[0])]
    most = pure_epsilon(kinds, [3])
    assert most == pytest.approx(3 * math.log(3)) and sequential.delta(kinds, [3], most) == 0.0
    assert sequential.epsilon(kinds, [3], 1e-140) <= most


def test_a_delta_that_no_float_can_hold_is_not_0() -> None:
    """0 would claim pure differential privacy, which holds only from the sum of the local budgets on."""
    kinds, count = [coin(Fraction(500_001, 1_000_000))], 10_000
    most = pure_epsilon(kinds, [count])
    assert 0.0 < sequential.delta(kinds, [count], 0.5 * most) < 1e-300  # the truth is about 1e-576
    assert 0.0 < conversions.to_delta([2.0, 1e6], [1e-9, 1e-3], 0.01) < 1e-300


def test_a_profile_is_sampled_once() -> None:
    asked: list[int] = []
    inner = coin(COINS[0]).source

    def log_delta(eps: np.ndarray, tol: float) -> np.ndarray:
        asked.append(eps.size)
        return inner(eps, tol)

    kind = Kind(log_delta, math.log(3))
    first = sequential.epsilon([kind], [2], 1e-3)
    before = len(asked)
    assert sequential.epsilon([kind], [2], 1e-3) == first and len(asked) == before


def test_a_step_that_is_too_fine_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^step must be at least [^\n]*\.$"):
        sequential.build([coin(COINS[0])], [1], -20.0, step=1e-9)


def test_the_step_divides_the_largest_loss() -> None:
    pair = profile_curve.losses(sequential.sample([coin(COINS[0])], profile_curve.FINE, -60.0)[0])
    step = choose_step([pair], [10])
    assert pair.eps[-1] / step == pytest.approx(round(pair.eps[-1] / step), abs=1e-6)
    assert math.frexp(step)[0] * 2**30 == int(math.frexp(step)[0] * 2**30)


@pytest.mark.parametrize("count", [1, 5])
def test_the_lower_eps_is_below_the_truth_and_close(count: int) -> None:
    stay = COINS[0]
    loss = math.log(3)
    pair = PairLosses(np.array([-loss, loss]), np.array([0.25, 0.75]))
    eps = 0.5
    exact = float(truth([stay] * count, Fraction(math.exp(eps))))
    found = lower_epsilon([pair], [count], exact, count * loss)
    assert eps - 0.05 <= found <= eps + 1e-9
    assert lower_epsilon([], [], 0.1, 1.0) == 0.0


def test_the_sum_of_local_budgets_is_exact_or_rounded_up() -> None:
    for terms in ([(0.1, 3)], [(0.1, 7), (1e-9, 10**9)], [(1.0, 1), (1e-30, 1)]):
        exact = sum(Fraction(eps) * count for eps, count in terms)
        found = basic_composition(terms)
        assert Fraction(math.nextafter(found, 0.0)) < exact <= Fraction(found)
    assert basic_composition([(1.0, 2), (math.inf, 1)]) == basic_composition([(1e308, 10)]) == math.inf
    assert basic_composition([]) == 0.0
