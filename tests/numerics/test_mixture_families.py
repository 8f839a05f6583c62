"""Rounds among a random number of messages, against sums in exact fractions and ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import round_divergence
from reference.message_counts import law
from shuffledp.errors import ParameterError
from shuffledp.numerics import counts
from shuffledp.numerics.counts import Count
from shuffledp.numerics.mixture import Among, MixtureCurve, Piece, pieces
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
THREE = ShuffledPair(P0=[0.75, 0.125, 0.125], P1=[0.125, 0.75, 0.125], t=[0.25, 0.25, 0.5])
COUNTS = [
    Count(4),
    Count(0, ((5, 0.375),)),
    Count(3, ((4, 0.5),)),
    Count(0, ((3, 0.25), (4, 0.625))),
    Count(2, ((3, 0.25), (2, 0.75), (1, 0.5))),
    Count(1, ((0, 0.5), (2, 1.0), (3, 0.0), (2, 0.0625))),
]


def expected(round_: ShuffledPair, count: Count, E: Fraction) -> Fraction:
    """E_M[delta(M)] in exact fractions."""
    P0, P1, t = (np.asarray(x).tolist() for x in (round_.P0, round_.P1, round_.t))
    return sum(mass * round_divergence(P0, P1, t, m + 1, E) for m, mass in law(count.fixed, count.parts).items())


@pytest.mark.parametrize("round_", [COIN, THREE], ids=["coin", "three"])
@pytest.mark.parametrize("count", COUNTS, ids=str)
@pytest.mark.parametrize("few", [False, True])
def test_mixture_against_fractions(
    round_: ShuffledPair, count: Count, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few:  # force rounding to three edges
        monkeypatch.setattr(counts, "edges", lambda c, tol: np.unique([c.least, int(c.mean), c.most]))
    for eps in (0.0, 0.3, 1.0):
        E = Fraction(math.exp(eps))
        truth = float(expected(round_, count, E))
        for side in ("upper", "lower"):
            curve = MixtureCurve.of([pieces(round_, count, side, 1e-4)], side)
            value = math.exp(curve.at(np.array([eps]), np.full(1, 1e-6)).log_delta[0])
            assert value >= truth * (1 - 1e-12) if side == "upper" else value <= truth * (1 + 1e-12)
            if not few:
                assert value == pytest.approx(truth, rel=1e-5, abs=1e-12)


def test_a_binomial_number_is_a_thinned_round() -> None:
    (piece,) = pieces(COIN, Count(0, ((200, 0.5),)), "upper", 1e-4)
    assert piece.draws == 201 and np.asarray(piece.pair.t).tolist() == [0.25, 0.25]
    (piece,) = pieces(COIN, Count(7, ((3, 1.0), (5, 0.0))), "upper", 1e-4)
    assert piece == Piece(1.0, COIN, 11)


def test_the_mean_is_not_enough() -> None:
    """The number 7.48e-5 against 6.66e-5 of the theory: four options, 200 users at 0.5 dummies each, eps = 1."""
    four = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.25, 0.25])
    mixed, fixed = (
        Among([four], count).log_delta(np.array([1.0]), n=200, tol=1e-6, side="upper")[0]
        for count in (lambda n: Count(0, ((n, 0.5),)), lambda n: Count(n // 2))
    )
    assert f"{math.exp(mixed):.2e}" == "7.48e-05" and f"{math.exp(fixed):.2e}" == "6.66e-05"


@pytest.mark.parametrize("n", [100, 10**4, 10**6, 10**9, 10**12])
def test_bracket_is_narrow_and_fast_at_any_n(n: int) -> None:
    family = Among([THREE], lambda n: Count(n, ((n, 0.3), (n - 1, 0.125))))
    upper, lower = (family.epsilon(n=n, delta=1e-8, tol=1e-4, side=side).epsilon for side in ("upper", "lower"))
    assert lower <= upper <= lower * 1.001


def test_no_finite_eps_and_too_many_messages() -> None:
    family = Among([COIN], lambda n: Count(1, ((n, 0.5),)))
    for side in ("upper", "lower"):
        assert family.epsilon(n=3, delta=1e-3, tol=1e-4, side=side).epsilon == math.inf
    assert family.pairs(10) is None
    with pytest.raises(ParameterError, match="at most 1e15 messages"):
        Among([COIN], lambda n: Count(2 * n)).epsilon(n=10**15, delta=1e-6, tol=1e-4, side="upper")


def test_a_first_guess_may_run_out_of_range() -> None:
    """Newton's steps once doubled eps until e^eps overflowed."""
    found = sdp.amplify("pure-dump:d=2,messages=1.020531153060881", n=2, delta=0.2449260853048264)
    assert found.lower is not None and found.lower <= found.epsilon < 1.1
