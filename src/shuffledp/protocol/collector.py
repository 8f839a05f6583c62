"""The collector: sums over batches, to be merged, saved and read again, and the answer once it may be released."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._support.files import write_whole
from .._support.reading import Kind, contained, mapping, read_json
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..mechanisms.reports import Tally
from .batch import Batch, as_tally, is_id, refuse_twice
from .plan import Plan, plan_of
from .tallies import plain, restored

STATE = Kind("a collector file", 2**30, "restore it from a copy", "path")
_KEYS_1 = ("version", "plan", "batches", "users", "for_release", "counts", "checksum")
_KEYS = (*_KEYS_1, "inside", "incomplete")
VERSION = 2


class Collector:
    """Counts the batches of a plan, each once, and answers when the guarantee holds.

    Every batch was shuffled on its own, so each must have the plan's minimum number of users; the answer is refused
    while one has fewer, unless that is overridden, and then its statement says so.

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
        self._incomplete: set[str] = set()  # those of which it is not known what they were made from
        self._tally: Tally | None = None
        self._early = False

    # -- counting ---------------------------------------------------------------------------------------------------

    def ingest(self, batch: Batch | str | os.PathLike[str]) -> bool:
        """Count a batch, or the file of one; False if it was counted before, and then nothing changes.

        One that has users in common with a batch that was counted, because one was made from the other or both from a
        third, is refused.
        """
        found = batch if isinstance(batch, Batch) else Batch.read(batch, self.plan)
        header = found.header
        if header.plan != self.plan.digest:
            raise ParameterError(
                f"batch must be of this plan ({self.plan.digest[:12]}...), got one of another "
                f"({header.plan[:12]}...); use the plan that its clients had."
            )
        if self._counted(header.id, header.users):
            return False
        tally = as_tally(self.plan, found.data, header)
        return self.ingest_counts(header.id, header.users, tally, made_from=header.made_from, complete=header.complete)

    def ingest_counts(
        self, batch: str, users: int, tally: Tally, *, made_from: Iterable[str] = (), complete: bool = True
    ) -> bool:
        """Count a batch by the sums over it; False if it was counted before.

        made_from, complete : as in the header of a batch
        """
        if self._counted(batch, users):
            return False
        inside = dict.fromkeys(made_from, batch)
        for known in (self.batches, self._inside):
            refuse_twice((batch, *inside), known, "counted")
        self._tally = tally if self._tally is None else self._tally + tally
        self.batches[batch] = users
        self._inside.update(inside)
        if not complete:
            self._incomplete.add(batch)
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

    def merge(self, other: Collector) -> Collector:
        """Both together, in any order and grouping the same; batches that have users in common are refused."""
        if other.plan.digest != self.plan.digest:
            raise ParameterError("collectors must be of one plan to be merged, got two; merge those of one plan.")
        mine, others = ({*made.batches, *made._inside} for made in (self, other))
        twice = sorted(mine & others)
        if twice:
            raise ParameterError(
                f"a batch must be counted once, got {twice[0]} in both collectors, perhaps as a part of another; their "
                "sums cannot be told apart, so count one of them again without it."
            )
        both = Collector(self.plan)
        both.batches = {**self.batches, **other.batches}
        both._inside = {**self._inside, **other._inside}
        both._incomplete = self._incomplete | other._incomplete
        parts = [part for part in (self._tally, other._tally) if part is not None]
        if parts:
            both._tally = parts[0] if len(parts) == 1 else parts[0] + parts[1]
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
        if self._tally is None:
            raise ParameterError("an estimate needs a batch, got none; ingest one first.")
        if not self.ready and not release_early:
            raise ParameterError(
                f"every batch must have {self.plan.smallest_batch:,} users for the guarantee of this plan, got one of "
                f"{min(self.batches.values()):,}; collect more, or pass release_early=True (--release-early on the "
                "command line), which is then stated."
            )
        self._early = self._early or not self.ready
        return self.plan.query.answer(self._tally)

    def statement(self) -> str:
        """What is guaranteed of the answer, in a paragraph; an override is said first."""
        said = []
        if self._early:
            said.append(
                f"RELEASED EARLY: a batch had {min(self.batches.values()):,} users, below the "
                f"{self.plan.smallest_batch:,} of the plan, so that the guarantee below does not hold for its users; "
                "the local guarantee does."
            )
        if self._tally is not None and self._tally.for_release is False:
            said.append(
                "NOT FOR RELEASE: a seeded generator drew reports or their order, so that no guarantee holds against "
                "anyone who knows the seed."
            )
        if self.users > self.plan.users:
            said.append(
                f"MORE USERS THAN PLANNED: the batches have {self.users:,} users in all, the plan {self.plan.users:,}; "
                "the guarantee below is for a user who is in one batch, and does not hold for one who sent in several."
            )
        if self._incomplete:
            said.append(
                f"WHO IS IN WHICH BATCH IS NOT KNOWN: batch {min(self._incomplete)} does not say what it was made "
                "from, because an earlier version wrote it or a part of it; a user who is in it twice, or in another "
                "batch too, counts twice, and the guarantee below does not hold for that user."
            )
        said.append(self.plan.statement())
        if self._tally is not None and self._tally.for_release is None:
            said.append("Reports do not say whether secure randomness made them: that is up to the clients.")
        return " ".join(said)

    # -- the file ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was counted, whole or not at all: after a crash the file is the old or the new one."""
        state = self._state()
        state["checksum"] = _checksum(state)
        write_whole(path, json.dumps(state) + "\n", name="path")

    def _state(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "plan": self.plan.digest,
            "batches": self.batches,
            "inside": self._inside,
            "incomplete": sorted(self._incomplete),
            "users": 0 if self._tally is None else self._tally.users,
            "for_release": None if self._tally is None else self._tally.for_release,
            "counts": None if self._tally is None else plain(self._tally.counts),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], plan: Plan | str | os.PathLike[str]) -> Collector:
        """Read a file of this plan; a damaged one is refused."""
        made, shown = cls(plan), repr(os.fspath(path))
        with contained(STATE, str(path)):
            state = mapping("collector file", read_json(path, STATE), needed=_KEYS_1, optional=_KEYS)
            stated = state.pop("checksum")
            keys = next((keys for version, keys in ((1, _KEYS_1), (VERSION, _KEYS)) if version == state["version"]), ())
            if stated != _checksum(state) or {*state, "checksum"} != {*keys}:
                raise ParameterError(f"a collector file must be as it was written, got a damaged one in {shown}.")
            if state["plan"] != made.plan.digest:
                raise ParameterError(f"a collector file must be of this plan, got one of another in {shown}.")
            made.batches = _batches(state["batches"], shown)
            # version 1 did not note what batches were made from
            made._inside = _inside(state.get("inside", {}), made.batches, shown)
            made._incomplete = _incomplete(state.get("incomplete", [*made.batches]), made.batches, shown)
            made._tally = _tally(made.plan, state, made.users, shown)
        return made


