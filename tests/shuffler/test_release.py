"""What leaves: in a uniform order that says nothing of arrival, once, whole, and with nothing else left behind."""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from reference.databases import Cluster
from reference.shuffling import LENGTH, START, Clock, World, until
from shuffledp.errors import ShuffleDPError
from shuffledp.shuffler import oblivious_http, release, sealing
from shuffledp.shuffler.oblivious_http import rotate
from shuffledp.shuffler.service import Service
from shuffledp.shuffler.store import ReceivedReports, StoreUnavailableError

pytestmark = pytest.mark.shuffler
OVER = START + LENGTH + 60.0


def service(world: World, clock: Clock) -> Service:
    return Service(world.home, clock=clock, tick=3600)


def rows(folder: Path) -> list[bytes]:
    manifest = json.loads(json.loads((folder / "manifest.json").read_text())["payload"])
    return [row for f in manifest["files"] for row in pq.read_table(folder / f["name"])["sealed"].to_pylist()]


@pytest.mark.parametrize(("memory", "runs"), [(1 << 26, 6000), (9, 150)])
def test_every_order_is_equally_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, runs: int) -> None:
    """In memory, and through files: 9 bytes are too few for the messages."""
    monkeypatch.setattr(release, "_MEMORY", memory)
    messages = [bytes([i]) * 5 for i in range(3)]
    pieces = [b"".join(messages[:2]), messages[2]]
    found = Counter(b"".join(map(bytes, release.shuffled(pieces, 5, tmp_path))) for _ in range(runs))
    orders = {b"".join(order) for order in itertools.permutations(messages)}
    assert set(found) <= orders
    assert stats.chisquare([found[order] for order in orders]).pvalue > 1e-6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [1 << 26, 1 << 15])
