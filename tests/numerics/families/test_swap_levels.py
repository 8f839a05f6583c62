"""Matrices of few levels, exact and up to rounding: the same few laws, and never below the truth."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.swap import Datasets
from shuffledp.numerics.families.swap import SwapSet
from shuffledp.numerics.families.swap_levels import distinct
from shuffledp.numerics.families.swap_matrix import swap_pairs

from .test_alike import circulant


def block(d: int, k: int, ratio: float = 3.0) -> np.ndarray:
    return np.where(np.arange(d) < k, ratio, 1.0)


@pytest.mark.parametrize("shuffled", [False, True])
def test_rounding_does_not_make_more_laws(shuffled: bool) -> None:
    clean, noisy = circulant(block(20, 4)), circulant(block(20, 4), ulps=5)
    if shuffled:
        rng = np.random.default_rng(0)
        noisy = noisy[rng.permutation(20)][:, rng.permutation(20)]
    one, other = distinct(clean), distinct(noisy)
    assert one is not None and other is not None
    assert len(one._members) == len(other._members) <= 10
    found = [f.epsilon(n=2000, delta=1e-6, tol=1e-5, side="upper").epsilon for f in (one, other)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_a_large_circulant_of_two_values_is_quick() -> None:
    """Entries that differ by some units in the last place: once this took most of a minute."""
    first = block(100, 10, np.e)
    clean, noisy = (sdp.FiniteRandomizer(circulant(first, ulps)) for ulps in (0, 5))
    start = time.process_time()
    found = sdp.amplify(noisy, n=10**6, delta=1e-6).epsilon
    assert time.process_time() - start < 4.0
    assert found == pytest.approx(sdp.amplify(clean, n=10**6, delta=1e-6).epsilon, rel=1e-6)


@pytest.mark.parametrize("first", [[3, 1, 1, 1], [3, 3, 1, 1], [4, 2, 1, 1]])
def test_never_below_the_truth(first: list[int]) -> None:
    """Every dataset of four users, in fractions."""
    exact = [[Fraction(first[(y - x) % 4], sum(first)) for y in range(4)] for x in range(4)]
    rows = circulant(np.array(first, dtype=float), ulps=3)
    truth, n = Datasets(exact, 4), 4
    family = swap_pairs(rows)
    assert isinstance(family, SwapSet)
    eps = np.array([0.0, 0.2, 0.7])
    ours = family.log_delta(eps, n=n, tol=1e-4, side="upper")
    for e, value in zip(eps, ours, strict=True):
        worst = max(max(truth.deltas(pair, Fraction(float(np.exp(e))))) for pair in truth.laws)
        assert float(np.exp(value)) >= float(worst) * (1 - 1e-12)


def test_more_levels_are_left_to_the_search() -> None:
    assert distinct(circulant(np.array([5.0, 4.0, 3.0, 2.0, 1.0]))) is None
