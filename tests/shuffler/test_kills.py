"""kill -9 at random points: no acknowledged report is lost, none is in a batch twice, no batch leaves twice."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from reference.databases import Cluster
from reference.killed_services import Forks, Front, send, send_until_stored
from reference.shuffling import LENGTH, START, World, until
from shuffledp.shuffler import sealing

pytestmark = pytest.mark.shuffler
CLIENTS, THREADS = 24, 4


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as made:
        yield made


class Run:
    """Trial after trial on one store, each with a period of its own."""

    def __init__(self, world: World, fronts: list[Front], rng: random.Random) -> None:
        self.world, self.fronts, self.rng = world, fronts, rng
        self.digest = world.publish(minimum=CLIENTS, dispose=10**6)
        self.taken = world.folder.parent / "taken"
        self.taken.mkdir()
        self.seen: Counter[str] = Counter()  # how often each batch appeared
        self.acknowledged = 0  # of the reports that are sent until they are stored, over all periods

    def trial(
        self,
        period: int,
        kill: tuple[str, int] | None,
        seconds: tuple[float, float],
        meanwhile: Callable[[], object] = bool,
    ) -> None:
        """Send the reports of a period, let it end, and look at what left.

        kill : before which line of which phase the first front end kills itself
        seconds : after how many it is killed from outside, from the begin of intake and of release; 0 for never
        meanwhile : what runs beside the clients; the period ends after it
        """
        for front in self.fronts:
            front.set_time(START + period * LENGTH + 1)
        if kill:
            self.fronts[0].start(kill)
        reports = [self.world.report(self.digest, period, bytes([i])) for i in range(CLIENTS)]
        hasty = [self.world.report(self.digest, period, b"h") for _ in range(3)]
        problems: list[BaseException] = []

        def clients(mine: list[sealing.Report], number: int) -> None:
            try:
                self.send(period, mine, hasty, random.Random(number))
            except BaseException as error:
                problems.append(error)

        everyone = self.rng.sample(reports + hasty, CLIENTS + 3)
        threads = [threading.Thread(target=clients, args=(everyone[i::THREADS], i)) for i in range(THREADS)]
        threads.append(threading.Thread(target=meanwhile))
        for thread in threads:
            thread.start()
        if seconds[0]:
            time.sleep(seconds[0])
            self.fronts[0].kill()
        for thread in threads:
            thread.join()
        assert problems == [], problems
        for front in self.fronts:
            front.set_time(START + (period + 1) * LENGTH + 60)
        if seconds[1]:
            time.sleep(seconds[1])
            self.fronts[0].kill()
        self.check(period, reports, hasty)

    def send(self, period: int, mine: list[sealing.Report], hasty: list[sealing.Report], rng: random.Random) -> None:
        for i, report in enumerate(mine):
            body = sealing.pack(self.digest, period, [report])
            if report in hasty:  # sent once: it may be lost, but not doubled
                with contextlib.suppress(OSError, http.client.HTTPException):
                    send(rng.choice(self.fronts).port, body, bool(i % 2))
            else:
                send_until_stored(lambda: rng.choice(self.fronts).port, body, sealed=bool(i % 2))
                self.acknowledged += 1

    def check(self, period: int, reports: list[sealing.Report], hasty: list[sealing.Report]) -> None:
        name = f"{self.digest.hex()}-{period}"

        def appeared() -> Path | None:
            return next(
                (f.folder / "outbox" / name for f in self.fronts if (f.folder / "outbox" / name).exists()), None
            )

        batch = until(appeared, 30)
        away = self.taken / name  # at once, so that a service that begins again must not make another
        batch.rename(away)
        self.seen[name] += 1
        until(lambda: self.state(period) == "released", 30)
        time.sleep(0.06)  # three looks of the service
        assert appeared() is None, "a second batch"
        manifest = json.loads(json.loads((away / "manifest.json").read_text())["payload"])
        found = Counter(m for f in manifest["files"] for m in pq.read_table(away / f["name"])["sealed"].to_pylist())
        assert max(found.values()) == 1, "a message is in the batch twice"
        half = len(reports[0].sealed) // 2
        sent = [{r.sealed[:half], r.sealed[half:]} for r in reports]
        assert all(both <= set(found) for both in sent), "an acknowledged report is lost"
        extra = set(found) - set().union(*sent)
        whole = [{r.sealed[:half], r.sealed[half:]} for r in hasty]
        assert extra == set().union(*(both for both in whole if both & extra))
        assert manifest["contributors"] == CLIENTS + len(extra) // 2
        shutil.rmtree(away)

    def state(self, period: int) -> str:
        store = self.world.home.open_store()
        try:
            return {held.place: held.state for held in store.periods()}[self.digest, period]
        finally:
            store.shut()  # type: ignore[attr-defined]


def kills(address: str, folder: Path, forks: Forks, number: int, seed: int) -> None:
    rng = random.Random(seed)
    world = World(folder / "shuffler", store=address)
    front = Front(forks, world.folder)
    run = Run(world, [front], rng)
    try:
        lines = {}
        for period, phase in enumerate(("intake", "release")):  # undisturbed: how many lines each phase has
            front = run.fronts[0] = Front(forks, world.folder)
            front.set_time(START)
            front.start((phase, 0))
            run.trial(period, None, (0, 0))
            front.end()
            lines[phase] = int(Path(f"{world.folder}.lines").read_text().partition(".")[0])
        assert lines["intake"] > 500 and lines["release"] > 100
        died = 0
        for period in range(2, number + 2):
            front.end()
            front = run.fronts[0] = Front(forks, world.folder)
            front.set_time(START + period * LENGTH + 1)
            way = period % 3
            if way == 2:
                intake = bool(rng.getrandbits(1))
                front.start()
                run.trial(period, None, (rng.uniform(0.02, 0.3), 0) if intake else (0, rng.uniform(0.001, 0.12)))
            else:
                phase, share = ("intake", "release")[way], ((period - 2) // 3 + rng.random()) / ((number + 2) // 3)
                run.trial(period, (phase, 1 + int(share * lines[phase])), (0, 0))  # spread evenly over the phase
            died += front.starts > 1
        assert died >= 0.6 * number
        assert set(run.seen.values()) == {1} and len(run.seen) == number + 2
    finally:
        front.end()


def test_twenty_kills(address: str, tmp_path: Path, forks: Forks) -> None:
    kills(address, tmp_path, forks, 20, seed=23)


@pytest.mark.slow
def test_three_hundred_kills(address: str, tmp_path: Path, forks: Forks) -> None:
    kills(address, tmp_path, forks, 300, seed=9458)


def two_front_ends(cluster: Cluster, folder: Path, forks: Forks, number: int) -> None:
    rng = random.Random(number)
    address = cluster.database()
    world = World(folder / "one", store=address)
    second = World(folder / "two", store=address, publisher=world.publisher, analyst=world.analyst)
    second.home.ohttp.write_text(world.home.ohttp.read_text())
    fronts = [Front(forks, world.folder), Front(forks, second.folder)]
    run = Run(world, fronts, rng)
    shutil.copy(world.home.plans_folder / "fruit.json", second.home.plans_folder)
    try:
        for front in fronts:
            front.set_time(START)
            front.start()
        for period in range(1, number + 1):
            intake = bool(period % 2)
            run.trial(period, None, (rng.uniform(0.02, 0.2), 0) if intake else (0, rng.uniform(0.001, 0.1)))
        assert fronts[0].starts > number // 2
    finally:
        for front in fronts:
            front.end()


def test_two_front_ends_one_killed(cluster: Cluster, tmp_path: Path, forks: Forks) -> None:
    two_front_ends(cluster, tmp_path, forks, 8)


@pytest.mark.slow
def test_two_front_ends_one_killed_often(cluster: Cluster, tmp_path: Path, forks: Forks) -> None:
    two_front_ends(cluster, tmp_path, forks, 100)


def test_a_database_that_crashes(tmp_path: Path, forks: Forks) -> None:
    """PostgreSQL itself is killed in the middle of intake and comes back; the service never ends."""
    with Cluster() as mine:
        world = World(tmp_path / "one", store=mine.database())
        front = Front(forks, world.folder)
        run = Run(world, [front], random.Random(1))

        def crash(acknowledged: int) -> None:
            until(lambda: run.acknowledged >= acknowledged)  # so that reports come before, during and after
            mine.stop("immediate")
            time.sleep(0.3)
            mine.start()

        try:
            front.set_time(START)
            front.start()
            front.wait()
            for period in (1, 2):
                run.trial(period, None, (0, 0), meanwhile=partial(crash, run.acknowledged + CLIENTS // 2))
            assert front.starts == 1
        finally:
            front.end()
