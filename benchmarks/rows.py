"""A line of the benchmarks, and how a time is taken."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """What was measured, the result, what is wanted, and whether that was reached (None: nothing is wanted)."""

    what: str
    measured: str
    wanted: str = ""
    reached: bool | None = None


def cpu(call: Callable[[], object], repeat: int = 7) -> float:
    """CPU seconds of a call, the smallest of several: the least disturbed by the machine."""
    return _shortest(call, repeat, time.process_time)


def wall(call: Callable[[], object], repeat: int = 7) -> float:
    """Seconds by the clock, the smallest of several; for what runs on several cores or in other processes."""
    return _shortest(call, repeat, time.perf_counter)


def _shortest(call: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    times = []
    for _ in range(repeat):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def cpu_of_process(code: str, repeat: int = 7) -> float:
    """CPU seconds of a fresh interpreter that runs ``code``, the smallest of several."""
    script = (
        "import os, resource, subprocess, sys\n"
        "os.environ.pop('PYTHONDONTWRITEBYTECODE', None)  # an installed package is compiled\n"
        f"subprocess.run([sys.executable, '-c', {code!r}], stdout=subprocess.DEVNULL)\n"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(u.ru_utime + u.ru_stime)"
    )
    command = [sys.executable, "-c", script]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(repeat))


def peak(call: Callable[[], Any]) -> tuple[float, Any]:
    """The most memory allocated at once during the call, in MB, and its result."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1] / 1e6, result
    finally:
        tracemalloc.stop()
