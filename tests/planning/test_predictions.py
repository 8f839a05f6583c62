"""Predicted errors beside simulated ones, and the best plan beside all others, as users would run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shuffledp as sdp

from .simulated import errors, rmse

#: Ranges of one answer share their bins: an answer counts as about two errors, however many ranges there are.
ALIKE = ("range", "quantile")
#: Wanted: the error of a simulated RMSE, 1/sqrt(2 errors), well below the 10 % that are allowed.
MANY = 800
TASKS: list[tuple[str, dict[str, Any]]] = [
    ("sum of bits", {}),
    ("mean", {}),
    *(("vector mean", {"dim": dim}) for dim in (4, 16)),
    *((task, {"d": d}) for task in ("histogram", "range", "quantile", "location") for d in (16, 256)),
    *(("sets", {"d": d, "size": 3}) for d in (16, 256)),
    *(("key-value", {"d": d, "size": 2}) for d in (16, 256)),
]


def judged(found: sdp.Recommendation, many: int = MANY) -> None:
    """Every choice within 10 % of its prediction, none above its worst case, and the first among the best."""
    simulated = []
    for number, choice in enumerate(found.choices):
        entries = 2 if found.task in ALIKE else errors(found, choice, repeats=1, seed=99).size
        repeats = max(2, round(many / entries))
        found_rmse = rmse(found, choice, repeats=repeats, seed=number)
        assert found_rmse == pytest.approx(choice.typical_error, rel=0.10), choice
        assert found_rmse <= 1.10 * choice.error
        simulated.append(found_rmse)
    assert simulated[0] <= 1.10 * min(simulated)


@pytest.mark.slow
def test_histogram_predictions() -> None:
    judged(sdp.recommend("histogram", n=100_000, d=16, epsilon=1.0, delta=1e-8), many=1000)


@pytest.mark.slow_cases("sets-*")
@pytest.mark.slow_cases("range-given0", "vector mean-given1")
@pytest.mark.parametrize(
    ("task", "given"),
    [("range", {"d": 16, "epsilon": 0.3}), ("vector mean", {"dim": 3}), ("sets", {"d": 12, "size": 2})],
)
def test_predictions_of_small_batches(task: str, given: dict[str, Any]) -> None:
    judged(sdp.recommend(task, **{"n": 4_000, "epsilon": 1.0, "delta": 1e-6, **given}), many=1000)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "given"), TASKS, ids=lambda x: str(x))
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_predictions(task: str, given: dict[str, Any], epsilon: float) -> None:
    judged(sdp.recommend(task, n=100_000, epsilon=epsilon, delta=1e-8, **given))


@pytest.mark.slow_cases("key-value")
@pytest.mark.slow_cases("histogram", "sets")
@pytest.mark.parametrize("task", ["histogram", "sets", "key-value"])
def test_data_that_are_alike_stay_below_the_worst_case(task: str) -> None:
    given = {"d": 12} if task == "histogram" else {"d": 12, "size": 2}
    found = sdp.recommend(task, n=4_000, epsilon=1.0, delta=1e-6, **given)
    for choice in found.choices:
        squares = errors(found, choice, repeats=400, seed=3, even=False)
        assert np.sqrt(squares.mean()) <= 1.10 * choice.error, choice
        assert np.sqrt(squares.mean(axis=0).max()) <= 1.25 * choice.item_error, choice
