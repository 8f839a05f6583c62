"""Local hashing, Hadamard response and the wheel: golden values, orbits, hash families, samplers on small circles."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.places import golden
from shuffledp.mechanisms.categorical.hadamard import Hadamard
from shuffledp.mechanisms.categorical.local_hash import LocalHash
from shuffledp.mechanisms.sets.circle import positions
from shuffledp.mechanisms.sets.wheel import Wheel
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair

GOLDEN = golden("mechanisms.json")


class Circle7(Wheel):
    """A wheel of seven points, whose law can be written down in full."""

    _points: ClassVar[int] = 7


def made(entry: dict[str, Any]) -> Any:
    given = entry["params"]
    if entry["mechanism"] == "local_hash":
        return LocalHash(eps0=given["eps"], d=given["d"], l=given["l"])
    if entry["mechanism"] == "wheel":
        return Wheel(eps0=given["eps"], d=given["d"], s=given["s"], w=given["p"])
    # the golden file tries other numbers of blocks than the optimal one, too
    m = type("Blocks", (Hadamard,), {"blocks": given["B"]})(eps0=given["eps"], d=given["d"])
    assert (m.blocks, m.block, m.outputs, m.block // 2) == tuple(given[x] for x in ("B", "b", "K", "s"))
    return m


def upper(family: Any, n: int, delta: float = 1e-4) -> float:
    return float(family.epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon)


def lower(family: Any, n: int, delta: float = 1e-4) -> float:
    return float(family.epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon)


def every_pair_and_other(matrix: np.ndarray) -> tuple[PairSet, PairSet]:
    """All ordered pairs over the blanket, and all of them with all others holding one input."""
    pairs, triples = {}, {}
    for i, j in itertools.permutations(range(len(matrix)), 2):
        for table, others in ((pairs, [matrix.min(axis=0)]), (triples, list(matrix))):
            for t in others:
                laws = np.stack([matrix[i], matrix[j], t])
                columns, sizes = np.unique(laws.round(13), axis=1, return_counts=True)
                table.setdefault((columns.tobytes(), sizes.tobytes()), ShuffledPair(*(columns * sizes)))
    return PairSet(list(pairs.values())), PairSet(list(triples.values()))


@pytest.mark.parametrize("name", ["local_hash", "hadamard", "wheel"])
def test_golden_parameters(name: str) -> None:
    entries = [e for e in GOLDEN if e["mechanism"] == name]
    assert len(entries) >= 10
    for entry in entries:
        got = made(entry).variation_ratio()
        for key in ("p", "beta", "q"):
            assert getattr(got, key) == pytest.approx(entry["safe"][key], rel=1e-9)
            assert getattr(got, key) >= entry[key] * (1 - 1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LocalHash(eps0=0.0, d=4), "eps0 must lie in"),
        (lambda: LocalHash(eps0=1.0, d=1), "d must lie in"),
        (lambda: LocalHash(eps0=1.0, d=2.5), "d must be a whole number"),
        (lambda: LocalHash(eps0=1.0, d=4, l=1), "l must lie in"),
        (lambda: LocalHash(eps0=1.0, d=1000, l=8).probabilities(), "more than 1,000,000 cells"),
        (lambda: Hadamard(eps0=-1.0, d=4), "eps0 must lie in"),
        (lambda: Hadamard(eps0=1.0, d=1), "d must lie in"),
        (lambda: Hadamard(eps0=1.0, d=2000).probabilities(), "more than 1,000,000 cells"),
        (lambda: Wheel(eps0=math.inf, d=4, s=1), "eps0 must lie in"),
        (lambda: Wheel(eps0=1.0, d=4, s=4), "s must lie in"),
        (lambda: Wheel(eps0=1.0, d=4, s=0), "s must lie in"),
        (lambda: Wheel(eps0=1.0, d=4, s=2, w=0.5), "w must lie in (0, 0.5)"),
        (lambda: Wheel(eps0=1.0, d=4, s=2, w=0.0), "w must lie in"),
        (lambda: Wheel(eps0=1.0, d=4, s=2, w=1e-12), "w must leave a point"),
        (lambda: Wheel(eps0=1.0, d=4, s=3, w=math.nextafter(1 / 3, 0)), "w must leave a point"),
        (lambda: Wheel(eps0=1.0, d=4, s=2).privatize([[0, 1, 2]]), "values must have shape (users, 2)"),
        (lambda: Wheel(eps0=1.0, d=4, s=2).privatize([[0, 1], [3, 3]]), "different items"),
        (lambda: Wheel(eps0=1.0, d=4, s=2).privatize([[0, 4]]), "values must lie in [0, 4), got 4"),
        (lambda: Wheel(eps0=1.0, d=4, s=2).probabilities(), "does not enumerate"),
    ],
)
def test_bad_parameters(make: Any, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        make()
    assert words in str(error.value) and str(error.value).endswith(".") and "\n" not in str(error.value)


def test_default_parameters_are_optimal() -> None:
    for eps0 in (0.1, 0.7, 1.0, 2.0, 3.3, 5.0):
        best = LocalHash(eps0=eps0, d=100)
        for l in (best.l - 1, best.l + 1):
            assert l < 2 or best.variance(1) <= LocalHash(eps0=eps0, d=100, l=l).variance(1)
        for s, loss in ((1, 1e-9), (2, 0.003), (5, 0.003)):
            wheel = Wheel(eps0=eps0, d=100, s=s)
            around = [Wheel(eps0=eps0, d=100, s=s, w=wheel.w * x).variance(1) for x in np.linspace(0.8, 1.2, 41)]
            assert wheel.variance(1) <= min(around) * (1 + loss)
    assert LocalHash(eps0=500.0, d=100).l == 2**31
    assert Wheel(eps0=500.0, d=100, s=3)._width == 1


def test_accounting_does_not_depend_on_the_domain_size() -> None:
    n, delta = 10_000, 1e-6
    for large, small in (
        (LocalHash(eps0=2.0, d=10**6), LocalHash(eps0=2.0, d=4096)),
        (Hadamard(eps0=1.0, d=10**6), Hadamard(eps0=1.0, d=500)),
        (Wheel(eps0=2.0, d=10**6, s=3), Wheel(eps0=2.0, d=9, s=3)),
    ):
        got, known = (sdp.amplify(m, n=n, delta=delta) for m in (large, small))
        assert got.epsilon == pytest.approx(known.epsilon, rel=3e-4)
        assert got.lower == pytest.approx(known.lower, rel=3e-4)
        assert got.lower <= got.epsilon <= 1.25 * got.lower
        for family in (large.law.blanket(), large.law.constant_datasets()):
            members = family.pairs(10)
            assert members is not None and all(np.size(r.t) <= 16 for r in members)


def test_extreme_budgets_have_rounds() -> None:
    for eps0 in (1e-6, 30.0, 500.0):
        for m in (LocalHash(eps0=eps0, d=50), Hadamard(eps0=eps0, d=50), Wheel(eps0=eps0, d=50, s=4)):
            for family in (m.law.blanket(), m.law.constant_datasets()):
                for r in family.pairs(10) or ():
                    assert math.log(r.max_ratio) <= eps0 * (1 + 1e-9)


# -- local hashing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l", [2, 3, 4, 6])
def test_three_hash_values_are_independent_up_to_a_shift(l: int) -> None:
    """Also for l that is no prime; this is what the exact law rests on."""
    seeds = np.array(list(itertools.product(range(l), repeat=3)))
    bits = np.arange(8)[:, None] >> np.arange(3) & 1
    h = seeds @ bits.T % l
    for x0, x1, x2 in itertools.permutations(range(8), 3):
        pair = (h[:, x1] - h[:, x0]) % l * l + (h[:, x2] - h[:, x0]) % l
        assert set(np.bincount(pair, minlength=l * l).tolist()) == {l}


@pytest.mark.parametrize(("d", "l"), [(2, 2), (5, 7), (128, 4), (1000, 200), (70, 70_000)])
def test_support_counts_are_those_of_the_definition(d: int, l: int) -> None:
    m = LocalHash(eps0=1.0, d=d, l=l)
    data = m.privatize(np.arange(300) % d, rng=np.random.default_rng(1)).data
    assert data.dtype == np.min_scalar_type(l - 1)
    k = data.shape[1] - 1
    bits = np.arange(d)[:, None] >> np.arange(k) & 1
    hashed = data[:, :k].astype(np.int64) @ bits.T % l
    assert np.array_equal(m._tally(data), (hashed == data[:, k:]).sum(axis=0))
    # a stray answer is as likely in any bucket; at eps0 = 1 the held item is supported more often than others
    kept = (hashed[np.arange(300), np.arange(300) % d] == data[:, k]).mean()
    assert abs(kept - m.keep) < 5 * math.sqrt(m.keep * (1 - m.keep) / 300) + 0.01


def test_the_blanket_knows_collisions() -> None:
    """Collisions hide: the blanket is tighter than that of randomized response on the buckets, and still an upper."""
    m = LocalHash(eps0=1.0, d=6, l=3)
    exact, held = every_pair_and_other(m.probabilities())
    grr = sdp.mechanism("grr:eps0=1,d=3").law.blanket()
    assert upper(m.law.blanket(), 500) == pytest.approx(upper(exact, 500), rel=3e-4)
    assert lower(m.law.constant_datasets(), 500) == pytest.approx(lower(held, 500), rel=3e-4)
    assert upper(m.law.blanket(), 500) < 0.9 * upper(grr, 500)


# -- Hadamard -------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("2.5-20")
@pytest.mark.parametrize(("eps0", "d"), [(0.6, 6), (1.0, 3), (1.2, 10), (2.5, 20), (2.0, 5)])
def test_the_listed_orbits_are_all(eps0: float, d: int) -> None:
    m = Hadamard(eps0=eps0, d=d)
    exact, held = every_pair_and_other(m.probabilities())
    for ours, all_ in ((m.law.blanket(), exact), (m.law.constant_datasets(), held)):
        assert len(ours.pairs(20) or ()) == len(all_.pairs(20) or ())
    for n in (2, 40):
        assert upper(m.law.blanket(), n) == pytest.approx(upper(exact, n), rel=3e-4)
        assert lower(m.law.constant_datasets(), n) == pytest.approx(lower(held, n), rel=3e-4)


def test_both_kinds_of_pairs_are_listed_and_the_one_across_is_the_worse() -> None:
    within, across = Hadamard(eps0=1.2, d=10).law.blanket().pairs(5) or ()
    for n in (1, 7, 100, 10_000):
        assert upper(PairSet([within]), n) <= upper(PairSet([across]), n) * (1 + 3e-4)
    assert len(Hadamard(eps0=0.5, d=10).law.blanket().pairs(5) or ()) == 1
    assert len(Hadamard(eps0=9.0, d=10).law.blanket().pairs(5) or ()) == 1


def test_hadamard_variance_is_exact() -> None:
    for eps0, d in ((0.5, 5), (1.2, 10), (5.0, 6)):
        m = Hadamard(eps0=eps0, d=d)
        signs = np.where(m.probabilities() > m._other * 1.0001, 1.0, -1.0)
        block = np.arange(m.outputs) // m.block == np.arange(d)[:, None] // (m.block - 1)
        gain = signs * block * m._gain  # what a report adds to each item
        mean, square = m.probabilities() @ gain.T, m.probabilities() @ (gain**2).T
        assert mean == pytest.approx(np.eye(d), abs=1e-9)
        share = np.arange(1, d + 1) / (d * (d + 1) / 2)
        truth = share @ (square - mean**2)
        home = np.arange(d) // (m.block - 1)
        for v in range(d):
            assert m.variance(7, share[v], share[home == home[v]].sum()) == pytest.approx(truth[v] / 7, rel=1e-9)


# -- wheel ----------------------------------------------------------------------------------------------------


def wheel_law(m: Wheel) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The definition, word for word: inputs, and the matrix over (seed, y)."""
    points, width, s = m._points, m._width, m.s
    seeds = np.array(list(itertools.product(range(points), repeat=3 * s - 1)))
    powers = np.arange(m.d)[:, None] ** np.arange(1, 3 * s)
    place = seeds @ powers.T % points
    inputs = list(itertools.combinations(range(m.d), s))
    e, rows = math.exp(m.eps0), []
    omega = s * width / points * e + 1 - s * width / points
    for items in inputs:
        gap = (np.arange(points)[None, None, :] - place[:, list(items), None]) % points
        on = (gap < width).any(axis=1)
        share = on.mean(axis=1, keepdims=True)
        law = np.where(on, e / omega, (omega - share * e) / ((1 - share) * omega)) / points
        rows.append((law / len(seeds)).reshape(-1))
    return inputs, np.array(rows)


