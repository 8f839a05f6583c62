"""The table of counts: brackets the true divergence, and is tight."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import ball_oracle
from reference.fractions_oracle import round_enclosure
from reference.rounds import Laws, rounds
from shuffledp.numerics.evaluators import exact
from shuffledp.numerics.pair import ShuffledPair

EPS = st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0])


def check(laws: Laws, n: int, eps: float) -> None:
    atoms = ShuffledPair(*laws).atoms
    if not atoms.t.size:
        return
    bracket = exact.log_bracket(exact.build(atoms, n), np.array([eps]))
    low, high = round_enclosure(*laws, n, eps)
    bare = Fraction(float(atoms.exposed(np.array([eps]))[0]))
    room = Fraction(1e-13) * (1 + bare)  # rounding of u, v themselves belongs to choose.py
    assert Fraction(math.exp(bracket.upper[0])) >= (high - bare) * (1 - Fraction(1e-12)) - room
    assert Fraction(math.exp(bracket.lower[0])) <= (low - bare) * (1 + Fraction(1e-12)) + room
    if bracket.upper[0] > -30:
        assert math.exp(bracket.upper[0]) - math.exp(bracket.lower[0]) <= 1e-11 * math.exp(bracket.upper[0]) + 1e-13


@settings(max_examples=150, deadline=None)
@given(laws=rounds(3), n=st.integers(1, 12), eps=EPS)
def test_brackets_the_fraction(laws: Laws, n: int, eps: float) -> None:
    check(laws, n, eps)


@settings(max_examples=40, deadline=None)
@given(laws=rounds(6), n=st.integers(1, 5), eps=EPS)
def test_brackets_the_fraction_with_more_symbols(laws: Laws, n: int, eps: float) -> None:
    check(laws, n, eps)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(laws=rounds(4), n=st.integers(1, 14), eps=st.floats(0.0, 6.0))
def test_brackets_the_fraction_slow(laws: Laws, n: int, eps: float) -> None:
    check(laws, n, eps)


CASES = [
    ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25], 200, (0.0, 0.1, 0.5, 1.0)),
    ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [2.0**-20, 2.0**-19, 2.0**-20], 10**6, (0.05, 0.4)),
    ([0.5, 0.5], [0.0, 1.0], [2.0**-8, 2.0**-6], 3000, (0.2, 1.0, 4.0)),
    ([0.5, 0.5], [0.125, 0.875], [2.0**-34, 2.0**-33], 10**12, (0.1, 0.3)),
]


@pytest.mark.parametrize(("P0", "P1", "t", "n", "grid"), CASES)
def test_against_balls(P0: list[float], P1: list[float], t: list[float], n: int, grid: tuple[float, ...]) -> None:
    table = exact.build(ShuffledPair(P0, P1, t).atoms, n)
    for eps in grid:
        truth = float(ball_oracle.log_divergence(P0, P1, t, n, eps).mid())
        bracket = exact.log_bracket(table, np.array([eps]))
        assert bracket.lower[0] <= truth <= bracket.upper[0]
        assert bracket.upper[0] - bracket.lower[0] <= 5e-12 + 4 * table.left_out * math.exp(-truth)


def test_left_out_mass_is_added() -> None:
    atoms = ShuffledPair([0.75, 0.25], [0.25, 0.75], [2.0**-8, 2.0**-8]).atoms
    table = exact.build(atoms, 10_000)
    assert 0.0 < table.left_out <= math.exp(exact.LOG_LEFT_OUT)
    beyond = exact.log_bracket(table, np.array([1.2]))  # above log 3: nothing but what was left out
    assert beyond.upper[0] == pytest.approx(math.log(table.left_out)) and beyond.lower[0] == -math.inf


def test_nothing_is_left_out_at_small_n() -> None:
    atoms = ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.5, 0.5]).atoms
    table = exact.build(atoms, 6)
    assert table.left_out == 0.0
    at = exact.log_bracket(table, np.array([math.log(3.0) + 1e-12, 2.0, 700.0]))
    assert np.all(at.upper == -math.inf) and np.all(at.lower == -math.inf)


def test_rows_needed_counts_the_rows() -> None:
    atoms = ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25]).atoms
    for n in (1, 2, 7, 30):
        assert exact.rows_needed(atoms, n) == math.comb(exact.clone_cap(atoms, n) + 3, 3)
        assert len(exact.build(atoms, n).kinks) == exact.rows_needed(atoms, n)


def test_slope_is_the_derivative() -> None:
    atoms = ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25]).atoms
    table = exact.build(atoms, 40)
    eps, step = 0.3, 1e-6
    around = np.exp(exact.log_bracket(table, np.array([eps - step, eps + step])).upper)
    slope = exact.log_bracket(table, np.array([eps])).slope[0]
    assert (around[1] - around[0]) / (2 * step) == pytest.approx(slope, rel=1e-4)
