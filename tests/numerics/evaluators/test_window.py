"""The direct sum in a window: brackets the truth, also where it leaves much out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from reference import ball_oracle
from reference.fractions_oracle import round_enclosure
from reference.rounds import Laws, rounds
from shuffledp.numerics.evaluators.window import Window, _log_factorials
from shuffledp.numerics.few_atoms import Few, saddle
from shuffledp.numerics.pair import ShuffledPair

COIN = ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
GRR = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.125])
FULL = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.5, 0.25])
FOUR = ([0.5, 0.125, 0.25, 0.125], [0.125, 0.5, 0.25, 0.125], [0.125, 0.125, 0.0625, 0.25])


def window(few: Few, n: int, growth: float, rtol: float, upper: bool) -> Window | None:
    return Window.around(few, n, growth, saddle(few.values(growth), few.t, float(n)), rtol, upper=upper)


def check(laws: Laws, n: int, eps: float, place: float, rtol: float) -> None:
    """A window that was placed at another eps brackets the truth at this one, on its own side."""
    atoms = ShuffledPair(*laws).atoms
    few, growth = atoms.few, math.expm1(place)
    if few is None or atoms.zero0.size or max(few.values(growth)) <= 0.0:
        return
    low, high = round_enclosure(*laws, n, eps)
    for upper in (True, False):
        try:
            made = window(few, n, growth, rtol, upper)
        except (ArithmeticError, ValueError):  # the caller tries something else
            continue
        if made is None or math.expm1(eps) < made.floor:
            continue
        found = made.log_bracket(math.expm1(eps))
        room = 1e-13 * (1.0 + math.exp(eps)) / max(float(high), 1e-300)  # rounding of u - E v in the atoms
        if upper and high > 0:
            assert found.upper >= math.log(low) - min(room, 0.5) if low > 0 else True
        if not upper and found.lower > -math.inf:
            assert high > 0 and found.lower <= math.log(high) + room


@settings(max_examples=150, deadline=None)
@given(
    laws=rounds(4),
    n=st.integers(1, 8),
    eps=st.floats(0.0, 3.0),
    shift=st.floats(0.0, 0.1),
    rtol=st.sampled_from([1e-6, 1e-3, 0.5, 50.0, 1e4]),
)
def test_brackets_the_fraction(laws: Laws, n: int, eps: float, shift: float, rtol: float) -> None:
    check(laws, n, eps + shift, eps, rtol)


@pytest.mark.parametrize("laws", [COIN, GRR, FULL, FOUR], ids=["coin", "grr", "full", "four"])
@pytest.mark.parametrize(("n", "eps"), [(5, 0.4), (30, 0.3), (60, 0.05), (60, 0.5), (1000, 0.3)])
@pytest.mark.parametrize("rtol", [1e-6, 1e-3, 1.0, 1e3])
def test_brackets_the_ball(laws: tuple[list[float], ...], n: int, eps: float, rtol: float) -> None:
    few = ShuffledPair(*laws).atoms.few
    assert few is not None
    if n > 100 and len(few.t) > 2:
        pytest.skip("too many counts for the oracle")
    growth = math.expm1(eps)
    true = float(ball_oracle.log_divergence(*laws, n, eps).mid())
    for upper in (True, False):
        made = window(few, n, growth, rtol, upper)
        if made is None:
            continue
        found = made.log_bracket(growth)
        assert found.lower <= true + 1e-11 and found.upper >= true - 1e-11
        if rtol <= 1e-3:
            assert found.upper - found.lower <= 2.0 * rtol
            after = made.log_bracket(growth * (1.0 + 1e-9))
            fall = (math.expm1(after.upper - found.upper) * math.exp(found.upper)) / (growth * 1e-9)
            assert found.slope == pytest.approx(fall, rel=1e-3)


def test_what_is_left_out_is_charged() -> None:
    """With a tiny share summed, the upper value is still above the truth, and the lower one far below."""
    few = ShuffledPair(*COIN).atoms.few
    assert few is not None
    true = float(ball_oracle.log_divergence(*COIN, 100, 0.5).mid())
    made = window(few, 100, math.expm1(0.5), 1e5, True)
    assert made is not None
    found = made.log_bracket(math.expm1(0.5))
    assert found.upper > true and found.lower < true - 0.1 and made.left_out > 0.0


def test_values_that_underflow_are_not_zero() -> None:
    few = ShuffledPair(*COIN).atoms.few
    assert few is not None
    made = window(few, 2000, math.expm1(1.0), 1e-3, True)
    assert made is None or made.log_bracket(math.expm1(1.0)).upper > -math.inf


def test_log_factorials() -> None:
    table = _log_factorials(70_000)
    start = table.up.size - np.flatnonzero(np.isinf(table.up[::-1]))[0]
    for k in (0, 1, 2, 31, 32, 33, 1000, 65_536):
        assert table.up[start + k] == pytest.approx(math.lgamma(k + 1.0), rel=1e-14, abs=1e-14)
    assert np.array_equal(table.down, table.up[::-1])


@pytest.mark.parametrize(("n", "eps"), [(1200, 1.6), (1270, 1.97), (1400, 1.97)])
def test_divergences_near_the_smallest_doubles_are_sharp(n, eps):
    """Probabilities of e^-700 and less are kept in a unit of their own; the whole sum agrees."""
    few = Few(gap=(math.expm1(2.0), -math.expm1(2.0)), v=(1.0, math.exp(2.0)), t=(0.45, 0.45), rest=0.1)
    growth = math.expm1(eps)
    window = Window.around(few, n, growth, saddle(few.values(growth), few.t, float(n)), rtol=1e-5)
    found = window.log_bracket(growth)
    assert found.upper < -480.0 and 0.0 < found.upper - found.lower < 1e-5
    a, b = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0))
    value = a * few.values(growth)[0] + b * few.values(growth)[1]
    a, b, value = (x[(value > 0.0) & (a + b <= n)] for x in (a, b, value))
    log_p = gammaln(n + 1.0) - gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(n + 1.0 - a - b)
    log_p += (a + b) * math.log(0.45) + (n - a - b) * math.log(0.1)
    truth = float(logsumexp(log_p + np.log(value / n)))
    assert found.lower - 1e-8 <= truth <= found.upper + 1e-8
