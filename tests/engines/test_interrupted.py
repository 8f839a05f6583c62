"""The folder of an interrupted run: private, one run at a time, and nothing in it is believed without a check."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from shuffledp.engines import resumable
from shuffledp.engines.local import Local
from shuffledp.engines.reading import source_of
from shuffledp.engines.report_files import read_reports
from shuffledp.errors import ParameterError
from shuffledp.protocol.batch import Header
from shuffledp.randomness.sampling import source

N = 400
PLAN = sdp.Plan(
    query=sdp.queries.Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=20"),
    users=N,
    minimum_batch=10,
    delta=1e-6,
)


def table(value: str) -> pa.Table:
    return pa.table({"x": [value] * N})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "d\u00e9j\n'vu.parquet"  # its repr is not its name
    pq.write_table(table("a"), path, row_group_size=100)
    return path


def interrupted(
    monkeypatch: pytest.MonkeyPatch, data: Any, out: Path, *, calls: int = 3, plan: sdp.Plan = PLAN
) -> Path:
    """The folder of a run that was stopped in the middle of a group."""
    real, seen = resumable.Work.scatter, []

    def stopped(self: Any, *args: Any, **more: Any) -> None:
        real(self, *args, **more)
        seen.append(1)
        if len(seen) == calls:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resumable.Work, "scatter", stopped)
        with pytest.raises(KeyboardInterrupt):
            Local().privatize(PLAN, data, out)
    return out.with_name(out.name + ".parts")


def test_everything_in_the_folder_is_private(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o022)
    try:
        folder = interrupted(monkeypatch, data, tmp_path / "r.batch")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert len(modes) > 3 and set(modes.values()) == {0o600}


def test_a_folder_of_others_is_refused(data: Path, tmp_path: Path) -> None:
    out, folder, open_to_all = tmp_path / "r.batch", tmp_path / "r.batch.parts", tmp_path / "open"
    open_to_all.mkdir(mode=0o700)
    folder.symlink_to(open_to_all)
    with pytest.raises(ParameterError, match="the folder of a run must be yours alone"):
        Local().privatize(PLAN, data, out)
    assert not list(open_to_all.iterdir())
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ParameterError, match="the folder of a run must be yours alone"):
        Local().privatize(PLAN, data, out)
    folder.rmdir()
    folder.write_text("a file")
    with pytest.raises(ParameterError, match="the folder of a run must be yours alone"):
        Local().privatize(PLAN, data, out)


def test_one_run_at_a_time(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.batch"
    work = resumable.Work(PLAN, source_of(data), out)
    with pytest.raises(ParameterError, match="out must be written by one run at a time"):
        Local().privatize(PLAN, data, out)
    work.close()
    assert Local().privatize(PLAN, data, out).users == N


def test_a_disk_that_is_full_in_the_middle_is_named_and_what_is_done_is_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real = tmp_path / "r.batch", resumable._private

    def full(path: Path) -> Any:
        if out.with_name("r.batch.parts").joinpath("state.json").read_text().find('"groups": 2') > 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(resumable, "_private", full)
        with pytest.raises(ParameterError, match=r"out must be in a folder .*r\.batch' \(No space left on device\)"):
            Local().privatize(PLAN, data, out)
    drawn: list[int] = []
    header = Local().privatize(PLAN, data, out, progress=lambda done, total: drawn.append(done))
    assert header.users == N and drawn == [300, 400], "the first two groups were kept"


def test_rows_in_memory_are_always_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.batch"
    assert not interrupted(monkeypatch, table("a"), out, calls=1).exists(), (
        "nothing is kept of a group that was cut off"
    )
    # as if it had been stopped after its only group
    work = resumable.Work(PLAN, source_of(table("a")), out)
    work.scatter(np.zeros(N, dtype="V1"), source(None), users=N, for_release=True)
    work.finish_group()
    work.close()
    header = Local().privatize(PLAN, table("b"), out)
    assert header.users == N and set(read_reports(out, PLAN).data.tolist()) == {1}, "the rows that were passed"


def test_a_file_that_changed_is_noticed_whatever_its_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, data, tmp_path / "r.batch")
    pq.write_table(table("b"), data, row_group_size=100)
    os.utime(data, (1, 1))
    with pytest.raises(ParameterError, match="must resume with the same plan and data"):
        Local().privatize(PLAN, data, tmp_path / "r.batch")


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), lambda path: path.unlink()])
def test_lost_messages_are_not_made_up(
    damage: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(monkeypatch, data, tmp_path / "r.batch")
    lengths = json.loads((folder / "state.json").read_text())["lengths"]
    damage(folder / f"{int(np.argmax(lengths)):02d}")
    with pytest.raises(ParameterError, match="got a file that is too short"):
        Local().privatize(PLAN, data, tmp_path / "r.batch")
    assert not (tmp_path / "r.batch").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"groups": -3},
        {"groups": 5},
        {"groups": 1.0},
        {"users": "x"},
        {"users": True},
        {"messages": 10**6},
        {"lengths": [0]},
        {"lengths": [0] * 64},
        {"lengths": "none"},
        {"lengths": [-1] * 64},
        {"for_release": "yes"},
    ],
)
def test_a_bad_state_is_refused(
    change: dict[str, Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(monkeypatch, data, tmp_path / "r.batch")
    state = folder / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), **change}))
    with pytest.raises(ParameterError, match="the state of an interrupted run must be as it was written"):
        Local().privatize(PLAN, data, tmp_path / "r.batch")


def test_messages_are_on_the_disk_before_they_are_written_down(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    work = resumable.Work(PLAN, source_of(data), tmp_path / "r.batch")
    work.scatter(np.zeros(2, dtype="V1"), source(None), users=2, for_release=True)
    synced.clear()
    used = sorted(path.name for path in (tmp_path / "r.batch.parts").iterdir() if path.name != "state.json")
    work.finish_group()
    work.close()
    assert used and synced[: len(used)] == used
    assert synced[len(used)].endswith(".part") and synced[len(used) + 1 :] == ["r.batch.parts"]


def test_a_seeded_order_of_finished_messages_is_not_for_release(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.batch"
    work = resumable.Work(PLAN, source_of(data), out)
    for _ in range(4):
        work.scatter(np.zeros(100, dtype="V1"), source(None), users=100, for_release=True)
        work.finish_group()
    work.close()
    assert Local().privatize(PLAN, data, out, rng=np.random.default_rng(0)).for_release is False


def all_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.heavy
def test_what_cannot_be_gone_on_with_is_left_as_it_is(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal removes nothing, and asks nobody to remove what has been drawn."""
    out = tmp_path / "r.batch"
    folder = interrupted(monkeypatch, data, out)
    state = folder / "state.json"
    for damaged in ("", "{", "[]", json.dumps({**json.loads(state.read_text()), "id": "x"})):
        state.write_text(damaged)
        before = all_of(folder)
        with pytest.raises(ParameterError, match=r"must be as it was written, .*restore that folder from a copy.*\.$"):
            Local().privatize(PLAN, data, out)
        assert all_of(folder) == before
    assert Local().privatize(PLAN, data, out, overwrite=True).users == N and not folder.exists()


