"""Estimates: intervals, consistency steps, and the pure-protocol formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError
from shuffledp.estimation.constraints import Simplex
from shuffledp.estimation.estimate import Estimate, pure

vectors = st.lists(st.floats(-3, 3, allow_nan=False), min_size=1, max_size=12).map(np.array)


def an_estimate(value: np.ndarray) -> Estimate:
    return Estimate(value=value, stderr=np.full(value.shape, 0.1), n=100)


def test_the_interval_has_the_normal_width() -> None:
    low, high = an_estimate(np.array([1.0])).interval(0.95)
    assert high[0] - low[0] == pytest.approx(2 * 1.959963984540054 * 0.1)
    for bad in (0.0, 1.0, 95):
        with pytest.raises(ParameterError, match="level"):
            an_estimate(np.array([1.0])).interval(bad)


@pytest.mark.heavy
@settings(deadline=None)
@given(value=vectors)
def test_consistency_steps_land_on_the_simplex(value: np.ndarray) -> None:
    for step in ("simplex", "norm-sub"):
        out = an_estimate(value).consistent(step)
        assert out.step == step
        assert np.all(out.value >= 0) and out.value.sum() == pytest.approx(1.0)


@pytest.mark.heavy
@settings(deadline=None)
@given(value=vectors, other=vectors)
def test_the_simplex_step_is_the_nearest_point(value: np.ndarray, other: np.ndarray) -> None:
    """Obtuse angle criterion: (v - proj) . (w - proj) <= 0 for every w on the simplex."""
    projected = an_estimate(value).consistent("simplex").value
    corner = np.zeros_like(value)
    for j in range(value.size):
        corner[:] = 0
        corner[j] = 1
        assert float((value - projected) @ (corner - projected)) <= 1e-9


def test_a_step_is_applied_once_and_named_right() -> None:
    once = an_estimate(np.array([0.5, 0.7])).consistent("simplex")
    with pytest.raises(ParameterError, match="once"):
        once.consistent("simplex")
    with pytest.raises(ParameterError, match="did you mean 'simplex'"):
        an_estimate(np.array([0.5])).consistent("simplx")


def test_pure_inverts_the_expectation() -> None:
    f = np.array([0.2, 0.8])
    est = pure(1000 * (f * 0.7 + (1 - f) * 0.1), 1000, 0.7, 0.1, Simplex())
    assert est.value == pytest.approx(f)
    assert est.stderr**2 == pytest.approx((f * 0.21 + (1 - f) * 0.09) / (1000 * 0.36))
