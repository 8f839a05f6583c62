"""Validate request bodies, and commit them in groups: one durable transaction for all that came during the last one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import ParameterError, ShuffleDPError
from .publication import Publication
from .sealing import read_header, unpack
from .store import CLOSED, MALFORMED, REPLAYED, PeriodKey, ReceivedReports, Store, StoreUnavailableError

#: Seconds that the clock of a client may be fast.
SKEW = 300
#: Bytes of reports that may wait for the store; more are told to come back.
_MOST_WAITING = 1 << 26
#: Seconds in which requests gather for one transaction: a commit costs as much as many reports.
_GATHERED = 0.003
_LATE = 410, "late", "the period must not be over, got one that is; its report cannot be counted."
Find = Callable[[bytes], tuple[Publication, bool] | None]
Waiting = list[tuple[ReceivedReports, asyncio.Future[str]]]


class Issuer(Protocol):
    """A check of who may report, such as holders of a token (RFC 9577).  No implementation is included."""

    def admits(self, token: bytes, place: PeriodKey) -> bool:
        """Return True if reports are accepted with this field ``authorization``, empty where the request has none.

        It is asked on the loop that serves, so that it must answer at once, and again when a client sends again.
        """


class RefusedError(ShuffleDPError):
    """An answer other than 200: a status, a reason of one word for the metrics, one sentence."""

    def __init__(self, status: int, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.reason = status, reason


def check_body(raw: bytes, find: Find, now: float, refuse: Callable[[PeriodKey, str], None]) -> ReceivedReports:
    """The reports of a body, where ``find`` gives the publication of a digest and whether it was withdrawn.

    ``refuse`` is told the place and reason of what is refused for a period that is known.
    """
    try:
        digest, period, _ = read_header(raw)
    except ParameterError as error:
        raise RefusedError(400, MALFORMED, str(error)) from None
    found = find(digest)
    if found is None:
        raise RefusedError(404, "unknown", "the plan must be one of GET /plans, got another; fetch them again.")
    publication, withdrawn = found
    try:
        _in_time(publication, period, withdrawn, now)
        reports = unpack(raw, report_bytes=publication.slots * publication.sealed_bytes)
    except ParameterError as error:
        refuse((digest, period), MALFORMED)
        raise RefusedError(400, MALFORMED, str(error)) from None
    except RefusedError as error:
        if error.reason != "early":  # any number may come, and is not to be remembered
            refuse((digest, period), error.reason)
        raise
    return ReceivedReports((digest, period), reports)


def _in_time(publication: Publication, period: int, withdrawn: bool, now: float) -> None:
    start, end = publication.window(period)
    if now < start - SKEW:
        raise RefusedError(425, "early", "the period must have begun, got a later one; check the clock, send it then.")
    if withdrawn:
        raise RefusedError(
            410, "withdrawn", "the plan must be in force, got one that was withdrawn; fetch /plans again."
        )
    if start >= publication.expires or now >= publication.expires + publication.grace:
        raise RefusedError(410, "expired", "the plan must be in force, got one that has expired; fetch /plans again.")
    if now >= end + publication.grace:
        raise RefusedError(*_LATE)


@dataclass
class Committer:
    """A thread that writes what waits in one transaction, and then what came meanwhile."""

    store: Store
    metrics: Counter[tuple[str, ...]]
    failed: str = ""  # why the last transaction failed
    waiting: int = 0  # bytes of sealed messages that wait
    _entries: Waiting = field(default_factory=list)
    _refused: Counter[tuple[PeriodKey, str]] = field(default_factory=Counter)
    _wake: threading.Condition = field(default_factory=threading.Condition)
    _flush: bool = False
    _ended: bool = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; answers are given on this loop."""
        self._thread = threading.Thread(target=self._run, args=(loop,), name="committer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, and end."""
        with self._wake:
            self._ended = True
            self._wake.notify()
        self._thread.join()

    async def put(self, entry: ReceivedReports) -> None:
        """Return once the reports are durable; RefusedError or StoreUnavailableError if they are not."""
        size = sum(len(report.sealed) for report in entry.reports)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with self._wake:
            if self.waiting + size > _MOST_WAITING or self._ended:
                raise StoreUnavailableError("too much waits")
            self.waiting += size
            self._entries.append((entry, answer))
            self._wake.notify()
        outcome = await answer
        if outcome == REPLAYED:
            raise RefusedError(
                409, "replayed", "a request must be sealed anew, got one that came before; seal it again."
            )
        if outcome == CLOSED:
            raise RefusedError(*_LATE)

    def refuse(self, place: PeriodKey, reason: str) -> None:
        """Count what was refused, with the next transaction."""
        with self._wake:
            if len(self._refused) < 10_000:
                self._refused[place, reason] += 1

    def flush(self) -> None:
        """Count what was refused, though no report comes."""
        with self._wake:
            self._flush = bool(self._refused)
            self._wake.notify()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            with self._wake:
                while not (self._entries or self._flush or self._ended):
                    self._wake.wait()
            time.sleep(_GATHERED)
            with self._wake:
                self._flush = False
                taken, self._entries, self.waiting = self._entries, [], 0
                refused, self._refused = self._refused, Counter()
                if self._ended and not taken and not refused:
                    return
            self._commit(taken, refused, loop)

    def _commit(self, taken: Waiting, refused: Counter[tuple[PeriodKey, str]], loop: asyncio.AbstractEventLoop) -> None:
        begun = time.perf_counter()
        outcomes: list[Any]
        try:
            outcomes = list(self.store.add([entry for entry, _ in taken], refused))
            self.failed = ""
            self.metrics["commits_total",] += 1
        except Exception as error:  # this thread must go on, and none of these is stored
            unavailable = error if isinstance(error, StoreUnavailableError) else StoreUnavailableError(repr(error))
            self.failed = unavailable.reason
            self.metrics["commits_failed_total",] += 1
            outcomes = [unavailable] * len(taken)
        self.metrics["commit_microseconds_total",] += int(1e6 * (time.perf_counter() - begun))
        loop.call_soon_threadsafe(_answer, taken, outcomes)


def _answer(taken: Waiting, outcomes: list[Any]) -> None:
    for (_, future), outcome in zip(taken, outcomes, strict=True):
        if future.cancelled():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
