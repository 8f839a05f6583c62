"""The ranking of mechanisms for a task, and the plan and the review that come of it."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

from .._support import validation as check
from .._support.numbers import round_down, round_up
from .._support.statement import Statement
from .._support.units import figures
from ..errors import ImpossibleError, ParameterError
from ..planning.recommendation import Recommendation
from ..planning.recommending import recommend
from ..planning.tasks import TASKS, Task, task_named
from ..protocol.plan import Plan
from . import answers
from .catalog import mechanisms
from .questions import MOST_OPTIONS, Question

#: Sizes that a task may have, and what the page starts those with that must be given.
_START = {"d": 64, "dim": 64, "size": 4, "length": 8}
_SIZES = ("d", "dim", "size", "low", "high", "norm", "length", "ways")
_NAMES = ("task", "epsilon", "messages", "choice", "unit", *_SIZES)
#: The setting of a question that has none: with a target, the ranking does without it.
_ANY = "general:eps0=1"
#: A plan file names every option.
_MOST_LABELS = 10_000


@cache
def tasks() -> dict[str, Any]:
    """name -> what its error is measured in, and the sizes that it takes.

    Examples
    --------
    >>> [size["name"] for size in tasks()["histogram"]["sizes"]]
    ['d']
    """
    return {name: _described(name) for name in TASKS}


def _described(name: str) -> dict[str, Any]:
    module, word = TASKS[name]
    cls = getattr(importlib.import_module(f"..planning.{module}", __package__), word)
    fields = [f for f in dataclasses.fields(cls) if f.name in _SIZES]
    given = {f.name: _START[f.name] if f.default is dataclasses.MISSING else f.default for f in fields}
    needed = {f.name for f in fields if f.default is dataclasses.MISSING}
    usual = task_named(name, given)
    return {
        "title": (cls.__doc__ or name).partition("\n")[0],
        "measure": usual.measure,
        "inputs": list(usual.inputs),
        "sizes": [{"name": key, "needed": key in needed, "start": value} for key, value in given.items()],
        "same": [key for key, value in given.items() if _same(key, value, usual)],
        "unit": any(f.name == "unit" for f in dataclasses.fields(cls)),
    }


def _same(name: str, size: Any, task: Task) -> bool:
    """Whether a mechanism for the task has this size, under the same name."""
    return all(sizes.get(name) == size for sizes in task.inputs.values())


def rank(given: Mapping[str, str]) -> dict[str, Any]:
    """All mechanisms that fit the task under the target: the typed one, or what the setting of the page reaches.

    Examples
    --------
    >>> asked = {"task": "histogram", "d": "16", "spec": "grr:eps0=2,d=16", "n": "1e5", "delta": "1e-7"}
    >>> found = rank(asked)
    >>> found["choices"][0]["shown"]["epsilon"] <= found["target"], found["typed"]
    (True, False)
    """
    asked = _asked(given)
    try:
        found = _found(asked, given)
    except ImpossibleError as error:
        return {"target": None, "typed": bool(given.get("epsilon")), "choices": [], "references": [], "why": str(error)}
    ready = found.to_dict()
    for place, choice in enumerate(ready["choices"]):
        made = found.choices[place]
        choice["place"], choice["runs"] = place, made.run.spec
        choice["total"] = answers.in_all(made.epsilon, asked)
        choice["usable"] = _shown_in_fields(made.run.spec)
        choice["shown"] = {key: round_up(getattr(made, key)) for key in ("epsilon", "local_epsilon")}
        choice["shown"]["error"] = _figures(found, made.error)
    for aside in (ready["floor"], *ready["references"]):
        if aside is not None:
            aside["shown"] = _figures(found, float(aside["error"]))
    kept = ("task", "sizes", "unit", "statement", "choices", "references", "floor", "python", "command")
    return {
        **{key: ready[key] for key in kept},
        "measure": found.measure,
        "assumed": found.question.assumed,
        "target": round_down(found.epsilon),
        "typed": bool(given.get("epsilon")),
        "refused": len(ready["refused"]),
    }


def plan(given: Mapping[str, str]) -> str:
    """The plan of the setting of the page, or with ``choice`` of a place in the ranking, ready for a client."""
    return json.dumps(_planned(given)[0].to_dict(), indent=2, ensure_ascii=False) + "\n"


def statement(given: Mapping[str, str]) -> dict[str, Any]:
    """What that plan means over all rounds, for people who sign.

    Examples
    --------
    >>> asked = {"task": "histogram", "d": "16", "spec": "grr:eps0=2,d=16", "n": "1e5", "delta": "1e-7"}
    >>> [section["heading"] for section in statement(asked)["sections"]][:2]
    ['What is collected', 'What leaves the device']
    """
    made = _stated(given)
    return {"heading": made.heading, "sections": [section._asdict() for section in made.sections]}


def statement_page(given: Mapping[str, str]) -> str:
    """The same as one HTML file that loads nothing."""
    return _stated(given).html()


def _stated(given: Mapping[str, str]) -> Statement:
    made, rounds = _planned(given)
    return made.statement(rounds=rounds)


def _planned(given: Mapping[str, str]) -> tuple[Plan, int]:
    """The plan, and how often it is run."""
    place = _choice(given)
    asked = Question.read(given, more=_NAMES) if place is None else _asked(given)
    task = _task(given)
    for name, size in task.sizes.items():
        if name in ("d", "dim") and np.sum(size) > _MOST_LABELS:
            raise ParameterError(
                f"{name} must be at most {_MOST_LABELS:,} for a plan from this page, got {np.sum(size):,}; write it "
                "in Python."
            )
    if place is not None:
        made = _found(asked, given).plan(place)
    else:
        serves = asked.mechanism.serves
        if not any(kind in task.inputs for kind in serves):
            raise ParameterError(
                f"mechanism must take {' or '.join(task.inputs)} for the task {task.name!r}, got {asked.spec}, which "
                f"takes {' or '.join(serves) or 'anything'}; take one of the ranking."
            )
        query = task.query(asked.mechanism, None, None)
        made = Plan(query=query, users=asked.n, minimum_batch=asked.crowd.honest, delta=asked.at)
    return made, asked.rounds


def report(given: Mapping[str, str]) -> str:
    """A design review of the best choice, or of another: one HTML file that loads nothing."""
    from ..planning.page import review_page

    asked = _asked(given)
    found = _found(asked, given)
    return review_page(found, found.choice(_choice(given)))


def _figures(found: Recommendation, error: float) -> str:
    """An error in the unit that people read, rounded up; the unit stands once, above all of them."""
    return figures(found.question.in_units(error, found.n), 3, up=True)


def _shown_in_fields(spec: str) -> bool:
    """Whether the page could show what is run: all of it is in the spec."""
    word, _, parts = spec.partition(":")
    return word in mechanisms() and all("=" in part for part in parts.split(","))


def _asked(given: Mapping[str, str]) -> Question:
    return Question.read({"spec": _ANY, **given} if given.get("epsilon") else given, more=_NAMES)


def _found(asked: Question, given: Mapping[str, str]) -> Recommendation:
    task = _task(given)
    epsilon = check.parse_number("epsilon", given["epsilon"]) if given.get("epsilon") else _reached(asked)
    messages = check.parse_number("messages", given["messages"]) if given.get("messages") else None
    return _ranked(task, asked.n, asked.at, asked.rounds, asked.dropouts, epsilon, messages)


@lru_cache(maxsize=64)
def _ranked(
    task: Task, n: int, delta: float, rounds: int, dropouts: float, epsilon: float, messages: float | None
) -> Recommendation:
    crowd: dict[str, Any] = {"n": n, "delta": delta, "rounds": rounds, "dropouts": dropouts}
    return recommend(task.name, epsilon=epsilon, messages=messages, **crowd, **task.sizes)


def _task(given: Mapping[str, str]) -> Task:
    """The task of a request with its sizes, of which none is huge."""
    sizes = {name: check.parse_number(name, given[name]) for name in _SIZES if given.get(name)}
    for name in ("d", "dim", "size", "length"):
        check.in_range(name, sizes.get(name, 1), low=1, high=MOST_OPTIONS, hint="use the command line for more")
    unit = {"unit": given["unit"]} if given.get("unit") else {}
    return task_named(given.get("task", "histogram"), {**sizes, **unit})


def _reached(asked: Question) -> float:
    """What the setting of the page costs over all rounds."""
    found = answers.guarantee_of(asked).epsilon if asked.rounds == 1 else answers.total_of(asked)
    if not 0.0 < found < float("inf"):
        raise ImpossibleError("the setting reaches no finite eps above 0 that could be the target; type a target.")
    return found


def _choice(given: Mapping[str, str]) -> int | None:
    """The place in the ranking that was asked for."""
    if not given.get("choice"):
        return None
    number = check.parse_number("choice", given["choice"])
    return check.whole("choice", number, low=0, high=1000, hint="it is a place in the ranking")
