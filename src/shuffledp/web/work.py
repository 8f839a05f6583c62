"""What is computed for a request, by its address: the part of the server that runs in processes of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .._support import validation as check
from ..accounting.amplification import amplify
from ..accounting.comparison import compare
from ..errors import ParameterError
from . import answers, mixing, programmes, ranking
from .addresses import ADDRESSES, ANSWERS
from .catalog import mechanisms
from .curves import POINTS, curve
from .questions import Question, whole

#: A curve that takes longer than this is answered in parts.
_CURVE_SECONDS = 0.05
_HOMES = {"answers": answers, "mixing": mixing, "programmes": programmes, "ranking": ranking}


def some_points(given: Mapping[str, str]) -> dict[str, Any]:
    """As much of a curve as there is time for."""
    asked = Question.read(given, more=("over", "points"))
    over = check.one_of("over", given.get("over", "n"), ("n", "noise"))
    points = whole("points", given.get("points", "17"), low=POINTS[0], high=POINTS[-1])
    return curve(asked, over=over, points=points, seconds=_CURVE_SECONDS)


def all_mechanisms(given: Mapping[str, str]) -> dict[str, Any]:
    """The mechanisms that the page offers."""
    return _listed(mechanisms, given)


def all_tasks(given: Mapping[str, str]) -> dict[str, Any]:
    """The tasks that can be ranked."""
    return _listed(ranking.tasks, given)


def _listed(content: Callable[[], dict[str, Any]], given: Mapping[str, str]) -> dict[str, Any]:
    """A list, which takes no question."""
    for name in given:
        raise ParameterError(f"a list takes no parameter, got {check.shown(name)}; leave it out.")
    return content()


def certificate(given: Mapping[str, str]) -> str:
    """A proof of one round that ``shuffledp certify --verify`` checks again."""
    asked = Question.read(given)
    mechanism, n = asked.remaining()
    found = amplify(mechanism, n=n, delta=asked.at, certify=True).certificate
    if found is None:
        raise ParameterError("no certificate was made; try another delta.")
    return found.to_json()


def curves(given: Mapping[str, str]) -> str:
    """Both curves as one table: what is varied, its value, eps and the lower bound."""
    asked = Question.read(given)
    lines = ["variable,value,epsilon,lower"]
    for over in ("n", "noise"):
        found = curve(asked, over=over, points=POINTS[1])
        for row in zip(found["x"], found["epsilon"], found["lower"], strict=True):
            lines.append(",".join([found["over"], *("" if x is None else repr(x).strip("'") for x in row)]))
    return "\n".join(lines) + "\n"


def bounds(given: Mapping[str, str]) -> str:
    """Every bound, as ``shuffledp compare`` writes it."""
    asked = Question.read(given)
    mechanism, n = asked.remaining()
    return compare(mechanism, n=n, delta=asked.at).to_csv()


def function_of(path: str) -> Callable[[Mapping[str, str]], Any]:
    """What answers at an address; those of answers.py are asked a question."""
    home, _, name = ADDRESSES[path].function.partition(".")
    function: Callable[[Any], Any] = getattr(_HOMES.get(home, sys.modules[__name__]), name)
    return (lambda given: function(Question.read(given))) if home == "answers" else function


def computed(path: str, given: Mapping[str, str]) -> bytes:
    """The body of the answer to what was asked at this address.

    Examples
    --------
    >>> computed("/api/guarantee", {"spec": "general:eps0=1", "n": "1e6", "delta": "1e-8"})[:24]
    b'{"spec":"general:eps0=1"'
    """
    made = function_of(path)(given)
    if path in ANSWERS:
        return json.dumps(made, allow_nan=False, separators=(",", ":")).encode("ascii")
    return made if isinstance(made, bytes) else str(made).encode("utf-8")
