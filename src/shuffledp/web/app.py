"""The page and its API as one ASGI application: which address gives which answer."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .._support import validation as check
from ..errors import ParameterError, ShuffleDPError
from . import answers, downloads, ranking
from .catalogue import mechanisms
from .curves import POINTS, curve
from .guard import Guard, refusal
from .pool import BusyError, Line, Pool
from .questions import Question, whole

#: What the page is made of; nothing else is ever read from disk for a request.
_STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
    "/panels.js": ("panels.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
#: A curve that takes longer than this is answered in parts.
_CURVE_SECONDS = 0.05

Answer = Callable[[Mapping[str, str]], Any]


def _guarantee(given: Mapping[str, str]) -> Any:
    return answers.guarantee(Question.read(given))


def _curves(given: Mapping[str, str]) -> Any:
    asked = Question.read(given, more=("over", "points"))
    over = check.one_of("over", given.get("over", "n"), ("n", "noise"))
    points = whole("points", given.get("points", "17"), low=POINTS[0], high=POINTS[-1])
    return curve(asked, over=over, points=points, seconds=_CURVE_SECONDS)


def _compare(given: Mapping[str, str]) -> Any:
    return answers.compare(Question.read(given))


def _dropouts(given: Mapping[str, str]) -> Any:
    return answers.dropouts(Question.read(given))


def _compose(given: Mapping[str, str]) -> Any:
    return answers.compose(Question.read(given))


def _mechanisms(given: Mapping[str, str]) -> Any:
    return _listed(mechanisms(), given)


def _tasks(given: Mapping[str, str]) -> Any:
    return _listed(ranking.tasks(), given)


def _listed(content: Any, given: Mapping[str, str]) -> Any:
    for name in given:
        raise ParameterError(f"a list takes no parameter, got {check.shown(name)}; leave it out.")
    return content


#: Address -> the answer, and the line of work that it waits in.
ANSWERS: dict[str, tuple[Answer, Line]] = {
    "/api/guarantee": (_guarantee, "quick"),
    "/api/curves": (_curves, "quick"),
    "/api/mechanisms": (_mechanisms, "quick"),
    "/api/tasks": (_tasks, "quick"),
    "/api/compare": (_compare, "slow"),
    "/api/dropouts": (_dropouts, "slow"),
    "/api/compose": (_compose, "slow"),
    "/api/rank": (ranking.rank, "rank"),
}


def create_app(*, hosts: Iterable[str] = (), loopback: bool = True) -> Starlette:
    """The application.

    Parameters
    ----------
    hosts : names, besides localhost, under which it may be asked
    loopback : whether of addresses only those of this machine are taken
    """
    pool = Pool()
    routes = [Route(path, _static(*what)) for path, what in _STATIC.items()]
    routes += [Route(path, _answered(pool, path, *what)) for path, what in ANSWERS.items()]
    routes += [Route(f"/api/download/{name}", _download(pool, name)) for name in downloads.FILES]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=tuple(hosts), loopback=loopback)],
        exception_handlers={HTTPException: _not_found, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return app


def _static(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = files(__package__).joinpath("static", name).read_bytes()
    kept = "max-age=3600" if name == "icon.svg" else "no-cache"  # browsers ask for it whenever the address changes

    async def page(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"cache-control": kept})

    return page


def _answered(pool: Pool, path: str, answer: Answer, line: Line) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        async def found() -> Response:
            given = _query(request)
            start = time.monotonic()
            content = await pool.answer(
                (path, tuple(sorted(given.items()))), lambda: _as_json(answer(given)), line=line, keep=_complete
            )
            spent = 1e3 * (time.monotonic() - start)
            headers = {"cache-control": "no-store", "server-timing": f"answer;dur={spent:.1f}"}
            return Response(content, media_type="application/json", headers=headers)

        return await _refusing(found)

    return respond


def _download(pool: Pool, name: str) -> Callable[[Request], Awaitable[Response]]:
    make, kind = downloads.FILES[name]

    async def respond(request: Request) -> Response:
        async def found() -> Response:
            given = _query(request)
            content = await pool.answer(
                (name, tuple(sorted(given.items()))), lambda: make(given).encode("utf-8"), line="slow", keep=_small
            )
            headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="shuffledp-{name}"'}
            return Response(content, media_type=kind, headers=headers)

        return await _refusing(found)

    return respond


async def _refusing(found: Callable[[], Awaitable[Response]]) -> Response:
    """A response, or the sentence of the error that stood in its way."""
    try:
        return await found()
    except ShuffleDPError as error:
        said = str(error)
        about = said.partition(" must ")[0]
        return refusal(400, said, parameter=about if about.isidentifier() else None)
    except BusyError:
        return refusal(503, "too many questions are waiting; ask again in a moment.", retry_after="1")


def _query(request: Request) -> dict[str, str]:
    """The parameters by name; one that is given twice is refused."""
    pairs = request.query_params.multi_items()
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ParameterError("every parameter must be given once, got one twice; remove the other.")
    return given


def _as_json(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def _complete(content: bytes) -> bool:
    """Whether an answer may be kept: not a curve that lacks points."""
    return not content.endswith(b'"complete":false}') and _small(content)


def _small(content: bytes) -> bool:
    return len(content) < 2**18


async def _not_found(request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return refusal(405, "the method must be GET or HEAD.", allow="GET, HEAD")
    return refusal(status, f"there is nothing at {check.shown(request.url.path)}; the page is at '/'.")


async def _failed(request: Request, error: Exception) -> JSONResponse:
    """An error that nobody expected: the reason is for the terminal, not for the network."""
    return refusal(500, "internal error; the terminal of the server says more, please report it.")
