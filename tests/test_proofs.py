"""The statements of docs/proofs.md on small cases, in exact fractions: what is seen is enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from reference.fractions_oracle import round_divergence, shuffled_divergence, worst_divergence
from reference.swap import law_of_x

Row = list[Fraction]
RATIOS = (Fraction(1), Fraction(5, 4), Fraction(3))


def law(rng: Random, size: int) -> Row:
    weights = [rng.choice([0, 1, 1, 2, 5]) for _ in range(size - 1)] + [1]
    return [Fraction(w, sum(weights)) for w in weights]


def part(rng: Random, size: int) -> Row:
    """Probabilities of the others' symbols, some 0, with something left for "nothing"."""
    return [Fraction(rng.choice([0, 0, 1, 2]), 2 * size + 1) for _ in range(size)]


def formula(P0: Row, P1: Row, t: Row, n: int, E: Fraction) -> Fraction:
    """Lemma 1: the mean of n copies of X, and the symbols that nobody else sends."""
    values, zero = law_of_x(P0, P1, t, E), Fraction(0)
    total = zero
    for drawn in product(values, repeat=n):
        chance = Fraction(1)
        for _, mass in drawn:
            chance *= mass
        total += chance * max(zero, sum(value for value, _ in drawn)) / n
    return total + sum((max(zero, a - E * b) for a, b, c in zip(P0, P1, t, strict=True) if not c), zero)


@pytest.mark.parametrize("seed", range(8))
def test_the_formula_and_its_mean(seed: int) -> None:
    rng = Random(seed)
    P0, P1, t = law(rng, 3), law(rng, 3), part(rng, 3)
    for E in RATIOS:
        assert formula(P0, P1, t, 3, E) == round_divergence(P0, P1, t, 3, E)
        mean = sum((value * mass for value, mass in law_of_x(P0, P1, t, E)), Fraction(0))
        gone = sum((a - E * b for a, b, c in zip(P0, P1, t, strict=True) if not c), Fraction(0))
        assert mean == 1 - E - gone  # and not 1 - E, unless all t are positive


@pytest.mark.parametrize("seed", range(8))
def test_more_users_more_of_every_symbol_and_merging_do_no_harm(seed: int) -> None:
    """Symbols that nobody else sent may be sent then: some t grow from 0."""
    rng = Random(100 + seed)
    P0, P1, t = law(rng, 3), law(rng, 3), part(rng, 3)
    room = 1 - sum(t)
    more = [a + room * b * Fraction(9, 10) for a, b in zip(t, law(rng, 3), strict=True)]
    for E in RATIOS:
        before = round_divergence(P0, P1, t, 4, E)
        assert round_divergence(P0, P1, t, 5, E) <= before
        assert round_divergence(P0, P1, more, 4, E) <= before
        assert round_divergence(*([r[0] + r[1], r[2]] for r in (P0, P1, t)), 4, E) <= before


def reduced(p: Fraction, beta: Fraction, q: Fraction) -> tuple[Row, Row, Row]:
    """The three symbols of the reduction theorem."""
    alpha = beta / (p - 1)
    s = 1 - alpha - p * alpha
    return [p * alpha, alpha, s], [alpha, p * alpha, s], [p * alpha / q, p * alpha / q, s / q]


def test_a_larger_beta_may_be_used_up_to_its_largest() -> None:
    p, q = Fraction(3), Fraction(4)
    for E in (Fraction(1), Fraction(3, 2), p):
        found = [round_divergence(*reduced(p, Fraction(k, 12), q), 4, E) for k in range(1, 7)]
        assert found == sorted(found)
    assert reduced(p, (p - 1) / (p + 1), p) == (
        [p / (p + 1), 1 / (p + 1), 0],
        [1 / (p + 1), p / (p + 1), 0],
        [1 / (p + 1), 1 / (p + 1), 0],
    )


@pytest.mark.slow_cases("0", "2", "3", "4", "5")
@pytest.mark.parametrize("seed", range(6))
def test_one_randomizer_that_all_users_run_stays_below_the_stronger_clone(seed: int) -> None:
    """Laws with a remainder (s > 0), for which the published proof has an erratum, over all datasets of four users."""
    rng, p = Random(200 + seed), Fraction(2)
    while True:
        rows = [[Fraction(rng.randint(2, 4)) for _ in range(4)] for _ in range(3)]
        rows = [[entry / sum(row) for entry in row] for row in rows]
        if max(a / b for x in rows for y in rows for a, b in zip(x, y, strict=True)) <= p and rows[0] != rows[1]:
            break
    P0, P1, t = ([a / (p + 1) for a in row] for row in ([p, 1], [1, p], [1, 1]))
    for E in (Fraction(1), Fraction(11, 10), Fraction(3, 2), p):
        assert worst_divergence(rows, 4, E) <= round_divergence(P0, P1, t, 4, E)
    assert worst_divergence(rows, 4, p) == 0


@pytest.mark.parametrize(("p", "beta", "q"), [(2, "1/4", 2), (3, "1/3", 4), (5, "1/2", "3/2")])
def test_the_repaired_reduction_is_attained(p: int, beta: str, q: int | str) -> None:
    """By others who have what is left of their law on a fourth symbol: (p, beta, q) alone allow no less."""
    ratio, most = Fraction(p), Fraction(q)
    P0, P1, t = reduced(ratio, Fraction(beta), most)
    rows = [[*P0, Fraction(0)], [*P1, Fraction(0)], [*t, 1 - sum(t)]]
    assert sum(max(Fraction(0), a - b) for a, b in zip(P0, P1, strict=True)) == Fraction(beta)
    assert all(max(a, b) <= most * c for a, b, c in zip(P0, P1, t, strict=True))
    for E in (Fraction(1), Fraction(11, 10), Fraction(3, 2)):
        truth = shuffled_divergence(rows, 0, 1, [2, 2, 2], E)
        assert truth == round_divergence(P0, P1, t, 4, E) > 0
