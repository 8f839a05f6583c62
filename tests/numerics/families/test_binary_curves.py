"""The divergence of one dataset of randomized response as a curve, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.fractions_oracle import shuffled_divergence
from shuffledp.numerics.families.binary_response import ExactCounts


@pytest.mark.parametrize(("k", "m"), [(0, 0), (1, 0), (0, 3), (2, 2), (3, 1)])
def test_the_curve_of_a_dataset_against_fractions(k: int, m: int) -> None:
    eps0 = 1.25
    keep = 1.0 / (1.0 + math.exp(-eps0))
    odds = Fraction(math.exp(-eps0))
    rows = [[1 / (1 + odds), odds / (1 + odds)], [odds / (1 + odds), 1 / (1 + odds)]]
    eps = np.linspace(0.0, 1.3, 14)
    ends = ExactCounts(eps0)._curve(k, m, eps)
    for i, x in enumerate(eps):
        truth = float(shuffled_divergence(rows, 0, 1, [1] * k + [0] * m, Fraction(math.exp(x))))
        assert ends.lower[i] <= truth * (1 + 1e-14) + 1e-16 <= ends.upper[i] * (1 + 1e-12) + 2e-16
        assert ends.upper[i] - ends.lower[i] <= 1e-11 * keep
