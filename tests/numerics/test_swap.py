"""The swap bound against what can be enumerated: all datasets of few users, long responses, golden values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from random import Random
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference import repetition, swap_readings
from reference.places import golden
from reference.randomizers import Matrix, floats, grr, random_matrix
from reference.repetition import slow
from reference.swap import (
    Datasets,
    binary_response,
    common_mass,
    local_delta,
    ternary_response,
    theorem_one,
)
from reference.swap_members import changed, laws, ratios, structured
from shuffledp.errors import BoundNotApplicableError
from shuffledp.mechanisms.known.eps0_vertices import swap_of
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.swap.curve import SwapCurve
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair, TypeTable, among

from .swap_cases import log_upper, member, upper

EPS = (0.0, 0.03, 0.2, 0.7, 1.6)


# -- all datasets of few users ------------------------------------------------------------------------------------


def attack(matrix: Matrix, n: int, eps: tuple[float, ...] = EPS) -> tuple[int, Fraction]:
    """Checks truth <= swap for every pair, dataset and eps; how many, and the largest truth/swap below local delta."""
    truth, cases, closest = Datasets(matrix, n), 0, Fraction(0)
    for pair in permutations(range(len(matrix)), 2):
        bounds = upper(member(matrix, pair), n, eps)
        for E, bound in zip(ratios(eps), bounds, strict=True):
            deltas = truth.deltas(pair, E)
            worst = max(deltas)
            assert worst <= bound, (
                matrix,
                n,
                pair,
                truth.others[deltas.index(worst)],
                float(E),
                float(worst),
                float(bound),
            )
            cases += len(deltas)
            if bound < local_delta(matrix[pair[0]], matrix[pair[1]], E):
                closest = max(closest, worst / bound)
    return cases, closest


def matrices(seed: int, count: int) -> Iterator[tuple[Matrix, int]]:
    rng = Random(seed)
    for i in range(count):
        matrix = structured(rng) if i % 3 == 2 else random_matrix(rng)
        yield matrix, rng.choice([2, 3, 4, 5, 6] if len(matrix[0]) < 4 else [2, 3, 4])


@pytest.mark.heavy
def test_never_below_the_truth_over_all_datasets() -> None:
    cases = sum(attack(matrix, n)[0] for matrix, n in matrices(11, 5))
    assert cases >= 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_never_below_the_truth_over_all_datasets_at_length(seed: int) -> None:
    cases = sum(attack(matrix, n)[0] for matrix, n in matrices(1000 + seed, 40))
    assert cases >= 5_000


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, *(slow(k) for k in range(2, 12))])
def test_climbing_towards_a_violation(seed: int) -> None:
    """Change a randomizer again and again so that the truth comes nearer to the bound: it never passes it."""
    rng, n = Random(seed), 3 + (seed + 2) % 3
    matrix = grr(2 + seed % 2, 3) if seed % 2 else random_matrix(rng)
    while not (best := attack(matrix, n, EPS[:3])[1]):
        matrix = random_matrix(rng)  # nearly all was revealed: the bound is the local delta, with nothing to climb
    for _ in range(8 if repetition.quick else 30):
        other = changed(matrix, rng)
        found = attack(other, n, EPS[:3])[1]
        if found >= best:
            matrix, best = other, found
    assert 0 < best <= 1


def every_step(matrix: Matrix, n: int, eps: tuple[float, ...]) -> None:
    """truth <= Theorem 1 in fractions, Theorem 1 <= the numerical bound, for every dataset."""
    truth, beta = Datasets(matrix, n), common_mass(matrix)
    for pair in permutations(range(len(matrix)), 2):
        bounds = upper(member(matrix, pair), n, eps)
        for E, bound in zip(ratios(eps), bounds, strict=True):
            for others, delta in zip(truth.others, truth.deltas(pair, E), strict=True):
                middle = theorem_one(matrix[pair[0]], matrix[pair[1]], matrix, others, E, beta=beta)
                assert delta <= middle <= bound, (matrix, n, pair, others, float(E))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [5, *(slow(k) for k in range(6, 20))])
def test_every_step_of_the_proof(seed: int) -> None:
    for matrix, n in matrices(seed, 4):
        every_step(matrix, min(n, 4), (0.0, 0.2, 1.0))


def test_any_smaller_common_part_will_do() -> None:
    matrix, n, E = grr(3, 4), 4, Fraction(6, 5)
    truth = max(Datasets(matrix, n).deltas((0, 1), E))
    values = [
        max(
            theorem_one(matrix[0], matrix[1], matrix, o, E, beta=beta)
            for o in combinations_with_replacement(range(3), 3)
        )
        for beta in (common_mass(matrix), Fraction(1, 4), Fraction(1, 50), Fraction(0))
    ]
    assert truth <= values[0] <= values[1] <= values[2] <= values[3] == local_delta(matrix[0], matrix[1], E)


# -- long responses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "n"), [(2, 30), (3, 100), (10, 60), (20, 300), slow(3, 300), slow(2, 200), slow(50, 300)]
)
def test_binary_response_over_all_datasets(q: int, n: int) -> None:
    eps = (0.01, 0.1, 0.4, 0.9)
    matrix = grr(2, q)
    step = 6 if repetition.quick else 1
    sharp = Fraction(0)
    for E, bound in zip(ratios(eps), upper(member(matrix, (1, 0)), n, eps), strict=True):
        truth = [binary_response(q, n, ones, E) for ones in range(0, n, step)]
        assert max(truth) <= bound, (q, n, float(E), float(max(truth) / bound))
        sharp = max(sharp, max(truth) / bound) if bound else sharp
    assert sharp > Fraction(1, 2)  # the test could fail


@pytest.mark.parametrize(
    ("q", "n", "step"), [(2, 30, 4), (4, 60, 20), slow(3, 30, 1), slow(8, 100, 12), slow(3, 300, 100)]
)
def test_ternary_response_over_datasets(q: int, n: int, step: int) -> None:
    eps = (0.02, 0.2, 0.6)
    bounds = upper(member(grr(3, q), (0, 1)), n, eps)
    for E, bound in zip(ratios(eps), bounds, strict=True):
        held = [(a, b, n - 1 - a - b) for a in range(0, n, step) for b in range(0, n - a, step)]
        truth = [ternary_response(q, n, counts, E) for counts in (*held, (n - 1, 0, 0), (0, n - 1, 0))]
        assert max(truth) <= bound and bound < 5 * max(truth), (q, n, float(E), float(bound / max(truth)))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [0, *(slow(k) for k in range(1, 9))])
def test_random_laws_among_tens_of_users(seed: int) -> None:
    """Three symbols, two to four types, any composition of up to 60 users: the counts by convolution."""
    rng = np.random.default_rng(seed)
    for _ in range(8 if repetition.quick else 40):
        rows = _random_rows(rng)
        n = int(rng.integers(2, 60))
        pair = SwapPair(tuple(ShuffledPair(rows[0], rows[1], row) for row in rows), float(rows.min(axis=0).sum()))
        eps = np.sort(np.concatenate([[0.0], rng.uniform(0.0, 1.5, 3), 10.0 ** rng.uniform(-3.0, 0.0, 2)]))
        bound = np.exp(log_upper(pair, n, eps.tolist()))
        for _ in range(6):
            held = rng.multinomial(n - 1, rng.dirichlet(np.full(len(rows), rng.choice([0.2, 1.0]))))
            counts = np.zeros((n + 1, n + 1))
            counts[0, 0] = 1.0
            for row in np.repeat(rows, held, axis=0):
                counts = _one_more(counts, row)
            first, second = _one_more(counts, rows[0]), _one_more(counts, rows[1])
            truth = [np.maximum(first - math.exp(e) * second, 0.0).sum() for e in eps]
            assert np.all(truth <= bound * (1 + 1e-9) + 1e-15), (rows, n, held)


def _random_rows(rng: np.random.Generator) -> np.ndarray:
    types, kind = int(rng.integers(2, 5)), rng.integers(4)
    if kind == 0:
        rows = rng.dirichlet(np.full(3, rng.choice([0.3, 1.0, 5.0, 50.0])), size=types)
    elif kind == 1:
        rows = np.exp(rng.choice([0.3, 1.0, 2.0, 4.0]) * rng.choice([0.0, 1.0], size=(types, 3)))
    elif kind == 2:
        rows = np.exp(rng.normal(size=(types, 3)) * rng.choice([0.05, 0.5, 3.0]))
    else:
        rows = rng.dirichlet(np.ones(3), size=types)
        rows[rng.random(rows.shape) < 0.15] = 0.0
        rows[rows.sum(axis=1) == 0.0] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _one_more(counts: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The law of the counts of the first two symbols after one more message."""
    out = counts * row[2]
    out[1:] += counts[:-1] * row[0]
    out[:, 1:] += counts[:, :-1] * row[1]
    return np.asarray(out)


