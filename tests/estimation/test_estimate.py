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


@settings(deadline=None)
@given(
    held=st.lists(st.integers(0, 200), min_size=1, max_size=6),
    moved=st.floats(-0.49, 0.49),
    step=st.sampled_from([1, 2, 10, 75]),
)
def test_rounded_numbers_allow_for_the_rounding_and_show_nothing_else(held: list[int], moved: float, step: int) -> None:
    def asked(hits: np.ndarray) -> Estimate:
        return pure(hits, 200, 0.7, 0.1, Simplex()).named(names=[*map(str, held)], quantity="share of users")

    plain = asked(np.array(held, dtype=float))
    found = plain.rounded(step)
    assert np.all(found.value % step == 0) and np.all(abs(found.value - 200 * plain.value) <= step / 2)
    for (low, high), (least, most) in zip(
        zip(*found.interval(), strict=True), zip(*plain.counts().interval(), strict=True), strict=True
    ):
        assert low <= least + 1e-9 and most <= high + 1e-9
    near = (found.value + moved * step) / 200  # what else is published as the same multiples
    other = asked(200 * (0.1 + 0.6 * near)).rounded(step)
    assert other.to_dict() == found.to_dict() and other.table().text() == found.table().text()


def test_only_numbers_of_users_are_rounded() -> None:
    with pytest.raises(ParameterError, match="is for answers of shares or numbers of users alone"):
        an_estimate(np.array([1.0])).rounded(10)
    for bad in (0, -5, 2.5, True):
        with pytest.raises(ParameterError, match="step "):
            an_estimate(np.array([0.5])).named(names=["a"], quantity="share of users").rounded(bad)  # type: ignore


def test_pure_inverts_the_expectation() -> None:
    f = np.array([0.2, 0.8])
    est = pure(1000 * (f * 0.7 + (1 - f) * 0.1), 1000, 0.7, 0.1, Simplex())
    assert est.value == pytest.approx(f)
    assert est.stderr**2 == pytest.approx((f * 0.21 + (1 - f) * 0.09) / (1000 * 0.36))
