"""Users who take part by chance: the law of their messages, and the mixture split in two, against the whole mixture."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.fractions_oracle import round_divergence
from shuffledp.numerics.counts import Count, present
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.mixture import Among
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.participation import Split


def test_present_users_by_hand() -> None:
    exact = present(5, 0.5, lambda n: Count(0, ((n, 0.25),)), "upper", 1e-4)
    assert isinstance(exact, Count) and exact.simplified() == Count(0, ((1, 0.25), (4, 0.125)))
    both = present(5, 0.5, lambda n: Count(2 * n), "upper", 1e-4)
    assert not isinstance(both, Count) and both.mean == pytest.approx(6.0, rel=1e-4)
    assert both.deviation == pytest.approx(2.0, rel=1e-4) and (both.least, both.top) == (2, 10)


@pytest.mark.heavy
def test_split_encloses_the_mixture() -> None:
    r = ShuffledPair(P0=[0.75, 0.125, 0.125], P1=[0.125, 0.75, 0.125], t=[0.25, 0.25, 0.5])
    count = Count(3, ((60, 0.5), (30, 0.25)))
    mixed, split = Among([r], lambda _: count), Split(PairSet([r]), lambda _: count)
    eps = np.array([0.0, 0.3, 0.6])
    for side, sign in (("upper", 1), ("lower", -1)):
        exact, rough = (f.log_delta(eps, n=1, tol=1e-5, side=side) for f in (mixed, split))
        assert np.all(sign * (rough - exact) >= -1e-5) and np.all(np.abs(rough - exact) < 1.5)
        a, b = (f.epsilon(n=1, delta=1e-4, tol=1e-5, side=side).epsilon for f in (mixed, split))
        assert sign * (b - a) >= -1e-5 and b == pytest.approx(a, rel=0.4)
    assert split.pairs(5) is None


def test_a_blend_of_one_user_is_that_user() -> None:
    coin = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.5, 0.5])
    alone = Among([coin], lambda n: Count(3 * n), 0.5).log_delta(np.array([0.2]), n=1, tol=1e-5, side="upper")
    assert math.exp(alone[0]) == pytest.approx(
        float(round_divergence([1, 0], [0, 1], [0.5, 0.5], 4, Fraction(math.exp(0.2))))
    )
