"""Theorem 3 of docs/swap.md: what is known by its ratios alone, against all datasets of randomizers that have them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference import repetition
from reference.randomizers import Matrix, grr
from reference.repetition import slow
from reference.swap import Datasets, binary_response, ternary_response
from reference.swap_members import changed, ratios
from shuffledp.mechanisms.known.eps0_vertices import informative, swap_of, worst_laws
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.swap.family import SwapSet

EPS = (0.0, 0.05, 0.4, 1.2)


def log_above(q: Fraction) -> float:
    """A float not below log q."""
    return math.nextafter(math.log(q) * (1 + 1e-15), math.inf) + 1e-16


def largest_ratio(rows: Matrix) -> Fraction:
    return max(max(column) / min(column) for column in zip(*rows, strict=True))


def positive(rng: Random) -> Matrix:
    """2 or 3 inputs, 2 to 4 outputs, no zeros: columns of two heights, as extreme randomizers have."""
    inputs, outputs, q = rng.choice([2, 3]), rng.choice([2, 3, 4]), rng.choice([2, 3, 6, 30])
    rows = [[Fraction(rng.choice([1, q]) * weight) for weight in range(1, outputs + 1)] for _ in range(inputs)]
    return [[v / sum(row) for v in row] for row in rows]


def bound_of(family: SwapSet, n: int) -> list[Fraction]:
    return [Fraction(math.exp(v)) for v in family.log_delta(np.array(EPS), n=n, tol=1e-4, side="upper")]


def attack(matrix: Matrix, n: int) -> tuple[int, Fraction]:
    """truth <= swap-general for every pair and dataset; how many cases, and the largest truth over bound at eps > 0."""
    eps0 = log_above(largest_ratio(matrix))
    bounds, truth, cases, closest = bound_of(swap_of(eps0, eps0), n), Datasets(matrix, n), 0, Fraction(0)
    for pair in permutations(range(len(matrix)), 2):
        for E, bound in zip(ratios(EPS), bounds, strict=True):
            deltas = truth.deltas(pair, E)
            assert max(deltas) <= bound, (matrix, n, pair, float(E), float(max(deltas)), float(bound))
            cases += len(deltas)
            if E > 1 and bound:
                closest = max(closest, max(deltas) / bound)
    return cases, closest


@pytest.mark.heavy
def test_no_randomizer_with_this_budget_exceeds_it() -> None:
    rng = Random(4)
    cases = sum(attack(positive(rng), rng.choice([2, 3, 4]))[0] for _ in range(10))
    cases += sum(attack(grr(d, q), 4)[0] for d in (2, 3) for q in (2, 8))
    assert cases > 500


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, *(slow(k) for k in range(2, 10))])
def test_climbing_over_randomizers_with_a_budget(seed: int) -> None:
    rng, n = Random(seed), 3 + (seed + 2) % 3
    matrix = positive(rng)
    best = attack(matrix, n)[1]
    for _ in range(8 if repetition.quick else 30):
        other = changed(matrix, rng, zeros=False)
        if largest_ratio(other) > 1 and (found := attack(other, n)[1]) >= best:
            matrix, best = other, found
    assert best <= 1


@pytest.mark.parametrize(("q", "n"), [(2, 30), (3, 60), slow(3, 200), slow(12, 100)])
def test_long_responses_have_the_budget(q: int, n: int) -> None:
    bounds = bound_of(swap_of(log_above(Fraction(q)), log_above(Fraction(q))), n)
    third = (0, 0, n - 1)
    for E, bound in zip(ratios(EPS), bounds, strict=True):
        mixed = [binary_response(q, n, ones, E) for ones in range(0, n, 5)]
        assert max(mixed) <= bound and ternary_response(q, n, third, E) <= bound
        assert ternary_response(q, n, (n // 3, 0, n - 1 - n // 3), E) <= bound


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, *(slow(k) for k in range(2, 12))])
def test_ratios_of_the_victim_and_of_the_crowd_apart(seed: int) -> None:
    """The victim's two values may be nearer to each other than to the others' (metric privacy)."""
    rng = Random(seed)
    for _ in range(5):
        rows = positive(rng)
        while len(rows) < 3:
            rows = positive(rng)
        part = Fraction(rng.choice([0, 1, 5, 8]), 10)
        rows[1] = [part * a + (1 - part) * b for a, b in zip(rows[0], rows[1], strict=True)]
        own, crowd = largest_ratio(rows[:2]), largest_ratio(rows)
        if own == 1:
            continue
        bounds, truth = bound_of(swap_of(log_above(own), log_above(crowd)), 4), Datasets(rows, 4)
        for pair in ((0, 1), (1, 0)):
            for E, bound in zip(ratios(EPS), bounds, strict=True):
                assert max(truth.deltas(pair, E)) <= bound, (rows, pair, float(E))


@pytest.mark.parametrize("eps0", [1e-6, 0.3, math.log(2.0), 1.0, 4.0, 30.0])
def test_five_vertices_of_which_four_tell_the_values_apart(eps0: float) -> None:
    every, four, q = worst_laws(eps0, eps0), informative(eps0, eps0), math.exp(eps0)
    assert len(every) == 5 and len(four) == 4
    for pair in every:
        laws = [np.asarray(law) for law in (pair.P0, pair.P1, pair.t)]
        assert all(law.sum() == pytest.approx(1.0, abs=1e-12) for law in laws)
        for a, b in permutations(laws, 2):
            assert np.all(a <= q * b * (1 + 1e-12))
    seen = sorted((len(p.t), round(float(np.min(p.P0) * (1.0 + q)), 6)) for p in four)
    assert [size for size, _ in seen] == [2, 2, 3, 3]
    (mute,) = [p for p in every if np.array_equal(p.P0, p.P1)]
    assert not np.array_equal(mute.P0, mute.t)


@pytest.mark.parametrize(
    ("eps0", "n", "delta"), [(0.5, 1000, 1e-6), (1.0, 1000, 1e-6), (3.0, 10**5, 1e-8), (1.0, 50, 1e-3)]
)
def test_the_lower_bound_is_the_best_of_the_four(eps0: float, n: int, delta: float) -> None:
    single = [PairSet([p]).epsilon(n=n, delta=delta, tol=1e-6, side="lower").epsilon for p in informative(eps0, eps0)]
    got = sdp.amplify(sdp.General(eps0=eps0), n=n, delta=delta, tol=1e-5)
    assert got.lower == pytest.approx(max(single), rel=1e-4)
    assert got.lower <= got.epsilon
    q = math.exp(eps0)
    leading = (q - 1.0) * math.sqrt(max(1.0 / q, 2.0 / (q + 2.0)))
    clone = (q - 1.0) * math.sqrt(2.0 / (q + 1.0))
    if n * delta <= 1e-3 and n >= 10**5:
        clone_eps = sdp.amplify(sdp.General(eps0=eps0), n=n, delta=delta, bound="general").epsilon
        assert got.epsilon / clone_eps == pytest.approx(leading / clone, rel=0.03)


@pytest.mark.slow_cases("10000-300.0", "10000-500.0", "1000000000000000-300.0", "1000000000000000-500.0")
@pytest.mark.parametrize("eps0", [1e-9, 1e-4, 0.5, 1.0, 4.0, 12.0, 300.0, 500.0])
@pytest.mark.parametrize("n", [1, 2, 10**4, 10**15])
def test_every_budget_has_an_answer(eps0: float, n: int) -> None:
    for delta in (1e-300, 1e-6):
        got = swap_of(eps0, eps0).epsilon(n=n, delta=delta, tol=1e-3, side="upper").epsilon
        assert 0.0 <= got <= eps0 * (1 + 1e-9) + 4e-15  # the rounding of a ratio
    if n == 2:  # everybody sends the same symbol: the ratio is e^eps0 whatever n is
        assert swap_of(eps0, eps0).epsilon(n=n, delta=1e-300, tol=1e-3, side="upper").epsilon >= eps0 * (1 - 1e-12)
