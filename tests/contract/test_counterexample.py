"""The reduction as printed is not a bound (docs/proofs.md, section 4): shown in exact fractions, and at n = 1000."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import round_divergence, shuffled_divergence, worst_divergence
from reference.randomizers import floats, grr

EPS = math.log(1.5)
E = Fraction(3, 2)


def laws() -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """P0, P1 and t of the printed reduction for GRR with d = 3, e^eps0 = 2 (p = q = 2, beta = 1/4)."""
    p, beta, q = Fraction(2), Fraction(1, 4), Fraction(2)
    alpha = beta / (p - 1)
    rest = 1 - alpha - p * alpha
    r = p * alpha / q
    return [p * alpha, alpha, rest], [alpha, p * alpha, rest], [r, r, 1 - 2 * r]


def test_the_printed_bound_is_below_the_truth_in_exact_fractions() -> None:
    truth = shuffled_divergence(grr(3, 2), 0, 1, [0, 2], E)
    printed = round_divergence(*laws(), 3, E)
    assert truth == Fraction(5, 128)
    assert printed == Fraction(4, 128)
    assert worst_divergence(grr(3, 2), 3, E) >= truth


@pytest.mark.parametrize("bound", ["auto", "blanket", "variation-ratio", "general"])
def test_our_bounds_are_above_the_truth(bound: str) -> None:
    value = sdp.profile(sdp.FiniteRandomizer(floats(grr(3, 2))), n=3, epsilon=EPS, bound=bound)
    # log(1.5) is no double; the divergence moves by less than 1e-15 between them
    assert float(value) >= 5 / 128 * (1 - 1e-14)


def test_the_published_bound_reproduces_the_published_number_and_says_so() -> None:
    m = sdp.FiniteRandomizer(floats(grr(3, 2)))
    value = sdp.profile(m, n=3, epsilon=EPS, bound="variation-ratio-published")
    assert float(value) == pytest.approx(4 / 128, rel=2e-4)
    answer = sdp.amplify(m, n=3, delta=1e-3, bound="variation-ratio-published")
    assert not answer.sound
    assert "not a proved bound" in str(answer)


def test_the_same_at_a_thousand_users() -> None:
    ratio = math.exp(3.0)
    matrix = (np.ones((16, 16)) + np.eye(16) * (ratio - 1.0)) / (ratio + 15.0)
    m = sdp.FiniteRandomizer(matrix)
    published = sdp.amplify(m, n=1000, delta=1e-5, bound="variation-ratio-published", tol=1e-6).epsilon
    ours = sdp.amplify(m, n=1000, delta=1e-5, tol=1e-6)
    repaired = sdp.amplify(m, n=1000, delta=1e-5, bound="variation-ratio", tol=1e-6).epsilon
    assert ours.bound == "blanket"
    assert ours.lower is not None
    # the digits given, and tol = 1e-6 on the safe side of each
    assert published == pytest.approx(0.50891, abs=6e-6)
    assert ours.lower == pytest.approx(0.50969, abs=6e-6)
    assert ours.epsilon == pytest.approx(0.50979, abs=6e-6)
    assert repaired == pytest.approx(0.5392, abs=6e-5)
    assert published < ours.lower <= ours.epsilon < repaired