# -- the end of a run -------------------------------------------------------------------------------------------------


def stopped_at_the_end(monkeypatch: pytest.MonkeyPatch, data: Path, out: Path, *, removed: int) -> Header:
    """A run that ends, as if killed, when its result has its name and so many files of its folder were removed."""
    real, seen = Path.unlink, []

    def unlink(self: Path, **more: Any) -> None:
        if self.parent.name.endswith(".parts") and out.exists():
            seen.append(self)
            if len(seen) > removed:
                raise KeyboardInterrupt
        real(self, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(KeyboardInterrupt):
            Local().privatize(PLAN, data, out)
    return read_reports(out, PLAN).header


@pytest.mark.parametrize("name", ["r.batch", "r.parquet"])
@pytest.mark.parametrize("removed", [0, 1, 5])
def test_killed_at_the_end_nobody_is_drawn_anew(
    removed: int, name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / name
    first, raw = stopped_at_the_end(monkeypatch, data, out, removed=removed), out.read_bytes()
    assert Local().privatize(PLAN, data, out, overwrite=name == "r.batch") == first and out.read_bytes() == raw
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, name])


@pytest.mark.heavy
def test_killed_at_the_end_and_moved_away(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.batch"
    first = stopped_at_the_end(monkeypatch, data, out, removed=5)
    out.rename(tmp_path / "fetched.batch")
    with pytest.raises(ParameterError, match=f"batch {first.id} was written and where it is no more; look where"):
        Local().privatize(PLAN, data, out)
    with pytest.raises(ParameterError, match="data must be privatized once for a plan"):
        Local().privatize(PLAN, data, tmp_path / "second.batch")
    assert Local().privatize(PLAN, data, out, overwrite=True).id != first.id
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, "r.batch", "fetched.batch"])


