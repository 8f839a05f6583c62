"""Own and blanket messages in groups, by the swap bound: every dataset of few users, and what the bound gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import Law, _send, exp_enclosure, hockey_stick
from reference.randomizers import Matrix
from reference.repetition import slow
from reference.swap import local_delta
from shuffledp.numerics.families.message_counts import Count
from shuffledp.numerics.families.swap import Curve
from shuffledp.numerics.families.swap_groups import Messages, SwapGroups, grouped

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


@pytest.mark.parametrize(("flip", "n", "blankets"), [(F(1, 4), 2, 2), (F(1, 10), 2, 1), (F(2, 5), 3, 2)])
def test_rows_of_flipped_bits_over_all_datasets(flip: Fraction, n: int, blankets: int) -> None:
    """Three items: the others may hold a third one, whose bit tells their rows from blanket rows."""
    bits = [(a, b, c) for a in (1, 0) for b in (1, 0) for c in (1, 0)]

    def law(item: int | None) -> list[Fraction]:
        held = [[1 - flip if (i == item) == bool(row[i]) else flip for i in range(3)] for row in bits]
        return [math.prod(chances) for chances in held]  # type: ignore[misc]

    rows, t = [law(0), law(1), law(2)], law(None)
    mechanism = sdp.CheuZhilyaev(flip=float(flip), d=3, total_messages=blankets)
    for eps in (0.1, 0.6):
        truth = max(deltas(rows, t, (0, 1), n, blankets, exp_enclosure(eps)[1]))
        bound = np.exp(mechanism.law.swap().log_delta(np.array([eps]), n=n, tol=1e-4, side="upper")[0])
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
        made = grouped(
            Messages(*(np.array([float(p) for p in row]) for row in (*rows[:2], rows[-1], t))), size, float(alpha)
        )
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


def test_the_last_term_is_that_of_the_victims_own_message() -> None:
    """If nobody is free, the victim's message is seen by itself, not in a group."""
    rows, t = [[F(99, 100), F(1, 100)], [F(1, 100), F(99, 100)]], [F(1, 2), F(1, 2)]
    member = replace(family_of(rows, t, (0, 1), Count(1))._plan(1).member, common_mass=0.0)
    alone = float(local_delta(rows[0], rows[1], exp_enclosure(0.5)[0]))
    for n in (1, 50):
        assert math.exp(float(Curve(member, n, 1e-4).log_upper(np.array([0.5]))[0])) == pytest.approx(alone, rel=1e-9)
    assert member.max_ratio == pytest.approx(99.0)


@pytest.mark.parametrize(
    ("spec", "gain"),
    [
        ("cheu-zhilyaev:flip=0.25,d=10,messages=1", 0.93),
        ("cheu-zhilyaev:flip=0.25,d=10,poisson=1", 0.93),
        ("cheu-zhilyaev:flip=0.25,d=10,messages=1.5", 0.97),
        ("cheu-zhilyaev:flip=0.25,d=2,messages=1", 0.88),
        ("cheu-zhilyaev:flip=0.4,d=10,messages=3", 0.99),
    ],
)
def test_it_is_below_the_blanket_where_users_send_a_blanket_message_each(spec: str, gain: float) -> None:
    for n in (10**4, 10**6):
        blanket = sdp.amplify(spec, n=n, delta=1e-6, bound="blanket").epsilon
        found = sdp.amplify(spec, n=n, delta=1e-6)
        assert found.bound == "swap" and found.lower is not None
        assert found.lower < found.epsilon < gain * blanket
        assert sdp.profile(spec, n=n, epsilon=found.epsilon, bound="swap") <= 1e-6 * (1 + 1e-9)


def test_where_few_blanket_messages_are_sent_the_blanket_answers() -> None:
    spec = "cheu-zhilyaev:flip=0.25,d=10,messages=0.3"
    found = sdp.amplify(spec, n=10**4, delta=1e-6)
    assert found.bound == "blanket"
    assert found.epsilon == sdp.amplify(spec, n=10**4, delta=1e-6, bound="blanket").epsilon
    with pytest.raises(sdp.BoundNotApplicableError, match="own messages"):
        sdp.amplify("pure-dump:d=8,messages=2", n=1000, delta=1e-6, bound="swap")


def test_deployments() -> None:
    spec = "cheu-zhilyaev:flip=0.25,d=10,messages=1"
    plain, fewer, some = (
        sdp.amplify(spec, n=10**4, delta=1e-6, **terms).epsilon
        for terms in ({}, {"dropouts": 500}, {"participation": 0.9})
    )
    assert plain < fewer < some  # participation below 1 is known for the blanket only
    assert some == sdp.amplify(spec, n=10**4, delta=1e-6, participation=0.9, bound="blanket").epsilon
    acc = sdp.Accountant()
    acc.compose(spec, n=10**4)
    assert acc.epsilon(delta=1e-6) == pytest.approx(plain, rel=1e-3)