def test_constant_datasets_are_not_the_worst_but_the_bound_holds() -> None:
    """Binary response with ratio 10 among 12 users: a mixed dataset is 22 % above the constant ones in delta."""
    E = ratios([0.1])[0]
    truth = [binary_response(10, 12, ones, E) for ones in range(12)]
    assert max(truth) > Fraction(12, 10) * max(truth[0], truth[-1])
    assert max(truth) <= upper(member(grr(2, 10), (1, 0)), 12, [0.1])[0]


# -- golden values ------------------------------------------------------------------------------------------------

GOLDEN = golden("swap.json")


def family_of(entry: dict[str, Any]) -> SwapSet:
    if entry["mechanism"] == "general":
        found = swap_of(entry["eps0"], entry["eps0"])._members
        return SwapSet([SwapPair(tuple(ShuffledPair(p.P0, p.P1, p.t) for p in m.types), m.common_mass) for m in found])
    beta = float(entry["beta"]) * (1.0 - 2.0**-50)
    if entry["mechanism"] == "matrix":
        rows = [[Fraction(v) for v in row] for row in entry["rows"]]
        return SwapSet([member(rows, pair, beta) for pair in permutations(range(len(rows)), 2)])
    table = laws(entry["mechanism"], entry["eps0"], entry.get("d", 0), entry.get("k", 0))
    return SwapSet([SwapPair(tuple(ShuffledPair(table[0], table[1], row) for row in table), beta)])


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda e: f"{e['mechanism']}-{e.get('eps0', e.get('name'))}-{e['n']}")
def test_golden(entry: dict[str, Any]) -> None:
    family, delta = family_of(entry), float(entry["delta"])
    answer = family.epsilon(n=entry["n"], delta=delta, tol=1e-5, side="upper").epsilon
    assert answer >= float(entry["lower_eps"])
    assert answer >= float(entry["ideal_eps"]) * (1 - 2e-9)
    assert answer <= entry["claim2_eps"] * (1 + 2e-3)
    at = family.log_delta(np.array([answer]), n=entry["n"], tol=1e-5, side="upper")[0]
    assert at <= math.log(delta) + 0.01


