"""Killed at any moment: nothing is lost, nothing is counted twice, no file is torn.

Every story runs commands that are killed at random moments, looks at the files after each kill, and ends with the same
command left to its end.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from house.killing import Killer, Moment
from shuffledp.engines.local import Local
from shuffledp.engines.report_files import read_reports
from shuffledp.errors import ParameterError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork and no SIGKILL")

N, GROUPS = 12, 3
#: In every fifth kill the moment is a time, else it is a line.
_BY_TIME = 0.2


class Story:
    """A folder, a plan, and commands that are killed at random moments."""

    def __init__(self, killer: Killer, home: Path, seed: int, lines: dict[str, int]) -> None:
        self.random, self.home, self._killer, self._lines = random.Random(seed), home, killer, lines
        self.kills, self._seconds = 0, 1.0
        # odd stories: the messages are the values; even ones: two draws of the same values differ
        self.clear = bool(seed % 2)
        query = sdp.queries.Histogram(
            column="x", labels=list(range(N)), mechanism=f"grr:eps0={40 if self.clear else 0.1}"
        )
        self.plan = sdp.Plan(query=query, users=N, minimum_batch=N, delta=1e-6)
        self.values = np.arange(N)
        home.mkdir()
        self.plan.save(home / "plan.json")
        pq.write_table(pa.table({"x": self.values}), home / "data.parquet", row_group_size=N // GROUPS)

    def killed(self, *command: object) -> bool:
        """Kill a command at a random moment; whether it was killed, or had come to its end."""
        if not self._lines:
            self.whole(*command)
            return False
        if self.random.random() < _BY_TIME:
            at = Moment(seconds=self.random.uniform(0.0, self._seconds))
        else:  # every line is as likely as any other, however often it is run
            line = self.random.choice(sorted(self._lines))
            at = Moment(line, self.random.randint(1, self._lines[line]))
        outcome = self._killer.run(command, at=at)
        assert outcome.code in (-9, 0, 2), outcome.said
        self.kills += outcome.code == -9
        return outcome.code == -9

    def whole(self, *command: object, also: tuple[str, ...] = ()) -> str:
        """Run a command to its end, which shows where it can be killed; it may be refused with certain words only."""
        outcome = self._killer.run(command, lines=True)
        assert outcome.code == 0 or any(words in outcome.said for words in also), (command, outcome.said)
        for line, count in outcome.lines.items():
            self._lines[line] = max(count, self._lines.get(line, 0))
        self._seconds = outcome.seconds
        return outcome.said

    def messages(self, path: Path) -> list[int]:
        """Of a batch, sorted; it must be whole."""
        batch = read_reports(path, self.plan)
        assert len(batch.data) == batch.header.messages == batch.header.users
        return sorted(batch.data.tolist())

    def leftovers(self) -> set[str]:
        """Names in the folder that no command was asked for, but for hidden files, which are private."""
        found = set()
        for path in self.home.iterdir():
            if path.name.startswith(".") and path.name.endswith(".part"):
                assert path.stat().st_mode & 0o077 == 0 or path.stat().st_size == 0
            else:
                found.add(path.name)
        return found


def privatizing(story: Story) -> None:
    out = story.home / f"r.{story.random.choice(['batch', 'parquet'])}"
    command = ("privatize", story.home / "plan.json", story.home / "data.parquet", "-o", out)
    state, ids, drawn = out.with_name(out.name + ".parts") / "state.json", set(), []

    def look() -> None:
        if out.exists():
            ids.add(read_reports(out, story.plan).header.id)
            drawn.append(story.messages(out))

    moved = False
    for _ in range(story.random.randint(1, 4)):
        story.killed(*command)
        look()
        if out.exists() and state.exists() and story.random.random() < 0.3:  # as one who fetches results would
            out.rename(out.with_name("moved" + out.suffix))
            moved = True
    # moved before the run was known to be done, the same batch is written again and may then stand there
    story.whole(*command, also=("and is done", *(["is no more; look where it was moved to"] if moved else [])))
    look()
    assert len(ids) == 1 and all(some == drawn[0] for some in drawn), "never drawn anew, always of one name"
    assert len(drawn[0]) == N and (not story.clear or drawn[0] == story.values.tolist())
    if not moved:
        assert story.leftovers() == {"plan.json", "data.parquet", out.name}


def shuffling(story: Story) -> None:
    plan, out = story.home / "plan.json", story.home / "all.batch"
    parts = [story.home / "a.batch", story.home / "b.parquet"]
    for part in parts:
        Local().privatize(story.plan, pa.table({"x": story.values}), part)
    before = [part.read_bytes() for part in parts]
    copies = []
    for i in range(story.random.randint(1, 3)):
        story.killed("shuffle", plan, *parts, "-o", out)
        if out.exists():
            copies.append(shutil.copy(out, story.home / f"copy-{i}.batch"))
    story.whole("shuffle", plan, *parts, "-o", out, also=("and is done",))
    assert [part.read_bytes() for part in parts] == before
    wanted = sorted(story.messages(parts[0]) + story.messages(parts[1]))
    assert all(story.messages(Path(path)) == wanted for path in [out, *copies])
    collector = sdp.Collector(story.plan)
    assert collector.ingest(out)
    for again in [*copies, *parts]:  # whatever was left of a killed run, its users are counted once
        try:
            counted = collector.ingest(read_reports(again, story.plan))
        except ParameterError:
            counted = False
        assert not counted and collector.users == 2 * N
    assert story.leftovers() == {"plan.json", "data.parquet", "all.batch", "a.batch", "b.parquet"} | {
        Path(path).name for path in copies
    }


def estimating(story: Story) -> None:
    plan, state = story.home / "plan.json", story.home / "state"
    batches = [story.home / f"{i}.batch" for i in range(3)]
    ids = [Local().privatize(story.plan, pa.table({"x": story.values}), path).id for path in batches]

    def counted() -> list[str]:
        return list(sdp.Collector.load(state, story.plan).batches) if state.exists() else []

    for path, batch in zip(batches, ids, strict=True):
        before = counted()
        story.killed("estimate", plan, path, "--state", state)
        assert counted() in (before, [*before, batch])
        story.whole("estimate", plan, path, "--state", state)
        assert counted() == [*before, batch]
    story.killed("estimate", plan, "--state", state, "--drop", ids[1])
    assert counted() in (ids, [ids[0], ids[2]])
    story.whole("estimate", plan, "--state", state, "--drop", ids[1], also=("which is none of the 2",))
    expected = sdp.Collector(story.plan)
    for path in (batches[0], batches[2]):
        expected.ingest(path)
    found = sdp.Collector.load(state, story.plan)
    assert found.batches == expected.batches
    assert np.array_equal(found.estimate().value, expected.estimate().value)
    assert story.leftovers() == {"plan.json", "data.parquet", "state", *(path.name for path in batches)}


def recording(story: Story) -> None:
    ledger = story.home / "ledger.json"

    def recorded() -> list[str | None]:
        return [entry.name for entry in sdp.Accountant.load(ledger).entries] if ledger.exists() else []

    for i in range(4):
        before = recorded()
        command = ("compose", ledger, "--round", f"grr:eps0=1,d=4,n=1000,name=r{i}")
        story.killed(*command)
        assert recorded() in (before, [*before, f"r{i}"])
        if recorded() == before:
            story.whole(*command)
    assert recorded() == ["r0", "r1", "r2", "r3"]
    assert story.leftovers() == {"plan.json", "data.parquet", "ledger.json"}


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    with Killer(tmp_path_factory.mktemp("killer")) as made:
        yield made


@pytest.mark.heavy_cases("estimating-1")
@pytest.mark.slow_cases("recording-1")
@pytest.mark.parametrize("kills", [1, pytest.param(125, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tell", [privatizing, shuffling, estimating, recording])
def test_killed_at_any_moment(tell: Callable[[Story], None], kills: int, killer: Killer, tmp_path: Path) -> None:
    done, number = 0, 0
    lines: dict[str, int] = {}
    while done < kills and number < 20 * kills:
        story = Story(killer, tmp_path / str(number), number, lines)
        try:
            tell(story)
        except BaseException as error:
            error.add_note(f"in story {number}")
            raise
        shutil.rmtree(story.home)
        done, number = done + story.kills, number + 1
    assert done >= kills
    print(f"{tell.__name__}: {done} kills in {number} stories, at {len(lines)} lines")
