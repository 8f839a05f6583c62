"""A process for the work: it answers as the library does, stops when told, and does not outlive the server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shuffledp.errors import ParameterError
from shuffledp.web.addresses import ADDRESSES
from shuffledp.web.work import computed, function_of
from shuffledp.web.worker import EndedError, Worker

QUICK = ("/api/guarantee", {"spec": "general:eps0=1", "n": "1e6", "delta": "1e-8"})


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def test_it_answers_refuses_and_goes_on(worker: Worker) -> None:
    assert worker.ask(*QUICK) == computed(*QUICK)
    with pytest.raises(ParameterError, match="n must be a number, got 'zw\u00f6lf'"):
        worker.ask(QUICK[0], {**QUICK[1], "n": "zw\u00f6lf"})
    with pytest.raises(RuntimeError, match="KeyError"):
        worker.ask("/api/download/nothing", {})
    process = worker.start()
    assert worker.ask(*QUICK) == computed(*QUICK) and worker.start() is process


def test_it_stops_in_the_middle_and_another_takes_its_place(worker: Worker) -> None:
    first = worker.start()
    worker.ask(*QUICK)
    first.send_signal(signal.SIGSTOP)  # in the middle of an answer, however fast the machine is
    threading.Timer(0.2, worker.stop).start()
    with pytest.raises(EndedError):
        worker.ask(*QUICK)
    assert first.poll() is not None  # it is gone, not waited for
    assert json.loads(worker.ask(*QUICK))["shown"]["epsilon"] == "0.004419"
    assert worker.start() is not first


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for the process where Linux lists it")
def test_it_does_not_outlive_the_server(tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    # Python runs this file as the worker starts: every answer takes forever.
    endless = f"""if True:
        import pathlib, time, shuffledp.web.work
        def computed(path, given):
            pathlib.Path({str(busy)!r}).touch()
            while True:
                time.sleep(0.01)
        shuffledp.web.work.computed = computed
    """
    (tmp_path / "sitecustomize.py").write_text(endless, encoding="utf-8")
    server_code = f"""if True:
        import sys
        from shuffledp.web.worker import Worker
        sys.path.insert(0, {str(tmp_path)!r})
        worker = Worker()
        print(worker.start().pid, flush=True)
        worker.ask(*{QUICK!r})
    """
    with subprocess.Popen([sys.executable, "-c", server_code], stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None:
            raise RuntimeError("no output")
        worker = int(server.stdout.readline())
        assert _within(30, busy.exists) and _runs(worker)
        server.kill()
    assert _within(15, lambda: not _runs(worker))


def _within(seconds: float, true: Callable[[], bool]) -> bool:
    """Whether it becomes true in that time."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # a zombie has ended, even if nobody reaps it


def test_every_address_has_an_answer_and_a_line() -> None:
    assert all(callable(function_of(path)) for path in ADDRESSES)


def test_the_server_itself_imports_nothing_that_computes() -> None:
    code = "import sys, shuffledp.web.app, shuffledp.web.connection; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
