"""A batch that could not be written is still there: whatever fails, the shuffler is as before, and a retry works."""

from __future__ import annotations

import errno
import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.engines.report_files import read_reports, write_reports
from shuffledp.errors import ParameterError
from shuffledp.protocol.batch import Batch

MECHANISMS = ["grr:eps0=4", "poisson-histogram:poisson_per_index=0.5,indices=2"]
LABELS = ["a", "b", "c"]


def plan_with(mechanism: str, users: int = 300) -> sdp.Plan:
    query = sdp.queries.Histogram(column="x", labels=LABELS, mechanism=mechanism)
    return sdp.Plan(query=query, users=users, delta=1e-6)


@lru_cache
def reports(mechanism: str, value: str) -> list[list[bytes]]:
    """A few reports, to be sent over and over: a client takes its time."""
    client = sdp.Client(plan_with(mechanism))
    return [client.report(value) for _ in range(60)]


class Filled:
    """A shuffler with reports of 300 users who hold "a", and all that is known about them."""

    def __init__(self, mechanism: str, *, memory: int = 2**28, folder: Path | None = None) -> None:
        self.mechanism, self.plan = mechanism, plan_with(mechanism)
        self.shuffler = sdp.Shuffler(self.plan, memory=memory, folder=folder)
        self.sent: Counter[bytes] = Counter()
        self.add("a", 300)

    def add(self, value: str, users: int) -> None:
        for report in islice(cycle(reports(self.mechanism, value)), users):
            self.shuffler.add(report)
            self.sent.update(report)

    def check(self, batch: Batch, users: int) -> None:
        """The batch holds what was sent, all of it and once."""
        size = batch.header.bytes
        raw = batch.data.tobytes()
        assert Counter(raw[i : i + size] for i in range(0, len(raw), size)) == self.sent
        assert batch.header.users == users and batch.header.messages == self.sent.total()
        collector = sdp.Collector(self.plan)
        assert collector.ingest(batch) and collector.users == users
        assert np.nansum(collector.estimate().value[:3]) == pytest.approx(1, abs=0.8)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """No file can grow beyond so many bytes: what a full disk does, by the real system calls."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def written(shuffler: sdp.Shuffler, path: Path) -> None:
    if path.suffix == ".batch":
        shuffler.write(path)
        return
    with shuffler.release() as (header, parts):
        write_reports(path, header, parts)


def fails_by_size(filled: Filled, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_files(200):
        written(filled.shuffler, path)


def fails_by_folder(filled: Filled, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(filled.shuffler, path.parent / "missing" / path.name)


def fails_by(name: str) -> Callable[[Filled, Path, pytest.MonkeyPatch], None]:
    def fails(filled: Filled, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            written(filled.shuffler, path)

    return fails


FAILURES = {
    "full disk": fails_by_size,
    "missing folder": fails_by_folder,
    "fsync": fails_by("fsync"),
    "rename": fails_by("replace"),
}


@pytest.mark.parametrize("suffix", [".batch", ".parquet"])
@pytest.mark.parametrize("scattered", [False, True], ids=["in memory", "scattered"])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["grr", "poisson"])
def test_a_failed_write_loses_and_corrupts_nothing(
    mechanism: str, scattered: bool, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every failure in turn, with more users after each; then the batch is written and holds everybody once."""
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    out.mkdir()
    filled = Filled(mechanism, memory=70 if scattered else 2**28, folder=temporary)
    users = 300
    for fails in FAILURES.values():
        with pytest.raises(ParameterError, match=r"must be a file that can be written"):
            fails(filled, out / f"m{suffix}", monkeypatch)
        assert filled.shuffler.users == users and not [*out.iterdir()]
        filled.add("b", 20)
        users += 20
    assert bool([*temporary.iterdir()]) is scattered
    written(filled.shuffler, out / f"m{suffix}")
    filled.check(read_reports(out / f"m{suffix}", filled.plan), users)
    assert filled.shuffler.users == 0 and not [*temporary.iterdir()], "nothing is left behind"
    with pytest.raises(ParameterError, match="must hold at least one report"):
        filled.shuffler.batch()


