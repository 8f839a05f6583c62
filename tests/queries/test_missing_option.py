"""Users without a number as an option of their own: their share, and the answer about the others."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.errors import ParameterError

q = sdp.queries
N = 4000


def numbers(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return np.where(rng.random(n) < 0.3, np.nan, rng.gamma(2.0, 8.0, n))


def ranges(**more: object) -> q.RangeQuery:
    given = {"column": "wait", "low": 0, "high": 64, "bins": 16, "missing": "option", "mechanism": "grr:eps0=4"}
    return q.RangeQuery(**{**given, **more})  # type: ignore[arg-type]


@pytest.mark.heavy
@pytest.mark.slow_cases("more0", "more1")
@pytest.mark.parametrize(
    "more", [{}, {"branching": 4, "mechanism": "unary:eps0=3", "weights": "ranges"}, {"branching": 17}]
)
def test_ranges_and_quantiles_of_those_who_have_a_number(more: dict[str, object]) -> None:
    query, rng = ranges(**more), np.random.default_rng(5)
    m, values = query.randomizer, numbers(rng)
    true = query.exact([values])
    known = values[~np.isnan(values)]
    assert true.missing.value[0] == pytest.approx(np.isnan(values).mean()) and true.labels[-1] == "missing"
    assert true.range(0, 64).value[0] == pytest.approx(len(known) / N)
    assert abs(true.quantile(0.5).value - np.median(known)) < 4.0, "in the bin of the median"
    held = dict.fromkeys(("missing", "all", "half", "quantile"), 0)
    times = 60
    for _ in range(times):
        found = query.answer(m.tally(m.privatize(query.encode([values]), rng=rng)))
        for key, one, truth in (
            ("missing", found.missing, true.missing),
            ("all", found.range(0, 64), true.range(0, 64)),
            ("half", found.range(0, 32), true.range(0, 32)),
        ):
            low, high = one.interval()
            held[key] += bool(low[0] <= truth.value[0] <= high[0])
        median = found.quantile(0.5)
        held["quantile"] += median.low <= float(np.median(known)) <= median.high
        assert median.low <= median.value <= median.high and found.cdf().value.size == 16
    assert all(count >= 0.88 * times for count in held.values()), held
    fitted = found.fitted()
    assert fitted.value.sum() == pytest.approx(1.0) and fitted.missing.stderr[0] <= found.missing.stderr[0] * 1.0001


def test_everybody_may_be_missing() -> None:
    query = ranges(mechanism="grr:eps0=8")
    m = query.randomizer
    found = query.answer(m.tally(m.privatize(query.encode([[None, "x"] * 500]))))
    assert abs(found.missing.value[0] - 1.0) < 6 * found.missing.stderr[0] + 0.01
    assert tuple(found.quantile(0.5))[1:] == (0.0, 64.0)
    assert tuple(query.exact([[None] * 10]).quantile(0.5))[1:] == (0.0, 64.0)
    assert found.plot(truth=query.exact([[None, 3.0]])).axes


def test_missing_is_asked_for_by_name() -> None:
    query = ranges(missing=0)
    assert query.randomizer.d == 16 and ranges().randomizer.d == 17  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="missing must be an option"):
        _ = query.exact([[1.0]]).missing
    said = "missing must be a number of the range or 'option', got 'share'; 'option' estimates the share"
    with pytest.raises(ParameterError, match=said):
        ranges(missing="share")
    with pytest.raises(ParameterError, match=said):
        q.Mean(column="a", low=0, high=1, missing="share", mechanism="laplace:eps0=1")


def test_means_of_those_who_have_a_number() -> None:
    query = q.Mean(column=("a", "b"), low=0, high=64, missing="option", unit="min", mechanism="pckv-grr:eps0=5")
    rng = np.random.default_rng(6)
    m, values = query.randomizer, [numbers(rng), np.full(N, 32.0)]
    true, held, times = query.exact(values), np.zeros((2, 2)), 60
    assert true.value.tolist() == pytest.approx([1.0 - np.isnan(values[0]).mean(), 1.0])
    assert true.means.value.tolist() == pytest.approx([np.nanmean(np.minimum(values[0], 64.0)), 32.0])  # type: ignore[attr-defined]
    for _ in range(times):
        found = query.answer(m.tally(m.privatize(query.encode(values), rng=rng)))
        for i, (part, truth) in enumerate(((found, true), (found.means, true.means))):  # type: ignore[attr-defined]
            low, high = part.interval()
            held[i] += (low <= truth.value) & (truth.value <= high)
    assert (held >= 0.88 * times).all(), held
    assert found.labels == ["a", "b"] and "missing ones are left out of the means" in repr(found)
    weighted = query.exact([[8.0, None], [8.0, 8.0]], weights=np.array([3.0, 1.0]))
    assert weighted.value.tolist() == [0.75, 1.0] and weighted.means.value.tolist() == [8.0, 8.0]  # type: ignore[attr-defined]


def test_a_mechanism_that_cannot_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"mechanism must be for numbers that may be missing, got laplace.*pckv-grr"
    ):
        q.Mean(column="a", low=0, high=1, missing="option", mechanism="laplace:eps0=1")
