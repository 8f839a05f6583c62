"""The HTTP service: answer clients, and look after keys, publications and periods in the background.

Nothing is logged of a request.  What is logged (one JSON object per line: starts, releases, failures) has no time and
no contents; what is counted is in ``/metrics``.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._support import validation as check
from .._support.optional import require
from .._support.sockets import listening
from ..errors import ParameterError
from . import oblivious_http as ohttp
from .folder import Publications, ShufflerFolder
from .intake import Committer, Issuer, RefusedError, check_body
from .release import due, release, remove_abandoned
from .sealing import MEDIA_TYPE, MOST_BYTES
from .store import RELEASED, PeriodState, StoreUnavailableError

#: Seconds that a client may take to send a body, after which it is told to come back, and between two background looks.
PATIENCE, RETRY, _TICK = 30, 5, 1.0
#: Bytes of a sealed request beyond those of its body, and the multiple of bytes to which a sealed answer is padded.
_AROUND, _PADDED = 1024, 256
_MOST_CONNECTIONS = 2048
JSON = b"application/json"
_CORS = [(b"access-control-allow-origin", b"*")]
_PREFLIGHT = [
    *_CORS,
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
]
_GETS = ("/ohttp-keys", "/plans", "/health", "/metrics")
_POSTS = ("/ohttp", "/reports")
#: Labels of the metrics that have any.
_LABELS = {
    "requests_total": ("path", "status"),
    "refused_total": ("reason",),
    "periods_total": ("state",),
    "contributors": ("plan", "period", "state"),
}
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
HttpAnswer = tuple[int, bytes, bytes]  # status, content type, content


class ClientGoneError(Exception):
    """The client has gone before its body was whole."""


def log(event: str, **more: object) -> None:
    """Write one line of JSON to stderr."""
    print(json.dumps({"event": event, **more}), file=sys.stderr, flush=True)


class Service:
    """An ASGI application; :meth:`start` and :meth:`stop` its threads.  Without an issuer everybody may report."""

    def __init__(
        self,
        home: ShufflerFolder,
        *,
        clock: Callable[[], float] = time.time,
        tick: float = _TICK,
        releases: bool = True,
        issuer: Issuer | None = None,
    ) -> None:
        self.home, self._clock, self._tick, self._releases, self._issuer = home, clock, tick, releases, issuer
        self.store = home.open_store()
        self.metrics: Counter[tuple[str, ...]] = Counter()
        self._committer = Committer(self.store, self.metrics)
        self._publications, self._keys = Publications(), ohttp.GatewayKeys.load(home.ohttp)
        self._seen: tuple[object, ...] = ()
        self._held: list[PeriodState] = []
        self._problems: tuple[str, ...] = ()
        self._failed = self._logged_failure = ""
        self._untidy, self._end = False, threading.Event()
        self._look()

    def start(self) -> None:
        """Begin to write and to release; to be called on the loop that serves."""
        self._committer.start(asyncio.get_running_loop())
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self._keeper.start()

    def stop(self) -> None:
        """Write what waits, end a release that runs, and return."""
        self._end.set()
        self._committer.stop()
        self._keeper.join()
        self.store.shut()

    # ---- requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong, the network sees a constant sentence."""
        if scope["type"] == "lifespan":
            await receive()
            self.start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await asyncio.to_thread(self.stop)
            await send({"type": "lifespan.shutdown.complete"})
            return
        method, path = scope["method"], scope["path"]
        try:
            if method == "POST" and path == "/ohttp":
                status, kind, content = await self._post_sealed(scope, receive)
            elif method == "POST" and path == "/reports":
                fields = dict(scope["headers"])
                need_type(fields.get(b"content-type", b""), MEDIA_TYPE)
                raw = await body(scope, receive, MOST_BYTES)
                status, kind, content = await self._take(raw, None, fields.get(b"authorization", b""))
            else:
                status, kind, content = self._get(method, path)
        except ClientGoneError:
            return
        except (RefusedError, StoreUnavailableError) as error:
            status, kind, content = self._refused(error)
        except Exception as error:
            log("internal error", kind=type(error).__name__)
            status, kind, content = 500, JSON, sentence("the service failed; send the same report again later.")
        self.metrics["requests_total", path if path in (*_GETS, *_POSTS) else "", str(status)] += 1
        headers = [(b"content-type", kind), (b"content-length", b"%d" % len(content))]
        if method != "POST":
            headers.append((b"cache-control", b"no-store"))
            headers += _PREFLIGHT if method == "OPTIONS" else [] if path == "/metrics" else _CORS
        elif any(name == b"origin" for name, _ in scope["headers"]):  # every header costs
            headers += _CORS
        if status == 503:
            headers.append((b"retry-after", b"%d" % RETRY))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})

    def _refused(self, error: RefusedError | StoreUnavailableError) -> HttpAnswer:
        """Return the answer that says why there is no other."""
        if isinstance(error, RefusedError):
            self.metrics["refused_total", error.reason] += 1
            return error.status, JSON, sentence(str(error))
        return 503, JSON, sentence(str(error))

    def _get(self, method: str, path: str) -> HttpAnswer:
        if method == "OPTIONS":
            return 204, b"text/plain", b""
        one = self._publications.in_force.get(path.removeprefix("/plans/")) if path.startswith("/plans/") else None
        if one is None and path not in _GETS:
            raise RefusedError(404, "path", "the path must be one that this service has, got another.")
        if method not in ("GET", "HEAD"):
            raise RefusedError(405, "method", "the method must be one that this path has, got another.")
        if path == "/ohttp-keys":
            return 200, ohttp.KEYS.encode(), self._keys.handed_out
        if path == "/plans":
            return 200, JSON, self._publications.listed
        if path == "/metrics":
            return 200, b"text/plain; version=0.0.4", self._metrics().encode()
        if one is not None:
            return 200, JSON, json.dumps(one).encode()
        reason = "store" if self._committer.failed else "release" if self._failed else ""
        plans = len(self._publications.in_force)
        health = {"status": "failing" if reason else "ok", "failing": reason, "plans": plans}
        return 503 if reason else 200, JSON, json.dumps(health).encode()

    async def _post_sealed(self, scope: Scope, receive: Receive) -> HttpAnswer:
        """Take the reports of a request in Oblivious HTTP; the answer is sealed, too."""
        need_type(dict(scope["headers"]).get(b"content-type", b""), ohttp.REQUEST)
        raw = await body(scope, receive, MOST_BYTES + _AROUND)
        try:
            _, inner, exchange = ohttp.decapsulate(raw, self._keys.opening)
        except ohttp.UnknownKeyError as error:
            self.metrics["refused_total", "key"] += 1
            problem = {"type": "https://iana.org/assignments/http-problem-types#ohttp-key", "error": str(error)}
            return 400, b"application/problem+json", json.dumps(problem).encode()
        except ParameterError as error:
            raise RefusedError(400, "sealed", str(error)) from None
        try:
            try:
                request = ohttp.decode_message(inner)
            except ParameterError as error:
                raise RefusedError(400, "malformed", str(error)) from None
            wanted = ("POST", "/reports")
            if not isinstance(request, ohttp.BinaryRequest) or (request.method, request.path) != wanted:
                raise RefusedError(404, "path", "the request must be POST /reports, got another.")
            fields = dict(request.fields)
            need_type(fields.get(b"content-type", b""), MEDIA_TYPE)
            answer = await self._take(request.content, exchange.enc[:16], fields.get(b"authorization", b""))
        except (RefusedError, StoreUnavailableError) as error:
            if isinstance(error, RefusedError) and error.status == 409:
                raise  # whoever sends the same again gets no answer to read
            answer = self._refused(error)
        return 200, ohttp.RESPONSE.encode(), exchange.seal_answer(padded(*answer))

    async def _take(self, raw: bytes, seen: bytes | None, token: bytes) -> HttpAnswer:
        """Return once the reports of a body are durable."""
        if len(raw) > MOST_BYTES:
            raise too_large()
        entry = check_body(raw, self._publications.find, self._clock(), self._committer.refuse)
        if self._issuer and not self._issuer.admits(token, entry.place):
            self._committer.refuse(entry.place, "token")
            raise RefusedError(401, "token", "the authorization must be one that is accepted here, got another.")
        await self._committer.put(entry._replace(seen=seen))
        self.metrics["reports_total",] += len(entry.reports)
        return 200, JSON, b'{"stored": %d}' % len(entry.reports)

    def _metrics(self) -> str:
        """Return all metrics in the format of Prometheus."""
        overdue = 0  # how long the period that ended first has waited for its release
        lines = [(f"shuffledp_shuffler_{name[0]}", name[1:], n) for name, n in sorted(dict(self.metrics).items())]
        for held in (one for one in self._held if not one.finished):
            labels = (held.place[0].hex(), str(held.place[1]), held.state)
            lines.append(("shuffledp_shuffler_contributors", labels, held.contributors))
            if found := self._publications.remembered(held.place[0]):
                overdue = max(overdue, int(self._clock()) - found[0].window(held.place[1])[1] - found[0].grace)
        gauges = {"overdue_seconds": overdue, "waiting_bytes": self._committer.waiting}
        gauges["store_up"] = int(not self._committer.failed)
        lines += [(f"shuffledp_shuffler_{name}", (), number) for name, number in gauges.items()]
        return "".join(metric(*line) for line in lines)

    # ---- in the background

    def _keep(self) -> None:
        while not self._end.wait(self._tick):
            try:
                self._look()
                self._committer.flush()
                self.release_due()
                self._failed = ""
            except Exception as error:  # whatever it is, the next look may go well
                why = error.reason if isinstance(error, StoreUnavailableError) else error
                self._failed = f"{type(error).__name__}: {why}"
            reason = self._failed or self._committer.failed
            if reason != self._logged_failure:
                log("failure" if reason else "recovered", **({"reason": reason} if reason else {}))
                self._logged_failure = reason

    def _look(self) -> None:
        """Read keys and publications again if a file has changed, or if one has expired."""
        seen, now = self.home.seen(), self._clock()
        if seen == self._seen and now < self._publications.until:
            return
        self._publications = self.home.publications(self.store, now)
        self._keys = ohttp.GatewayKeys.load(self.home.ohttp)
        self._seen, self._untidy = seen, True
        if self._publications.problems != self._problems:
            self._problems = self._publications.problems
            for problem in self._problems:
                log("refused plan", reason=problem)
        log("plans", in_force=len(self._publications.in_force), withdrawn=len(self._publications.withdrawals))

    def release_due(self, *, discard: bool = False) -> list[Path]:
        """Release or discard every period whose time has come, and return the batches.

        discard : discard the periods of withdrawn publications now; otherwise they wait for the end that was planned
        """
        made: list[Path] = []
        problem: Exception | None = None
        self._held = self.store.periods()
        for held in self._held if self._releases else ():
            try:
                self._release(held, made, discard)
            except Exception as error:  # one period that cannot be released does not hold up the others
                problem = problem or error
        if self._untidy:
            self._untidy = not self.store.tidy()
        if problem:
            raise problem
        return made

    def _release(self, held: PeriodState, made: list[Path], discard: bool) -> None:
        place: dict[str, Any] = {"outbox": self.home.outbox, "owner": self.home.config["owner"]}
        remove_abandoned(held, **place)
        found = self._publications.remembered(held.place[0])
        now = math.inf if discard and held.place[0] in self._publications.withdrawals else self._clock()
        todo = found and due(held, found[0], withdrawn=found[1], now=now)
        if not found or not todo:
            return
        if todo == RELEASED:
            path = release(self.store, held, found[0], sign=self.home.sign, **place)
            if path is None:
                return
            made.append(path)
        else:
            self.store.finish(held.place, todo)
        self._untidy = True
        self.metrics["periods_total", todo] += 1
        log(todo, plan=held.place[0].hex()[:12], period=held.place[1], contributors=held.contributors)


