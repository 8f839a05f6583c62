"""Users with budgets of their own, in one batch, from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_up
from ..accounting.mixed import amplify_mixed
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.parameters import declared
from . import words
from .questions import LONGEST, Question, mechanism_of

#: Rows of the table.
_MOST_CLASSES = 20


def mixed(given: Mapping[str, str]) -> dict[str, Any]:
    """One round in which classes of users run the mechanism with budgets of their own.

    ``budgets`` has a row "users at eps0" for every class, rows separated by commas; they replace n and the budget of
    the setting.

    Examples
    --------
    >>> asked = {"spec": "grr:eps0=2,d=8", "n": "1", "delta": "1e-6", "budgets": "5000 at 1, 5000 at 3"}
    >>> found = mixed(asked)
    >>> [row["shown"]["epsilon"] for row in found["rows"]], found["n"]
    (['0.031704', '0.14005'], 10000)
    """
    mechanism = mechanism_of(given.get("spec", ""))
    classes = [_row(mechanism, row) for row in _rows(given.get("budgets", ""))]
    users = sum(size for _, size in classes)
    terms = Question.read({**given, "n": str(users)}, more=("budgets",))
    found = amplify_mixed(classes, delta=terms.delta, dropouts=terms.dropouts)
    rows = [
        {
            "spec": one.mechanism,
            "users": one.users,
            "epsilon": one.epsilon,
            "local_epsilon": one.local_epsilon,
            "level": words.level(one.epsilon),
            "shown": {key: round_up(getattr(one, key)) for key in ("epsilon", "local_epsilon")},
        }
        for one in found.classes
    ]
    pairs = ", ".join(f'("{one.mechanism}", {one.users:_})' for one in found.classes)
    missing = f", dropouts={terms.dropouts!r}" if terms.dropouts else ""
    delta = f'"{terms.delta}"' if isinstance(terms.delta, str) else repr(terms.delta)
    return json_object(
        {
            "n": found.n,
            "delta": found.delta,
            "epsilon": found.epsilon,
            "shown": round_up(found.epsilon),
            "bound": found.bound,
            "text": str(found),
            "trust": found.trust,
            "rows": rows,
            "python": f"import shuffledp as sdp\n\nprint(sdp.amplify_mixed([{pairs}], delta={delta}{missing}))",
        }
    )


def _rows(text: str) -> list[str]:
    if len(text) > LONGEST:
        raise ParameterError(f"budgets must have at most {LONGEST} characters, got {len(text):,}; merge some rows.")
    rows = [row.strip() for row in text.split(",") if row.strip()]
    if not 1 <= len(rows) <= _MOST_CLASSES:
        raise ParameterError(
            f"budgets must have 1 to {_MOST_CLASSES} rows, got {len(rows)}; write for example 60000 at 1, 40000 at 3."
        )
    return rows


def _row(mechanism: Mechanism, row: str) -> tuple[Mechanism, int]:
    """The mechanism with the budget of a row, and how many users run it."""
    users, at, budget = row.partition(" at ")
    if not at:
        raise ParameterError(
            f"budgets must have rows of users and their budget, got {check.shown(row)}; write for example 60000 at 1."
        )
    name = next((name for name, about in declared(type(mechanism)).items() if about.role == "budget"), None)
    if name is None:
        raise ParameterError(
            f"budgets must be those of a mechanism with a local budget, got {mechanism.name}; choose grr, for example."
        )
    value = check.parse_number("budgets", budget)
    return replace(mechanism, **{name: value}), check.parse_users(users)  # type: ignore[type-var]
