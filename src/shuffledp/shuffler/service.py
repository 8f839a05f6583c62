"""The service: answers clients, and minds keys, plans and periods in the background.

Nothing is logged of a request.  What is logged (one JSON object per line: starts, releases, failures) has no time and
no contents; what is counted is in ``/metrics``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._support import validation as check
from .._support.optional import require
from .._support.sockets import listening
from ..errors import ParameterError
from . import answers, bhttp, ohttp
from .answers import JSON, Answer, GoneError, Receive, Scope, Send, sentence
from .home import Home, Plans
from .intake import Committer, Issuer, RefusedError, checked
from .ohttp_keys import Keys
from .release import due, release, sweep
from .sealing import MEDIA_TYPE, MOST_BYTES
from .store import RELEASED, Held, StoreUnavailableError

#: Seconds between two looks at keys, plans and periods.
_TICK = 1.0
#: Bytes of a sealed request beyond those of its body.
_AROUND = 1024
_MOST_CONNECTIONS = 2048
_SEALED = ohttp.RESPONSE.encode()
_UNKEPT = [(b"cache-control", b"no-store")]
_CORS = [(b"access-control-allow-origin", b"*")]
_PREFLIGHT = [
    *_CORS,
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
]


def log(event: str, **more: object) -> None:
    """One line of JSON on stderr."""
    print(json.dumps({"event": event, **more}), file=sys.stderr, flush=True)


class Service:
    """An ASGI application; :meth:`start` and :meth:`stop` its threads.  Without an issuer everybody may report."""

    def __init__(
        self,
        home: Home,
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
        self._plans, self._keys = Plans(), Keys.load(home.ohttp)
        self._seen: tuple[object, ...] = ()
        self._held: list[Held] = []
        self._said: tuple[object, ...] = ()
        self._failed = self._told_failure = ""
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
            return await self._live(receive, send)
        method, path = scope["method"], scope["path"]
        try:
            handler = self._posts.get(path) if method == "POST" else None
            status, kind, content = await handler(self, scope, receive) if handler else self._get(method, path)
        except GoneError:
            return
        except (RefusedError, StoreUnavailableError) as error:
            status, kind, content = self._refused(error)
        except Exception as error:
            log("internal error", kind=type(error).__name__)
            status, kind, content = 500, JSON, sentence("the service failed; send the same report again later.")
        self.metrics["requests_total", path if path in self._posts or path in self._gets else "", str(status)] += 1
        headers = [(b"content-type", kind), (b"content-length", b"%d" % len(content))]
        if method != "POST":
            headers += [*_UNKEPT, *(_PREFLIGHT if method == "OPTIONS" else [] if path == "/metrics" else _CORS)]
        elif any(name == b"origin" for name, _ in scope["headers"]):  # every header costs
            headers += _CORS
        if status == 503:
            headers.append((b"retry-after", b"%d" % answers.RETRY))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})

    def _refused(self, error: RefusedError | StoreUnavailableError) -> Answer:
        """The answer that says why there is no other."""
        if isinstance(error, RefusedError):
            self.metrics["refused_total", error.reason] += 1
        return error.status if isinstance(error, RefusedError) else 503, JSON, sentence(str(error))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.to_thread(self.stop)
        await send({"type": "lifespan.shutdown.complete"})

    def _get(self, method: str, path: str) -> Answer:
        if method == "OPTIONS":
            return 204, b"text/plain", b""
        one = self._plans.publications.get(path.removeprefix("/plans/")) if path.startswith("/plans/") else None
        if one is None and path not in self._gets:
            raise RefusedError(404, "path", "the path must be one that this service has, got another.")
        if method not in ("GET", "HEAD"):
            raise RefusedError(405, "method", "the method must be one that this path has, got another.")
        return (200, JSON, json.dumps(one).encode()) if one else self._gets[path](self)

    def _health(self) -> Answer:
        reason = "store" if self._committer.failed else "release" if self._failed else ""
        said = {"status": "failing" if reason else "ok", "failing": reason, "plans": len(self._plans.publications)}
        return 503 if reason else 200, JSON, json.dumps(said).encode()

    async def _ohttp(self, scope: Scope, receive: Receive) -> Answer:
        answers.need_type(dict(scope["headers"]).get(b"content-type", b""), ohttp.REQUEST)
        raw = await answers.body(scope, receive, MOST_BYTES + _AROUND)
        keys = self._keys
        try:
            _, inner, exchange = ohttp.decapsulate(raw, keys.opening)
        except ohttp.UnknownKeyError as error:
            self.metrics["refused_total", "key"] += 1
            problem = {"type": "https://iana.org/assignments/http-problem-types#ohttp-key", "error": str(error)}
            return 400, b"application/problem+json", json.dumps(problem).encode()
        except ParameterError as error:
            raise RefusedError(400, "sealed", str(error)) from None
        try:
            status, kind, content = await self._inner(inner, exchange.enc[:16])
        except (RefusedError, StoreUnavailableError) as error:
            if isinstance(error, RefusedError) and error.status == 409:
                raise  # whoever sends the same again gets no answer to read
            status, kind, content = self._refused(error)
        return 200, _SEALED, exchange.seal_answer(answers.padded(status, kind, content))

    async def _inner(self, raw: bytes, seen: bytes) -> Answer:
        try:
            request = bhttp.decode(raw)
        except ParameterError as error:
            raise RefusedError(400, "malformed", str(error)) from None
        if not isinstance(request, bhttp.Request) or (request.method, request.path) != ("POST", "/reports"):
            raise RefusedError(404, "path", "the request must be POST /reports, got another.")
        fields = dict(request.fields)
        answers.need_type(fields.get(b"content-type", b""), MEDIA_TYPE)
        return await self._take(request.content, seen, fields.get(b"authorization", b""))

    async def _reports(self, scope: Scope, receive: Receive) -> Answer:
        fields = dict(scope["headers"])
        answers.need_type(fields.get(b"content-type", b""), MEDIA_TYPE)
        return await self._take(await answers.body(scope, receive, MOST_BYTES), None, fields.get(b"authorization", b""))

    async def _take(self, raw: bytes, seen: bytes | None, token: bytes) -> Answer:
        if len(raw) > MOST_BYTES:
            raise answers.too_large()
        entry = checked(raw, self._plans.find, self._clock(), self._committer.refuse)
        if self._issuer and not self._issuer.admits(token, entry.place):
            self._committer.refuse(entry.place, "token")
            raise RefusedError(401, "token", "the authorization must be one that is accepted here, got another.")
        await self._committer.put(entry._replace(seen=seen))
        self.metrics["reports_total",] += len(entry.reports)
        return 200, JSON, b'{"stored": %d}' % len(entry.reports)

    def _told(self) -> Answer:
        over = 0  # how long the period that is over for longest has waited for its release
        lines = [(f"shuffledp_shuffler_{name[0]}", name[1:], n) for name, n in sorted(dict(self.metrics).items())]
        for held in (one for one in self._held if not one.finished):
            labels = (held.place[0].hex()[:12], str(held.place[1]), held.state)
            lines.append(("shuffledp_shuffler_contributors", labels, held.contributors))
            if found := self._plans.find(held.place[0]):
                over = max(over, int(self._clock()) - found[0].window(held.place[1])[1] - found[0].grace)
        gauges = {"overdue_seconds": over, "waiting_bytes": self._committer.waiting}
        gauges["store_up"] = int(not self._committer.failed)
        lines += [(f"shuffledp_shuffler_{name}", (), number) for name, number in gauges.items()]
        return 200, b"text/plain; version=0.0.4", "".join(answers.metric(*line) for line in lines).encode()

    _posts: Mapping[str, Any] = {"/ohttp": _ohttp, "/reports": _reports}
    _gets: Mapping[str, Callable[[Service], Answer]] = {
        "/ohttp-keys": lambda self: (200, ohttp.KEYS.encode(), self._keys.handed_out),
        "/plans": lambda self: (200, JSON, self._plans.listed),
        "/health": _health,
        "/metrics": _told,
    }

    # ---- in the background

    def _keep(self) -> None:
        while not self._end.wait(self._tick):
            try:
                self._look()
                self._committer.flush()
                self.release_due()
                reason = ""
            except Exception as error:  # whatever it is, the next look may go well
                why = error.reason if isinstance(error, StoreUnavailableError) else error
                reason = f"{type(error).__name__}: {why}"
            said = reason or self._committer.failed
            if said != self._told_failure:
                log("failure" if said else "recovered", **({"reason": said} if said else {}))
            self._failed, self._told_failure = reason, said

    def _look(self) -> None:
        """Read keys and plans again if a file has changed."""
        seen = self.home.seen()
        if seen == self._seen:
            return
        self._plans, self._keys = self.home.plans(self.store.terms), Keys.load(self.home.ohttp)
        self._seen, self._untidy = seen, True
        if self._plans.problems != self._said:
            self._said = self._plans.problems
            for problem in self._plans.problems:
                log("refused plan", reason=problem)
        log("plans", in_force=len(self._plans.publications), withdrawn=len(self._plans.withdrawn))

    def release_due(self) -> list[Path]:
        """Release or discard every period whose time has come, and name the batches."""
        made: list[Path] = []
        problem: Exception | None = None
        self._held = self.store.held()
        for held in self._held if self._releases else ():
            try:
                self._release(held, made)
            except Exception as error:  # one period that cannot be released does not hold up the others
                problem = problem or error
        if self._untidy:
            self._untidy = not self.store.tidy()
        if problem:
            raise problem
        return made

    def _release(self, held: Held, made: list[Path]) -> None:
        place: dict[str, Any] = {"outbox": self.home.outbox, "owner": self.home.config["owner"]}
        sweep(held, **place)
        found = self._plans.find(held.place[0])
        todo = found and due(held, found[0], withdrawn=found[1], now=self._clock())
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
        timeout_graceful_shutdown=answers.PATIENCE,
    )
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{socket.getsockname()[1]}")
    with socket:
        uvicorn.Server(config).run(sockets=[socket])