@pytest.mark.parametrize("memory", [2**28, 70])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_consumer_that_fails_half_way(error: type[BaseException], memory: int) -> None:
    filled = Filled("grr:eps0=4", memory=memory)

    def consume() -> None:
        with filled.shuffler.release() as (_, parts):
            next(parts)
            raise error

    for _ in range(3):
        with pytest.raises(error):
            consume()
        assert filled.shuffler.users == 300
    filled.add("c", 1)
    filled.check(filled.shuffler.batch(), 301)


@pytest.mark.parametrize("memory", [2**28, 70])
def test_a_consumer_that_stops_half_way_has_not_released(memory: int) -> None:
    filled = Filled("grr:eps0=4", memory=memory)

    def consume() -> None:
        with filled.shuffler.release() as (_, parts):
            for _part in parts if memory == 70 else []:
                break
            parts.close()  # type: ignore[attr-defined]

    with pytest.raises(ParameterError, match=r"^all 300 messages must be read .* the shuffler still holds them\.$"):
        consume()
    filled.check(filled.shuffler.batch(), 300)


def test_an_abandoned_release_changes_nothing() -> None:
    filled = Filled("grr:eps0=4")
    release = filled.shuffler.release()
    release.__enter__()
    with pytest.raises(ParameterError, match="must do one thing at a time"):
        filled.shuffler.add([b"\x00"])
    with pytest.raises(ParameterError, match="must do one thing at a time"):
        filled.shuffler.batch()
    del release
    filled.check(filled.shuffler.batch(), 300)


def test_a_second_attempt_has_the_same_id_and_another_order() -> None:
    """Should the first be stored in spite of its error, a collector counts one of them."""
    filled = Filled("grr:eps0=1")
    seen: list[tuple[str, bytes]] = []

    def consume() -> None:
        with filled.shuffler.release() as (header, parts):
            seen.append((header.id, b"".join(parts)))
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            consume()
    batch = filled.shuffler.batch()
    assert {name for name, _ in seen} == {batch.header.id} and len(
        {*seen, (batch.header.id, batch.data.tobytes())}
    ) == 3
    filled.add("a", 300)
    assert filled.shuffler.batch().header.id != batch.header.id
    collector = sdp.Collector(filled.plan)
    assert collector.ingest(batch) and not collector.ingest(batch)


