"""What the note states: theorem-like environments and the tests that they name, works cited, numbers used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Environments whose statement must name a test.
KINDS = ("theorem", "lemma", "proposition", "corollary")
_BEGIN = re.compile(r"\\begin\{(" + "|".join(KINDS) + r")\}(?:\[([^\]]*)\])?")
_TEST = re.compile(r"\\tested\{([^}]*)\}")


class Statement(NamedTuple):
    """A theorem, lemma, proposition or corollary: where it is, what it is called, and its tests."""

    file: str
    kind: str
    title: str
    tests: tuple[str, ...]


def source(path: Path) -> str:
    """The text of a file without its comments."""
    return re.sub(r"(?<!\\)%.*", "", path.read_text(encoding="utf-8"))


def statements(folder: Path) -> Iterator[Statement]:
    """Everything that is stated, in the order of files and lines."""
    for path in sorted(folder.glob("*.tex")):
        text = source(path)
        for begin in _BEGIN.finditer(text):
            kind = begin[1]
            body = text[begin.end() : text.index(rf"\end{{{kind}}}", begin.end())]
            yield Statement(path.name, kind, begin[2] or "", tuple(_TEST.findall(body)))


def citations(folder: Path) -> tuple[set[str], set[str]]:
    """The works that are cited, and those that the list of references has."""
    text = "".join(source(path) for path in sorted(folder.glob("*.tex")))
    cited = {key.strip() for keys in re.findall(r"\\cite(?:\[[^\]]*\])?\{([^}]*)\}", text) for key in keys.split(",")}
    return cited, set(re.findall(r"\\bibitem\{([^}]*)\}", text))
