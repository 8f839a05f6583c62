"""Docstrings in the numpy style, as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_LISTS = ("Parameters", "Returns", "Raises", "Attributes", "Yields")
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def markdown(docstring: str) -> str:
    """A docstring as Markdown: lists of parameters, examples as code, words as words.

    >>> print(markdown("One ``x``.\\n\\nParameters\\n----------\\na_b : int\\n    What *it* is."))
    One `x`.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a_b`: int. What \\*it\\* is.
    """
    first, *rest = _HEADING.split(inspect.cleandoc(docstring))
    parts = [prose(first)] if first.strip() else []
    for title, text in zip(rest[::2], rest[1::2], strict=True):
        body = _entries(text) if title in _LISTS else prose(text)
        parts.append(f"**{title}**\n\n{body}")
    return "\n\n".join(parts)


def _entries(text: str) -> str:
    """``name : type`` and an indented description, as a list."""
    made = []
    for entry in filter(str.strip, _ENTRY.split(text.strip())):
        head, _, body = entry.partition("\n")
        name, colon, kind = head.partition(" : ")
        words = _escaped(" ".join(textwrap.dedent(body).split()))
        kind = _escaped(kind).rstrip(".") + "." if colon else ""
        made.append(" ".join(filter(None, [f"- `{name}`:", kind, words])))
    return "\n".join(made)


def prose(text: str) -> str:
    """Paragraphs; doctests become blocks of code, and characters that mean something in Markdown stay characters."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            made.append(f"```pycon\n{textwrap.dedent(paragraph)}\n```")
        elif paragraph.startswith("    "):
            made.append(paragraph)
        else:
            made.append(_escaped(paragraph))
    return "\n\n".join(made)


def _escaped(text: str) -> str:
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*_\[\]|])", r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)


class _Words(str):
    """An annotation that is shown as it was written, without quotes."""

    __repr__ = str.__str__


def _written(annotation: Any) -> Any:
    if not isinstance(annotation, str):
        return annotation
    return _Words(re.sub(r"\b(?:arrays|np|pd|os|numbers)\.", "", annotation))


def signature(value: Any, name: str) -> str:
    """The call, one parameter a line where it is long.

    >>> def twice(self, x: int, *, word: str = "a") -> int: ...
    >>> signature(twice, "twice")
    "twice(x: int, *, word: str = 'a') -> int"
    """
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    given = [p.replace(annotation=_written(p.annotation)) for p in found.parameters.values() if p.name != "self"]
    returns = found.empty if inspect.isclass(value) else _written(found.return_annotation)
    shown = str(found.replace(parameters=given, return_annotation=returns))
    text = re.sub(r"<factory>|<[\w.]+ object at [^>]*>|_Parameter\([^)]*\)", "...", f"{name}{shown}")
    if len(text) <= 90:
        return text
    return re.sub(r"\((.*)\)", lambda match: f"(\n    {_lines(match[1])},\n)", text, count=1, flags=re.DOTALL)


def _lines(arguments: str) -> str:
    """Arguments one a line; commas inside brackets do not end one."""
    depth, made = 0, ""
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        made += ",\n   " if character == "," and not depth else character
    return made
