"""One fixed pair held in every round: its atoms stay below the pair, against counts in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.fractions_oracle import round_enclosure
from shuffledp.numerics.composition.fixed_pair import PairLosses, most_telling, pair_losses, rounded_down
from shuffledp.numerics.pair import ShuffledPair

PAIRS = [
    ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25]),
    ([0.625, 0.25, 0.125], [0.25, 0.25, 0.5], [0.125, 0.25, 0.25]),
]
N = 7


def profile_of(pair: PairLosses, eps: float) -> float:
    return float(pair.mass @ np.maximum(-np.expm1(eps - pair.loss), 0.0))


@pytest.mark.parametrize("laws", PAIRS, ids=["symmetric", "lopsided"])
@pytest.mark.parametrize("eps", [-0.5, -0.1, 0.0, 0.1, 0.3, 0.6])
def test_the_atoms_are_below_the_truth_and_close(laws: tuple[list[float], ...], eps: float) -> None:
    P0, P1, t = laws
    found = pair_losses(ShuffledPair(P0=P0, P1=P1, t=t), N)
    assert found is not None and found.mass.sum() <= 1.0
    exact = float(round_enclosure(P0, P1, t, N, eps)[1])
    assert 0.9 * exact - 2e-3 <= profile_of(found, eps) <= exact * (1 + 1e-9)


def test_moving_down_to_a_grid_lowers_the_profile() -> None:
    P0, P1, t = PAIRS[0]
    found = pair_losses(ShuffledPair(P0=P0, P1=P1, t=t), N)
    assert found is not None
    masses = rounded_down(found, 0.01)
    half = (masses.mass.size - 1) // 2
    moved = PairLosses(np.arange(-half, half + 1) * 0.01, masses.mass)
    assert masses.infinite == 0.0 and masses.mass.sum() == pytest.approx(float(found.mass.sum()))
    for eps in (0.0, 0.2, 0.5):
        assert profile_of(found, eps) - 0.011 <= profile_of(moved, eps) <= profile_of(found, eps)


def test_a_pair_that_reveals_nothing_has_no_losses() -> None:
    assert pair_losses(ShuffledPair(P0=[0.5, 0.5], P1=[0.5, 0.5], t=[0.25, 0.25]), N) is None


def test_the_most_telling_pair_has_the_largest_distance() -> None:
    pairs = [ShuffledPair(P0=P0, P1=P1, t=t) for P0, P1, t in PAIRS]
    distances = [float(round_enclosure(*laws, N, 0.0)[1]) for laws in PAIRS]
    assert most_telling(pairs, N) is pairs[int(np.argmax(distances))]
    assert Fraction(distances[0]) != Fraction(distances[1]) and math.isfinite(max(distances))