@pytest.mark.slow_cases("4-2-*")
@pytest.mark.parametrize(("d", "s", "w"), [(3, 1, 2 / 7), (4, 1, 4 / 7), (4, 2, 1 / 7), (4, 2, 3 / 7)])
def test_the_wheel_on_a_circle_of_seven(d: int, s: int, w: float) -> None:
    m = Circle7(eps0=1.5, d=d, s=s, w=w + 1e-9 if 2 * s * w <= 1 else w - 1e-9)
    assert m._width == round(7 * w)
    inputs, law = wheel_law(m)
    assert law.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    # the sampler: columns with equal law are one symbol
    columns, group = np.unique((law * law.shape[1]).round(9), axis=1, return_inverse=True)
    data = m.privatize(np.array([inputs[-1]] * 40_000), rng=np.random.default_rng(5)).data.astype(np.int64)
    code = data @ 7 ** np.arange(data.shape[1])[::-1]
    seen = np.bincount(group.reshape(-1)[code], minlength=columns.shape[1])
    expected = 40_000 * np.bincount(group.reshape(-1), weights=law[-1])
    rare = expected < 5
    if rare.any():
        seen, expected = (np.append(a[~rare], a[rare].sum()) for a in (seen, expected))
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-6
    # the bounds: sound, and exact where one item makes the law that simple
    merged = np.array([np.bincount(group.reshape(-1), weights=row) for row in law])
    exact, held = every_pair_and_other(merged)
    ratio = sdp.FiniteRandomizer(merged).variation_ratio()
    assert m.variation_ratio().beta >= ratio.beta and m.variation_ratio().p >= ratio.p * (1 - 1e-9)
    for n in (1, 3, 30):
        assert upper(m.law.blanket(), n) >= upper(exact, n) * (1 - 3e-4)
        assert lower(m.law.constant_datasets(), n) <= lower(held, n) * (1 + 3e-4) + 1e-9
        if s == 1:
            assert lower(m.law.constant_datasets(), n) == pytest.approx(lower(held, n), rel=3e-4)


