"""Many questions about shuffled pairs against one at a time, and against enclosures in ball arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.ball_oracle import round_divergence
from reference.repetition import examples
from shuffledp.numerics import solve as single
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.many import pairs as many
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
THREE = ShuffledPair(P0=[0.6, 0.1, 0.3], P1=[0.1, 0.6, 0.3], t=[0.1, 0.1, 0.3])
BARE = ShuffledPair(P0=[0.7, 0.3, 0.0], P1=[0.2, 0.7, 0.1], t=[0.2, 0.0, 0.1])
SHARP = ShuffledPair(P0=[0.5, 0.5], P1=[0.0, 1.0], t=[0.3, 0.5])
TOL = 1e-4


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("pairs", [[COIN], [THREE], [COIN, THREE], [THREE, THREE.swapped()], [BARE], [SHARP, COIN]])
def test_eps_is_that_of_one_row(pairs: list[ShuffledPair], side: str) -> None:
    n = crowd([1, 2, 7, 60, 400, 3000, 1e5, 1e7, 1e10, 1e13])
    for delta in (1e-3, 1e-7, 1e-12, 0.5):
        found = many.epsilons([pairs] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL, side=side)
        for eps, users in zip(found, n, strict=True):
            expected = single.epsilon(pairs, n=int(users), delta=delta, tol=TOL, side=side)
            assert eps == pytest.approx(expected, rel=TOL) or eps == expected, (users, delta)


@pytest.mark.parametrize("pair", [COIN, THREE])
def test_the_safe_side_is_proved_by_an_enclosure(pair: ShuffledPair) -> None:
    """upper(eps) <= delta and lower(eps) >= delta at the returned eps itself, in ball arithmetic."""
    n = crowd([50, 300, 1000])
    for delta in (1e-4, 1e-8):
        deltas = np.full(n.size, delta)
        upper = many.epsilons([[pair]] * n.size, n=n, delta=deltas, tol=TOL, side="upper")
        lower = many.epsilons([[pair]] * n.size, n=n, delta=deltas, tol=TOL, side="lower")
        for users, high, low in zip(n, upper, lower, strict=True):
            laws = [np.asarray(x).tolist() for x in (pair.P0, pair.P1, pair.t)]
            assert round_divergence(*laws, int(users), float(high)) <= delta
            assert round_divergence(*laws, int(users), float(low)) >= delta
            assert high <= low * (1.0 + 2.0 * TOL)


@examples(60)
@given(
    st.floats(0.02, 0.98),
    st.floats(0.05, 1.0),
    st.lists(st.integers(1, 10**12), min_size=2, max_size=6),
    st.floats(1e-14, 0.3),
)
def test_eps_falls_with_n(p: float, share: float, sizes: list[int], delta: float) -> None:
    pair = ShuffledPair(P0=[p, 1 - p], P1=[1 - p, p], t=[share * min(p, 1 - p)] * 2)
    n = np.sort(crowd([float(x) for x in sizes]))
    eps = many.epsilons([[pair]] * n.size, n=n, delta=np.full(n.size, delta), tol=TOL, side="upper")
    assert np.all(eps[1:] <= eps[:-1] * (1.0 + TOL))
    assert np.all(eps <= single.pair_limit(pair))


def test_log_delta_is_that_of_one_row() -> None:
    n, eps = crowd([1, 30, 1000, 1e6, 1e9, 1e6]), np.array([0.3, 0.5, 0.1, 0.004, 1e-4, 300.0])
    for pairs in ([COIN, THREE], [BARE], [SHARP]):
        for side in ("upper", "lower"):
            found = many.log_deltas([pairs] * n.size, eps, n=n, tol=1e-3, side=side)
            for i in range(n.size):
                expected = PairSet(pairs).log_delta(eps[i : i + 1], n=int(n[i]), tol=1e-3, side=side)[0]
                assert found[i] == pytest.approx(expected, abs=4e-3) or found[i] == expected
