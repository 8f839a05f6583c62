"""Collect a released period: open it, count it once, and determine for how many users it speaks.

*Who is counted on.*  Messages are not linked to users, so that a bad message is one of any user.  Whoever sent one did
not run the plan, and hides nobody.  At most as many users sent bad messages as there are bad messages: copies, what
does not open, what no client sends, and blanks beyond those that reports leave free.  The guarantee is for the other
contributors.  A client that lies in the form of a proper report is not found here: ``colluding`` states how many of
these there may be.

*Who is estimated.*  Where every report has k messages, the proper messages are those of their number / k users; up to
k - 1 that are left over are dropped.  Where their number is random, users whose slots were all refused are taken to be
missing, which is the number that a client with nothing but bad messages takes away.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from .._support.threads import of_each
from ..engines.base import Advance, quiet
from ..engines.spark_frames import failures_of, session_of
from ..engines.spark_tasks import plan_from
from ..errors import ParameterError
from ..mechanisms.reports import Tally
from ..protocol.collector import Collector
from ..protocol.messages import from_bytes, plain, restored
from ..protocol.plan import Plan
from .publication import guarantee_of
from .release import ReleasedBatch
from .sealing import unseal

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Counts:
    """Numbers of messages in a released period, by kind.

    Attributes
    ----------
    contributors, slots : users by their report ids, and sealed messages of each
    real, blank, refused : proper messages, blanks, and others by reason; together all sealed messages
    """

    contributors: int
    slots: int
    real: int
    blank: int
    refused: dict[str, int]

    def users(self, plan: Plan) -> int:
        """Users for whom the answer is estimated."""
        fewest, most = _limits(plan)
        if fewest == most:
            return self.real // fewest
        present = self.contributors - -(-sum(self.refused.values()) // self.slots)
        return min(present, self.real // fewest) if fewest else present

    def honest(self, plan: Plan) -> int:
        """Contributors who cannot have sent any of the bad messages, at least."""
        free = self.contributors * (self.slots - _limits(plan)[0])
        return max(0, self.contributors - sum(self.refused.values()) - max(0, self.blank - free))


def _limits(plan: Plan) -> tuple[int, int | None]:
    """The fewest and the most messages of a user."""
    fewest, most = plan.query.randomizer._message_limits
    return fewest * plan.reports_per_user, None if most is None else most * plan.reports_per_user


def collect(
    released: ReleasedBatch,
    key: X25519PrivateKey,
    collector: Collector,
    *,
    engine: str = "local",
    session: Any = None,
    progress: Advance = quiet,
) -> tuple[Counts, bool]:
    """Open a released period and count it in a collector of its plan; what was found, and whether it is new there.

    engine : "local" (several processes if there is much to open), or "spark"
    session : that of Spark; the active one unless stated

    Nothing is counted unless every part has the bytes that the shuffler signed, and at least as many contributors as
    the plan's guarantee needs can have sent proper reports.  The collector then states the eps of what its clients run,
    which is charged for as many users as were reached, if these are more than planned.
    """
    if engine not in ("local", "spark"):
        raise ParameterError(f"engine must be 'local' or 'spark', got {engine!r:.40}; choose one of them.")
    plan, publication = collector.plan, released.publication
    if plan.digest != publication.plan.digest:
        raise ParameterError("collector must be of the plan of the publication, got another; make a new one.")
    if key.public_key() != publication.sealing:
        raise ParameterError(
            "key must be the one that messages were sealed to, got another; take the analyst's of then."
        )
    released.verify()
    fewest, most = _limits(plan)
    spare = fewest - 1 if fewest == most else 0
    job = OpeningJob(
        json.dumps(publication.plan.to_dict()),
        bytes.fromhex(publication.digest),
        key.private_bytes_raw(),
        released.manifest["period"],
        spare,
    )
    found = (
        open_here(job, released, progress=progress)
        if engine == "local"
        else open_on_spark(job, released, session=session)
    )
    _drop_surplus(plan, found, spare)
    refused = {reason: number for reason, number in sorted(found.refused.items()) if number}
    counts = Counts(released.manifest["contributors"], publication.slots, found.real, found.blank, refused)
    _refuse_few(plan, counts)
    users = counts.users(plan)
    ran = guarantee_of(plan, publication.program, users=max(users, *collector.batches.values(), 0))
    collector.program_epsilon = max(collector.program_epsilon, ran["epsilon"])
    tally = Tally(found.counts, plan.query.randomizer.spec, users * plan.reports_per_user, None)
    return counts, collector.ingest_counts(released.manifest["batch"], users, tally)


def _drop_surplus(plan: Plan, found: OpenedMessages, spare: int) -> None:
    """Leave out messages that make up no whole report; the order is random, so it does not matter which."""
    surplus = found.real % (spare + 1)
    if surplus:
        found.counts = found.counts - count_proper(plan, found.spare[:surplus]).counts
        found.real -= surplus
        found.refused["surplus"] += surplus


def _refuse_few(plan: Plan, counts: Counts) -> None:
    honest = counts.honest(plan)
    if honest < plan.smallest_batch or not counts.real:
        bad = ", ".join(f"{number:,} {reason}" for reason, number in counts.refused.items()) or "none refused"
        raise ParameterError(
            f"at least {plan.smallest_batch:,} contributors must have sent proper reports for the guarantee of this "
            f"plan, got {honest:,} of {counts.contributors:,} who can have ({bad}); nothing is counted: publish with a "
            "larger minimum, which leaves room for broken clients."
        )


# -- opening -----------------------------------------------------------------------------------------------------------


#: Messages from which worker processes pay: one starts in the time of some ten thousand openings.
_SEVERAL = 50_000


@dataclass(frozen=True)
class OpeningJob:
    """What a worker needs: plan, digest of the publication, private key, period, and how many messages to give back."""

    plan: str
    publication: bytes
    key: bytes = field(repr=False)
    period: int
    spare: int = 0


@dataclass
class OpenedMessages:
    """Sums over the proper messages (None: there was none), and counts of all."""

    counts: Any = None
    real: int = 0
    blank: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    spare: list[bytes] = field(default_factory=list)

    def __add__(self, other: OpenedMessages) -> OpenedMessages:
        sums = [part.counts for part in (self, other) if part.counts is not None]
        return OpenedMessages(
            reduce(add, sums) if sums else None,
            self.real + other.real,
            self.blank + other.blank,
            self.refused + other.refused,
            max(self.spare, other.spare, key=len),
        )


def open_messages(job: OpeningJob, rows: Iterable[bytes]) -> OpenedMessages:
    """Open sealed messages."""
    plan, found, messages = plan_from(job.plan), OpenedMessages(), []
    key = X25519PrivateKey.from_private_bytes(job.key)
    for row in rows:
        try:
            message = unseal(row, private=key, digest=job.publication, period=job.period)
        except ParameterError:
            found.refused["unopened"] += 1
            continue
        if message is None:
            found.blank += 1
        else:
            messages.append(message)
    return found + count_proper(plan, messages, job.spare) if messages else found


def count_proper(plan: Plan, messages: list[bytes], spare: int = 0) -> OpenedMessages:
    """The sums over those messages that a client can have sent."""
    mechanism = plan.query.randomizer
    data = from_bytes(mechanism.codec, b"".join(messages))
    fits = mechanism.codec.proper(data)
    real, bad = int(fits.sum()), int(len(fits) - fits.sum())
    counts = mechanism.tally(data[fits], users=real, threads=1).counts if real else None
    kept = [messages[i] for i in np.flatnonzero(fits)[:spare]]
    return OpenedMessages(counts, real, 0, Counter(impossible=bad) if bad else Counter(), kept)


# -- on this machine --------------------------------------------------------------------------------------------------


def open_here(job: OpeningJob, released: ReleasedBatch, *, progress: Advance) -> OpenedMessages:
    """Open a released period, in several processes if it is large; about 65 microseconds a message and core."""
    total, messages, done = OpenedMessages(), released.manifest["messages"], 0
    workers = os.cpu_count() or 1 if messages >= _SEVERAL else 1
    for part, rows in of_each(partial(_open_chunk, job), released.distinct(), workers, processes=True):
        total, done = total + part, done + rows
        progress(done, messages)
    return total


def _open_chunk(job: OpeningJob, chunk: tuple[list[bytes], int]) -> tuple[OpenedMessages, int]:
    """Open messages of which copies were taken out already, and return how many rows there were."""
    rows, copies = chunk
    found = open_messages(job, rows)
    found.refused["copied"] += copies
    return found, len(rows) + copies


# -- on a Spark cluster -----------------------------------------------------------------------------------------------


def open_on_spark(job: OpeningJob, released: ReleasedBatch, *, session: Any = None) -> OpenedMessages:
    """Open a released period on the executors: its Parquet files must be on a file system that they share."""
    cluster, all_ = session_of(session), released.manifest["messages"]
    paths = ["file://" + str(path.resolve()) for path in released.paths()]
    with failures_of(repr(str(released.folder))):
        rows = cluster.read.schema("sealed binary").parquet(*paths)
        several = rows.count()
        found = rows.dropDuplicates(["sealed"]).mapInArrow(partial(_open_partition, job), "part string").collect()
    total = reduce(add, map(_read, (row["part"] for row in found)), OpenedMessages())
    once = total.real + total.blank + total.refused.total()
    if several != all_:
        raise ParameterError(f"the parts must hold {all_:,} messages, got {several:,}; fetch the folder again.")
    total.refused["copied"] += several - once
    return total


def _open_partition(job: OpeningJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for the whole partition."""
    import pyarrow as pa

    total = OpenedMessages()
    for batch in batches:
        total += open_messages(job, batch.column(0).to_pylist())
    counts = None if total.counts is None else plain(total.counts)
    said = {**vars(total), "counts": counts, "spare": [message.hex() for message in total.spare]}
    yield pa.RecordBatch.from_pydict({"part": [json.dumps(said)]})


def _read(text: str) -> OpenedMessages:
    found = json.loads(text)
    counts = None if found["counts"] is None else restored(found["counts"])
    return OpenedMessages(
        counts, found["real"], found["blank"], Counter(found["refused"]), [*map(bytes.fromhex, found["spare"])]
    )
