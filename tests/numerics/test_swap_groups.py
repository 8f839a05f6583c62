"""Own and blanket messages in groups, by the swap bound: every dataset of few users, and what the bound gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from random import Random

import numpy as np
import pytest

from reference.fractions_oracle import Law, _send, exp_enclosure, hockey_stick
from reference.randomizers import Matrix
from reference.repetition import slow
from reference.swap import local_delta
from shuffledp.numerics.counts import Count
from shuffledp.numerics.swap.groups import Group, Messages, SwapGroups

F = Fraction
EPS = (0.0, 0.1, 0.5, 1.2)
Row = Sequence[Fraction]


def deltas(rows: Matrix, t: Row, pair: tuple[int, int], n: int, blankets: int, E: Fraction) -> list[Fraction]:
    """The truth for every multiset of what the n - 1 others hold, among so many blanket messages."""
    noise: Law = {(0,) * len(t): F(1)}
    for _ in range(blankets):
        noise = _send(noise, t, F(0))
    found = []
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        law = noise
        for x in others:
            law = _send(law, rows[x], F(0))
        found.append(hockey_stick(_send(law, rows[pair[0]], F(0)), _send(law, rows[pair[1]], F(0)), E))
    return found


def random_protocol(rng: Random) -> tuple[Matrix, list[Fraction]]:
    """Own messages R_x and blanket messages t on two or three symbols, all of them possible."""
    size = rng.choice([2, 3])

    def law() -> list[Fraction]:
        weights = [rng.choice([1, 1, 2, 5, 20]) for _ in range(size)]
        return [F(w, sum(weights)) for w in weights]

    return [law() for _ in range(rng.choice([2, 3]))], law()


def share_of(rows: Matrix, t: Row) -> Fraction:
    return min(r / b for row in rows for r, b in zip(row, t, strict=True))


def family_of(rows: Matrix, t: Row, pair: tuple[int, int], count: Count) -> SwapGroups:
    laws = [np.array([float(p) for p in row]) for row in (*rows, t)]
    types = [Messages(laws[pair[0]], laws[pair[1]], own, laws[-1]) for own in laws[:-1]]
    return SwapGroups(types, float(share_of(rows, t)), lambda n: count)


def attack(rows: Matrix, t: Row, n: int, blankets: int) -> int:
    cases = 0
    for pair in permutations(range(len(rows)), 2):
        family = family_of(rows, t, pair, Count(blankets))
        bounds = np.exp(family.log_delta(np.array(EPS), n=n, tol=1e-4, side="upper"))
        for eps, bound in zip(EPS, bounds, strict=True):
            truth = deltas(rows, t, pair, n, blankets, exp_enclosure(eps)[1])
            assert float(max(truth)) <= bound, (rows, t, pair, n, blankets, eps)
            cases += len(truth)
    return cases


@pytest.mark.heavy
def test_never_below_the_truth_over_all_datasets() -> None:
    rng, cases = Random(5), 0
    for n, blankets in ((1, 2), (2, 1), (2, 2), (3, 2), (3, 3), (3, 5), (4, 3), (4, 6)):
        cases += attack(*random_protocol(rng), n, blankets)
    assert cases > 150


@slow
@pytest.mark.parametrize("seed", range(6))
def test_never_below_the_truth_over_all_datasets_at_length(seed: int) -> None:
    rng = Random(100 + seed)
    for _ in range(12):
        attack(*random_protocol(rng), rng.choice([2, 3, 4, 5]), rng.choice([1, 2, 3, 4, 6, 8]))


@pytest.mark.slow_cases("flip2-3-2")
@pytest.mark.parametrize(("flip", "n", "blankets"), [(F(1, 4), 2, 2), (F(1, 10), 2, 1), (F(2, 5), 3, 2)])
def test_rows_of_flipped_bits_over_all_datasets(flip: Fraction, n: int, blankets: int) -> None:
    """Three items: the others may hold a third one, whose bit tells their rows from blanket rows."""
    bits = [(a, b, c) for a in (1, 0) for b in (1, 0) for c in (1, 0)]

    def law(item: int | None) -> list[Fraction]:
        held = [[1 - flip if (i == item) == bool(row[i]) else flip for i in range(3)] for row in bits]
        return [math.prod(chances) for chances in held]  # type: ignore[misc]

    rows, t = [law(0), law(1), law(2)], law(None)
    family = family_of(rows, t, (0, 1), Count(blankets))
    for eps in (0.1, 0.6):
        truth = max(deltas(rows, t, (0, 1), n, blankets, exp_enclosure(eps)[1]))
        bound = np.exp(family.log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0])
        assert float(truth) <= bound


def test_a_random_number_of_messages_is_averaged() -> None:
    rng = Random(8)
    for count in (Count(1, ((3, 0.5),)), Count(0, ((4, 0.25),)), Count(2, ((1, 0.75),))):
        (rows, t), n = random_protocol(rng), 3
        (size, chance), pair = count.parts[0], (0, 1)
        bounds = np.exp(family_of(rows, t, pair, count).log_delta(np.array(EPS), n=n, tol=1e-4, side="upper"))
        for eps, bound in zip(EPS, bounds, strict=True):
            truth = F(0)
            for more in range(size + 1):
                mass = math.comb(size, more) * F(chance) ** more * (1 - F(chance)) ** (size - more)
                truth += mass * max(deltas(rows, t, pair, n, count.fixed + more, exp_enclosure(eps)[1]))
            assert float(truth) <= bound


def test_a_group_is_what_its_messages_are() -> None:
    """Against the law of the multiset from its definition, for every order of the messages."""
    rng = Random(3)
    for size, alpha in ((1, F(1, 4)), (2, F(3, 4)), (3, F(1, 2))):
        (rows, t) = random_protocol(rng)
        messages = Messages(*(np.array([float(p) for p in row]) for row in (*rows[:2], rows[-1], t)))
        made = Group.of(messages, size).pair(float(alpha))
        for law, victim in ((made.P0, rows[0]), (made.P1, rows[1]), (made.t, None)):
            wanted: Law = {}
            for share, messages in ((alpha, [t] * size), (1 - alpha, [rows[-1], *[t] * (size - 1)])):
                found: Law = {(0,) * len(t): F(1)}
                for row in (*messages, victim) if victim else (rows[-1], *[t] * size):
                    found = _send(found, row, F(0))
                for key, mass in found.items():
                    wanted[key] = wanted.get(key, F(0)) + share * mass
            order = sorted(wanted, reverse=True)  # (all of the first symbol), ...: as combinations are listed
            assert np.allclose(law, [float(wanted[key]) for key in order], rtol=1e-12)


def test_a_group_of_messages_beside_the_victim_alone() -> None:
    """Where nobody is free, the victim's own message is what is revealed, not the group that it would be in."""
    rng = Random(2)
    rows, t = random_protocol(rng)
    family = family_of(rows, t, (0, 1), Count(0))
    alone = float(local_delta(rows[0], rows[1], exp_enclosure(0.1)[0]))
    for n in (1, 3):
        bound = math.exp(family.log_delta(np.array([0.1]), n=n, tol=1e-4, side="upper")[0])
        assert bound == pytest.approx(alone, rel=1e-9)
