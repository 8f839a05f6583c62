"""Pairs of a matrix: no member is lost by screening, merging or symmetry, and screens are above the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from reference.repetition import slow
from shuffledp.errors import BoundNotApplicableError
from shuffledp.numerics.composition.profile_curve import profile
from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.datasets import constant_datasets, two_count_datasets
from shuffledp.numerics.family import Asked, Family, PairSet, Smallest
from shuffledp.numerics.matrix import SwapPairs, blanket_pairs, swap_pairs
from shuffledp.numerics.moments import PairMoments
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.screen import log_screen
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair
from shuffledp.numerics.symmetry import Alike, groups, merged_columns, representatives

TOL = 1e-4


def _rows(table: np.ndarray) -> np.ndarray:
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _matrix(kind: str, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng((seed, d))
    table = rng.random((d, d + seed % 3)) + 0.05
    if kind == "zeros":
        table[rng.random(table.shape) < 0.15] = 0.0
        table[:, 0] = 1.0
    elif kind == "near":
        table = np.tile(table[0], (d, 1)) * (1.0 + 1e-5 * rng.random(table.shape))
    elif kind == "circulant":
        table = np.array([np.roll(table[0], i) for i in range(d)])
    elif kind == "equal":
        table[1] = table[0]
        table[:, -1] = 2.0 * table[:, 0]
    elif kind == "levels":
        table = np.where(rng.random(table.shape) < 0.5, 3.0, 1.0)
    elif kind == "ratios":
        table = np.exp(rng.uniform(0.0, 6.0, table.shape))
    return _rows(table)


def _pairs(matrix: np.ndarray) -> list[ShuffledPair]:
    omega = matrix.min(axis=0)
    different = (x for x in itertools.permutations(matrix, 2) if not np.array_equal(*x))
    return [ShuffledPair(a, b, omega) for a, b in different]


KINDS = ("random", "zeros", "near", "circulant", "equal", "levels", "ratios")


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "10-0.001-5-circulant",
    "10-0.001-5-equal",
    "10-0.001-5-levels",
    "10-0.001-5-near",
    "10-0.001-5-random",
    "10-0.001-5-ratios",
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize(("n", "delta"), [(10, 1e-3), (10**5, 1e-9)])
def test_blanket_is_the_largest_of_all_pairs(kind: str, d: int, n: int, delta: float) -> None:
    matrix = _matrix(kind, d, 1)
    family = blanket_pairs(matrix)
    found = family.epsilon(n=n, delta=delta, tol=TOL, side="upper").epsilon
    alone = [PairSet([pair]) for pair in _pairs(matrix)] or [PairSet([])]
    above = max(one.epsilon(n=n, delta=delta, tol=TOL, side="upper").epsilon for one in alone)
    below = max(one.epsilon(n=n, delta=delta, tol=TOL, side="lower").epsilon for one in alone)
    assert below <= found
    assert found <= above * (1.0 + 2.0 * TOL) + 1e-11
    eps = np.array([0.0, 0.5 * above, 0.9 * above]) if math.isfinite(above) else np.array([0.0, 1.0, 3.0])
    value = family.log_delta(eps, n=n, tol=TOL, side="upper")
    truth = np.max([one.log_delta(eps, n=n, tol=TOL, side="lower") for one in alone], axis=0)
    most = np.max([one.log_delta(eps, n=n, tol=TOL, side="upper") for one in alone], axis=0)
    assert np.all(value >= truth)
    assert np.all(value <= np.logaddexp(most + 2.0 * TOL, np.log(1e-11)))


def _swap_alone(matrix: np.ndarray) -> list[SwapPair]:
    common = float(matrix.min(axis=0).sum()) * (1.0 - 1e-12)
    different = (x for x in itertools.permutations(matrix, 2) if not np.array_equal(*x))
    return [SwapPair(tuple(ShuffledPair(a, b, x) for x in matrix), common) for a, b in different]


@pytest.mark.heavy
@pytest.mark.slow_cases("400-0.001-5-circulant", "400-0.001-5-equal", "400-0.001-5-levels", "400-0.001-5-random")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("zeros", "ratios")])
@pytest.mark.parametrize("d", [3, 5])
@pytest.mark.parametrize(("n", "delta"), [(400, 1e-3), (10**6, 1e-8)])
def test_swap_is_the_largest_of_all_pairs_and_above_constant_datasets(kind: str, d: int, n: int, delta: float) -> None:
    matrix = _matrix(kind, d, 2)
    family = swap_pairs(matrix)
    found = family.epsilon(n=n, delta=delta, tol=TOL, side="upper").epsilon
    alone: list[Family] = [SwapSet([pair]) for pair in _swap_alone(matrix)] or [PairSet([])]
    most = max(one.epsilon(n=n, delta=delta, tol=TOL, side="upper").epsilon for one in alone)
    assert found <= most * (1.0 + 10.0 * TOL) + 1e-11
    lower = constant_datasets(matrix)
    assert found >= lower.epsilon(n=n, delta=delta, tol=TOL, side="lower").epsilon
    eps = np.array([0.3, 0.9, 1.1]) * found
    value = family.log_delta(eps, n=n, tol=TOL, side="upper")
    assert np.all(value >= lower.log_delta(eps, n=n, tol=TOL, side="lower"))
    assert np.all(value <= np.max([one.log_delta(eps, n=n, tol=TOL, side="upper") for one in alone], axis=0) + 1e-3)


@pytest.mark.parametrize("build", [blanket_pairs, swap_pairs])
def test_many_questions_have_the_answers_of_each_alone(build: type[Family]) -> None:
    families = [build(_matrix(kind, 6, seed)) for seed, kind in enumerate(("random", "circulant", "random"))]
    n, delta = np.array([500.0, 2000.0, 1e5]), np.array([1e-6, 1e-4, 1e-8])
    for kind in {type(family) for family in families}:
        rows = [i for i, family in enumerate(families) if type(family) is kind]
        asked = Asked(n[rows], delta[rows], TOL, "upper")
        together = kind.epsilons([families[i] for i in rows], asked)
        for i, answer in zip(rows, together, strict=True):
            alone = families[i].epsilon(n=int(n[i]), delta=float(delta[i]), tol=TOL, side="upper")
            assert answer.epsilon == pytest.approx(alone.epsilon, rel=2.0 * TOL)


@pytest.mark.heavy
def test_the_smallest_analyses_of_many_matrices_are_those_of_each_alone() -> None:
    matrices = [_matrix("random", 6, seed) for seed in range(3)]
    several = [Smallest({"swap": swap_pairs(matrix), "blanket": blanket_pairs(matrix)}) for matrix in matrices]
    n, delta = np.array([300.0, 2000.0, 1e5]), np.array([1e-6, 1e-4, 1e-8])
    together = Smallest.epsilons(several, Asked(n, delta, TOL, "upper"))
    for family, answer, users, one in zip(several, together, n.tolist(), delta.tolist(), strict=True):
        each = [x.epsilon(n=int(users), delta=one, tol=TOL, side="upper") for x in family.families.values()]
        assert answer.epsilon == pytest.approx(min(x.epsilon for x in each), rel=2.0 * TOL)


@pytest.mark.heavy
@pytest.mark.slow_cases("swap_pairs")
@pytest.mark.parametrize("build", [blanket_pairs, swap_pairs])
def test_profile_is_above_each_value(build: type[Family]) -> None:
    family, eps = build(_matrix("random", 6, 3)), np.linspace(0.0, 0.4, 1000)
    found = profile(lambda at: family.log_delta(at, n=2000, tol=1e-3, side="upper"), eps, 1e-3, "upper")
    some = np.arange(0, 1000, 111)
    exact = family.log_delta(eps[some], n=2000, tol=1e-5, side="upper")
    assert np.all(found[some] >= exact - 2e-3)
    assert np.all(found[some] <= exact + 5e-3)


def test_a_chance_thins_the_blanket() -> None:
    matrix = _matrix("random", 5, 4)
    thin = blanket_pairs(matrix, chance=0.5).epsilon(n=1000, delta=1e-6, tol=TOL, side="upper").epsilon
    pairs = [ShuffledPair(p.P0, p.P1, 0.5 * np.asarray(p.t)) for p in _pairs(matrix)]
    assert thin == pytest.approx(
        PairSet(pairs).epsilon(n=1000, delta=1e-6, tol=TOL, side="upper").epsilon, rel=2.0 * TOL
    )


def test_pairs_that_may_not_be_evaluated_count_with_their_bounds() -> None:
    family = swap_pairs(_matrix("random", 12, 5))
    assert isinstance(family, SwapPairs)
    sharp = family.epsilon(n=500, delta=1e-6, tol=TOL, side="upper")
    values = family.log_delta(np.array([0.9 * sharp.epsilon]), n=500, tol=TOL, side="upper")
    family.most_evaluated = 0
    loose = family.epsilon(n=500, delta=1e-6, tol=TOL, side="upper")
    assert loose.note.startswith("looser, because")
    assert sharp.epsilon < loose.epsilon < 2.0 * sharp.epsilon
    assert family.log_delta(np.array([0.9 * sharp.epsilon]), n=500, tol=TOL, side="upper")[0] > values[0]


def test_refusals() -> None:
    zeros = _matrix("zeros", 8, 1)
    with pytest.raises(BoundNotApplicableError, match="zeros"):
        swap_pairs(zeros)
    with pytest.raises(BoundNotApplicableError, match="different inputs"):
        swap_pairs(_matrix("random", 320, 1))
    for build in (blanket_pairs, swap_pairs):
        with pytest.raises(BoundNotApplicableError, match="upper bound"):
            build(_matrix("random", 8, 1)).epsilon(n=1000, delta=1e-6, tol=TOL, side="lower")


def test_few_users_are_not_searched() -> None:
    family = swap_pairs(_matrix("random", 8, 1))
    assert math.isinf(family.epsilon(n=10, delta=1e-6, tol=TOL, side="upper").epsilon)
    assert family.log_delta(np.array([0.1]), n=10, tol=TOL, side="upper")[0] == 0.0


def test_symmetries_are_found_up_to_rounding() -> None:
    circulant = _matrix("circulant", 9, 6)
    assert representatives(circulant).size == 8
    shaken = circulant * (1.0 + 1e-15 * np.random.default_rng(0).standard_normal(circulant.shape))
    assert representatives(shaken).size == 8
    assert isinstance(blanket_pairs(shaken), Alike)
    exact, near = (
        build.epsilon(n=100, delta=1e-4, tol=1e-6, side="upper") for build in map(blanket_pairs, (circulant, shaken))
    )
    assert near.members == 72
    assert near.epsilon == pytest.approx(exact.epsilon, rel=1e-6)
    assert groups(np.array([1.0, 1.0 + 1e-9]))[1].tolist() == [0, 1]


def test_proportional_columns_are_one() -> None:
    matrix = _matrix("equal", 5, 7)
    assert merged_columns(matrix).shape[1] == matrix.shape[1] - 1
    assert merged_columns(matrix).sum(axis=1) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("tries", [25, slow(500)])
def test_the_lower_bound_is_the_largest_of_all_listed_pairs(tries: int) -> None:
    """Symbols that the others never send make a spread infinite, and may still tell less than others."""
    cases = [(np.array([[0.4591, 0.0, 0.5409], [0.8824, 0.0017, 0.1159], [0.7036, 0.0, 0.2964]]), 1_000, 0.01)]
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        table = rng.gamma(rng.choice([0.5, 1.0]), size=(rng.integers(2, 12), rng.integers(2, 8))) + 0.01
        table[rng.random(table.shape) < 0.3] *= rng.choice([0.0, 0.01])
        table[:, 0] += 1e-3
        cases.append((_rows(table), int(10 ** rng.uniform(1.0, 6.0)), 10 ** rng.uniform(-6.0, -2.0)))
    for k, (matrix, n, delta) in enumerate(cases):
        asked = {"n": n, "delta": delta, "tol": 1e-3, "side": "lower"}
        found = constant_datasets(matrix)
        alone = max(PairSet([pair]).epsilon(**asked).epsilon for pair in found.among(n))
        assert found.epsilon(**asked).epsilon == pytest.approx(alone, rel=2e-3, abs=1e-12), (k - 1, n, delta)


def test_two_counts_are_below_whole_datasets() -> None:
    matrix = _matrix("random", 12, 8)
    asked = {"n": 1000, "delta": 1e-6, "tol": TOL, "side": "lower"}
    assert (
        0.0 < two_count_datasets(matrix).epsilon(**asked).epsilon <= constant_datasets(matrix).epsilon(**asked).epsilon
    )


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("seed", range(4))
def test_screens_are_above_the_truth(seed: int) -> None:
    matrix = _matrix("ratios" if seed % 2 else "random", 5, seed)
    pairs = _pairs(matrix)
    for n, eps in itertools.product((3.0, 30.0, 1e3, 1e6), (0.0, 0.01, 0.3)):
        users, at = np.full(len(pairs), n), np.full(len(pairs), eps)
        truth = PairCurve.of(pairs, users, "lower").at(at, np.full(len(pairs), 1e-4)).log_delta
        curve = PairCurve.of(pairs, users, "upper")
        x, _ = curve.laws.at(at, "upper")
        assert np.all(log_screen(x, curve.laws.t, users) >= truth)


@pytest.mark.heavy_cases("0")
@pytest.mark.parametrize("seed", [0, 1, slow(2), slow(3)])
@np.errstate(all="ignore")
def test_moments_are_above_constant_datasets(seed: int) -> None:
    """From four moments, from laws and by sums, over the blanket and by swaps, on good lines and on bad ones."""
    matrix = _matrix("ratios" if seed % 2 else "random", 5, seed)
    first, second = np.array([0, 1, 2, 4]), np.array([1, 2, 3, 0])
    omega = matrix.min(axis=0)
    for types, beta, more in ((matrix / omega, float(omega.sum()), 0.0), (np.ones((1, omega.size)), 1.0, 1.0)):
        moments = PairMoments(matrix / omega, omega, np.zeros((5, 0)), types, 1.0 - 1e-12, beta)
        for n, eps in itertools.product((30.0, 1e3, 1e6), (0.0, 0.01, 0.2)):
            pairs = zip(matrix[first], matrix[second], strict=True)
            laws = [[ShuffledPair(a, b, omega * x) for x in types] for a, b in pairs]
            truth = [PairSet(f).log_delta(np.array([eps]), n=int(n), tol=1e-6, side="lower")[0] for f in laws]
            asked = np.full(4, n + more), np.full(4, eps)
            for level, scale in itertools.product((800.0, -15.0, -800.0), (0.2, 1.0)):
                c = scale / np.sqrt(n * ((matrix[first] - matrix[second]) ** 2 / omega).sum(axis=1))
                value = moments.screen(first, second, *asked, np.full(4, level), lambda rows, c=c: c[rows])
                assert np.all(value >= truth)
