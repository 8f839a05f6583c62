"""What an attacker, or a mistake, can do to a plan, a report, a batch and the file of a collector."""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.places import ROOT
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


@pytest.mark.heavy
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


@pytest.mark.heavy
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


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        ("epsilon", lambda x: x * 0.9999, "got eps = "),
        ("delta", lambda x: x / 10, "got delta = 1e-07 where the plan has 1e-06"),
        ("delta", lambda x: "small", "delta of the guarantee must be a number"),
        ("local_epsilon", lambda x: x * (1 - 1e-9), "got local eps = 1.999999998 where the plan gives 2"),
        ("local_epsilon", lambda x: None, "local_epsilon of the guarantee must be a number"),
        ("bound", lambda x: "a bound of my own", "bound of the guarantee must be one that is known"),
        ("bound", lambda x: ["swap"], "bound of the guarantee must be one that is known"),
    ],
)
def test_every_number_of_a_stated_guarantee_is_checked(key: str, change: Any, said: str) -> None:
    data = plan_with(users=1000).to_dict()
    assert sdp.Plan.from_dict(data).epsilon >= plan_with(users=1000).guarantee.epsilon
    data["guarantee"][key] = change(data["guarantee"][key])
    with pytest.raises(ParameterError, match=said):
        sdp.Plan.from_dict(data)


@pytest.mark.parametrize("mechanism", ["grr:eps0=2", "unary:eps0=2", "pure-dump:messages=4"])
def test_a_stated_eps_is_accepted_exactly_if_it_is_proved(mechanism: str) -> None:
    plan = plan_with(mechanism, users=1000)
    usual = plan.guarantee.epsilon
    proved = sdp.amplify(plan.query.randomizer, n=1000, delta=plan.delta, tol=1e-7).epsilon
    assert proved < usual  # within the usual tolerance, of which an earlier version may have used less
    data = plan.to_dict()
    data["guarantee"]["epsilon"] = proved
    again = sdp.Plan.from_dict(data)
    assert again.epsilon == usual and again.to_dict()["guarantee"]["epsilon"] == proved
    data["guarantee"]["epsilon"] = proved * (1.0 - 3e-7)
    with pytest.raises(ParameterError, match="the guarantee must be that of the plan"):
        sdp.Plan.from_dict(data)


@pytest.mark.heavy
def test_a_stated_eps_of_several_reports_is_accepted_exactly_if_it_is_proved() -> None:
    plan = plan_with(users=1000, reports_per_user=2)
    usual, data = plan.guarantee.epsilon, plan.to_dict()
    for eps in usual * (1.0 - np.array([1e-7, 1e-3])):
        data["guarantee"]["epsilon"] = float(eps)
        delta = sdp.profile(plan.query.randomizer, n=1000, epsilon=eps, reports_per_user=2, tol=1e-7)
        with nullcontext() if delta < plan.delta else pytest.raises(ParameterError, match="got eps = "):
            sdp.Plan.from_dict(data)


@pytest.mark.heavy
def test_a_plan_that_was_not_verified_never_shows_less_than_is_true() -> None:
    data = plan_with().to_dict()
    data["guarantee"]["epsilon"] = 0.001
    assert sdp.Plan.from_dict(data, verify=False).epsilon == plan_with().guarantee.epsilon
    data["guarantee"]["epsilon"] = 7
    assert sdp.Plan.from_dict(data).epsilon == 7


def test_an_infinite_guarantee_is_read_again() -> None:
    plan = plan_with("pure-dump:messages=0", users=2)
    again = sdp.Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again.epsilon == plan.epsilon == float("inf")


# -- the collector ----------------------------------------------------------------------------------------------------


def test_more_users_than_planned_are_stated() -> None:
    plan = plan_with(users=30)
    collector = sdp.Collector(plan)
    collector.ingest(batch_of(plan, 30))
    assert "MORE USERS" not in collector.statement()
    collector.ingest(batch_of(plan, 30))
    assert collector.statement().startswith("MORE USERS THAN PLANNED: the batches have 60 users in all, the plan 30")


