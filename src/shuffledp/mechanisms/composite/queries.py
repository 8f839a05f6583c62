"""Mechanisms that are parts of another: checked, and read from a list of specs (and weights) in JSON or YAML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..._support import validation as check
from ..._support.reading import QUERIES, as_written, mapping
from ...errors import ParameterError
from ...numerics.pair import MOST_LEFT_OUT
from ..base import Mechanism
from ..registry import mechanism, mechanism_in_file

#: The word of the spec of a parallel composition.
PARALLEL = "parallel"
#: The word of the spec of a tuple of answers.
JOINT = "joint"
#: Most queries of one file.
MOST_QUERIES = 1000
#: Most answers of one tuple.
MOST_ANSWERS = 32

Query = tuple[float, Mechanism]


def checked(queries: Iterable[tuple[object, object]]) -> tuple[Query, ...]:
    """Weights that sum to 1, each with a mechanism (or its spec) that sends one report per user."""
    try:
        pairs = [(weight, m) for weight, m in queries]
    except (TypeError, ValueError):
        raise ParameterError(
            f"queries must be pairs (weight, mechanism), got {queries!r}; pass a list of them."
        ) from None
    if not pairs:
        raise ParameterError("queries must hold at least one (weight, mechanism), got none; add one.")
    found = tuple((_weight(weight), _part(PARALLEL, "queries", m)) for weight, m in pairs)
    total = math.fsum(weight for weight, _ in found)
    if abs(total - 1.0) > MOST_LEFT_OUT:
        raise ParameterError(f"weights must sum to 1, got {total!r}; divide each by the sum.")
    return found


def _weight(value: object) -> float:
    return check.in_range("weight", value, low=0.0, high=1.0, low_open=True, hint="leave out queries nobody answers")


def checked_answers(answers: Iterable[object], parse: Callable[[str], Mechanism] = mechanism) -> tuple[Mechanism, ...]:
    """One mechanism (or its spec) for every answer of a tuple; each sends one report per user."""
    try:
        if isinstance(answers, str | bytes):
            raise TypeError
        listed = list(answers)
    except TypeError:
        raise ParameterError(
            f"answers must be a list of mechanisms or specs, got {answers!r:.60}; write Joint([first, second])."
        ) from None
    if not 1 <= len(listed) <= MOST_ANSWERS:
        raise ParameterError(f"answers must hold 1 to {MOST_ANSWERS} mechanisms, got {len(listed)}; list one for each.")
    return tuple(_part(JOINT, "answers", entry, parse) for entry in listed)


def _part(whole: str, parts: str, subject: object, parse: Callable[[str], Mechanism] = mechanism) -> Mechanism:
    """A mechanism, possibly by its spec, that sends one report per user and is not of the same kind as the whole."""
    if isinstance(subject, str) and subject.partition(":")[0].strip() != whole:
        subject = parse(subject)
    if isinstance(subject, str) or (isinstance(subject, Mechanism) and subject.name == whole):
        raise ParameterError(f"{parts} must not be {whole} themselves, got one that is; list its {parts} instead.")
    if not isinstance(subject, Mechanism):
        raise ParameterError(f"{parts} must be mechanisms or specs, got {subject!r:.60}; name one for each.")
    if not subject.single_message:
        raise ParameterError(f"{parts} must send one report per user, got {subject.spec}; account for it on its own.")
    return subject


def read_answers(path: Path) -> list[str]:
    """The spec of every entry, in the files of :func:`read_queries` without weights."""
    entries = _entries(path, ("spec",), "give spec alone, as every user gives every answer")
    return [_spec(entry["spec"]) for entry in entries]


def read_queries(path: Path) -> list[tuple[Fraction, Mechanism]]:
    """(weight, mechanism) of every entry of a list in JSON or YAML."""
    entries = _entries(path, ("weight", "spec"), "give weight and spec")
    return [
        (_fraction(entry["weight"]), _part(PARALLEL, "queries", _spec(entry["spec"]), mechanism_in_file))
        for entry in entries
    ]


def _entries(path: Path, needed: tuple[str, ...], advice: str) -> list[dict[str, Any]]:
    from ..._support.reading.yaml_text import read_plain  # loads yaml, which only files need

    shown, listed = repr(str(path)), read_plain(path, QUERIES) or []
    if not isinstance(listed, list):
        raise ParameterError(
            f"file must hold a list of queries, got something else in {shown}; start every entry with '- spec: ...'."
        )
    if len(listed) > MOST_QUERIES:
        raise ParameterError(
            f"file must list at most {MOST_QUERIES:,} queries, got {len(listed):,} in {shown}; merge some of them."
        )
    return [
        mapping(f"entry {number} of {shown}", entry, needed=needed, advice=advice)
        for number, entry in enumerate(listed)
    ]


def _fraction(value: object) -> Fraction:
    """A weight as written: 0.25, or 1/3."""
    number = as_written(value.strip()) if isinstance(value, str) else None
    if number is None:
        raise ParameterError(f"weight must be a number such as 0.25 or 1/3, got {value!r:.40}; correct it.")
    return number


def _spec(value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"spec must be a text such as 'grr:eps0=1,d=4', got {value!r:.40}; correct it.")
    return value