# -- readings of the theorems that are false ----------------------------------------------------------------------


def test_holes_must_not_be_left_out() -> None:
    rows = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1), Fraction(0)]]
    others, E, beta = (1, 1, 1), Fraction(1), Fraction(9, 10)
    truth, false = swap_readings.without_holes()
    assert truth == Fraction(1, 10) and false == Fraction(1, 10000)
    assert theorem_one(rows[0], rows[1], rows, others, E, beta=beta) >= truth
    assert upper(member(rows, (0, 1)), 4, [0.0])[0] >= truth


def test_a_common_mass_of_one_is_false() -> None:
    """As if nobody were lost to the search for a free user: a mixed dataset refutes it by a factor of 4."""
    matrix, others, E = grr(2, 1000), (0, 0, 0, 1), Fraction(5)
    truth, false = swap_readings.nobody_lost()
    assert truth > Fraction(39, 10) * false
    assert truth <= theorem_one(matrix[0], matrix[1], matrix, others, E, beta=common_mass(matrix))


def test_a_common_mass_of_one_is_false_over_constant_datasets_too() -> None:
    truth, false = swap_readings.nobody_lost_over_constant_datasets()
    assert truth > Fraction(118, 100) * false
    assert truth <= upper(member(grr(2, 10), (0, 1)), 12, [math.log(1.01)])[0]


