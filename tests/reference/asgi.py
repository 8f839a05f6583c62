"""A client of an ASGI application in the same process: no socket, no thread, no network."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Client:
    """Asks the application as if it came over the network; an error of the application is its response."""

    def __init__(self, app: Any, base_url: str = "http://127.0.0.1:8000") -> None:
        self._transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._base = base_url

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request in an event loop of its own."""

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url=self._base) as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    def get(self, path: str, **more: Any) -> httpx.Response:
        """A question."""
        return self.request("GET", path, **more)

    def head(self, path: str) -> httpx.Response:
        """A question whose answer has no body."""
        return self.request("HEAD", path)

    def post(self, path: str) -> httpx.Response:
        """What is refused."""
        return self.request("POST", path)
