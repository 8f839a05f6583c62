"""The swap bound of matrices: by distinct laws and by search, against every pair on its own and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

import shuffledp as sdp
from shuffledp.errors import BoundNotApplicableError
from shuffledp.numerics.evaluators import swap as evaluator
from shuffledp.numerics.families.swap import SwapSet
from shuffledp.numerics.families.swap_levels import distinct
from shuffledp.numerics.families.swap_matrix import SwapMatrix, _every_pair, swap_pairs

from .test_alike import circulant

TERMS = {"n": 2000, "delta": 1e-6}


def random_rows(seed: int, d: int, outputs: int, eps0: float = 1.0) -> NDArray[np.float64]:
    rows = np.exp(eps0 * np.random.default_rng(seed).random((d, outputs)))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("shape", [(5, 4), (6, 9), (9, 3)])
def test_the_search_finds_the_worst_pair(shape: tuple[int, int]) -> None:
    rows = random_rows(7, *shape)
    for n, delta in ((300, 1e-4), (10**5, 1e-8)):
        one_by_one = SwapSet(_every_pair(rows)).epsilon(n=n, delta=delta, tol=1e-5, side="upper").epsilon
        found = SwapMatrix(rows).epsilon(n=n, delta=delta, tol=1e-5, side="upper")
        assert one_by_one * (1 - 2e-5) <= found.epsilon <= one_by_one * (1 + 2e-4)
        assert 1 <= found.evaluated < found.members


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_is_dropped_that_exceeds(seed: int) -> None:
    """At any eps: what the search calls closed is below the level when it is evaluated."""
    rows = random_rows(seed, 7, 6, 1.5)
    matrix, every = SwapMatrix(rows), _every_pair(rows)
    order = [(a, b) for a, b in itertools.product(range(7), repeat=2) if a != b]
    for eps, n in ((0.05, 3000), (0.2, 300), (0.02, 10**5)):
        values = [SwapSet([m]).log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0] for m in every]
        level = float(np.quantile(values, 0.8))
        left = matrix.open_at(matrix.every, eps, n, level)
        assert left is not None
        named = {divmod(int(pair), 7) for pair in left}
        assert {pair for pair, value in zip(order, values, strict=True) if value > level + 1e-3} <= named


def test_profiles_of_the_search_are_those_of_the_pairs() -> None:
    rows = random_rows(3, 6, 5)
    eps = np.array([0.02, 0.05, 0.1])
    mine = SwapMatrix(rows).log_delta(eps, n=2000, tol=1e-3, side="upper")
    theirs = SwapSet(_every_pair(rows)).log_delta(eps, n=2000, tol=1e-3, side="upper")
    assert np.all(mine >= theirs - 1e-3) and np.all(mine <= theirs + 0.03)


@pytest.mark.parametrize("spec", ["grr:eps0=1,d=6", "unary:eps0=1,d=4", "subset:eps0=1,d=6,k=2", "hadamard:eps0=2,d=6"])
def test_few_levels_give_the_laws_of_the_mechanism(spec: str) -> None:
    m = sdp.mechanism(spec)
    matrix = sdp.FiniteRandomizer(m.probabilities())  # type: ignore[attr-defined]
    ours, listed = (sdp.amplify(x, bound="swap", **TERMS).epsilon for x in (m, matrix))  # type: ignore[arg-type]
    assert ours == pytest.approx(listed, rel=3e-4)


def test_equal_laws_are_listed_once() -> None:
    few = distinct(sdp.GRR(eps0=1.0, d=8).probabilities())
    assert few is not None and few.members(10) is None
    assert len(few._members) == 1 and len(few._members[0].types) == 3
    assert distinct(random_rows(0, 8, 8)) is None


def test_truth_is_never_above() -> None:
    """The best constant dataset, which is exact, and every constant dataset of every pair."""
    rows = random_rows(11, 8, 6, 2.0)
    m = sdp.FiniteRandomizer(rows)
    for n in (50, 2000, 10**6):
        upper = sdp.amplify(m, n=n, delta=1e-6, bound="swap").epsilon
        for a, b, x in ((0, 1, 2), (3, 4, 4), (5, 6, 0), (7, 2, 2), (1, 7, 7)):
            pair = sdp.ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x])
            assert sdp.amplify(pair, n=n, delta=1e-6).lower <= upper * (1 + 1e-9)  # type: ignore[operator]


def test_participation_thins_the_types() -> None:
    rows = random_rows(5, 6, 5)
    some, same = SwapMatrix(rows).thinned(0.5), SwapSet(_every_pair(rows)).thinned(0.5)
    found, want = (f.epsilon(n=2000, delta=1e-6, tol=1e-5, side="upper").epsilon for f in (some, same))
    assert want * (1 - 2e-5) <= found <= want * (1 + 2e-4)


def test_what_is_refused() -> None:
    zeros = random_rows(1, 6, 6)
    zeros[0, 0] = 0.0
    zeros /= zeros.sum(axis=1, keepdims=True)
    with pytest.raises(BoundNotApplicableError, match="zeros"):
        swap_pairs(zeros)
    with pytest.raises(BoundNotApplicableError, match="at most 310 different inputs, got 400"):
        swap_pairs(random_rows(1, 400, 3))
    with pytest.raises(BoundNotApplicableError, match="upper bound"):
        SwapMatrix(random_rows(1, 5, 5)).epsilon(n=10, delta=1e-3, tol=1e-4, side="lower")
    assert SwapMatrix(random_rows(1, 5, 5)).epsilon(n=1, delta=1e-3, tol=1e-4, side="upper").epsilon == math.inf
    assert sdp.amplify(sdp.FiniteRandomizer(zeros), n=100, delta=1e-3).bound == "blanket"


def test_a_rare_symbol_tells_pairs_apart() -> None:
    """Pairs that differ only in a symbol of mass 1e-13 are different: one of them reveals its input by it."""
    rows = np.array([[math.e if x in s else 1.0 for s in itertools.combinations(range(5), 2)] for x in range(5)])
    rows /= rows.sum(axis=1, keepdims=True)
    rows = rows[np.lexsort(rows.T[::-1])]
    rare = np.full((5, 1), 1e-19)
    rare[4] = 1e-13
    m = sdp.FiniteRandomizer(np.hstack([rows * (1 - rare), rare]))
    assert float(sdp.profile(m, n=1000, epsilon=2.0)) >= 9.9e-14
    for terms in ({}, {"participation": 0.5}):
        assert sdp.amplify(m, n=1000, delta=5e-14, **terms).epsilon > 2.0  # type: ignore[arg-type]


def test_rows_that_nearly_coincide_are_not_merged() -> None:
    rows = np.tile([0.2, 0.3, 0.5], (5, 1))
    rows[:, 0] += 2e-14 * np.arange(5)
    rows[:, 1] -= 2e-14 * np.arange(5)
    m = sdp.FiniteRandomizer(rows)
    assert float(sdp.profile(m, n=1, epsilon=0.0)) >= 7.9e-14
    assert sdp.amplify(m, n=2, delta=1e-200).epsilon > 1e-13


def test_all_types_of_a_pair_are_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look at a pair has a line of its own: types that another line had settled are looked at again there."""
    rows = random_rows(2, 7, 6, 1.5)
    matrix = SwapMatrix(rows)
    seen: list[int] = []
    plain = evaluator.log_screen

    def counted(x, t, waiting, line):  # type: ignore[no-untyped-def]
        if line.c.size and np.all(line.c == line.c[0]):
            seen.append(len(x))
        return plain(x, t, waiting, line)

    pair = int(matrix.every[0])
    terms = matrix._moments.terms(0.05, matrix._share, matrix.common_mass, 3000, -14.0)
    monkeypatch.setattr(evaluator, "log_screen", counted)
    only = np.zeros(7, dtype=bool)
    only[3] = True
    value = matrix._value(pair, only, terms, -1e9)
    assert seen == [7]
    every = matrix._value(pair, np.ones(7, dtype=bool), terms, -1e9)
    assert value >= every - 0.05


