"""The mechanisms that the page offers: everything that a spec says in full, with ranges and starting values."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any

from .._support.json_ready import json_object
from ..mechanisms.base import Mechanism
from ..mechanisms.parameters import Parameter, declared
from ..mechanisms.registry import find, names
from .questions import MOST_OPTIONS, SIZES

#: What the page starts a parameter with; one that is not here starts in the middle of its range.
_START: dict[str, float] = {
    **{"eps0": 2.0, "d": 64, "dim": 64, "s": 4, "l": 4, "flip": 0.1, "messages": 10, "special": 2, "coin": 0.5},
    **{"d01": 1.0, "dmax": 2.0, "p": 3.0, "beta": 0.4, "q": 3.0, "sigma": 1.0, "length": 16, "poisson_per_index": 0.1},
    **{"flips": 4, "stretch": 1.169, "shape": 0.33, "noise": 0.28, "units": 16, "poisson": 1.0},
    **{"across": 8, "up": 8, "wide": 0.2, "high": 0.2},
}
#: One of these says how many blanket messages there are; the first is taken unless another is written.
_COUNTS = ("messages", "total_messages", "poisson")


@cache
def mechanisms() -> dict[str, Any]:
    """name -> what it is, and its parameters in the order of the spec; users make the noise of all of them.

    Examples
    --------
    >>> grr = mechanisms()["grr"]
    >>> [p["name"] for p in grr["parameters"]], "finite" in mechanisms()
    (['eps0', 'd'], False)
    """
    offered = {name: find(name) for name in names()}
    return {
        name: _described(cls)
        for name, cls in offered.items()
        if cls._file_parameters is None and not cls._noise_by_shuffler
    }


def _described(cls: type[Mechanism]) -> dict[str, Any]:
    fields = [f for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
    known = declared(cls)
    needed = {f.name for f in fields if f.default is dataclasses.MISSING}
    if _COUNTS[0] in known:
        needed.add(_COUNTS[0])
    return {
        "title": (cls.__doc__ or cls.name).partition("\n")[0],
        "serves": list(cls.serves),
        "single_message": cls.single_message,
        "parameters": [_parameter(f.name, known[f.name], needed=f.name in needed) for f in fields if f.name in known],
    }


def _parameter(name: str, parameter: Parameter, *, needed: bool) -> dict[str, Any]:
    low, high = (None if callable(limit) else limit for limit in (parameter.low, parameter.high))
    if name in SIZES and high is not None:
        high = min(high, MOST_OPTIONS)
    return json_object(
        {
            "name": name,
            "role": parameter.role,
            "whole": parameter.whole,
            "needed": needed,
            "low": low,
            "high": high if high is None or math.isfinite(high) else None,
            "start": _START.get(name) if needed else None,
            "hint": parameter.hint,
        }
    )
