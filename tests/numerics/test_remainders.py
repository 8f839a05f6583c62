"""Remainders of the exponential series against their series in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.numerics.remainders import remainder


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("y", [0.0, 1e-300, 1e-9, 0.1, 0.999, 1.0, 1.5, 7.0, 50.0])
def test_rounded_up_by_next_to_nothing(y: float, order: int) -> None:
    exact = sum(Fraction(y) ** k / math.factorial(k + order) for k in range(250))
    found = Fraction(float(remainder(np.array(y), order)))
    assert exact <= found <= exact * (1 + Fraction(1, 10**10))


def test_large_exponents_bound_nothing() -> None:
    assert np.all(np.isinf(remainder(np.array([50.1, 1e9, np.inf]), 4)))
    assert remainder(np.array(-3.0), 2) >= 0.5  # phi rises, so its value at 0 covers what is below


@pytest.mark.parametrize("order", [2, 4])
def test_the_bound_of_the_exponential(order: int) -> None:
    x = np.linspace(-6.0, 2.0, 400)
    head = sum(x**k / math.factorial(k) for k in range(order))
    assert np.all(np.exp(x) <= head + x**order * remainder(np.array(2.0), order) + 1e-14)
