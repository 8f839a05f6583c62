"""The queries in the words and units of the question: calibrated answers, round trips, and refused declarations."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.errors import ParameterError
from shuffledp.paper import panels
from shuffledp.queries.base import Query, query_from

from .calibration import judge

RNG = np.random.default_rng(7)
FRUIT = np.array(["apple", "pear", "plum", None], dtype=object)[RNG.choice(4, 6000, p=[0.5, 0.3, 0.15, 0.05])]
WAIT = np.concatenate([RNG.gamma(2.0, 8.0, 5900), np.full(100, np.nan)])

Histogram, Mean, RangeQuery = sdp.queries.Histogram, sdp.queries.Mean, sdp.queries.RangeQuery

HISTOGRAMS = [
    Histogram(column="fruit", labels=["apple", "pear"], mechanism=spec)
    for spec in (
        "grr:eps0=2",
        "unary:eps0=2",
        "subset:eps0=2",
        "local-hash:eps0=2",
        "hadamard:eps0=2",
        "pure-dump:messages=2",
    )
]
MEANS = [
    Mean(column="wait", low=0, high=60, unit="min", mechanism=spec)
    for spec in ("laplace:eps0=2", "gaussian:sigma=1,low=0,high=1,inputs=5,edges=16")
]
RANGES = [
    RangeQuery(column="wait", low=0, high=60, bins=60, branching=4, mechanism=spec, weights=weights)
    for spec, weights in (("grr:eps0=3", "uniform"), ("unary:eps0=3", "ranges"), ("grr:eps0=3", "ranges"))
]


def column_of(query: Query) -> list[Any]:
    return [FRUIT.tolist() if "fruit" in query.columns else WAIT for _ in query.columns]


@pytest.mark.parametrize("query", [*HISTOGRAMS, *MEANS], ids=lambda q: q.randomizer.spec)
def test_calibrated(query: Query) -> None:
    judge(query, column_of(query), repeat=200, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("query", [*HISTOGRAMS, *MEANS, *RANGES], ids=lambda q: q.randomizer.spec)
def test_calibrated_often(query: Query) -> None:
    judge(query, column_of(query), repeat=2000, seed=2)


@pytest.mark.heavy
@pytest.mark.slow_cases("True-*", "False-parallel:*")
@pytest.mark.parametrize("query", RANGES, ids=lambda q: q.randomizer.spec)
@pytest.mark.parametrize("fitted", [False, True])
def test_ranges_are_calibrated(query: Any, fitted: bool) -> None:
    pairs = [(0, 30), (7, 8), (13, 55), (2, 59)]

    def ask(answer: Any) -> Any:
        made = answer.fitted() if fitted and np.all(answer.stderr > 0) else answer
        some = [made.range(a, b) for a, b in pairs]
        return sdp.Estimate(
            value=np.concatenate([s.value for s in some]), stderr=np.concatenate([s.stderr for s in some]), n=made.n
        )

    judge(query, [WAIT], repeat=150, seed=3, ask=ask)


def test_a_vector_of_means() -> None:
    query = Mean(column=["x", "y"], low=-5, high=5, mechanism="duchi:eps0=4")
    x = np.full(20_000, 2.0)
    answer = query.answer(query.randomizer.privatize_counts(query.encode([x, -x]), rng=np.random.default_rng(0)))
    assert answer.labels == ["x", "y"] and np.all(np.abs(answer.value - [2.0, -2.0]) < 5 * answer.stderr)
    assert query.exact([x, -x]).value.tolist() == [2.0, -2.0]


def test_missing_numbers_count_as_declared() -> None:
    query = Mean(column="x", low=0, high=10, missing=3, mechanism="laplace:eps0=1")
    assert query.exact([[None, "text", 50, -1]]).value.tolist() == [4.0]
    open_ = Mean(column="x", low=0, high=10, mechanism="laplace:eps0=1")
    assert open_.missing is None and open_.exact([[None]]).value.tolist() == [5.0], "a client sends the middle"


# -- ranges -----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_errors_of_ranges_are_large_enough_where_noise_is_low() -> None:
    """Then most of the error is which users are on which level; levels share the same users among them."""
    data, rng = np.random.default_rng(5).random(3000) * 64.0, np.random.default_rng(6)
    query = RangeQuery(column="wait", low=0, high=64, bins=64, mechanism="grr:eps0=12")
    truth = query.exact([data])
    found = [query.answer(query.randomizer.privatize_counts(query.encode([data]), rng=rng)) for _ in range(300)]
    for ends in ((1, 64), (0, 63)):
        some = [answer.range(*ends) for answer in found]
        error = np.array([each.value[0] for each in some]) - truth.range(*ends).value[0]
        stated = np.mean([each.stderr[0] ** 2 for each in some])
        assert 0.8 < np.mean(error**2) / stated < 1.0 + 4.0 * np.sqrt(2.0 / 300) * 0.5


@pytest.mark.heavy
def test_every_range_is_exact_without_noise() -> None:
    for bins, branching in ((30, 2), (31, 3), (7, 10)):
        query = RangeQuery(column="wait", low=0, high=bins, bins=bins, branching=branching, mechanism="grr:eps0=1")
        answer = query.exact([WAIT])
        where, fitted = query.domain.bins(WAIT, bins), answer.fitted()
        assert fitted.cdf().value == pytest.approx(answer.cdf().value, abs=1e-9)
        for a in range(bins):
            for b in range(a + 1, bins + 1):
                truth = np.mean((where >= a) & (where < b))
                assert answer.range(a, b).value[0] == pytest.approx(truth, abs=1e-12)


def test_the_fit_lowers_the_error() -> None:
    query = RangeQuery(column="wait", low=0, high=64, bins=64, mechanism="grr:eps0=2")
    tally = query.randomizer.privatize_counts(query.encode([WAIT]), rng=np.random.default_rng(5))
    raw = query.answer(tally)
    fitted = raw.fitted()
    assert fitted.value.sum() == pytest.approx(1.0)
    before, after = raw.cdf().stderr[:-1], fitted.cdf().stderr[:-1]
    assert np.mean(after**2) < 0.6 * np.mean(before**2)


@pytest.mark.slow_cases("10000-64")
@pytest.mark.parametrize("d", [64, 2048])
@pytest.mark.parametrize("n", [10**4, 10**5])
def test_the_paper_s_range_query_has_the_guarantee_of_figure_5(d: int, n: int) -> None:
    """A plan states no more than the sound curve of figure 5 and no less than the eps of a concrete dataset."""
    for eps0 in (0.5, 2.0, 5.0):
        drawn = panels.levels_panel({"n": n, "d": d, "delta": 0.01 / n, "x": [eps0]})
        query = RangeQuery(column="wait", low=0, high=d, bins=d, mechanism=f"grr:eps0={eps0}")
        stated = sdp.Plan(query=query, users=n, delta=0.01 / n).guarantee.epsilon
        assert drawn["dataset"]["epsilon"][0] <= stated <= drawn["blanket"]["epsilon"][0] * (1.0 + 2e-4)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_quantiles_are_covered(share: float) -> None:
    query = RangeQuery(column="wait", low=0, high=64, bins=64, branching=4, mechanism="grr:eps0=4", unit="min")
    rng, inputs = np.random.default_rng(11), query.encode([WAIT])
    truth = float(np.quantile(query.domain.clipped(WAIT), share))
    hits = 0
    for _ in range(60):
        found = query.answer(query.randomizer.privatize_counts(inputs, rng=rng)).quantile(share)
        assert found.low <= found.value <= found.high
        hits += found.low <= truth <= found.high
    assert hits >= 54


@pytest.mark.heavy
@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("fitted", [False, True])
def test_a_quantile_in_the_tail_is_covered_however_many_bins_lie_beyond_it(fitted: bool) -> None:
    """Under much noise one of many bins in the tail is far off by chance; it must not exclude the others."""
    wait = np.random.default_rng(3).exponential(8.0, size=20_000)
    query = RangeQuery(column="wait", low=0, high=64, bins=64, mechanism="grr:eps0=1")
    rng, inputs = np.random.default_rng(1), query.encode([wait])
    truth, repeat, hits = float(np.quantile(wait, 0.99)), 80, 0
    for _ in range(repeat):
        answer = query.answer(query.randomizer.privatize_counts(inputs, rng=rng))
        found = (answer.fitted() if fitted else answer).quantile(0.99)
        hits += found.low <= truth <= found.high
    assert hits >= repeat * 0.95 - 2.5 * np.sqrt(repeat * 0.95 * 0.05)


def test_a_range_must_end_where_bins_do() -> None:
    answer = RANGES[0].exact([WAIT])
    with pytest.raises(ParameterError, match=r"low must be the end of a bin, got 0\.5 between 0 and 1"):
        answer.range(0.5, 3)
    with pytest.raises(ParameterError, match="high must be above low"):
        answer.range(5, 5)
    with pytest.raises(ParameterError, match="high must lie in"):
        answer.range(0, 61)
    with pytest.raises(ParameterError, match="share must lie in"):
        answer.quantile(1.0)


def test_weights_of_levels_sum_to_one_and_differ() -> None:
    shares = RANGES[1].tree.shares
    assert shares is not None and sum(shares) == 1 and len(set(shares)) > 1


# -- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [*HISTOGRAMS, *MEANS, *RANGES], ids=lambda q: q.randomizer.spec)
def test_a_plan_file_holds_the_query(query: Query) -> None:
    again = query_from(json.loads(json.dumps(query.to_dict())))
    assert again == query and again.randomizer == query.randomizer and again.question == query.question


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: Histogram(column="x", labels=["a"], mechanism="general:eps0=1"),
            "mechanism must be one that can be run",
        ),
        (lambda: Histogram(column="x", labels=["a"], mechanism="grr:eps0=1,d=9"), "must have d = 2"),
        (lambda: Histogram(column="x", labels=["a"], mechanism=3), "mechanism must be one that can be run"),
        *(
            (lambda spec=spec: Histogram(column="x", labels=["a", "b"], mechanism=spec), "must be one that counts 3 op")
            for spec in ("laplace:eps0=4", "metric-laplace:d01=1,dmax=2.5", "levels:eps0=1")
        ),
        (lambda: Histogram(column="x", labels=["a"], mechanism=sdp.FiniteRandomizer(np.eye(3))), "counts 2 options"),
        (lambda: Mean(column="x", low=0, high=1, mechanism="grr:eps0=1,d=4"), "mechanism must be for numbers"),
        (lambda: Mean(column=["x", "y"], low=0, high=1, mechanism="laplace:eps0=1"), "mechanism must be for vectors"),
        (lambda: Mean(column=[], low=0, high=1, mechanism="laplace:eps0=1"), "column must be a name"),
        (lambda: RangeQuery(column="x", low=0, high=1, bins=1, mechanism="grr:eps0=1"), "bins must lie in"),
        (lambda: RangeQuery(column="x", low=0, high=1, bins=4, mechanism="laplace:eps0=1"), "must be a frequency mech"),
        (lambda: RangeQuery(column="x", low=0, high=1, bins=4, mechanism="grr:eps0=1", weights="best"), "weights"),
        (lambda: query_from({"kind": "hologram"}), "kind of query must be one of"),
        (lambda: query_from([]), "query must be a mapping"),
        (lambda: query_from({"kind": "histogram", "column": "x"}), "query must have all fields"),
        (lambda: query_from({"kind": "histogram", "colunm": "x"}), "unknown key in query"),
        (lambda: query_from({"kind": "histogram", "column": "x", "labels": ["a"], "mechanism": 5}), "must be a spec"),
        (
            lambda: query_from({"kind": "histogram", "column": "x", "labels": ["a"], "mechanism": "os.path:join:x=1"}),
            "a spec in a file must name a mechanism that is registered",
        ),
    ],
)
def test_bad_declarations(make: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()
