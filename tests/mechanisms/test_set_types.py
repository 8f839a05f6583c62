"""What another user may hold, for mechanisms on sets: the listed laws against all sets, from the definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, permutations, product
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.sets.coin_counts import CoinTypes
from shuffledp.mechanisms.sets.overlaps import dominating, unions
from shuffledp.numerics.swap.family import SwapSet

#: Values of a slot with their probabilities.
Slot = dict[Fraction, Fraction]


def excess(slot: Slot, at: Fraction) -> Fraction:
    """E(X - at)_+."""
    return sum((mass * max(value - at, Fraction(0)) for value, mass in slot.items()), Fraction(0))


def dominated(slot: Slot, by: Slot) -> bool:
    """Whether one law is below another in convex order."""
    if sum(x * m for x, m in slot.items()) != sum(x * m for x, m in by.items()):
        return False
    return all(excess(slot, at) <= excess(by, at) for at in {*slot, *by})


# -- PrivSet ------------------------------------------------------------------------------------------------------


def pattern_of(sets: Sequence[frozenset[int]]) -> tuple[int, int, int, int]:
    first, second, third = sets
    return len(first | second), len(first | third), len(second | third), len(first | second | third)


def patterns(D: int, s: int) -> Iterator[tuple[int, int, int, int]]:
    """The listed ones."""
    for overlap in dominating(D, s):
        size = unions(overlap, s)
        yield size[1, 1, 0], size[1, 0, 1], size[0, 1, 1], size[1, 1, 1]


@lru_cache(maxsize=4096)
def slot_of(D: int, s: int, k: int, sizes: tuple[int, int, int, int], rho: Fraction, a: int, b: int) -> Slot:
    """The law of a u - b v for sets whose unions have these sizes: shares of reports, then densities 1 and rho."""
    miss = {m: Fraction(math.comb(D - m, k), math.comb(D, k)) for m in (s, *sizes)}
    missed = {
        (1, 1, 1): miss[sizes[3]],
        (1, 1, 0): miss[sizes[0]],
        (1, 0, 1): miss[sizes[1]],
        (0, 1, 1): miss[sizes[2]],
    }
    missed |= dict.fromkeys(((1, 0, 0), (0, 1, 0), (0, 0, 1)), miss[s]) | {(0, 0, 0): Fraction(1)}
    found: Slot = {}
    for cell in product((0, 1), repeat=3):  # missed or met
        above = [other for other in missed if all(x >= y for x, y in zip(other, cell, strict=True))]
        mass = sum((-1) ** (sum(other) - sum(cell)) * missed[other] for other in above)
        u, v, t = (rho if gone else Fraction(1) for gone in cell)
        value = (a * u - b * v) / t
        found[value] = found.get(value, Fraction(0)) + mass * t
    return found


def compared(seed: int) -> int:
    """Three random sets: some listed pattern dominates them, for a random report size, ratio and two weights."""
    rng = Random(seed)
    s = rng.randint(1, 7)
    D = rng.randint(s + 1, 3 * s + 2) if s > 1 else rng.randint(2, 6)
    D = max(D, 2 * s)
    k = rng.randint(1, D - s)
    rho, a, b = Fraction(1, rng.choice([2, 3, 20])), rng.randint(0, 5), rng.randint(0, 5)
    pool = range(rng.randint(s, D))  # few items make sets that meet
    sets = [frozenset(rng.sample(pool, s)) for _ in range(3)]
    if sets[0] == sets[1]:
        return 0
    mine = slot_of(D, s, k, pattern_of(sets), rho, a, b)
    assert any(dominated(mine, slot_of(D, s, k, sizes, rho, a, b)) for sizes in patterns(D, s)), (seed, sets)
    return 1


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [100, slow(15_000)])
def test_a_listed_pattern_dominates_every_three_sets(tries: int) -> None:
    assert sum(map(compared, range(tries))) > 0.65 * tries


def test_patterns_are_those_of_sets_and_few() -> None:
    for D, s in ((2, 1), (4, 2), (5, 2), (6, 3), (7, 3), (9, 3), (8, 4)):
        every = list(map(frozenset, combinations(range(D), s)))
        real = {pattern_of((every[0], x, y)) for x, y in product(every[1:], every)}
        assert set(patterns(D, s)) <= real
        assert len(list(patterns(D, s))) == len(set(patterns(D, s)))
    assert len(list(patterns(100, 24))) == 25**2 - 1


def views(rows: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The law of the messages in order, given that the victim is first, made symmetric: for every dataset and pair."""
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        hidden = np.ones(())
        for x in others:
            hidden = np.multiply.outer(hidden, rows[x])
        sent = []
        for row in rows:
            law = np.multiply.outer(row, hidden)
            sent.append(sum(np.transpose(law, order) for order in permutations(range(n))))
        for one, two in permutations(range(len(rows)), 2):
            yield sent[one], sent[two]


