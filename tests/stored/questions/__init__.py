"""All questions, in a fixed order, each with a name that says what is asked."""

from __future__ import annotations

import json
from typing import Any

from . import batches, collecting, commands, inverse, refusals, rounds

PARTS = (batches, inverse, rounds, collecting, commands, refusals)


def all_questions() -> dict[str, dict[str, Any]]:
    """name -> question."""
    found: dict[str, dict[str, Any]] = {}
    for part in PARTS:
        for asked in part.questions():
            name = named(asked)
            if name in found:
                raise ValueError(f"asked twice: {name}")
            found[name] = json.loads(json.dumps(asked))  # as it will be read back
    return found


def named(asked: dict[str, Any]) -> str:
    """The question in one line."""
    if asked["ask"] == "command":
        return "shuffledp " + " ".join(asked["args"])
    terms = [f"{key}={_short(value)}" for key, value in asked.items() if key not in ("ask", "mechanism")]
    return " ".join([asked["ask"], *([_short(asked["mechanism"])] if "mechanism" in asked else []), *terms])


def _short(value: Any) -> str:
    if isinstance(value, float | int):
        return f"{value:.10g}"
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + " ".join(f"{key}={_short(item)}" for key, item in value.items()) + "}"
    return "[" + " ".join(_short(item) for item in value) + "]"
