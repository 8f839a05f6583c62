"""Several questions against one budget: what a request may ask, the errors to expect, and the files that come of it.

A question arrives as an object of a JSON list, so nothing in it can name a file: keys that may (a list of labels, the
shape of a sample) are taken in full or not at all.
"""

from __future__ import annotations

import json
import math
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml

from .._support import delta_rules as _rules
from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.reading import refuse_constant
from ..accounting.guarantee import not_below
from ..errors import ParameterError
from ..programme.calibrated import CalibratedProgramme
from ..programme.calibrating import calibrate_programme
from ..programme.shipped import check_folder
from . import words
from .questions import MOST_MISSING, MOST_OPTIONS, MOST_ROUNDS, share, whole

#: Questions of one programme, characters of a word, and labels of a question.
MOST_QUESTIONS, _LONGEST_WORD, _MOST_LABELS = 12, 60, 200
_NAMES = ("epsilon", "n", "delta", "dropouts", "opt_in", "questions")
#: What a question may say: words, whole numbers and their largest values, numbers.
_WORDS = ("name", "task", "column", "unit", "error")
_KEYS = (
    *("name", "task", "column", "labels", "d", "dim", "size", "length", "ways", "low", "high", "norm", "unit"),
    *("count", "weight", "error", "messages", "local_epsilon"),
)
_WHOLE = {"d": MOST_OPTIONS, "dim": MOST_OPTIONS, "size": MOST_OPTIONS, "length": 64, "ways": 4, "count": MOST_ROUNDS}
#: The part of the budget that may be left over, on the page and in its files.
_TOL = 2e-3
_DATE = (1980, 1, 1, 0, 0, 0)
#: What a statement calls a programme of this page, which has no name.
_NAME = "all questions of one programme"


def programme(given: Mapping[str, str]) -> dict[str, Any]:
    """What each question gets of the budget, which mechanism, and the errors to expect in people's units.

    Examples
    --------
    >>> asked = {"epsilon": "1", "n": "1e5", "delta": "1e-7",
    ...          "questions": '[{"task": "mean", "low": 0, "high": 60, "unit": "min", "count": 4}]'}
    >>> found = programme(asked)
    >>> found["within"], found["rounds"][0]["predicted"][0]["unit"], found["rounds"][0]["count"]
    (True, 'min', 4)
    """
    content = _read(given)
    found = _calibrated(json.dumps(content))
    verdict = found.check
    rounds = []
    for entry, one in zip(found.rounds, verdict.rounds, strict=True):
        rounds.append(
            {
                **{key: getattr(entry, key) for key in ("name", "mechanism", "weight", "wanted")},
                "count": one.count,
                "epsilon": entry.epsilon,
                "local_epsilon": one.local_epsilon,
                "predicted": [p._asdict() for p in entry.predicted],
                "assumed": entry.assumed,
                "shown": {"epsilon": round_up(entry.epsilon), "local_epsilon": round_up(one.local_epsilon)},
            }
        )
    users = verdict.rounds[0].users
    return json_object(
        {
            "within": verdict.within,
            "epsilon": verdict.epsilon,
            "lower": verdict.lower,
            "target": verdict.target_epsilon,
            "delta": verdict.delta,
            "users": users,
            "counted": verdict.rounds[0].counted,
            "shown": {
                "epsilon": round_up(verdict.epsilon),
                "lower": None if verdict.lower is None else not_below(verdict.lower, verdict.delta),
                "target": round_down(verdict.target_epsilon),
                "delta": round_up(verdict.delta, 3),
            },
            "level": words.level(verdict.epsilon),
            "words": words.odds(words.guess(verdict.epsilon, verdict.delta), "all batches of all questions"),
            "rounds": rounds,
            "verdict": verdict.verdict,
            "statement": str(found),
            "yaml": _yaml(content),
            "command": "shuffledp calibrate --programme programme.yaml --plans plans",
        }
    )


def written(given: Mapping[str, str]) -> str:
    """The questions as a file that ``shuffledp calibrate --programme FILE --plans DIR`` reads."""
    content = _read(given)
    _calibrated(json.dumps(content))  # nothing is saved that cannot be met
    return _yaml(content)