def test_three_times_s_items_are_independent() -> None:
    """On a circle of seven points, with s = 2."""
    seeds = np.array(list(itertools.product(range(7), repeat=5)), dtype=np.uint32)
    for items in ((0, 1, 2, 3, 4, 5), (0, 2, 3, 4, 5, 6)):
        place = np.array([positions(seeds.T, np.array([v], dtype=np.uint64), 7) for v in items])
        steps = (place[1:] + 7 - place[:1]) % 7
        assert len({tuple(x) for x in steps.T.tolist()}) == 7**5


@pytest.mark.parametrize(("d", "s", "w"), [(40, 1, None), (20, 3, None), (11, 2, 0.45)])
def test_wheel_support_counts_are_those_of_the_definition(d: int, s: int, w: float | None) -> None:
    m = Wheel(eps0=1.0, d=d, s=s, w=w)
    sets = (np.arange(200)[:, None] + np.arange(s)) % d
    data = m.privatize(sets, rng=np.random.default_rng(2)).data
    assert data.dtype == np.uint32 and data.shape == (200, 3 * s)
    hits = np.zeros(d, dtype=int)
    for *seed, y in data.tolist():
        for v in range(d):
            hits[v] += (y - sum(c * v**j for j, c in enumerate(seed, start=1))) % (2**31 - 1) < m._width
    assert np.array_equal(m._tally(data), hits)


def test_rounding_the_arc_keeps_beta_safe() -> None:
    for w in (0.1, 0.123456789, 0.3, 0.2499999999, 0.4):
        m = Wheel(eps0=2.0, d=9, s=2, w=w)
        covered = 2 * m._width / m._points
        assert (covered <= 2 * w) if 2 * w <= 0.5 else (covered >= 2 * w)
        actual = min(covered, 1 - covered) * (math.exp(2) - 1) / (covered * math.exp(2) + 1 - covered)
        assert actual <= m.variation_ratio().beta <= actual * (1 + 1e-8)
