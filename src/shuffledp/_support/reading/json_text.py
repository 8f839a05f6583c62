"""JSON as plain data: bounded depth, bounded numbers, no key twice, nothing that is not JSON."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Any

from ...errors import ParameterError
from .files import Kind, digest_of, read_text

#: Levels of lists and mappings.
MOST_DEPTH = 32
#: Characters of one number.
MOST_FIGURES = 100
#: A text (an unclosed one extends to the end of the file, so that no character is scanned twice) or a bracket.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{4}", re.ASCII)


class NotJSONError(ValueError):
    """The text is not JSON: its notation is wrong."""


def read_json(path: str | os.PathLike[str], kind: Kind, *, seen: set[str] | None = None) -> Any:
    """The content of a JSON file; what cannot be read is refused in one sentence.  Its digest is added to ``seen``."""
    text = read_text(path, kind)
    if seen is not None:
        seen.add(digest_of(text.encode("utf-8")))
    shown = repr(os.fspath(path))
    try:
        return parse_json(text, kind, shown)
    except NotJSONError as error:
        got = "something else" if text.strip() else "an empty file"
        raise ParameterError(f"{kind.subject} must be JSON, got {got} in {shown} ({error}); {kind.advice}.") from None


def parse_json(text: str, kind: Kind, shown: str, *, numbers_as_text: bool = False) -> Any:
    """The data of a JSON text, numbers as they are written if asked for; NotJSONError if the notation is wrong.

    Examples
    --------
    >>> from .files import PROGRAMME
    >>> parse_json('{"delta": 1e-8}', PROGRAMME, "'p.json'", numbers_as_text=True)
    {'delta': '1e-8'}
    >>> parse_json('{"count": 10, "count": 1}', PROGRAMME, "'p.json'")
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: a key must be given once, got 'count' twice in 'p.json'; remove one of them.
    """
    _refuse_depth(text, kind, shown)

    hooks: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), str)
    if not numbers_as_text:
        numbers = {f"parse_{convert.__name__}": partial(_number, convert, kind, shown) for convert in (int, float)}
        hooks = {**numbers, "parse_constant": refuse_constant}
    try:
        data = json.loads(text, object_pairs_hook=partial(unrepeated, shown=shown), **hooks)
        if "\\u" in text:  # half of a surrogate pair is not text: it cannot be printed
            json.dumps(data, ensure_ascii=False).encode("utf-8")
        return data
    except json.JSONDecodeError as error:
        raise NotJSONError(f"a mistake in line {error.lineno}") from None
    except UnicodeEncodeError:
        raise NotJSONError("half of a surrogate pair") from None


def _number(convert: type[int] | type[float], kind: Kind, shown: str, written: str) -> int | float:
    """A number of bounded length and size."""
    value = convert(written) if len(written) <= MOST_FIGURES and not _EXPONENT.search(written) else None
    if value is None or abs(value) == float("inf"):
        raise ParameterError(
            f"{kind.subject} must hold numbers of moderate length and size, got {written[:30]}"
            f"{'...' if len(written) > 30 else ''} in {shown}; {kind.advice}."
        )
    return value


def refuse_constant(written: str) -> float:
    """Refuse NaN and infinity, which JSON does not have."""
    raise NotJSONError(f"{written} is not JSON")


def unrepeated(pairs: list[tuple[str, Any]], shown: str) -> dict[str, Any]:
    """A mapping without repeated keys."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            where = f" in {shown}" if shown else ""
            raise ParameterError(f"a key must be given once, got {key[:40]!r} twice{where}; remove one of them.")
        found[key] = value
    return found


def _refuse_depth(text: str, kind: Kind, shown: str) -> None:
    """Count open brackets outside of texts, before the parser descends into them."""
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise too_deep(kind, shown)
        elif first in "]}":
            depth -= 1


def too_deep(kind: Kind, shown: str) -> ParameterError:
    """The error message about nesting."""
    return ParameterError(
        f"{kind.subject} must be nested at most {MOST_DEPTH} levels deep, got more in {shown}; {kind.advice}."
    )