def truths(rows: np.ndarray, n: int, ratios: Sequence[tuple[int, int]]) -> list[Fraction]:
    """The largest divergence over all datasets at E = p/q, of rows of whole numbers that all have one sum."""
    total = math.factorial(n) * int(rows[0].sum()) ** n
    worst = [0] * len(ratios)
    for first, second in views(rows, n):
        for i, (p, q) in enumerate(ratios):
            worst[i] = max(worst[i], int(np.maximum(q * first - p * second, 0).sum()))
    return [Fraction(x, q * total) for x, (_, q) in zip(worst, ratios, strict=True)]


RATIOS = [(1, 1), (21, 20), (5, 4), (3, 2), (9, 4)]


def checked(m: sdp.Mechanism, family: SwapSet, rows: np.ndarray, n: int) -> int:
    """No value of the family is below the truth; the mechanism's numbers are doubles near the whole ones."""
    eps = np.log([p / q for p, q in RATIOS])
    upper = np.exp(family.log_delta(eps, n=n, tol=1e-4, side="upper"))
    truth = truths(rows, n, RATIOS)
    for above, true in zip(upper.tolist(), truth, strict=True):
        assert above >= float(true) * (1.0 - 1e-11) - 1e-14, (m, n, above, float(true))
    return len(truth)


def privset_rows(D: int, s: int, k: int, ratio: int) -> np.ndarray:
    sets, reports = list(combinations(range(D), s)), list(combinations(range(D), k))
    return np.array([[1 if set(x).isdisjoint(y) else ratio for y in reports] for x in sets], dtype=np.int64)


@pytest.mark.parametrize(
    ("d", "s", "k", "ratio", "n"),
    [(2, 2, 1, 3, 3), (3, 2, 2, 2, 2), (3, 3, 1, 4, 2), slow(3, 2, 1, 5, 3), slow(4, 2, 2, 3, 3), slow(3, 3, 2, 2, 3)],
)
def test_no_dataset_of_sets_exceeds_the_swap_bound(d: int, s: int, k: int, ratio: int, n: int) -> None:
    m = sdp.PrivSet(eps0=math.log(ratio), d=d, s=s, k=k)
    rows = privset_rows(d + s, s, k, ratio)
    assert checked(m, m.law.swap(), rows, n) == len(RATIOS)


# -- sampling RAPPOR ------------------------------------------------------------------------------------------------


def rappor_rows(d: int, s: int, F: int, G: int) -> np.ndarray:
    """Weights of all reports of all sets, coins having odds F : G."""
    rows = []
    for held in combinations(range(d), s):
        row = []
        for bits in product((0, 1), repeat=d):
            ones = sum(bits)
            row.append(F**ones * G ** (d - ones) * (s * F * F + sum(bits[v] for v in held) * (G * G - F * F)))
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def listed(m: sdp.SamplingRappor) -> SwapSet:
    """The types in full, as a proof lists them: a table is not used among few users."""
    family = m.law.swap()
    assert isinstance(family, CoinTypes)
    members = family.laws(1)
    assert members is not None
    return SwapSet(members)


@pytest.mark.parametrize(("d", "s", "n"), [(6, 5, 2), slow(7, 5, 2), slow(6, 5, 3), slow(7, 6, 3), slow(8, 6, 2)])
def test_no_dataset_of_coins_exceeds_the_swap_bound(d: int, s: int, n: int) -> None:
    for F, G in ((1, 2), (1, 4)):
        m = sdp.SamplingRappor(eps0=2.0 * math.log(G / F), d=d, s=s)
        assert checked(m, listed(m), rappor_rows(d, s, F, G), n) == len(RATIOS)


