"""The Spark engine on a real cluster: lost workers, the order over all partitions, its own sources, the command line.

What it shares with every engine is in tests/contract/test_engines.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp._support.locking import alone_in
from shuffledp.engines.local import Local
from shuffledp.engines.reading import as_written, source_of
from shuffledp.engines.report_files import read_reports
from shuffledp.engines.spark import Spark
from shuffledp.engines.spark_tasks import gathered, plan_from

spark = pytest.mark.spark
N, PARTS = 24_000, 24


def asked(mechanism: str = "grr:eps0=40", labels: int = PARTS, **more: Any) -> sdp.Plan:
    """At eps0 = 40 every report is the value itself, so that what arrives can be compared exactly."""
    query = sdp.queries.Histogram(column="x", labels=list(range(labels)), mechanism=mechanism)
    return sdp.Plan(query=query, users=N, delta=1e-6, minimum_batch=1, **more)


def numbered(cluster: Any, *, pause: int = 0) -> Any:
    """A DataFrame whose rows hold the number of their partition; each partition takes ``pause`` milliseconds."""
    rows = cluster.range(0, N, numPartitions=PARTS).selectExpr(f"cast(id * {PARTS} div {N} as int) as x", "id")
    if pause:  # once per partition; no row is dropped
        slow = f"coalesce(reflect('java.lang.Thread', 'sleep', bigint({pause})), '') != 'never'"
        rows = rows.where(f"id % {N // PARTS} != 7 or {slow}")
    return rows.select("x")


# -- lost workers -----------------------------------------------------------------------------------------------------


def processes(cluster: Any, word: str) -> list[int]:
    """Processes that this test's own cluster started and whose command line has the word."""
    own, found = cluster.sparkContext._gateway.proc.pid, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                ancestor = int(entry.name)
                while ancestor not in (0, own):
                    ancestor = int((Path("/proc") / str(ancestor) / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if ancestor == own and word in command:
                found.append(int(entry.name))
    return found


def some_tasks_done(cluster: Any) -> bool:
    """Whether a stage is in its middle."""
    tracker = cluster.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(info and info.numTasks == PARTS and 3 <= info.numCompletedTasks < PARTS - 4 for info in infos)


@contextmanager
def killing(cluster: Any, word: str, ready: Callable[[], bool]) -> Iterator[list[int]]:
    """While the block runs: kill -9 one such process as soon as the time has come."""
    killed: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() and not killed:
            if ready():
                for pid in processes(cluster, word)[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@spark
@pytest.mark.parametrize("word", ["CoarseGrainedExecutorBackend", "pyspark.daemon"])
def test_counts_survive_a_killed_worker(cluster: Any, word: str) -> None:
    plan = asked()
    with killing(cluster, word, lambda: some_tasks_done(cluster)) as killed:
        found = Spark(cluster).count(plan, numbered(cluster, pause=300))
    assert len(killed) == 1
    assert found.users == N and len(found.batches) == 1
    assert found._tally.counts.tolist() == [N // PARTS] * PARTS + [0]


@spark
def test_messages_survive_a_killed_worker_in_either_stage(cluster: Any, tmp_path: Path) -> None:
    plan, out = asked(), tmp_path / "reports.parquet"
    engine = Spark(cluster)
    with killing(cluster, "CoarseGrainedExecutorBackend", lambda: some_tasks_done(cluster)) as first:
        header = engine.privatize(plan, numbered(cluster, pause=300), out)
    assert len(first) == 1

    def written() -> bool:  # the first stage is done, the sort is not
        return bool(list(tmp_path.glob(".again*/messages/_SUCCESS")))

    with killing(cluster, "CoarseGrainedExecutorBackend", written) as second:
        again = engine.privatize(plan, numbered(cluster), tmp_path / "again.parquet")
    assert len(second) == 1
    for path, said in ((out, header), (tmp_path / "again.parquet", again)):
        found = read_reports(path, plan)
        assert said.users == said.messages == N and found.header == said
        assert np.bincount(found.data).tolist() == [N // PARTS] * PARTS
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.parquet", "reports.parquet"]


# -- the order --------------------------------------------------------------------------------------------------------


@spark
def test_the_order_is_uniform_over_all_partitions(cluster: Any, tmp_path: Path) -> None:
    """A shuffle within partitions, or one that keeps them together, fails each of these."""
    plan, out = asked(), tmp_path / "reports.parquet"
    rows = numbered(cluster)
    assert rows.rdd.getNumPartitions() == PARTS
    Spark(cluster).privatize(plan, rows, out)
    found = read_reports(out, plan).data.astype(int)
    assert np.bincount(found).tolist() == [N // PARTS] * PARTS
    where = np.zeros((PARTS, 20))
    np.add.at(where, (found, np.arange(N) * 20 // N), 1)
    assert stats.chi2_contingency(where).pvalue > 1e-6
    marked = np.flatnonzero(found == 5)  # the rows of one partition: their places are a uniform draw from all places
    assert stats.kstest((marked + 0.5) / N, "uniform").pvalue > 1e-6
    same = (found[1:] == found[:-1]).mean()
    assert abs(same - 1 / PARTS) < 6 * np.sqrt(1 / PARTS / N)


@spark
def test_two_runs_have_different_orders_and_ids(cluster: Any, tmp_path: Path) -> None:
    plan, engine, rows = asked(), Spark(cluster), numbered(cluster)
    one, two = (engine.privatize(plan, rows, tmp_path / name) for name in ("one.batch", "two.parquet"))
    assert one.id != two.id
    first, second = read_reports(tmp_path / "one.batch", plan).data, read_reports(tmp_path / "two.parquet", plan).data
    assert abs((first == second).mean() - 1 / PARTS) < 6 * np.sqrt(1 / PARTS / N)


# -- its own sources, and the command line ----------------------------------------------------------------------------


@spark
def test_folders_and_odd_names_are_read(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "a folder [1] of parts.parquet"
    folder.mkdir()
    odd = sdp.Plan(
        query=sdp.queries.Histogram(column="a.b `c`", labels=["x"], mechanism="grr:eps0=40"), users=60, delta=1e-6
    )
    rows = pa.table({"a.b `c`": pa.array(["x", "y", None] * 10).dictionary_encode()})
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(rows, folder / name)
    found = Spark(cluster).count(odd, folder, accept=True)
    assert found.users == 60 and found._tally.counts.tolist() == [20, 40]


@spark
def test_the_command_line_runs_it(cluster: Any, tmp_path: Path) -> None:
    plan, data, out = tmp_path / "plan.json", tmp_path / "x.parquet", tmp_path / "reports.parquet"
    asked("grr:eps0=3", 4).save(plan)
    pq.write_table(pa.table({"x": np.arange(N) % 4}), data)
    made = run("privatize", str(plan), str(data), "-o", str(out), "--engine", "spark", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["users"] == N
    assert json.loads(run("estimate", str(plan), str(out), "--json").stdout)["users"] == N
    beside = run("simulate", str(plan), str(data), "--engine", "spark", "--json")
    assert beside.exit_code == 0 and json.loads(beside.stdout)["rmse"] < 0.05
    data.write_bytes(data.read_bytes()[:-100])
    again = ("privatize", str(plan), str(data), "-o", str(out), "--engine", "spark")
    assert "out must be a new file" in refused(run(*again)) and "damaged" in refused(run(*again, "--overwrite"))


@spark
@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("Jane,HIV+,3\n", "a row with more or fewer values than the first line has names|Expected 2 columns, got 3"),
        ("Jane\n", "a row with more or fewer values than the first line has names|Expected 2 columns, got 1"),
        ("K\xf6ln,2\n", "got another encoding, perhaps latin-1"),
    ],
)
def test_both_engines_refuse_the_same_rows_and_show_none(cluster: Any, last: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(("x,y\n" + "1,2\n" * 5000 + last + "1,2\n" * 5000).encode("latin-1"))
    for engine in (Local(), Spark(cluster)):
        with pytest.raises(sdp.ParameterError, match=said) as caught:
            engine.count(asked(), path)
        assert not any(word in str(caught.value) for word in ("Jane", "HIV", "ln,"))


@spark
def test_both_engines_read_the_same_texts(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('\ufeff"x",y\nK\u00f6ln,1\n\n"K""\u00f6ln",2\n,3\n\ufffd,4\n', encoding="utf-8")
    query = sdp.queries.Histogram(column="x", labels=["K\u00f6ln", 'K"\u00f6ln', "\ufffd"], mechanism="grr:eps0=40")
    plan = sdp.Plan(query=query, users=4, delta=1e-6)
    for engine in (Local(), Spark(cluster)):
        assert engine.count(plan, path, accept=True)._tally.counts.tolist() == [1, 1, 1, 1]


@spark
def test_both_engines_refuse_an_empty_line_that_may_be_a_user(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    for empty in ("\n", " \n"):
        path.write_text(f"x\n1\n{empty}2\n")
        for engine in (Local(), Spark(cluster)):
            with pytest.raises(sdp.ParameterError, match="data of one column must have no empty line"):
                engine.count(asked(), path)


@spark
def test_the_folder_of_a_killed_driver_is_removed(cluster: Any, tmp_path: Path) -> None:
    """One that is at work keeps its own, and so does a result of another name."""
    left, other, busy = (tmp_path / name for name in (".r.batch.spark-1", ".r.batch2.spark-1", ".r.batch.spark-2"))
    for folder in (left, other, busy):
        (folder / "messages").mkdir(parents=True)
        (folder / "messages" / "part").write_text("messages")
    with alone_in(busy):
        Spark(cluster).privatize(asked(), numbered(cluster), tmp_path / "r.batch")
    assert sorted(path.name for path in tmp_path.iterdir()) == [busy.name, other.name, "r.batch"]


FRESH = """
import sys, pyarrow as pa, shuffledp as sdp
from shuffledp.engines.base import engine
query = sdp.queries.Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=1")
plan = sdp.Plan(query=query, users=100, delta=1e-6)
try:
    print(engine("spark").count(plan, pa.table({"x": ["a", "b"] * 50})).users)
except sdp.ShuffleDPError as error:
    print(type(error).__name__, error)
"""


def fresh(start: str = "", **setting: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", start + FRESH], capture_output=True, text=True, check=True, env={**os.environ, **setting}
    )
    return done.stdout.strip()


@spark
def test_without_a_session_it_makes_one(cluster: Any) -> None:
    assert fresh(PYSPARK_SUBMIT_ARGS="--master local[2] pyspark-shell") == "100"


@spark
def test_without_java_there_is_one_sentence(tmp_path: Path) -> None:
    said = fresh(PATH=str(tmp_path), JAVA_HOME="")
    assert said == (
        "ShuffleDPError the Spark engine needs Java 17 or later, got none on the path; install it or set JAVA_HOME."
    )
    assert "JAVA_HOME = " in fresh(JAVA_HOME=str(tmp_path))


@pytest.mark.heavy
def test_without_pyspark_there_is_one_sentence() -> None:
    said = fresh("import sys; sys.modules['pyspark'] = None\n")
    assert said == (
        "ShuffleDPError the Spark engine needs pyspark, which is not installed; pip install '.[spark]' in a checkout "
        "of shuffledp."
    )


# -- what runs on the executors, here ---------------------------------------------------------------------------------


def test_record_batches_are_gathered() -> None:
    batches = pa.table({"x": np.arange(1000)}).to_batches(max_chunksize=70)
    parts = list(gathered(iter(batches), 256))
    assert [part.num_rows for part in parts] == [280, 280, 280, 160]
    assert np.concatenate([part.column(0) for part in parts]).tolist() == list(range(1000))
    assert [part.num_rows for part in gathered(iter(batches[:1]), 30)] == [30, 30, 10]


def test_texts_become_what_the_local_engine_reads(tmp_path: Path) -> None:
    columns = {"a": ["1", " 2", "NA", None], "b": ["x", "", "nan", "y"]}
    (tmp_path / "t.csv").write_text("a,b\n1,x\n 2,\nNA,nan\n,y\n")
    local = next(source_of(tmp_path / "t.csv").batches(["a", "b"]))
    assert as_written(pa.record_batch(columns)).equals(local, check_metadata=True)


def test_a_plan_is_built_once() -> None:
    text = json.dumps(asked().to_dict())
    assert plan_from(text) is plan_from(text)
