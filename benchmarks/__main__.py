"""Every number that the project promises about speed, as a ratio or against its limit, in one run.

python -m benchmarks                    all parts; exit code 1 if something wanted is missed
python -m benchmarks accounting many    these parts only
python -m benchmarks --write            all parts, and docs/benchmarks.md from what was measured
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .rows import Row

#: Module -> the heading of its table.  Each has ``rows()``, which measures and yields line by line.
PARTS = {
    "accounting": "One answer",
    "scalar": "One answer beside a hand-written sum",
    "many": "Many answers in one call",
    "catalog": "Every mechanism",
    "matrices": "Matrices and metric mechanisms",
    "comparing": "All bounds, and the paper",
    "calibrating": "Calibrating",
    "planning": "Choosing a mechanism",
    "composing": "Composing and auditing",
    "programmes": "A whole programme",
    "running": "Collecting on all cores",
    "collecting": "Collecting beside plain numpy",
    "engines": "Engines",
    "odd_questions": "Odd questions",
}
PAGE = """# Benchmarks

`make bench` measures everything below in one run, prints what is wanted beside it, and fails if something wanted is
missed. Times are CPU seconds unless "wall" is said; ratios are against a baseline in the same run, because machines are
noisy. This page is written by `python -m benchmarks --write`; the numbers are from a virtual machine with 2 cores
({versions}). They are measured, so no test computes them again.

The authors' algorithm (`benchmarks/conventional.py`) uses 20 bisections, as the paper does; its eps is then up to 0.2 %
too large. The odd questions (budgets from 1e-6 to 30, one user to 1e12, deltas from 0.5 to 1e-300, huge and tiny
domains, wide and tall matrices, many rounds) each run in a process of their own;
`python -m benchmarks.odd_questions` lists them, and words after the command select some.
"""


#: Opens the tables of the page, which a test finds generated and does not compute again.
MEASURED = "<!-- benchmarks: start, measured by python -m benchmarks --write -->"


def measured(parts: Iterable[str], show: Console) -> Iterator[tuple[str, list[Row]]]:
    """Each part with its rows; its table is printed as soon as it is complete."""
    for part in parts:
        found = [Row(*row) for row in importlib.import_module(f"benchmarks.{part}").rows()]
        table = Table("what", "measured", "wanted", "", title=PARTS[part], title_justify="left")
        for row in found:
            table.add_row(escape(row.what), escape(row.measured), escape(row.wanted), _mark(row.reached))
        show.print(table)
        yield part, found


def page(found: Mapping[str, list[Row]]) -> str:
    """docs/benchmarks.md; a missed target is in bold."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    text = PAGE.format(versions=versions) + f"\n{MEASURED}\n"
    for part, rows in found.items():
        text += f"\n## {PARTS[part]}\n\n| what | measured | wanted |\n|---|---|---|\n"
        for row in rows:
            said = row.measured.replace("|", "\\|")
            said = f"**{said}**" if row.reached is False else said
            text += f"| {row.what.replace('|', chr(92) + '|')} | {said} | {row.wanted} |\n"
    return text + "\n<!-- benchmarks: end -->\n"


def _mark(reached: bool | None) -> str:
    return "" if reached is None else "[green]yes[/]" if reached else "[red]NO[/]"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say by the exit code whether everything wanted was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the project promises about speed.")
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)} (all without any)")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md; needs all parts")
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown or (given.write and given.parts):
        parser.error(f"unknown part {unknown[0]!r}" if unknown else "--write measures all parts; name none")
    found = dict(measured(given.parts or PARTS, Console(width=170)))
    if given.write:
        target = Path(__file__).parent.parent / "docs" / "benchmarks.md"
        target.write_text(page(found), encoding="utf-8")
    missed = [row for rows in found.values() for row in rows if row.reached is False]
    print(f"{len(missed)} of {sum(map(len, found.values()))} lines miss what is wanted.")
    for row in missed:
        print(f"  {row.what}: {row.measured} (wanted {row.wanted})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
