"""Computing beside the event loop: a few processes, a bounded queue, nothing computed twice at the same time.

Work stops when it has taken too long, and soon after nobody waits for it any more: its process is ended and replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from threading import Lock, Timer
from typing import Protocol

from .addresses import PROCESSES, Line
from .kept import Kept
from .worker import EndedError, Worker

#: Answers that are kept, and questions that may wait for a process.
_MOST_KEPT, _MOST_WAITING = 2048, 256
#: Seconds that somebody waits at most, that an answer is computed, and that work goes on which nobody waits for: to
#: replace its process takes about as long.
_MOST_SECONDS, _WORK_SECONDS, _GRACE_SECONDS = 60.0, 45.0, 2.0
_Key = tuple[object, ...]


class BusyError(Exception):
    """More questions wait than the server takes."""


class LongError(Exception):
    """An answer takes longer than the server gives it."""


class Computes(Protocol):
    """Somebody who answers one question at a time, and can be stopped from another thread."""

    def start(self) -> object:
        """Get ready."""

    def ask(self, path: str, given: Mapping[str, str]) -> bytes:
        """The answer, or EndedError if it was stopped."""

    def stop(self) -> None:
        """End what it is doing."""

    def close(self) -> None:
        """Stop for good."""


class _Job:
    """One question under way, for all who asked it."""

    future: Future[bytes]

    def __init__(self) -> None:
        self.waiting = 0  # known to the event loop only
        self._worker: Computes | None = None
        self._lock, self._stopped = Lock(), False

    def run(self, idle: LifoQueue[Computes], path: str, given: Mapping[str, str], seconds: float) -> bytes:
        """Ask somebody who is idle; in a thread that does nothing else."""
        worker = self._worker = idle.get()
        late = Timer(seconds, self.stop)
        late.daemon = True
        late.start()
        try:
            return worker.ask(path, given)
        except EndedError as error:
            if not self._stopped:
                raise RuntimeError(f"{error}, which nobody asked for") from None
            raise LongError(
                f"the answer takes longer than {seconds:g} seconds; ask in Python or on the command line, which wait."
            ) from None
        finally:
            late.cancel()
            with self._lock:  # from here on it answers somebody else
                self._worker = None
            idle.put(worker)

    def stop(self) -> None:
        """End the work, unless it has ended."""
        with self._lock:
            if self._worker is not None:
                self._stopped = True
                self._worker.stop()


class Pool:
    """The workers of every line; more than one core is busy with the lines together."""

    def __init__(
        self,
        make: Callable[[], Computes] = Worker,
        *,
        most_waiting: int = _MOST_WAITING,
        most_seconds: float = _MOST_SECONDS,
        work_seconds: float = _WORK_SECONDS,
        grace_seconds: float = _GRACE_SECONDS,
    ) -> None:
        self._most, self._seconds, self._work, self._grace = most_waiting, most_seconds, work_seconds, grace_seconds
        self._threads = {line: ThreadPoolExecutor(count) for line, count in PROCESSES.items()}
        self._idle: dict[Line, LifoQueue[Computes]] = {line: LifoQueue() for line in PROCESSES}
        self._workers = []
        for line, count in PROCESSES.items():
            for _ in range(count):
                self._workers.append(make())
                self._idle[line].put(self._workers[-1])
        self._jobs: dict[_Key, _Job] = {}
        self._kept: Kept[bytes] = Kept(_MOST_KEPT)

    def start(self) -> None:
        """Make ready for the first question."""
        self._workers[0].start()  # of the quick line

    async def answer(
        self, path: str, given: Mapping[str, str], *, line: Line, keep: Callable[[bytes], bool] = lambda found: True
    ) -> bytes:
        """What was asked, or what it gave when it was last asked; errors are not kept.

        Whoever asks what is being computed already waits for that; what nobody waits for any more is stopped.
        """
        key = (path, *sorted(given.items()))
        known = self._kept.get(key)
        if known is not None:
            return known
        job = self._jobs.get(key) or self._begun(key, path, given, line, keep)
        job.waiting += 1
        future = asyncio.wrap_future(job.future)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # which may be nobody's business
        try:  # one client that leaves does not take the answer from another
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise BusyError(f"nobody could answer within {self._seconds:g} seconds; ask again later.") from None
        finally:
            job.waiting -= 1
            if not job.waiting and not job.future.done() and not job.future.cancel():
                asyncio.get_running_loop().call_later(self._grace, self._unless_wanted, key, job)

    def _begun(self, key: _Key, path: str, given: Mapping[str, str], line: Line, keep: Callable[[bytes], bool]) -> _Job:
        if len(self._jobs) >= self._most:
            raise BusyError("too many questions are waiting; ask again in a moment.")
        job = self._jobs[key] = _Job()
        job.future = self._threads[line].submit(job.run, self._idle[line], path, dict(given), self._work)
        job.future.add_done_callback(lambda done: self._done(key, job, keep))
        return job

    def _done(self, key: _Key, job: _Job, keep: Callable[[bytes], bool]) -> None:
        self._forget(key, job)
        if not job.future.cancelled() and job.future.exception() is None and keep(job.future.result()):
            self._kept.put(key, job.future.result())

    def _forget(self, key: _Key, job: _Job) -> None:
        if self._jobs.get(key) is job:  # and not one that was begun after this had been stopped
            self._jobs.pop(key, None)

    def _unless_wanted(self, key: _Key, job: _Job) -> None:
        """Stop what nobody waits for, unless somebody asked for it again in the meantime."""
        if not job.waiting:
            self._forget(key, job)
            job.stop()

    def close(self) -> None:
        """Drop what waits and stop what is under way."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