def plans(given: Mapping[str, str]) -> bytes:
    """The programme, the plan of every question and their lock, which ``shuffledp check`` reads, in one archive."""
    content = _read(given)
    found = _calibrated(json.dumps(content))
    out = BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        paths = [Path(path) for path in found.save_plans(Path(folder, "plans"))]
        files = {"programme.yaml": _yaml(content), **{f"plans/{p.name}": p.read_text("utf-8") for p in paths}}
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), text)  # the same programme gives the same bytes
    return out.getvalue()


def statement_page(given: Mapping[str, str]) -> str:
    """What all questions together mean, for people who sign: one HTML file that loads nothing."""
    found = _calibrated(json.dumps(_read(given)))
    with tempfile.TemporaryDirectory() as folder:
        found.save_plans(Path(folder, "plans"))
        said = replace(check_folder(Path(folder, "plans")), name=_NAME).statement()  # not that of the folder
        return said.html()


@lru_cache(maxsize=16)
def _calibrated(text: str) -> CalibratedProgramme:
    return calibrate_programme(json.loads(text), tol=_TOL)


def _yaml(content: dict[str, Any]) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))


# -- reading ---------------------------------------------------------------------------------------------------


def _read(given: Mapping[str, str]) -> dict[str, Any]:
    """The content of a programme file, every number checked."""
    for name in given:
        check.one_of("parameter", name, _NAMES)
    for name in ("epsilon", "n", "delta", "questions"):
        if not given.get(name):
            raise ParameterError(f"{name} must be given, got nothing; add it to the request.")
    users = check.parse_users(given["n"])
    delta = _rules.parse(given["delta"])
    population: dict[str, Any] = {"users": users}
    for key, usual, high in (("opt_in", 1.0, 1.0), ("dropouts", 0.0, MOST_MISSING)):
        value = share(key, given.get(key) or repr(usual), high=high)
        if value != usual:
            population[key] = f"{float(f'{100.0 * value:.9g}'):g}%"
    epsilon = check.inside("epsilon", check.parse_number("epsilon", given["epsilon"]), hint="it is the budget")
    target = {"epsilon": _plain(epsilon), "delta": delta}
    return {
        "version": 1,
        "population": population,
        "target": target,
        "rounds": [_question(f"questions[{i}]", item) for i, item in enumerate(_list(given["questions"]))],
    }


def _list(text: str) -> list[Any]:
    wanted = f"questions must be a JSON list of 1 to {MOST_QUESTIONS} objects"
    try:
        found = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise ParameterError(f"{wanted}, got text that is none; ask as the page does.") from None
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_QUESTIONS:
        got = f"{len(found)}" if isinstance(found, list) else type(found).__name__
        raise ParameterError(f"{wanted}, got {got}; a longer programme is for the command line.")
    return found


def _question(where: str, item: object) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ParameterError(f"{where} must be an object, got {type(item).__name__}; name its task and sizes.")
    for key in item:
        check.one_of(f"key of {where}", key, _KEYS)
    made = {key: _value(f"{where}.{key}", key, item[key]) for key in _KEYS if key in item}
    if "task" not in made:
        raise ParameterError(f"{where}.task must be given, got nothing; name one, such as histogram.")
    return made


def _value(where: str, key: str, value: object) -> Any:
    if key == "labels":
        fine = isinstance(value, list) and 1 <= len(value) <= _MOST_LABELS and all(map(_is_word, value))
        if not fine:
            raise ParameterError(
                f"{where} must be a list of at most {_MOST_LABELS} words of at most {_LONGEST_WORD} characters, got "
                f"{check.shown(value)}; longer lists are for the command line."
            )
        return value
    if key in _WORDS:
        if not _is_word(value):
            raise ParameterError(
                f"{where} must be a word of at most {_LONGEST_WORD} characters, got {check.shown(value)}; shorten it."
            )
        return value
    if key in _WHOLE:
        return whole(where, _text(where, value), low=1, high=_WHOLE[key])
    number = check.parse_number(where, _text(where, value))
    if not math.isfinite(number):
        raise ParameterError(f"{where} must be a number, got {check.shown(value)}; correct it.")
    return _plain(number)


def _plain(number: float) -> float | int:
    """As people write it: 60 and not 60.0."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _text(where: str, value: object) -> str:
    """A number as text: the page sends what was typed."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ParameterError(f"{where} must be a number, got {check.shown(value)}; correct it.")
    text = str(value)
    if len(text) > _LONGEST_WORD:
        raise ParameterError(f"{where} must be a number, got {len(text):,} characters; shorten it.")
    return text


def _is_word(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST_WORD and value.isprintable()
