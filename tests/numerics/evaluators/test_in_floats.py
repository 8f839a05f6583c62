"""Evaluating in floats: on the right side of the truth for tiny n, extreme delta and extreme eps0, and narrow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import ball_oracle
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.evaluators.in_floats import InFloats
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.solve import epsilon, pair_limit


def clone(eps0: float) -> tuple[list[float], list[float], list[float]]:
    """The stronger clone, with masses that sum to 1 exactly."""
    keep = math.ldexp(round(math.ldexp(1.0 / (1.0 + math.exp(-eps0)), 52)), -52)
    return [keep, 1.0 - keep], [1.0 - keep, keep], [1.0 - keep, 1.0 - keep]


def grr(eps0: float, d: int) -> tuple[list[float], list[float], list[float]]:
    stray = math.ldexp(round(math.ldexp(1.0 / (math.exp(eps0) + d - 1.0), 60)), -60)
    keep = 1.0 - (d - 1) * stray
    rest = (d - 2) * stray
    return [keep, 1.0 - keep - rest, rest], [1.0 - keep - rest, keep, rest], [stray, stray, rest]


@pytest.mark.parametrize("eps0", [1e-6, 1e-3, 0.3, 2.0, 8.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-8, 1e-60, 1e-300])
def test_tiny_n_and_extreme_delta(eps0: float, n: int, delta: float) -> None:
    for laws in (clone(eps0), grr(eps0, 4)):
        pair = ShuffledPair(*laws)
        high, low = (epsilon([pair], n=n, delta=delta, tol=1e-4, side=side) for side in ("upper", "lower"))
        assert 0.0 <= low <= high <= pair_limit(pair) * (1 + 1e-15)
        if high < pair_limit(pair):
            assert float(ball_oracle.round_divergence(*laws, n, high).mid()) <= delta * (1 + 1e-12)
        if low > 0.0:
            assert float(ball_oracle.round_divergence(*laws, n, low).mid()) >= delta * (1 - 1e-12)


@pytest.mark.parametrize("laws", [clone(1.0), clone(4.0), grr(2.0, 16)], ids=["clone-1", "clone-4", "grr"])
@pytest.mark.parametrize("n", [50, 1_000, 20_000])
def test_one_eps_and_many_are_brackets_of_one_curve(laws: tuple[list[float], ...], n: int) -> None:
    pair = ShuffledPair(*laws)
    top = epsilon([pair], n=n, delta=1e-12, tol=1e-3, side="upper")
    eps = np.linspace(0.05 * top, top, 40)
    for side in ("upper", "lower"):
        curve = Divergence(pair, n, side)  # type: ignore[arg-type]
        many = curve.bracket(eps, 1e-4)
        for i, at in enumerate(eps.tolist()):
            point = Divergence(pair, n, side).point(at, 1e-3)  # type: ignore[arg-type]
            if point is None or point.upper == -math.inf:
                continue
            assert point.lower <= many.upper[i] + 1e-9 and many.lower[i] <= point.upper + 1e-9
            assert point.upper - point.lower <= 2e-3


def test_windows_serve_neighbours() -> None:
    few = ShuffledPair(*clone(2.0)).shrunk.few
    assert few is not None
    one = InFloats(few, 300, True, lambda: None)
    first = one.bracket(0.9, 1e-3)
    window = one._window
    second = one.bracket(0.899, 1e-3)
    assert first is not None and second is not None and second.upper > first.upper
    assert window is not None and one._window is window and one.sharp
    assert one.bracket(0.3, 1e-3) is not None and one._window is not window


def test_never_above_what_a_table_of_all_counts_gives() -> None:
    """Where a law is never above 0 the divergence is 0, and only there."""
    pair = ShuffledPair(*clone(1.0))
    beyond = Divergence(pair, 20).point(1.0 + 1e-9, 1e-3)
    within = Divergence(pair, 20).point(1.0 - 1e-9, 1e-3)
    assert beyond is not None and beyond.upper == -math.inf
    assert within is None or within.upper > -math.inf
