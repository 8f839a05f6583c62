"""Means of vectors of bounded length by PrivUnit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.calibrated import answers, calibrated, repeats, round_trip
from shuffledp.queries import VectorMean


def step(**changed: Any) -> VectorMean:
    return VectorMean(**{"column": ("a", "b"), "norm": 2.0, "unit": "m", "mechanism": "privunit:eps0=3", **changed})


@pytest.mark.heavy
@repeats
def test_unbiased_with_the_right_errors(repeats: int) -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(0.5, 1.0, size=800), rng.normal(-1.0, 1.0, size=800)]
    truth = step().exact(values)
    calibrated(answers(step(), values, repeats, seed=1), truth.value)
    alike = [np.full(800, 1.2), np.full(800, 1.6)]  # of length 2: the spread of the vectors is none
    calibrated(answers(step(), alike, repeats, seed=2), np.array([1.2, 1.6]))


def test_every_row_gives_an_input() -> None:
    rows = step().encode([[3.0, None, 1e308, -np.inf, "x", 0.2], [4.0, np.nan, 1e308, 5.0, 1.0, 0.0]])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(6))
    assert rows[0] == pytest.approx([0.6, 0.8, 0.0]) and rows[1].tolist() == [0.0, 0.0, 1.0]
    assert rows[2, :2] == pytest.approx([0.5**0.5] * 2) and rows[3, 0] == pytest.approx(-1.0)
    assert rows[4] == pytest.approx([0.0, 0.5, 0.75**0.5]) and rows[5, 0] == pytest.approx(0.1)
    step().randomizer.privatize(rows)
    client = sdp.Client(sdp.Plan(query=step(), users=1000, delta=1e-6))
    assert {tuple(map(len, client.report(row))) for row in (None, [1, 2], {"a": 3}, ["x", None])} == {(6,)}


def test_the_plan_file_and_what_is_refused() -> None:
    assert round_trip(step()).query.randomizer.dim == 3
    for changed, words in (
        ({"mechanism": "laplace:eps0=1"}, "queries.Mean"),
        ({"norm": 0}, "norm must"),
        ({"column": "a"}, "column must"),
        ({"mechanism": "privunit:eps0=1,dim=2"}, "must have dim = 3"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            step(**changed)


@pytest.mark.parametrize("unit", [5, None, "m" * 41])
def test_a_unit_is_a_short_text(unit: Any) -> None:
    with pytest.raises(sdp.ParameterError, match=r"^unit must be a short text, got [^\n]*; write unit='min'\.$"):
        VectorMean(column=("a", "b"), norm=1.0, unit=unit, mechanism="privunit:eps0=4")
