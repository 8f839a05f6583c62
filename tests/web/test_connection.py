"""Who is connected has to do its part: connections that say or read nothing make room for those that ask."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from shuffledp.web import connection
from shuffledp.web.app import create_app
from shuffledp.web.pool import Pool
from shuffledp.web.worker import EndedError

HEAD = b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LARGE = 2**24


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> Iterator[tuple[str, int]]:
    """A server in this process that waits for half a second only; /large is more than fits into any buffer."""
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    page = create_app(pool)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/large":
            return await page(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(LARGE)})
        return None

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=connection.Connection, ws="none", lifespan="off", log_config=None, log_level="critical"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join()
    listening.close()


def ended(line: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    found = b""
    while True:
        try:
            more = line.recv(65536)
        except ConnectionResetError:
            return found
        if not more:
            return found
        found += more


@pytest.mark.parametrize("said", [b"", b"G", HEAD, HEAD + b"X: y"])
def test_half_a_request_is_not_waited_for(hasty: tuple[str, int], said: bytes) -> None:
    with socket.create_connection(hasty, timeout=20) as line:
        line.sendall(said)
        assert ended(line) == b""


def drip(line: socket.socket) -> None:
    for _ in range(1000):
        line.sendall(b"X: y\r\n")
        time.sleep(0.02)


def test_a_few_bytes_now_and_then_are_not_enough(hasty: tuple[str, int]) -> None:
    with socket.create_connection(hasty, timeout=20) as line:
        line.sendall(HEAD)
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            drip(line)


def test_neither_are_they_after_an_answer(hasty: tuple[str, int]) -> None:
    with socket.create_connection(hasty, timeout=20) as line:
        line.sendall(HEAD + b"\r\n" + HEAD)
        found = ended(line)
    assert found.count(b"HTTP/1.1 200 OK") == 1 and found.endswith(b"</svg>\n")


def test_a_connection_is_used_again(hasty: tuple[str, int]) -> None:
    with socket.create_connection(hasty, timeout=20) as line:
        line.sendall(2 * (HEAD + b"\r\n"))
        assert ended(line).count(b"HTTP/1.1 200 OK") == 2


def test_who_does_not_read_is_not_waited_for(hasty: tuple[str, int]) -> None:
    with socket.create_connection(hasty, timeout=20) as line:
        line.sendall(HEAD.replace(b"/icon.svg", b"/large") + b"\r\n")
        time.sleep(1.5)
        assert len(ended(line)) < LARGE


def test_many_who_say_nothing_keep_nobody_out(server: str) -> None:
    place = urlsplit(server)
    with ExitStack() as held:
        for k in range(600):
            line = held.enter_context(socket.create_connection((place.hostname, place.port), timeout=20))
            line.sendall(HEAD[: k % len(HEAD)])
        assert httpx.get(server, timeout=20).status_code == 200


class Endless:
    """Work that ends when it is stopped."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def ask(self, path: str, given: Any) -> bytes:
        self.began.set()
        if not self.ended.wait(20):
            raise TimeoutError
        raise EndedError("stopped")

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.ended.set()

    close = stop


def test_who_leaves_stops_the_work() -> None:
    """As the server says it to the application when a connection is closed."""
    worker = Endless()
    pool = Pool(lambda: worker, grace_seconds=0.01)

    async def receive() -> dict[str, Any]:
        await _until(worker.began.is_set)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    async def ask() -> None:
        scope = {"type": "http", "method": "GET", "path": "/api/guarantee", "query_string": b"", "raw_path": b""}
        await create_app(pool)({**scope, "headers": [(b"host", b"127.0.0.1")]}, receive, send)
        await _until(worker.ended.is_set)

    asyncio.run(asyncio.wait_for(ask(), 20))
    pool.close()


async def _until(done: Callable[[], bool]) -> None:
    while not done():
        await asyncio.sleep(0.005)