def test_the_order_is_independent_of_arrival_and_of_who_sent_what(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(release, "_MEMORY", memory)
    digest, users = world.publish(), 3000
    made = service(world, clock)
    sent = [os.urandom(2 * 50) for _ in range(users)]  # two sealed messages each, in the order of arrival
    for first in range(0, users, 50):
        made.store.add(
            [ReceivedReports((digest, 0), [sealing.Report(os.urandom(16), s)]) for s in sent[first : first + 50]], {}
        )
    clock.now = OVER
    (batch,) = made.release_due()
    made.store.shut()
    place = {row: i for i, row in enumerate(rows(batch))}
    assert len(place) == 2 * users
    first, second = (np.array([place[s[i : i + 50]] for s in sent]) for i in (0, 50))
    arrival = np.arange(users)
    for one, other in ((arrival, first), (arrival, second), (first, second)):
        assert abs(stats.spearmanr(one, other).statistic) * users**0.5 < 5
    # to link the two messages of a user by their distance: it is that of two random places, and neighbors are rare
    apart = np.abs(first - second)
    mean, total = (2 * users + 1) / 3, 2 * users
    assert abs(apart.mean() - mean) < 5 * (total**2 / 18 / users) ** 0.5
    assert (apart == 1).sum() <= 10
    assert stats.kstest(first / total, "uniform").pvalue > 1e-6


def test_a_million_rows_are_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_ROWS", 10)
    whole = os.urandom(50 * 27)
    pieces = [bytearray(whole[:250]), bytearray(whole[250:1300]), bytearray(whole[1300:])]
    found = list(release._parts(pieces, 50, tmp_path))
    assert [(one["name"], one["messages"]) for one in found] == [
        (f"part-0000{i}.parquet", n) for i, n in enumerate((10, 10, 7))
    ]
    assert b"".join(r for one in found for r in pq.read_table(tmp_path / one["name"])["sealed"].to_pylist()) == whole


def filled(world: World, clock: Clock, number: int = 5) -> tuple[Service, bytes]:
    digest = world.publish()
    made = service(world, clock)
    made.store.add([ReceivedReports((digest, 0), [world.report(digest, 0) for _ in range(number)])], {})
    clock.now = OVER
    return made, digest


def test_four_at_once_release_one_batch(address: str, tmp_path: Path, clock: Clock) -> None:
    world = World(tmp_path / "shuffler", store=address)
    first, _ = filled(world, clock)
    others = [first, *(service(world, clock) for _ in range(3))]
    made: list[Path] = []
    threads = [threading.Thread(target=lambda s=s: made.extend(s.release_due())) for s in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(list(world.home.outbox.iterdir())) == 1
    for one in others:
        one.store.shut()


def test_a_store_that_lost_a_report_releases_nothing(world: World, clock: Clock) -> None:
    made, digest = filled(world, clock)
    from shuffledp.shuffler.store import table_of

    with sqlite3.connect(world.folder / "store.sqlite") as connection:
        table = table_of((digest, 0))
        connection.execute(f"DELETE FROM {table} WHERE id = (SELECT MIN(id) FROM {table})")
    connection.close()
    with pytest.raises(ShuffleDPError, match="must hold 10 messages of period 0, got 8"):
        made.release_due()
    assert list(world.home.outbox.iterdir()) == []
    made.store.shut()


def test_a_period_that_cannot_be_released_does_not_hold_up_the_others(world: World, clock: Clock) -> None:
    made, digest = filled(world, clock)
    clock.now = START + LENGTH
    made.store.add([ReceivedReports((digest, 1), [world.report(digest, 1) for _ in range(5)])], {})
    (world.home.outbox / f"{digest.hex()}-0").mkdir()
    clock.now = OVER + LENGTH
    with pytest.raises(ShuffleDPError, match="move it away"):
        made.release_due()
    assert (world.home.outbox / f"{digest.hex()}-1" / "manifest.json").exists()
    made.store.shut()


def test_a_period_is_released_although_the_file_of_its_publication_was_replaced(world: World, clock: Clock) -> None:
    made, digest = filled(world, clock)
    clock.now = START + 1
    later = world.publish(serial=2, starts=START + 10**8, expires=START + 10**9)  # in the same file
    made._look()
    assert set(made._publications.found) == {later}
    assert made.release_due() == []
    clock.now = OVER
    (batch,) = made.release_due()
    assert batch.name == f"{digest.hex()}-0" and len(rows(batch)) == 10
    made.store.shut()


def test_a_batch_never_replaces_another(world: World, clock: Clock) -> None:
    made, digest = filled(world, clock)
    other = world.home.outbox / f"{digest.hex()}-0"
    other.mkdir()
    with pytest.raises(ShuffleDPError, match="move it away"):
        made.release_due()
    other.rmdir()
    assert made.release_due() == [other]
    made.store.shut()


def test_a_commit_that_was_made_though_it_failed_loses_no_batch(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost after the store has noted that the batch is ready: it is there, and is not made again."""
    made, _ = filled(world, clock)
    ready = made.store.ready

    def lost(place: tuple[bytes, int]) -> None:
        ready(place)
        raise StoreUnavailableError("the connection is lost")

    monkeypatch.setattr(made.store, "ready", lost)
    with pytest.raises(StoreUnavailableError):
        made.release_due()
    (batch,) = made.release_due()
    assert len(rows(batch)) == 10
    assert [one.state for one in made.store.periods()] == ["released"]
    made.store.shut()


class Crash(BaseException):
    """The end of the process, as far as the code can tell."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "step", ["close", "messages", "ready", "finish", "tidy", "rename", "sync_folder", "write_whole", "rmtree"]
)
def test_a_crash_at_any_step_of_a_release_leaves_one_batch(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    """Before or after each call that leaves a trace; the batch is taken away as soon as it is there."""
    made, digest = filled(world, clock)
    made.store.shut()
    calls, taken, name = 0, [], f"{digest.hex()}-0"

    def crashing(real: Any, at: int) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == at and not after:
                raise Crash
            found = real(*given, **more)
            if calls == at:
                raise Crash
            return found

        return call

    for at in (1, 2, 3):
        again = service(world, clock)
        owner = {"rename": Path, "sync_folder": release, "write_whole": release, "rmtree": release.shutil}
        target = owner.get(step, again.store)
        calls = 0
        with monkeypatch.context() as patch:
            patch.setattr(target, step, crashing(getattr(target, step), at))
            with suppress(Crash):
                again.release_due()
        again.store.shut()
        if (world.home.outbox / name).exists():
            taken.append(rows((world.home.outbox / name).rename(world.folder / f"taken{at}")))
    last = service(world, clock)
    taken += [rows(path.rename(world.folder / "taken")) for path in last.release_due() if path.exists()]
    assert [len(batch) for batch in taken] == [10]
    assert [one.state for one in last.store.periods()] == ["released"]
    assert list(world.home.outbox.iterdir()) == []
    last.store.shut()


def test_what_another_took_over_is_swept(world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    made, digest = filled(world, clock)
    hidden = world.home.outbox / f".tmp-{digest.hex()}-0"

    def taken(place: tuple[bytes, int]) -> None:
        made.store._owner = "another"  # type: ignore[attr-defined]
        made.store.close(place)
        type(made.store).ready(made.store, place)
        made.store._owner = world.home.config["owner"]  # type: ignore[attr-defined]
        raise StoreUnavailableError("late")

    monkeypatch.setattr(made.store, "ready", taken)
    with pytest.raises(StoreUnavailableError):
        made.release_due()
    assert hidden.exists()
    assert made.release_due() == [] and not hidden.exists()
    assert [(one.state, one.owner) for one in made.store.periods()] == [("ready", "another")]
    made.store.shut()


def test_a_withdrawal_after_a_crash_lets_no_batch_leave(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, digest = filled(world, clock)
    hidden = world.home.outbox / f".tmp-{digest.hex()}-0"
    with monkeypatch.context() as patch:
        patch.setattr(release.shutil, "rmtree", lambda *given, **more: None)  # killed before it could tidy up
        patch.setattr(made.home, "sign", lambda manifest: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            made.release_due()
    assert list(hidden.iterdir())
    made.store.shut()
    world.withdraw(digest)
    again = service(world, clock)
    assert again.release_due() == again.release_due() == []
    assert [(one.state, one.contributors) for one in again.store.periods()] == [("closing", 5)]
    clock.now = START + LENGTH + 500
    assert again.release_due() == again.release_due() == []
    assert [one.state for one in again.store.periods()] == ["discarded"]
    assert list(world.home.outbox.iterdir()) == []
    again.store.shut()


def test_what_was_withdrawn_does_not_leave_and_is_kept_until_its_end_unless_the_operator_discards_it(
    world: World, clock: Clock
) -> None:
    made, digest = filled(world, clock)
    world.withdraw(digest)
    made._look()
    assert made.release_due() == [] and [one.contributors for one in made.store.periods()] == [5]
    texts = {file: file.read_text() for file in world.home.plans_folder.glob("*.json")}
    for file in texts:  # a withdrawal is for good, wherever its file is
        file.unlink()
    made._look()
    assert made.release_due() == [] and made._publications.remembered(digest) is not None
    (world.home.plans_folder / "fruit.json").write_text(texts[world.home.plans_folder / "fruit.json"])
    made._look()
    assert made._publications.find(digest)[1] and made._publications.in_force == {} and made.release_due() == []
    assert made.release_due(discard=True) == []
    assert [one.state for one in made.store.periods()] == ["discarded"]
    made.store.shut()


def test_what_a_publisher_signed_whom_nobody_trusts_any_more_does_not_leave(world: World, clock: Clock) -> None:
    made, _ = filled(world, clock)
    (world.home.publishers / "one.pub").unlink()
    made._look()
    assert made.release_due() == [] and made._publications.in_force == {}
    clock.now = START + LENGTH + 500
    assert made.release_due() == [] and [one.state for one in made.store.periods()] == ["discarded"]
    made.store.shut()


def test_a_full_disk_loses_nothing(world: World, clock: Clock) -> None:
    """No file may grow beyond some size: intake answers that it cannot, and release tries again."""
    digest = world.publish(minimum=10)
    made = service(world, clock)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept: list[sealing.Report] = []
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        for _ in range(200):
            some = [sealing.Report(os.urandom(16), os.urandom(100)) for _ in range(50)]
            try:
                made.store.add([ReceivedReports((digest, 0), some)], {})
            except StoreUnavailableError:
                break
            kept += some
        else:
            raise RuntimeError("the disk was never full")
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        made.store.add([ReceivedReports((digest, 0), some)], {})  # there is room again
        kept += some
        clock.now = OVER
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        for _ in range(2):
            with pytest.raises((ShuffleDPError, OSError)):
                made.release_due()
            assert list(world.home.outbox.iterdir()) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (batch,) = made.release_due()
    assert sorted(rows(batch)) == sorted(r.sealed[i : i + 50] for r in kept for i in (0, 50))
    made.store.shut()


def test_a_batch_that_was_withdrawn_while_it_was_written_does_not_leave(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = filled(world, clock)
    ready = made.store.ready

    def withdrawn(place: tuple[bytes, int]) -> None:
        made.store.finish(place, "discarded")
        ready(place)

    monkeypatch.setattr(made.store, "ready", withdrawn)
    with pytest.raises(ShuffleDPError, match="in the hands of one shuffler"):
        made.release_due()
    assert made.release_due() == [] and list(world.home.outbox.iterdir()) == []
    made.store.shut()


# ---- what is left behind

AGENT, FORWARDED, SOURCE = "needle-agent/7.31", "203.0.113.77", "127.0.0.77"


def ask(port: int, method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(SOURCE, 0))
    headers = {"user-agent": AGENT, "x-forwarded-for": FORWARDED, "cookie": "needle=1", "content-type": kind}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status == 200, content
    return content


def forms(raw: bytes) -> list[bytes]:
    coded = base64.b64encode(raw)[:20], base64.urlsafe_b64encode(raw)[:20]
    return [raw, raw.hex().encode(), raw.hex().upper().encode(), *coded]


def files(*folders: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def send_all(world: World, port: int, digest: bytes) -> tuple[list[sealing.Report], list[bytes]]:
    """Thirty reports, half of them sealed: the reports, and the encapsulated keys."""
    config = oblivious_http.decode_configs(until(lambda: ask(port, "GET", "/ohttp-keys")))[0]
    reports, encs = [world.report(digest, 0) for _ in range(30)], []
    for i, report in enumerate(reports):
        body = sealing.pack(digest, 0, [report])
        if i % 2:
            ask(port, "POST", "/reports", body, sealing.MEDIA_TYPE)
        else:
            fields = ((b"content-type", sealing.MEDIA_TYPE.encode()), (b"user-agent", AGENT.encode()))
            request = oblivious_http.BinaryRequest(method="POST", path="/reports", fields=fields, content=body)
            raw, exchange = oblivious_http.encapsulate(config, request.encode())
            encs.append(exchange.enc)
            ask(port, "POST", "/ohttp", raw, oblivious_http.REQUEST)
    return reports, encs


def search(left: dict[Path, bytes], outbox: Path, reports: list[sealing.Report], encs: list[bytes]) -> None:
    """No file holds an address or a header; none but the journal of PostgreSQL an id; none but the batch a message."""
    nobody = [*forms(AGENT.encode()), FORWARDED.encode(), SOURCE.encode(), b"needle=1"]
    named = list(itertools.chain(*map(forms, [r.id for r in reports] + [e[:16] for e in encs])))
    for path, content in left.items():
        journal = "pg_wal" in path.parts
        for needle in nobody if journal else nobody + named:
            assert needle not in content, (path, needle)
        if outbox not in path.parents and not journal:
            assert not any(r.sealed[:40] in content for r in reports), path


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_is_left_that_tells_who_when_or_in_which_order(kind: str, tmp_path: Path) -> None:
    """A real service, with its logs; then every file is searched."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster()) if kind == "postgresql" else None
        world = World(tmp_path / "shuffler", store=cluster.database() if cluster else "")
        begin = int(time.time())
        digest = world.publish(starts=begin - 5, length=15, grace=0, minimum=10)
        out, err = (stack.enter_context((tmp_path / name).open("w")) for name in ("out", "err"))
        command = [sys.executable, "-m", "shuffledp", "shuffler", "serve", str(world.folder), "--port", "0"]
        process = subprocess.Popen(command, stdout=out, stderr=err)
        stack.callback(process.kill)
        port = int(until(lambda: (tmp_path / "out").read_text(), 60).split()[0].rpartition(":")[2])
        reports, encs = send_all(world, port, digest)
        folders = [tmp_path, *([cluster.folder] if cluster else [])]
        assert any(reports[0].id in content for content in files(*folders).values())  # a search finds what is there
        until(lambda: list(world.home.outbox.glob("[!.]*")), 60)
        rotate(world.home.ohttp)
        rotate(world.home.ohttp)
        until(lambda: b'"released"' in (tmp_path / "err").read_bytes())
        time.sleep(2.5)  # the service looks every second
        process.terminate()
        assert process.wait(20) in (0, -signal.SIGTERM)
        if cluster:
            cluster.stop()
        search(files(*folders), world.home.outbox, reports, encs)
        seconds = [str(second).encode() for second in range(begin - 1, int(time.time()) + 2)]
        for path, content in files(tmp_path).items():
            if path.suffix != ".json":  # the plan and the manifest state their period, which is the only time
                assert not any(second in content for second in seconds), path
        said = [json.loads(line) for line in (tmp_path / "err").read_text().splitlines()]
        assert {key for line in said for key in line} <= {
            *("event", "in_force", "withdrawn", "plan", "period", "contributors"),
        }
    if not cluster:
        connection = sqlite3.connect(world.folder / "store.sqlite")
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
        connection.close()
        assert set(tables) == {"publications", "withdrawals", "periods", "counts"}
        assert all("WITHOUT ROWID" in sql for sql in tables.values())