# -- what is read of a request, and how answers are written -----------------------------------------------------------


@lru_cache(maxsize=1024)
def padded(status: int, kind: bytes, content: bytes) -> bytes:
    """Return an answer as binary HTTP, padded so that a relay does not learn from its length what it says."""
    fields: ohttp.Fields = ((b"content-type", kind),)
    if status == 503:
        fields += ((b"retry-after", b"%d" % RETRY),)
    answer = ohttp.BinaryResponse(status=status, fields=fields, content=content).encode()
    return answer + bytes(-len(answer) % _PADDED)


def need_type(given: bytes, wanted: str) -> None:
    """Refuse another content type."""
    if given.partition(b";")[0].strip().lower() != wanted.encode():
        raise RefusedError(415, "type", f"the content type must be {wanted}, got another.")


async def body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the body, unless it is too large or takes too long: then the rest is not read."""
    stated = dict(scope["headers"]).get(b"content-length", b"0")
    if not stated.isdigit() or int(stated) > most:
        raise too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise ClientGoneError
                parts.append(event.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise too_large()
                if not event.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        raise RefusedError(408, "slow", f"a body must come within {PATIENCE} seconds, got a slower one.") from None


def too_large() -> RefusedError:
    """Return the refusal of a large body."""
    return RefusedError(413, "size", f"a body must have at most {MOST_BYTES:,} bytes, got a larger one; split it.")


def sentence(text: str) -> bytes:
    """Return an error as a client reads it."""
    return json.dumps({"error": text}).encode()


def metric(name: str, values: tuple[str, ...], number: int) -> str:
    """Return a line for Prometheus.

    Examples
    --------
    >>> metric("shuffledp_shuffler_refused_total", ("late",), 3)
    'shuffledp_shuffler_refused_total{reason="late"} 3\\n'
    """
    names = _LABELS.get(name.removeprefix("shuffledp_shuffler_"), ())
    labels = ",".join(f'{label}="{value}"' for label, value in zip(names, values, strict=True))
    return f"{name}{{{labels}}} {number}\n" if labels else f"{name} {number}\n"


def serve(service: Service, *, host: str = "127.0.0.1", port: int = 8080, ready: Callable[[str], None] = print) -> None:
    """Serve until interrupted; ``ready`` is given the address once it is reachable.  Port 0 takes a free one."""
    uvicorn = require("uvicorn", extra="shuffler", purpose="the service")
    socket = listening(host, check.whole("port", port, low=0, high=65_535))
    config = uvicorn.Config(
        service,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        **dict.fromkeys(("access_log", "server_header", "date_header", "proxy_headers"), False),
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=PATIENCE,
    )
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{socket.getsockname()[1]}")
    with socket:
        uvicorn.Server(config).run(sockets=[socket])