def test_the_same_id_with_more_users_is_refused() -> None:
    filled = Filled("grr:eps0=1")
    stored: list[Batch] = []

    def consume() -> None:
        with filled.shuffler.release() as (header, parts):
            stored.append(Batch(header, np.frombuffer(b"".join(parts), dtype=np.uint8)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    filled.add("b", 5)
    collector = sdp.Collector(filled.plan)
    assert collector.ingest(stored[0])
    with pytest.raises(ParameterError, match=r"^an id must be that of one batch, got \w+ with 305 users after .* 300;"):
        collector.ingest(filled.shuffler.batch())
    assert collector.users == 300


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["grr", "poisson"])
def test_a_full_disk_while_messages_are_scattered(mechanism: str, tmp_path: Path) -> None:
    """The report that could not be taken is refused, all others stay."""
    filled = Filled(mechanism, memory=400, folder=tmp_path)
    said = r"^folder must take the temporary files of a shuffler, got .* \(File too large\); make room there"
    with small_files(0):
        with pytest.raises(ParameterError, match=said):
            filled.add("b", 300)
        users = filled.shuffler.users
        with pytest.raises(ParameterError, match=said):
            filled.shuffler.add_reports(np.zeros((400, *filled.plan.query.randomizer.codec.shape), np.uint8), users=400)
    assert filled.shuffler.users == users < 600
    filled.add("c", 300)  # there is room again
    filled.check(filled.shuffler.batch(), users + 300)


def test_a_disk_that_was_full_from_the_start(tmp_path: Path) -> None:
    """What is in memory can be released without any temporary file."""
    filled = Filled("grr:eps0=4", memory=300, folder=tmp_path)
    with small_files(0):
        with pytest.raises(ParameterError, match="folder must take the temporary files"):
            filled.add("b", 1)
        batch = filled.shuffler.batch()
    filled.check(batch, 300)
    assert not [*tmp_path.iterdir()]


def test_a_full_disk_while_a_batch_is_added(tmp_path: Path) -> None:
    """It was not merged, so that it can be added again."""
    filled = Filled("grr:eps0=4")
    batch = filled.shuffler.batch()
    merged = sdp.Shuffler(filled.plan, memory=100, folder=tmp_path)
    with small_files(0), pytest.raises(ParameterError, match="folder must take the temporary files"):
        merged.add_batch(batch)
    assert merged.users == 0
    merged.add_batch(batch)
    filled.check(merged.batch(), 300)


def test_a_missing_folder_for_temporary_files(tmp_path: Path) -> None:
    shuffler = sdp.Shuffler(plan_with("grr:eps0=4"), memory=1, folder=tmp_path / "missing")
    shuffler.add([b"\x00"])
    with pytest.raises(ParameterError, match=r"^folder must take the temporary files .*missing' \(No such file"):
        shuffler.add([b"\x00"])
    assert shuffler.users == 1
    (tmp_path / "missing").mkdir()
    shuffler.add([b"\x00"])
    assert shuffler.batch(early=True).data.tolist() == [0, 0]


@pytest.mark.heavy
def test_temporary_files_that_were_cut_are_noticed(tmp_path: Path) -> None:
    filled = Filled("grr:eps0=4", memory=70, folder=tmp_path)
    victim = next(path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size)
    victim.write_bytes(b"")
    with pytest.raises(ParameterError, match="must stay as they are, got one that was cut"):
        filled.shuffler.batch()


def test_wrong_users_add_nothing() -> None:
    filled = Filled("grr:eps0=4")
    for users in (0, -1, "x"):
        with pytest.raises(ParameterError, match="users must"):
            filled.shuffler.add_reports(np.zeros(5, dtype=np.uint8), users=users)  # type: ignore[arg-type]
    filled.check(filled.shuffler.batch(), 300)


def test_a_batch_says_nothing_of_the_one_before(tmp_path: Path) -> None:
    """What a seeded generator drew is not for release; the next batch is."""
    plan = plan_with("grr:eps0=4", users=2)
    shuffler = sdp.Shuffler(plan)
    said: list[Any] = []
    for release in (False, None, True):
        shuffler.add_reports(np.zeros(2, dtype=np.uint8), users=2, for_release=release)
        said.append(shuffler.batch().header.for_release)
    shuffler.add([b"\x00"])  # unknown, and then not for release: the worse of both
    shuffler.add_reports(np.zeros(2, dtype=np.uint8), users=2, for_release=False)
    assert [*said, shuffler.batch().header.for_release] == [False, None, True, False]


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_leaves_the_temporary_files_to_its_parent(tmp_path: Path) -> None:
    """It neither adds to them nor removes them when it ends."""
    filled = Filled("grr:eps0=4", memory=70, folder=tmp_path)
    child = os.fork()
    if not child:
        refused = 0
        for use in (lambda: filled.add("b", 80), lambda: filled.shuffler.batch(), lambda: None):
            try:
                use()
            except ParameterError as error:
                refused += "must be used by the process that filled it" in str(error)
        del filled.shuffler
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    filled.check(filled.shuffler.batch(), 300)


@pytest.mark.parametrize(
    ("data", "users", "said"),
    [
        ([0, 1], 30, "a batch of 30 users must hold 30 messages, got 2"),
        ([0, 9], 2, "must be"),
        ([0.5, 1.0], 2, "must be"),
    ],
)
def test_reports_that_nobody_would_count_are_not_taken(data: list[float], users: int, said: str) -> None:
    """One of them would make the collector refuse the batch of everybody."""
    filled = Filled(MECHANISMS[0])
    with pytest.raises(ParameterError, match=said):
        filled.shuffler.add_reports(np.array(data), users=users)
    filled.check(filled.shuffler.batch(), 300)


@pytest.mark.parametrize("name", ["b.parquet", "b.csv"])
def test_a_name_that_says_another_format_is_refused(name: str, tmp_path: Path) -> None:
    filled = Filled(MECHANISMS[0])
    with pytest.raises(ParameterError, match=r"batch must be written to a file that ends in \.batch"):
        filled.shuffler.write(tmp_path / name)
    assert not list(tmp_path.iterdir())
    filled.shuffler.write(tmp_path / "b.BATCH")
    filled.check(Batch.read(tmp_path / "b.BATCH", filled.plan), 300)
