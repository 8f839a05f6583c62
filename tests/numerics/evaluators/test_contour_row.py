"""One row in floats: what the evaluator of many rows gives, and combs that skip nothing that matters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import ball_oracle
from shuffledp.numerics.evaluators import contour, contour_row
from shuffledp.numerics.few_atoms import Few, saddle
from shuffledp.numerics.pair import ShuffledPair

COIN = ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
GRR = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])
THIN = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [2.0**-9, 2.0**-9, 0.75])
FOUR = ([0.5, 0.125, 0.25, 0.125], [0.125, 0.5, 0.25, 0.125], [0.125, 0.125, 0.0625, 0.25])
LAWS = pytest.mark.parametrize("laws", [COIN, GRR, THIN, FOUR], ids=["coin", "grr", "thin", "four"])


def few_of(laws: tuple[list[float], ...]) -> Few:
    few = ShuffledPair(*laws).atoms.few
    assert few is not None
    return few


@LAWS
@pytest.mark.parametrize("n", [100, 3_000, 10**5, 10**8, 10**12])
@pytest.mark.parametrize("away", [0.5, 3.0, 6.0, 20.0])
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
def test_what_many_rows_give(laws: tuple[list[float], ...], n: int, away: float, rtol: float) -> None:
    few, atoms = few_of(laws), ShuffledPair(*laws).atoms
    growth = away * math.sqrt(atoms.spread / n)
    x = few.values(growth)
    if max(x) <= 0.0:
        return
    place = contour_row.place(x, few.t, saddle(x, few.t, float(n)), n, rtol)
    if place is None:
        return
    found = contour_row.log_bracket(few, x, n, place)
    (upper,), (lower,), (slope,) = contour.log_bracket(np.array([x]), atoms.v, atoms.t, n, np.array([rtol]))
    assert found is not None
    assert found.lower <= upper and lower <= found.upper  # both hold
    assert found.upper == pytest.approx(upper, abs=0.05 * rtol + 1e-7)
    if found.lower > -math.inf and lower > -math.inf:
        assert found.slope == pytest.approx(slope, rel=2.0 * rtol + 1e-4)


@LAWS
@pytest.mark.parametrize(("n", "eps"), [(60, 0.4), (2_000, 0.1)])
def test_brackets_the_ball(laws: tuple[list[float], ...], n: int, eps: float) -> None:
    few = few_of(laws)
    if n > 100 and len(few.t) > 2:
        pytest.skip("too many counts for the oracle")
    x = few.values(math.expm1(eps))
    true = float(ball_oracle.log_divergence(*laws, n, eps).mid())
    for rtol in (1e-2, 1e-4):
        place = contour_row.place(x, few.t, saddle(x, few.t, float(n)), n, rtol)
        found = None if place is None else contour_row.log_bracket(few, x, n, place)
        if found is not None:
            assert found.lower - 1e-11 <= true <= found.upper + 1e-11


@LAWS
@pytest.mark.parametrize("n", [1_000, 10**5, 10**6])
def test_skipped_nodes_do_not_matter(laws: tuple[list[float], ...], n: int) -> None:
    few = few_of(laws)
    x = few.values(5.0 * math.sqrt(ShuffledPair(*laws).atoms.spread / n))
    place = contour_row.place(x, few.t, saddle(x, few.t, float(n)), n, 1e-4)
    if place is None:
        return
    kept = contour_row._nodes(place)
    assert abs(kept.size - place.nodes) <= 0.5 * place.nodes + 70.0
    skipped = np.setdiff1d(np.arange(1.0, place.last + 1.0), kept)
    z = place.c + 1j * skipped * place.h
    transform = 1.0 + np.expm1(np.multiply.outer(z, x)) @ np.array(few.t)
    size = n * np.log(np.abs(transform)) - place.log_mgf - 0.5 * (place.s * skipped * place.h) ** 2
    assert np.all(size <= -place.cut + 1e-6)


def test_no_claim_where_numbers_are_out_of_range() -> None:
    few = Few(gap=(1e200, -1.0), v=(1.0, 1.0), t=(1e-200, 0.5), rest=0.5)
    x = few.values(0.1)
    try:
        place = contour_row.place(x, few.t, saddle(x, few.t, 10.0), 10, 1e-3)
        found = None if place is None else contour_row.log_bracket(few, x, 10, place)
    except (ArithmeticError, ValueError):
        found = None
    assert found is None or found.upper >= found.lower
