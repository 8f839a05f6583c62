"""Laws in plain floats: the same numbers as arrays, and a saddle where the derivative vanishes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.numerics.few_atoms import MOST, Few, saddle, tilted
from shuffledp.numerics.pair import ShuffledPair

GRR = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.25])


def test_the_same_values_as_arrays() -> None:
    few = GRR.atoms.few
    assert few is not None and few.rest == 0.5
    assert few.values(math.expm1(0.3)) == pytest.approx(GRR.atoms.values(np.array([0.3]))[0].tolist(), rel=1e-15)


def test_many_atoms_stay_arrays() -> None:
    k = MOST + 1
    law, other = np.full(k, 1.0 / k), np.arange(1.0, k + 1.0) / (k * (k + 1) / 2)
    assert ShuffledPair(law, other, law).atoms.few is None
    assert Few.of(ShuffledPair([1.0], [1.0], [0.0]).atoms) is None


@pytest.mark.parametrize("n", [2, 100, 10**6, 10**12])
@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.5])
def test_the_saddle_is_a_minimum(n: int, eps: float) -> None:
    few = GRR.atoms.few
    assert few is not None
    x = few.values(math.expm1(eps))
    at = saddle(x, few.t, float(n))

    def f(c: float) -> float:
        return n * math.log1p(tilted(x, few.t, c).growth) - 2.0 * math.log(c)

    best = f(at.c)
    assert min(f(at.c * s) for s in (0.8, 0.95, 1.05, 1.25)) >= best
    assert sum(at.weights) + few.rest / (1.0 + at.growth) == pytest.approx(1.0, rel=1e-12)
    assert at.variance >= 0.0
