"""The file of a parallel composition: a list of entries with keys weight and spec, as JSON or plain YAML."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import ParameterError


def read_queries(path: Path) -> list[tuple[Fraction, str]]:
    """(weight, spec) of every entry; the YAML understood is a list of flat mappings, one key per line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"file must be a readable text file of queries, got {str(path)!r}; check it.") from None
    entries = _from_json(text, path) if text.lstrip()[:1] in ("[", "{") else _from_yaml(text, path)
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"weight", "spec"}:
            raise ParameterError(
                f"every entry of {str(path)!r} must have the keys weight and spec, got {entry!r}; give both."
            )
    return [(_fraction(e["weight"]), e["spec"]) for e in entries]


def _fraction(value: object) -> Fraction:
    """A weight as written: 0.25, or 1/3."""
    try:
        if isinstance(value, bool):
            raise ValueError(value)
        return Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"weight must be a number such as 0.25 or 1/3, got {value!r}; correct it.") from None


def _from_json(text: str, path: Path) -> list[Any]:
    try:
        entries = json.loads(text)
    except ValueError:
        entries = None
    if not isinstance(entries, list):
        raise ParameterError(f"file must hold a JSON list of queries, got something else in {str(path)!r}; correct it.")
    return entries


def _from_yaml(text: str, path: Path) -> list[dict[str, str]]:
    """The part of YAML that a list of flat entries needs: "- key: value", further keys indented, # comments."""
    entries: list[dict[str, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split(" #", 1)[0].strip()
        if not content or content.startswith("#") or content == "---":
            continue
        if content.startswith("- "):
            entries.append({})
            content = content[2:].strip()
        key, colon, value = (part.strip() for part in content.partition(":"))
        if not entries or not colon or key not in ("weight", "spec") or key in entries[-1]:
            raise ParameterError(
                f"file must list '- weight: 0.5' with 'spec: grr:eps0=1,d=4' below it, got {line.strip()!r} "
                f"in line {number} of {str(path)!r}; correct it."
            )
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        entries[-1][key] = value[1:-1] if quoted else value
    return entries
