"""Counts of dummies: every law against exact enumeration, above and below, and the limits of what can be asked."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference import augmented as exact
from shuffledp.numerics.dummies import (
    BinomialDummies,
    CountLaw,
    DummyCounts,
    GeometricDummies,
    PoissonDummies,
    both_counts,
    one_count,
)
from shuffledp.numerics.poisson.histogram import PoissonShift

ROOM = Fraction(1, 2**50)  # e^(log E) in doubles is E to within this
CUT = Fraction(1, 10**40)  # what the enumeration leaves out: numbers that are rarer


def draw(rng: np.random.Generator) -> tuple[CountLaw, tuple[list[int], Fraction]]:
    """A law of the library, and the same law as whole weights."""
    kind = rng.integers(3)
    if kind == 0:
        mean = Fraction(int(rng.integers(1, 48)), 8)
        return PoissonDummies(float(mean)), exact.poisson(mean, 60)
    if kind == 1:
        size = int(rng.integers(1, 24))
        mean = Fraction(size * int(rng.integers(1, 9)), 16)
        return BinomialDummies(size, float(mean)), exact.binomial(size, mean)
    left, right = Fraction(int(rng.integers(1, 16)), 16), Fraction(int(rng.integers(1, 8)), 16)
    mode = int(rng.integers(0, 12))
    return GeometricDummies(float(left) if mode else 0.0, float(right), mode), exact.geometric(left, right, mode, 120)


def check(checks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(checks // 2):
        law, weights = draw(rng)
        keep = Fraction(int(rng.integers(1, 17)), 16)
        factor = Fraction(int(rng.integers(64, 64 * 8)), 64)
        eps, family = np.array([math.log(factor)]), DummyCounts(law, keep=float(keep))
        high, low = (math.exp(float(family.log_delta(eps, n=9, tol=1e-4, side=side)[0])) for side in ("upper", "lower"))
        least, most = (exact.delta(weights, keep, factor * (1 + sign * ROOM)) for sign in (1, -1))
        assert Fraction(high) * (1 + ROOM) + CUT >= least, (law, keep, factor)
        assert Fraction(low) * (1 - ROOM) <= most + CUT, (law, keep, factor)
        assert high - low <= 1e-3 * high + 1e-25, (law, keep, factor)


@pytest.mark.heavy
def test_every_law_is_what_enumeration_gives() -> None:
    check(200, seed=1)


@pytest.mark.slow
def test_ten_thousand_checks_against_enumeration() -> None:
    check(10_000, seed=2)


@pytest.mark.parametrize("keep", [1.0, 0.6])
@pytest.mark.parametrize("seed", [5, 6])
def test_eps_is_where_the_exact_delta_is(keep: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        law, weights = draw(rng)
        family = DummyCounts(law, keep=keep)
        for delta in (0.3, 1e-3, 1e-8):
            high, low = (family.epsilon(n=3, delta=delta, tol=1e-4, side=side).epsilon for side in ("upper", "lower"))
            if math.isinf(high):  # then an outcome of only one of the two laws is likelier than delta
                assert math.isinf(low) and exact.delta(weights, Fraction(keep), Fraction(10**300)) > delta
                continue
            assert low <= high <= low * (1 + 1e-3) + 1e-6
            assert exact.delta(weights, Fraction(keep), Fraction(math.exp(high)) * (1 + ROOM)) <= delta
            if low:
                assert exact.delta(weights, Fraction(keep), Fraction(math.exp(low)) * (1 - ROOM)) >= delta


@pytest.mark.parametrize("mean", [3.0, 300.0, 3e5])
def test_poisson_is_the_histogram_that_users_make(mean: float) -> None:
    """With keep = 1 it is the law of poisson-histogram, which another algorithm evaluates."""
    ours, theirs = DummyCounts(PoissonDummies(mean), keep=1.0), PoissonShift(mean=mean, d=9, most=1)
    for delta in (0.2, 1e-4):
        a, b = (f.epsilon(n=1, delta=delta, tol=1e-5, side="upper").epsilon for f in (ours, theirs))
        assert a == pytest.approx(b, rel=1e-4)


def test_two_items_are_bracketed_by_one_count_and_two() -> None:
    """d = 2 and keep < 1: for every dataset of the others the truth, by enumeration, lies between them."""
    keep, mean, factor = Fraction(3, 4), Fraction(2), Fraction(3, 2)
    weights, scale = exact.binomial(4, mean)
    family = DummyCounts(BinomialDummies(4, 2.0), keep=0.75, others_hide=True)
    eps = np.array([math.log(factor)])
    high, low = (math.exp(float(family.log_delta(eps, n=4, tol=1e-4, side=side)[0])) for side in ("upper", "lower"))
    law = np.array([float(w * scale) for w in weights])
    coin = np.array([0.25, 0.75])
    for held in range(4):  # of the three others, who hold item 0
        zero, one = law, law
        for k in range(3):
            zero, one = (np.convolve(zero, coin), one) if k < held else (zero, np.convolve(one, coin))
        p = np.outer(np.convolve(zero, coin), np.append(one, 0.0))
        q = np.outer(np.append(zero, 0.0), np.convolve(one, coin))
        truth = max(np.maximum(a - 1.5 * b, 0.0).sum() for a, b in ((p, q), (q, p)))
        assert truth <= high * (1 + 1e-12)
        if held in (0, 3):  # all others hold one item: the other count is as if nobody else were there
            assert truth >= low * (1 - 1e-12)
    assert float(exact.delta((weights, scale), keep, factor, counts=1)) == pytest.approx(low, rel=0.05)


@pytest.mark.parametrize("keep", [1.0 - 2.0**-40, 2.0**-30])
def test_a_share_near_0_or_1(keep: float) -> None:
    """1 - keep and the losses are tiny: nothing of them may be lost."""
    weights = exact.poisson(Fraction(5), 80)
    family = DummyCounts(PoissonDummies(5.0), keep=keep)
    for factor in (Fraction(1), Fraction(1) + Fraction(1, 2**31), Fraction(3, 2), Fraction(1000)):
        eps = np.array([math.log(factor)])
        high, low = (float(np.exp(family.log_delta(eps, n=9, tol=1e-4, side=side)[0])) for side in ("upper", "lower"))
        least, most = (exact.delta(weights, Fraction(keep), factor * (1 + sign * ROOM)) for sign in (1, -1))
        assert Fraction(high) * (1 + ROOM) + CUT >= least
        assert Fraction(low) * (1 - ROOM) <= most + CUT


def test_losses_that_tie_with_eps_are_charged() -> None:
    """Where eps is a loss that many outcomes have, rounding decides on which side they fall: both answers hold."""
    left, right, mode = Fraction(1, 2), Fraction(1, 2), 6
    law, weights = GeometricDummies(0.5, 0.5, mode), exact.geometric(left, right, mode, 200)
    for keep, factor in ((1.0, 2), (1.0, 4), (0.5, Fraction(3, 2)), (0.5, 2), (0.5, 3)):
        truth = exact.delta(weights, Fraction(keep), Fraction(factor))
        eps = math.log(factor)
        low, high = (both_counts(law, keep, eps, side) for side in ("lower", "upper"))
        assert low * (1 - 1e-15) <= float(truth) * (1 + 1e-14) and float(truth) <= high
        assert high - low < 1e-12
        one = exact.delta(weights, Fraction(keep), Fraction(factor), counts=1)
        assert one_count(law, keep, eps) <= float(truth) * (1 + 1e-12)
        assert one_count(law, keep, eps) >= float(one) * (1 - 1e-9) - 1e-12


@pytest.mark.heavy
def test_far_out_and_large() -> None:
    pure = DummyCounts(GeometricDummies(0.0, 1.0 / 3.0, 0), keep=0.5)
    assert pure.epsilon(n=1, delta=1e-300, tol=1e-4, side="upper").epsilon == pytest.approx(2.0 * math.log(2.0))
    assert pure.log_delta(np.array([1.4]), n=1, tol=1e-4, side="upper")[0] == -np.inf
    sure = DummyCounts(GeometricDummies(0.5, 0.5, 3), keep=1.0)
    assert math.isinf(sure.epsilon(n=1, delta=1e-3, tol=1e-4, side="upper").epsilon)
    large = DummyCounts(PoissonDummies(1e8), keep=0.5)
    high, low = (large.epsilon(n=1, delta=1e-9, tol=1e-4, side=side).epsilon for side in ("upper", "lower"))
    assert low <= high <= 1.001 * low
    beyond = np.array([699.0, 701.0, 1e9])
    for family in (sure, DummyCounts(BinomialDummies(4, 2.0), keep=0.5, others_hide=True)):
        high, low = (family.log_delta(beyond, n=5, tol=1e-4, side=side) for side in ("upper", "lower"))
        assert np.all(low <= high) and np.all(np.diff(low) <= 1e-12) and np.ptp(high) < 1e-9
    rare = GeometricDummies(0.0, 1.0 / 3.0, 0)  # losses near 0 are rounded by as much as others
    assert rare.limit(1e-12) > 3e-12 and rare.limit(1.0) == math.inf
    none = DummyCounts(PoissonDummies(1e-9), keep=1.0)
    assert math.isinf(none.epsilon(n=1, delta=0.5, tol=1e-4, side="upper").epsilon)


def test_what_underflows_does_not_raise_a_lower_bound() -> None:
    """Masses near the smallest double times a small ratio underflow, and e^eps makes them count."""
    law, keep, mean = PoissonDummies(2.0**-20), 1.0 - 2.0**-53, Fraction(1, 2**20)
    weights = exact.poisson(mean, 70)
    for eps in (54.0, 54.2, 54.3, 54.4, 54.5):
        factor = Fraction(math.exp(eps))
        assert Fraction(both_counts(law, keep, eps, "lower")) <= exact.delta(weights, Fraction(keep), factor)
        assert Fraction(one_count(law, keep, eps)) <= exact.delta(weights, Fraction(keep), factor, counts=1)
