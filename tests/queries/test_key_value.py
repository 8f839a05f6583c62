"""Keys with values: unbiased shares, Fieller's intervals for the means, any input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.calibrated import FULL, LEVEL, answers, calibrated, repeats, round_trip
from shuffledp.queries import KeyValue
from shuffledp.queries.columns import Coded

KEYS = ["tea", "milk", "bread", "salt"]


def rating(**changed: Any) -> KeyValue:
    given = {"column": "r", "keys": KEYS, "size": 2, "low": 0, "high": 10, "unit": "points"}
    return KeyValue(**{**given, "mechanism": "pckv-grr:eps0=3", **changed})


def held(n: int = 3000) -> list[dict[str, float]]:
    """Up to two keys each; "salt" is held by nobody."""
    rng = np.random.default_rng(2)
    out = []
    for _ in range(n):
        keys = rng.choice(KEYS[:3], size=rng.integers(0, 3), replace=False, p=[0.6, 0.3, 0.1])
        out.append({str(key): float(rng.uniform(2, 10) if key == "tea" else rng.uniform(0, 4)) for key in keys})
    return out


@pytest.mark.heavy
@pytest.mark.slow_cases("200")
@repeats
def test_shares_are_unbiased_and_means_are_covered(repeats: int) -> None:
    query, values = rating(), held()
    truth: Any = query.exact([values])
    by_hand = [np.mean([row[key] for row in values if key in row]) for key in KEYS[:3]]
    assert truth.means.value[:3] == pytest.approx(by_hand) and np.isnan(truth.means.value[3])
    assert truth.value == pytest.approx([np.mean([key in row for row in values]) for key in KEYS])
    found: Any = answers(query, [values], repeats, seed=1)
    calibrated(found, truth.value)
    ends = [e.means.interval(LEVEL) for e in found]
    for k in range(3):
        inside = np.mean([low[k] <= by_hand[k] <= high[k] for low, high in ends])
        # values of the holders are spread, which the error counts as noise: coverage is nominal or higher
        assert inside >= LEVEL - 4 * np.sqrt(LEVEL * (1 - LEVEL) / repeats), (k, inside)
        assert inside <= LEVEL + 4 * np.sqrt(LEVEL * (1 - LEVEL) / repeats) + 0.01, (k, inside)
    assert np.mean([high[3] - low[3] > 9 for low, high in ends]) > 0.8  # nothing is known where nobody holds it


@pytest.mark.slow_cases("400")
@pytest.mark.parametrize("repeats", [400, pytest.param(FULL, marks=pytest.mark.slow)])
def test_the_bias_and_the_error_of_a_mean_are_as_reported(repeats: int) -> None:
    values = [{"tea": 9.0}] * 1200 + [{"milk": 1.0}] * 800
    found: Any = answers(rating(size=1, mechanism="pckv-grr:eps0=2"), [values], repeats, seed=3)
    mean = np.array([e.means.value[0] for e in found])
    spread = mean.std(ddof=1)
    reported = np.mean([e.means.bias[0] for e in found])
    assert abs(mean.mean() - 9.0 - reported) <= 4 * spread / np.sqrt(repeats)
    predicted = np.sqrt(np.mean([e.means.stderr[0] ** 2 for e in found]))
    assert spread == pytest.approx(predicted, rel=4 / np.sqrt(2 * repeats) + 0.02)


def test_every_row_gives_an_input() -> None:
    query = rating()
    rows: list[Any] = [
        None,
        {},
        {"tea": None, "gold": 3},
        [("milk", 99.0), ("milk", -99.0)],
        [{"key": "tea", "value": "x"}],
        "tea",
        7,
        [1, 2],
        {"tea": 1, "milk": 2, "bread": 3},
    ]
    values = query.encode([rows])
    assert values.shape == (9, 2, 2)
    assert values[2].tolist() == [[0.0, 0.0], [-1.0, -1.0]]  # a missing value is the middle
    assert values[3, 0].tolist() == [1.0, 0.0]  # clipped, then averaged
    assert (values[8, :, 0] >= 0).all()
    query.randomizer.privatize(values)
    client = sdp.Client(sdp.Plan(query=query, users=1000, delta=1e-6))
    sizes = {tuple(map(len, client.report(row if not isinstance(row, dict) else {"r": row}))) for row in rows}
    assert len(sizes) == 1
    assert query.encode([Coded(np.array([0, -1]), [[("tea", 10)]])])[0, 0].tolist() == [0.0, 1.0]


def test_keys_and_values_in_two_columns() -> None:
    query = rating(column=("dest", "delay"), size=3)
    values = query.encode([[["tea", "milk", "tea"], None, "salt", ["milk"]], [[2, 10], [5], 5.0, [None]]])
    assert values[0, :2].tolist() == [[0.0, pytest.approx(-0.3)], [1.0, 1.0]]  # 2 and a missing one (5): 3.5
    assert values[1, 0, 0] == -1 and values[2, 0].tolist() == [3.0, 0.0] and values[3, 0].tolist() == [1.0, 0.0]
    assert round_trip(query).query.columns == ("dest", "delay")


def test_the_plan_file_and_bad_settings() -> None:
    round_trip(rating(other="other"))
    for changed, words in (
        ({"mechanism": "grr:eps0=1"}, "keys with values"),
        ({"size": 5}, "size must"),
        ({"low": 10}, "high must be above low"),
        ({"column": ("a", "b", "c")}, "column must"),
        ({"missing": 11}, "missing must"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            rating(**changed)


@pytest.mark.heavy
def test_the_answer_is_shown_with_its_means() -> None:
    query, values = rating(), held(5000)
    answer: Any = answers(query, [values], 1, seed=5)[0]
    text = answer.table().text()
    assert "mean value (points)" in text and "bias of the mean" in text
    assert len(answer.to_dict()["means"]["low"]) == 4
    best = answer.top(2)
    assert best.labels == best.means.labels == ["tea", "milk"]
    assert best.means.interval()[0] == pytest.approx(answer.means.interval()[0][:2])
    assert answer.means.interval(of="population")[0] == pytest.approx(answer.means.interval()[0])
    figure = answer.plot(truth=query.exact([values]))
    assert len(figure.axes) == 2 and figure.axes[1].get_xlabel() == "mean value of the holders (points)"


def test_a_mapping_is_the_pairs_of_a_user() -> None:
    """Not one entry per column: a client that took it so would report nothing."""
    query = KeyValue(column="ratings", keys=["a", "ratings"], size=1, low=0, high=10, mechanism="pckv-grr:eps0=2")
    assert query.entries({"a": 10.0}) == [{"a": 10.0}]
    assert query.entries({"ratings": 10.0}) == [{"ratings": 10.0}]
    assert query.entries({"ratings": {"a": 10.0}, "age": 7}) == [{"a": 10.0}]
    assert query.entries({"ratings": None}) == [None] and query.entries([("a", 1.0)]) == [[("a", 1.0)]]
    two = KeyValue(column=["k", "v"], keys=["a", "b"], size=1, low=0, high=10, mechanism="pckv-grr:eps0=2")
    assert two.entries({"k": "a", "v": 1.0}) == ["a", 1.0] and two.entries(None) == [None, None]
    with pytest.raises(sdp.ParameterError, match="one entry for each of k, v"):
        two.entries("a")
