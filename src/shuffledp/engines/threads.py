"""Parts on several cores: numpy and the cipher let go of the interpreter while they work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")
#: Threads, at most: each holds a part in memory.
_MOST = 8


def cores() -> int:
    """Cores that this process may use, up to a few."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MOST, available))


def in_threads(work: Callable[[In], Out], parts: Iterable[In], *, workers: int) -> Iterator[Out]:
    """``work`` of every part, in their order; one part more than there are workers is held at a time.

    Examples
    --------
    >>> list(in_threads(abs, [-1, 2, -3], workers=2))
    [1, 2, 3]
    """
    if workers == 1:
        yield from map(work, parts)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(work, part))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # an error, or nobody wants the rest
            for future in waiting:
                future.cancel()
