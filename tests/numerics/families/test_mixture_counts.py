"""Mixtures by enumeration of all counts at once, against the pairs one by one and in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.fractions_oracle import round_divergence
from shuffledp.numerics.evaluators.choose import Divergence, Side
from shuffledp.numerics.families import mixture
from shuffledp.numerics.families.mixture import Mixture, Piece
from shuffledp.numerics.families.mixture_counts import ManyCounts
from shuffledp.numerics.pair import ShuffledPair

PAIRS = [
    ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.5, 0.5]),
    ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[0.25, 0.75]),
    ShuffledPair(P0=[0.5, 0.25, 0.25], P1=[0.25, 0.5, 0.25], t=[0.125, 0.125, 0.5]),
    ShuffledPair(P0=[0.5, 0.25, 0.25], P1=[0.25, 0.5, 0.25], t=[2.0**-9, 2.0**-9, 1 - 2.0**-8]),
    ShuffledPair(P0=[0.5, 0.5], P1=[0.25, 0.75], t=[2.0**-7, 2.0**-6]),
]
EPSILON = np.array([0.0, 0.1, 0.5, 1.0, 2.0])


@pytest.mark.parametrize("pair", PAIRS)
def test_few_draws_are_enclosed_exactly(pair: ShuffledPair) -> None:
    draws, masses = [1, 2, 4, 5], [0.125, 0.25, 0.5, 0.125]
    found = ManyCounts.of([pair.atoms] * 4, draws, masses)
    assert found is not None
    bracket = found.bracket(EPSILON)
    for i, eps in enumerate(EPSILON):
        ratio, each = Fraction(math.exp(eps)), zip(draws, masses, strict=True)
        truth = sum(m * float(round_divergence(pair.P0, pair.P1, pair.t, n, ratio)) for n, m in each)
        assert math.exp(bracket.lower[i]) <= truth * (1 + 1e-14) + 1e-16
        assert truth <= math.exp(bracket.upper[i]) * (1 + 1e-14) + 1e-16
        assert math.exp(bracket.upper[i]) - math.exp(bracket.lower[i]) <= 1e-10 * truth + 1e-11


@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_mixture_is_that_of_its_curves(pair: ShuffledPair, side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Piece(m, pair, n) for n, m in ((30, 0.25), (34, 0.5), (39, 0.25))]
    curve = Mixture(parts, side)
    assert curve._counts is not None
    mine = curve.bracket(EPSILON, 1e-4)
    each = [Divergence(pair, part.draws, side).bracket(EPSILON, 1e-6) for part in parts]
    log_mass = np.log([[part.mass] for part in parts])
    upper, lower = (np.logaddexp.reduce(np.stack([b[k] for b in each]) + log_mass) for k in (0, 1))
    assert np.all(mine.upper >= lower - 1e-11) and np.all(mine.lower <= upper + 1e-11)
    live = upper > math.log(1e-14)
    assert np.all(mine.upper[live] - mine.lower[live] <= 2e-4)
    monkeypatch.setattr(mixture, "_FEW_EPSILONS", 0)  # without the enumeration
    other = Mixture(parts, side).bracket(EPSILON, 1e-4)
    assert np.all(mine.lower <= other.upper + 1e-11) and np.all(other.lower <= mine.upper + 1e-11)


def test_what_is_left_out_is_added() -> None:
    pair = PAIRS[0]
    few = ManyCounts.of([pair.atoms], [100], [1.0])
    assert few is not None and 0.0 < few.left_out < 1e-24
    assert ManyCounts.of([pair.atoms], [10**9], [1.0]) is None  # too many counts
    hidden = ShuffledPair(P0=[0.5, 0.5], P1=[0.5, 0.5], t=[0.5, 0.0])
    assert ManyCounts.of([hidden.atoms], [10], [1.0]) is None  # symbols that nobody sends are not enumerated


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_number_of_messages_far_from_the_others_is_added_on_its_own(side: Side) -> None:
    """The window of all counts stays short enough to be counted; the bracket is that of the curves, and sharp."""
    draws = [*range(280, 400), 4000]
    masses = np.exp(-0.5 * ((np.array(draws) - 340) / 15.0) ** 2)
    masses[-1] = 1e-9
    pieces = [Piece(float(w), PAIRS[0], m) for w, m in zip(masses / masses.sum(), draws, strict=True)]
    curve, eps = Mixture(pieces, side), np.array([0.3])
    assert curve._counts is not None
    assert [curve._curves[i].n for i in curve._counts[1]] == [4000]
    found, each = curve.bracket(eps, 1e-4), curve._from_curves(eps, np.array([1e-6]))
    assert found.upper[0] - found.lower[0] <= 1e-6
    assert each.upper[0] - each.lower[0] <= 1e-5
    assert max(each.lower[0], found.lower[0]) <= min(each.upper[0], found.upper[0])  # both enclose it
    assert found.slope[0] == pytest.approx(each.slope[0], rel=1e-3)
