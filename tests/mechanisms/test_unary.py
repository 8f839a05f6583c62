"""Unary encodings and randomized response: golden values, laws by brute force, samplers bit by bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.places import golden
from shuffledp.mechanisms.categorical.grr import GRR
from shuffledp.mechanisms.categorical.optimized_unary import OptimizedUnary
from shuffledp.mechanisms.categorical.randomized_response import RandomizedResponse
from shuffledp.mechanisms.categorical.unary import Unary
from shuffledp.numerics.pair import ShuffledPair

ENTRIES = golden("mechanisms.json")
BOTH = [Unary, OptimizedUnary]


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["mechanism"] == "binary_rr"], ids=lambda e: str(e["params"]))
def test_golden(entry: dict[str, Any]) -> None:
    got = Unary(eps0=entry["params"]["eps"], d=entry["params"]["d"]).variation_ratio()
    for name in ("p", "beta", "q"):
        assert getattr(got, name) == pytest.approx(entry["safe"][name], rel=1e-9)
        assert getattr(got, name) >= entry[name] * (1 - 1e-9)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("eps0", [0.3, 1.0, 4.0])
def test_ratio_by_brute_force(cls: type[Unary], d: int, eps0: float) -> None:
    rows = cls(eps0=eps0, d=d).probabilities()
    got = cls(eps0=eps0, d=d).variation_ratio()
    assert got.beta == pytest.approx(0.5 * np.abs(rows[0] - rows[1]).sum(), rel=1e-12)
    assert got.p == got.q == pytest.approx(float((rows.max(axis=0) / rows.min(axis=0)).max()), rel=1e-12)


def atoms(P0: Any, P1: Any, t: Any) -> list[tuple[float, ...]]:
    """The law of (P0/t, P1/t), sorted: two rounds with equal atoms have equal divergences."""
    mass: dict[tuple[float, float], float] = {}
    for a, b, c in zip(P0, P1, t, strict=True):
        if a or b:
            key = (float(f"{a / c:.10e}"), float(f"{b / c:.10e}"))
            mass[key] = mass.get(key, 0.0) + c
    return [(*key, value) for key, value in sorted(mass.items())]


def same(first: list[tuple[float, ...]], second: list[tuple[float, ...]]) -> bool:
    return len(first) == len(second) and np.allclose(first, second, rtol=1e-9, atol=1e-15)


def laws(rounds: Sequence[ShuffledPair] | None) -> list[list[tuple[float, ...]]]:
    return [atoms(r.P0, r.P1, r.t) for r in rounds or ()]


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_rounds_by_brute_force(cls: type[Unary], d: int, eps0: float) -> None:
    """Every ordered pair over min_x R(x), and every pair among others who all hold x*."""
    m = cls(eps0=eps0, d=d)
    rows = m.probabilities()
    (blanket,) = laws(m.law.blanket().pairs(9))
    found = laws(m.law.constant_datasets().pairs(9))
    used = set()
    for x0, x1 in permutations(range(d), 2):
        assert same(blanket, atoms(rows[x0], rows[x1], rows.min(axis=0)))
        for x in range(d):
            match = [i for i, law in enumerate(found) if same(law, atoms(rows[x0], rows[x1], rows[x]))]
            assert len(match) == 1
            used.update(match)
    assert used == set(range(len(found)))


@pytest.mark.parametrize("cls", BOTH)
def test_a_million_options_cost_what_sixteen_do(cls: type[Unary]) -> None:
    small, large, huge = (sdp.amplify(cls(eps0=2.0, d=d), n=10_000, delta=1e-6) for d in (16, 10**6, 2**32))
    assert large.epsilon == pytest.approx(small.epsilon, rel=2e-4)
    assert large.epsilon == huge.epsilon
    # all ones is a symbol of its own up to d = 50 and counted, soundly, with its neighbors beyond
    near, far = (sdp.amplify(cls(eps0=2.0, d=d), n=10_000, delta=1e-6).epsilon for d in (50, 51))
    assert near == pytest.approx(far, rel=1e-9)


@pytest.mark.slow_cases("40.0-*", "500.0-OptimizedUnary")
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("eps0", [1e-3, 40.0, 500.0])
def test_extreme_budgets(cls: type[Unary], eps0: float) -> None:
    for d in (2, 3, 1000):
        best = sdp.amplify(cls(eps0=eps0, d=d), n=1000, delta=1e-6)
        assert best.lower is not None and 0 <= best.lower <= best.epsilon <= eps0


@pytest.mark.parametrize("eps0", [0.5, 2.0, 5.0])
def test_the_optimized_coins_have_the_least_variance(eps0: float) -> None:
    best = OptimizedUnary(eps0=eps0, d=10).variance(1)

    def variance(keep: float) -> float:
        """Of a rare option, for coins with a (1-b) = e^eps0 b (1-a)."""
        odds = keep / (1 - keep) * math.exp(-eps0)
        stray = odds / (1 + odds)
        return stray * (1 - stray) / (keep - stray) ** 2

    assert variance(0.5) == pytest.approx(best, rel=1e-12)
    for keep in (0.4, 0.49, 0.51, 0.6, 1 / (1 + math.exp(-eps0 / 2))):
        assert best < variance(keep)
    assert Unary(eps0=eps0, d=10).variance(1) == pytest.approx(variance(1 / (1 + math.exp(-eps0 / 2))), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Unary(eps0=0.0, d=4), "eps0 must lie in [1e-09, 500], got 0.0"),
        (lambda: OptimizedUnary(eps0=501.0, d=4), "eps0 must lie in [1e-09, 500], got 501.0"),
        (lambda: Unary(eps0=math.nan, d=4), "eps0 must be a number, got NaN"),
        (lambda: Unary(eps0=1.0, d=1), "d must lie in [2, "),
        (lambda: OptimizedUnary(eps0=1.0, d=2.5), "d must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: RandomizedResponse(eps0=-1.0), "eps0 must lie in [1e-09, 500], got -1.0"),
        (lambda: Unary(eps0=1.0, d=16).probabilities(), "more than 1,000,000 cells"),
        (lambda: Unary(eps0=1.0, d=4).privatize([4]), "values must lie in [0, 4), got 4"),
        (lambda: RandomizedResponse(eps0=1.0).privatize([2]), "values must lie in [0, 2), got 2"),
        (lambda: Unary(eps0=1.0, d=12).estimate(np.zeros((5, 12), np.uint8)), "reports must be packed bits"),
    ],
)
def test_bad_parameters_in_one_sentence(make: Any, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        make()
    assert words in str(error.value) and str(error.value).endswith(".") and "\n" not in str(error.value)


def test_packed_reports() -> None:
    m = Unary(eps0=1.0, d=13)
    reports = m.privatize(np.arange(13).repeat(100), rng=np.random.default_rng(1))
    assert reports.data.dtype == np.uint8 and reports.data.shape == (1300, 2)
    assert not np.any(reports.data[:, 1] & 0b111)  # bits beyond d stay 0
    bits = np.unpackbits(reports.data, axis=1, count=13)
    assert m.estimate(np.packbits(bits, axis=1)).value == pytest.approx(m.estimate(reports).value)
    assert m.tally(reports).counts.tolist() == bits.sum(axis=0).tolist()
    wide = Unary(eps0=8.0, d=100_000)
    est = wide.estimate(wide.privatize([99_999] * 40, rng=np.random.default_rng(2)))
    assert abs(est.value[-1] - 1.0) < 5 * est.stderr[-1] + 1e-9


def test_a_certain_coin_is_certain() -> None:
    m = Unary(eps0=500.0, d=11)
    values = np.arange(11)
    assert np.array_equal(np.unpackbits(m.privatize(values).data, axis=1, count=11), np.eye(11, dtype=np.uint8))


def test_randomized_response_is_grr_on_two_options() -> None:
    ours, theirs = RandomizedResponse(eps0=1.5), GRR(eps0=1.5, d=2)
    values = np.array([True, False, True] * 500)
    mine = ours.privatize(values, rng=np.random.default_rng(3))
    assert np.array_equal(mine.data, theirs.privatize(values.astype(int), rng=np.random.default_rng(3)).data)
    assert ours.variance(100, 0.3) == theirs.variance(100, 0.3)
    for bound in ("auto", "blanket", "variation-ratio", "general", "variation-ratio-lower"):
        one, two = (sdp.amplify(m, n=1000, delta=1e-6, bound=bound).epsilon for m in (ours, theirs))
        assert one == pytest.approx(two, rel=1e-12)
    exact, blanket = (sdp.amplify(ours, n=1000, delta=1e-6, bound=b) for b in ("auto", "blanket"))
    assert exact.lower is not None
    assert exact.lower <= exact.epsilon < 0.85 * blanket.epsilon
    assert exact.epsilon == pytest.approx(exact.lower, rel=3e-4)


def test_randomized_response_certificates_go_by_the_swap_bound() -> None:
    """The search over all datasets is no list of laws; the swap bound and the blanket are."""
    m = RandomizedResponse(eps0=1.0)
    ours = sdp.amplify(m, n=500, delta=1e-6, certify=True)
    blanket = sdp.amplify(m, n=500, delta=1e-6, certify=True, bound="variation-ratio")
    assert ours.certified and ours.bound == "swap" and blanket.certified
    assert sdp.amplify(m, n=500, delta=1e-6).epsilon <= ours.epsilon < 0.9 * blanket.epsilon


def test_profile_of_randomized_response_for_three_users_by_hand() -> None:
    """e^eps0 = 3, others 0 and 1: their count is (3, 10, 3)/16 and the two laws differ by half of 10/16."""
    profile = sdp.profile(RandomizedResponse(eps0=math.log(3.0)), n=3, epsilon=0.0)
    assert float(profile) == pytest.approx(5 / 16, rel=1e-12)
