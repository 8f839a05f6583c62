"""Classes of others against every dataset of few users."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from random import Random

import numpy as np
import pytest

from reference.fractions_oracle import Law, _send, exp_enclosure, hockey_stick
from reference.randomizers import Matrix, floats, grr
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.swap.family import Class, ClassSet, Mixed
from shuffledp.numerics.swap.pair import SwapPair

F = Fraction


def truth(matrices: list[Matrix], others: list[int], pair: tuple[list[F], list[F]], E: F) -> F:
    """The largest divergence over all that the others of every class may hold."""
    worst = F(0)
    ways = [combinations_with_replacement(range(len(m)), count) for m, count in zip(matrices, others, strict=True)]
    for held in product(*(list(way) for way in ways)):
        law: Law = {(0,) * len(pair[0]): F(1)}
        for matrix, values in zip(matrices, held, strict=True):
            for x in values:
                law = _send(law, matrix[x], F(0))
        worst = max(worst, hockey_stick(_send(law, pair[0], F(0)), _send(law, pair[1], F(0)), E))
    return worst


def upper(matrices: list[Matrix], others: list[int], pair: tuple[list[F], list[F]], eps: list[float]) -> np.ndarray:
    """The swap bound on delta at every eps."""
    rows = [floats(m) for m in matrices]
    common = float(np.concatenate(rows).min(axis=0).sum()) * (1 - 1e-12)
    p0, p1 = ([float(x) for x in law] for law in pair)
    members = [SwapPair(tuple(ShuffledPair(P0=p0, P1=p1, t=row) for row in some), common) for some in rows]
    shares = [count / sum(others) for count in others]
    family = ClassSet([Mixed(tuple(Class(*x) for x in zip(shares, members, strict=True)), common)])
    return np.exp(family.log_delta(np.array(eps), n=sum(others) + 1, tol=1e-4, side="upper"))


def random_classes(rng: Random) -> list[Matrix]:
    kind = rng.randrange(3)
    if kind == 0:
        return [grr(2, rng.choice([2, 3, 10])), grr(2, rng.choice([2, 5, 50]))]
    if kind == 1:  # a hole in one class
        return [[[F(9, 10), F(1, 10)], [F(1), F(0)]], grr(2, 3)]

    def row(size: int) -> list[F]:
        weights = [rng.choice([1, 2, 7]) for _ in range(size)]
        return [F(w, sum(weights)) for w in weights]

    return [[row(3) for _ in range(2)] for _ in range(2)]


@pytest.mark.heavy
@pytest.mark.slow_cases("6")
@pytest.mark.parametrize("seed", range(9))
def test_never_below_the_truth_over_all_datasets(seed: int) -> None:
    rng = Random(seed)
    matrices = random_classes(rng)
    for others in ([1, 1], [2, 1], [1, 3], [0, 2]):
        for victim, (a, b) in product(matrices, permutations(range(2))):
            pair = (victim[a], victim[b])
            eps = [0.05, 0.4, 1.0]
            for value, bound in zip(eps, upper(matrices, others, pair, eps), strict=True):
                assert float(truth(matrices, others, pair, exp_enclosure(value)[1])) <= bound


def test_two_equal_classes_are_one() -> None:
    rows = grr(3, 3)
    pair = (rows[0], rows[1])
    eps = [0.1, 0.3]
    whole, halves = upper([rows], [800], pair, eps), upper([rows, rows], [300, 500], pair, eps)
    assert np.allclose(np.log(whole), np.log(halves), atol=1e-9)


def test_a_class_of_larger_budgets_makes_the_answer_larger() -> None:
    """Between the answers of either class alone; and eps is solved for as it is evaluated."""
    rows = [floats(grr(3, q)) for q in (2, 6)]
    common = float(np.concatenate(rows).min(axis=0).sum()) * (1 - 1e-12)
    members = [SwapPair(tuple(ShuffledPair(rows[0][0], rows[0][1], row) for row in some), common) for some in rows]
    found = []
    for share in (0.0, 0.5, 1.0):
        family = ClassSet([Mixed((Class(1.0 - share, members[0]), Class(share, members[1])), common)])
        eps = family.epsilon(n=10**4, delta=1e-6, tol=1e-5, side="upper").epsilon
        at = family.log_delta(np.array([eps, 0.99 * eps]), n=10**4, tol=1e-5, side="upper")
        assert at[0] <= math.log(1e-6) < at[1]
        found.append(eps)
    assert found[0] < found[1] < found[2]
