"""eps as a function of n, and of the parameter that sets how much noise users add, with the lower bound beside it.

The grids are the same whatever is asked (unless that lies outside them), so that a slider moves a dot along a curve
that is known already; a grid of 9 points is part of one of 17 and 33.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from .._support import delta_rules as _rules
from .._support.json_ready import json_object
from ..accounting.amplification import amplify
from ..errors import ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.parameters import Parameter, declared
from .kept import Kept
from .questions import Question

#: Grids that may be asked for.
POINTS = (9, 17, 33)
#: Numbers of users that are asked for together, between two looks at the clock.
_TOGETHER = 3
#: (spec, n, delta, dropouts) -> (eps, lower): what is known of any curve.
_POINTS: Kept[tuple[float, float]] = Kept(20_000)
_USERS = (100.0, 1e9)
_BUDGETS = (0.05, 16.0)
#: A parameter without a usual range is varied by this factor, up and down.
_FACTOR = 16.0
#: A smaller value, such as 0, has no place on a logarithmic axis; the axis is then that of 1.
_LEAST = 1e-12
#: Roles of parameters that set the noise, in the order in which one is chosen.
_ROLES = ("budget", "noise", "flip", "messages")


def dial(mechanism: Mechanism) -> str | None:
    """The parameter that sets how much noise is added; None where there is none.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> dial(sdp.mechanism("grr:eps0=2,d=64")), dial(sdp.mechanism("pure-dump:d=9,messages=2"))
    ('eps0', 'messages')
    """
    known = declared(type(mechanism)).items()
    every = (name for role in _ROLES for name, parameter in known if parameter.role == role)
    return next((name for name in every if getattr(mechanism, name, None) is not None), None)


def curve(asked: Question, *, over: str, points: int, seconds: float = math.inf) -> dict[str, Any]:
    """eps and its lower bound over "n" (where delta is a rule, it follows n) or over "noise", the dial.

    After some seconds the rest is left for the next call, and ``complete`` says so: every point is kept, and the ends
    and the middle come first.

    Examples
    --------
    >>> q = Question.read({"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7"})
    >>> found = curve(q, over="n", points=9)
    >>> found["x"][0], found["x"][-1], found["complete"], found["epsilon"][0] > found["epsilon"][-1]
    (100, 1000000000, True, True)
    """
    places = _users(asked, points) if over == "n" else _noise(asked, points)
    keys = [(q.spec, q.n, q.at, q.dropouts) for _, q in places]
    until = time.monotonic() + seconds
    missing = [k for k in _coarse_to_fine(len(places)) if _POINTS.get(keys[k]) is None]
    together = 1  # so that a slow mechanism has its first point soon
    while missing:
        some, missing = missing[:together], missing[together:]
        together = _TOGETHER if over == "n" else 1
        for k, found in zip(some, _brackets([places[k][1] for k in some]), strict=True):
            _POINTS.put(keys[k], found)
        if time.monotonic() > until:
            break
    known = [_POINTS.get(key) for key in keys]
    name = "n" if over == "n" else dial(asked.mechanism)
    return json_object(
        {
            "over": name,
            "x": [x for x, _ in places],
            "epsilon": [None if found is None else _number(found[0]) for found in known],
            "lower": [None if found is None else _number(found[1]) for found in known],
            "complete": None not in known,
        }
    )


def _users(asked: Question, points: int) -> list[tuple[float, Question]]:
    low, high = min(_USERS[0], asked.n), max(_USERS[1], asked.n)
    sizes = sorted({max(1, round(x)) for x in _spaced(low, high, points)})
    made: list[tuple[float, Question]] = []
    for n in sizes:
        with suppress(ShuffleDPError):  # a rule such as 50/n gives small crowds no delta
            _rules.delta_at(asked.delta, n)
            made.append((n, replace(asked, n=n)))
    return made


def _noise(asked: Question, points: int) -> list[tuple[float, Question]]:
    name = dial(asked.mechanism)
    if name is None:
        return []
    parameter = declared(type(asked.mechanism))[name]
    low, high = _range(parameter, asked.mechanism, float(getattr(asked.mechanism, name)))
    grid = _spaced(low, high, points)
    if parameter.whole:
        grid = sorted({float(max(1, round(x))) for x in grid})
    made = []
    for x in grid:
        with suppress(ShuffleDPError):  # such as a range that depends on other parameters
            made.append((x, replace(asked, mechanism=replace(asked.mechanism, **{name: x}))))  # type: ignore[type-var]
    return made


def _coarse_to_fine(count: int) -> list[int]:
    """All places of a row: the ends and every eighth first.

    >>> _coarse_to_fine(9)
    [0, 8, 4, 2, 6, 1, 3, 5, 7]
    """
    order = [k for step in (8, 4, 2, 1) for k in [*range(0, count, step), count - 1] if k >= 0]
    return list(dict.fromkeys(order))


def _brackets(asked: list[Question]) -> list[tuple[float, float]]:
    """(eps, lower) of questions that differ in n only, asked together; NaN where there is no answer."""
    try:
        sizes, deltas = [q.n for q in asked], [q.at for q in asked]
        many = amplify(asked[0].mechanism, n=sizes, delta=deltas, dropouts=asked[0].dropouts)
        return [(float(e), float(low)) for e, low in zip(many.epsilon, many.lower, strict=True)]
    except ShuffleDPError:  # of one of them
        return [(math.nan, math.nan)] if len(asked) == 1 else [found for q in asked for found in _brackets([q])]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _range(parameter: Parameter, mechanism: Mechanism, value: float) -> tuple[float, float]:
    low, high = parameter.limits(mechanism)
    if value < _LEAST:
        value = 1.0
    usual = _BUDGETS if parameter.role == "budget" else (value / _FACTOR, value * _FACTOR)
    return max(min(usual[0], value), low, _LEAST), min(max(usual[1], value), high)


def _spaced(low: float, high: float, points: int) -> list[float]:
    """Evenly spaced in the logarithm, in six figures; the ends are exact."""
    if low >= high:
        return [low]
    return [low, *(float(f"{x:.6g}") for x in np.geomspace(low, high, points)[1:-1]), high]
