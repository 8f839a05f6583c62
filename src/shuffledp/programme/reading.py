"""Reading a programme file: YAML or JSON as plain data, in which every number is still the text that was written.

Nothing is constructed but mappings, lists, texts, booleans and null.  Tags, aliases and repeated keys are refused, so a
file cannot run code, grow when it is read, or say two things at once; and since numbers stay text, "1e-8" and 0.1 mean
exactly what they say (a YAML 1.1 parser takes 1e-8 for a text, 010 for eight and 1:30 for ninety).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..errors import ParameterError

#: Larger files are not read.
MOST_BYTES = 2**20
_STANDARD = "tag:yaml.org,2002:"
_PLAIN = {_STANDARD + kind for kind in ("str", "int", "float", "timestamp", "merge", "value")}


def read(path: str | os.PathLike[str]) -> Any:
    """The content of a file as plain data; what cannot be read is refused in one sentence."""
    shown = repr(os.fspath(path))
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(f"programme must be a readable file, got {shown} ({reason}); check the path.") from None
    if len(data) > MOST_BYTES:
        raise ParameterError(
            f"programme must be a file of at most {MOST_BYTES:,} bytes, got a larger one in {shown}; shorten it."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"programme must be a text file in UTF-8, got other bytes in {shown}; check it.") from None
    try:
        return from_json(text) if text.lstrip()[:1] == "{" and _is_json(text) else from_yaml(text)
    except RecursionError:
        raise ParameterError(f"programme must not be nested so deeply, got {shown}; flatten it.") from None


def from_json(text: str) -> Any:
    """JSON with numbers as their text; repeated keys are refused.

    Examples
    --------
    >>> from_json('{"delta": 1e-8}')
    {'delta': '1e-8'}
    """
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_once)


def from_yaml(text: str) -> Any:
    """YAML (of which JSON is a part) with numbers as their text.

    Examples
    --------
    >>> from_yaml("target: {epsilon: 1.0, delta: 1e-8}")
    {'target': {'epsilon': '1.0', 'delta': '1e-8'}}
    """
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "not text"
        raise ParameterError(f"programme must be YAML or JSON, got a mistake{where} ({reason}); correct it.") from None
    return None if node is None else _data(node, set())


def _data(node: Any, seen: set[int]) -> Any:
    """The data of a node; a node that comes a second time was an alias."""
    line = node.start_mark.line + 1
    if id(node) in seen:
        raise ParameterError(f"programme must not use aliases, got one of an anchor in line {line}; write it out.")
    seen.add(id(node))
    if node.id == "mapping" and node.tag == _STANDARD + "map":
        return _once([(_key(key, seen), _data(value, seen)) for key, value in node.value])
    if node.id == "sequence" and node.tag == _STANDARD + "seq":
        return [_data(item, seen) for item in node.value]
    if node.id == "scalar":
        if node.tag == _STANDARD + "null":
            return None
        if node.tag == _STANDARD + "bool" and node.value.lower() in _TRUTH:
            return _TRUTH[node.value.lower()]
        if node.tag in _PLAIN:
            return node.value
    tag = node.tag.replace(_STANDARD, "!!")
    raise ParameterError(f"programme must not use tags, got {tag[:40]!r} in line {line}; remove it.")


_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _key(node: Any, seen: set[int]) -> str:
    if node.id != "scalar":
        raise ParameterError(
            f"keys of a programme must be words, got a {node.id} in line {node.start_mark.line + 1}; correct it."
        )
    _data(node, seen)  # refuses tags and aliases
    return str(node.value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping in which no key comes twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ParameterError(f"a key must be given once, got {key[:40]!r} twice; remove one of them.")
        found[key] = value
    return found


def _is_json(text: str) -> bool:
    """JSON may hold tabs, which YAML does not read; what is no JSON gets its message from the YAML reader."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
