"""Work in numbered pieces on several threads, with the results in order and no thread left behind."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import cache
from typing import TypeVar

from . import validation as check

T = TypeVar("T")
Part = TypeVar("Part")
_MOST_THREADS = 1024
_KEPT = 1 << 22


def thread_count(threads: object) -> int:
    """The number of threads to use; None: as many as there are cores for this process.

    Examples
    --------
    >>> thread_count(3), thread_count(None) >= 1
    (3, True)
    >>> thread_count(0)
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: threads must lie in [1, 1024], got 0; leave it out to use all cores.
    """
    if threads is not None:
        return check.whole("threads", threads, low=1, high=_MOST_THREADS, hint="leave it out to use all cores")
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        found: int | None = os.process_cpu_count()
    elif hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count()
    return min(found or 1, _MOST_THREADS)


def in_order(work: Callable[[int], T], count: int, threads: int) -> Generator[T]:
    """``work(0)``, ``work(1)``, ..., ``work(count - 1)``: see :func:`of_each`.

    Examples
    --------
    >>> list(in_order(lambda i: i * i, 5, threads=2))
    [0, 1, 4, 9, 16]
    """
    if count > 1:
        _keep_memory()
    return of_each(work, range(count), min(threads, count))


def of_each(work: Callable[[Part], T], parts: Iterable[Part], threads: int, *, processes: bool = False) -> Generator[T]:
    """``work`` of every part, in their order, worked out by several threads, or by as many processes.

    At most a few parts and results wait, so that memory does not grow with their number.  An exception is that of the
    first part that fails.  Whatever ends the iteration (the last result, an exception, an interrupt, a caller who
    closes it early), the parts that have not begun are dropped and every thread has ended.

    Examples
    --------
    >>> list(of_each(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads <= 1:
        yield from map(work, parts)
        return
    from concurrent.futures import (  # slow to load, rarely needed
        Executor,
        Future,
        ProcessPoolExecutor,
        ThreadPoolExecutor,
    )
    from multiprocessing import get_context

    waiting: deque[Future[T]] = deque()
    pool: Executor = (
        ProcessPoolExecutor(threads, mp_context=get_context("spawn"))
        if processes
        else ThreadPoolExecutor(threads, thread_name_prefix="shuffledp")
    )
    try:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@cache
def _keep_memory() -> None:
    """Let the C library keep a few MB that pieces free, for the next piece.

    Until something large was freed, glibc returns the memory of every array of 128 kB to the system, and each new one
    costs page faults, up to several times what is computed with it.  Nothing is written here, so no memory is used.
    """
    bytearray(_KEPT)
