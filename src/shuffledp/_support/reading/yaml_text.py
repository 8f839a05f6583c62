"""YAML as plain data, in which every number is still the text that was written.

Nothing is constructed but mappings, lists, texts, booleans and null.  Tags, aliases and repeated keys are refused, so a
file cannot run code, grow when it is read, or say two things at once; and since numbers stay text, "1e-8" and 0.1 mean
exactly what they say (a YAML 1.1 parser takes 1e-8 for a text, 010 for eight and 1:30 for ninety).
"""

from __future__ import annotations

import os
from typing import Any

import yaml

from ...errors import ParameterError
from .files import Kind, contained, read_text
from .json_text import MOST_DEPTH, NotJSONError, parse_json, too_deep, unrepeated

#: Values in one file, keys included.
MOST_NODES = 25_000
_STANDARD = "tag:yaml.org,2002:"
_PLAIN = {_STANDARD + kind for kind in ("str", "int", "float", "timestamp", "merge", "value")}
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Composes nodes and stops at the first alias, and where they are too many or too deep."""

    kind: Kind
    shown: str
    depth = count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            line = self.peek_event().start_mark.line + 1
            raise ParameterError(
                f"{self.kind.subject} must not use aliases, got one of an anchor in line {line} of {self.shown}; "
                "write it out."
            )
        self.depth, self.count = self.depth + 1, self.count + 1
        if self.depth > MOST_DEPTH:
            raise too_deep(self.kind, self.shown)
        if self.count > MOST_NODES:
            raise ParameterError(
                f"{self.kind.subject} must hold at most {MOST_NODES:,} values, got more in {self.shown}; shorten it."
            )
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read_plain(path: str | os.PathLike[str], kind: Kind) -> Any:
    """The content of a YAML or JSON file; what cannot be read is refused in one sentence."""
    shown = repr(os.fspath(path))
    with contained(kind, os.fspath(path)):
        text = read_text(path, kind)
        if text.lstrip()[:1] in ("{", "["):
            # JSON may hold tabs, which YAML does not read; what is no JSON gets its message from the YAML reader
            try:
                return parse_json(text, kind, shown, numbers_as_text=True)
            except NotJSONError:
                pass
        return parse_yaml(text, kind, shown)


def parse_yaml(text: str, kind: Kind, shown: str) -> Any:
    """The data of a YAML text (JSON is a part of YAML).

    Examples
    --------
    >>> from .files import PROGRAMME
    >>> parse_yaml("target: {epsilon: 1.0, delta: 1e-8}", PROGRAMME, "'p.yaml'")
    {'target': {'epsilon': '1.0', 'delta': '1e-8'}}
    """
    try:
        loader = _Loader(text)
        loader.kind, loader.shown = kind, shown
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "not text"
        raise _mistake(kind, where, str(reason), shown) from None
    except ParameterError:
        raise
    except (ValueError, OverflowError) as error:  # bugs of the parser: "\U99999999", %YAML 1.<5,000 figures>
        raise _mistake(kind, "", str(error), shown) from None
    return None if node is None else _Data(kind, shown).of(node)


def _mistake(kind: Kind, where: str, reason: str, shown: str) -> ParameterError:
    said = " ".join(repr(reason)[1:-1].split())[:120]
    return ParameterError(f"{kind.subject} must be YAML or JSON, got a mistake{where} ({said}) of {shown}; correct it.")


class _Data:
    """From nodes to data."""

    def __init__(self, kind: Kind, shown: str) -> None:
        self._subject, self._shown = kind.subject, shown

    def of(self, node: Any) -> Any:
        if node.id == "mapping" and node.tag == _STANDARD + "map":
            return unrepeated([(self._key(key), self.of(value)) for key, value in node.value], self._shown)
        if node.id == "sequence" and node.tag == _STANDARD + "seq":
            return [self.of(item) for item in node.value]
        if node.id == "scalar":
            if node.tag == _STANDARD + "null":
                return None
            if node.tag == _STANDARD + "bool" and node.value.lower() in _TRUTH:
                return _TRUTH[node.value.lower()]
            if node.tag in _PLAIN:
                return self._text(node)
        tag = node.tag.replace(_STANDARD, "!!")
        raise ParameterError(
            f"{self._subject} must not use tags, got {tag[:40]!r} in line {node.start_mark.line + 1}; remove it."
        )

    def _text(self, node: Any) -> str:
        text = str(node.value)
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise ParameterError(
                f"{self._subject} must hold text that can be printed, got half of a surrogate pair in line "
                f"{node.start_mark.line + 1}; correct it."
            )
        return text

    def _key(self, node: Any) -> str:
        if node.id != "scalar":
            raise ParameterError(
                f"keys of a {self._subject} must be words, got a {node.id} in line {node.start_mark.line + 1}; "
                "correct it."
            )
        self.of(node)  # refuses tags
        return self._text(node)
