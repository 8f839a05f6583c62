"""The maximum over all input pairs of a matrix: merging and discarding lose nothing."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fractions_oracle import round_divergence
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.families import matrix_pairs as pairs_module
from shuffledp.numerics.families.matrix_pairs import BlanketPairs
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.solve import epsilon

from .test_alike import circulant


def largest_log_delta(matrix: np.ndarray, n: int, eps: float) -> float:
    """A lower end of the max over all ordered pairs, one by one."""
    omega = matrix.min(axis=0)
    curves = [Divergence(ShuffledPair(a, b, omega), n) for a, b in permutations(matrix, 2)]
    return max(float(c.bracket(np.array([eps]), 1e-3).lower[0]) for c in curves)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([4, 5]), st.sampled_from([2.0, 20.0]), st.sampled_from([3, 60, 4000]))
def test_no_pair_is_lost_in_a_random_matrix(seed: int, d: int, shape: float, n: int) -> None:
    matrix = np.random.default_rng(seed).dirichlet(np.full(d, shape), size=d)
    pairs = BlanketPairs(matrix)
    for eps in (0.0, 0.1, 1.0):
        ours = float(pairs.log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0])
        truth = largest_log_delta(matrix, n, eps)
        assert truth - 1e-9 <= ours, (eps, ours, truth)
        assert ours <= truth + 0.01 or math.exp(ours) < 1e-100
    answer = pairs.epsilon(n=n, delta=1e-4, tol=1e-4, side="upper")
    omega = matrix.min(axis=0)
    every = epsilon(
        [ShuffledPair(a, b, omega) for a, b in permutations(matrix, 2)], n=n, delta=1e-4, tol=1e-4, side="upper"
    )
    assert every * (1 - 1.1e-4) <= answer.epsilon <= every * (1 + 1.1e-4)
    assert answer.evaluated <= answer.members == d * (d - 1)


def test_laws_that_are_almost_equal_are_not_taken_for_the_smaller_one() -> None:
    """Two pairs whose laws differ by a relative 2^-42 share a key; at eps = 0 there is no eps slack to hide it."""
    unit = 2.0**-6
    tiny = 2.0**-46
    rows = []
    for x in range(3):
        row = []
        for y in range(3):
            shift = tiny * y
            low, high = unit + 3 * shift, unit - shift  # levels 2 and 4: row sums do not depend on y
            row += [low * (2 if x == y else 1), high * (4 if x == y else 1)]
        rows.append(row)
    matrix = np.array(rows)
    rest = 1.0 - matrix.sum(axis=1)
    matrix = np.column_stack([matrix, rest])
    omega = [Fraction(x) for x in matrix.min(axis=0)]
    for n in (2, 3):
        truth = max(
            round_divergence([Fraction(x) for x in a], [Fraction(x) for x in b], omega, n, Fraction(1))
            for a, b in permutations(matrix, 2)
        )
        ours = BlanketPairs(matrix).log_delta(np.array([0.0]), n=n, tol=1e-7, side="upper")
        assert Fraction(float(np.exp(ours[0]))) >= truth


@pytest.mark.parametrize("d", [1, 2, 5])
def test_coinciding_rows(d: int) -> None:
    pairs = BlanketPairs(np.full((d, 3), 1 / 3))
    assert pairs.epsilon(n=5, delta=1e-3, tol=1e-4, side="upper").epsilon == 0.0
    assert np.all(pairs.log_delta(np.array([0.0, 1.0]), n=5, tol=1e-4, side="upper") == -np.inf)
    assert list(pairs.pairs(9) or ()) == []


def test_few_laws_in_a_large_symmetric_matrix() -> None:
    d = 60
    pairs = BlanketPairs((np.ones((d, d)) + 4 * np.eye(d)) / (d + 4))
    rounds = pairs.pairs(4)
    assert rounds is not None and len(rounds) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [20, 300])
def test_no_pair_is_lost_where_few_others_hide(seed: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny blanket: the worst pair is looked for by the screen first, and is not the one of the largest spread."""
    monkeypatch.setattr(pairs_module, "_MANY_SUSPECTS", 0)
    matrix = np.random.default_rng(seed).dirichlet(np.full(6, 0.7), size=9)
    pairs, omega = BlanketPairs(matrix), matrix.min(axis=0)
    answer = pairs.epsilon(n=n, delta=1e-5, tol=1e-4, side="upper")
    rounds = [ShuffledPair(a, b, omega) for a, b in permutations(matrix, 2)]
    every = epsilon(rounds, n=n, delta=1e-5, tol=1e-4, side="upper")
    assert every * (1 - 1.1e-4) <= answer.epsilon <= every * (1 + 1.1e-4)
    for eps in (0.3, 3.0):
        ours = float(pairs.log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0])
        assert ours >= largest_log_delta(matrix, n, eps) - 1e-9


@pytest.mark.parametrize("ulps", [0, 5])
def test_alike_entries_are_one_level(ulps: int) -> None:
    """A circulant of two values whose entries differ by some units in the last place has as few laws as on paper."""
    first = np.where(np.arange(30) < 6, math.e, 1.0)
    clean, noisy = BlanketPairs(circulant(first)), BlanketPairs(circulant(first, ulps))
    shuffled = BlanketPairs(circulant(first, ulps)[np.random.default_rng(0).permutation(30)])
    found = [p.epsilon(n=1000, delta=1e-6, tol=1e-6, side="upper") for p in (clean, noisy, shuffled)]
    assert found[1].evaluated == found[2].evaluated == found[0].evaluated <= 15
    assert [f.epsilon for f in found] == pytest.approx([found[0].epsilon] * 3, rel=1e-9)


def test_symmetric_pairs_are_looked_at_once_and_leave_room() -> None:
    first = np.exp(-np.minimum(np.arange(12), 12 - np.arange(12)) / 3.0)
    rows = circulant(first, 2)
    pairs, omega = BlanketPairs(rows), rows.min(axis=0)
    assert pairs.first.size == 6  # rotations and a reversal
    for n in (5, 800):
        every = epsilon(
            [ShuffledPair(a, b, omega) for a, b in permutations(rows, 2)], n=n, delta=1e-5, tol=1e-6, side="upper"
        )
        answer = pairs.epsilon(n=n, delta=1e-5, tol=1e-6, side="upper")
        assert every * (1 - 2e-6) <= answer.epsilon <= every * (1 + 2e-6)
        assert answer.members == 132


def test_a_blanket_of_its_own_breaks_the_symmetry() -> None:
    rows = circulant(np.array([4.0, 2.0, 1.0, 1.5, 3.0]))
    blanket = rows.min(axis=0) * [1.0, 0.2, 1.0, 1.0, 1.0]
    answer = BlanketPairs(rows, blanket).epsilon(n=300, delta=1e-5, tol=1e-6, side="upper")
    every = epsilon(
        [ShuffledPair(a, b, blanket) for a, b in permutations(rows, 2)], n=300, delta=1e-5, tol=1e-6, side="upper"
    )
    assert answer.epsilon == pytest.approx(every, rel=2e-6)
