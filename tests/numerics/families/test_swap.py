"""The swap bound against what can be enumerated: all datasets of few users, long responses, golden values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference import repetition, swap_readings
from reference.places import golden
from reference.randomizers import Matrix, floats, grr, random_matrix
from reference.repetition import examples, slow
from reference.swap import (
    Datasets,
    binary_response,
    common_mass,
    law_of_x,
    local_delta,
    ternary_response,
    theorem_one,
)
from reference.swap_members import changed, laws, member, ratios, structured, upper
from shuffledp.errors import BoundNotApplicableError
from shuffledp.mechanisms.known.eps0_vertices import swap_of
from shuffledp.numerics.evaluators import swap
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.families.swap import Curve, SwapPair, SwapSet, join
from shuffledp.numerics.pair import ShuffledPair

EPS = (0.0, 0.03, 0.2, 0.7, 1.6)


# -- all datasets of few users ------------------------------------------------------------------------------------


def attack(
    matrix: Matrix, n: int, eps: tuple[float, ...] = EPS, present: Fraction = Fraction(1)
) -> tuple[int, Fraction]:
    """Checks truth <= swap for every pair, dataset and eps; how many, and the largest truth/swap below local delta."""
    truth, cases, closest = Datasets(matrix, n, present), 0, Fraction(0)
    for pair in permutations(range(len(matrix)), 2):
        member_ = member(matrix, pair)
        bounds = upper(member_ if present == 1 else member_.thinned(float(present)), n, eps)
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


def test_never_below_the_truth_over_all_datasets() -> None:
    cases = sum(attack(matrix, n)[0] for matrix, n in matrices(11, 5))
    assert cases >= 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_never_below_the_truth_over_all_datasets_at_length(seed: int) -> None:
    cases = sum(attack(matrix, n)[0] for matrix, n in matrices(1000 + seed, 40))
    assert cases >= 5_000


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


@pytest.mark.parametrize("present", [Fraction(1, 4), slow(Fraction(4, 5))])
def test_others_who_take_part_by_chance(present: Fraction) -> None:
    cases = sum(attack(m, min(n, 4), EPS[:4], present)[0] for m, n in matrices(21, 3))
    cases += sum(attack(grr(d, q), 4, EPS[:4], present)[0] for d in (2, 3) for q in (2, 9))
    assert cases > 300
    pair = member(grr(3, 5), (0, 1))
    assert pair.thinned(0.5).common_mass == 0.5 + 0.5 * pair.common_mass
    assert SwapSet([pair]).thinned(0.5).members(5) == (pair.thinned(0.5),)


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


@pytest.mark.parametrize("seed", [0, *(slow(k) for k in range(1, 9))])
def test_random_laws_among_tens_of_users(seed: int) -> None:
    """Three symbols, two to four types, any composition of up to 60 users: the counts by convolution."""
    rng = np.random.default_rng(seed)
    for _ in range(8 if repetition.quick else 40):
        rows = _random_rows(rng)
        n = int(rng.integers(2, 60))
        pair = SwapPair(tuple(ShuffledPair(rows[0], rows[1], row) for row in rows), float(rows.min(axis=0).sum()))
        eps = np.sort(np.concatenate([[0.0], rng.uniform(0.0, 1.5, 3), 10.0 ** rng.uniform(-3.0, 0.0, 2)]))
        bound = np.exp(Curve(pair, n, 1e-4).log_upper(eps))
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
        return swap_of(entry["eps0"], entry["eps0"])
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
    assert answer <= entry["claim2_eps"] * (1 + 1e-3)
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


def random_types(seed: int, eps: float) -> tuple[Matrix, np.ndarray, np.ndarray]:
    """Types without holes, and their laws of X as join takes them."""
    rng = Random(seed)
    matrix = random_matrix(rng)
    while not all(v for row in matrix for v in row):
        matrix = random_matrix(rng)
    rows = np.array(floats(matrix))
    x = (rows[0] - math.exp(eps) * rows[1]) / rows
    return matrix, x[None], rows[None]


@examples(200, 60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.6]))
def test_the_joined_law_dominates_every_sum_of_types(seed: int, m: int, eps: float) -> None:
    matrix, x, t = random_types(seed, eps)
    y, mass = (a[0] for a in join(x, t))
    assert np.all(mass >= 0.0) and mass.sum() <= 1.0 + 1e-12
    for a in np.linspace(y.min() - 0.1, y.max(), 40):
        for k in range(x.shape[1]):
            assert t[0, k] @ np.maximum(x[0, k] - a, 0.0) <= _call(y, mass, a) * (1 + 1e-12)
    joined = _positive_sum([(y, mass)] * m)
    for held in combinations_with_replacement(range(len(matrix)), m):
        truth = _positive_sum([(x[0, k], t[0, k]) for k in held])
        assert truth <= joined * (1 + 1e-11), (matrix, held)


def _call(y: np.ndarray, mass: np.ndarray, a: float) -> float:
    return float(mass @ np.maximum(y - a, 0.0)) + max(1.0 - float(mass.sum()), 0.0) * max(-a, 0.0)


def _positive_sum(parts: list[tuple[np.ndarray, np.ndarray]]) -> float:
    total, chance = np.zeros(1), np.ones(1)
    for x, t in parts:
        nothing = max(1.0 - float(t.sum()), 0.0)
        total = (total[:, None] + np.append(x, 0.0)).ravel()
        chance = (chance[:, None] * np.append(t, nothing)).ravel()
    return float(chance @ np.maximum(total, 0.0))


def test_values_that_nearly_coincide_do_not_spoil_the_joined_law() -> None:
    """Entries that differ by 1e-12 to 1e-6: slopes between them are noise, which must not lower the law."""
    rng = np.random.default_rng(5)
    for _ in range(150):
        base = rng.dirichlet(np.ones(3))
        scale = 10.0 ** rng.uniform(-13.0, -6.0)
        rows = np.abs(np.array([base, *(base * (1.0 + scale * rng.normal(size=(2, 3)))), rng.dirichlet(np.ones(3))]))
        rows /= rows.sum(axis=1, keepdims=True)
        p0, p1 = rng.dirichlet(np.ones(3), size=2)
        x = (p0 - 1.05 * p1) / rows
        y, mass = (a[0] for a in join(x[None], rows[None]))
        assert mass.sum() <= 1.0
        span = float(y.max() - y.min())
        for a in (*x.ravel(), *np.linspace(y.min() - 0.1 * span, y.max(), 20)):
            assert (rows * np.maximum(x - a, 0.0)).sum(axis=1).max() <= _call(y, mass, a) + 1e-15 * span


def test_nearly_equal_rows_are_not_below_the_lower_bound() -> None:
    """Three rows 1e-12 apart: a law joined from noisy slopes answered 12 % less than a constant dataset has."""
    p0 = [0.5064484126077603, 0.2549606112673239, 0.23859097612491598]
    p1 = [0.3102922529963698, 0.26550686939483886, 0.42420087760879127]
    rows = [
        [0.23792351527630715, 0.29125727346280567, 0.4708192112608871],
        [0.23792351527606667, 0.29125727346318336, 0.47081921126075],
        [0.23792351527576888, 0.2912572734616521, 0.47081921126257903],
    ]
    pair = SwapPair(tuple(ShuffledPair(p0, p1, row) for row in rows), 1.0 - 1e-11)
    for n, delta in ((10**6, 1e-5), (10**8, 1e-5), (10**10, 1e-7)):
        least = PairSet(pair.types).epsilon(n=n, delta=delta, tol=1e-6, side="lower").epsilon
        assert least <= epsilon(pair, n, delta) <= 1.01 * least


def test_joining_one_type_changes_nothing() -> None:
    x, t = np.array([[[0.9, -0.4, 0.1]]]), np.array([[[0.2, 0.5, 0.3]]])
    y, mass = join(x, t)
    kept = mass[0] > 1e-12
    assert y[0, kept] == pytest.approx([-0.4, 0.1, 0.9]) and mass[0, kept] == pytest.approx([0.5, 0.3, 0.2])


def test_the_sum_with_phases_is_above_the_exact_value_and_close() -> None:
    """A law of two values among 400: exact by binomials."""
    q, n, E = 3.0, 400, 1.1
    t = np.array([q, 1.0]) / (q + 1.0)
    x = (t - E * t[::-1]) / t
    beta = 2.0 / (q + 1.0)
    exact = 0.0
    for k in range(200):
        m = n - 1 - k
        j = np.arange(m + 1)
        logs = [math.lgamma(m + 1) - math.lgamma(i + 1) - math.lgamma(m - i + 1) for i in j]
        chance = np.exp(np.array(logs) + j * math.log(t[0]) + (m - j) * math.log(t[1]))
        exact += beta * (1 - beta) ** k * float(chance @ np.maximum(j * x[0] + (m - j) * x[1], 0.0)) / m
    waiting = swap.Waiting.of(beta, n, -20.0)
    c, _, bend = swap.saddle(x[None], t[None], n - 2.0)
    at = swap.line_at(c, bend, 0.01)
    with_phases = math.exp(swap.log_upper(x[None], t[None], waiting, at, phases=True)[0])
    without = math.exp(swap.log_upper(x[None], t[None], waiting, at)[0])
    assert exact <= with_phases <= 1.02 * exact and with_phases < without


# -- the shape of the answers -------------------------------------------------------------------------------------


def epsilon(pair: SwapPair, n: int, delta: float, tol: float = 1e-5) -> float:
    return SwapSet([pair]).epsilon(n=n, delta=delta, tol=tol, side="upper").epsilon


def three(eps0: float = 1.0) -> SwapPair:
    table = laws("GRR", eps0, 3)
    return SwapPair(tuple(ShuffledPair(table[0], table[1], row) for row in table), float(table.min(axis=0).sum()))


def test_monotone_in_n_delta_and_the_common_mass() -> None:
    by_n = [epsilon(three(), n, 1e-6) for n in (100, 1000, 10**6, 10**9, 10**15)]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(by_n)) and by_n[0] <= 1.0 + 1e-9
    by_delta = [epsilon(three(), 1000, delta) for delta in (1e-300, 1e-30, 1e-6, 1e-3)]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(by_delta))
    by_mass = [epsilon(SwapPair(three().types, mass), 1000, 1e-6) for mass in (0.01, 0.1, 0.6)]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(by_mass)) and by_mass[0] <= 1.0 + 1e-9


@pytest.mark.parametrize("n", [1, 2, 3, 10**4, 10**15])
@pytest.mark.parametrize("eps0", [1e-6, 1.0, 12.0])
def test_no_nan_and_never_above_local(n: int, eps0: float) -> None:
    pair = three(eps0)
    eps = np.array([0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 250.0])
    value = Curve(pair, n, 1e-4).log_upper(eps)
    p0, p1 = (np.asarray(p) for p in (pair.types[0].P0, pair.types[0].P1))
    local = np.array([np.maximum(p0 - math.exp(e) * p1, 0.0).sum() for e in eps])
    assert not np.isnan(value).any()
    assert np.all(np.exp(value) <= local * (1 + 1e-9) + 1e-13)
    for delta in (1e-300, 1e-3):
        answer = epsilon(pair, n, delta)
        assert 0.0 <= answer <= eps0 * (1 + 1e-12) + 1e-15


def test_small_deltas_are_not_lost() -> None:
    """At 1e-300 among 1e6 users the answer is between that of 1e-200 and the local budget, and is a bound."""
    values = [epsilon(three(), 10**6, delta) for delta in (1e-100, 1e-200, 1e-300)]
    assert values[0] < values[1] < values[2] < 0.2
    at = Curve(three(), 10**6, 1e-5).log_upper(np.array([values[2]]))[0]
    assert -691.5 < at <= math.log(1e-300) + 1e-9


@pytest.mark.parametrize("n", [5, 200, 10**6])
def test_many_eps_at_once_are_those_one_by_one(n: int) -> None:
    eps = np.concatenate([[0.0], np.geomspace(1e-4, 0.9, 25)])
    whole = SwapSet([three()]).log_delta(eps, n=n, tol=1e-4, side="upper")
    single = [SwapSet([three()]).log_delta(eps[[i]], n=n, tol=1e-4, side="upper")[0] for i in range(eps.size)]
    assert whole == pytest.approx(single, abs=2e-3)


def test_the_answer_is_checked_where_it_is_given() -> None:
    for pair, n, delta in ((three(), 50, 1e-3), (three(2.0), 1000, 1e-8), (member(grr(2, 20), (0, 1)), 30, 1e-2)):
        for tol in (1e-2, 1e-5):
            answer = epsilon(pair, n, delta, tol)
            assert min(Curve(pair, n, tol).log_upper(np.array([answer]))) <= math.log(delta) + 2e-3


def test_the_largest_member_counts() -> None:
    weak, strong = three(0.5), three(1.0)
    both = SwapSet([weak, strong])
    eps = np.array([0.01, 0.1])
    assert both.epsilon(n=500, delta=1e-6, tol=1e-5, side="upper").epsilon == pytest.approx(
        epsilon(strong, 500, 1e-6), rel=1e-4
    )
    assert both.log_delta(eps, n=500, tol=1e-4, side="upper") == pytest.approx(
        SwapSet([strong]).log_delta(eps, n=500, tol=1e-4, side="upper")
    )
    assert both.members(2) == (weak, strong) and both.members(1) is None and both.pairs(10) is None
    assert both.loose_for(50) and not both.loose_for(10**4)


def test_it_makes_no_claim_from_below() -> None:
    with pytest.raises(BoundNotApplicableError, match="upper bound"):
        SwapSet([three()]).epsilon(n=10, delta=1e-3, tol=1e-3, side="lower")
    with pytest.raises(BoundNotApplicableError, match="upper bound"):
        SwapSet([three()]).log_delta(np.array([0.1]), n=10, tol=1e-3, side="lower")


def test_without_a_common_part_it_is_the_local_guarantee() -> None:
    pair = SwapPair(three().types, 0.0)
    assert epsilon(pair, 10**6, 1e-9) == pytest.approx(1.0, abs=1e-6)


def test_symbols_that_nobody_sends_cost_what_they_weigh() -> None:
    """A symbol of the victim's that others send with probability 1e-30 counts as exposed."""
    tiny = 1e-30
    p0, p1 = [0.5, 0.5 - 1e-9, 1e-9], [0.25, 0.75, 0.0]
    whole = SwapPair((ShuffledPair(p0, p1, [0.4, 0.6, tiny]), ShuffledPair(p0, p1, [0.6, 0.4, tiny])), 0.8)
    without = SwapPair((ShuffledPair(p0, p1, [0.4, 0.6, 0.0]), ShuffledPair(p0, p1, [0.6, 0.4, 0.0])), 0.8)
    eps = np.array([0.1, 0.4])
    values = [Curve(pair, 10**5, 1e-4).log_upper(eps) for pair in (whole, without)]
    assert values[0] == pytest.approx(values[1], abs=1e-6) and np.all(values[0] >= math.log(1e-9) - 1e-9)


