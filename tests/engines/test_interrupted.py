"""The folder of an interrupted run: private, one run at a time, and nothing in it is believed without a check."""

from __future__ import annotations

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
            Local().privatise(PLAN, data, out)
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
        Local().privatise(PLAN, data, out)
    assert not list(open_to_all.iterdir())
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ParameterError, match="the folder of a run must be yours alone"):
        Local().privatise(PLAN, data, out)
    folder.rmdir()
    folder.write_text("a file")
    with pytest.raises(ParameterError, match="the folder of a run must be yours alone"):
        Local().privatise(PLAN, data, out)


def test_one_run_at_a_time(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.batch"
    work = resumable.Work(PLAN, source_of(data), out)
    with pytest.raises(ParameterError, match="out must be written by one run at a time"):
        Local().privatise(PLAN, data, out)
    work.close()
    assert Local().privatise(PLAN, data, out).users == N


def test_rows_in_memory_are_always_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.batch"
    interrupted(monkeypatch, table("a"), out, calls=1)
    state = tmp_path / "r.batch.parts" / "state.json"
    assert json.loads(state.read_text())["groups"] == 0
    # as if it had been stopped after its only group
    work = resumable.Work(PLAN, source_of(table("a")), out)
    work.scatter(np.zeros(N, dtype="V1"), np.zeros(N, dtype=np.int64), users=N, for_release=True)
    work.finish_group()
    work.close()
    header = Local().privatise(PLAN, table("b"), out)
    assert header.users == N and set(read_reports(out, PLAN).data.tolist()) == {1}, "the rows that were passed"


def test_a_file_that_changed_is_noticed_whatever_its_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, data, tmp_path / "r.batch")
    pq.write_table(table("b"), data, row_group_size=100)
    os.utime(data, (1, 1))
    with pytest.raises(ParameterError, match="must go on with the same plan and data"):
        Local().privatise(PLAN, data, tmp_path / "r.batch")


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), lambda path: path.unlink()])
def test_lost_messages_are_not_made_up(
    damage: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(monkeypatch, data, tmp_path / "r.batch")
    lengths = json.loads((folder / "state.json").read_text())["lengths"]
    damage(folder / f"{int(np.argmax(lengths)):02d}")
    with pytest.raises(ParameterError, match="got a file that is too short"):
        Local().privatise(PLAN, data, tmp_path / "r.batch")
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
        Local().privatise(PLAN, data, tmp_path / "r.batch")


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
    work.scatter(np.zeros(2, dtype="V1"), np.array([3, 5]), users=2, for_release=True)
    synced.clear()
    work.finish_group()
    work.close()
    assert synced[:2] == ["03", "05"] and len(synced) == 3


def test_a_seeded_order_of_finished_messages_is_not_for_release(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.batch"
    work = resumable.Work(PLAN, source_of(data), out)
    for _ in range(4):
        work.scatter(np.zeros(100, dtype="V1"), np.zeros(100, dtype=np.int64), users=100, for_release=True)
        work.finish_group()
    work.close()
    assert Local().privatise(PLAN, data, out, rng=np.random.default_rng(0)).for_release is False


def test_the_data_are_not_overwritten(data: Path, tmp_path: Path) -> None:
    raw = data.read_bytes()
    (tmp_path / "link.parquet").symlink_to(data)
    for out in (data, tmp_path / "link.parquet"):
        with pytest.raises(ParameterError, match="out must be a file of its own"):
            Local().privatise(PLAN, data, out)
    for bad in ("", ".", "/", "..", tmp_path):
        with pytest.raises(ParameterError, match="out must be the path of a file"):
            Local().privatise(PLAN, data, bad)
    assert data.read_bytes() == raw


def test_values_of_an_interrupted_run_are_counted_once(data: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """And a run that was refused leaves nothing, so that accepting it draws every user for the first time."""
    told: list[Any] = []
    plain = sdp.Plan(
        query=sdp.queries.Histogram(column="x", labels=["z", "b"], mechanism="grr:eps0=20"), users=N, delta=1e-6
    )
    out = tmp_path / "out.batch"
    with pytest.raises(ParameterError, match=r"'x' may be unlisted, got 100 % \(400 of 400\)"):
        Local().privatise(plain, data, out)
    assert not list(tmp_path.glob("out*"))
    interrupted(monkeypatch, data, out)
    header = Local().privatise(PLAN, data, out, tell=told.append)
    assert header.users == N and [found.to_dict()["x"]["values"] for found in told] == [N]
    assert not out.with_name(out.name + ".parts").exists()
