"""The local engine: every kind of source, every row a report, resumed runs, and damaged files in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from shuffledp.engines import resumable
from shuffledp.engines.base import engine
from shuffledp.engines.columns import as_column, chosen_rows, rows
from shuffledp.engines.local import Local
from shuffledp.engines.reading import source_of
from shuffledp.engines.report_files import read_reports
from shuffledp.errors import ParameterError
from shuffledp.queries.columns import Coded
from shuffledp.randomness.sampling import source

Histogram, Mean = sdp.queries.Histogram, sdp.queries.Mean
N = 4000
RNG = np.random.default_rng(0)
FRUIT = np.array(["apple", "pear", "kiwi", None], dtype=object)[RNG.choice(4, N, p=[0.5, 0.3, 0.1, 0.1])]
TABLE = pa.table({"fruit": FRUIT, "wait": RNG.gamma(2.0, 8.0, N), "user": RNG.integers(0, 1000, N)})


def plan_with(**more: Any) -> sdp.Plan:
    query = Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=8")
    return sdp.Plan(**{"query": query, "users": N, "minimum_batch": 100, "delta": 1e-6, **more})


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "data.parquet"
    pq.write_table(TABLE, path, row_group_size=500)
    return path


def sources(tmp_path: Path) -> dict[str, Any]:
    pq.write_table(TABLE, tmp_path / "d.parquet", row_group_size=777)
    pyarrow.csv.write_csv(TABLE, tmp_path / "d.csv")
    pyarrow.csv.write_csv(TABLE, tmp_path / "d.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    with pyarrow.ipc.new_file(tmp_path / "d.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=500)
    return {
        "parquet": tmp_path / "d.parquet",
        "csv": str(tmp_path / "d.csv"),
        "tsv": tmp_path / "d.tsv",
        "arrow": tmp_path / "d.arrow",
        "table": TABLE,
        "batch": TABLE.to_batches()[0],
        "pandas": TABLE.to_pandas(),
        "reader": TABLE.to_reader(),
    }


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "arrow", "table", "batch", "pandas", "reader"])
def test_every_source_gives_every_row(kind: str, tmp_path: Path) -> None:
    plan, data = plan_with(), sources(tmp_path)[kind]
    seen: list[tuple[int, int]] = []
    collector = Local().count(plan, data, progress=lambda done, total: seen.append((done, total)))
    answer = collector.estimate()
    truth = np.array(
        [np.mean(FRUIT == "apple"), np.mean(FRUIT == "pear"), np.mean((FRUIT != "apple") & (FRUIT != "pear"))]
    )
    assert collector.users == N and seen[-1][0] == N
    assert np.all(np.abs(answer.value - truth) < 5 * answer.stderr) and answer.for_release is True


def test_exact_answers_are_those_of_the_rows(parquet: Path) -> None:
    plan = plan_with()
    assert Local().exact(plan, parquet).value.sum() == pytest.approx(1.0)
    assert Local().exact(plan, parquet).value[0] == pytest.approx(np.mean(FRUIT == "apple"))
    mean = plan_with(query=Mean(column="wait", low=0, high=60, mechanism="laplace:eps0=1"))
    assert Local().exact(mean, TABLE).value[0] == pytest.approx(np.clip(TABLE["wait"].to_numpy(), 0, 60).mean())


@pytest.mark.parametrize("suffix", ["parquet", "batch"])
def test_privatized_reports_are_counted_as_they_are(suffix: str, parquet: Path, tmp_path: Path) -> None:
    plan, out = plan_with(), tmp_path / f"reports.{suffix}"
    header = Local().privatize(plan, parquet, out)
    batch = read_reports(out, plan)
    assert (header.users, header.messages, header.bytes) == (N, N, 1) and batch.header == header
    collector = sdp.Collector(plan)
    assert collector.ingest(batch) and not collector.ingest(read_reports(out, plan))
    truth = Local().exact(plan, parquet)
    assert np.all(np.abs(collector.estimate().value - truth.value) < 5 * collector.estimate().stderr)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.parquet", out.name], "no folder is left"


@pytest.mark.heavy
def test_the_order_of_rows_is_gone(tmp_path: Path) -> None:
    """Rows in two halves, apples first: the reports of either half are mixed over the whole file, in every group."""
    plan, out = plan_with(), tmp_path / "r.parquet"
    pq.write_table(
        pa.table({"fruit": ["apple"] * 20_000 + ["pear"] * 20_000}), tmp_path / "d.parquet", row_group_size=5000
    )
    Local().privatize(plan, tmp_path / "d.parquet", out)
    apples = read_reports(out, plan).data == 0
    for part in np.split(apples, 8):
        assert abs(part.mean() - apples.mean()) < 5 * 0.5 / np.sqrt(5000)
    file = pq.ParquetFile(out)
    assert file.schema_arrow.names == ["message"] and file.metadata.row_group(0).column(0).statistics is None


@pytest.mark.heavy
def test_an_interrupted_run_goes_on(parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, out = plan_with(), tmp_path / "r.parquet"
    calls: list[int] = []
    real = resumable.Work.scatter

    def stopped(self: Any, *args: Any, **more: Any) -> None:
        calls.append(1)
        real(self, *args, **more)
        if len(calls) == 4:  # after writing, before the group is finished
            raise KeyboardInterrupt

    monkeypatch.setattr(resumable.Work, "scatter", stopped)
    with pytest.raises(KeyboardInterrupt):
        Local().privatize(plan, parquet, out)
    assert not out.exists() and (tmp_path / "r.parquet.parts").stat().st_mode & 0o077 == 0
    header = Local().privatize(plan, parquet, out)
    assert header.users == header.messages == N and len(read_reports(out, plan).data) == N
    assert len(calls) == 4 + 5, "three groups were kept, the fourth was drawn again"
    assert not (tmp_path / "r.parquet.parts").exists()


@pytest.mark.heavy
def test_an_interrupted_run_goes_on_with_the_same_data_only(parquet: Path, tmp_path: Path) -> None:
    plan, out = plan_with(), tmp_path / "r.parquet"
    work = resumable.Work(plan, source_of(parquet), out)
    work.scatter(np.zeros(2, dtype="V1"), source(None), users=2, for_release=True)
    work.close()  # before the first group was finished: there is nothing to go on with
    assert not (tmp_path / "r.parquet.parts").exists()
    work = resumable.Work(plan, source_of(parquet), out)
    work.scatter(np.zeros(2, dtype="V1"), source(None), users=2, for_release=True)
    work.finish_group()
    work.close()
    before = (tmp_path / "r.parquet.parts" / "state.json").read_bytes()
    other = plan_with(name="other")
    with pytest.raises(ParameterError, match=r"must resume with the same plan and data, .*finish that run"):
        Local().privatize(other, parquet, out)
    assert (tmp_path / "r.parquet.parts" / "state.json").read_bytes() == before
    assert Local().privatize(other, parquet, out, overwrite=True).users == N
    assert not (tmp_path / "r.parquet.parts").exists() and len(read_reports(out, other).data) == N


@pytest.mark.parametrize("reports", [1, 3])
def test_users_with_several_rows_send_as_many_reports_as_planned(reports: int, parquet: Path, tmp_path: Path) -> None:
    plan = plan_with(user_column="user", reports_per_user=reports)
    people = len(np.unique(TABLE["user"].to_numpy()))
    collector = Local().count(plan, parquet)
    assert collector.users == people and collector.estimate().n == people * reports
    header = Local().privatize(plan, parquet, tmp_path / "r.parquet")
    assert (header.users, header.messages) == (people, people * reports)


@pytest.mark.heavy
def test_rows_of_a_user_are_drawn_uniformly() -> None:
    users = np.array([5, 5, 5, 9, 9, 1])
    seen = np.zeros(6)
    for _ in range(3000):
        places = chosen_rows(users, 1, source(None))
        assert len(places) == 3
        seen[places] += 1
    assert np.all(np.abs(seen[:3] - 1000) < 130) and np.all(np.abs(seen[3:5] - 1500) < 140) and seen[5] == 3000
    twice = chosen_rows(users, 2, source(None)).reshape(-1, 2)
    assert sorted(len(set(row) - {-1}) for row in twice.tolist()) == [1, 2, 2]
    assert len(chosen_rows(np.array([np.nan, np.nan, 3.0]), 1, source(None))) == 2, (
        "rows of nobody are those of one user"
    )
    assert chosen_rows(np.zeros(0, dtype=np.int64), 1, source(None)).size == 0


def test_several_reports_need_to_know_the_users(parquet: Path) -> None:
    with pytest.raises(ParameterError, match="needs the column of the users"):
        Local().count(plan_with(reports_per_user=2), parquet)


def test_columns_of_every_type() -> None:
    cases: dict[str, pa.Array] = {
        "int8": pa.array([1, 2, None], pa.int8()),
        "int64": pa.array([2**60, None, 3]),
        "float": pa.array([1.5, None, float("nan")]),
        "decimal": pa.array([1, None, 3]).cast(pa.decimal128(22, 2)),
        "bool": pa.array([True, None, False]),
        "text": pa.array(["a", None, "b"]),
        "large": pa.array(["a", None, "b"], pa.large_string()),
        "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
        "date": pa.array([0, None, 1], pa.date32()),
        "null": pa.nulls(3),
    }
    domain = Histogram(column="x", labels=["a", 1, True, 2**60], mechanism="grr:eps0=1").domain
    for name, array in cases.items():
        column = as_column(pa.chunked_array([array[:1], array[1:]]))
        whole = domain.places(column)
        slow = domain.places(array.to_pylist())
        assert whole.tolist() == slow.tolist(), name
        some = rows(column, np.array([2, -1, 0]))
        assert domain.places(some).tolist() == [slow[2], domain.place_of_other, slow[0]], name
    assert isinstance(as_column(cases["text"]), Coded)
    assert len(as_column(pa.chunked_array([], pa.int64()))) == 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-200]), "data must be readable, got damaged content"),
        (lambda p: p.write_bytes(b"PAR1 nonsense"), "data must be readable"),
        (lambda p: p.write_bytes(b""), "data must be readable"),
        (lambda p: p.unlink(), "No such file or directory"),
    ],
)
def test_a_damaged_parquet_file(make: Any, said: str, parquet: Path, tmp_path: Path) -> None:
    make(parquet)
    for run in (
        lambda: Local().count(plan_with(), parquet),
        lambda: Local().privatize(plan_with(), parquet, tmp_path / "r"),
    ):
        with pytest.raises(ParameterError, match=said):
            run()


def test_a_damaged_page_in_the_middle(parquet: Path) -> None:
    pq.write_table(TABLE.select(["wait"]), parquet, row_group_size=500, write_page_checksum=True)
    raw = bytearray(parquet.read_bytes())
    start = len(raw) // 3
    raw[start : start + 400] = bytes(400)
    parquet.write_bytes(bytes(raw))
    with pytest.raises(ParameterError, match="data must be readable"):
        Local().count(plan_with(query=Mean(column="wait", low=0, high=60, mechanism="laplace:eps0=1")), parquet)


def test_other_bad_data(tmp_path: Path) -> None:
    plan = plan_with()
    with pytest.raises(ParameterError, match="data must have the column 'fruit', got 'a'"):
        Local().count(plan, pa.table({"a": [1]}))
    with pytest.raises(ParameterError, match="data must have at least one row"):
        Local().count(plan, pa.table({"fruit": pa.array([], pa.string())}))
    with pytest.raises(ParameterError, match="data must have at least one row"):
        Local().privatize(plan, pa.table({"fruit": pa.array([], pa.string())}), tmp_path / "r.parquet")
    with pytest.raises(ParameterError, match="data must be a file"):
        Local().count(plan, 7)
    (tmp_path / "x.xlsx").write_bytes(b"")
    with pytest.raises(ParameterError, match=r"data must be a \.parquet, \.csv, \.tsv or \.arrow file"):
        Local().count(plan, tmp_path / "x.xlsx")
    with pytest.raises(ParameterError, match="engine must be 'local' or 'spark'"):
        engine("dask")
    with pytest.raises(ParameterError, match="out must be a file that can be written"):
        Local().privatize(plan, TABLE, tmp_path / "missing" / "r.parquet")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-100]), "reports must be readable"),
        (
            lambda p: pq.write_table(pa.table({"message": [b"a"]}), p),
            "reports must be a file that 'shuffledp privatize' wrote",
        ),
        (lambda p: p.unlink(), "must be a readable file"),
        (lambda p: _rewritten(p, drop=1), "reports must hold 4,000 messages of 1 bytes, got 3,999"),
    ],
)
def test_damaged_reports(damage: Any, said: str, parquet: Path, tmp_path: Path) -> None:
    plan, out = plan_with(), tmp_path / "r.parquet"
    Local().privatize(plan, parquet, out)
    damage(out)
    with pytest.raises(ParameterError, match=said):
        read_reports(out, plan)


def _rewritten(path: Path, drop: int) -> None:
    table = pq.read_table(path)
    pq.write_table(table.slice(drop), path)


@pytest.mark.heavy
def test_reports_of_another_plan(parquet: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    Local().privatize(plan_with(), parquet, out)
    with pytest.raises(ParameterError, match="batch must be of this plan"):
        read_reports(out, plan_with(name="another"))


@pytest.mark.heavy
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Peak of Python allocations for 30 groups is that of a few (numpy reports its arrays to tracemalloc)."""
    import tracemalloc

    plan = plan_with(query=Histogram(column="x", labels=list(range(16)), mechanism="grr:eps0=2"))
    peaks = []
    for groups in (3, 30):
        path = tmp_path / f"{groups}.parquet"
        table = pa.table({"x": np.tile(np.arange(16, dtype=np.uint8), 50_000 * groups // 16)})
        pq.write_table(table, path, row_group_size=50_000)
        tracemalloc.start()
        Local().count(plan, path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0] + 40_000_000


def test_pandas_frames_with_missing_values() -> None:
    frame = pd.DataFrame({"fruit": ["apple", None, "pear"]})
    assert Local().exact(plan_with(), frame).value.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])


@pytest.mark.heavy
def test_a_header_says_nothing_about_rows(parquet: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    Local().privatize(plan_with(), parquet, out)
    metadata = pq.ParquetFile(out).schema_arrow.metadata
    assert set(metadata) == {b"shuffledp batch 3"}
    said = {"plan", "id", "users", "messages", "bytes", "for_release", "made_from"}
    assert set(json.loads(metadata[b"shuffledp batch 3"])) == said