# -- fresh noise over an old file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.batch", "r.parquet"])
def test_a_second_report_of_everybody_is_refused(name: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / name
    first, raw = Local().privatize(PLAN, data, out), out.read_bytes()
    for again in (data, table("a")):
        said = f"out must be a new file, got .*holds batch {first.id} of this plan, of 400 users, and is done; keep it"
        with pytest.raises(ParameterError, match=said):
            Local().privatize(PLAN, again, out)
    assert out.read_bytes() == raw and not out.with_name(name + ".parts").exists()
    second = Local().privatize(PLAN, data, out, overwrite=True)
    assert second.id != first.id and read_reports(out, PLAN).header == second
    out.write_text("something else")
    with pytest.raises(ParameterError, match=r"got .*, a file; keep it"):
        Local().privatize(PLAN, data, out)
    assert out.read_text() == "something else"


@pytest.mark.heavy
def test_a_second_name_is_refused_while_an_interrupted_run_waits(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, data, tmp_path / "first.batch")
    with pytest.raises(ParameterError, match=r"privatized once for a plan, .*'.*first\.batch'; resume that one"):
        Local().privatize(PLAN, data, tmp_path / "second.batch")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([data.name, "first.batch.parts"])
    copy = tmp_path / "other.parquet"
    pq.write_table(table("a"), copy)
    assert Local().privatize(PLAN, copy, tmp_path / "third.batch").users == N, "other data"
    assert Local().privatize(PLAN, table("a"), tmp_path / "fourth.batch").users == N, "nothing says that they are"
    assert Local().privatize(PLAN, data, tmp_path / "second.batch", overwrite=True).users == N
    assert Local().privatize(PLAN, data, tmp_path / "first.batch").users == N


def test_a_second_name_is_refused_while_a_run_is_at_work(tmp_path: Path) -> None:
    data, first, second = (tmp_path / name for name in ("data.csv", "first.batch", "second.batch"))
    data.write_text("x\n" + "a\n" * N)
    tried = []

    def meanwhile(done: int, total: int) -> None:
        with pytest.raises(ParameterError, match=r"at work, drew reports for '.*first\.batch'; resume that one"):
            Local().privatize(PLAN, data, second)
        tried.append(done)

    assert Local().privatize(PLAN, data, first, progress=meanwhile).users == N
    assert tried and sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "first.batch"]


def test_the_data_are_not_overwritten(data: Path, tmp_path: Path) -> None:
    raw = data.read_bytes()
    (tmp_path / "link.parquet").symlink_to(data)
    for out in (data, tmp_path / "link.parquet"):
        with pytest.raises(ParameterError, match="out must be a file of its own"):
            Local().privatize(PLAN, data, out)
    for bad in ("", ".", "/", "..", tmp_path):
        with pytest.raises(ParameterError, match="out must be the path of a file"):
            Local().privatize(PLAN, data, bad)
    assert data.read_bytes() == raw


@pytest.mark.parametrize("bad", [100, 0])
def test_data_that_are_refused_do_not_stand_in_the_way_of_others(bad: int, tmp_path: Path) -> None:
    """Also if some of them were drawn: that is thrown away."""
    out, data = tmp_path / "r.batch", tmp_path / "d.parquet"
    pq.write_table(table("a"), data, row_group_size=100, compression="none", use_dictionary=False)
    raw = bytearray(data.read_bytes())
    at = raw.rindex(b"a" + b"\x01\0\0\0a" * 30)  # in the last row group
    raw[at + 1 : at + 5] = b"\xff" * 4
    data.write_bytes(raw)
    if not bad:
        pq.write_table(table("a").slice(0, 0), data)
    with pytest.raises(ParameterError, match=r"data must be readable|data must have at least one row"):
        Local().privatize(PLAN, data, out)
    assert [path.name for path in tmp_path.iterdir()] == ["d.parquet"]
    assert Local().privatize(PLAN, table("b"), out).users == N


def test_a_row_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x,y\n" + "a,1\n" * 300_000 + "a,1,2\n")
    with pytest.raises(ParameterError, match="Expected 2 columns, got 3"):
        Local().privatize(PLAN, tmp_path / "d.csv", tmp_path / "r.batch")
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_values_of_an_interrupted_run_are_counted_once(data: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """And a run that was refused leaves nothing, so that accepting it draws every user for the first time."""
    told: list[Any] = []
    plain = sdp.Plan(
        query=sdp.queries.Histogram(column="x", labels=["z", "b"], mechanism="grr:eps0=20"), users=N, delta=1e-6
    )
    out = tmp_path / "out.batch"
    with pytest.raises(ParameterError, match=r"'x' may be unlisted, got 100 % \(400 of 400\)"):
        Local().privatize(plain, data, out)
    assert not list(tmp_path.glob("out*"))
    interrupted(monkeypatch, data, out)
    header = Local().privatize(PLAN, data, out, tell=told.append)
    assert header.users == N and [found.to_dict()["x"]["values"] for found in told] == [N]
    assert not out.with_name(out.name + ".parts").exists()
