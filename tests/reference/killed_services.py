"""Services that are killed at chosen moments, and clients that send the same report again until it is acknowledged.

A server process imports everything once and forks a service for every start, so that hundreds of kills take minutes.
A service reads the time from a file.  It may be told to kill itself before the N-th line of our code that it runs in
intake or in release, or be killed from outside after some time.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from shuffledp.shuffler import oblivious_http, sealing

_WATCHED = {
    "intake": ("/shuffler/intake.py", "/shuffler/store.py", "/shuffler/postgres.py"),
    "release": (
        *("/shuffler/release.py", "/shuffler/store.py", "/shuffler/postgres.py"),
        *("/_support/files.py", "/protocol/scattered.py"),
    ),
}


class Forks:
    """The server process."""

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; import reference.killed_services as k; k.serve_forks()"
        self._server = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()

    def start(self, folder: Path, port: int, at: tuple[str, int] | None = None) -> int:
        """A service, and its process id."""
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("the server was started without pipes")
        with self._lock:
            self._server.stdin.write(json.dumps({"folder": str(folder), "port": port, "at": at}) + "\n")
            self._server.stdin.flush()
            return int(self._server.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        self._server.communicate(timeout=60)


def serve_forks() -> None:
    """Fork a service for every line."""
    import pyarrow.parquet  # noqa: F401
    import uvicorn.lifespan.on
    import uvicorn.protocols.http.h11_impl  # noqa: F401

    import shuffledp.protocol.scattered
    import shuffledp.shuffler.postgres
    import shuffledp.shuffler.service
    import shuffledp.shuffler.store  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run(**json.loads(line))
        print(child, flush=True)


def _run(folder: str, port: int, at: list[Any] | None) -> None:
    try:
        log = os.open(f"{folder}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        from shuffledp.shuffler.folder import ShufflerFolder
        from shuffledp.shuffler.service import Service, serve

        now = Path(f"{folder}.now")
        if at:
            tracer = _tracer(at[0], at[1], Path(f"{folder}.lines"))
            threading.settrace(tracer)
        service = Service(ShufflerFolder(Path(folder)), clock=lambda: float(now.read_text()), tick=0.02)
        serve(service, port=port)
    except BaseException as error:
        print("ended", repr(error), flush=True)
    finally:
        os._exit(1)


def _tracer(phase: str, number: int, counted: Path) -> Any:
    """Kill before the ``number``-th line of a phase; with 0, write how many there were so far."""
    seen, begun, thread = 0, phase == "intake", {"intake": "committer", "release": "keeper"}[phase]

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal seen, begun
        if event == "line" and begun:
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            if not number and seen % 20 == 0:
                counted.write_text(f"{seen}.")
        if event == "return" and phase == "release" and frame.f_code.co_name == "release":
            begun = False
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        nonlocal begun
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if threading.current_thread().name != thread:
            return None
        if file.endswith("/shuffler/release.py") and name == "release":
            begun = True
        return line if file.endswith(_WATCHED[phase]) else None

    return call


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


class Front:
    """A front end that is started again whenever it has died."""

    def __init__(self, forks: Forks, folder: Path) -> None:
        self._forks, self.folder, self.port = forks, folder, free_port()
        self._pid, self._ended, self.starts = 0, False, 0
        self._next: tuple[str, int] | None = None
        self._thread = threading.Thread(target=self._mind, daemon=True)

    def set_time(self, now: float) -> None:
        part = Path(f"{self.folder}.part")
        part.write_text(str(now))
        part.replace(f"{self.folder}.now")

    def start(self, at: tuple[str, int] | None = None) -> None:
        self._pid = self._forks.start(self.folder, self.port, at)
        self.starts += 1
        if not self._thread.is_alive() and not self._thread.ident:
            self._thread.start()

    def _mind(self) -> None:
        while not self._ended:
            if not _alive(self._pid):
                self._pid = self._forks.start(self.folder, self.port, None)
                self.starts += 1
            time.sleep(0.01)

    def wait(self) -> None:
        """Until it answers."""
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                keys_of(self.port)
                return
            time.sleep(0.01)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        self._ended = True
        if self._thread.ident:
            self._thread.join()
        self.kill()
        while _alive(self._pid):
            time.sleep(0.005)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def post(port: int, path: str, kind: str, body: bytes, seconds: float = 5) -> tuple[int, bytes]:
    """One request; OSError or HTTPException if the other side is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("POST", path, body, {"content-type": kind})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def keys_of(port: int) -> oblivious_http.KeyConfig:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/ohttp-keys")
        return oblivious_http.decode_configs(connection.getresponse().read())[0]
    finally:
        connection.close()


def send(port: int, body: bytes, sealed: bool) -> int:
    """The status of a report that is sent once, in the clear or sealed."""
    if not sealed:
        return post(port, "/reports", sealing.MEDIA_TYPE, body)[0]
    fields = ((b"content-type", sealing.MEDIA_TYPE.encode()),)
    request = oblivious_http.BinaryRequest(method="POST", path="/reports", fields=fields, content=body)
    raw, exchange = oblivious_http.encapsulate(keys_of(port), request.encode())
    status, answer = post(port, "/ohttp", oblivious_http.REQUEST, raw)
    if status != 200:
        return status
    found = oblivious_http.decode_message(exchange.open_answer(answer))
    if not isinstance(found, oblivious_http.BinaryResponse):
        raise TypeError("a request came back")
    return found.status


def send_until_stored(ports: Callable[[], int], body: bytes, sealed: bool, seconds: float = 30) -> None:
    """The same report again and again, to any front end, until one of them has acknowledged it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            status = send(ports(), body, sealed)
        except (OSError, http.client.HTTPException):
            status = 0
        if status == 200:
            return
        if status not in (0, 503, 500):
            raise RuntimeError(f"refused with {status}")
        time.sleep(0.01)
    raise TimeoutError("the report was not acknowledged")
