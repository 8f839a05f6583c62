"""Predicted errors in people's units beside simulated ones, shapes of numbers, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.planning.range_tasks import QuantileTask
from shuffledp.planning.shapes import in_bins, quantile_errors, shape_of
from shuffledp.planning.strings_task import StringsTask

from .simulated import errors, rmse

N = 100_000
#: As a user would ask: every task, with the unit that people read.
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("histogram", {"d": 16}),
    ("sum of bits", {}),
    ("sets", {"d": 16, "size": 3}),
    ("key-value", {"d": 16, "size": 2}),
    ("location", {"d": 16}),
    ("mean", {"low": 0, "high": 1, "unit": "min"}),
    ("vector mean", {"dim": 4, "unit": "m"}),
    ("range", {"d": 16}),
    ("quantile", {"d": 16}),
]


def asked(task: str, **given: Any) -> sdp.Recommendation:
    return sdp.recommend(task, n=N, epsilon=0.5, delta=1e-8, messages=1, **given)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "given"), ASKED, ids=lambda x: str(x))
def test_errors_that_people_read(task: str, given: dict[str, Any]) -> None:
    found = asked(task, **given)
    if task == "quantile":  # of the distribution function; the quantiles themselves are below
        expected = found.question.in_units(found.best.typical_error, N)
    else:
        (one,) = found.predicted()
        typical = found.question.in_units(found.best.typical_error, N)
        expected = one.error if found.best.error == pytest.approx(found.best.typical_error) else typical
        assert one.error >= 0.999 * typical and one.unit == given.get("unit", "users")
    entries = 2 if task in ("range", "quantile") else errors(found, found.best, repeats=1, seed=9).size
    simulated = found.question.in_units(rmse(found, found.best, repeats=max(20, 600 // entries), seed=5), N)
    assert simulated == pytest.approx(expected, rel=0.10)


def spread(shape: Any, high: float, rng: np.random.Generator, bins: int = 4096) -> Any:
    """Numbers of the reference shape."""
    below = np.concatenate([[0.0], np.cumsum(in_bins(shape, bins))])
    return np.interp((np.arange(N) + rng.uniform(size=N)) / N, below, np.linspace(0.0, high, bins + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "shape", "missing"),
    [
        ("grr", None, 0),
        ("grr", (1.0, 4.0, 2.0, 0.5, 0.5, 0.2), "option"),
        ("local-hash", (1.0, 4.0, 2.0, 0.5, 0.5, 0.2), 0),
        ("unary (branching 4)", None, 0),
        ("unary (branching 4)", (1.0, 4.0, 2.0, 0.5, 0.5, 0.2), "option"),
        ("grr", (1.0, 1.0), 0),
        ("grr", (1.0, 1.0, 8.0, 1.0, 1.0, 1.0), 0),
        ("grr", (2.0, 5.0, 0.5, 0.1, 0.5, 5.0, 2.0, 0.2), 0),
    ],
)
def test_quantiles_in_their_unit(which: str, shape: Any, missing: Any) -> None:
    found = asked("quantile", d=48, high=24.0, unit="s", shape=shape, missing=missing)
    rng, names = np.random.default_rng(3), [choice.name for choice in found.choices]
    choice = found.choice(which if which in names else names[-1])
    query = found.plan(choice).query
    numbers = spread(found.question.reference, 24.0, rng)  # type: ignore[attr-defined]
    m, values, rows = query.randomizer, query.encode([numbers]), []
    truth = query.exact([numbers])
    for _ in range(500):
        answer: Any = query.answer(m.privatize_counts(values, rng=rng))
        rows.append([answer.quantile(share).value - truth.quantile(share).value for share in (0.5, 0.95, 0.99)])
    simulated = np.sqrt(np.mean(np.square(rows), axis=0))
    predicted = found.predicted(choice)
    assert [one.item for one in predicted] == ["p50", "p95", "p99"] and predicted[0].unit == "s"
    assert simulated == pytest.approx([one.error for one in predicted], rel=0.10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{"d": (4, 3, 5)}, {"d": 4, "columns": 3, "ways": 1}, {"d": (3, 2, 4), "subsets": [[0, 1]]}]
)
def test_marginals(given: dict[str, Any]) -> None:
    found = asked("marginals", **given)
    query = found.plan().query
    sizes = found.question.d  # type: ignore[attr-defined]
    rng = np.random.default_rng(8)
    options = [[*map(str, range(size - 1)), "other"] for size in sizes]
    columns = [np.array(some)[rng.permutation(N) % len(some)].tolist() for some in options]
    m, values, truth = query.randomizer, query.encode(columns), query.exact(columns).value
    squares = [np.mean((query.answer(m.privatize_counts(values, rng=rng)).value - truth) ** 2) for _ in range(120)]
    (one,) = found.predicted()
    assert N * math.sqrt(np.mean(squares)) == pytest.approx(one.error, rel=0.10)


@pytest.mark.slow
def test_heavy_hitters() -> None:
    found = asked("heavy hitters", length=2)
    share, seen = found.predicted()
    assert seen.item == "strings are found from"
    strings = [f"{i:02d}" for i in range(100)]
    column, rng = [strings * (N // 100)], np.random.default_rng(4)
    squares, hits = [], 0
    for _ in range(40):
        query: Any = found.plan().query  # other hash functions every time
        m = query.randomizer
        tally = m.privatize_counts(query.encode(column), rng=rng)
        estimate = m.shares(tally.counts, N, m.levels - 1, [s.encode() for s in strings])
        squares.append(np.mean((estimate.value - 0.01) ** 2))
        hits += len(set(query.answer(tally).labels) & set(strings))
    assert N * math.sqrt(np.mean(squares)) == pytest.approx(share.error, rel=0.10)
    assert seen.error < 0.01 * N and hits >= 0.97 * 40 * 100


@pytest.mark.slow
def test_strings_are_found_from_the_number_that_is_stated() -> None:
    found = asked("heavy hitters", length=2)
    least = math.ceil(found.predicted()[1].error)
    rng, rare = np.random.default_rng(5), [f"r{i}" for i in range(5)]
    common = [f"{i:02d}" for i in range(50)]
    rest = N - 5 * least
    column = [[s for s in rare for _ in range(least)] + [common[i % 50] for i in range(rest)]]
    hits = 0
    for _ in range(30):
        query: Any = found.plan().query
        m = query.randomizer
        hits += len(set(query.answer(m.privatize_counts(query.encode(column), rng=rng)).labels) & set(rare))
    assert hits >= 0.9 * 150


# -- quick: shapes and words ------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_sample_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text("latency\n" + "\n".join(str(x % 16 + 0.25) for x in range(1600)), encoding="utf-8")
    found = asked("quantile", d=16, high=16.0, unit="s", shape=str(path))
    told = str(found.to_dict())
    assert "4.25" not in told and str(path) in told  # its name is told, nothing of what is in it
    even = asked("quantile", d=16, high=16.0, unit="s", shape=[1.0] * 16)
    for ours, other in zip(found.predicted(), even.predicted(), strict=True):
        assert ours.error == pytest.approx(other.error, rel=1e-6)


def test_one_level_and_an_exact_oracle() -> None:
    # two bins: the quantile is piecewise linear in one share, whose variance grr declares
    task = QuantileTask(d=2, quantiles=(0.25,), shape=(0.5, 0.5))
    m: Any = sdp.GRR(eps0=3.0, d=2)
    from shuffledp.mechanisms.composite.tree_levels import TreeLevels

    (found,) = quantile_errors(TreeLevels(m, 2), 2, task.reference, task.quantiles, 10_000)
    # the quantile is 0.25 * 0.5/F at the share F of the lower bin: by the delta method 0.25 sd(F)/0.5
    assert found == pytest.approx(0.5 * math.sqrt(m.variance(10_000, 0.5)), rel=0.08)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"shape": [1.0]}, "shape must be 2 to 100,000 weights"),
        ({"shape": [0.0, 0.0]}, "some of them above 0"),
        ({"shape": [1.0, -1.0]}, "shape must lie in"),
        ({"shape": 3}, "shape must be a list of weights or a file"),
        ({"shape": "/no/such/file"}, "shape must be a readable file"),
        ({"quantiles": []}, "quantiles must be a list of 1 to 100"),
        ({"quantiles": [1.0]}, "quantiles must be a share in (0, 1)"),
        ({"quantiles": "0.5"}, "quantiles must be a list"),
        ({"unit": "x" * 41}, "unit must be a short text"),
        ({"missing": 2.0}, "missing must lie in"),
    ],
)
def test_bad_words(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sdp.ParameterError) as caught:
        asked("quantile", d=16, **given)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["x\n1\ny\n", "only words\n", "", "nan\n"])
def test_samples_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"^shape must be a file with"):
        shape_of(str(path), 0.0, 1.0)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"d": (3, 1)}, "d must lie in"),
        ({"d": 3, "columns": 0}, "columns must"),
        ({"d": (3, 3), "columns": 3}, "d must be the number of options of each of 3 columns, got 2 numbers"),
        ({"d": (3, 3), "ways": 3}, "ways must"),
        ({"d": (3, 3), "subsets": [[0, 2]]}, "subsets must"),
        ({"d": (3, 3), "subsets": [[0, 0]]}, "subsets must be lists of different columns"),
        ({"d": (3, 3), "subsets": [[[0]]]}, "subsets must be lists of different columns"),
        ({"d": (3, 3), "subsets": [0]}, "subsets must be lists of different columns"),
        ({"d": 1000, "columns": 3, "ways": 3}, "marginals must be at most 1,000"),
    ],
)
def test_bad_marginals(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sdp.ParameterError) as caught:
        asked("marginals", **given)
    assert sentence in str(caught.value)


@pytest.mark.heavy
def test_a_limit_on_the_local_budget_is_kept() -> None:
    found = asked("histogram", d=16, local_epsilon=2.0)
    assert all(choice.local_epsilon <= 2.0 for choice in found.choices) and found.best.epsilon < 0.5
    with pytest.raises(sdp.ImpossibleError, match="shuffler fails"):
        asked("histogram", d=16, local_epsilon=1e-30)
    free = sdp.recommend("histogram", n=N, d=16, epsilon=0.5, delta=1e-8, local_epsilon=2.0)
    assert {"pure-dump", "poisson-histogram"} & {
        no.mechanism for no in free.refused if "f the shuffler fails" in no.reason
    }


def test_strings_have_no_labels() -> None:
    with pytest.raises(sdp.ParameterError, match="labels must be left out"):
        StringsTask(length=4).query(sdp.mechanism("prefix-hash:eps0=2,length=4"), None, ["a"])
