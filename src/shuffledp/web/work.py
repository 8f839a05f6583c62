"""What is computed for a request, by its address: the part of the server that runs in processes of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .._support import validation as check
from ..errors import ParameterError
from . import answers, downloads, programmes, ranking
from .catalog import mechanisms
from .curves import POINTS, curve
from .mixing import mixed
from .questions import Question, whole

#: A curve that takes longer than this is answered in parts.
_CURVE_SECONDS = 0.05

Answer = Callable[[Mapping[str, str]], Any]


def _asked(name: str) -> Answer:
    """The answer of this name to the question of a request."""
    return lambda given: getattr(answers, name)(Question.read(given))


def _curves(given: Mapping[str, str]) -> Any:
    asked = Question.read(given, more=("over", "points"))
    over = check.one_of("over", given.get("over", "n"), ("n", "noise"))
    points = whole("points", given.get("points", "17"), low=POINTS[0], high=POINTS[-1])
    return curve(asked, over=over, points=points, seconds=_CURVE_SECONDS)


def _listed(content: Callable[[], Any]) -> Answer:
    """A list, which takes no question."""

    def answer(given: Mapping[str, str]) -> Any:
        for name in given:
            raise ParameterError(f"a list takes no parameter, got {check.shown(name)}; leave it out.")
        return content()

    return answer


#: Address -> the answer.
ANSWERS: dict[str, Answer] = {
    "/api/guarantee": _asked("guarantee"),
    "/api/curves": _curves,
    "/api/mechanisms": _listed(mechanisms),
    "/api/tasks": _listed(ranking.tasks),
    "/api/total": _asked("total"),
    "/api/compare": _asked("compare"),
    "/api/dropouts": _asked("dropouts"),
    "/api/compose": _asked("compose"),
    "/api/mixed": mixed,
    "/api/rank": ranking.rank,
    "/api/statement": ranking.statement,
    "/api/programme": programmes.programme,
}


def computed(path: str, given: Mapping[str, str]) -> bytes:
    """The body of the answer to what was asked at this address.

    Examples
    --------
    >>> computed("/api/guarantee", {"spec": "general:eps0=1", "n": "1e6", "delta": "1e-8"})[:24]
    b'{"spec":"general:eps0=1"'
    """
    if path not in ANSWERS:
        made = downloads.FILES[path.removeprefix("/api/download/")](given)
        return made if isinstance(made, bytes) else made.encode("utf-8")
    return json.dumps(ANSWERS[path](given), allow_nan=False, separators=(",", ":")).encode("ascii")
