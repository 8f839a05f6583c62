"""A client of the application without a network, and a server of its own for the browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from reference.asgi import Client
from reference.browser import launched
from shuffledp.web.app import create_app
from shuffledp.web.pool import Pool
from shuffledp.web.work import computed


class Here:
    """Computes in this process, where a test can look inside; cannot be stopped."""

    ask = staticmethod(computed)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    made = Pool(Here)
    yield made
    made.close()


@pytest.fixture(scope="session")
def client(pool: Pool) -> Client:
    return Client(create_app(pool))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a real server in a process of its own, as the command starts it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shuffledp", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    if process.stdout is None:
        raise RuntimeError("no output")
    with process.stdout:
        try:
            yield process.stdout.readline().split()[0]
        finally:
            process.terminate()
            process.wait(10)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    with launched() as browser:
        yield browser


@pytest.fixture
def page(chromium: Any, server: str) -> Iterator[Any]:
    """A fresh page; afterward nothing was asked of anybody but the server, and nothing was said on the console."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.rstrip("/"))
    context.set_default_timeout(90_000)  # of a busy machine
    made = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    made.on("console", lambda message: said.append(message.text))
    made.on("pageerror", lambda error: said.append(str(error)))
    yield made
    context.close()
    assert asked and [url for url in asked if not url.startswith((server, "blob:" + server))] == []
    assert [text for text in said if not text.startswith("Failed to load resource")] == []
