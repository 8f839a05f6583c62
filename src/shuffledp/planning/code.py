"""The same question as Python and as a command, to copy."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recommendation import Recommendation


def _asked(found: Recommendation) -> dict[str, Any]:
    target = {"error": found.error} if found.error is not None else {"epsilon": found.epsilon}
    usual = {"dropouts": 0, "rounds": 1, "messages": None, "bits": None, "local_epsilon": None, "noise": "users"}
    more = {key: getattr(found, key) for key, value in usual.items() if getattr(found, key) != value}
    return {"n": found.n, **found.question.sizes, **target, "delta": found.delta, **more}


def _written(value: Any) -> str:
    """A number as short as it can be read back: 1000000, 0.5, 1e-08."""
    if isinstance(value, float) and value == math.floor(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def _option(value: Any) -> str:
    """On a command line: lists have commas, lists of them semicolons."""
    if isinstance(value, tuple):
        deep = any(isinstance(one, tuple) for one in value)
        return shlex.quote((";" if deep else ",").join(_option(one).strip("'") for one in value))
    return shlex.quote(value) if isinstance(value, str) else _written(value)


def python_code(found: Recommendation) -> str:
    """Lines that plan, and save the plan."""
    given = ", ".join(f"{key}={_written(value)}" for key, value in _asked(found).items())
    return (
        "import shuffledp as sdp\n\n"
        f'found = sdp.recommend("{found.task}", {given})\n'
        "print(found)\n"
        'found.plan().save("plan.json")\n'
    )


def command_line(found: Recommendation) -> str:
    """The command that plans, and saves the plan."""
    given = " ".join(f"--{key.replace('_', '-')} {_option(value)}" for key, value in _asked(found).items())
    return f"shuffledp plan {shlex.quote(found.task)} {given} --save plan.json"
