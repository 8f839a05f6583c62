"""Products of shuffled pairs: the law, its reduction to fewer symbols, and which pairs cover an unchanged answer."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest

from contract.cases import all_cases
from reference import repetition
from shuffledp.mechanisms.composite.parallel_law import both_unlike, dominating_pairs
from shuffledp.mechanisms.metric.line_pairs import LinePairs
from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.mechanisms.randomizer import Randomizer
from shuffledp.numerics import product
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.product import moments, product_pair, tells_most, unchanged


def random_pair(rng: np.random.Generator, size: int, *, zeros: bool = False) -> ShuffledPair:
    p0, p1 = rng.dirichlet(np.ones(size), size=2) * 0.8 + 0.2 / size  # no symbol is so rare that it counts as exposed
    t = np.minimum(p0, p1) * rng.uniform(0.3, 1.0, size)
    if zeros:
        t[rng.random(size) < 0.3] = 0.0
    return ShuffledPair(P0=p0, P1=p1, t=t)


def kron(*pairs: ShuffledPair) -> ShuffledPair:
    laws = []
    for key in ("P0", "P1", "t"):
        law = np.ones(1)
        for pair in pairs:
            law = np.kron(law, getattr(pair, key))
        laws.append(law)
    return ShuffledPair(*laws)


def log_delta(pair: ShuffledPair, n: int, eps: float, side: Any = "upper") -> float:
    return float(PairSet([pair]).log_delta(np.array([eps]), n=n, tol=1e-6, side=side)[0])


def dominates(big: ShuffledPair, small: ShuffledPair, a: float, b: float, tol: float = 1e-9) -> bool:
    """Convex order of a u - b v: the same mean, and every stop-loss at least as large."""

    def law(pair: ShuffledPair) -> tuple[np.ndarray, np.ndarray]:
        p0, p1, t = (np.asarray(x) for x in (pair.P0, pair.P1, pair.t))
        assert np.all(t[(p0 > 0) | (p1 > 0)] > 0)
        live = t > 0
        values, mass = (a * p0[live] - b * p1[live]) / t[live], t[live]
        return np.append(values, 0.0), np.append(mass, 1.0 - mass.sum())

    (x, p), (y, q) = law(big), law(small)
    at = np.concatenate([x, y])
    over = [np.maximum(v[None, :] - at[:, None], 0.0) @ m for v, m in ((x, p), (y, q))]
    return bool(np.all(over[0] >= over[1] - tol * (a + b) - 1e-13 * np.abs(at)))


@pytest.mark.slow_cases("sizes1-False")
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3), (4, 4), (2, 3, 3)])
def test_a_product_has_the_divergence_of_all_its_symbols(sizes: tuple[int, ...], zeros: bool) -> None:
    rng = np.random.default_rng(sum(sizes))
    pairs = [random_pair(rng, size, zeros=zeros) for size in sizes]
    made, whole = product_pair(pairs), kron(*pairs)
    for n, eps in itertools.product((1, 3, 200), (0.0, 0.3, 1.0)):
        assert log_delta(made, n, eps) == pytest.approx(log_delta(whole, n, eps), abs=1e-5)


def test_equal_ratios_are_merged_although_they_are_rounded() -> None:
    lopsided = ShuffledPair(P0=[0.7, 0.2, 0.1], P1=[0.3, 0.3, 0.4], t=[0.3, 0.2, 0.1])
    assert np.size(product_pair([lopsided] * 6).t) == 28  # multisets of 6 out of 3


@pytest.mark.heavy_cases("False")
@pytest.mark.parametrize("zeros", [False, True])
def test_fewer_symbols_are_on_the_safe_side(monkeypatch: pytest.MonkeyPatch, zeros: bool) -> None:
    """Symbols on a grid (product._on_grid): a spread above, merged below."""
    rng = np.random.default_rng(5)
    for grid in (2, 4, 12):
        monkeypatch.setattr(product, "_GRIDS", (grid,))
        pairs = [random_pair(rng, 6, zeros=zeros), random_pair(rng, 7, zeros=zeros)]
        whole = kron(*pairs)
        spread, merged = (product_pair(pairs, side=side, most=10) for side in ("upper", "lower"))
        for law in ("P0", "P1"):
            assert np.sum(getattr(spread, law)) == pytest.approx(1.0, abs=1e-12)
        assert np.sum(spread.t) == pytest.approx(np.sum(whole.t), rel=1e-12)
        gaps = []
        for n, eps in itertools.product((1, 3, 200), (0.0, 0.3, 1.0)):
            exact = log_delta(whole, n, eps)
            assert log_delta(spread, n, eps) >= exact - 1e-5
            assert log_delta(merged, n, eps, "lower") <= exact + 1e-5
            gaps.append(log_delta(spread, n, eps) - exact)
        assert max(gaps) > 1e-3 or grid == 12, "the grid is too fine for this test to notice anything"
        if not zeros:
            for a, b in itertools.product((0.0, 0.5, 1.0), repeat=2):
                assert dominates(spread, whole, a, b) and dominates(whole, merged, a, b)


def test_the_moments_of_a_product_are_products() -> None:
    rng = np.random.default_rng(1)
    first, second = random_pair(rng, 3), random_pair(rng, 4)
    assert moments(kron(first, second)) == pytest.approx(moments(first) * moments(second), rel=1e-12)


# -- an answer that does not change -----------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [
    ShuffledPair(P0=[0.6, 0.2, 0.2], P1=[0.2, 0.6, 0.2], t=[0.2, 0.2, 0.2]),
    ShuffledPair(P0=[0.5, 0.3, 0.1, 0.1], P1=[0.1, 0.1, 0.3, 0.5], t=[0.1, 0.1, 0.1, 0.1]),
])  # fmt: skip
def test_the_antitone_pair_covers_an_unchanged_answer(pair: ShuffledPair) -> None:
    assert tells_most(pair)
    for same in unchanged(pair):
        for a, b in itertools.product((0.0, 0.3, 1.0, 5.0), repeat=2):
            assert dominates(pair, same, a, b)


def test_other_pairs_do_not_cover_it() -> None:
    both = ShuffledPair(P0=[0.4, 0.1, 0.4, 0.1], P1=[0.1, 0.4, 0.4, 0.1], t=[0.1, 0.1, 0.1, 0.1])
    assert not tells_most(both)
    lopsided = ShuffledPair(P0=[0.7, 0.3], P1=[0.2, 0.8], t=[0.2, 0.3])  # antitone, but u and v have different laws
    assert not tells_most(lopsided)
    assert not dominates(lopsided, unchanged(lopsided)[0], 0.0, 1.0)
    exposed = ShuffledPair(P0=[0.6, 0.4, 0.0], P1=[0.0, 0.4, 0.6], t=[0.0, 0.4, 0.0])
    assert not tells_most(exposed)


# -- what every mechanism promises ------------------------------------------------------------------------------------

LISTED = [
    c.mechanism
    for c in all_cases()
    if c.enumerable and isinstance(c.mechanism, Randomizer) and c.mechanism.law.dominating_pairs(1000) is not None
    and c.mechanism.name not in ("laplace", "metric-laplace")  # below, with all their inputs
]  # fmt: skip


@pytest.mark.slow_cases("local-hash:eps0=1.8,*", "subset:eps0=2,d=40,*")
@pytest.mark.parametrize("m", LISTED, ids=lambda m: m.spec)
def test_one_listed_pair_dominates_every_combination_of_u_and_v(m: Any) -> None:
    """Products need more than u - E v: a u - b v for all a, b >= 0, by the same pair."""
    rows = np.unique(m.probabilities(), axis=0)
    omega = rows.min(axis=0)
    if np.any(omega[rows.max(axis=0) > 0] == 0.0):
        pytest.skip("a symbol is exposed")
    listed = dominating_pairs(m)
    every = list(itertools.permutations(rows, 2))
    for a, b in every[:: max(1, len(every) // (20 if repetition.quick else 60))]:
        assert covered(listed, ShuffledPair(P0=a, P1=b, t=omega))


def covered(listed: list[ShuffledPair], pair: ShuffledPair) -> bool:
    weights = [(1.0, b) for b in (0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 10.0)] + [(0.0, 1.0)]
    return any(all(dominates(r, pair, *w, tol=1e-8) for w in weights) for r in listed)


@pytest.mark.parametrize("eps0", [0.5, 2.0, 5.0])
def test_so_does_laplace_noise(monkeypatch: pytest.MonkeyPatch, eps0: float) -> None:
    """On 8 steps, all of whose inputs and reports are listed; with as many pieces, and with fewer."""
    monkeypatch.setattr(Laplace, "BITS", 3)
    for pieces in (64, 2):
        monkeypatch.setattr(Laplace, "PIECES", pieces)
        m = Laplace(eps0=eps0)
        rows = m.probabilities()
        assert rows.shape == (9, 9)
        listed = dominating_pairs(m)
        assert all(tells_most(r) for r in listed)
        omega = rows.min(axis=0)
        for a, b in itertools.product(rows, repeat=2):
            assert covered(listed, ShuffledPair(P0=a, P1=b, t=omega))


@pytest.mark.parametrize(("step", "apart", "length"), [(0.25, 4, 10), (0.5, 2, 3), (0.125, 6, 6), (1.0, 4, 20)])
def test_so_does_laplace_noise_on_a_line(step: float, apart: int, length: int) -> None:
    """All pairs of inputs at most ``apart`` steps apart; the reports beyond the ends of the line are merged."""
    y, x = np.arange(length + 1), np.arange(length + 1)[:, None]
    rows = np.tanh(0.5 * step) * np.exp(-step * np.abs(y - x))
    rows[:, [0, -1]] /= -np.expm1(-step)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    omega = np.minimum(rows[0], rows[-1])
    listed = both_unlike(LinePairs(step, apart, length).blanket().pairs(10**6) or ())
    for a, b in itertools.product(range(length + 1), repeat=2):
        if 0 < abs(a - b) <= apart:
            assert covered(listed, ShuffledPair(P0=rows[a], P1=rows[b], t=omega))
        if a == b:
            same = [r for pair in listed for r in unchanged(pair)]
            assert covered(same, ShuffledPair(P0=rows[a], P1=rows[a], t=omega))


@pytest.mark.slow
def test_large_factors_are_made_smaller_before_they_are_multiplied() -> None:
    """2,500 symbols each: the product is never written down, costs little, and stays on the safe side."""
    y = np.linspace(-3.0, 4.0, 2500)
    p0, p1 = (np.exp(-0.5 * (y - x) ** 2) for x in (0.0, 1.0))
    wide = ShuffledPair(P0=p0 / p0.sum(), P1=p1 / p1.sum(), t=np.minimum(p0 / p0.sum(), p1 / p1.sum()))
    start = time.process_time()
    spread, merged = (product_pair([wide, wide], side=side) for side in ("upper", "lower"))
    assert time.process_time() - start < 5.0
    assert np.size(spread.t) <= 5000 and np.size(merged.t) <= 5000
    for n, eps in ((100, 0.5), (10_000, 0.1)):
        high, low = log_delta(spread, n, eps), log_delta(merged, n, eps)
        assert low < high < low + 0.05
