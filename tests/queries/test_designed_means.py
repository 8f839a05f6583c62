"""Means by the mechanisms that were made for the shuffle model, from a plan file to the answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp


@pytest.mark.parametrize(
    "spec",
    [
        "window:eps0=4,d=4",
        "binomial:flips=4,stretch=1.169,shape=0.3294,noise=0.2834,inputs=17",
        "levels:eps0=4,d=5",
        "piecewise:eps0=4",
        "poisson-sum:units=8,poisson=2",
    ],
)
def test_from_a_plan_file_to_the_answer(spec: str, tmp_path: Path) -> None:
    query = sdp.queries.Mean(column="wait", low=0, high=60, unit="min", mechanism=spec)
    path = tmp_path / "plan.json"
    sdp.Plan(query=query, users=400, delta=1e-6).save(path)
    plan = sdp.Plan.load(path)
    assert plan.query.randomizer.spec == query.randomizer.spec
    assert 0.0 < plan.epsilon <= plan.query.randomizer.local_epsilon
    client, shuffler = sdp.Client(path), sdp.Shuffler(plan)
    waits = np.random.default_rng(1).uniform(0.0, 24.0, 400)
    for wait in waits:
        shuffler.add(client.report(wait))
    collector = sdp.Collector(plan)
    collector.ingest(shuffler.batch())
    found = collector.estimate()
    assert abs(found.value[0] - waits.mean()) < 5.0 * found.stderr[0] < 60.0
    assert found.stderr[0] == pytest.approx(30.0 * np.sqrt(query.randomizer.variance(400)), rel=0.1)


@pytest.mark.heavy
def test_several_columns_by_one_coordinate_each(tmp_path: Path) -> None:
    query = sdp.queries.Mean(column=("wait", "ride"), low=0, high=60, unit="min", mechanism="window-vector:eps0=4")
    assert query.randomizer.spec == "window-vector:eps0=4,dim=2,d=3,cells=32"
    path = tmp_path / "plan.json"
    sdp.Plan(query=query, users=600, delta=1e-6).save(path)
    plan = sdp.Plan.load(path)
    assert plan.epsilon == pytest.approx(sdp.amplify("grr:eps0=4,d=3", n=600, delta=1e-6).epsilon, rel=1e-4)
    client, shuffler, collector = sdp.Client(path), sdp.Shuffler(plan), sdp.Collector(plan)
    rows = np.random.default_rng(1).uniform([0.0, 30.0], [24.0, 40.0], (600, 2))
    for row in rows:
        shuffler.add(client.report({"wait": row[0], "ride": row[1]}))
    collector.ingest(shuffler.batch())
    found = collector.estimate()
    assert found.labels == ["wait", "ride"] and np.all(found.stderr < 2.5)
    assert np.all(abs(found.value - rows.mean(axis=0)) < 5.0 * found.stderr)
    with pytest.raises(sdp.ParameterError, match="choose window-vector, duchi or harmony"):
        sdp.queries.Mean(column=("a", "b"), low=0, high=1, mechanism="window:eps0=1")


@pytest.mark.heavy
def test_what_is_recommended_can_be_run() -> None:
    found = sdp.recommend("mean", n=10_000, epsilon=0.5, delta=1e-8, low=0, high=60, messages=1)
    plan = found.plan(column="wait")
    assert found.best.mechanism == "window" and plan.query.randomizer == found.mechanism_of()
    assert len(sdp.Client(plan).report(17.0)[0]) == found.best.bits / 8


def test_a_mechanism_for_something_else_is_told_of_them() -> None:
    with pytest.raises(sdp.ParameterError, match="choose window, binomial, poisson-sum, laplace or gaussian"):
        sdp.queries.Mean(column="x", low=0, high=1, mechanism="grr:eps0=1,d=4")
