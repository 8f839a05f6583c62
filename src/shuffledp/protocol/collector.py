"""The collector: sums over batches, to be merged, saved and read again, and the answer once it may be released."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from .._support.locking import replace_seen
from .._support.reading import digest_of
from .._support.statement import Statement
from ..accounting.guarantee import count_of
from ..errors import ParameterError
from ..estimation.answer import Provenance
from ..estimation.estimate import Estimate
from ..mechanisms.reports import Tally
from . import collector_file
from .batch import Batch, Header, as_tally, refuse_number, refuse_other_plan, refuse_twice, stated
from .collector_file import Sums
from .frames import message_bytes, opened_frame, place_of
from .messages import from_bytes, message_length
from .plan import Plan, plan_of
from .sql import as_rows, counts_of
from .statement import Found, statement_of

#: Numbers, in all, of batches whose counts are kept separately.
MOST_APART = 2**21


class Collector:
    """Counts the batches of a plan, each once, and answers when the guarantee holds.

    Every batch was shuffled on its own, so each must have the plan's minimum number of users; the answer is refused
    while one has fewer, unless that is overridden, and then its statement says so.

    The counts of every batch are kept separately, so that :meth:`drop` takes one away exactly, without its file.
    Beyond two million numbers in all, the oldest are summed and can no longer be dropped: memory and file do not grow
    without end.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=3, delta=1e-6)
    >>> shuffler, collector = sdp.Shuffler(plan), sdp.Collector(plan)
    >>> for value in ("pear", "apple", None):
    ...     shuffler.add(sdp.Client(plan).report(value))
    >>> batch = shuffler.batch()
    >>> collector.ingest(batch), collector.ingest(batch)  # the second time it is known
    (True, False)
    >>> collector.estimate().labels
    ['apple', 'pear', 'other']
    """

    def __init__(self, plan: Plan | str | os.PathLike[str]) -> None:
        self.plan = plan_of(plan)
        self.batches: dict[str, int] = {}  # id -> users
        self._inside: dict[str, str] = {}  # id of a batch that one of these was made from -> id of that one
        self._sums: Sums = []  # the oldest first; every batch is in one of them
        self._seen: set[str] = set()  # digests of files that hold no batch but these
        self.program_epsilon = 0.0  # of what clients of a shuffler ran, whose rounding takes some of delta

    @property
    def _tally(self) -> Tally | None:
        """The sums over all batches."""
        return reduce(add, (tally for _, tally in self._sums)) if self._sums else None

    # -- counting ---------------------------------------------------------------------------------------------------

    def ingest(self, batch: Batch | str | os.PathLike[str]) -> bool:
        """Count a batch, or the file of one; False if it was counted before, and then nothing changes.

        One that has users in common with a batch that was counted, because one was made from the other or both from a
        third, is refused.
        """
        found = batch if isinstance(batch, Batch) else Batch.read(batch, self.plan)
        header = found.header
        refuse_other_plan(self.plan, header.plan)
        if self._counted(header.id, header.users):
            return False
        return self._keep(header, as_tally(self.plan, found.data, header))

    def ingest_frame(
        self, frame: object, *, batch: str | None = None, users: int | None = None, column: str = "message"
    ) -> bool:
        """Count a frame of reports (pandas, polars, Arrow) where it is; False if its batch was counted before.

        A Parquet file of reports that Arrow read has its header with it, and needs nothing else.  Other frames do not
        say of which plan, batch and users they are: state ``batch``, the id in the header of the batch (or one of your
        own, 32 hexadecimal digits, which must be the same whenever it comes), and ``users``.

        Examples
        --------
        >>> import pandas as pd
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> collector = sdp.Collector(sdp.Plan(query=fruit, users=3, delta=1e-6))
        >>> reports = pd.DataFrame({"message": [bytes([0]), bytes([1]), bytes([1])]})
        >>> collector.ingest_frame(reports, batch="2026" * 8, users=3), collector.users
        (True, 3)
        """
        m = self.plan.query.randomizer
        size = message_length(m.codec)
        with opened_frame(frame) as reader:
            known = Header.among(reader.schema.metadata or {}, self.plan, "the frame")
            header = stated(known, self.plan, batch, users)
            if self._counted(header.id, header.users):
                return False
            place, counts, messages = place_of(reader.schema, column), m._tally(from_bytes(m.codec, b"")), 0
            for part in reader:
                if not part.num_rows:
                    continue
                found = m.tally(from_bytes(m.codec, message_bytes(part.column(place), size)), users=part.num_rows)
                counts = counts + found.counts
                messages += part.num_rows
        return self._take(header, counts, messages)

    def ingest_counts(
        self,
        batch: str,
        users: int,
        counts: Tally | object,
        *,
        made_from: Iterable[str] = (),
        for_release: bool | None = None,
    ) -> bool:
        """Count a batch by the sums over it; False if it was counted before.

        batch, users : the id of the batch (32 hexadecimal digits) and how many users are in it
        counts : a tally of the plan's mechanism, or what the query of :meth:`Plan.count_sql` returned: a frame or an
            Arrow table with the columns part, code and n, or a list of such rows
        made_from, for_release : as in the header of a batch; a tally has its own for_release

        What no batch of this plan and these users can give is refused: unknown codes, negative or too large counts,
        totals that do not fit the number of messages or of users, rows that come twice.
        """
        header = stated(None, self.plan, batch, users, (*made_from,), for_release)
        if self._counted(header.id, header.users):
            return False
        if not isinstance(counts, Tally):
            return self._take(header, *counts_of(self.plan, as_rows(counts)))
        spec, reports = self.plan.query.randomizer.spec, header.users * self.plan.reports_per_user
        if counts.mechanism != spec or counts.users != reports:
            raise ParameterError(
                f"counts must be of {reports:,} reports of {spec}, got those of {counts.users:,} reports of "
                f"{counts.mechanism}; count the batch by its plan."
            )
        return self._keep(header, counts)

    def _take(self, header: Header, counts: Any, messages: int) -> bool:
        """Keep sums over messages, if its users can have sent that many."""
        refuse_number(self.plan, messages, users=header.users)
        reports = header.users * self.plan.reports_per_user
        return self._keep(header, Tally(counts, self.plan.query.randomizer.spec, reports, header.for_release))

    def _keep(self, header: Header, tally: Tally) -> bool:
        """Keep the sums over a batch that was not counted before."""
        inside = dict.fromkeys(header.made_from, header.id)
        for known in (self.batches, self._inside):
            refuse_twice((header.id, *inside), known, "counted")
        self._sums.append(((header.id,), tally))
        self.batches[header.id] = header.users
        self._inside.update(inside)
        self._settle()
        return True

    def _counted(self, batch: str, users: int) -> bool:
        """Whether this batch was counted; refused if it had another number of users then."""
        known = self.batches.get(batch)
        if known is not None and known != users:
            raise ParameterError(
                f"an id must be that of one batch, got {batch} with {users:,} users after it was counted with "
                f"{known:,}; one of them is not what was released, so find out which and count that alone."
            )
        return known is not None

    def _settle(self) -> None:
        """Sum up the oldest batches where too much is kept separately."""
        while len(self._sums) > 1 and len(self._sums) * _size(self._sums[-1][1].counts) > MOST_APART:
            (some, first), (more, second), *rest = self._sums
            self._sums = [((*some, *more), first + second), *rest]

    def drop(self, batch: str) -> int:
        """Take a batch away, as if it had never been counted; its number of users.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> shuffler = sdp.Shuffler(sdp.Plan(query=fruit, users=3, delta=1e-6))
        >>> shuffler.add(sdp.Client(shuffler.plan).report("pear"))
        >>> few, collector = shuffler.batch(early=True), sdp.Collector(shuffler.plan)
        >>> collector.ingest(few), collector.drop(few.header.id), collector.users
        (True, 1, 0)
        """
        if batch not in self.batches:
            raise ParameterError(
                f"a batch to drop must be one that was counted, got {batch!r:.60}, which is none of the "
                f"{len(self.batches):,}; check its id."
            )
        if all(ids != (batch,) for ids, _ in self._sums):
            raise ParameterError(
                f"a batch to drop must be one whose counts are kept separately, got {batch}, which was summed with "
                "older ones; count the others again, from their files, into a new state."
            )
        self._sums = [(ids, tally) for ids, tally in self._sums if ids != (batch,)]
        self._inside = {part: whole for part, whole in self._inside.items() if whole != batch}
        return self.batches.pop(batch)

    def merge(self, other: Collector) -> Collector:
        """Both together, in any order and grouping the same; batches that have users in common are refused."""
        if other.plan.digest != self.plan.digest:
            raise ParameterError("collectors must be of one plan to be merged, got two; merge those of one plan.")
        mine, others = ({*made.batches, *made._inside} for made in (self, other))
        twice = sorted(mine & others)
        if twice:
            raise ParameterError(
                f"a batch must be counted once, got {twice[0]} in both collectors, perhaps as a part of another; drop "
                "it, or what it is a part of, from one of them."
            )
        both = Collector(self.plan)
        both.batches = {**self.batches, **other.batches}
        both._inside = {**self._inside, **other._inside}
        both.program_epsilon = max(self.program_epsilon, other.program_epsilon)
        both._sums = [*self._sums, *other._sums]
        both._settle()
        return both

    # -- releasing --------------------------------------------------------------------------------------------------

    @property
    def users(self) -> int:
        """Users of all batches."""
        return sum(self.batches.values())

    @property
    def ready(self) -> bool:
        """Whether every batch is as large as the guarantee needs."""
        return bool(self.batches) and min(self.batches.values()) >= self.plan.smallest_batch

    def estimate(self, *, release_early: bool = False) -> Estimate:
        """The answer; refused while a batch is below the plan's minimum, unless ``release_early`` overrides that.

        Then eps of the users who came is computed and stated, in place of that of the plan.
        """
        total = self._tally
        if total is None:
            raise ParameterError("an estimate needs a batch, got none; ingest one first.")
        if not self.ready and not release_early:
            few = min(self.batches, key=self.batches.__getitem__)
            raise ParameterError(
                f"every batch must have {self.plan.smallest_batch:,} users for the guarantee of this plan, got one of "
                f"{self.batches[few]:,} ({few}); leave it out (--drop if it is in the state), or pass "
                "release_early=True (--release-early on the command line), which states the eps of those who came."
            )
        return replace(self.plan.query.answer(total), provenance=self._provenance(total))

    @property
    def _held(self) -> Plan:
        """The plan with the guarantee of the smallest batch that came, and of what its clients ran."""
        held = self.plan._of_batch(min(self.batches.values(), default=self.plan.users))
        return held if held.epsilon >= self.program_epsilon else held._at_least(self.program_epsilon)

    def _provenance(self, total: Tally) -> Provenance:
        """Return where an answer came from and what holds: early, eps of those who came; of seeded reports, none."""
        plan, holds = self.plan, (self._held.epsilon, self.plan.delta)
        if total.for_release is False:
            holds = (math.inf, 0.0)
        epsilon, delta = holds
        question, digest = plan.query.question, plan.digest
        signed = partial(statement_of, self._held, self._found())
        return Provenance(
            question=question, name=plan.name, epsilon=float(epsilon), delta=delta, plan=digest, signed=signed
        )

    def statement(self, *, rounds: int = 1, kept: str = "") -> Statement:
        """What is guaranteed of the answer, in a paragraph, an override first; and on a page (as Plan.statement)."""
        return statement_of(self._held, self._found(), rounds=rounds, kept=kept)

    def _found(self) -> Found:
        """What is to be said of the answer beyond the plan."""
        total = self._tally
        seeded = total is not None and total.for_release is False
        said = []
        if self.batches and not self.ready:
            few = count_of(min(self.batches.values()))
            said.append(
                f"RELEASED EARLY: a batch had {few}, below the {self.plan.smallest_batch:,} of the plan; the guarantee "
                f"below is that of {few}. What else rests on the plan's minimum, such as a guarantee "
                "over several collections, does not hold."
            )
        if seeded:
            said.append(
                "NOT FOR RELEASE: a seeded generator drew reports or their order, so that no guarantee holds against "
                "anyone who knows the seed."
            )
        if self.users > self.plan.users:
            said.append(
                f"MORE USERS THAN PLANNED: the batches have {self.users:,} users in all, the plan {self.plan.users:,}; "
                "the guarantee below is for a user who is in one batch, and does not hold for one who sent in several."
            )
        unknown = "Reports do not say whether secure randomness made them: that is up to the clients."
        notes = (unknown,) if total is not None and total.for_release is None else ()
        once = self.users <= self.plan.users
        return Found((*said,), notes, self.users, len(self.batches), private=not seeded, once=once)

    # -- the file ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was counted, whole or not at all: after a crash the file is the old or the new one.

        A file that this collector has neither loaded nor saved as it is now is refused, because batches that another
        one counted would be lost: load it, count into that and save again.
        """
        text = collector_file.text_of(self.plan, self.batches, self._inside, self._sums, self.program_epsilon)
        self._seen.add(digest_of(text.encode("utf-8")))  # ids tell batches apart: an equal file holds the same ones
        replace_seen(path, text, self._seen)

    @classmethod
    def load(cls, path: str | os.PathLike[str], plan: Plan | str | os.PathLike[str]) -> Collector:
        """Read a file of this plan; a damaged one is refused."""
        made = cls(plan)
        counted, made.program_epsilon = collector_file.read(path, made.plan, made._seen)
        made.batches, made._inside, made._sums = counted
        return made


def _size(counts: Any) -> int:
    """How many numbers, also where they are nested."""
    if isinstance(counts, np.ndarray) and counts.dtype == object:
        return sum(map(_size, counts.ravel()))
    return int(np.size(counts))