def spread_of(d: int, s: int, F: int, G: int, seed: int, directions: int) -> int:
    """A listed type spreads the law of (u, v) of every set: E(a u + b v - c)_+ is larger."""
    rng = Random(seed)
    m = sdp.SamplingRappor(eps0=2.0 * math.log(G / F), d=d, s=s)
    (member,) = listed(m)._members
    rows = rappor_rows(d, s, F, G) / float(rappor_rows(d, s, F, G)[0].sum())
    every = [frozenset(held) for held in combinations(range(d), s)]
    first = every[0]
    second = every[-1]  # the last s items: it shares as few as it may
    count = 0
    for third in [first, second, *rng.sample(every, min(len(every), 6))]:
        p0, p1, t = (rows[every.index(x)] for x in (first, second, third))
        shape = Counter((int(v in first), int(v in second)) for v in third)
        for _ in range(directions):
            a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
            exact = a * p0 / t + b * p1 / t
            c = float(rng.choice(exact.tolist())) + rng.choice([0.0, 0.01, -0.01])
            least = float((t * np.maximum(exact - c, 0.0)).sum())
            found = []
            for pair in member.types:
                q0, q1, r = (np.asarray(x) for x in (pair.P0, pair.P1, pair.t))
                sent = r > 0.0
                value = (a * q0[sent] + b * q1[sent]) / r[sent] - c
                found.append(float((r[sent] * np.maximum(value, 0.0)).sum()))
            assert max(found) >= least * (1.0 - 1e-9) - 1e-12, (seed, sorted(third), shape, a, b, c)
            count += 1
    return count


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("cases", "directions"),
    [([(6, 5), (8, 5), (10, 5)], 6), slow([(6, 5), (8, 5), (9, 6), (10, 5), (11, 5), (10, 7)], 250)],
)
def test_listed_types_spread_those_of_all_sets(cases: list[tuple[int, int]], directions: int) -> None:
    number = sum(spread_of(d, s, 1, G, d * G, directions) for d, s in cases for G in (2, 5))
    assert number >= 10 * directions


def test_every_type_is_a_law_and_there_are_as_many_as_sets_up_to_permutations() -> None:
    for d, s in ((6, 5), (9, 5), (12, 6), (14, 5), (11, 8)):
        m = sdp.SamplingRappor(eps0=1.7, d=d, s=s)
        (member,) = listed(m)._members
        first, second = set(range(s)), set(range(d - s, d))
        shapes = {(len(first & set(x) - second), len(second & set(x) - first)) for x in combinations(range(d), s)}
        assert len(member.types) == len(shapes)
        for pair in member.types:
            assert pair.left_out == 0.0
            for law in (pair.P0, pair.P1, pair.t):
                assert math.fsum(np.asarray(law).tolist()) == pytest.approx(1.0, abs=1e-11)


def test_too_large_sets_say_so() -> None:
    for m in (sdp.SamplingRappor(eps0=1.0, d=100, s=31), sdp.PrivSet(eps0=1.0, d=100, s=31)):
        with pytest.raises(sdp.BoundNotApplicableError, match="at most 30 items, got 31; use bound='auto'"):
            sdp.amplify(m, n=1000, delta=1e-6, bound="swap")
        assert sdp.amplify(m, n=1000, delta=1e-6).epsilon > 0.0


@pytest.mark.parametrize("spec", ["sampling-rappor:eps0=1,d=64,s={}", "privset:eps0=1,d=64,s={}"])
@pytest.mark.parametrize("s", [5, 8, slow(12), slow(16), slow(24)])
def test_sets_of_any_size_are_known_to_a_tenth_of_a_per_cent(spec: str, s: int) -> None:
    found = sdp.amplify(spec.format(s), n=10_000, delta=1e-6)
    assert found.lower is not None and found.lower <= found.epsilon <= 1.001 * found.lower


@pytest.mark.heavy
def test_certificates_of_sets() -> None:
    found = sdp.amplify("privset:eps0=1,d=64,s=6", n=10_000, delta=1e-6, certify=True)
    assert found.bound == "swap" and found.certificate is not None
    assert "within the stated delta" in str(sdp.verify(found.certificate))
