"""A client of the application without a network, and a server of its own for the browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from reference.asgi import Client
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
