"""Probabilities of cells under normal laws, against 6000 bits of ball arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy import special, stats

from shuffledp.numerics.proof.balls import normal_cells


def ball(q: Fraction) -> arb:
    return arb(fmpq(q.numerator, q.denominator))


def exact_cells(centre: Fraction, sigma: float, edges: list[float]) -> list[Fraction]:
    """The probabilities in 6000 bits, by differences of one function only."""
    before, ctx.prec = ctx.prec, 6000
    try:
        tails = [(-(ball((Fraction(e) - centre) / Fraction(sigma)) / arb(2).sqrt())).erfc() / 2 for e in edges]
        ends = [arb(0), *tails, arb(1)]
        cells = [b - a for a, b in itertools.pairwise(ends)]
        assert all(cell.rel_accuracy_bits() > 200 for cell in cells)
        found = []
        for cell in cells:
            mantissa, exponent = (int(x) for x in cell.mid().man_exp())
            found.append(Fraction(mantissa) * Fraction(2) ** exponent)
        return found
    finally:
        ctx.prec = before


@pytest.mark.parametrize(
    ("sigma", "edges"),
    [
        (1.0, [-3.0, -1.0, 0.0, 0.5, 4.0]),
        (0.05, [-0.6, 0.0, 0.2, 1.0, 1.5]),  # 30 sigma away: 1e-200
        (1.0, [0.1, 0.1 + 1e-9, 0.1 + 2e-9, 8.0, 8.0 + 1e-9]),  # narrow cells, in the middle and in a tail
        (1e5, list(np.linspace(-3e5, 3e5, 40))),
        (0.3, [0.7]),
    ],
)
def test_cells_are_correct_to_the_last_digit(sigma: float, edges: list[float]) -> None:
    centres = [Fraction(0), Fraction(1, 3), Fraction(1)]
    rows = normal_cells(centres, sigma, edges)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    for centre, row in zip(centres, rows.tolist(), strict=True):
        for found, truth in zip(row, exact_cells(centre, sigma, edges), strict=True):
            assert abs(Fraction(found) - truth) <= Fraction(1, 2**52) * truth


def test_differences_of_a_cdf_would_not_be() -> None:
    """The reason for tails on their own side: 12 sigma up, a difference of two numbers near 1 is 0."""
    (row,) = normal_cells([Fraction(0)], 1.0, [11.0, 12.0])
    assert stats.norm.cdf(12.0) - stats.norm.cdf(11.0) == 0.0 < row[1]
    assert row[1] == pytest.approx(float(special.ndtr(-11.0) - special.ndtr(-12.0)), rel=1e-12)


def test_the_precision_of_others_is_left_alone() -> None:
    before = ctx.prec
    normal_cells([Fraction(0)], 1.0, [0.1, 0.1 + 1e-16 * 4, 30.0])
    assert ctx.prec == before
