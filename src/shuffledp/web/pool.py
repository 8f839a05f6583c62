"""Computing beside the event loop: a few threads, a bounded queue, and nothing computed twice at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

from .kept import Kept

#: The lines of work: answers while a slider moves, longer ones, and the ranking.
Line = Literal["quick", "slow", "rank"]
#: Answers that are kept, and questions that may wait for a thread.
_MOST_KEPT, _MOST_WAITING = 2048, 256


class BusyError(Exception):
    """More questions wait than the server takes."""


class Pool:
    """A few lines of work, so that a long computation holds up no short one; each has one thread.

    More threads would not be faster: they share one interpreter.
    """

    def __init__(self, *, most_waiting: int = _MOST_WAITING, most_kept: int = _MOST_KEPT) -> None:
        self._threads = {line: ThreadPoolExecutor(1, thread_name_prefix=f"shuffledp-{line}") for line in get_args(Line)}
        self._waiting: dict[Hashable, asyncio.Future[bytes]] = {}
        self._kept: Kept[bytes] = Kept(most_kept)
        self._most = most_waiting

    async def answer(
        self,
        key: Hashable,
        work: Callable[[], bytes],
        *,
        line: Line = "quick",
        keep: Callable[[bytes], bool] | None = None,
    ) -> bytes:
        """``work()``, or what it gave when it was last asked under this key; exceptions are not kept.

        Whoever asks what is being computed already waits for that.
        """
        known = self._kept.get(key)
        if known is not None:
            return known
        future = self._waiting.get(key)
        if future is None:
            if len(self._waiting) >= self._most:
                raise BusyError
            loop = asyncio.get_running_loop()
            future = asyncio.ensure_future(loop.run_in_executor(self._threads[line], work))
            self._waiting[key] = future
            future.add_done_callback(lambda done: self._done(key, done, keep))
        return await asyncio.shield(future)  # one client that leaves does not take the answer from another

    def _done(self, key: Hashable, future: asyncio.Future[bytes], keep: Callable[[bytes], bool] | None) -> None:
        self._waiting.pop(key, None)
        if not future.cancelled() and future.exception() is None:
            found = future.result()
            if keep is None or keep(found):
                self._kept.put(key, found)

    def close(self) -> None:
        """Drop what waits and end the threads after what they are at."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
