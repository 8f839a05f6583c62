"""Batches without any message, which mechanisms with a random number of messages per user can have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import good
from shuffledp.engines.report_files import read_reports, write_reports
from shuffledp.protocol.batch import Batch, Header
from shuffledp.protocol.messages import message_length

Q = sdp.queries
QUERIES = [
    Q.Mean(column="x", low=0, high=10, mechanism="poisson-sum:units=2,poisson=3"),
    Q.Histogram(column="x", labels=["a", "b"], mechanism="poisson-histogram:indices=1,poisson_per_index=3"),
    Q.Histogram(column="x", labels=["a", "b"], mechanism="augmented:keep=0.5,dummies=geometric,mean=3"),
]


def empty_batch(plan: sdp.Plan, users: int = 5) -> Batch:
    codec = plan.query.randomizer.codec
    header = Header(plan.digest, users, 0, message_length(codec), None)
    return Batch(header, np.zeros((0, *codec.shape), dtype=codec.dtype))


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.name)
def test_the_estimate_of_no_messages(query: Any) -> None:
    m = query.randomizer
    none = np.zeros(0, dtype=m.codec.dtype)
    found, zeros = m.estimate(none, users=5), m._tally(none)
    assert np.array_equal(found.value, m._infer(zeros, 5).value) and found.n == 5
    low, high = found.interval(0.95)
    assert np.all(low < high)
    reports = replace(m.privatize([0] * 5, rng=np.random.default_rng(0)), data=none)
    assert np.array_equal(m.estimate(reports.shuffled()).value, found.value)
    assert np.array_equal(m.estimate([], users=5).value, found.value)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.name)
@pytest.mark.parametrize("suffix", ["batch", "parquet"])
def test_a_batch_without_messages_is_written_read_shuffled_and_counted(query: Any, suffix: str, tmp_path: Path) -> None:
    plan = sdp.Plan(query=query, users=5, delta=1e-6)
    batch, path, state = empty_batch(plan), tmp_path / f"none.{suffix}", tmp_path / "state.json"
    write_reports(path, batch.header, [])
    collector = sdp.Collector(plan)
    assert collector.ingest(read_reports(path, plan)) is True
    wanted = query.randomizer.estimate(batch.data, users=5).value
    inner = query.answer(query.randomizer.tally(batch.data, users=5)).value
    assert len(wanted) == len(inner) and np.array_equal(collector.estimate().value, inner)
    collector.save(state)
    assert np.array_equal(sdp.Collector.load(state, plan).estimate().value, inner)
    plan.save(tmp_path / "plan.json")
    said = json.loads(good("estimate", tmp_path / "plan.json", path, "--json"))
    assert [item["value"] if isinstance(item, dict) else item for item in said["value"]] == inner.tolist()
    if query.randomizer.name == "augmented":
        return  # its batches are not merged
    shuffler = sdp.Shuffler(plan)
    shuffler.add_batch(batch)
    merged = shuffler.batch()
    assert (merged.header.users, merged.header.messages, len(merged.data)) == (5, 0, 0)
    out = tmp_path / f"shuffled.{suffix}"
    good("shuffle", tmp_path / "plan.json", path, "-o", out)
    assert read_reports(out, plan).header.users == 5


@pytest.mark.parametrize("query", QUERIES[:2], ids=lambda q: q.randomizer.name)
def test_reports_without_messages_frames_and_counts(query: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    plan = sdp.Plan(query=query, users=5, delta=1e-6)
    shuffler = sdp.Shuffler(plan)
    for _ in range(5):
        shuffler.add([])
    found = sdp.Collector(plan)
    assert found.ingest(shuffler.batch()) is True
    frame = pa.table({"message": pa.array([], pa.binary(1))})
    framed, counted = sdp.Collector(plan), sdp.Collector(plan)
    assert framed.ingest_frame(frame, batch="a" * 32, users=5) is True
    assert counted.ingest_counts("b" * 32, 5, []) is True
    for one in (framed, counted):
        assert np.array_equal(one.estimate().value, found.estimate().value)


def test_where_every_user_sends_a_message_there_must_be_some() -> None:
    grr = sdp.Plan(query=Q.Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=2"), users=5, delta=1e-6)
    with pytest.raises(sdp.ParameterError, match="a batch of 5 users must hold 5 messages, got 0"):
        sdp.Collector(grr).ingest(empty_batch(grr))
    with pytest.raises(sdp.ParameterError, match="reports must hold at least one report, got none"):
        grr.query.randomizer.estimate([])
    summed = sdp.Plan(query=QUERIES[0], users=5, delta=1e-6)
    with pytest.raises(sdp.ParameterError, match="a batch must be of at least one user, got none"):
        sdp.Collector(summed).ingest(empty_batch(summed, users=0))
