"""What Spark needs around a job: a session, the data as a DataFrame, and its failures in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._support.optional import require
from .._support.reading import opened
from ..errors import ParameterError, ShuffleDPError
from ..protocol.plan import Plan
from .reading import DATA, names_of, present, refuse_empty_lines, separator_of, source_of
from .spark_tasks import BYTES

#: Settings of a session that is made here; one of the caller's keeps its own.
_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
#: Spark says this about every pandas from 3 on; no data of ours pass through pandas.
_PANDAS = "PySpark does not yet fully support pandas"
_OURS = re.compile(r"shuffledp\.errors\.\w+: ([^\n]+)")


def session_of(given: Any) -> Any:
    """The session that was passed, the active one, or a new one with the settings that Spark finds by itself."""
    sql = require("pyspark.sql", extra="spark", purpose="the Spark engine")
    if given is not None:
        if not hasattr(given, "read") or not hasattr(given, "createDataFrame"):
            raise ParameterError(
                f"session must be a SparkSession, got {type(given).__name__}; pass one or leave it out."
            )
        return given
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    home = os.environ.get("JAVA_HOME")
    if not os.environ.get("SPARK_REMOTE") and not shutil.which("java", path=f"{home}/bin" if home else None):
        where = f"in JAVA_HOME = {home}" if home else "on the path"
        raise ShuffleDPError(f"the Spark engine needs Java 17 or later, got none {where}; install it or set JAVA_HOME.")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's own default is any python3 on the path
    builder = sql.SparkSession.builder.appName("shuffledp")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_PANDAS)
            return builder.getOrCreate()
    except Exception as error:
        raise ShuffleDPError(
            f"the Spark engine needs a Spark session, got none ({_reason(error)}); check Java (17 or later) and the "
            "settings of Spark."
        ) from None


@dataclass(frozen=True)
class Frame:
    """The columns that a plan reads, all rows of a user in one partition where users have several.

    Attributes
    ----------
    name : in words
    rows : the DataFrame
    columns : the names of its columns in the data
    written : whether the columns are texts of a file without types
    """

    name: str
    rows: Any
    columns: tuple[str, ...] = ()
    written: bool = False


def frame_of(session: Any, plan: Plan, data: Any) -> Frame:
    """A path, a Spark DataFrame, or anything that the local engine reads (that passes through the driver)."""
    sql = require("pyspark.sql", extra="spark", purpose="the Spark engine")
    wanted = [*dict.fromkeys([*plan.query.columns, *filter(None, [plan.user_column])])]
    if isinstance(data, sql.DataFrame):
        found = Frame("a Spark DataFrame", data)
    elif isinstance(data, str | os.PathLike):
        found = _of_path(session, os.fspath(data), wanted)
    else:
        source = source_of(data)
        found = Frame(source.name, _passed(session, source, wanted))
    present(wanted, found.rows.columns, found.name)
    quoted = ["`" + name.replace("`", "``") + "`" for name in wanted]
    # plain names on the way: Spark reads meaning into dots and backticks
    chosen = found.rows.select([found.rows[name].alias(f"c{i}") for i, name in enumerate(quoted)])
    if plan.user_column:
        chosen = chosen.repartition(*_by_user(session, chosen, wanted.index(plan.user_column)))
    return Frame(found.name, chosen, tuple(wanted), found.written)


def _by_user(session: Any, rows: Any, place: int) -> tuple[int, Any]:
    """How to bring the rows of each user together; a stated number of partitions is never split up by Spark."""
    functions = require("pyspark.sql.functions", extra="spark", purpose="the Spark engine")
    column = rows[f"c{place}"]
    if rows.dtypes[place][1] in ("float", "double"):  # 0.0 and -0.0 are one user, and so are rows without any
        column = functions.nanvl(column + functions.lit(0.0), functions.lit(None).cast("double"))
    return int(session.conf.get("spark.sql.shuffle.partitions")), column


def _of_path(session: Any, text: str, wanted: list[str]) -> Frame:
    name, suffix = repr(text), Path(text).suffix.lower()
    there = "://" in text
    if not there and not Path(text).is_dir():
        opened(text, DATA).close()  # there, and neither a pipe nor a device
    if suffix in (".csv", ".tsv", ".txt") and not there:
        return _of_csv(session, text, wanted)
    if suffix in (".parquet", ".pq"):
        with failures_of(name):
            return Frame(name, session.read.parquet(text if there else _address(text)))
    if there:
        raise ParameterError(
            f"data at an address must be Parquet (.parquet), got {name}; read it into a Spark DataFrame and pass that."
        )
    source = source_of(text)
    return Frame(name, _passed(session, source, wanted))


def _passed(session: Any, source: Any, wanted: list[str]) -> Any:
    """Data of the driver as a DataFrame."""
    arrow = require("pyarrow", extra="data", purpose="reading data")
    batches = list(source.batches(wanted))
    if not sum(batch.num_rows for batch in batches):
        raise ParameterError(f"data must have at least one row, got none in {source.name}; collect some first.")
    with failures_of(source.name):
        return session.createDataFrame(arrow.Table.from_batches(batches))


def _of_csv(session: Any, text: str, wanted: list[str]) -> Frame:
    """Texts, as the local engine reads them, so that both see the same values and refuse the same rows."""
    names = names_of(text, wanted)
    present(wanted, names, text)
    refuse_empty_lines(text, names)
    reader = session.read.schema(", ".join(f"c{i} string" for i in range(len(names))))
    # all values of a row are counted even where few columns are wanted; bytes become characters, for the tasks to judge
    reader = reader.option("columnPruning", "false").option("encoding", BYTES)
    with failures_of(repr(text)):
        rows = reader.csv(_address(text), header=True, sep=separator_of(text), quote='"', escape='"', mode="FAILFAST")
        chosen = rows.select([rows[f"c{names.index(name)}"].alias(name) for name in wanted])
    return Frame(repr(text), chosen, written=True)


def _address(text: str) -> str:
    """A path of this machine for Spark, which would take some characters for patterns."""
    return "file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(text).resolve()))


@contextmanager
def failures_of(name: str) -> Iterator[None]:
    """Whatever Spark says about a job or a file, in one sentence."""
    errors = require("pyspark.errors", extra="spark", purpose="the Spark engine")
    known: list[type[Exception]] = [errors.PySparkException]
    with suppress(ShuffleDPError):  # a session of Spark Connect does without it
        known.append(require("py4j.protocol", extra="spark", purpose="the Spark engine").Py4JError)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_PANDAS)
            yield
    except tuple(known) as error:
        text = str(error)
        ours = _OURS.search(text)
        if ours:
            raise ParameterError(ours.group(1).strip()) from None
        if "No module named 'shuffledp'" in text:
            raise ShuffleDPError(
                "every executor must have shuffledp installed, got one without; set PYSPARK_PYTHON to an interpreter "
                "that has it, or ship an environment with spark.archives."
            ) from None
        raise ParameterError(
            f"the job on {name} must run to its end, got a failure ({_reason(error)}); if the file is damaged, write "
            "it again."
        ) from None


def _reason(error: Exception) -> str:
    """The innermost cause that is said, on one line, up to the first quotation: that may be some user's value."""
    text = str(error)
    if "MALFORMED_RECORD" in text or "malformed" in text.lower():
        return "a row with more or fewer values than the first line has names"
    causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
    shown = " ".join((causes[-1] if causes else text.strip().partition("\n")[0]).split())
    return re.sub(r"(?<=.)[\['\"`].*", "...", shown)[:200].rstrip(".")
