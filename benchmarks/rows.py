"""A line of the benchmarks, how a time is taken, and how it is compared with the version before."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .conventional import amplify as conventional

#: CPU seconds that the version before took for each compared line; ``python -m benchmarks --baseline`` writes it.
BASELINE = Path(__file__).with_name("before.json")

#: What a simpler program may cost beyond the limits on single answers and on lines compared with the version before.
ALLOWANCE = 1.5


class Row(NamedTuple):
    """What was measured, the result, what is wanted, and whether that was reached (None: nothing is wanted)."""

    what: str
    measured: str
    wanted: str = ""
    reached: bool | None = None


def at_most(what: str, seconds: float, most: float, note: str = "") -> Row:
    """A time against its limit."""
    return Row(what, spelled(seconds) + note, f"<= {spelled(most)}", seconds <= most)


class Compared:
    """Times as multiples of what the version before took for the same line.

    Machines differ, and one machine differs from hour to hour; a sum in scipy, which no change of this library touches,
    is the unit of both times.
    """

    def __init__(self) -> None:
        """Nothing is read before the first line asks."""
        self.seconds: dict[str, float] = {}

    def row(self, what: str, seconds: float, most: float, note: str = "") -> Row:
        """The line; a ratio is reached if it is when rounded as shown."""
        self.seconds[what], most = seconds, most * ALLOWANCE
        kept = _baseline()
        if what not in kept["seconds"]:
            return Row(what, spelled(seconds) + note)
        ratio = round(seconds / _yardstick() / (kept["seconds"][what] / kept["yardstick"]), 1)
        return Row(what, f"{ratio:.1f}x ({spelled(seconds)}{note})", f"<= {most:g}x the version before", ratio <= most)

    def write(self) -> None:
        """Keep these times as those of the version before; lines that were not measured keep theirs."""
        kept, now = _baseline(), _yardstick()
        old = {what: t * now / kept["yardstick"] for what, t in kept["seconds"].items()}
        seconds = {what: float(f"{t:.3g}") for what, t in sorted({**old, **self.seconds}.items())}
        BASELINE.write_text(json.dumps({"yardstick": float(f"{now:.4g}"), "seconds": seconds}, indent=1) + "\n")


compared = Compared()


@cache
def _baseline() -> dict[str, Any]:
    if not BASELINE.is_file():
        return {"yardstick": 1.0, "seconds": {}}
    kept: dict[str, Any] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return kept


@cache
def _yardstick() -> float:
    return cpu(lambda: conventional(10**5, 1.0, 1e-7), 25)


def spelled(seconds: float) -> str:
    """In the unit that suits it."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.1 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def cpu(call: Callable[[], object], repeat: int = 7) -> float:
    """CPU seconds of a call, the smallest of several: the least disturbed by the machine."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
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
