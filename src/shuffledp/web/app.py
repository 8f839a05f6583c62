"""The page and its API as one ASGI application: which address gives which answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from .._support import validation as check
from ..errors import ParameterError, ShuffleDPError
from .addresses import ADDRESSES, FILES, Address
from .guard import Guard, refusal
from .pool import BusyError, LongError, Pool

_SCRIPTS = ("app", "asking", "charts", "collection", "fields", "mixed", "page", "panels", "programme", "ranking")
#: What the page is made of; nothing else is ever read from disk for a request.
_STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8") for name in _SCRIPTS},
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_LOG = logging.getLogger("shuffledp.web")


def create_app(pool: Pool, *, hosts: Iterable[str] = (), loopback: bool = True) -> ASGIApp:
    """The application.

    Parameters
    ----------
    pool : who computes the answers
    hosts : names, besides localhost, under which it may be asked
    loopback : whether of addresses only those of this machine are taken
    """
    routes = [Route(path, _static(*what)) for path, what in _STATIC.items()]
    routes += [Route(path, _answered(pool, path, address)) for path, address in ADDRESSES.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found, Exception: _failed})
    app.router.redirect_slashes = False
    return Guard(app, hosts=hosts, loopback=loopback)  # outside of everything: errors carry its headers too


def _static(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = files(__package__).joinpath("static", name).read_bytes()
    kept = "max-age=3600" if name == "icon.svg" else "no-cache"  # browsers ask for it whenever the address changes

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"cache-control": kept})

    return page


def _answered(pool: Pool, path: str, address: Address) -> Callable[[Request], Awaitable[Response]]:
    """An answer or a file, or the sentence of the error that stands in the way of it."""
    name = path.rpartition("/")[2] if path in FILES else ""

    async def respond(request: Request) -> Response:
        start = time.monotonic()
        try:
            content = await _unless_left(request, pool.answer(path, _query(request), line=address.line, keep=_complete))
        except ShuffleDPError as error:
            said = str(error)
            about = said.partition(" must ")[0]
            return refusal(400, said, parameter=about if about.isidentifier() else None)
        except BusyError as error:
            return refusal(503, str(error), retry_after="1")
        except LongError as error:
            return refusal(503, str(error))
        if content is None:
            return Response(status_code=499)  # which nobody reads
        took = f"answer;dur={1e3 * (time.monotonic() - start):.1f}"
        file = {"content-disposition": f'attachment; filename="shuffledp-{name}"'}
        headers = {"cache-control": "no-store", **(file if name else {"server-timing": took})}
        return Response(content, media_type=address.kind, headers=headers)

    return respond


async def _unless_left(request: Request, answer: Coroutine[Any, Any, bytes]) -> bytes | None:
    """The answer; None if whoever asked closes the connection first, as a page does that asks something newer."""
    asked, left = asyncio.create_task(answer), asyncio.create_task(_left(request))
    try:
        await asyncio.wait({asked, left}, return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else None
    finally:
        asked.cancel()
        left.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _query(request: Request) -> dict[str, str]:
    """The parameters by name; one that is given twice is refused."""
    pairs = request.query_params.multi_items()
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ParameterError("every parameter must be given once, got one twice; remove the other.")
    return given


def _complete(content: bytes) -> bool:
    """Whether an answer may be kept: not a curve that lacks points, and none that is large."""
    return not content.endswith(b'"complete":false}') and len(content) < 2**18


async def _not_found(request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return refusal(405, "the method must be GET or HEAD.", allow="GET, HEAD")
    return refusal(status, f"there is nothing at {check.shown(request.url.path)}; the page is at '/'.")


async def _failed(request: Request, error: Exception) -> JSONResponse:
    """An error that nobody expected: the reason is for the terminal, not for the network."""
    _LOG.error("internal error at %s, please report it", request.url.path, exc_info=error)
    return refusal(500, "internal error; the terminal of the server says more, please report it.")