def _batches(found: object, shown: str) -> dict[str, int]:
    """Ids of batches with their users."""
    if not isinstance(found, dict) or not all(type(n) is int and 0 < n <= 10**15 for n in found.values()):
        raise ParameterError(
            f"batches of a collector file must be ids with their numbers of users, got something else in {shown}; "
            "restore it from a copy."
        )
    return dict(found)


def _inside(found: object, batches: dict[str, int], shown: str) -> dict[str, str]:
    """Ids of batches that the counted ones were made from, each with that of the counted one."""
    pairs = found.items() if isinstance(found, dict) else [(None, None)]
    if not all(is_id(part) and part not in batches and is_id(whole) and whole in batches for part, whole in pairs):
        raise ParameterError(
            f"inside of a collector file must say which batch is a part of which, got something else in {shown}; "
            "restore it from a copy."
        )
    return dict(pairs)


def _incomplete(found: object, batches: dict[str, int], shown: str) -> set[str]:
    """Ids of counted batches that may have been made from others."""
    if not isinstance(found, list) or not all(isinstance(batch, str) and batch in batches for batch in found):
        raise ParameterError(
            f"incomplete of a collector file must be ids of its batches, got something else in {shown}; restore it "
            "from a copy."
        )
    return {*found}


def _tally(plan: Plan, state: dict[str, Any], users: int, shown: str) -> Tally | None:
    """The counts, if they are such as this plan makes of so many users."""
    m, release, counts = plan.query.randomizer, state["for_release"], None
    if state["counts"] is not None:
        counts = restored(state["counts"])
        nobody = m.privatise_counts(plan.query.inputs([[None]] * len(plan.query.columns)))
        if not _alike(counts, nobody.counts):
            raise ParameterError(
                f"counts of a collector file must be those of the plan, got numbers of another shape in {shown}; "
                "restore it from a copy."
            )
    if (
        state["users"] != users * plan.reports_per_user
        or type(state["users"]) is not int
        or bool(users) != (counts is not None)
    ):
        raise ParameterError(
            f"users of a collector file must be those of its batches, got {state['users']!r:.40} in {shown}; restore "
            "it from a copy."
        )
    if release is not None and not isinstance(release, bool):
        raise ParameterError(
            f"for_release of a collector file must be true, false or null, got {release!r:.40} in {shown}; restore it."
        )
    return None if counts is None else Tally(counts, m.spec, users * plan.reports_per_user, release)


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


def _checksum(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode("utf-8")).hexdigest()
