"""Data to counts: a client, the local engine against a loop by hand, its memory, and Spark with one and two workers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp

from .rows import Row, cpu, cpu_of_process

N, D, MANY = 8_000_000, 128, 100_000_000
GROUP = 1 << 20


def plan(users: int) -> sdp.Plan:
    """A histogram over numbers below 128 by generalized randomized response."""
    asked = sdp.queries.Histogram(column="x", labels=list(range(D)), other=0, mechanism="grr:eps0=2")
    return sdp.Plan(query=asked, users=users, delta=1e-8)


def write(path: Path, rows: int) -> None:
    """A column of small whole numbers in many row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.Generator(np.random.SFC64(0))
    schema = pa.schema([("x", pa.uint8())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, GROUP):
            column = rng.integers(0, D, min(GROUP, rows - start), dtype=np.uint8)
            writer.write_table(pa.Table.from_arrays([pa.array(column)], schema=schema))


def by_hand(path: Path, m: sdp.GRR) -> NDArray[Any]:
    """What one would write with pyarrow and numpy, with its fastest generator."""
    import pyarrow.parquet as pq

    rng = np.random.Generator(np.random.SFC64(1))
    keep, total = m.keep, np.zeros(m.d, dtype=np.int64)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=GROUP, columns=["x"]):
            x = batch.column(0).to_numpy()
            other = rng.integers(0, m.d - 1, len(x), dtype=np.uint8)
            other += other >= x
            total += np.bincount(np.where(rng.random(len(x)) < keep, x, other), minlength=m.d)
    return total


def client(folder: Path) -> Iterator[Row]:
    """CPU time of a device that loads a plan and reports once, against one that only imports numpy."""
    path = folder / "plan.json"
    plan(10**6).save(path)
    base, only = cpu_of_process("import numpy", 15), cpu_of_process("from shuffledp import Client", 15)
    report = cpu_of_process(f"import shuffledp; shuffledp.Client({str(path)!r}).report(7)", 15)
    yield Row("import of Client, against import numpy", f"{only / base:.2f}", "<= 1.5", only <= 1.5 * base)
    yield Row("import of Client, plan file and first report, against import numpy", f"{report / base:.2f}")


def speed(folder: Path) -> Iterator[Row]:
    """CPU time of the local engine against the loop."""
    from shuffledp.engines.local import Local

    path, asked = folder / "some.parquet", plan(N)
    write(path, N)
    ours = cpu(lambda: Local().count(asked, path), 5)
    theirs = cpu(lambda: by_hand(path, sdp.GRR(eps0=2.0, d=D)), 5)
    yield Row(
        f"parquet to counts, grr d = {D}, n = {N:.0e}, local engine, secure, against pyarrow + numpy by hand (SFC64)",
        f"{theirs / ours:.2f} ({N / ours / 1e6:.0f}M rows per CPU second)",
        ">= 0.7",
        theirs / ours >= 0.7,
    )


MEMORY = """
import sys
from benchmarks.engines import plan
from shuffledp.engines.local import Local
found = Local().count(plan(int(sys.argv[2])), sys.argv[1])
# not ru_maxrss, which a process inherits from the one that started it
print(found.users, next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def memory(folder: Path) -> Iterator[Row]:
    """All memory of a process that counts 1e8 rows, the interpreter and its libraries included."""
    path = folder / "many.parquet"
    write(path, MANY)
    command = [sys.executable, "-c", MEMORY, str(path), str(MANY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    users, most = map(int, done.stdout.split())
    path.unlink()
    megabytes = most * 1024 / 1e6
    yield Row(
        f"largest memory of the whole process, parquet to counts, {users:.0e} rows",
        f"{megabytes:.0f} MB",
        "< 300 MB",
        megabytes < 300 and users == MANY,
    )


SPARK = """
import sys, time
from pyspark.sql import SparkSession
from benchmarks.engines import N, plan
from shuffledp.engines.spark import Spark
session = SparkSession.builder.master(f"local-cluster[{sys.argv[2]},1,1024]").config("spark.ui.enabled", "false")
session = session.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false").getOrCreate()
session.conf.set("spark.sql.files.maxPartitionBytes", "2m")
engine, times = Spark(session), []
for _ in range(3):
    start = time.perf_counter()
    users = engine.count(plan(N), sys.argv[1]).users
    times.append(time.perf_counter() - start)
print(users, min(times[1:]))
session.stop()
"""


def spark(folder: Path) -> Iterator[Row]:
    """Wall time on a cluster of local processes, once it is warm."""
    if importlib.util.find_spec("pyspark") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        yield Row("Spark", "not installed (pip install '.[spark]', and Java 17)")
        return
    path = folder / "some.parquet"
    for workers in (1, 2):
        command = [sys.executable, "-c", SPARK, str(path), str(workers)]
        setting = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        home = Path(__file__).parent.parent
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=home, env=setting)
        users, seconds = done.stdout.split()
        yield Row(
            f"Spark, {workers} worker{'s' if workers > 1 else ''} of one core, n = {int(users):.0e}, wall time",
            f"{1e6 * float(seconds) / int(users):.2f} s per million rows",
        )


def rows() -> Iterator[Row]:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        for part in (client, speed, memory, spark):
            yield from part(Path(folder))
