"""Sets of items: lists of any length and content, single items and itemsets, three mechanisms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.calibrated import answers, calibrated, repeats, round_trip
from shuffledp.queries import SetFrequency
from shuffledp.queries.columns import Coded

ITEMS = ["tea", "milk", "bread", "eggs", "salt", "rice"]
MECHANISMS = ["privset:eps0=2", "wheel:eps0=2", "sampling-rappor:eps0=2"]


def basket(mechanism: str = MECHANISMS[0], **changed: Any) -> SetFrequency:
    return SetFrequency(**{"column": "basket", "labels": ITEMS, "size": 3, "mechanism": mechanism, **changed})


def lists(n: int = 600) -> list[Any]:
    """Up to three items each, the first ones more often; unknown ones among them."""
    rng = np.random.default_rng(4)
    weights = np.arange(6, 0, -1) / 21
    out: list[Any] = [list(rng.choice(ITEMS, size=rng.integers(0, 4), replace=False, p=weights)) for _ in range(n)]
    for row in out[::7]:
        row.append("gold")
    return out


@pytest.mark.heavy
@pytest.mark.slow_cases("sampling-rappor*", "wheel*")
@pytest.mark.slow_cases("sampling-rappor:eps0=2-200", "wheel:eps0=2-200")
@repeats
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_unbiased_with_the_right_errors(mechanism: str, repeats: int) -> None:
    query, values = basket(mechanism), lists()
    truth = query.exact([values]).value
    by_hand = [np.mean([item in row for row in values]) for item in ITEMS]
    assert truth == pytest.approx(by_hand)
    calibrated(answers(query, [values], repeats, seed=1), truth)


@pytest.mark.heavy
@repeats
def test_pairs_of_items(repeats: int) -> None:
    query, values = basket(together=2, labels=ITEMS[:4], mechanism="privset:eps0=3"), lists()
    by_hand = [
        np.mean([a in row and b in row for row in values])
        for a, b in sorted(itertools.combinations(ITEMS[:4], 2), key=lambda p: [ITEMS.index(x) for x in p[::-1]])
    ]
    truth = query.exact([values])
    assert truth.value == pytest.approx(by_hand) and truth.labels[:3] == ["tea + milk", "tea + bread", "milk + bread"]
    calibrated(answers(query, [values], repeats, seed=2), truth.value)


@pytest.mark.slow
@pytest.mark.slow_cases("2-*", "1-privset:eps0=2", "1-sampling-rappor:eps0=2")
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("together", [1, 2])
def test_longer_lists_are_drawn_from_uniformly(mechanism: str, together: int) -> None:
    query = basket(mechanism, size=2, together=together)
    values = [ITEMS[:5], ITEMS[:2], ITEMS[3:]] * 500
    truth = query.exact([values]).value
    if together == 1:
        assert truth[0] == pytest.approx((2 / 5 + 1) / 3) and truth[5] == pytest.approx(2 / 3 / 3)
    found = np.array([e.value for e in answers(query, [values], 60, seed=3)])
    assert np.all(np.abs(found.mean(axis=0) - truth) <= 4.5 * found.std(axis=0, ddof=1) / np.sqrt(60))
    rng = np.random.default_rng(0)
    drawn = query.inputs([[ITEMS[:5]] * 20_000], rng=rng)
    pool = 5 if together == 1 else 10
    counts = np.bincount(drawn.ravel(), minlength=pool)
    assert drawn.shape == (20_000, 2) and np.all(drawn[:, 0] != drawn[:, 1])
    assert np.all(np.abs(counts / 20_000 - 2 / pool) < 5 * np.sqrt(2 / pool / 20_000)) and len(counts) == pool
    again = query.inputs([[ITEMS[:5]] * 20_000], rng=np.random.default_rng(0))
    assert np.array_equal(drawn, again)


STRANGE = [None, [], "tea", "tea|milk", ["tea", "tea"], [None, float("nan")], 3, {"tea": 1}, {"tea"}]
STRANGE += [(["x"],), [["tea"]]]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_row_gives_an_input(mechanism: str) -> None:
    query = basket(mechanism)
    values = query.encode([[*STRANGE, np.array(["milk"])]])
    assert values.shape == (len(STRANGE) + 1, 3)
    held = [set(row[(row >= 0) & (row < 6)].tolist()) for row in values]
    assert held == [set(), set(), {0}, set(), {0}, set(), set(), {0}, {0}, set(), set(), {1}]
    query.randomizer.privatize(values)
    for column in (np.array([1.0, np.nan]), Coded(np.array([0, -1, 1]), [["tea"], None])):
        query.randomizer.privatize(query.encode([column]))
    plan = sdp.Plan(query=query, users=1000, delta=1e-6)
    sizes = {tuple(map(len, sdp.Client(plan).report(value))) for value in STRANGE}
    assert len(sizes) == 1


def test_unknown_items_are_dropped_or_one_item() -> None:
    value = [[["gold", "silver", "tea"], ["gold"]]]
    assert basket().encode(value).tolist() == [[0, -1, -1], [-1, -1, -1]]
    assert basket(other="other").encode(value).tolist() == [[0, 6, -1], [6, -1, -1]]
    assert basket(other="salt").encode(value).tolist() == [[0, 4, -1], [4, -1, -1]]
    assert basket(other="other").names[-1] == "other" and basket().names == tuple(ITEMS)
    assert basket(separator="|").encode([["tea| milk", "eggs"]]).tolist() == [[0, 1, -1], [3, -1, -1]]


@pytest.mark.parametrize("query", [*map(basket, MECHANISMS), basket(together=2, other="other", separator=";")], ids=str)
def test_the_plan_file(query: SetFrequency) -> None:
    round_trip(query)


def test_a_made_mechanism_and_bad_settings() -> None:
    assert basket(sdp.PrivSet(eps0=1.0, d=6, s=3)).randomizer.spec.startswith("privset:eps0=1,d=6,s=3")  # type: ignore[arg-type]
    for changed, words in (
        ({"mechanism": "grr:eps0=1"}, "must be for sets"),
        ({"mechanism": "privset:eps0=1,d=9"}, "must have d = 6"),
        ({"size": 7}, "at most the 6 items"),
        ({"size": 0}, "size must"),
        ({"together": 7}, "together must"),
        ({"separator": 3}, "separator must"),
        ({"labels": [str(i) for i in range(3000)], "together": 2}, "at most 1,000,000 sets"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            basket(**changed)


@pytest.mark.heavy
def test_arrow_lists_are_counted() -> None:
    pa = pytest.importorskip("pyarrow")
    from shuffledp.engines.local import Local

    values = lists(4000)
    plan = sdp.Plan(query=basket("privset:eps0=6"), users=4000, delta=1e-6)
    table = pa.table({"basket": pa.array([*values[:-1], None], type=pa.list_(pa.string()))})
    rng = np.random.default_rng(0)
    answer = Local().count(plan, table, rng=rng).estimate()
    truth = Local().exact(plan, table)
    assert np.all(np.abs(answer.value - truth.value) <= 4.5 * answer.stderr)


@pytest.mark.heavy
def test_intervals_of_the_population_hold_the_draw_from_long_lists() -> None:
    """Four items each and room for one: at a large eps0 most of the error is which one was drawn."""
    query = SetFrequency(column="basket", labels=list("abcdef"), size=1, mechanism="privset:eps0=8")
    rng, column, runs = np.random.default_rng(4), [list("abcd"), list("abef")] * 100, 150
    truth = query.exact([column]).value
    assert truth.tolist() == [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]
    inside: dict[str, list[float]] = {"users": [], "population": []}
    for _ in range(runs):
        found = query.answer(query.randomizer.privatize_counts(query.inputs([column], rng=rng), rng=rng))
        for of, seen in inside.items():
            low, high = found.interval(0.95, of=of)
            seen.append(float(np.mean((low <= truth) & (truth <= high))))
    assert np.mean(inside["population"]) >= 0.95 - 4 * np.std(inside["population"]) / np.sqrt(runs)
    assert np.mean(inside["users"]) < 0.9, "these are for what was drawn"
