"""Opening a released period: sealed messages in; sums over the proper ones, and counts of all others, out.

A message counts if it was sealed to the analyst for this plan and period, and if a client that runs the plan can have
sent it.  Blanks fill the slots that a report leaves free and are dropped.  Whatever else there is, is refused, by
reason:

- ``copied``: all its bytes came before;
- ``unopened``: altered, or sealed to another key, plan or period, or neither a message nor a blank;
- ``impossible``: a message that no client of the plan sends.

The private key travels to worker processes and executors in memory only.
"""

from __future__ import annotations

import json
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial, reduce
from multiprocessing import get_context
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ..engines.base import Advance
from ..engines.spark_frames import failures_of, session_of
from ..engines.spark_tasks import plan_from
from ..errors import ParameterError
from ..protocol.messages import from_bytes, plain, restored
from ..protocol.plan import Plan
from .sealing import unseal

if TYPE_CHECKING:
    import pyarrow as pa

    from .released import Released

#: Messages from which worker processes pay: one starts in the time of some ten thousand openings.
_SEVERAL = 50_000


class Job(NamedTuple):
    """All that a worker is told; ``spare`` is how many messages it gives back as they are."""

    plan: str
    key: bytes
    period: int
    spare: int = 0


@dataclass
class Opened:
    """What was found in some sealed messages: sums over proper ones (None: there was none), and counts."""

    counts: Any = None
    real: int = 0
    blank: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    spare: list[bytes] = field(default_factory=list)

    def __add__(self, other: Opened) -> Opened:
        sums = [part.counts for part in (self, other) if part.counts is not None]
        return Opened(
            reduce(add, sums) if sums else None,
            self.real + other.real,
            self.blank + other.blank,
            self.refused + other.refused,
            max(self.spare, other.spare, key=len),
        )


def opened(job: Job, rows: Iterable[bytes]) -> Opened:
    """Open sealed messages."""
    plan, found, messages = plan_from(job.plan), Opened(), []
    key, digest = X25519PrivateKey.from_private_bytes(job.key), bytes.fromhex(plan.digest)
    for row in rows:
        try:
            message = unseal(row, private=key, digest=digest, period=job.period)
        except ParameterError:
            found.refused["unopened"] += 1
            continue
        if message is None:
            found.blank += 1
        else:
            messages.append(message)
    return found + counted(plan, messages, job.spare) if messages else found


def counted(plan: Plan, messages: list[bytes], spare: int = 0) -> Opened:
    """The sums over those messages that a client can have sent."""
    mechanism = plan.query.randomizer
    data = from_bytes(mechanism.codec, b"".join(messages))
    fits = mechanism.codec.proper(data)
    real, bad = int(fits.sum()), int(len(fits) - fits.sum())
    counts = mechanism.tally(data[fits], users=real, threads=1).counts if real else None
    kept = [messages[i] for i in np.flatnonzero(fits)[:spare]]
    return Opened(counts, real, 0, Counter(impossible=bad) if bad else Counter(), kept)


# -- on this machine --------------------------------------------------------------------------------------------------


def open_here(job: Job, released: Released, *, progress: Advance) -> Opened:
    """Open a released period, in several processes if it is large; about 65 microseconds a message and core."""
    total, all_, done = Opened(), released.manifest["messages"], 0
    for part, rows in _mapped(job, released.distinct(), os.cpu_count() or 1 if all_ >= _SEVERAL else 1):
        total, done = total + part, done + rows
        progress(done, all_)
    return total


def _mapped(job: Job, chunks: Iterator[tuple[list[bytes], int]], processes: int) -> Iterator[tuple[Opened, int]]:
    """What was opened of each chunk, and how many rows it had; no more chunks are read ahead than keep all busy."""

    def told(part: Opened, rows: int, copies: int) -> tuple[Opened, int]:
        part.refused["copied"] += copies
        return part, rows + copies

    if processes == 1:
        yield from (told(opened(job, rows), len(rows), copies) for rows, copies in chunks)
        return
    waiting: deque[tuple[Future[Opened], int, int]] = deque()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for rows, copies in chunks:
            waiting.append((pool.submit(opened, job, rows), len(rows), copies))
            if len(waiting) > 2 * processes:
                first, *counts = waiting.popleft()
                yield told(first.result(), *counts)
        for first, *counts in waiting:
            yield told(first.result(), *counts)


# -- on a Spark cluster -----------------------------------------------------------------------------------------------


def open_on_spark(job: Job, released: Released, *, session: Any = None) -> Opened:
    """Open a released period on the executors: its Parquet files must be on a file system that they share."""
    cluster, all_ = session_of(session), released.manifest["messages"]
    paths = ["file://" + str(path.resolve()) for path in released.paths()]
    with failures_of(repr(str(released.folder))):
        rows = cluster.read.schema("sealed binary").parquet(*paths)
        several = rows.count()
        found = rows.dropDuplicates(["sealed"]).mapInArrow(partial(_open_partition, job), "part string").collect()
    total = reduce(add, map(_read, (row["part"] for row in found)), Opened())
    once = total.real + total.blank + total.refused.total()
    if several != all_:
        raise ParameterError(f"the parts must hold {all_:,} messages, got {several:,}; fetch the folder again.")
    total.refused["copied"] += several - once
    return total


def _open_partition(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for the whole partition."""
    import pyarrow as pa

    total = Opened()
    for batch in batches:
        total += opened(job, batch.column(0).to_pylist())
    counts = None if total.counts is None else plain(total.counts)
    said = {**vars(total), "counts": counts, "spare": [message.hex() for message in total.spare]}
    yield pa.RecordBatch.from_pydict({"part": [json.dumps(said)]})


def _read(text: str) -> Opened:
    found = json.loads(text)
    counts = None if found["counts"] is None else restored(found["counts"])
    return Opened(
        counts, found["real"], found["blank"], Counter(found["refused"]), [*map(bytes.fromhex, found["spare"])]
    )
