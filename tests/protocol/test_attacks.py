"""What an attacker, or a mistake, can do to a plan, a report, a batch and the file of a collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.errors import ParameterError
from shuffledp.protocol.batch import Batch, Header

Histogram = sdp.queries.Histogram


def plan_with(mechanism: Any = "grr:eps0=2", users: int = 100, **more: Any) -> sdp.Plan:
    query = Histogram(column="fruit", labels=["apple", "pear"], mechanism=mechanism)
    return sdp.Plan(query=query, users=users, delta=1e-6, **more)


def batch_of(plan: sdp.Plan, users: int, **more: Any) -> Batch:
    shuffler, client = sdp.Shuffler(plan, **more), sdp.Client(plan)
    for _ in range(users):
        shuffler.add(client.report("pear"))
    return shuffler.batch(early=True)


# -- the shuffler -----------------------------------------------------------------------------------------------------


def test_a_batch_is_merged_once(tmp_path: Path) -> None:
    plan = plan_with()
    one, two = batch_of(plan, 60), batch_of(plan, 60)
    one.write(tmp_path / "copy.batch", plan.query.randomizer.codec)
    shuffler = sdp.Shuffler(plan)
    shuffler.add_batch(one)
    with pytest.raises(ParameterError, match="a batch must be merged once"):
        shuffler.add_batch(Batch.read(tmp_path / "copy.batch", plan))
    assert shuffler.users == 60 and not shuffler.ready
    shuffler.add_batch(two)
    assert shuffler.batch().header.users == 120
    with pytest.raises(ParameterError, match="batch must be of this plan"):
        sdp.Shuffler(plan_with(users=99)).add_batch(one)


def test_a_batch_that_says_more_users_than_it_has_is_not_merged() -> None:
    plan = plan_with()
    header = Header(plan.digest, 100, 60, 1, True)
    with pytest.raises(ParameterError, match="a batch of 100 users must hold 100 messages, got 60"):
        sdp.Shuffler(plan).add_batch(Batch(header, np.zeros(60, dtype=np.uint8)))


@pytest.mark.parametrize(
    ("mechanism", "rows", "good", "bad"),
    [
        ("grr:eps0=2", 1, [1], [0, 2]),
        ("grr:eps0=2", 2, [2], [1, 3]),
        ("pure-dump:messages=3", 1, [4], [0, 1, 3, 5]),
        ("pure-dump:messages=3", 2, [8], [4, 7, 9]),
        ("pure-dump:messages=2.5", 1, [3, 4], [1, 2, 5]),
        ("pure-dump:poisson=2", 1, [1, 2, 9], [0]),
    ],
)
def test_a_report_has_as_many_messages_as_the_plan_says(
    mechanism: str, rows: int, good: list[int], bad: list[int]
) -> None:
    shuffler = sdp.Shuffler(plan_with(mechanism, reports_per_user=rows))
    for number in bad:
        with pytest.raises(ParameterError, match="a report of this plan must have"):
            shuffler.add([b"\x00"] * number)
    for number in good:
        shuffler.add([b"\x00"] * number)
    assert shuffler.users == len(good)


@pytest.mark.parametrize(
    "mechanism",
    [
        "grr:eps0=2",
        "unary:eps0=2",
        "subset:eps0=1",
        "local-hash:eps0=2",
        "pure-dump:messages=3",
        "pure-dump:messages=0.5",
        "pure-dump:poisson=1",
        "mix-dump:flip=0.3,messages=2",
        "cheu-zhilyaev:flip=0.25,messages=2",
        "balls-into-bins:special=1,messages=2",
    ],
)
def test_what_clients_send_is_accepted(mechanism: str) -> None:
    plan = plan_with(mechanism, users=40)
    batch = batch_of(plan, 40)
    collector = sdp.Collector(plan)
    assert collector.ingest(batch) and collector.users == 40


def test_one_hostile_report_does_not_spoil_the_batch() -> None:
    plan = plan_with(users=3)
    shuffler, client = sdp.Shuffler(plan), sdp.Client(plan)
    for value in ("apple", None, "pear"):
        shuffler.add(client.report(value))
        with pytest.raises(ParameterError, match="a message must be one that grr:eps0=2,d=3 can send"):
            shuffler.add([b"\xff"])
    collector = sdp.Collector(plan)
    assert collector.ingest(shuffler.batch()) and collector.users == 3


def test_a_hostile_number_does_not_take_the_memory() -> None:
    query = Histogram(column="x", labels=list(range(70_000)), mechanism="grr:eps0=2")
    shuffler = sdp.Shuffler(sdp.Plan(query=query, users=10, delta=1e-6))
    with pytest.raises(ParameterError, match="a message must be one that"):
        shuffler.add([b"\xff" * 4])


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["finite:{}", "exponential-metric:eps=1,{}", "joint:{}", "parallel:{}", "Finite:{}"])
def test_a_plan_file_names_no_other_file(spec: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0\n")
    data = plan_with().to_dict()
    data["query"]["mechanism"] = spec.format(secret)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    for read in (sdp.Plan.load, sdp.Client):
        with pytest.raises(ParameterError, match="mechanism of a plan must be one whose spec says all of it") as caught:
            read(path)
        assert "root" not in str(caught.value)


def test_a_law_that_the_digest_would_not_cover_is_refused(tmp_path: Path) -> None:
    rows = np.full((3, 3), 0.25) + np.eye(3) * 0.25
    np.savetxt(tmp_path / "m.csv", rows, delimiter=",")
    for mechanism in (sdp.FiniteRandomizer(rows), f"finite:{tmp_path / 'm.csv'}"):
        with pytest.raises(ParameterError, match="mechanism of a plan must be one whose spec says all of it"):
            plan_with(mechanism)
