"""Commands that are killed (SIGKILL) at a chosen moment: before a line is run for the k-th time, or after a time.

A process that has imported everything forks one child per command, so that hundreds of kills take a minute.  Lines are
those of the modules that write files; every step between two system calls is one of them or lies between two.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

#: Modules that write, by the end of their path.
_WATCHED = (
    "/_support/files.py",
    "/_support/locking.py",
    "/engines/resumable.py",
    "/engines/report_files.py",
    "/protocol/collector.py",
    "/protocol/batch.py",
    "/protocol/shuffler.py",
    "/composing/ledger_file.py",
    "/cli/collect.py",
    "/cli/budget.py",
    "/shutil.py",
)


class Moment(NamedTuple):
    """Before a line (module and number) is run for the ``count``-th time, or after so many seconds."""

    line: str = ""
    count: int = 0
    seconds: float | None = None


class Outcome(NamedTuple):
    """How a command ended: exit code (-9 if it was killed), what it said, its lines if they were asked for, seconds."""

    code: int
    said: str
    lines: dict[str, int]
    seconds: float


class Killer:
    """Runs commands of shuffledp in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._log = folder, folder / "log"
        self._server = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; import house.killing as k; k.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate(timeout=60)

    def run(self, command: Sequence[object], *, at: Moment | None = None, lines: bool = False) -> Outcome:
        """The outcome of a command, killed at a moment or left to its end, which may count its lines."""
        job = {"command": [str(word) for word in command], "log": str(self._log), "at": at, "lines": lines}
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("the server was started without pipes")
        start = time.monotonic()
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        seconds = time.monotonic() - start
        counted = Path(f"{self._log}.lines")
        found = json.loads(counted.read_text()) if lines and counted.exists() else {}
        return Outcome(code, self._log.read_text(), found, seconds)


def serve() -> None:
    """Fork a child for every job that is read, and tell its exit code."""
    import pyarrow.parquet  # noqa: F401  # what children need is imported once

    import shuffledp
    from shuffledp.cli import budget, collect  # noqa: F401
    from shuffledp.engines import resumable  # noqa: F401

    for name in shuffledp.__all__:
        getattr(shuffledp, name)
    for line in sys.stdin:
        job = json.loads(line)
        at = None if job["at"] is None else Moment(*job["at"])
        child = os.fork()
        if not child:
            _run(job, at)
        if at is not None and at.seconds is not None:
            time.sleep(at.seconds)
            os.kill(child, signal.SIGKILL)  # it is there until it is waited for
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(job: dict[str, Any], at: Moment | None) -> None:
    code = 70
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        from shuffledp.cli import main

        seen: Counter[str] = Counter()
        if job["lines"] or (at is not None and at.seconds is None):
            sys.settrace(_tracer(seen, at))
        try:
            main(job["command"], prog_name="shuffledp")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        finally:
            sys.settrace(None)
        if job["lines"]:
            Path(job["log"] + ".lines").write_text(json.dumps(seen))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _tracer(seen: Counter[str], at: Moment | None) -> Any:
    def line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            seen[place] += 1
            if at is not None and place == at.line and seen[place] >= at.count:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        return line if frame.f_code.co_filename.endswith(_WATCHED) else None

    return call
