"""The contract of a store, on both databases."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reference.databases import Cluster
from shuffledp.errors import ShuffleDPError
from shuffledp.shuffler.postgres import PostgresStore
from shuffledp.shuffler.sealing import Report
from shuffledp.shuffler.store import (
    CLOSED,
    RELEASED,
    REPLAYED,
    STORED,
    ReceivedReports,
    SqliteStore,
    Store,
    StoreUnavailableError,
    table_of,
)

pytestmark = pytest.mark.shuffler
PLACE, OTHER = (bytes(range(32)), 7), (bytes(range(1, 33)), 7)


@pytest.fixture
def opened(address: str, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    made: list[Store] = []

    def make(owner: str = "one") -> Store:
        made.append(PostgresStore(address, owner) if address else SqliteStore(tmp_path / "store.sqlite", owner))
        return made[-1]

    yield make
    for store in made:
        store.shut()


def some(number: int) -> list[Report]:
    return [Report(os.urandom(16), os.urandom(100)) for _ in range(number)]


def everything(store: Store, place: tuple[bytes, int]) -> list[bytes]:
    raw = b"".join(store.messages(place))
    return sorted(raw[i : i + 100] for i in range(0, len(raw), 100))


def test_a_report_is_kept_once(opened: Callable[..., Store]) -> None:
    store = opened()
    first, second = some(40), some(3)
    entries = [
        ReceivedReports(PLACE, first),
        ReceivedReports(PLACE, first[:5] + first[:5]),
        ReceivedReports(OTHER, second),
    ]
    assert store.add(entries, {}) == [STORED] * 3
    assert store.add(entries[:1], {}) == [STORED]
    changed = [Report(first[0].id, os.urandom(100))]  # what came first counts
    assert store.add([ReceivedReports(PLACE, changed)], {(PLACE, "late"): 2, ((bytes(32), 1), "late"): 4}) == [STORED]
    again = opened("two")
    assert again.add([ReceivedReports(PLACE, first[3:4])], {(PLACE, "late"): 1}) == [STORED]
    held = {one.place: one for one in again.periods()}
    assert held[PLACE].contributors == 40 and held[OTHER].contributors == 3 and len(held) == 2
    assert held[PLACE].refused == {"late": 3} and held[PLACE].state == "open"
    assert everything(again, PLACE) == sorted(report.sealed for report in first)


def test_postgresql_takes_no_samples_of_reports(cluster: Cluster) -> None:
    """Statistics of a dropped table stay in pg_statistic until that is vacuumed; autovacuum makes none of ours."""
    store = PostgresStore(cluster.database(), "one")
    store.add([ReceivedReports(PLACE, some(3), bytes(16))], {})
    with store.transaction() as run:
        found = dict(run("SELECT relname, reloptions FROM pg_class WHERE relname ~ '^(reports|seen)_.*_7$'").fetchall())
    assert len(found) == 2 and all(options == ["autovacuum_enabled=off"] for options in found.values())
    store.shut()


def test_a_request_is_let_in_once(opened: Callable[..., Store]) -> None:
    store = opened()
    request = ReceivedReports(PLACE, some(1), bytes(16))
    assert store.add([request, request, request._replace(seen=bytes([1] * 16))], {}) == [STORED, REPLAYED, STORED]
    assert store.add([request], {}) == [REPLAYED]
    assert store.periods()[0].refused == {"replayed": 2} and store.periods()[0].contributors == 1
    assert store.add([request._replace(place=OTHER)], {}) == [STORED]  # another period remembers its own
    assert store.add([request._replace(place=OTHER)], {}) == [REPLAYED]
    store.close(PLACE)
    store.finish(PLACE, RELEASED)
    assert store.add([request], {}) == [CLOSED]


def test_a_period_closes_once_and_for_all(opened: Callable[..., Store]) -> None:
    store, other = opened("one"), opened("two")
    reports = some(5)
    store.add([ReceivedReports(PLACE, reports)], {})
    closed = store.close(PLACE)
    assert (closed.state, closed.owner, closed.contributors, len(closed.batch)) == ("closing", "one", 5, 32)
    late = ReceivedReports(PLACE, some(1), bytes(16))
    assert other.add([late, ReceivedReports(OTHER, some(1))], {}) == [CLOSED, STORED]
    taken = other.close(PLACE)
    assert (taken.owner, taken.batch) == ("two", closed.batch)
    with pytest.raises(ShuffleDPError, match="in the hands of one shuffler"):
        store.ready(PLACE)
    other.ready(PLACE)
    with pytest.raises(ShuffleDPError):
        other.ready(PLACE)
    assert store.close(PLACE) == other.close(PLACE)  # nothing moves back
    assert store.close(PLACE).owner == "two"
    store.finish(PLACE, "released")
    with pytest.raises(ShuffleDPError):
        store.finish(PLACE, "released")
    assert store.add([late], {}) == [CLOSED]
    assert {one.place: (one.state, one.contributors) for one in store.periods()} == {
        PLACE: ("released", 0),
        OTHER: ("open", 1),
    }
    assert store.tidy()


def test_a_transaction_is_whole_or_nothing(opened: Callable[..., Store], monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened()
    reports = some(3)
    real = store._insert_new

    def failing(*given: object) -> set[bytes]:
        real(*given)  # type: ignore[arg-type]
        raise OSError("the disk is gone")

    monkeypatch.setattr(store, "_insert_new", failing)
    with pytest.raises(OSError, match="gone"):
        store.add([ReceivedReports(PLACE, reports, bytes(16))], {})
    monkeypatch.setattr(store, "_insert_new", real)
    assert store.periods() == []
    assert store.add([ReceivedReports(PLACE, reports, bytes(16))], {}) == [STORED]


def test_front_ends_that_get_the_same_reports_do_not_block_each_other(opened: Callable[..., Store]) -> None:
    """Each in another order, in groups, for periods that nobody opened yet: no deadlock, and each is counted once."""
    everyone = {place: some(60) for place in (PLACE, OTHER, (bytes(32), 0))}
    problems: list[BaseException] = []
    outcomes: list[str] = []

    def run(number: int) -> None:
        import random

        try:
            store, mixed = opened(f"front {number}"), random.Random(number)
            for _ in range(12):
                entries = [ReceivedReports(place, mixed.sample(those, 30)) for place, those in everyone.items()]
                entries += [
                    ReceivedReports(p, r[:1], bytes(15) + bytes([i])) for i, (p, r) in enumerate(everyone.items())
                ]
                mixed.shuffle(entries)
                outcomes.extend(store.add(entries, {(PLACE, "late"): 1}))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    store = opened()
    held = {one.place: one for one in store.periods()}
    for place, those in everyone.items():
        found = everything(store, place)
        assert len(found) == len(set(found)) == held[place].contributors
        assert set(found) <= {report.sealed for report in those}
    assert held[PLACE].refused["late"] == 48
    assert outcomes.count(REPLAYED) == 4 * 12 * 3 - 3


def test_one_at_a_time_releases(opened: Callable[..., Store], address: str) -> None:
    store, other = opened("one"), opened("two")
    with store.release_lock(PLACE) as mine, store.release_lock(OTHER) as second:
        assert mine and second
        if address:
            with other.release_lock(PLACE) as theirs:
                assert not theirs
    with other.release_lock(PLACE) as theirs:
        assert theirs


def test_a_store_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="cannot be used at present"):
        SqliteStore(tmp_path / "no" / "store.sqlite")
    with pytest.raises(StoreUnavailableError):
        PostgresStore(f"postgresql://x@/x?host={tmp_path}", "one")
    (tmp_path / "text").write_text("no database" * 1000)
    with pytest.raises(StoreUnavailableError):
        SqliteStore(tmp_path / "text")


def test_what_is_finished_is_erased_in_steps_though_the_first_try_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.shuffler.store._ERASED", 300)
    path = tmp_path / "store.sqlite"
    reports, others = some(2000), some(500)
    store = SqliteStore(path)
    store.add([ReceivedReports(PLACE, reports), ReceivedReports(OTHER, others)], {})
    store.close(PLACE)
    store.finish(PLACE, "discarded")
    assert store._erase_some(table_of(PLACE))
    store.shut()  # and then the machine was switched off
    again = SqliteStore(path)
    assert any(report.id in path.read_bytes() for report in reports)
    assert again.tidy()
    left = path.read_bytes()
    assert not any(report.id in left or report.sealed[:40] in left for report in reports)
    assert everything(again, OTHER) == sorted(report.sealed for report in others)
    assert (tmp_path / "store.sqlite-wal").stat().st_size == 0
    assert not again._erase_some(table_of(PLACE))  # another was faster
    again.shut()


def test_a_period_that_opens_while_others_are_erased_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two transactions of the one who tidies, another opens a period."""
    store, other = SqliteStore(tmp_path / "store.sqlite"), SqliteStore(tmp_path / "store.sqlite")
    store.add([ReceivedReports(PLACE, some(5))], {})
    store.finish(PLACE, "discarded")
    opened: list[tuple[bytes, int]] = []
    real = store.transaction

    @contextmanager
    def between() -> Iterator[Any]:
        opened.append((bytes(32), len(opened)))
        other.add([ReceivedReports(opened[-1], some(3))], {})
        with real() as run:
            yield run
        opened.append((bytes(32), len(opened)))
        other.add([ReceivedReports(opened[-1], some(3))], {})

    monkeypatch.setattr(store, "transaction", between)
    store.tidy()
    monkeypatch.setattr(store, "transaction", real)
    assert len(opened) >= 4
    for place in opened:
        assert other.add([ReceivedReports(place, some(1))], {}) == [STORED]
        assert len(everything(other, place)) == 4
    with pytest.raises(StoreUnavailableError):
        list(store.messages(PLACE))
    store.shut()
    other.shut()