@pytest.mark.parametrize("ulps", [0, 3])
def test_symmetric_matrices_are_searched_once(ulps: int) -> None:
    first = np.exp(-np.minimum(np.arange(9), 9 - np.arange(9)) / 4.0)
    rows = circulant(first, ulps)
    found = swap_pairs(rows)
    assert isinstance(found, SwapMatrix) and found.every.size == 4
    for terms in ({"n": 400, "delta": 1e-5}, {"n": 10**6, "delta": 1e-9}):
        want = SwapSet(_every_pair(rows)).epsilon(tol=1e-5, side="upper", **terms).epsilon  # type: ignore[arg-type]
        mine = found.epsilon(tol=1e-5, side="upper", **terms).epsilon  # type: ignore[arg-type]
        assert want * (1 - 2e-5) <= mine <= want * (1 + 2e-4)


@pytest.mark.parametrize("seed", range(3))
def test_very_large_ratios(seed: int) -> None:
    """Ratios of 1e6 and more: no pair is lost, and the truth of a constant dataset is never above."""
    rng = np.random.default_rng(seed)
    rows = rng.random((6, 7)) + 0.05
    rows[rng.integers(6), 2] = 1e-8
    rows[rng.integers(6), 4] = 3e-12
    rows /= rows.sum(axis=1, keepdims=True)
    matrix = SwapMatrix(rows)
    for n, delta in ((2000, 1e-5), (10**7, 1e-9)):
        one_by_one = SwapSet(_every_pair(rows)).epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon
        found = matrix.epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon
        assert found >= one_by_one * (1 - 2e-4)
        lower = max(
            sdp.amplify(sdp.ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x]), n=n, delta=delta).lower or 0.0
            for a, b, x in itertools.islice(itertools.product(range(6), repeat=3), 0, None, 17)
            if a != b
        )
        assert lower <= found * (1 + 1e-9)


