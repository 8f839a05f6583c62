"""From the client to the answer: bytes that hold nothing but the message, uniform order, exact counts, and faults."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.errors import ParameterError
from shuffledp.protocol import collector as collecting
from shuffledp.protocol.batch import MAGIC, Batch, Header, as_tally
from shuffledp.protocol.messages import from_bytes, message_length, plain, restored, to_bytes

Histogram, Mean, RangeQuery = sdp.queries.Histogram, sdp.queries.Mean, sdp.queries.RangeQuery


def plan_with(mechanism: str = "grr:eps0=2", users: int = 100, **more: Any) -> sdp.Plan:
    return sdp.Plan(
        query=Histogram(column="fruit", labels=["apple", "pear"], mechanism=mechanism), users=users, delta=1e-6, **more
    )


def batch_of(plan: sdp.Plan, values: list[Any], **more: Any) -> Batch:
    shuffler, client = sdp.Shuffler(plan, **more), sdp.Client(plan)
    for value in values:
        shuffler.add(client.report(value))
    return shuffler.batch(early=True)


QUERIES = [
    Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=2"),
    Histogram(column="x", labels=list(range(300)), mechanism="unary:eps0=2"),
    Histogram(column="x", labels=["a", "b"], mechanism="pure-dump:messages=3"),
    Histogram(column="x", labels=list(range(40)), mechanism="local-hash:eps0=2"),
    Mean(column="x", low=0, high=10, mechanism="laplace:eps0=1"),
    Mean(column=["x", "y"], low=0, high=10, mechanism="duchi:eps0=1"),
    RangeQuery(column="x", low=0, high=10, bins=16, mechanism="grr:eps0=1"),
    RangeQuery(column="x", low=0, high=10, bins=16, mechanism="unary:eps0=1", weights="ranges"),
]


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.spec)
def test_a_plan_is_read_as_it_was_written(query: Any, tmp_path: Path) -> None:
    plan = sdp.Plan(query=query, users=5000, minimum_batch=4000, delta=1e-6, name="Café")
    plan.save(tmp_path / "plan.json")
    again = sdp.Plan.load(tmp_path / "plan.json")
    assert again == plan and again.digest == plan.digest and again.epsilon >= plan.guarantee.epsilon
    assert plan.guarantee.n == 4000 and "4,000" in plan.statement()


@pytest.mark.heavy
def test_any_change_of_a_plan_changes_its_digest() -> None:
    plans = [
        plan_with(),
        plan_with(users=101),
        plan_with("grr:eps0=2.5"),
        plan_with(minimum_batch=50),
        plan_with(name="x"),
        plan_with(reports_per_user=2),
        plan_with(user_column="u"),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)


@pytest.mark.heavy
def test_a_plan_that_claims_too_little_is_refused(tmp_path: Path) -> None:
    plan = plan_with()
    data = plan.to_dict()
    data["guarantee"]["epsilon"] *= 0.9
    with pytest.raises(ParameterError, match="the guarantee must be that of the plan"):
        sdp.Plan.from_dict(data)
    assert sdp.Plan.from_dict(data, verify=False).digest != plan.digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("users"), "plan must have the keys"),
        (lambda d: d.update(version=2), "version of the plan must be 1"),
        (lambda d: d.update(version=True), "version of the plan must be 1"),
        (lambda d: d.update(users=0), "users must be a whole number"),
        (lambda d: d.update(minimum_batch=10**9), "minimum_batch must be at most"),
        (lambda d: d.update(delta=2), "delta must lie in"),
        (lambda d: d.update(name=5), "name must be a short text"),
        (lambda d: d.update(extra=1), "unknown key in plan"),
        (lambda d: d["guarantee"].pop("epsilon"), "guarantee must have the keys"),
        (lambda d: d["guarantee"].update(epsilon="small"), "epsilon of the guarantee must be a number"),
        (lambda d: d["query"].update(kind="os"), "kind of query"),
    ],
)
def test_bad_plans(change: Any, said: str, tmp_path: Path) -> None:
    data = plan_with().to_dict()
    change(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ParameterError, match=said):
        sdp.Plan.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 10_000, '{"version": 1e9999}', "\x00", "NaN"])
def test_hostile_plan_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(ParameterError):
        sdp.Client(path)


def test_a_mechanism_that_needs_to_know_the_others_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be one that a user can run alone"):
        plan_with("pure-dump:total_messages=50")
    with pytest.raises(ParameterError, match="query must be a query"):
        sdp.Plan(query="histogram", users=10, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="plan must be a Plan or the path"):
        sdp.Client(7)  # type: ignore[arg-type]


# -- the client -------------------------------------------------------------------------------------------------------

ODD: list[Any] = [None, "apple", "nothing we know", 3, float("nan"), b"\x00", [], {}, {"x": "a"}, 10**400]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.spec)
def test_every_value_is_reported_at_the_same_length(query: Any) -> None:
    client = sdp.Client(sdp.Plan(query=query, users=1000, delta=1e-6))
    values = [{"x": v, "y": v} for v in ODD] if len(query.columns) > 1 else ODD
    lengths = {tuple(len(message) for message in client.report(value)) for value in values}
    size = message_length(query.randomizer.codec)
    assert len(lengths) == 1 and set(next(iter(lengths))) == {size}


@pytest.mark.heavy
def test_messages_hold_the_law_of_the_mechanism_and_nothing_else() -> None:
    """The bytes are those of the codec: read back, they have the probabilities of the mechanism, chi-square."""
    plan = plan_with("grr:eps0=1")
    client, m = sdp.Client(plan), plan.query.randomizer
    rng = np.random.default_rng(0)
    raw = b"".join(message for _ in range(2000) for message in client.report("pear", rng=rng))
    assert len(raw) == 2000
    counts = np.bincount(from_bytes(m.codec, raw), minlength=3)
    expected = 2000 * m.probabilities()[1]
    assert np.sum((counts - expected) ** 2 / expected) < 18  # 2 degrees of freedom


@pytest.mark.heavy
def test_rows_are_drawn_by_the_client_and_filled_up() -> None:
    plan = plan_with("grr:eps0=20", reports_per_user=2)
    client, codec = sdp.Client(plan), plan.query.randomizer.codec
    rng = np.random.default_rng(1)

    def seen(rows: list[str]) -> Counter[tuple[int, ...]]:
        found: Counter[tuple[int, ...]] = Counter()
        for _ in range(400):
            found[tuple(sorted(from_bytes(codec, b"".join(client.report_rows(rows, rng=rng))).tolist()))] += 1
        return found

    assert set(seen([])) == {(2, 2)} and set(seen(["pear"])) == {(1, 2)}
    three = seen(["apple", "pear", "kiwi"])
    assert set(three) == {(0, 1), (0, 2), (1, 2)} and min(three.values()) > 90
    with pytest.raises(ParameterError, match="rows must be a list"):
        client.report_rows("apple")


def test_a_tuple_must_have_one_entry_per_column() -> None:
    client = sdp.Client(sdp.Plan(query=QUERIES[5], users=1000, delta=1e-6))
    assert client.report((1.0, 2.0)) and client.report(None) and client.report({"x": 1})
    with pytest.raises(ParameterError, match="value must have one entry for each of x, y"):
        client.report((1.0,))


@pytest.mark.heavy
def test_a_client_loads_little(tmp_path: Path) -> None:
    plan_with().save(tmp_path / "plan.json")
    code = (
        "import sys, shuffledp\n"
        f"shuffledp.Client({str(tmp_path / 'plan.json')!r}).report('pear')\n"
        "print(sorted({'scipy', 'click', 'rich', 'flint', 'pyarrow', 'yaml', 'html'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.spec)
def test_bytes_and_back(query: Any) -> None:
    m = query.randomizer
    inputs = query.encode([[0.5, 1, 7, None]] * len(query.columns))
    data = m.privatize(inputs, rng=np.random.default_rng(0)).data
    again = from_bytes(m.codec, to_bytes(m.codec, data).tobytes())
    assert again.dtype == data.dtype and np.array_equal(again, data)
    if message_length(m.codec) > 1:
        with pytest.raises(ParameterError, match="messages must be"):
            from_bytes(m.codec, b"\x00" * (message_length(m.codec) + 1))


# -- the shuffler -----------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("1048576")
@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("memory", [2**20, 1])
def test_the_order_is_uniform(memory: int) -> None:
    """All 24 orders of four messages, chi-square; with memory=1 every message goes through the files."""
    plan = sdp.Plan(query=Histogram(column="x", labels=list("abcd"), mechanism="grr:eps0=1"), users=4, delta=1e-6)
    rng = np.random.default_rng(3)
    seen: Counter[tuple[int, ...]] = Counter()
    repeat = 480 if memory == 1 else 2400
    for _ in range(repeat):
        shuffler = sdp.Shuffler(plan, memory=memory, rng=rng)
        for value in range(4):
            shuffler.add([bytes([value])])
        batch = shuffler.batch()
        seen[tuple(batch.data.tolist())] += 1
        assert batch.header.for_release is False
    counts = np.array([seen[order] for order in permutations(range(4))])
    assert counts.sum() == repeat
    assert np.sum((counts - repeat / 24) ** 2 / (repeat / 24)) < 62  # 23 degrees of freedom, one in 50,000


@pytest.mark.heavy
def test_nothing_is_lost_out_of_core(tmp_path: Path) -> None:
    plan = sdp.Plan(query=Mean(column="x", low=0, high=1, mechanism="laplace:eps0=1"), users=50_000, delta=1e-6)
    m = plan.query.randomizer
    data = m.privatize(np.linspace(0, 1, 50_000), rng=np.random.default_rng(0)).data
    shuffler = sdp.Shuffler(plan, memory=10_000, folder=tmp_path)
    for part in np.split(data, 10):
        shuffler.add_reports(part, users=5000, for_release=False)
    folders = list(tmp_path.iterdir())
    assert len(folders) == 1 and folders[0].stat().st_mode & 0o077 == 0, "temporary files are private"
    header = shuffler.write(tmp_path / "b.batch")
    batch = Batch.read(tmp_path / "b.batch", plan)
    assert header.for_release is False and np.array_equal(np.sort(batch.data), np.sort(data))
    assert [path.name for path in tmp_path.iterdir()] == ["b.batch"], "nothing is left behind"
    assert np.mean(batch.data[:25_000] > 512) == pytest.approx(np.mean(data > 512), abs=0.02)


def test_small_batches_and_bad_messages_are_refused() -> None:
    plan = plan_with(users=10)
    shuffler = sdp.Shuffler(plan)
    with pytest.raises(ParameterError, match="a batch must hold at least one report"):
        shuffler.batch()
    for bad in (b"", b"xx", "x", 7):
        with pytest.raises(ParameterError, match="a message of this plan must be 1 bytes"):
            shuffler.add([bad])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="a report of this plan must have 1 messages, got 0"):
        shuffler.add([])
    shuffler.add([b"\x00"])
    with pytest.raises(ParameterError, match="a batch of this plan must hold 10 users, got 1"):
        shuffler.batch()
    assert shuffler.users == 1 and shuffler.batch(early=True).header.users == 1 and shuffler.users == 0


# -- the batch --------------------------------------------------------------------------------------------------------


def written(tmp_path: Path) -> tuple[sdp.Plan, Path]:
    plan = plan_with(users=50)
    path = tmp_path / "b.batch"
    batch_of(plan, ["pear"] * 50).write(path, plan.query.randomizer.codec)
    return plan, path


def signed(raw: bytes) -> bytes:
    """The same bytes with the checksum that belongs to them."""
    return raw[:-32] + hashlib.sha256(raw[:-32]).digest()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: raw[:-1], "got fewer"),
        (lambda raw: raw + b"\x00", "got more"),
        (lambda raw: raw[: len(MAGIC) + 20], "must start with its header"),
        (lambda raw: b"", "a file that a shuffler wrote"),
        (lambda raw: b"PAR1" + raw, "a file that a shuffler wrote"),
        (lambda raw: raw.replace(b'"users": 50', b'"users": 51'), "got other bytes than its checksum says"),
        (lambda raw: raw[:-40] + bytes([raw[-40] ^ 1]) + raw[-39:], "got other bytes than its checksum says"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "got other bytes than its checksum says"),
        (lambda raw: signed(raw.replace(b'"users": 50', b'"users": 51')), "a batch of 51 users must hold 51 mess"),
        (lambda raw: raw.replace(b'"bytes": 1', b'"bytes": 2'), "messages of this plan have 1 bytes"),
        (lambda raw: raw.replace(b'"messages": 50', b'"messages": 1e9'), "must hold whole numbers"),
        (lambda raw: raw.replace(b'"id"', b'"di"'), "unknown key"),
        (lambda raw: MAGIC + b"{" * 3000 + b"\n", "nested"),
        (lambda raw: MAGIC + b"\xff\xfe\n", "header"),
        (lambda raw: signed(raw[:-82] + b"\x07" * 50 + raw[-32:]), "reports must be what privatize"),
    ],
)
def test_damaged_batches(damage: Any, said: str, tmp_path: Path) -> None:
    plan, path = written(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    collector = sdp.Collector(plan)
    with pytest.raises(ParameterError, match=said):
        collector.ingest(path)
    assert collector.users == 0 and not collector.batches


def test_a_batch_of_another_plan_is_refused(tmp_path: Path) -> None:
    _, path = written(tmp_path)
    other = plan_with(users=51)
    with pytest.raises(ParameterError, match="batch must be of this plan"):
        sdp.Collector(other).ingest(path)
    with pytest.raises(ParameterError, match="batch must be of this plan"):
        sdp.Collector(other).ingest(batch_of(plan_with(users=50), ["pear"] * 50))


def test_reports_carry_no_order_and_no_identity(tmp_path: Path) -> None:
    """Apart from one line about the whole batch and a checksum a file holds the messages alone, in their own bytes."""
    _plan, path = written(tmp_path)
    raw = path.read_bytes()
    assert raw.startswith(MAGIC)
    line, payload = raw[len(MAGIC) :].split(b"\n", 1)
    said = {"plan", "id", "users", "messages", "bytes", "for_release", "made_from"}
    assert set(json.loads(line)) == said
    assert len(payload) == 50 + 32 and set(payload[:50]) <= {0, 1, 2}


# -- the collector ----------------------------------------------------------------------------------------------------


def test_counting_is_associative_and_idempotent(tmp_path: Path) -> None:
    plan = plan_with(users=30)
    batches = [batch_of(plan, ["pear", "apple", None] * 10) for _ in range(3)]
    parts = []
    for batch in batches:
        part = sdp.Collector(plan)
        assert part.ingest(batch) is True and part.ingest(batch) is False
        parts.append(part)
    a, b, c = parts
    left, right = a.merge(b).merge(c), c.merge(b.merge(a))
    whole = sdp.Collector(plan)
    for batch in [*batches, *batches]:
        whole.ingest(batch)
    for one in (left, right, sdp.Collector(plan).merge(whole)):
        assert one.users == 90 and np.array_equal(one.estimate().value, whole.estimate().value)
    with pytest.raises(ParameterError, match="a batch must be counted once"):
        left.merge(a)
    with pytest.raises(ParameterError, match="must be of one plan"):
        a.merge(sdp.Collector(plan_with(users=31)))


def test_release_needs_the_minimum_and_an_override_is_stated() -> None:
    plan = plan_with(users=30)
    collector = sdp.Collector(plan)
    with pytest.raises(ParameterError, match="an estimate needs a batch"):
        collector.estimate()
    collector.ingest(batch_of(plan, ["pear"] * 30))
    assert collector.ready and "RELEASED EARLY" not in collector.statement()
    collector.ingest(batch_of(plan, ["pear"] * 5))
    assert not collector.ready and collector.statement().startswith("RELEASED EARLY: a batch had 5 users")
    with pytest.raises(
        ParameterError, match="every batch must have 30 users for the guarantee of this plan, got one of 5"
    ):
        collector.estimate()
    assert collector.estimate(release_early=True).n == 35
    assert collector.statement().startswith("RELEASED EARLY: a batch had 5 users")


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.randomizer.spec)
def test_saved_and_read_again(query: Any, tmp_path: Path) -> None:
    plan = sdp.Plan(query=query, users=60, delta=1e-6)
    values = [{"x": i % 7, "y": 1} for i in range(60)] if len(query.columns) > 1 else [i % 7 for i in range(60)]
    collector = sdp.Collector(plan)
    collector.ingest(batch_of(plan, values))
    collector.save(tmp_path / "state")
    again = sdp.Collector.load(tmp_path / "state", plan)
    assert again.batches == collector.batches
    assert np.array_equal(again.estimate().value, collector.estimate().value)
    assert again.estimate().for_release is collector.estimate().for_release
    more = batch_of(plan, values, rng=np.random.default_rng(0))
    again.ingest(more)
    assert again.estimate().for_release is False and again.drop(more.header.id) == 60
    assert np.array_equal(again.estimate().value, collector.estimate().value), "as if it had never been counted"
    assert again.estimate().for_release is collector.estimate().for_release


def test_a_file_cut_in_half_or_altered_is_refused(tmp_path: Path) -> None:
    plan, path = plan_with(users=30), tmp_path / "state"
    collector = sdp.Collector(plan)
    collector.ingest(batch_of(plan, ["pear"] * 30))
    collector.save(path)
    raw = path.read_bytes()
    for damaged in (
        raw[: len(raw) // 2],
        raw.replace(b"30", b"31"),
        b"",
        raw.replace(b'"version": 1', b'"version": 2'),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ParameterError):
            sdp.Collector.load(path, plan)
    path.write_bytes(raw)
    with pytest.raises(ParameterError, match="must be of this plan"):
        sdp.Collector.load(path, plan_with(users=31))


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, path = plan_with(users=30), tmp_path / "state"
    collector = sdp.Collector(plan)
    collector.ingest(batch_of(plan, ["pear"] * 30))
    collector.save(path)
    before = path.read_bytes()
    collector.ingest(batch_of(plan, ["pear"] * 30))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match="No space left on device"):
        collector.save(path)
    with pytest.raises(ParameterError, match="No space left on device"):
        batch_of(plan, ["pear"] * 30).write(tmp_path / "b.batch", plan.query.randomizer.codec)
    monkeypatch.undo()
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["state"]
    assert sdp.Collector.load(path, plan).users == 30


def test_batches_that_others_counted_are_not_lost(tmp_path: Path) -> None:
    plan, path = plan_with(users=30), tmp_path / "state"
    batches = [batch_of(plan, ["pear"] * 30) for _ in range(3)]
    first = sdp.Collector(plan)
    first.ingest(batches[0])
    first.save(path)
    one, two = sdp.Collector.load(path, plan), sdp.Collector.load(path, plan)
    one.ingest(batches[1])
    one.save(path)
    saved = path.read_bytes()
    two.ingest(batches[2])
    for late in (two, sdp.Collector(plan)):
        with pytest.raises(ParameterError, match=r"has not changed since it was loaded.*; load it, .*\.$"):
            late.save(path)
    assert path.read_bytes() == saved
    again = sdp.Collector(plan)
    again.ingest(batches[0])
    again.ingest(batches[1])
    again.save(path)  # the same batches: nothing is lost
    one.ingest(batches[2])
    one.save(path)
    assert sdp.Collector.load(path, plan).users == 90


def test_the_oldest_batches_are_summed_where_too_much_is_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, path = plan_with(users=30), tmp_path / "state"
    batches = [batch_of(plan, ["pear", "apple", None] * 10) for _ in range(6)]
    ids = [batch.header.id for batch in batches]
    whole = sdp.Collector(plan)
    for batch in batches:
        whole.ingest(batch)
    value = whole.estimate().value
    monkeypatch.setattr(collecting, "MOST_APART", 4 * 3)  # four batches of three numbers
    bounded = sdp.Collector(plan)
    for batch in batches:
        bounded.ingest(batch)
        bounded.save(path)
        bounded = sdp.Collector.load(path, plan)
    assert bounded.users == 180 and np.array_equal(bounded.estimate().value, value)
    for old in ids[:3]:
        with pytest.raises(ParameterError, match=r"which was summed with older ones; count the others again.*\.$"):
            bounded.drop(old)
    assert [bounded.drop(batch) for batch in ids[3:]] == [30, 30, 30] and list(bounded.batches) == ids[:3]
    assert len(sdp.Collector(plan).merge(whole)._sums) == 4


@pytest.mark.heavy
def test_killed_while_saving_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """A process that saves without end is killed: the file is always a whole one, with every batch it had told of."""
    plan_with(users=20).save(tmp_path / "plan.json")
    code = textwrap.dedent(
        f"""
        import shuffledp as sdp
        plan = sdp.Plan.load({str(tmp_path / "plan.json")!r})
        collector, client = sdp.Collector(plan), sdp.Client(plan)
        while True:
            shuffler = sdp.Shuffler(plan)
            for _ in range(20):
                shuffler.add(client.report("pear"))
            collector.ingest(shuffler.batch())
            collector.save({str(tmp_path / "state")!r})
            print(len(collector.batches), flush=True)
        """
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(5):
            told = int(child.stdout.readline())
        time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
    told = max([told, *map(int, rest)])
    saved = sdp.Collector.load(tmp_path / "state", tmp_path / "plan.json")
    assert told <= len(saved.batches) <= told + 1
    assert saved.users == 20 * len(saved.batches) == saved.estimate().n


def test_tallies_of_every_shape() -> None:
    nested = np.empty((2, 2), dtype=object)
    nested[0] = [3, 4]
    nested[1] = [np.array([1, 2]), 0]
    for counts in (np.array([[1, 2], [3, 4]]), np.array([0.1, 1e300]), nested):
        again = restored(json.loads(json.dumps(plain(counts))))
        assert again.shape == counts.shape and json.dumps(plain(again)) == json.dumps(plain(counts))
    for bad in ({"dtype": "object", "shape": [3], "entries": [1]}, {"dtype": "O", "shape": [1], "entries": [1]}, 5, []):
        with pytest.raises(ParameterError):
            restored(bad)


def test_a_header_must_match_its_messages() -> None:
    plan = plan_with(users=3)
    header = Header(plan.digest, 3, 2, 1, True)
    with pytest.raises(ParameterError, match="a batch of 3 users must hold 3 messages, got 2"):
        as_tally(plan, np.zeros(2, dtype=np.uint8), header)
    with pytest.raises(ParameterError, match="a batch of 3 users must hold 3 messages, got 0"):
        as_tally(plan, np.zeros(0, dtype=np.uint8), header)
