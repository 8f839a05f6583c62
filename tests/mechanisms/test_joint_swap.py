"""Tuples of answers by the swap bound: against the whole matrix, every dataset of few users, and what is left out."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure
from reference.randomizers import floats, grr
from reference.swap import Datasets
from shuffledp.mechanisms.composite import joint_law
from shuffledp.mechanisms.composite.parallel_law import symbols_in_order
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.product import product_pair

F = Fraction
EPS = (0.05, 0.4, 1.1)


def lopsided(seed: int, inputs: int, outputs: int) -> sdp.FiniteRandomizer:
    rows = np.random.default_rng(seed).dirichlet(np.ones(outputs), size=inputs)
    return sdp.FiniteRandomizer(0.8 * rows + 0.2 / outputs)


def whole(answers: Any) -> sdp.FiniteRandomizer:
    parts = [sdp.mechanism(m) if isinstance(m, str) else m for m in answers]
    return sdp.FiniteRandomizer(reduce(np.kron, [m.probabilities() for m in parts]))


PRODUCTS = [
    ("grr:eps0=1,d=3", "grr:eps0=2,d=2"),
    ("grr:eps0=1,d=2",) * 3,
    ("unary:eps0=1,d=3", "grr:eps0=1,d=3"),
    ("subset:eps0=1,d=3,k=2", "hadamard:eps0=1.3,d=3"),
    ("harmony:eps0=1,dim=2", "duchi:eps0=1,dim=2"),
    ("randomized-response:eps0=2", "optimized-unary:eps0=1,d=3"),
    ("hierarchical-grr:eps0=1,d=4", "grr:eps0=1,d=2"),
    (lopsided(1, 3, 3), lopsided(2, 2, 3)),
    ("sampling-rappor:eps0=1,d=4,s=2", lopsided(4, 2, 2)),
]


@pytest.mark.heavy
@pytest.mark.slow_cases("finite+finite", "sampling-rappor+finite")
@pytest.mark.parametrize(
    "answers", PRODUCTS, ids=lambda a: "+".join(str(getattr(m, "spec", m)).split(":")[0] for m in a)
)
def test_it_is_that_of_the_product_matrix(answers: Any) -> None:
    joint, matrix = sdp.Joint(answers), whole(answers)
    for n, delta in ((300, 1e-4), (20_000, 1e-6)):
        ours, theirs = (sdp.amplify(m, n=n, delta=delta, bound="swap", tol=1e-4) for m in (joint, matrix))
        # merged symbols are few, so the law that dominates all types is tried, which a matrix is too large for
        assert ours.epsilon <= theirs.epsilon * (1 + 1e-3)
        if theirs.epsilon < 0.999 * joint.local_epsilon:  # the search of a matrix gives up where few users are free
            assert 0.995 * theirs.epsilon <= ours.epsilon
        best = sdp.amplify(joint, n=n, delta=delta)
        assert best.lower is not None and best.lower <= best.epsilon <= ours.epsilon * (1 + 2e-3)


def test_two_answers_are_nearly_exact_and_far_below_the_blanket() -> None:
    joint = sdp.Joint(["unary:eps0=1,d=8", "grr:eps0=1,d=2"])
    found = sdp.amplify(joint, n=10**4, delta=1e-6)
    blanket = sdp.amplify(joint, n=10**4, delta=1e-6, bound="blanket").epsilon
    assert found.bound == "swap" and found.lower is not None
    assert found.epsilon <= 1.001 * found.lower
    assert found.epsilon < 0.85 * blanket


FRACTIONS = [
    (grr(2, 3), grr(2, 5)),
    (grr(2, 10), [[F(1, 2), F(1, 2)], [F(19, 20), F(1, 20)]]),
    ([[F(36, 100), F(64, 100)], [F(9, 10), F(1, 10)]], [[F(6, 100), F(94, 100)], [F(97, 100), F(3, 100)]]),
    ([[F(9, 10), F(1, 10)], [F(1), F(0)]], grr(2, 3)),  # a hole
]


@pytest.mark.slow_cases("4-*", "3-2", "3-3")
@pytest.mark.parametrize("which", range(len(FRACTIONS)))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_never_below_the_truth_over_every_dataset(which: int, n: int) -> None:
    """Every pair of tuples, those that keep an answer included, and every dataset."""
    first, second = FRACTIONS[which]
    rows = [[a * b for a in x for b in y] for x in first for y in second]
    truth = Datasets(rows, n)
    family = sdp.Joint([sdp.FiniteRandomizer(floats(m)) for m in (first, second)]).law.swap()
    for eps in EPS:
        bound = float(np.exp(family.log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0]))
        worst = max(max(truth.deltas(pair, exp_enclosure(eps)[1])) for pair in truth.laws)
        assert float(worst) <= bound


def test_kept_answers_are_listed_among_every_type() -> None:
    """Each victim who keeps an answer, beside each constant dataset: its exact divergence is below that of a member."""
    first, second = ([[0.36, 0.64], [0.9, 0.1]], [[0.06, 0.94], [0.97, 0.03]])
    listed = sdp.Joint([sdp.FiniteRandomizer(rows) for rows in (first, second)]).law.swap().laws(100) or ()
    assert len(listed) == 12  # (two directions + two kept)^2 - 4
    rows = [np.kron(a, b) for a in first for b in second]
    laws = [member.types for member in listed]
    for a, b in itertools.permutations(range(4), 2):
        wanted = {symbols_in_order(product_pair([ShuffledPair(P0=rows[a], P1=rows[b], t=t)])) for t in rows}
        tables = [{symbols_in_order(pair) for pair in types} for types in laws]
        assert any(_near(wanted, table) for table in tables)


def _near(first: set[bytes], second: set[bytes]) -> bool:
    tables = [sorted(np.frombuffer(x).round(12).tolist() for x in some) for some in (first, second)]
    return len(tables[0]) == len(tables[1]) and all(
        len(x) == len(y) and np.allclose(x, y, rtol=1e-9, atol=1e-12) for x, y in zip(*tables, strict=True)
    )


def test_equal_answers_are_counted_once() -> None:
    (few,) = {len(member.types) for member in sdp.Joint(["grr:1,4"]).law.swap().laws(10) or ()} - {2}
    assert few == 3
    twice = sdp.Joint(["grr:1,4"] * 2).law.swap().laws(10) or ()
    assert sorted(len(member.types) for member in twice) == [6, 6]  # both change: 3 + 3; one kept: 3 x 2


def test_parameters_that_say_nothing() -> None:
    flat = sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])
    both = sdp.amplify(sdp.Joint([flat, "grr:1,4"]), n=1000, delta=1e-6, bound="swap").epsilon
    assert both == pytest.approx(sdp.amplify("grr:1,4", n=1000, delta=1e-6, bound="swap").epsilon, rel=1e-6)


def test_where_the_types_are_too_many_or_unknown_the_blanket_answers() -> None:
    unknown = sdp.Joint(["general:1", "grr:1,4"])
    assert sdp.amplify(unknown, n=1000, delta=1e-6).bound == "blanket"
    many = sdp.Joint([f"grr:{eps0},16" for eps0 in (0.5, 0.6, 0.7, 0.8, 0.9)])
    with pytest.raises(sdp.BoundNotApplicableError, match=r"at most 1,000 combinations.*use bound='auto'"):
        many.law.swap()
    assert sdp.amplify(many, n=1000, delta=1e-6).bound == "blanket"
    parallel = sdp.Joint([sdp.Parallel([(0.5, "grr:1,2"), (0.5, "grr:1,3")]), "grr:1,2"])
    with pytest.raises(sdp.BoundNotApplicableError, match="types of every answer"):
        parallel.law.swap()


def test_small_matrices_that_list_no_pairs_are_searched_as_one() -> None:
    answers = [lopsided(1, 7, 3), lopsided(2, 3, 3)]
    assert answers[0].law.swap_members(1000) is None
    ours, theirs = (
        sdp.amplify(m, n=3000, delta=1e-6, bound="swap").epsilon for m in (sdp.Joint(answers), whole(answers))
    )
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert joint_law.MOST_TYPES >= 500
