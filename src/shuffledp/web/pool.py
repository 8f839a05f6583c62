"""Computing beside the event loop: a few threads, a bounded queue, and nothing computed twice at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

from .kept import Kept

#: The lines of work: answers while a slider moves, longer ones, and the ranking.  A long one holds up no short one.
Line = Literal["quick", "slow", "rank"]
#: Address and parameters -> the body of the answer.
Work = Callable[[str, Mapping[str, str]], bytes]
_Key = tuple[str, tuple[tuple[str, str], ...]]
#: Answers that are kept, questions that may wait for a thread, and seconds that somebody waits at most.
_MOST_KEPT, _MOST_WAITING, _MOST_SECONDS = 2048, 256, 60.0


class BusyError(Exception):
    """More questions wait than the server takes, or one takes too long."""


class Pool:
    """The workers: one thread for each line of work; more would not be faster, as they share one interpreter."""

    def __init__(self, work: Work, *, most_waiting: int = _MOST_WAITING, most_seconds: float = _MOST_SECONDS) -> None:
        self._work, self._most, self._seconds = work, most_waiting, most_seconds
        self._threads = {line: ThreadPoolExecutor(1, thread_name_prefix=f"shuffledp-{line}") for line in get_args(Line)}
        self._waiting: dict[_Key, asyncio.Future[bytes]] = {}
        self._kept: Kept[bytes] = Kept(_MOST_KEPT)

    async def answer(
        self, path: str, given: Mapping[str, str], *, line: Line, keep: Callable[[bytes], bool] = lambda found: True
    ) -> bytes:
        """What was asked, or what it gave when it was last asked; errors are not kept.

        Whoever asks what is being computed already waits for that.
        """
        key = (path, tuple(sorted(given.items())))
        known = self._kept.get(key)
        if known is not None:
            return known
        future = self._waiting.get(key)
        if future is None:
            if len(self._waiting) >= self._most:
                raise BusyError("too many questions are waiting; ask again in a moment.")
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._threads[line], self._work, path, dict(given))
            self._waiting[key] = future
            future.add_done_callback(lambda done: self._done(key, done, keep))
        try:  # one client that leaves does not take the answer from another
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise BusyError(f"the answer takes longer than {self._seconds:g} seconds; ask in Python.") from None

    def _done(self, key: _Key, future: asyncio.Future[bytes], keep: Callable[[bytes], bool]) -> None:
        self._waiting.pop(key, None)
        if not future.cancelled() and future.exception() is None and keep(future.result()):
            self._kept.put(key, future.result())

    def close(self) -> None:
        """Drop what waits and end the threads after what they are at."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