def test_absent_users_of_a_coarse_grid_are_not_free() -> None:
    """R_x = s R_g + rest: the rest depends on x, so 1 - s + s beta is not a common mass; s beta is."""
    g, h = ([*row, Fraction(0), Fraction(0)] for row in grr(2, 1000))
    s, E = Fraction(1, 2), Fraction(2)
    parts = [[s * p for p in g], [s * p for p in h]]
    grid = common_mass([g, h])
    truth, false = swap_readings.absent_users_are_free()
    assert truth > Fraction(125, 100) * false
    assert truth <= theorem_one(g, h, parts, (0, 0, 1), E, beta=s * grid)
    types = tuple(ShuffledPair(floats([g])[0], floats([h])[0], floats([t])[0]) for t in parts)
    assert truth <= upper(SwapPair(types, float(s * grid)), 4, [math.log(2.0)])[0]


# -- a part of a law, and one law that dominates all --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_part_of_a_law_is_as_good_as_the_law(seed: int) -> None:
    """Types t <= R with the common mass of the whole laws R: larger than with R, for every dataset."""
    rng = Random(seed)
    matrix, E = grr(3, 4), Fraction(11, 10)
    part = [[p * Fraction(rng.randrange(5, 11), 10) for p in row] for row in matrix]
    part[seed % 3][seed % 2] = Fraction(0)
    beta, truth = common_mass(matrix), Datasets(matrix, 4)
    rows = floats(matrix)
    types = tuple(ShuffledPair(rows[0], rows[1], t) for t in floats(part))
    bound = upper(SwapPair(types, float(beta)), 4, [math.log(1.1)])[0]
    for others, delta in zip(truth.others, truth.deltas((0, 1), E), strict=True):
        whole, less = (theorem_one(matrix[0], matrix[1], t, others, E, beta=beta) for t in (matrix, part))
        assert delta <= whole <= less <= bound


# -- the contract -------------------------------------------------------------------------------------------------


def test_nothing_is_claimed_from_below() -> None:
    with pytest.raises(BoundNotApplicableError, match="upper bound"):
        SwapSet([member(grr(2, 3), (0, 1))]).epsilon(n=100, delta=1e-6, tol=1e-4, side="lower")


def test_one_other_or_no_common_part_hides_nothing() -> None:
    pair = member(grr(2, 3), (0, 1))
    alone = [math.log(0.75 - math.exp(e) * 0.25) for e in (0.0, 0.5)]
    for swap, n in ((pair, 2), (pair, 1), (SwapPair(pair.types, 0.0), 1000)):
        assert log_upper(swap, n, (0.0, 0.5)) == pytest.approx(alone, abs=1e-9)
    assert pair.limit == pytest.approx(math.log(3.0))
    assert log_upper(pair, 50, [pair.limit])[0] == -math.inf


def test_a_common_part_is_that_of_the_blanket() -> None:
    coin = ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    made = among([coin.swapped(), coin], PairSet([coin]))
    assert 0.5 * (1 - 1e-12) < made.common_mass <= 0.5
    with pytest.raises(BoundNotApplicableError, match="every type"):
        among([], PairSet([coin]))


ROWS = [
    (grr(3, 3), 40, 0.3),
    (grr(2, 10), 700, 0.2),
    (grr(3, 2), 10**6, 0.002),
    (grr(2, 4), 10**11, 1e-6),
    ([[Fraction(9, 10), Fraction(1, 10)], [Fraction(1), Fraction(0)]], 30, 0.1),
]