def test_the_statement_says_what_is_known_of_the_randomness() -> None:
    plan = plan_with(users=3)
    for rng, word in ((np.random.default_rng(0), "NOT FOR RELEASE: a seeded"), (None, "that is up to the clients.")):
        batch = batch_of(plan, 3, rng=rng)
        assert batch.header.for_release is (None if rng is None else False)
        collector = sdp.Collector(plan)
        collector.ingest(batch)
        assert word in collector.statement() and ("NOT FOR" in collector.statement()) == (rng is not None)
    shuffler = sdp.Shuffler(plan)
    shuffler.add_reports(np.zeros(3, dtype=np.uint8), users=3, for_release=True)
    assert shuffler.batch().header.for_release is True


ONE = "0" * 32


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batches": [ONE]}, "batches of a collector file"),
        ({"batches": "none"}, "batches of a collector file"),
        ({"batches": {ONE: "many"}}, "batches of a collector file"),
        ({"batches": {ONE: 0}}, "batches of a collector file"),
        ({"batches": {ONE: -30}}, "batches of a collector file"),
        ({"batches": {}}, "sums of a collector file"),
        ({"batches": {ONE: 30}}, "sums of a collector file"),
        ({"sums": []}, "sums of a collector file"),
        ({"sums": {}}, "sums of a collector file"),
        ({"sums": [{}]}, "sums of a collector file"),
        ({"sums": [{"batches": ONE, "users": 30, "for_release": None, "counts": None}]}, "sums of a collector file"),
        ({"users": "many"}, "users of a collector file"),
        ({"users": 0}, "users of a collector file"),
        ({"users": -5}, "users of a collector file"),
        ({"users": 30.0}, "users of a collector file"),
        ({"counts": None}, "counts must be"),
        ({"counts": {"dtype": "int64", "shape": [2, 2], "entries": [1, 2, 3, 4]}}, "counts of a collector file"),
        ({"counts": {"dtype": "int64", "shape": [2], "entries": [1, 2]}}, "counts of a collector file"),
        ({"counts": {"dtype": "float64", "shape": [3], "entries": [1.5, 2, 3]}}, "counts of a collector file"),
        ({"counts": {"dtype": "object", "shape": [3], "entries": [1, 2, 3]}}, "counts of a collector file"),
        ({"for_release": "yes"}, "for_release of a collector file"),
        ({"for_release": 1}, "for_release of a collector file"),
    ],
)
def test_a_file_with_a_valid_checksum_and_wrong_content(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    plan, path = plan_with(users=30), tmp_path / "state"
    collector = sdp.Collector(plan)
    collector.ingest(batch_of(plan, 30))
    collector.save(path)
    state = json.loads(path.read_text())
    del state["checksum"]
    for key, value in change.items():
        (state if key in state else state["sums"][0])[key] = value
    state["checksum"] = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(state))
    with pytest.raises(ParameterError, match=said):
        sdp.Collector.load(path, plan)


# -- whoever decides whose reports arrive ------------------------------------------------------------------------------


def test_an_answer_gives_away_the_one_report_that_somebody_else_sent() -> None:
    """The crowd of one of docs/shuffler/threat-model.md: an honest collector, and 199 reports of the attacker."""
    query = Histogram(column="fruit", labels=["apple", "pear", "fig"], mechanism="grr:eps0=2")
    collector = sdp.Collector(sdp.Plan(query=query, users=200, delta=1e-6))
    m = query.randomizer
    collector.ingest_counts("0" * 32, 200, m.tally(np.array([0] * 199 + [2], dtype=np.uint8), for_release=True))
    published = collector.estimate()
    counts = 200 * (published.value * (m.keep - m.stray) + m.stray)
    assert counts == pytest.approx([199, 0, 1, 0], abs=1e-9)
    page = (ROOT / "docs/shuffler/threat-model.md").read_text("utf-8")
    assert "| **a malicious shuffler and a published answer**" in page and "199, 0, 1, 0" in page