def test_the_oracles_agree_with_each_other() -> None:
    E = Fraction(6, 5)
    matrix = grr(3, 4)
    datasets = Datasets(matrix, 5)
    for others, delta in zip(datasets.others, datasets.deltas((0, 1), E), strict=True):
        held = tuple(others.count(x) for x in range(3))
        assert delta == ternary_response(4, 5, held, E)  # type: ignore[arg-type]
    two = Datasets(grr(2, 4), 5)
    for others, delta in zip(two.others, two.deltas((1, 0), E), strict=True):
        assert delta == binary_response(4, 5, sum(others), E)
    assert sum(chance for _, chance in law_of_x(matrix[0], matrix[1], matrix[2], E)) == 1


def test_where_nobody_is_free_nothing_is_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over so many who are looked at in vain took a minute, for the local delta to within a millionth."""

    def refuse(*args: object) -> None:
        raise AssertionError("summed")

    monkeypatch.setattr("shuffledp.numerics.evaluators.swap.Waiting.log_sum", refuse)
    found = sdp.profile("grr:eps0=40,d=4", n=1000, epsilon=[30.0, 39.5], bound="swap")
    q, E = math.exp(40.0), np.exp([30.0, 39.5])
    assert found == pytest.approx((q - E) / (q + 3.0), rel=1e-9)
    assert sdp.Accountant().compose("general:eps0=500", n=10**15, count=2).epsilon(delta=1e-6) == 1000.0
