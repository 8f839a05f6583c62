"""Rounds that once broke the numerics: kept for ever, one test per failure."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import shuffledp as sdp
from reference import ball_oracle
from reference.asking import epsilon, log_delta
from reference.repetition import slow
from shuffledp.numerics.pair import ShuffledPair

SIX = ([0.5, 0.0625, 0.125, 0.125, 0.125, 0.0625], [0.125, 0.25, 0.125, 0.25, 0.125, 0.125])


def both(laws: tuple[list[float], ...], n: int, delta: float) -> tuple[float, float]:
    high, low = (epsilon([ShuffledPair(*laws)], n=n, delta=delta, tol=1e-4, side=s) for s in ("upper", "lower"))
    return low, high


@pytest.mark.parametrize(
    ("P0", "P1", "t", "n", "delta"),
    [
        ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25], 1, 1e-50),
        (
            [0.9952094469600768, 0.004790553039923178],
            [0.16269349029511246, 0.8373065097048875],
            [0.13865316660928834, 0.0031312541329323183],
            1,
            1e-100,
        ),
        ([1.0, 0.0], [0.7443054211145088, 0.2556945788854911], [0.5912246841650401, 0.0], 2, 1e-40),
        (
            [0.00017332666584299572, 0.999826673334157],
            [0.28275126661105754, 0.7172487333889423],
            [0.7830464295890095, 0.21695357041099042],
            1,
            1e-30,
        ),
    ],
)
def test_the_largest_ratio_is_rounded_up(
    P0: list[float], P1: list[float], t: list[float], n: int, delta: float
) -> None:
    answer = epsilon([ShuffledPair(P0, P1, t)], n=n, delta=delta, tol=1e-4, side="upper")
    assert ball_oracle.round_divergence(P0, P1, t, n, answer) <= delta
    assert answer <= math.log(max(a / b for a, b in zip(P0, P1, strict=True))) * (1 + 1e-14) + 4e-15


@pytest.mark.heavy
@pytest.mark.slow_cases("0.001", "0.01", "1e-05")
@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-4, 1e-5])
def test_the_point_mass_is_charged_where_the_comb_skips(rtol: float) -> None:
    laws = [
        ([0.0, 0.57, 0.43], [0.0, 0.28, 0.72], [0.008, 0.0207, 0.0]),
        (
            [0.003936573394761536, 0.5665922576455216, 0.42947116895971704],
            [0.0004326566544908155, 0.28480075868154964, 0.7147665846639596],
            [0.00808389278261587, 0.020728804420023332, 0.0],
        ),
        (
            [0.017811175036535266, 0.3474290153883161, 0.6347598095751487],
            [0.6061214422418169, 0.06936424701559488, 0.3245143107425883],
            [0.00901088665337597, 0.007391439488596639, 0.0],
        ),
    ]
    grid = np.linspace(0.0, 2.0, 31)
    for law in laws:
        for eps in grid.tolist():
            truth = float(ball_oracle.log_divergence(*law, 1000, eps).mid())
            if truth > -300.0:
                assert log_delta(ShuffledPair(*law), 1000, eps, rtol, "upper") >= truth - 1e-12
                assert log_delta(ShuffledPair(*law), 1000, eps, rtol, "lower") <= truth + 1e-12


@pytest.mark.parametrize("n", [16, slow(20), slow(24)])
@pytest.mark.parametrize("off", [1e-4, 1e-6, 1e-8])
def test_a_tiny_generating_function_loses_no_digits(n: int, off: float) -> None:
    """sum t = 1 and eps just below the limit: M(c) = 1e-5, so 1 + (M - 1) has lost five digits."""
    laws = (*SIX, [2.0**-20, 0.25 - 2.0**-20, 0.25, 0.25, 0.125, 0.125])
    eps = math.log(4.0) - off
    truth = float(ball_oracle.log_divergence(*laws, n, eps).mid())
    for rtol in (1e-3, 1e-8):
        assert log_delta(ShuffledPair(*laws), n, eps, rtol, "upper") >= truth
        assert log_delta(ShuffledPair(*laws), n, eps, rtol, "lower") <= truth


def test_delta_over_sigma_may_underflow() -> None:
    low, high = both(([0.375, 0.625], [0.3125, 0.6875], [0.0, 0.5]), 5, 2.6e-210)
    assert low <= high <= math.log(1.2) + 4e-15


def test_no_warning_where_an_atom_is_almost_zero() -> None:
    laws = (
        [1.2909340523359836e-05, 0.4546351388594205, 0.5453519518000561],
        [0.5453519518000561, 0.4546351388594205, 1.2909340523359836e-05],
        [1.1941819018196507e-05, 0.3780311065412083, 1.2803377721905143e-05],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for eps in (0.0, 1e-15, 1e-9):
            for side in ("upper", "lower"):
                log_delta(ShuffledPair(*laws), 1000, eps, 1e-3, side)


@pytest.mark.parametrize(
    ("laws", "n", "delta"),
    [
        # an exposed symbol leaves a positive drift: E[(S)_+] is about E[S] for small eps
        (
            (
                [0.4441368241695475, 0.21231667461390916, 0.34354650121654334],
                [0.6895796751027655, 0.03408489886258163, 0.2763354260346528],
                [0.0, 0.022133326803936166, 0.20579113872336555],
            ),
            10**8,
            3.1943182140051085e-20,
        ),
        # one rare heavy symbol: S is a Poisson variable more than a normal one
        (([2.0**-15, 1 - 2.0**-15], [1 - 2.0**-15, 2.0**-15], [1 - 2.0**-15, 2.0**-15]), 1000, 0.19454935494851766),
        (
            (
                [0.4457063222150655, 0.1341310822255786, 0.4201625955593559],
                [0.1341310822255786, 0.4457063222150655, 0.4201625955593559],
                [6.705259892437301e-05, 0.003504757013841652, 0.015911656835745837],
            ),
            1000,
            0.004230798033203184,
        ),
    ],
)
def test_the_lower_curve_does_not_give_up(laws: tuple[list[float], ...], n: int, delta: float) -> None:
    low, high = both(laws, n, delta)
    assert 0.0 < low <= high <= low * (1 + 3e-4)


def test_a_symbol_that_the_others_almost_never_send_is_as_good_as_exposed() -> None:
    """n t = 1e-8 and too many atoms for a table: the bound t -> 0 is tight, the contour alone is e^5 too high."""
    P0, P1 = SIX
    t = [2.0**-36, 0.125, 0.125, 0.125, 0.0625, 0.0625]
    for n in (300, 5000):
        high = epsilon([ShuffledPair(P0, P1, t)], n=n, delta=1e-3, tol=1e-4, side="upper")
        bare = epsilon([ShuffledPair(P0, P1, [0.0, *t[1:]])], n=n, delta=1e-3, tol=1e-4, side="upper")
        assert high <= bare * (1 + 2e-4)


@pytest.mark.slow_cases("1000-1e-100")
@pytest.mark.parametrize("tiny", [1e-100, 1e-140, 1e-160, 1e-270])
@pytest.mark.parametrize("n", [3, 1000])
def test_a_tiny_t_neither_overflows_nor_crashes(tiny: float, n: int) -> None:
    P0, P1, t = [0.5, 0.3, 0.2], [0.25, 0.35, 0.4], [tiny, 0.2, 0.3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = both((P0, P1, t), n, 1e-3)
    bare = epsilon([ShuffledPair(P0, P1, [0.0, *t[1:]])], n=n, delta=1e-3, tol=1e-4, side="upper")
    assert low <= high and high == pytest.approx(bare, rel=3e-4)


@pytest.mark.parametrize("exponent", [-54, -50, -46, -44])
def test_rows_that_differ_by_rounding_are_not_the_same(exponent: int) -> None:
    """Two inputs apart by h: delta(0) = h of one user, and eps is about 2h; merged laws must leave room for it."""
    h = 2.0**exponent
    m = sdp.FiniteRandomizer([[0.5, 0.5], [0.5 + h, 0.5 - h]])
    assert sdp.amplify(m, n=1, delta=1e-60).epsilon >= 2.0 * h * (1.0 - 2.0 * h)
    assert sdp.profile(m, n=1, epsilon=0.0) >= h
    assert sdp.amplify(m, n=np.array([1] * 20), delta=1e-60).epsilon.min() >= 2.0 * h * (1.0 - 2.0 * h)


@pytest.mark.slow
def test_many_rare_symbols_are_not_nothing() -> None:
    """A lower bound over symbols that others hardly send: where none of them is sent, the others are no more silent."""
    k, a = 1000, 1e-12
    p = 4.9e-13 * np.linspace(0.9, 1.0, k)
    q = p * np.linspace(10.0, 20.0, k)
    rows = np.stack([np.r_[a, p, 1 - a - p.sum()], np.r_[a * 1e-9, q, 1 - a * 1e-9 - q.sum()]])
    eps = sdp.amplify(sdp.FiniteRandomizer(rows), n=2, delta=1e-22).lower
    assert eps is not None
    ratio, most = math.exp(eps), 0.0
    for x, y in ((0, 1), (1, 0)):
        for other in (0, 1):  # the victim's report and the other's, in no order
            P, Q = (np.outer(rows[v], rows[other]) for v in (x, y))
            gap = (P + P.T) - ratio * (Q + Q.T)
            most = max(most, 0.5 * np.maximum(gap, 0.0).sum())
    assert most >= 1e-22 * (1.0 - 1e-3)


@pytest.mark.slow
def test_rows_apart_by_rounding_take_few_nodes() -> None:
    """Ratios so near 1 that a sum without a limit would have 10^12 nodes."""
    first = 0.39876905998126
    rows = [[first + k * 2.0**-53, 1.0 - first - k * 2.0**-53] for k in (12, 10, 8, 11, 18, 15)]
    assert 0.0 <= sdp.amplify(sdp.FiniteRandomizer(rows), n=10**12, delta=1e-20).epsilon < 1e-12
