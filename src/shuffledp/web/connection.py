"""A connection whose other end has to do its part: send a whole request, and read what it is sent, within some seconds.

Otherwise some hundred connections that never say anything would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds for sending the next whole request, or for reading a part of an answer.
PATIENCE = 10


class Connection(H11Protocol):
    """HTTP as uvicorn speaks it, with a deadline whenever it is the other end's turn."""

    #: Those whose turn it is, longest first.
    _owing: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}

    def connection_made(self, transport: Any) -> None:
        """A client has come; if there are too many, the one that has said nothing for longest goes."""
        super().connection_made(transport)
        self._owe()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            next(iter(self._owing)).end()

    def data_received(self, data: bytes) -> None:
        """Some bytes: a few more of them do not extend the deadline."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """An answer is written: it is the client's turn."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._owe()

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._owes_nothing()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close, without waiting until everything is read."""
        self._owes_nothing()
        self.transport.abort()

    def _look(self) -> None:
        """Whose turn is it?"""
        if self.cycle is None or self.cycle.response_complete:
            self._owe()
        else:
            self._owes_nothing()

    def _owe(self) -> None:
        if self not in self._owing:
            self._owing[self] = self.loop.call_later(PATIENCE, self.end)

    def _owes_nothing(self) -> None:
        late = self._owing.pop(self, None)
        if late is not None:
            late.cancel()
