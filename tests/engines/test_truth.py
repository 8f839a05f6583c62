"""The truth of a simulation: what is expected over everything that clients draw but the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shuffledp as sdp
from shuffledp.engines.local import Local
from shuffledp.queries import HeavyHitters, Histogram, KeyValue, Mean, RangeQuery, SetFrequency

# one user with nine rows of "a", three users with one row of "b": of four users one holds a
USERS = [1] * 9 + [2, 3, 4]
TABLE = pa.table({"user": USERS, "x": ["a"] * 9 + ["b"] * 3, "t": [8.0] * 9 + [0.0] * 3})


def plan(query: Any, reports: int = 1) -> sdp.Plan:
    return sdp.Plan(query=query, users=100, delta=1e-6, user_column="user", reports_per_user=reports)


@pytest.mark.parametrize(
    ("query", "truth"),
    [
        (Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=1"), [0.25, 0.75, 0.0]),
        (Mean(column="t", low=0, high=10, mechanism="laplace:eps0=1"), [2.0]),
        (RangeQuery(column="t", low=0, high=10, bins=2, mechanism="grr:eps0=1"), [0.75, 0.25]),
        (SetFrequency(column="x", labels=["a", "b"], size=1, mechanism="privset:eps0=1"), [0.25, 0.75]),
        (HeavyHitters(column="x", length=1, mechanism="prefix-hash:eps0=1"), [0.75, 0.25]),
        (
            KeyValue(column=["x", "t"], keys=["a", "b"], size=1, low=0, high=10, mechanism="pckv-grr:eps0=1"),
            [0.25, 0.75],
        ),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_every_user_counts_once_however_many_rows_it_has(query: Any, truth: list[float]) -> None:
    assert Local().exact(plan(query), TABLE).value.tolist() == pytest.approx(truth)


def test_rows_that_a_user_lacks_count_as_missing() -> None:
    query = Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=1")
    assert Local().exact(plan(query, 2), TABLE).value.tolist() == pytest.approx([2 / 8, 3 / 8, 3 / 8])


@pytest.mark.heavy
def test_it_is_the_mean_over_the_draw() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"user": rng.integers(0, 30, 100), "x": rng.choice(["a", "b"], 100)})
    query = Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=30")
    both = plan(query, 2)
    found = [Local().count(both, table, rng=rng).estimate(release_early=True).value for _ in range(100)]
    error = np.std(found, axis=0) / np.sqrt(100) + 1e-9
    assert np.all(np.abs(np.mean(found, axis=0) - Local().exact(both, table).value) < 4 * error)
