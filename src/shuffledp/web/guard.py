"""What every request passes before it reaches a page, and what every response carries.

The server stands on a machine with files and other servers, next to a browser that visits strangers.  So it answers
only to a name of its own (a page elsewhere can make a browser send requests here under its own name, once that name
resolves to this machine: DNS rebinding), only questions (GET, HEAD) of a moderate size, and it gives its answers to
nobody else's page.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .addresses import most_characters

#: All headers together.
MOST_HEADERS = 8000
#: On every response; the page has no inline script or style, and loads nothing from elsewhere.
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Refuses what is not a plain question to this server, in one sentence of JSON."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] = (), loopback: bool = True) -> None:
        self._app, self._loopback = app, loopback
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return  # websockets and life spans are not spoken here

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = self._refused(scope)
        await (self._app if refused is None else refused)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        given = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        most = most_characters(scope["path"])
        if given > most:
            return refusal(414, f"the address must have at most {most:,} characters, got {given:,}; shorten it.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
            return refusal(431, f"the headers must have at most {MOST_HEADERS:,} characters; send fewer.")
        if scope["method"] not in ("GET", "HEAD"):
            return refusal(405, f"the method must be GET or HEAD, got {scope['method'][:20]}.", allow="GET, HEAD")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return refusal(413, "a question must have no body; put its parameters into the query.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.knows(hosts[0]):
            return refusal(
                421,
                "Host must be a name of this server, such as 127.0.0.1; restart it with --allow-host NAME to add one.",
            )
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign and scope["path"].startswith("/api/"):
            return refusal(403, "answers are for the page of this server; open it, or ask without a browser.")
        return None

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server.

        An address needs no resolver, so a stranger's page cannot be behind it; of names only known ones are taken.

        >>> guard = Guard(None)
        >>> guard.knows("127.0.0.1:8000"), guard.knows("[::1]"), guard.knows("evil.example"), guard.knows("10.0.0.1")
        (True, True, False, False)
        """
        name, port = _split(host.lower())
        if port is not None and not (port.isascii() and port.isdigit()):
            return False
        if name == "localhost" or name in self._hosts:
            return True
        bracketed = name.startswith("[") and name.endswith("]")
        address: ipaddress.IPv4Address | ipaddress.IPv6Address
        try:
            address = ipaddress.IPv6Address(name[1:-1]) if bracketed else ipaddress.IPv4Address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._loopback


def _split(host: str) -> tuple[str, str | None]:
    """Name and port; an address of version 6 stands in brackets."""
    if host.startswith("["):
        name, bracket, rest = host.partition("]")
        return name + bracket, rest.removeprefix(":") if rest else None
    name, colon, port = host.partition(":")
    return name, port if colon else None


def refusal(status: int, sentence: str, *, parameter: str | None = None, **headers: str) -> JSONResponse:
    """An error as JSON: one sentence, and the parameter that it is about if there is one."""
    content = {"error": sentence} if parameter is None else {"error": sentence, "parameter": parameter}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse(content, status, headers={"cache-control": "no-store", **named})