def curves() -> tuple[SwapCurve, np.ndarray]:
    n, eps = (np.array([float(row[k]) for row in ROWS]) for k in (1, 2))
    return SwapCurve.of([member(row[0], (0, 1)) for row in ROWS], n, 1e-4), eps


def test_many_rows_are_as_good_as_one() -> None:
    curve, eps = curves()
    rtol = np.full(eps.size, 1e-4)
    together = curve.at(eps, rtol).log_delta
    single = [curve.take(np.array([i])).at(eps[[i]], rtol[[i]]).log_delta[0] for i in range(eps.size)]
    assert together == pytest.approx(single, abs=1e-6)  # the line may start elsewhere
    again = curve.take(np.array([3, 1])).at(1.001 * eps[[3, 1]], rtol[:2]).log_delta
    assert np.all(again < together[[3, 1]]) and again == pytest.approx(together[[3, 1]], abs=0.1)


def test_a_crude_value_is_above() -> None:
    curve, eps = curves()
    for scale in (0.3, 1.0, 1.7):
        value = curve.at(scale * eps, np.full(eps.size, 1e-4)).log_delta
        assert np.all(curve.crude(scale * eps) >= value - 1e-9)


def test_slopes_and_guesses_are_about_right() -> None:
    curve, eps = curves()
    rtol = np.full(eps.size, 1e-4)
    value, slope = curve.at(eps, rtol)
    further = curve.at(1.01 * eps, rtol).log_delta
    assert (value - further) / (0.01 * eps) == pytest.approx(slope, rel=0.3)
    guess = curve.guess(value)
    assert guess.epsilon[2:4] == pytest.approx(eps[2:4], rel=0.1)


def test_types_as_a_table_are_types() -> None:
    rng = np.random.default_rng(3)
    rows = 0.7 * rng.dirichlet(np.ones(4), size=40) + 0.075
    types = [ShuffledPair(rows[0], rows[1], row) for row in rows]
    common = float(rows.min(axis=0).sum()) * (1 - 1e-12)
    listed = SwapSet([SwapPair(tuple(types), common)])
    made: list[int] = []

    def table() -> TypeTable:
        made.append(1)
        return TypeTable.of(types[2:])

    tabled = SwapSet([SwapPair(tuple(types[:2]), common, more=table)])
    assert not made
    for n, delta in ((200, 1e-4), (10**5, 1e-8)):
        one, two = (f.epsilon(n=n, delta=delta, tol=1e-6, side="upper").epsilon for f in (listed, tabled))
        assert one == pytest.approx(two, rel=1e-6)
    assert len(made) == 1


def test_a_table_exposes_what_its_types_never_send() -> None:
    rows = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.5, 0.5, 0.0]])
    types = tuple(ShuffledPair(rows[0], rows[1], row) for row in rows)
    listed = SwapPair(types, 0.6)
    tabled = SwapPair(types[:2], 0.6, more=lambda: TypeTable.of(types[2:]))
    eps = (0.0, 0.05, 0.3)
    assert log_upper(tabled, 400, eps) == pytest.approx(log_upper(listed, 400, eps), abs=1e-9)


def test_the_victim_may_tell_more_than_its_types() -> None:
    pair = member(grr(2, 3), (0, 1))
    told = SwapPair(pair.types, pair.common_mass, victim=ShuffledPair([1.0, 0.0], [0.0, 1.0], [0.5, 0.5]))
    assert told.limit == math.inf > pair.limit
    assert log_upper(told, 2, [0.0])[0] == pytest.approx(0.0, abs=1e-9)
    assert log_upper(told, 30, [0.2])[0] >= log_upper(pair, 30, [0.2])[0]


def test_nobody_free_at_any_eps_that_is_looked_at() -> None:
    """No row may be left for a sum: the local guarantee is then the answer."""
    found = sdp.amplify("general:eps0=5.63", n=35, delta=1e-15, bound="swap-general")
    assert found.epsilon == 5.63
