"""Laws number by number, against exact fractions and ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from shuffledp.numerics.windows import binomial, poisson


@pytest.mark.parametrize("size", [0, 1, 7, 40])
@pytest.mark.parametrize("odds", [1e-6, 0.25, 1.0, 40.0])
def test_small_binomials_are_exact(size: int, odds: float) -> None:
    chance = Fraction(odds) / (1 + Fraction(odds))
    law = binomial(size, odds)
    every = [math.comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(size + 1)]
    inside = every[law.start : law.stop]
    assert float(1 - sum(inside)) <= law.left_out
    assert law.mass == pytest.approx([float(p) for p in inside], rel=1e-13)


@pytest.mark.parametrize(("size", "odds"), [(10**4, 0.3), (10**9, 1.0), (10**9, 1e-7), (10**6, 99.0)])
def test_masses_are_right_far_in_the_tail(size: int, odds: float) -> None:
    law = binomial(size, odds)
    old, flint.ctx.prec = flint.ctx.prec, 300
    try:
        p = flint.arb(odds) / (1 + flint.arb(odds))
        for i in (0, law.mass.size // 3, law.mass.size // 2, law.mass.size - 1):
            k = law.start + i
            choose = flint.arb(size + 1).lgamma() - flint.arb(k + 1).lgamma() - flint.arb(size - k + 1).lgamma()
            truth = (choose + k * p.log() + (size - k) * (1 - p).log()).exp()
            assert law.mass[i] == pytest.approx(float(truth.mid()), rel=1e-9)
    finally:
        flint.ctx.prec = old
    assert law.left_out < 1e-46 and law.mass.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("mean", [1e-3, 0.7, 30.0, 1e6])
def test_poisson_masses(mean: float) -> None:
    law = poisson(mean)
    old, flint.ctx.prec = flint.ctx.prec, 300
    try:
        m = flint.arb(mean)
        for i in (0, law.mass.size // 2, law.mass.size - 1):
            k = law.start + i
            truth = (k * m.log() - m - flint.arb(k + 1).lgamma()).exp()
            assert law.mass[i] == pytest.approx(float(truth.mid()), rel=1e-9)
        chances = (k * m.log() - m - flint.arb(k + 1).lgamma() for k in range(law.stop, law.stop + 4000))
        beyond = sum((chance.exp() for chance in chances), flint.arb(0))
        below = m.gamma_upper(flint.arb(law.start), regularized=True) if law.start else flint.arb(0)
        assert float((beyond + below).upper()) <= law.left_out
    finally:
        flint.ctx.prec = old
    assert np.all(law.mass >= 0.0)
