"""The collector: sums over batches, to be merged, saved and read again, and the answer once it may be released."""

from __future__ import annotations

import hashlib
import json
import os
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._support.locking import replace_seen
from .._support.reading import Kind, contained, digest_of, mapping, read_json
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..mechanisms.reports import Tally
from .batch import Batch, as_tally
from .plan import Plan, plan_of
from .tallies import plain, restored

STATE = Kind("a collector file", 2**30, "restore it from a copy", "path")
_KEYS = ("version", "plan", "batches", "sums", "checksum")
_OLD_KEYS = ("version", "plan", "batches", "users", "for_release", "counts", "checksum")
_SUM_KEYS = ("batches", "users", "for_release", "counts")
VERSION, OLD_VERSION = 2, 1
#: Numbers, in all, of batches whose counts are kept apart.
MOST_APART = 2**21


class Collector:
    """Counts the batches of a plan, each once, and answers when the guarantee holds.

    Every batch was shuffled on its own, so each must have the plan's minimum number of users; the answer is refused
    while one has fewer, unless that is overridden, and then its statement says so.

    The counts of every batch are kept apart, so that :meth:`drop` takes one away exactly, without its file.  Beyond two
    million numbers in all the oldest are summed, and can no longer be dropped: memory and file do not grow without end.

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
        self._sums: list[tuple[tuple[str, ...], Tally]] = []  # the oldest first; every batch is in one of them
        self._seen: set[str] = set()  # digests of files that hold no batch but these
        self._early = False

    @property
    def _tally(self) -> Tally | None:
        """The sums over all batches."""
        return reduce(add, (tally for _, tally in self._sums)) if self._sums else None

    # -- counting ---------------------------------------------------------------------------------------------------

    def ingest(self, batch: Batch | str | os.PathLike[str]) -> bool:
        """Count a batch, or the file of one; False if it was counted before, and then nothing changes."""
        found = batch if isinstance(batch, Batch) else Batch.read(batch, self.plan)
        if found.header.plan != self.plan.digest:
            raise ParameterError(
                f"batch must be of this plan ({self.plan.digest[:12]}...), got one of another "
                f"({found.header.plan[:12]}...); use the plan that its clients had."
            )
        if found.header.id in self.batches:
            return False
        return self.ingest_counts(found.header.id, found.header.users, as_tally(self.plan, found.data, found.header))

    def ingest_counts(self, batch: str, users: int, tally: Tally) -> bool:
        """Count a batch by the sums over it; False if it was counted before."""
        if batch in self.batches:
            return False
        self._sums.append(((batch,), tally))
        self.batches[batch] = users
        self._settle()
        return True

    def _settle(self) -> None:
        """Sum up the oldest batches where too much is kept apart."""
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
                f"a batch to drop must be one whose counts are kept apart, got {batch}, which was summed with older "
                "ones; count the others again, from their files, into a new state."
            )
        self._sums = [(ids, tally) for ids, tally in self._sums if ids != (batch,)]
        return self.batches.pop(batch)

    def merge(self, other: Collector) -> Collector:
        """Both together, in any order and grouping the same; a batch that both counted is refused."""
        if other.plan.digest != self.plan.digest:
            raise ParameterError("collectors must be of one plan to be merged, got two; merge those of one plan.")
        twice = sorted(self.batches.keys() & other.batches.keys())
        if twice:
            raise ParameterError(
                f"a batch must be counted once, got {twice[0]} in both collectors; drop it from one of them."
            )
        both = Collector(self.plan)
        both.batches = {**self.batches, **other.batches}
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
        """The answer; refused while a batch is below the plan's minimum, unless ``release_early`` overrides that."""
        total = self._tally
        if total is None:
            raise ParameterError("an estimate needs a batch, got none; ingest one first.")
        if not self.ready and not release_early:
            few = min(self.batches, key=self.batches.__getitem__)
            raise ParameterError(
                f"every batch must have {self.plan.smallest_batch:,} users for the guarantee of this plan, got one of "
                f"{self.batches[few]:,} ({few}); leave it out (--drop if it is in the state), or pass "
                "release_early=True (--release-early on the command line), which is then stated."
            )
        self._early = not self.ready
        return self.plan.query.answer(total)

    def statement(self) -> str:
        """What is guaranteed of the answer, in a paragraph; an override is said first."""
        said, total = [], self._tally
        if self._early:
            said.append(
                f"RELEASED EARLY: a batch had {min(self.batches.values()):,} users, below the "
                f"{self.plan.smallest_batch:,} of the plan, so that the guarantee below does not hold for its users; "
                "the local guarantee does."
            )
        if total is not None and total.for_release is False:
            said.append(
                "NOT FOR RELEASE: a seeded generator drew reports or their order, so that no guarantee holds against "
                "anyone who knows the seed."
            )
        if self.users > self.plan.users:
            said.append(
                f"MORE USERS THAN PLANNED: the batches have {self.users:,} users in all, the plan {self.plan.users:,}; "
                "the guarantee below is for a user who is in one batch, and does not hold for one who sent in several."
            )
        said.append(self.plan.statement())
        if total is not None and total.for_release is None:
            said.append("Reports do not say whether secure randomness made them: that is up to the clients.")
        return " ".join(said)

    # -- the file ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was counted, whole or not at all: after a crash the file is the old or the new one.

        A file that this collector has neither loaded nor saved as it is now is refused, because batches that another
        one counted would be lost: load it, count into that and save again.
        """
        state = {"version": VERSION, "plan": self.plan.digest, "batches": self.batches, "sums": self._plain_sums()}
        text = json.dumps({**state, "checksum": _checksum(state)}) + "\n"
        self._seen.add(digest_of(text.encode("utf-8")))  # ids tell batches apart: an equal file holds the same ones
        replace_seen(path, text, self._seen)

    def _plain_sums(self) -> list[dict[str, Any]]:
        return [
            dict(zip(_SUM_KEYS, (list(ids), tally.users, tally.for_release, plain(tally.counts)), strict=True))
            for ids, tally in self._sums
        ]

    @classmethod
    def load(cls, path: str | os.PathLike[str], plan: Plan | str | os.PathLike[str]) -> Collector:
        """Read a file of this plan; a damaged one is refused.

        One that an earlier version wrote holds a single sum over its batches, none of which can be dropped.
        """
        made, shown = cls(plan), repr(os.fspath(path))
        with contained(STATE, str(path)):
            found = read_json(path, STATE, seen=made._seen)
            old = isinstance(found, dict) and found.get("version") == OLD_VERSION
            state = mapping("collector file", found, needed=_OLD_KEYS if old else _KEYS)
            stated = state.pop("checksum")
            if stated != _checksum(state) or state["version"] not in (VERSION, OLD_VERSION):
                raise ParameterError(f"a collector file must be as it was written, got a damaged one in {shown}.")
            if state["plan"] != made.plan.digest:
                raise ParameterError(f"a collector file must be of this plan, got one of another in {shown}.")
            made.batches = _batches(state["batches"], shown)
            one_sum = [{**{key: state.get(key) for key in _SUM_KEYS}, "batches": list(made.batches)}]
            made._sums = _sums(made, (one_sum if made.batches else []) if old else state["sums"], shown)
        return made


def _sums(made: Collector, found: object, shown: str) -> list[tuple[tuple[str, ...], Tally]]:
    """The sums, if every batch is in one of them."""
    if not isinstance(found, list):
        found = [None]
    items = [mapping("sums of a collector file", item, needed=_SUM_KEYS) for item in found]
    ids = [batch for item in items for batch in (item["batches"] if isinstance(item["batches"], list) else [None])]
    if ids != list(made.batches) or not all(item["batches"] for item in items):
        raise ParameterError(
            f"sums of a collector file must be over its batches, each once, got others in {shown}; restore it from a "
            "copy."
        )
    query = made.plan.query
    like = query.randomizer.privatise_counts(query.inputs([[None]] * len(query.columns))).counts
    return [
        (tuple(item["batches"]), _tally(made.plan, item, sum(made.batches[i] for i in item["batches"]), like, shown))
        for item in items
    ]


def _batches(found: object, shown: str) -> dict[str, int]:
    """Ids of batches with their users."""
    if not isinstance(found, dict) or not all(type(n) is int and 0 < n <= 10**15 for n in found.values()):
        raise ParameterError(
            f"batches of a collector file must be ids with their numbers of users, got something else in {shown}; "
            "restore it from a copy."
        )
    return dict(found)


def _tally(plan: Plan, state: dict[str, Any], users: int, like: Any, shown: str) -> Tally:
    """The counts, if they are such as this plan makes of so many users."""
    m, release, counts = plan.query.randomizer, state["for_release"], restored(state["counts"])
    if not _alike(counts, like):
        raise ParameterError(
            f"counts of a collector file must be those of the plan, got numbers of another shape in {shown}; "
            "restore it from a copy."
        )
    if state["users"] != users * plan.reports_per_user or type(state["users"]) is not int:
        raise ParameterError(
            f"users of a collector file must be those of its batches, got {state['users']!r:.40} in {shown}; restore "
            "it from a copy."
        )
    if release is not None and not isinstance(release, bool):
        raise ParameterError(
            f"for_release of a collector file must be true, false or null, got {release!r:.40} in {shown}; restore it."
        )
    return Tally(counts, m.spec, users * plan.reports_per_user, release)


def _alike(found: Any, wanted: Any) -> bool:
    """Whether two tallies can be added: one shape and kind of numbers, entry by entry where they are nested.

    An entry of a query that nobody was asked may be the number 0 in either of them.
    """
    if not isinstance(found, np.ndarray) or not isinstance(wanted, np.ndarray):
        return not (isinstance(found, np.ndarray) and found.dtype == object)
    if found.shape != wanted.shape or (found.dtype == object) != (wanted.dtype == object):
        return False
    if found.dtype == object:
        return all(_alike(a, b) for a, b in zip(found.ravel(), wanted.ravel(), strict=True))
    return bool(found.dtype.kind == "f") is bool(wanted.dtype.kind == "f")


def _size(counts: Any) -> int:
    """How many numbers, also where they are nested."""
    if isinstance(counts, np.ndarray) and counts.dtype == object:
        return sum(map(_size, counts.ravel()))
    return int(np.size(counts))


def _checksum(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode("utf-8")).hexdigest()
