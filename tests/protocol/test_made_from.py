"""No user is counted twice: a batch says what it was made from, and is never counted together with a part of itself."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.engines.report_files import read_reports, write_reports
from shuffledp.errors import ParameterError
from shuffledp.protocol.batch import MAGIC, MOST_MADE_FROM, Batch, Header

PLAN = sdp.Plan(
    query=sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2"), users=60, delta=1e-6
)


def fresh(users: int = 60) -> Batch:
    shuffler = sdp.Shuffler(PLAN)
    shuffler.add_reports(np.ones(users, dtype=np.uint8), users=users)
    return shuffler.batch(early=True)


def merged(*batches: Batch) -> Batch:
    shuffler = sdp.Shuffler(PLAN)
    for batch in batches:
        shuffler.add_batch(batch)
    return shuffler.batch(early=True)


def stored(batch: Batch, path: Path) -> Batch:
    """The batch as it is read again."""
    write_reports(path, batch.header, [batch.data.tobytes()])
    return read_reports(path, PLAN)


def overlapping() -> dict[str, tuple[Batch, Batch]]:
    """Pairs with users in common."""
    a, b, c, d = (fresh() for _ in range(4))
    ab, bc = merged(a, b), merged(b, c)
    return {
        "a copy": (a, Batch(a.header, a.data.copy())),
        "a part of the other": (a, merged(a)),
        "a part of a part": (a, merged(merged(merged(a, b), c), d)),
        "a part in common": (ab, bc),
        "parts of parts in common": (merged(ab, d), merged(merged(bc))),
    }


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("suffix", ["", ".batch", ".parquet"])
@pytest.mark.parametrize("kind", overlapping())
def test_users_in_common_are_refused(kind: str, suffix: str, swapped: bool, tmp_path: Path) -> None:
    pair = overlapping()[kind]
    if suffix:
        pair = (stored(pair[0], tmp_path / f"one{suffix}"), stored(pair[1], tmp_path / f"two{suffix}"))
    one, two = pair[::-1] if swapped else pair
    shuffler, collector, other = sdp.Shuffler(PLAN), sdp.Collector(PLAN), sdp.Collector(PLAN)
    shuffler.add_batch(one)
    assert collector.ingest(one) and other.ingest(two)
    with pytest.raises(ParameterError, match=r"^a batch must be merged once, got .* would count twice"):
        shuffler.add_batch(two)
    with pytest.raises(ParameterError, match=r"^a batch must be counted once, got .* in both collectors"):
        collector.merge(other)
    if kind == "a copy":
        assert collector.ingest(two) is False
    else:
        with pytest.raises(ParameterError, match=r"^a batch must be counted once, got .* would count twice"):
            collector.ingest(two)
    collector.save(tmp_path / "state.json")
    again = sdp.Collector.load(tmp_path / "state.json", PLAN)
    if kind != "a copy":
        with pytest.raises(ParameterError, match=r"^a batch must be counted once, got "):
            again.ingest(two)
    with pytest.raises(ParameterError, match=r"^a batch must be counted once, got "):
        again.merge(other)
    assert shuffler.users == collector.users == again.users == one.header.users
    assert collector.ingest(fresh()) and again.ingest(merged(fresh())), "others are welcome"


def test_a_shuffler_remembers_what_it_released() -> None:
    a, b = fresh(), fresh()
    shuffler = sdp.Shuffler(PLAN)
    shuffler.add_batch(a)
    first = shuffler.batch()
    with pytest.raises(ParameterError, match="a batch must be merged once"):
        shuffler.add_batch(a)
    shuffler.add_batch(b)
    second = shuffler.batch()
    assert first.header.made_from == (a.header.id,) and second.header.made_from == (b.header.id,)
    collector = sdp.Collector(PLAN)
    assert collector.ingest(first) and collector.ingest(second) and collector.users == 120


@pytest.mark.parametrize("number", [500, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("suffix", [".batch", ".parquet"])
def test_thousands_of_batches_can_be_merged(suffix: str, number: int, tmp_path: Path) -> None:
    shuffler, data = sdp.Shuffler(PLAN), np.ones(2, dtype=np.uint8)
    batches = [Batch(Header(PLAN.digest, 2, 2, 1, True), data) for _ in range(number)]
    for batch in batches:
        shuffler.add_batch(batch)
    found = stored(merged(shuffler.batch()), tmp_path / f"all{suffix}")
    assert found.header.users == 2 * len(batches) and len(found.header.made_from) == len(batches) + 1
    for batch in batches[:: len(batches) // 7]:
        with pytest.raises(ParameterError, match="a batch must be merged once"):
            merged(found, batch)
    collector = sdp.Collector(PLAN)
    assert collector.ingest(found)
    collector.save(tmp_path / "state.json")
    with pytest.raises(ParameterError, match="a batch must be counted once"):
        sdp.Collector.load(tmp_path / "state.json", PLAN).ingest(batches[-1])


@pytest.mark.heavy
def test_more_than_a_header_can_name_are_refused(tmp_path: Path) -> None:
    names = tuple(f"{i:032x}" for i in range(MOST_MADE_FROM - 1))
    most = stored(replace_header(fresh(), made_from=names), tmp_path / "most.batch")
    shuffler = sdp.Shuffler(PLAN)
    shuffler.add_batch(most)
    with pytest.raises(ParameterError, match=r"^a batch must be made from 100,000 others at most"):
        shuffler.add_batch(fresh())
    header = shuffler.write(tmp_path / "full.batch")
    assert len(Batch.read(tmp_path / "full.batch", PLAN).header.made_from) == MOST_MADE_FROM == len(header.made_from)
    larger = replace_header(fresh(), made_from=tuple(f"{i:032x}" for i in range(MOST_MADE_FROM + 1000)))
    for name, said in (("b.batch", "must start with its header"), ("b.parquet", "must have 3,604,096 bytes at most")):
        with pytest.raises(ParameterError, match=said):
            stored(larger, tmp_path / name)


def replace_header(batch: Batch, **changed: Any) -> Batch:
    return Batch(replace(batch.header, **changed), batch.data)


BAD = [
    {"made_from": None},
    {"made_from": "ab" * 16},
    {"made_from": {}},
    {"made_from": [3]},
    {"made_from": [["ab" * 16]]},
    {"made_from": ["AB" * 16]},
    {"made_from": ["ab" * 16, "ab" * 16]},
    {"made_from": ["cd" * 16, "ab" * 16]},
    {"made_from": ["00" * 16]},
]


@pytest.mark.parametrize("suffix", [".batch", ".parquet"])
@pytest.mark.parametrize("changed", BAD, ids=str)
def test_hostile_headers(changed: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    """The ids must be ids, in order, each once, and not that of the batch itself."""
    with pytest.raises(ParameterError, match=r"^made_from of a batch must be the ids of other batches in order"):
        stored(replace_header(fresh(), id="00" * 16, **changed), tmp_path / f"bad{suffix}")


@pytest.mark.parametrize("version", [b"1", b"2", b"4"])
def test_a_file_of_another_version_is_named_as_such(version: bytes, tmp_path: Path) -> None:
    stored(fresh(), tmp_path / "a.batch")
    raw = (tmp_path / "a.batch").read_bytes()
    (tmp_path / "a.batch").write_bytes(MAGIC.replace(b"3", version) + raw[len(MAGIC) :])
    with pytest.raises(ParameterError, match=r"got another one in .*; upgrade shuffledp"):
        Batch.read(tmp_path / "a.batch", PLAN)


def signed(state: dict[str, Any]) -> dict[str, Any]:
    import hashlib

    text = json.dumps(state, sort_keys=True)
    return {**state, "checksum": hashlib.sha256(text.encode()).hexdigest()}


@pytest.mark.parametrize(
    "changed",
    [
        {"inside": []},
        {"inside": {"x": "y"}},
        {"inside": {"ab" * 16: 3}},
        {"inside": {"ab" * 16: []}},
        {"inside": {"ab" * 16: "cd" * 16}},
        {"version": 2},
        {"program_epsilon": -1.0},
        {"program_epsilon": "2"},
        {"program_epsilon": math.nan},
        {"version": []},
    ],
    ids=str,
)
def test_hostile_states(changed: dict[str, Any], tmp_path: Path) -> None:
    path, collector = tmp_path / "state.json", sdp.Collector(PLAN)
    collector.ingest(fresh())
    collector.save(path)
    state = json.loads(path.read_text())
    del state["checksum"]
    path.write_text(json.dumps(signed({**state, **changed})))
    with pytest.raises(ParameterError, match="collector file"):
        sdp.Collector.load(path, PLAN)
