"""Cuts of the window: their tails are bounded, and plans are refused where they are too large."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shuffledp.numerics.evaluators.window_plan import MOST_DRAWS, Axis, Plan, _axis
from shuffledp.numerics.few_atoms import Few, saddle

COIN = Few(gap=(2.0, -2.0), v=(1.0, 3.0), t=(0.25, 0.25), rest=0.5)


def plan(n: int, growth: float, rtol: float = 1e-4) -> Plan | None:
    return Plan.of(COIN, n, growth, saddle(COIN.values(growth), COIN.t, float(n)), rtol)


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("weight", [Fraction(1, 1000), Fraction(1, 8), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("cut", [(0, 0), (0, 3), (1, 5), (3, 30)])
def test_outside_is_at_least_the_probability(n: int, weight: Fraction, cut: tuple[int, int]) -> None:
    low, high = min(cut[0], n), min(cut[1], n)
    outside = sum(math.comb(n, k) * weight**k * (1 - weight) ** (n - k) for k in range(n + 1) if not low <= k <= high)
    assert Axis(0, low, high).outside(n, float(weight)) >= float(outside) * (1 - 1e-12)


@pytest.mark.parametrize("weight", [1e-300, 1e-9, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("n", [1, 100, 10**5])
def test_cuts_leave_out_about_as_much_as_wanted(n: int, weight: float) -> None:
    axis = _axis(0, n, weight, 15.0)
    assert 0 <= axis.low <= axis.high <= n
    assert axis.outside(n, weight) <= 4.0 * math.exp(-15.0)


def test_large_plans_are_refused() -> None:
    assert plan(100, 0.5) is not None
    assert plan(MOST_DRAWS + 1, 0.01) is None and plan(10**5, 1e-3) is None


def test_what_is_tighter_costs_more() -> None:
    loose, tight = plan(100, 0.5, 1e-3), plan(100, 0.5, 1e-9)
    assert loose is not None and tight is not None
    assert loose.cells < tight.cells and loose.cost < tight.cost
    assert loose.floor < 0.5 < loose.ceiling
