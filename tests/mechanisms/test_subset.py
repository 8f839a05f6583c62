"""The k-subset mechanism and PrivSet: golden values, default sizes, orbits, samplers, sets as inputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest

import shuffledp as sdp
from reference.places import golden
from reference.tolerances import within_tol
from shuffledp.mechanisms.categorical.grr import GRR
from shuffledp.mechanisms.categorical.subset import Subset
from shuffledp.mechanisms.codecs import PackedBits
from shuffledp.mechanisms.sets import reported_sets as set_randomizer
from shuffledp.mechanisms.sets.privset import PrivSet
from shuffledp.mechanisms.sets.reported_sets import SetRandomizer, _mean_variance
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair

GOLDEN = [entry for entry in golden("mechanisms.json") if entry["mechanism"] in ("k_subset", "privset")]


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def of(entry: dict) -> SetRandomizer:
    p = entry["params"]
    if entry["mechanism"] == "k_subset":
        return Subset(eps0=p["eps"], d=p["d"], k=p["k"])
    return PrivSet(eps0=p["eps"], d=p["D"] - p["s"], s=p["s"], k=p["k"])


def test_golden_parameters() -> None:
    assert len(GOLDEN) == 48
    for entry in GOLDEN:
        found = of(entry).variation_ratio()
        for name in ("p", "beta", "q"):
            assert getattr(found, name) == pytest.approx(entry["safe"][name], rel=1e-9)
            assert getattr(found, name) >= entry[name] * (1 - 1e-9)


def test_golden_masses_of_the_lower_bound() -> None:
    """c0, c1: what the best x* sends on {R0 > R1} and {R0 < R1}; k-subset has one orbit of pairs and three of x*."""
    for entry in GOLDEN:
        if entry["mechanism"] != "k_subset":
            continue
        masses = entry["masses"]
        found = [
            tuple(float(law[side].sum()) for law in (r.P0, r.P1, r.t) for side in (r.P0 > r.P1, r.P0 < r.P1))
            for r in of(entry).law.constant_datasets().pairs(10)
        ]
        wanted = tuple(masses[name] for name in ("a0", "b1", "b0", "a1", "c0", "c1"))
        assert any(f == pytest.approx(wanted, rel=1e-9) for f in found)


def test_support_probabilities_are_those_of_the_spec() -> None:
    for eps0, d, k in product((0.3, 2.0, 6.0), (2, 5, 12), (1, 3, 11)):
        if k < d:
            e, m = math.exp(eps0), Subset(eps0=eps0, d=d, k=k)
            assert m.keep == pytest.approx(k * e / (k * e + d - k), rel=1e-13)
            assert m.stray == pytest.approx(k * (e * (k - 1) + d - k) / ((d - 1) * (k * e + d - k)), rel=1e-13)
    for eps0, d, s, k in product((0.3, 4.0), (3, 9), (1, 3), (1, 2, 3)):
        e, D, m = math.exp(eps0), d + s, PrivSet(eps0=eps0, d=d, s=s, k=k)
        total = e * (math.comb(D, k) - math.comb(D - s, k)) + math.comb(D - s, k)
        with_, without = math.comb(D - 1, k - 1), math.comb(D - s - 1, k - 1)
        assert m.keep == pytest.approx(e * with_ / total, rel=1e-13)
        assert m.stray == pytest.approx((e * (with_ - without) + without) / total, rel=1e-13)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Subset(eps0=0, d=4), "eps0 must lie in"),
        (lambda: Subset(eps0=1, d=1), "d must lie in [2,"),
        (lambda: Subset(eps0=1, d=4.5), "d must be a whole number"),
        (lambda: Subset(eps0=1, d=4, k=0), "k must lie in [1, 3]"),
        (lambda: Subset(eps0=1, d=4, k=4), "k must lie in [1, 3]"),
        (lambda: Subset(eps0=1, d=4, k="2"), "k must be a number"),
        (lambda: PrivSet(eps0=-1, d=4, s=2), "eps0 must lie in"),
        (lambda: PrivSet(eps0=1, d=0, s=1), "d must lie in [1,"),
        (lambda: PrivSet(eps0=1, d=4, s=0), "s must lie in [1, 4]"),
        (lambda: PrivSet(eps0=1, d=4, s=5), "s must lie in [1, 4]"),
        (lambda: PrivSet(eps0=1, d=4, s=2, k=5), "k must lie in [1, 4]"),
        (lambda: PrivSet(eps0=1, d=4, s=2, k=1.5), "k must be a whole number"),
        (lambda: Subset(eps0=1, d=1000).probabilities(), "more than 1,000,000 cells"),
        (lambda: PrivSet(eps0=1, d=50, s=10).inputs(), "more than 1,000,000 cells"),
        (lambda: Subset(eps0=1, d=9).estimate(np.zeros((5, 7), dtype=np.uint8)), "reports must be what privatize of"),
        (lambda: PrivSet(eps0=1, d=4, s=2).privatize([0, 1]), "shape (users, items)"),
        (lambda: PrivSet(eps0=1, d=4, s=2).privatize([[0, 4]]), "items in [0, 4) or -1 for none, got 4"),
        (lambda: PrivSet(eps0=1, d=4, s=2).privatize([[0, -2]]), "got -2"),
        (lambda: PrivSet(eps0=1, d=4, s=2).privatize([[0, 1], [3, 3]]), "got 3 twice"),
        (lambda: PrivSet(eps0=1, d=4, s=2).privatize([[0.0, 1.0]]), "whole numbers"),
    ],
)
def test_bad_parameters_and_values(make, sentence: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        make()
    assert sentence in str(error.value)
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


@pytest.mark.heavy
def test_the_default_size_has_the_smallest_variance() -> None:
    for d, eps0 in product((2, 3, 4, 7, 30, 131, 900), (0.05, 0.5, 1.0, 2.0, 3.7, 8.0, 100.0)):
        k, e = Subset(eps0=eps0, d=d).k, math.exp(eps0)
        spread = {j: Subset(eps0=eps0, d=d, k=j).variance(1, 1 / d) for j in range(1, d) if abs(j - k) < 40}
        assert spread[k] <= min(spread.values()) * (1 + 1e-12)
        assert k in {max(1, math.floor(d / (e + 1))), math.ceil(d / (e + 1))}  # one of the two neighbors of d/(e+1)
    for d, s, eps0 in product((1, 2, 5, 40, 700), (1, 2, 5, 30), (0.1, 1.0, 3.0, 9.0)):
        if s <= d:
            sizes = np.arange(1, d + 1)
            miss = np.array([math.comb(d, j) / math.comb(d + s, j) for j in range(1, d + 1)])
            every = _mean_variance(eps0, d + s, s, sizes, miss)
            k = PrivSet(eps0=eps0, d=d, s=s).k
            assert every[k - 1] <= every.min() * (1 + 1e-12)
            exact = PrivSet(eps0=eps0, d=d, s=s).variance(1, s / (d + s))
            assert exact == pytest.approx(every[k - 1], rel=1e-9)
    assert Subset(eps0=1.0, d=4).k == 1  # ceil(d/(e+1)) = 2 would cost 30%
    assert Subset(eps0=1.0, d=4, k=2).variance(1, 0.25) > 1.29 * Subset(eps0=1.0, d=4).variance(1, 0.25)


@pytest.mark.heavy
def test_a_huge_domain_costs_no_more() -> None:
    big = sdp.amplify(Subset(eps0=1.0, d=10**6), n=10**6, delta=1e-8)
    small = sdp.amplify(Subset(eps0=1.0, d=10**4), n=10**6, delta=1e-8)
    assert big.epsilon == pytest.approx(small.epsilon, rel=1e-3)
    assert big.lower == pytest.approx(small.lower, rel=1e-3)
    one, grr = Subset(eps0=3.0, d=10**6, k=1), GRR(eps0=3.0, d=10**6)
    for field in ("epsilon", "lower"):
        pair = [getattr(sdp.amplify(m, n=10**6, delta=1e-8), field) for m in (one, grr)]
        assert pair[0] == within_tol(pair[1])
    sets = [sdp.amplify(PrivSet(eps0=1.0, d=d, s=50), n=10**6, delta=1e-8) for d in (10**5, 10**6)]
    assert sets[0].epsilon == pytest.approx(sets[1].epsilon, rel=0.02)


def test_masses_keep_their_digits_in_a_huge_domain() -> None:
    """Pr[y contains x0, not x1] for uniform y is k(D-k)/(D(D-1)); with x* missed too, one factor more."""
    D, k, t = 10**9, 7, math.exp(-2.0)
    m = Subset(eps0=2.0, d=D, k=k)
    total = Fraction(k, D) + Fraction(t) * Fraction(D - k, D)
    (round_,) = m.law.blanket().pairs(1)
    only = Fraction(k * (D - k), D * (D - 1)) / total
    assert sorted(round_.P0)[2] == pytest.approx(float(only), rel=1e-15)
    third = m.law.constant_datasets().pairs(9)[0]
    only = only * (D - k - 1) / (D - 2)
    at = np.flatnonzero((third.P0 > third.P1) & (third.t < third.P0 * 0.99))
    assert third.P0[at] == pytest.approx([float(only)], rel=1e-15)


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "PrivSet(eps0=2.0, d=3, s=2, k=1)",
    "PrivSet(eps0=2.0, d=4, s=3, k=2)",
    "PrivSet(eps0=4.0, d=3, s=2, k=2)",
    "PrivSet(eps0=4.0, d=4, s=2, k=2)",
    "PrivSet(eps0=4.0, d=5, s=3, k=2)",
    "Subset(eps0=1.5, d=9, k=4)",
)
@pytest.mark.parametrize(
    "m",
    [
        Subset(eps0=1.5, d=9, k=4),
        Subset(eps0=2.0, d=12, k=1),
        PrivSet(eps0=2.0, d=3, s=2),
        PrivSet(eps0=4.0, d=3, s=2, k=2),
        PrivSet(eps0=4.0, d=4, s=2, k=2),
        PrivSet(eps0=2.0, d=4, s=3, k=2),
        PrivSet(eps0=4.0, d=5, s=3, k=2),
    ],
    ids=str,
)
def test_bounds_of_all_pairs_and_all_datasets(m: SetRandomizer) -> None:
    """Upper bounds equal those of the matrix; the lower one is the best over every (x0, x1, x*)."""
    rows = m.probabilities()
    fixed = rows[0]  # permutations of the items: x0 may be fixed
    law = {}
    for x1, star in product(rows[1:], rows):
        for P0, P1 in permutations((fixed, x1)):
            key = np.round(np.sort(P0 / star + 1e3 * P1 / star + 1e6 * star), 6).tobytes()
            law.setdefault(key, ShuffledPair(P0=P0, P1=P1, t=star))
    matrix = sdp.FiniteRandomizer(rows)
    for n, delta in ((2, 1e-3), (20, 1e-4), (25, 1e-6), (3000, 1e-6)):
        for bound in ("blanket", "swap"):
            ours, theirs = (sdp.amplify(x, n=n, delta=delta, bound=bound) for x in (m, matrix))
            assert ours.epsilon == pytest.approx(theirs.epsilon, rel=4e-4)
        assert ours.lower >= theirs.lower * (1 - 4e-4)
        every = PairSet(list(law.values())).epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
        assert ours.lower == pytest.approx(every, rel=4e-4)


@pytest.mark.heavy
def test_disjoint_sets_are_the_worst_pair() -> None:
    """The convex-order argument of the docstring, at several eps and n."""
    for eps0, d, s, k in ((1.0, 6, 3, 2), (3.0, 5, 4, 5)):
        m, eps = PrivSet(eps0=eps0, d=d, s=s, k=k), np.array([0.0, 0.05, 0.3, 0.7]) * eps0
        for n in (1, 5, 60):
            values = []
            for shared in range(s):
                values.append(PairSet([m._over_blanket(shared)]).log_delta(eps, n=n, tol=1e-6, side="upper"))
            for fewer, more in pairwise(values):
                assert np.all(more <= fewer + 1e-5)


@pytest.mark.slow_cases("Subset(eps0=3.0, d=3000, k=70)-False-True")
@pytest.mark.parametrize(
    ("m", "packed", "bits"),
    [
        (Subset(eps0=1.0, d=128, k=100), True, True),
        (Subset(eps0=2.0, d=128, k=18), True, True),
        (Subset(eps0=2.0, d=300, k=9), False, False),
        (Subset(eps0=3.0, d=3000, k=70), False, True),
        (Subset(eps0=1.0, d=256, k=1), False, False),
    ],
    ids=str,
)
def test_every_way_to_draw_a_subset(m: Subset, packed: bool, bits: bool) -> None:
    """Distinct members, the held one with probability a, one other and two others as often as they should."""
    assert (isinstance(m.codec, PackedBits), m._by_bits) == (packed, bits)
    n, e, held = 20_000, math.exp(m.eps0), m.d - 1
    data = m.privatize(np.full(n, held), rng=seeded(m.k)).data
    assert data.dtype == (np.uint8 if packed else np.min_scalar_type(m.d - 1))
    assert data.nbytes == n * min((m.d + 7) // 8, m.k * data.itemsize)
    if packed:
        members = np.unpackbits(data, axis=1, count=m.d).astype(bool)
    else:
        assert np.all(data[:, 1:] > data[:, :-1])
        members = np.zeros((n, m.d), dtype=bool)
        members[np.arange(n)[:, None], data] = True
    assert np.all(members.sum(axis=1) == m.k)
    a = m.k * e / (m.k * e + m.d - m.k)
    inside, others = members[:, held], members[:, :held]
    assert abs(inside.mean() - a) < 5 * math.sqrt(a * (1 - a) / n)
    # given j = k - [held] other members they are uniform: the first half holds a hypergeometric number of them
    half = (m.d - 1) // 2
    number = others[:, :half].sum(axis=1) - (m.k - inside) * half / (m.d - 1)
    share = half / (m.d - 1)
    variance = np.mean((m.k - inside) * share * (1 - share) * (m.d - 1 - m.k + inside) / (m.d - 2))
    assert abs(number.mean()) < 5 * math.sqrt(variance / n)
    assert np.mean(number**2) == pytest.approx(variance, rel=0.08, abs=0.0)
    rate = others.mean(axis=0)
    assert np.all(np.abs(rate - m.stray) < 6 * math.sqrt(m.stray * (1 - m.stray) / n))


def test_sets_of_any_width() -> None:
    """Rows are padded up to s and sampled down to s; the frequencies are then those of the sampled sets."""
    m = PrivSet(eps0=6.0, d=6, s=2, k=1)
    n = 40_000
    wide = m.estimate(m.privatize(np.array([[0, -1, 1, 2, 5]] * n), rng=seeded()))
    assert np.all(np.abs(wide.value - [0.5, 0.5, 0.5, 0, 0, 0.5]) < 5 * wide.stderr)
    few = m.estimate(m.privatize(np.array([[-1, 4, -1, 2]] * n), rng=seeded(1)))
    assert np.all(np.abs(few.value - [0, 0, 1, 0, 1, 0]) < 5 * few.stderr)
    narrow = m.estimate(m.privatize(np.array([[3]] * n), rng=seeded(2)))
    assert np.all(np.abs(narrow.value - [0, 0, 0, 1, 0, 0]) < 5 * narrow.stderr)
    none = m.estimate(m.privatize(np.array([[-1]] * n), rng=seeded(3)))
    assert np.all(np.abs(none.value) < 5 * none.stderr)


def test_every_set_with_dummies_is_an_input() -> None:
    m = PrivSet(eps0=1.0, d=3, s=2, k=2)
    padded = [tuple(sorted(m.d + j if v < 0 else v for j, v in enumerate(row))) for row in m.inputs()]
    assert padded == list(combinations(range(5), 2))


def test_the_variance_is_that_of_the_estimate() -> None:
    for m, value in ((Subset(eps0=1.5, d=20), 3), (PrivSet(eps0=1.5, d=20, s=3), [3, 4, 5])):
        est = m.estimate(m.privatize(np.array([value] * 50_000), rng=seeded(5)))
        assert est.stderr[10] ** 2 == pytest.approx(m.variance(50_000), rel=0.05)
        assert est.stderr[3] ** 2 == pytest.approx(m.variance(50_000, 1.0), rel=0.05)


@pytest.mark.parametrize(("d", "s", "k"), [(4000, 40, 30), (4000, 40, 1), (300, 60, 200), (10**9, 300, 2)])
def test_large_laws_are_rounded_beyond_what_doubles_show(
    d: int, s: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probabilities as rounded products equal the exact fractions, cancellation and zeros included."""
    m = PrivSet(eps0=1.5, d=d, s=s, k=k)
    exact = [m.law.blanket().pairs(9), m.law.constant_datasets().pairs(99), m.variation_ratio(), m.stray]
    set_randomizer._miss.cache_clear()
    monkeypatch.setattr(set_randomizer, "_EXACT_BITS", 0)
    rounded = [m.law.blanket().pairs(9), m.law.constant_datasets().pairs(99), m.variation_ratio(), m.stray]
    set_randomizer._miss.cache_clear()
    assert rounded == exact


def test_the_largest_sets_need_no_huge_fractions() -> None:
    m = PrivSet(eps0=1.0, d=2_000_000_000, s=10_000)
    (pair,) = m.law.blanket().pairs(9) or ()
    total = sum(m._miss(items).denominator.bit_length() for items in (m.s, 2 * m.s))
    assert total < 10_000 and len(np.asarray(pair.t)) == 4
    # the chance that a uniform report misses s items, as a sum of 10,000 logarithms
    miss = math.exp(math.fsum(math.log1p(-m.k / (m.d + m.s - i)) for i in range(m.s)))
    assert math.isclose(float(m._miss(m.s)), miss, rel_tol=1e-12)
