"""Writes the generated parts of the pages: ``make tables``.

    python -m house.write           everything, the figures of docs and the stubs of the package: about a minute
    python -m house.write MARK ...  only these parts
    python -m house.write figures   only the figures of docs (make figures)

docs/benchmarks.md is measured instead, by ``python -m benchmarks --write``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from handbook import picture
from house import charges, design_numbers, layers, numbers, output_figure, public, stubs, swap_numbers, theorems
from reference.places import ROOT

#: Mark -> the page that has it, and what stands between ``<!-- mark: start`` and ``<!-- mark: end -->``.
PARTS: dict[str, tuple[Path, Callable[[], str]]] = {
    "layers": (ROOT / "docs/architecture.md", layers.table),
    "ledger": (ROOT / "docs" / "proofs.md", charges.table),
    "theorems": (ROOT / "docs" / "theory.md", theorems.table),
    "swap-ranges": (ROOT / "docs" / "swap.md", swap_numbers.ranges),
    **{mark: (table.page, table.text) for mark, table in numbers.TABLES.items()},
}
#: Every figure of docs and what draws it; page.png, which a browser takes, and the icon are no figures.
FIGURES: dict[str, Callable[[Path], None]] = {
    "designs.svg": design_numbers.draw,
    "outputs.svg": output_figure.draw,
    "overview.svg": picture.draw,
    "swap.svg": swap_numbers.draw,
}
#: What is the same on every machine, to the letter.
WORDS = ("layers", "ledger", "theorems", "specs")


def _between(mark: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {mark}: start[^>]*-->)(.*?)(<!-- {mark}: end -->)", re.DOTALL)


def renewed(text: str, mark: str, made: str) -> str:
    """The text with the part between the marks replaced.

    >>> renewed("a <!-- x: start, note -->old<!-- x: end --> b", "x", "new").splitlines()
    ['a <!-- x: start, note -->', '', 'new', '', '<!-- x: end --> b']
    """
    found, count = _between(mark).subn(lambda match: f"{match[1]}\n\n{made}\n\n{match[3]}", text)
    if count != 1:
        raise ValueError(f"expected the marks of {mark!r} once, found them {count} times")
    return found


def printed(mark: str) -> list[str]:
    """The lines of a part as its page has them."""
    return "".join(match[2] for match in _between(mark).finditer(PARTS[mark][0].read_text("utf-8"))).split("\n")[2:-2]


def drifted(mark: str, lines: list[str]) -> list[str]:
    """Those of the lines, computed now, that the page does not have, but for the last digit of a number."""
    page = printed(mark)
    return [line for line in lines if not any(numbers.alike(old, line) for old in page)]


def main(marks: list[str]) -> None:
    for mark in [mark for mark in marks if mark != "figures"] if marks else PARTS:
        page, make = PARTS[mark]
        page.write_text(renewed(page.read_text("utf-8"), mark, make()), "utf-8")
    if not marks:
        stubs.write()
        public.write()
    if not marks or "figures" in marks:
        for name, draw in FIGURES.items():
            draw(ROOT / "docs" / name)


if __name__ == "__main__":
    main(sys.argv[1:])
