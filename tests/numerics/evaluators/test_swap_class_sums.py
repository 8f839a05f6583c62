"""Sums over classes: one class is the plain sum, and a class of more telling types only raises it."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators import swap
from shuffledp.numerics.evaluators.swap_class_sums import log_upper_of_classes

X, T = np.array([[1.5, -1.2, -0.3]]), np.array([[0.25, 0.25, 0.5]])
WIDE = np.array([[3.0, -2.6, -0.3]])


def line(n: int) -> swap.Line:
    c, _, bend = swap.saddle(X, T, float(n))
    return swap.line_at(c, bend, 0.02)


@pytest.mark.parametrize("n", [20, 300, 10_000])
@pytest.mark.parametrize("common", [0.2, 1.0])
def test_one_class_is_the_plain_sum(n: int, common: float) -> None:
    waiting = swap.Waiting.of(common, n, -30.0)
    plain = float(swap.log_upper(X, T, waiting, line(n))[0])
    assert log_upper_of_classes([(X, T)], [1.0], waiting, line(n)) == pytest.approx(plain, abs=1e-5)
    halves = log_upper_of_classes([(X, T), (X, T)], [0.5, 0.5], waiting, line(n))
    assert halves == pytest.approx(plain, abs=1e-5)


def test_more_telling_types_raise_it() -> None:
    waiting, at = swap.Waiting.of(0.5, 300, -30.0), line(300)
    values = [log_upper_of_classes([(X, T), (WIDE, T)], [1.0 - s, s], waiting, at) for s in (0.0, 0.3, 1.0)]
    assert values[0] < values[1] < values[2]
    both = log_upper_of_classes([(np.vstack([X, WIDE]), np.vstack([T, T]))], [1.0], waiting, at)
    assert both >= values[2] - 1e-9
