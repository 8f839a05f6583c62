"""The evaluators behind one front: safe ends, and the theorems of convex order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import ball_oracle
from reference.asking import log_delta
from reference.fractions_oracle import round_enclosure, worst_divergence
from reference.repetition import examples
from reference.rounds import Laws, rounds
from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])


def ends(round_: ShuffledPair, n: int, eps: float, rtol: float = 1e-6) -> tuple[float, float]:
    """The proved lower and upper value of the divergence."""
    low, high = (log_delta(round_, n, eps, rtol, side) for side in ("lower", "upper"))
    return math.exp(low), math.exp(high)


def check(laws: Laws, n: int, eps: float, rtol: float) -> None:
    low, high = ends(ShuffledPair(*laws), n, eps, rtol)
    true_low, true_high = round_enclosure(*laws, n, eps)
    assert low <= true_low * (1 + 1e-15)
    assert high >= true_high * (1 - 1e-15)
    rare = any(0.0 < n * t < 1e-5 for t in laws[2])  # such symbols may be counted as exposed, on either side
    if true_low > 1e-9 and not rare:  # below, the slack for the rounding of the law shows
        assert high / low <= 1 + 2 * rtol + 1e-9


@pytest.mark.slow
@examples(120)
@given(
    laws=rounds(4),
    n=st.integers(1, 10),
    eps=st.sampled_from([0.0, 1e-9, 1e-4, 0.05, 0.3, 1.0, 2.5, 8.0]),
    rtol=st.sampled_from([1e-2, 1e-4, 1e-6]),
)
def test_brackets_the_fraction(laws: Laws, n: int, eps: float, rtol: float) -> None:
    check(laws, n, eps, rtol)


@pytest.mark.slow
@examples(30)
@given(laws=rounds(2), n=st.integers(20, 36), eps=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_brackets_the_fraction_at_dozens(laws: Laws, n: int, eps: float) -> None:
    check(laws, n, eps, 1e-5)


@pytest.mark.slow
@examples(800)
@given(laws=rounds(6), n=st.integers(1, 7), eps=st.floats(0.0, 6.0), rtol=st.sampled_from([1e-2, 1e-4, 1e-7]))
def test_brackets_the_fraction_slow(laws: Laws, n: int, eps: float, rtol: float) -> None:
    check(laws, n, eps, rtol)


@pytest.mark.parametrize("n", [1, 3, 40, 900, 10**4])
def test_zero_from_the_largest_ratio_on(n: int) -> None:
    for round_ in (COIN, ShuffledPair([0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.0, 0.25, 0.125])):
        for eps in (math.log(round_.max_ratio) + 1e-12, math.log(round_.max_ratio) + 1.0):
            assert log_delta(round_, n, eps, 1e-4, "lower") == log_delta(round_, n, eps, 1e-4, "upper") == -math.inf


@examples(40)
@given(laws=rounds(4), n=st.integers(1, 60), eps=st.sampled_from([0.0, 0.1, 0.7]))
def test_falls_with_n(laws: Laws, n: int, eps: float) -> None:
    low, _ = ends(ShuffledPair(*laws), 2 * n, eps, 1e-4)
    _, high = ends(ShuffledPair(*laws), n, eps, 1e-4)
    assert low <= high


@examples(40)
@given(laws=rounds(4), n=st.integers(1, 60), eps=st.sampled_from([0.0, 0.1, 0.7]), j=st.integers(0, 3))
def test_falls_with_t(laws: Laws, n: int, eps: float, j: int) -> None:
    fewer = list(laws.t)
    fewer[j % len(fewer)] *= 0.5
    low, _ = ends(ShuffledPair(*laws), n, eps, 1e-4)
    _, high = ends(ShuffledPair(laws.P0, laws.P1, fewer), n, eps, 1e-4)
    assert low <= high


@examples(40)
@given(laws=rounds(4).filter(lambda x: len(x.t) > 1), n=st.integers(1, 60), eps=st.sampled_from([0.0, 0.1, 0.7]))
def test_merging_symbols_lowers(laws: Laws, n: int, eps: float) -> None:
    merged = ShuffledPair(*([x[0] + x[1], *x[2:]] for x in laws))
    low, _ = ends(merged, n, eps, 1e-4)
    _, high = ends(ShuffledPair(*laws), n, eps, 1e-4)
    assert low <= high


@pytest.mark.parametrize("n", [5, 300, 10**4, 10**8])
def test_convex_and_falling_in_E(n: int) -> None:
    grid = np.linspace(1.0, 1.0 + 6.0 / math.sqrt(n + 16), 25)
    rtol = 1e-6
    delta = np.exp([log_delta(COIN, n, eps, rtol, "upper") for eps in np.log(grid).tolist()])
    assert np.all(np.diff(delta) <= rtol * delta[1:])
    assert np.all(delta[2:] + delta[:-2] - 2 * delta[1:-1] >= -8 * rtol * delta[:-2])


def test_swapping_directions_of_a_symmetric_round() -> None:
    for n in (4, 2000):
        one, other = (log_delta(r, n, 0.1, 1e-8, "upper") for r in (COIN, COIN.swapped()))
        assert one == pytest.approx(other, abs=1e-7)


def test_the_directions_differ_in_general() -> None:
    round_ = ShuffledPair([0.75, 0.25], [0.5, 0.5], [0.125, 0.25])
    for n in (3, 50):
        for r in (round_, round_.swapped()):
            laws = [list(map(float, x)) for x in (r.P0, r.P1, r.t)]
            truth = float(ball_oracle.round_divergence(*laws, n, 0.2).mid())
            low, high = ends(r, n, 0.2)
            assert low <= truth <= high <= truth * (1 + 1e-5)


def test_blanket_dominates_every_dataset() -> None:
    """The counter-example of the spec: GRR, d = 3, e^eps0 = 2; the blanket bound holds for all datasets."""
    R = [[0.5 if i == j else 0.25 for j in range(3)] for i in range(3)]
    blanket = ShuffledPair(R[0], R[1], [0.25, 0.25, 0.25])
    for n in (1, 2, 3, 4):
        for eps in (0.0, 0.3, math.log(1.5)):
            worst = float(worst_divergence(R, n, Fraction(math.exp(eps))))
            assert ends(blanket, n, eps)[1] >= worst * (1 - 1e-10)


def test_many_eps_at_once_agree_with_one_by_one() -> None:
    grid = np.array([0.0, 0.003, 0.01, 0.05, 2.0])
    together = PairCurve.of([COIN] * 5, np.full(5, 1e5), "upper").at(grid, np.full(5, 1e-6)).log_delta
    alone = np.array([log_delta(COIN, 10**5, eps, 1e-6, "upper") for eps in grid.tolist()])
    assert together[-1] == alone[-1] == -math.inf
    assert np.allclose(together[:-1], alone[:-1], rtol=0, atol=3e-6)


def test_spread_is_the_second_moment() -> None:
    assert COIN.spread == pytest.approx(2.0)
    assert ShuffledPair([0.75, 0.25], [0.25, 0.75], [0.0, 0.25]).spread == math.inf


UNIT = 2.0**-44
RARE = (  # bulk, and two symbols that nobody is likely to send, but which are only 3 times likelier under P0
    [0.625 - 3 * UNIT, 0.375 - UNIT, 3 * UNIT, UNIT],
    [0.5 - UNIT, 0.5 - 3 * UNIT, UNIT, 3 * UNIT],
    [0.5 - UNIT, 0.5 - UNIT, UNIT, UNIT],
)


@pytest.mark.parametrize("eps", [0.07, 0.08, 0.1])
def test_rare_symbols_do_not_give_away_whom_they_do_not_tell(eps: float) -> None:
    """Exposing them would add 1e-13, which is far above the divergence here."""
    n = 1000
    truth = float(ball_oracle.log_divergence(*RARE, n, eps).mid())
    assert math.log(1e-60) < truth < math.log(1e-15)
    high = log_delta(ShuffledPair(*RARE), n, eps, 1e-4, "upper")
    low = log_delta(ShuffledPair(*RARE), n, eps, 1e-4, "lower")
    assert low - 1e-12 <= truth <= high <= truth + 1e-3


@pytest.mark.heavy
def test_rare_symbols_that_tell_stay_exposed() -> None:
    """A symbol that only the victim sends under P0 costs its mass, whether anybody else might send it or not."""
    laws = ([0.5, 0.499, 1e-3], [0.5, 0.5, 0.0], [0.25, 0.25, 1e-13])
    n, eps = 1000, 1.0
    truth = float(ball_oracle.log_divergence(*laws, n, eps).mid())
    high = log_delta(ShuffledPair(*laws), n, eps, 1e-4, "upper")
    assert truth <= high <= truth + 1e-3
