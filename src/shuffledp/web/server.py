"""Serving the page: on loopback unless told otherwise, with no log of what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing

from .._support import validation as check
from .._support.optional import require
from .._support.sockets import is_loopback
from .._support.sockets import listening as _listening

#: Connections at once; a further one is told to come back.
_MOST_CONNECTIONS = 512
#: The longest request line and headers that are read at all.
_MOST_BYTES = 16_384


def serve(
    *, host: str = "127.0.0.1", port: int = 8000, allowed: Iterable[str] = (), ready: Callable[[str], None] = print
) -> None:
    """Serve the page until interrupted; ``ready`` is given its address once it is reachable.

    Port 0 takes one that is free.  ``allowed`` are further names under which the server may be asked.
    """
    uvicorn = require("uvicorn", extra="web", purpose="the page")
    require("starlette", extra="web", purpose="the page")
    from .app import create_app
    from .connection import PATIENCE, Connection
    from .pool import Pool

    port = check.whole("port", port, low=0, high=65_535)
    local = is_loopback(host)
    listening = _listening(host, port)
    names = [*allowed, *([] if local else [host])]
    pool = Pool()
    config = uvicorn.Config(
        create_app(pool, hosts=names, loopback=local),
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,  # the logging of the process is not ours: setting it up anew closes the handlers of others
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_MOST_BYTES,
        timeout_keep_alive=PATIENCE,
        timeout_graceful_shutdown=1,
    )
    bound = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{bound}/")
    pool.start()
    with listening, closing(pool):
        uvicorn.Server(config).run(sockets=[listening])
