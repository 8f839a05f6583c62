"""The engine for a cluster: PySpark runs the plan where the data is, and only counts or shuffled messages come back.

A lost worker costs time and nothing else.  Counts are taken from finished tasks only, one row each.  Messages are
written down by finished tasks only, once, before they are sorted: a sort that has to start again finds the same
messages and keys, so that none is lost, sent twice or drawn anew.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from .._support.files import not_writable
from .._support.locking import alone_in
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.reports import Tally
from ..protocol.batch import Header
from ..protocol.messages import message_length
from ..protocol.plan import Plan
from ..randomness.sampling import source as random_source
from . import spark_tasks as tasks
from .base import Engine, Run
from .local import check_users
from .report_files import check_out, refuse_existing, write_reports
from .spark_frames import Frame, failures_of, frame_of, session_of

#: Hadoop's committer that moves the files of a task only when the whole job is done.
_COMMITTER = ("mapreduce.fileoutputcommitter.algorithm.version", "1")


class Spark(Engine):
    """A Spark cluster, with the contract of every engine.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The active one unless stated, or else a new one with Spark's own settings (``PYSPARK_PYTHON`` is then this
        interpreter unless it is set).  Every executor needs shuffledp.

    Notes
    -----
    Data are a path (.parquet, .csv; an address such as hdfs://... for Parquet), a Spark DataFrame, or what the local
    engine reads.  A seeded ``rng`` seeds one generator per partition: the run repeats only if the data are divided in
    the same way, and what comes out is not for release.

    ``out`` of :meth:`privatize` and a working folder beside it must be on a file system that driver and executors
    share.  The working folder holds the messages, already randomized, beside their random keys until they are
    sorted; it is private and is removed at the end, also after a failure.  A driver that is killed leaves it behind,
    as ``.NAME.spark-...``; the next run with the same ``out`` removes it.
    """

    name = "spark"

    def __init__(self, session: Any = None) -> None:
        self._given = session

    @property
    def session(self) -> Any:
        """The Spark session."""
        return session_of(self._given)

    def _count(self, plan: Plan, source: Any, run: Run) -> Tally:
        """Privatize and count on the executors, keeping no report."""
        refuse_shuffler_noise(plan)
        frame, task = self._prepared(plan, source, run.rng)
        mechanism = plan.query.randomizer.spec
        with failures_of(frame.name):
            found = frame.rows.mapInArrow(partial(tasks.counts, task), tasks.COUNTS).collect()
        if not found:
            raise ParameterError(f"data must have at least one row, got none in {frame.name}; collect some first.")
        run.judge(tasks.read_values(row["values"] for row in found))
        total = reduce(add, (tasks.read_tally(row["tally"], mechanism) for row in found))
        run.progress(total.users, total.users)
        return total

    def _privatize(self, plan: Plan, source: Any, out: str | os.PathLike[str], overwrite: bool, run: Run) -> Header:
        """Privatize and write the messages in one uniformly random order of the whole batch, as a single file.

        Every message gets 128 random bits, and all are sorted by them across all partitions: given that no two are
        equal (for a billion messages that fails with probability 2e-21), each order is equally likely.  A file that
        exists is refused unless ``overwrite`` says otherwise.
        """
        refuse_shuffler_noise(plan)
        refuse_existing(check_out(out, source), plan, overwrite=overwrite)
        frame, task = self._prepared(plan, source, run.rng)
        size = message_length(plan.query.randomizer.codec)
        with _working_folder(Path(out)) as folder:
            place = "file://" + str(folder / "messages")
            with failures_of(frame.name):
                made = frame.rows.mapInArrow(partial(tasks.keyed, task), tasks.KEYED)
                made.write.option(*_COMMITTER).parquet(place)
                kept = self.session.read.schema(tasks.KEYED).parquet(place)
                reports, messages = kept.selectExpr("sum(users)", "count(key)").first()
                values = kept.where("values is not null").select("values").collect()
            if not messages:
                raise ParameterError(f"data must have at least one row, got none in {frame.name}; collect some first.")
            run.judge(tasks.read_values(row["values"] for row in values))
            header = Header(plan.digest, reports // plan.reports_per_user, messages, size, run.rng is None)
            with failures_of(frame.name):
                ordered = kept.where("key is not null").sort("key").select("message")
                blocks = ordered.mapInArrow(partial(tasks.joined, size), tasks.BLOCKS)
                write_reports(out, header, _complete(blocks.toLocalIterator(prefetchPartitions=True), header))
        run.progress(reports, reports)
        return header

    def _prepared(self, plan: Plan, source: Any, rng: np.random.Generator | None) -> tuple[Frame, tasks.Task]:
        check_users(plan)
        random_source(rng)  # refuses what is not a generator
        seed = None if rng is None else int(rng.integers(0, 2**63))
        frame = frame_of(self.session, plan, source)
        return frame, tasks.Task(json.dumps(plan.to_dict()), frame.columns, seed, frame.written)


def refuse_shuffler_noise(plan: Plan) -> None:
    """Every executor would draw the noise of the whole batch."""
    if plan.query.randomizer._noise_by_shuffler:
        raise ParameterError(
            f"engine must be local for a mechanism whose shuffler makes the noise, got spark for "
            f"{plan.query.randomizer.spec}; leave out --engine spark."
        )


def _complete(rows: Iterable[Any], header: Header) -> Iterator[bytes]:
    """The messages, block after block; a file with another number of them than was counted is never finished."""
    done = 0
    for row in rows:
        done += len(row["block"])
        yield bytes(row["block"])
    if done != header.messages * header.bytes:
        raise ShuffleDPError(
            f"the sorted batch must hold {header.messages:,} messages, got {done // header.bytes:,}; run the job again."
        )


@contextmanager
def _working_folder(out: Path) -> Iterator[Path]:
    """A private folder beside the result, which is gone afterward; so are those of drivers that were killed."""
    target = out.resolve()
    prefix = f".{target.name}.spark-"
    with ExitStack() as stack:
        try:
            for left in target.parent.glob(glob.escape(prefix) + "*"):
                _remove_if_left(left)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(alone_in(folder, wait=False))
        except OSError as error:
            raise not_writable("out", out, error) from None
        yield folder


def _remove_if_left(folder: Path) -> None:
    """Remove the folder of a driver that is gone: the lock of a folder ends with the process that holds it."""
    with suppress(OSError), alone_in(folder, wait=False):  # that of another user cannot be removed
        shutil.rmtree(folder, ignore_errors=True)
