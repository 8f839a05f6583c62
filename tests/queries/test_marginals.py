"""Marginals: every cell unbiased, overlapping ones made to agree by least squares, any input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.calibrated import answers, calibrated, repeats, round_trip
from shuffledp.estimation.marginal_fit import fit
from shuffledp.estimation.moments import Moments
from shuffledp.queries import Marginals

LABELS = {"sex": ["F", "M"], "age": [20, 30, 40], "smokes": [True, False]}


def people(mechanism: str = "grr:eps0=2", **changed: Any) -> Marginals:
    return Marginals(**{"labels": LABELS, "mechanism": mechanism, "other": "?", **changed})


def rows(n: int = 1500) -> list[Any]:
    """Three columns that depend on each other; a few values are outside the domain."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M", "x"], size=n, p=[0.5, 0.45, 0.05])
    age = np.where(sex == "F", rng.choice([20, 30], size=n), rng.choice([20, 40, 99], size=n))
    smokes = [bool(x) if y < 0.9 else None for x, y in zip(rng.random(n) < age / 60, rng.random(n), strict=True)]
    return [sex.tolist(), age, smokes]


@pytest.mark.heavy
@pytest.mark.slow_cases("optimized-unary*")
@pytest.mark.slow_cases("optimized-unary:eps0=1-200")
@repeats
@pytest.mark.parametrize("mechanism", ["grr:eps0=2", "optimized-unary:eps0=1"])
def test_unbiased_with_the_right_errors(mechanism: str, repeats: int) -> None:
    query, values = people(mechanism), rows()
    truth: Any = query.exact(values)
    cell = truth.marginal("sex", "age")
    assert cell.value[cell.labels.index("sex=F, age=20")] == np.mean(
        [a == "F" and b == 20 for a, b in zip(*values[:2], strict=True)]
    )
    assert truth.marginal("age", "sex") is cell and sum(cell.value) == pytest.approx(1.0)
    found = answers(query, values, repeats, seed=1)
    calibrated(found, truth.value)
    # the fit is unbiased too, and its errors are smaller and as stated
    fitted = [e.fitted() for e in found]  # type: ignore[attr-defined]
    off, before = (np.array([e.value for e in some]) - truth.value for some in (fitted, found))
    assert np.all(np.abs(off.mean(axis=0)) <= 4.5 * off.std(axis=0, ddof=1) / np.sqrt(repeats))
    assert np.mean(off**2) < 0.95 * np.mean(before**2)
    assert np.sqrt(np.mean(off**2)) == pytest.approx(np.sqrt(np.mean([e.stderr**2 for e in fitted])), rel=0.09)


def test_after_the_fit_marginals_agree() -> None:
    query, values = people(), rows(20_000)
    answer: Any = answers(query, values, 1, seed=2)[0].fitted()  # type: ignore[attr-defined]
    tables = {some: answer.marginal(*some).value.reshape(len(answer.options[some[0]]), -1) for some in answer.asked}
    assert tables["sex", "age"].sum(axis=1) == pytest.approx(tables["sex", "smokes"].sum(axis=1))
    assert tables["sex", "age"].sum(axis=0) == pytest.approx(tables["age", "smokes"].sum(axis=1))
    alone = answer.marginal("age")
    assert alone.value == pytest.approx(tables["sex", "age"].sum(axis=0)) and alone.labels[0] == "age=20"
    truth = np.bincount(query.domains["age"].places(values[1]), minlength=4) / 20_000
    assert np.all(np.abs(alone.value - truth) <= 4.5 * alone.stderr)
    low, high = answer.interval()
    assert np.all(low < high)


