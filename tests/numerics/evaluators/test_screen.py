"""The cheap bound that discards pairs is above the truth, and not far above it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fractions_oracle import round_enclosure
from reference.rounds import Laws, rounds
from shuffledp.numerics.evaluators import screen
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.pair import ShuffledPair


@settings(max_examples=200, deadline=None)
@given(rounds(most=4), st.integers(1, 6), st.sampled_from([0.0, 0.1, 1.0, 3.0]))
def test_above_the_exact_divergence(laws: Laws, n: int, eps: float) -> None:
    r = ShuffledPair(*laws)
    atoms = r.atoms
    if not atoms.t.size:
        return
    truth, _ = round_enclosure(*laws, n, eps)
    value = screen.log_upper(atoms.values(np.array([eps])), atoms.t, n)[0]
    # the screen covers the hidden symbols only, and its callers shift eps by the slack of the law
    exposed = float(atoms.exposed(np.array([eps]))[0])
    assert math.exp(value) + exposed >= float(truth) * (1 - 1e-12) - 1e-15 * (1 + math.exp(eps))


@pytest.mark.parametrize("n", [30, 10**4, 10**8, 10**12])
@pytest.mark.parametrize("seed", range(5))
def test_above_the_bracket_and_close_to_it(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    P0, P1 = rng.dirichlet(np.ones(5), size=2)
    t = np.minimum(P0, P1) * 0.7
    r = ShuffledPair(P0, P1, t)
    grid = np.array([0.5, 2.0, 5.0]) * math.sqrt(float(((P0 - P1) ** 2 / t).sum()) / n)
    value = screen.log_upper(r.atoms.values(grid), r.atoms.t, n)
    bracket = Divergence(r, n).bracket(grid, 1e-4)
    assert np.all(value >= bracket.lower - 1e-9)
    if n >= 10**4:
        assert np.all(value <= bracket.upper + 3.0)


def test_nothing_positive_is_nothing() -> None:
    assert screen.log_upper(np.array([[-1.0, 0.0]]), np.array([0.2, 0.3]), 10)[0] == -np.inf


def test_nearly_exact_where_one_negative_draw_decides() -> None:
    """Few others, and a value that only the victim is likely to send: the first term is all there is."""
    l, t, n = np.array([[40.0, -9000.0, -30000.0]]), np.array([1e-5, 2e-3, 1e-3]), 1000
    truth = math.log(t[0] * 40.0) + (n - 1) * math.log1p(-3e-3)
    assert truth - 1e-9 <= screen.log_upper(l, t, n)[0] <= truth + 1e-3


def test_never_above_the_bound_without_others() -> None:
    rng = np.random.default_rng(3)
    l, t = rng.normal(1.0, 1.0, size=(50, 6)), np.full(6, 0.1)
    alone = np.log(np.maximum(l, 0.0) @ t)
    assert np.all(screen.log_upper(l, t, 100) <= alone + 1e-9)
