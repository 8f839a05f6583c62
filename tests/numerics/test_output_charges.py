"""The charges of trade-off functions, mu and Renyi divergences from below, against what they are named after."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from reference.fractions_oracle import round_enclosure
from shuffledp.numerics.composition.conversions import Lines, guaranteed, lower_from_lines, reached
from shuffledp.numerics.composition.gaussian import _Cells, _exceeded, _less, log_delta
from shuffledp.numerics.composition.profile_curve import Curve
from shuffledp.numerics.composition.whole import Fixed, lower_lines
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])


def test_guaranteed_and_reached_are_on_their_sides_of_a_coin() -> None:
    """Randomized response with ratio 3: exact fractions around its only corner, at alpha = beta = 1/4."""
    alpha = np.array([k / 64 for k in range(65)])
    exact = [max(1 - 3 * Fraction(a), (1 - Fraction(a)) / 3, Fraction(0)) for a in alpha.tolist()]
    eps = np.append(np.linspace(0.0, math.log(3.0), 40)[:-1], np.nextafter(math.log(3.0), 2.0))
    with np.errstate(divide="ignore"):
        curve = Curve(eps, np.log(np.maximum(0.75 - 0.25 * np.exp(eps), 0.0)))
    low = guaranteed(curve, alpha)
    high = reached(np.array([-1.0, 1.0]) * math.log(3.0), np.array([2.0 / 3.0, 0.0]), alpha)
    for found, truth, above in zip(low.tolist(), exact, high.tolist(), strict=True):
        assert Fraction(found) <= truth <= Fraction(above) and above - found < 1e-11
    # a corner that is missing raises nothing, and without the room outside the corners it would be too low
    assert np.all(reached(np.array([0.0]), np.array([0.5]), alpha) >= high - 1e-12)
    assert reached(np.array([0.0]), np.array([0.5]), np.array([0.25]))[0] >= 0.75


def test_exceeded_sees_what_happens_between_nodes() -> None:
    """delta is a chord that meets delta_mu at both nodes: between them it is larger, because delta_mu is convex."""
    mu, ends = 0.5, np.array([0.2, 0.9])
    at = log_delta(np.full(2, mu), ends, "upper")
    cell = _Cells(ends[:1], ends[1:], at[:1], at[1:])
    assert _exceeded(cell, mu)[0] and not _exceeded(cell, 1.5 * mu)[0]
    middle = math.log(0.5 * float(np.exp(ends).sum()))
    chord = math.log(0.5 * float(np.exp(at).sum()))
    enough = mu
    while _exceeded(cell, enough)[0]:
        enough *= 1.001
    assert log_delta(np.array([enough]), np.array([middle]), "lower")[0] >= chord > at[1]


def test_less_takes_no_more_than_the_slack() -> None:
    delta = np.array([0.3, 1e-9 * (1 + 1e-13), 1e-9, 1e-12, 0.0])
    with np.errstate(divide="ignore"):
        left = _less(Curve(np.arange(5.0), np.log(delta)), 1e-9).log_delta
    for value, was in zip(np.exp(left).tolist(), delta.tolist(), strict=True):
        assert Fraction(value) + Fraction(1e-9) >= Fraction(was)
    assert left[-1] == -np.inf == left[-2]


def test_lower_lines_lie_below_the_profile_everywhere() -> None:
    for n in (2, 5):
        found = lower_lines(Fixed(COIN, n, 1))
        left, right = np.exp(found.left), np.exp(found.right)
        for i in range(0, found.eps.size - 1, 3):
            a, b = found.eps[i : i + 2].tolist()
            for share in (0.0, 0.5, 1.0):
                E = math.exp(a) + share * (math.exp(b) - math.exp(a))
                line = left[i] + share * (right[i] - left[i])
                assert line <= float(round_enclosure(COIN.P0, COIN.P1, COIN.t, n, math.log(E))[1]) + 1e-14
        flat = np.maximum(np.exp(found.left) - right, 0.0)
        assert flat.max() > 1e-3  # the extended chord gains something over a step


def test_lower_from_lines_is_below_the_definition() -> None:
    """One report of the coin: the two losses are log 3 and -log 3."""
    orders = np.array([1.0001, 1.5, 2.0, 7.0, 300.0])
    eps = np.array([0.0, 0.3, 0.31, math.log(3.0)])
    with np.errstate(divide="ignore"):
        value = np.log(np.maximum(0.75 - 0.25 * np.exp(eps) - 1e-17, 0.0))
    lines = Lines(eps, value[:-1], value[1:])
    found = lower_from_lines(lines, lines, orders)
    exact = np.log(0.75 * 3.0 ** (orders - 1.0) + 0.25 * 3.0 ** (1.0 - orders)) / (orders - 1.0)
    assert np.all(found <= exact) and np.all(found >= exact * (1 - 1e-6))
    nothing = Lines(np.zeros(1), np.zeros(0), np.zeros(0))
    assert np.all(lower_from_lines(nothing, nothing, orders) == 0.0)
