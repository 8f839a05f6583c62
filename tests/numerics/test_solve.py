"""Solving for eps: on the safe side, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import ball_oracle
from reference.asking import epsilon
from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.family import Asked, PairSet
from shuffledp.numerics.pair import ShuffledPair

TOL = 1e-4
COIN = ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
GRR = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])
BIASED = ([0.5, 0.5], [0.0625, 0.9375], [0.0625, 0.25])
RARE = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [2.0**-31, 2.0**-30, 2.0**-31])
NO_RATIO = ([0.5, 0.5], [0.0, 1.0], [0.125, 0.5])


def floor(laws: tuple[list[float], ...], n: int) -> float:
    return float(PairCurve.of([ShuffledPair(*laws)], np.array([float(n)]), "lower").floor[0])


def true_delta(laws: tuple[list[float], ...], n: int, eps: float) -> float:
    return float(ball_oracle.round_divergence(*laws, n, eps).mid())


def both(laws: tuple[list[float], ...], n: int, delta: float) -> tuple[float, float]:
    high, low = (epsilon([ShuffledPair(*laws)], n=n, delta=delta, tol=TOL, side=s) for s in ("upper", "lower"))
    return low, high


@pytest.mark.slow_cases(
    "laws28-1000-1e-06", "laws18-*", "laws20-*", "laws14-*", "laws12-*", "laws13-*", "laws16-*", "laws19-*", "laws26-*"
)
@pytest.mark.parametrize(
    ("laws", "n", "delta"),
    [
        *[(COIN, n, d) for n in (1, 2, 10, 100, 2000) for d in (0.1, 1e-3, 1e-6)],
        (COIN, 100, 1e-20),
        (COIN, 2000, 1e-50),
        (COIN, 1000, 1e-250),
        (COIN, 10_000, 1e-10),
        *[(GRR, 100, d) for d in (1e-3, 1e-10)],
        *[(BIASED, n, d) for n in (10, 500) for d in (1e-2, 1e-8)],
        (RARE, 10**9, 1e-4),
        (RARE, 10**10, 1e-3),
        *[(NO_RATIO, n, 1e-6) for n in (100, 1000)],
    ],
)
def test_safe_side_and_close(laws: tuple[list[float], ...], n: int, delta: float) -> None:
    low, high = both(laws, n, delta)
    limit = ShuffledPair(*laws).limit
    assert 0.0 <= low <= high <= limit * (1 + 1e-15)
    assert true_delta(laws, n, high) <= delta
    if high > 0.0:
        assert true_delta(laws, n, high * (1 - TOL)) > delta
    if low > 0.0:
        assert true_delta(laws, n, low) >= delta
        assert true_delta(laws, n, low * (1 + TOL)) < delta
    else:
        assert true_delta(laws, n, 0.0) <= delta * (1 + 1e-6)


@pytest.mark.parametrize(("laws", "n"), [(COIN, 10**6), (COIN, 10**9), (COIN, 10**12), (GRR, 10**5), (GRR, 10**11)])
@pytest.mark.parametrize("delta", [1e-8, 1e-20, 1e-60, 1e-250])
def test_both_sides_meet_at_large_n(laws: tuple[list[float], ...], n: int, delta: float) -> None:
    low, high = both(laws, n, delta)
    assert 0.0 < low <= high <= low * (1 + 3 * TOL)


@pytest.mark.heavy
def test_a_finer_tolerance_is_met() -> None:
    for tol in (1e-3, 1e-5, 1e-6):
        high = epsilon([ShuffledPair(*COIN)], n=2000, delta=1e-6, tol=tol, side="upper")
        assert true_delta(COIN, 2000, high) <= 1e-6 < true_delta(COIN, 2000, high * (1 - tol))


def test_one_message_has_the_local_delta() -> None:
    # delta = 0.75 - E 0.25 for n = 1
    low, high = both(COIN, 1, 0.25)
    assert low <= math.log(2.0) <= high <= low * (1 + 3 * TOL)


def test_eps_is_zero_where_delta_is_large() -> None:
    assert both(COIN, 1, 0.5 + 1e-9) == (0.0, 0.0)
    assert both(COIN, 100, 0.3) == (0.0, 0.0)
    assert both(([0.5, 0.5], [0.5, 0.5], [0.1, 0.1]), 5, 1e-9) == (0.0, 0.0)


def test_never_above_the_largest_ratio() -> None:
    low, high = both(COIN, 1, 1e-50)
    assert high == pytest.approx(math.log(3.0), rel=1e-15) and high * (1 - 3 * TOL) <= low <= math.log(3.0)


def test_floor_is_the_limit_of_delta() -> None:
    laws = ([0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.125, 0.25, 0.0])
    for n in (1, 2, 9):
        assert floor(laws, n) == pytest.approx(true_delta(laws, n, 60.0), rel=1e-12)
    exposed = ([0.25, 0.75], [0.0, 1.0], [0.0, 0.5])
    assert floor(exposed, 10**6) == pytest.approx(0.25, rel=2e-12)
    assert floor(COIN, 3) == 0.0


@pytest.mark.parametrize(("laws", "n"), [(NO_RATIO, 1), (NO_RATIO, 3), (([0.25, 0.75], [0.0, 1.0], [0.0, 0.5]), 10**6)])
def test_an_unreachable_floor_is_infinite(laws: tuple[list[float], ...], n: int) -> None:
    delta = floor(laws, n)
    assert both(laws, n, delta * 0.99) == (math.inf, math.inf)
    low, high = both(laws, n, delta * 1.01)
    assert low < math.inf
    if math.isfinite(high):
        assert true_delta(laws, n, high) <= delta * 1.01


def test_the_largest_of_several_rounds() -> None:
    rounds = [ShuffledPair(*COIN), ShuffledPair(*GRR), ShuffledPair(*BIASED)]
    alone = [epsilon([r], n=500, delta=1e-6, tol=TOL, side="upper") for r in rounds]
    for order in (rounds, rounds[::-1]):
        assert epsilon(order, n=500, delta=1e-6, tol=TOL, side="upper") == pytest.approx(max(alone), rel=2 * TOL)


def test_falls_with_n_and_with_delta() -> None:
    for n in (10, 1000, 10**6):
        for delta in (1e-3, 1e-9):
            here = epsilon([ShuffledPair(*COIN)], n=n, delta=delta, tol=TOL, side="upper")
            more = epsilon([ShuffledPair(*COIN)], n=2 * n, delta=delta, tol=TOL, side="upper")
            looser = epsilon([ShuffledPair(*COIN)], n=n, delta=10 * delta, tol=TOL, side="upper")
            assert more <= here * (1 + TOL) and looser <= here * (1 + TOL)


def test_the_guess_is_close() -> None:
    for n in (10**3, 10**6, 10**10):
        guess = PairCurve.of([ShuffledPair(*COIN)], np.array([float(n)]), "upper").guess(np.log([1e-8]))
        assert guess.epsilon[0] == pytest.approx(both(COIN, n, 1e-8)[1], rel=0.02)


@pytest.mark.parametrize("factor", [0.2, 0.99, 1.0, 1.01, 5.0])
def test_a_search_may_end_above_what_is_needed(factor: float) -> None:
    families = [PairSet([ShuffledPair(*laws)]) for laws in (COIN, GRR, BIASED)]
    asked = Asked(np.array([100.0, 500.0, 1e6]), np.full(3, 1e-6), TOL, "upper")
    sure = np.array([answer.epsilon for answer in PairSet.epsilons(families, asked)])
    found = [answer.epsilon for answer in PairSet.epsilons(families, asked._replace(most=factor * sure))]
    for family, eps, n, true in zip(families, found, asked.n.tolist(), sure.tolist(), strict=True):
        if factor < 1.0:
            assert eps > factor * true
        else:
            assert eps == pytest.approx(true, rel=TOL)
        assert family.log_delta(np.array([eps]), n=int(n), tol=1e-6, side="upper")[0] <= math.log(1e-6) + 1e-6


def test_a_guess_does_not_depend_on_the_other_rows() -> None:
    pairs, n = [ShuffledPair(*laws) for laws in (COIN, GRR, BIASED)], np.array([100.0, 1e9, 1e4])
    together = PairCurve.of(pairs, n, "upper").guess(np.log([1e-6, 1e-12, 1e-3])).epsilon
    for i, log_delta in enumerate(np.log([1e-6, 1e-12, 1e-3])):
        alone = PairCurve.of(pairs[i : i + 1], n[i : i + 1], "upper").guess(np.array([log_delta])).epsilon
        assert alone[0] == pytest.approx(together[i], rel=1e-12)