def test_the_swap_bound_is_clearly_below_the_blanket() -> None:
    m = sdp.FiniteRandomizer(random_rows(4, 12, 12))
    found = sdp.amplify(m, n=10**6, delta=1e-8)
    assert found.bound == "swap"
    assert found.epsilon < 0.95 * sdp.amplify(m, n=10**6, delta=1e-8, bound="blanket").epsilon


def banded(size: int) -> NDArray[np.float64]:
    rows = np.exp(-6.0 * np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / size)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n", [pytest.param(1000, marks=pytest.mark.slow), 10**6])
def test_auto_is_the_smaller_of_two_searches(n: int) -> None:
    m = sdp.FiniteRandomizer(banded(40))
    each = [sdp.amplify(m, n=n, delta=1e-5, bound=bound).epsilon for bound in ("blanket", "swap")]
    found = sdp.amplify(m, n=n, delta=1e-5)
    assert found.epsilon == min(each)
    many = sdp.amplify(m, n=np.full(20, n), delta=1e-5)
    assert many.epsilon[0] == pytest.approx(found.epsilon, rel=1e-4)


@pytest.mark.parametrize("kind", ["too many inputs", "zeros"])
def test_auto_answers_where_swap_is_not_evaluated(kind: str) -> None:
    rows = (
        random_rows(0, 320, 5) if kind == "too many inputs" else np.hstack([0.5 * np.eye(30), np.full((30, 3), 1 / 6)])
    )
    rows[:, 0] += 1e-3 * np.arange(len(rows)) / len(rows)  # no symmetries, many levels
    m = sdp.FiniteRandomizer(rows / rows.sum(axis=1, keepdims=True))
    with pytest.raises(BoundNotApplicableError, match="bound 'swap' is"):
        sdp.amplify(m, n=1000, delta=1e-5, bound="swap")
    found = sdp.amplify(m, n=1000, delta=1e-5).epsilon
    assert found <= sdp.amplify(m, n=1000, delta=1e-5, bound="blanket").epsilon * (1 + 1e-4)
