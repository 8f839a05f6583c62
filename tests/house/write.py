"""Writes the generated parts of CONTRIBUTING.md and docs/theory.md: ``make tables``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from house import layers, theorems
from reference.places import ROOT

#: Mark -> the page that has it, and what stands between ``<!-- mark: start`` and ``<!-- mark: end -->``.
PARTS: dict[str, tuple[Path, Callable[[], str]]] = {
    "layers": (ROOT / "CONTRIBUTING.md", layers.table),
    "theorems": (ROOT / "docs" / "theory.md", theorems.table),
}


def renewed(text: str, mark: str, made: str) -> str:
    """The text with the part between the marks replaced.

    >>> renewed("a <!-- x: start, note -->old<!-- x: end --> b", "x", "new").splitlines()
    ['a <!-- x: start, note -->', '', 'new', '', '<!-- x: end --> b']
    """
    pattern = re.compile(rf"(<!-- {mark}: start[^>]*-->).*?(<!-- {mark}: end -->)", re.DOTALL)
    found, count = pattern.subn(lambda match: f"{match[1]}\n\n{made}\n\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"expected the marks of {mark!r} once, found them {count} times")
    return found


def stale() -> list[str]:
    """The marks whose part is not what would be written now."""
    return [
        mark for mark, (page, make) in PARTS.items() if renewed(read := page.read_text("utf-8"), mark, make()) != read
    ]


def main() -> None:
    for mark, (page, make) in PARTS.items():
        page.write_text(renewed(page.read_text("utf-8"), mark, make()), "utf-8")


if __name__ == "__main__":
    main()
