"""What is read of a request, and how answers and metrics are written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from . import bhttp
from .intake import RefusedError
from .sealing import MOST_BYTES

#: Seconds that a client may take to send a body, and after which it is told to come back.
PATIENCE, RETRY = 30, 5
#: The multiple of bytes to which a sealed answer is padded.
_PADDED = 256
JSON = b"application/json"
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Answer = tuple[int, bytes, bytes]  # status, content type, content


class GoneError(Exception):
    """The client has gone before its body was whole."""


@lru_cache(maxsize=1024)
def padded(status: int, kind: bytes, content: bytes) -> bytes:
    """An answer as binary HTTP, so long that a relay does not learn from its length what it says."""
    fields: bhttp.Fields = ((b"content-type", kind),)
    if status == 503:
        fields += ((b"retry-after", b"%d" % RETRY),)
    answer = bhttp.Response(status=status, fields=fields, content=content).encode()
    return answer + bytes(-len(answer) % _PADDED)


def need_type(given: bytes, wanted: str) -> None:
    """Refuse another content type."""
    if given.partition(b";")[0].strip().lower() != wanted.encode():
        raise RefusedError(415, "type", f"the content type must be {wanted}, got another.")


async def body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body, unless it is too large or takes too long: then the rest is not read."""
    stated = dict(scope["headers"]).get(b"content-length", b"0")
    if not stated.isdigit() or int(stated) > most:
        raise too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise GoneError
                parts.append(event.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise too_large()
                if not event.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise RefusedError(408, "slow", f"a body must come within {PATIENCE} seconds, got a slower one.") from None


def too_large() -> RefusedError:
    """The refusal of a large body."""
    return RefusedError(413, "size", f"a body must have at most {MOST_BYTES:,} bytes, got a larger one; split it.")


def sentence(text: str) -> bytes:
    """What a client reads."""
    return json.dumps({"error": text}).encode()


_LABELS: Mapping[str, Iterable[str]] = {
    "requests_total": ("path", "status"),
    "refused_total": ("reason",),
    "periods_total": ("state",),
    "contributors": ("plan", "period", "state"),
}


def metric(name: str, values: Iterable[str], number: int) -> str:
    """A line for Prometheus.

    Examples
    --------
    >>> metric("shuffledp_shuffler_refused_total", ["late"], 3)
    'shuffledp_shuffler_refused_total{reason="late"} 3\\n'
    """
    names = _LABELS.get(name.removeprefix("shuffledp_shuffler_"), ())
    labels = ",".join(f'{label}="{value}"' for label, value in zip(names, values, strict=True))
    return f"{name}{{{labels}}} {number}\n" if labels else f"{name} {number}\n"