def test_the_fit_is_that_of_least_squares() -> None:
    """Against the pseudo-inverse over all joint tables (which all locally consistent marginals of a path are)."""
    rng = np.random.default_rng(0)
    sizes, subsets = {"a": 2, "b": 3, "c": 2}, [("a", "b"), ("c", "b"), ("b",)]
    tables = [rng.random([sizes[x] for x in some]) for some in subsets]
    tables = [table / table.sum() for table in tables]
    variances = [1.0, 0.3, 2.0]
    cells = list(itertools.product(*(range(d) for d in sizes.values())))
    maps, wanted = [], []
    for some, table, variance in zip(subsets, tables, variances, strict=True):
        for index in np.ndindex(table.shape):
            row = [all(cell["abc".index(x)] == i for x, i in zip(some, index, strict=True)) for cell in cells]
            maps.append(np.array(row, dtype=float) / np.sqrt(variance))
            wanted.append(table[index] / np.sqrt(variance))
    maps.append(1e6 * np.ones(len(cells)))
    wanted.append(1e6)
    joint = (np.linalg.pinv(np.array(maps)) @ np.array(wanted)).reshape(2, 3, 2)
    found = fit(subsets, tables, variances)
    assert found.table(("a", "b")) == pytest.approx(joint.sum(axis=2), abs=1e-6)
    assert found.table(("c", "b")) == pytest.approx(joint.sum(axis=0).T, abs=1e-6)
    # and its variance at some shares, by the covariance of the cells of randomized response
    inverse, shares = np.linalg.pinv(np.array(maps)), rng.dirichlet(np.ones(12))
    keep, reports = 0.5, [100, 200, 300]
    strays = [(1 - keep) / (table.size - 1) for table in tables]
    parts = [Moments.of_support(n, keep, b, (0.0, 0.0)) for n, b in zip(reports, strays, strict=True)]
    named = found.variance(("a", "b"), shares.reshape(2, 3, 2).sum(axis=2), parts)[0]
    own = np.array([cell[0] == 1 and cell[1] == 2 for cell in cells], dtype=float)
    weights, first, wanted = own @ inverse, 0, 0.0
    for table, variance, n, b in zip(tables, variances, reports, strays, strict=True):
        some = slice(first, first + table.size)
        law = b + (keep - b) * (np.array(maps[some]) * np.sqrt(variance) @ shares)
        each = weights[some] / np.sqrt(variance) / (keep - b)
        wanted += (law @ each**2 - (law @ each) ** 2) / n
        first += table.size
    at = named.at(shares.reshape(2, 3, 2).sum(axis=2))
    assert at[1, 2] == pytest.approx(wanted, rel=1e-4)  # type: ignore[index]


def test_every_row_gives_an_input_and_one_marginal_needs_no_draw() -> None:
    query = people()
    values = query.encode([[None, "F", 3, []], np.array([20.0, np.nan, 31, 40]), [True, 1, "True", None]])
    assert [cell.tolist() for cell in values] == [[8, 3, 11, 10], [6, 2, 8, 8], [0, 11, 11, 8]]
    query.randomizer.privatize(values)
    client = sdp.Client(sdp.Plan(query=query, users=1000, delta=1e-6))
    reports = [client.report(row) for row in (None, ["F", 20, True], {"age": 7}, {})]
    assert len({tuple(map(len, report)) for report in reports}) == 1
    one = people(subsets=[["age", "sex"]])
    assert one.randomizer.spec == "grr:eps0=2,d=12"
    assert people(ways=3).randomizer.spec == "grr:eps0=2,d=36"
    answer: Any = answers(one, rows(), 1, seed=0)[0]
    assert answer.marginal("age", "sex").labels[0] == "age=20, sex=F"


@pytest.mark.parametrize("changed", [{}, {"ways": 1}, {"subsets": [["age", "sex"], ["smokes"]]}], ids=str)
def test_the_plan_file(changed: dict[str, Any]) -> None:
    round_trip(people(**changed))


def test_what_is_refused() -> None:
    for changed, words in (
        ({"labels": ["a"]}, "labels must map"),
        ({"ways": 4}, "ways must"),
        ({"subsets": [["height"]]}, "subsets must list"),
        ({"subsets": [["age", "sex"], ["sex", "age"]]}, "subsets must list"),
        ({"subsets": "age"}, "subsets must list"),
        ({"subsets": [[["age"]]]}, "subsets must list"),
        ({"mechanism": "laplace:eps0=1"}, "frequency mechanism"),
        ({"mechanism": "privset:eps0=1,s=1"}, "frequency mechanism"),
        ({"labels": {f"c{i}": ["a", "b"] for i in range(50)}}, "at most 1,000"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            people(**changed)
    answer: Any = answers(people(), rows(), 1, seed=0)[0]
    for columns, words in ((("age",), "ask fitted"), (("height",), "columns must be those"), ((), "columns must be")):
        with pytest.raises(sdp.ParameterError, match=words):
            answer.marginal(*columns)


@pytest.mark.heavy
def test_the_figure() -> None:
    answer: Any = answers(people(), rows(), 1, seed=0)[0]
    shown = [axes for axes in answer.plot().axes if axes.get_visible()]
    assert len(shown) == 3 and shown[0].get_xlabel() == "age" and shown[0].get_ylabel() == "sex"
    assert "agree" in answer.fitted().plot()._suptitle.get_text().replace("\n", " ")
    assert len(answer.plot(truth=people().exact(rows())).axes) == 1
