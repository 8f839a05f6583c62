"""Every number that the project promises about speed, as a ratio or against its limit, in one run.

python -m benchmarks                          all parts; exit code 1 if something wanted is missed
python -m benchmarks accounting many          these parts only
python -m benchmarks --write [PART ...]       renew the tables of these parts in docs/benchmarks.md, keep the others
python -m benchmarks --baseline [PART ...]    keep the times of the compared lines as those of the version before

For a baseline, check the version out elsewhere and put its src first on PYTHONPATH; these benchmarks then measure it.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .rows import Row, compared

#: Module -> the heading of its table.  Each has ``rows()``, which measures and yields line by line.
PARTS = {
    "accounting": "One answer",
    "profiles": "Profiles of 10,000 points",
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
    "shuffler": "The shuffler",
    "odd_questions": "Odd questions",
}
PAGE = """# Benchmarks

`make bench` measures everything below in one run, prints what is wanted beside it, and fails if something wanted is
missed; on this page that is in bold. Times are CPU seconds unless "wall" is said, because machines are noisy. They are
measured, so no test computes them again: `python -m benchmarks --write` renews this page, and with the names of parts
only their tables. Each table says when it was measured; all are from a virtual machine with 2 cores.

Some lines are compared with the version before the numerics were rewritten (`benchmarks/before.json`): "1.2x" took 1.2
times as long as before. Both times are in units of a sum in scipy that is timed in the same run, as machines differ.
What is wanted there and of single answers includes a factor of 1.5 that a simpler program may cost.

The authors' algorithm (`benchmarks/conventional.py`) uses 20 bisections, as the paper does; its eps is then up to 0.2 %
too large. The odd questions (budgets from 1e-6 to 30, one user to 1e12, deltas from 0.5 to 1e-300, huge and tiny
domains, wide and tall matrices, many rounds) each run in a process of their own;
`python -m benchmarks.odd_questions` lists them, and words after the command select some.

## What is missed, and why

The tables below are from a day on which the machine was slow: two threads did 1.05 to 1.5 times the work of one,
and answers took up to twice as long as on the day before. Read limits in milliseconds, users per second and gains
by a second thread with that in mind. What is in bold for other reasons:

- **Single answers, batches and profiles.** Each charge is made in one function, on rows, with numpy (decision 5): a
  warm answer calls about 140 functions where special code for one number would call 45. It takes 2 to 4 ms.
- **Few users.** Among 100 to 1,000 users a sum has few points, far apart: the contour is evaluated up to three
  times, each time more finely, and the swap bound tries several lines. `auto` asks every analysis, and the lower
  bound is a question of its own. Laplace noise adds its hundred laws. Such answers take 20 to 300 ms.
- **A domain far larger than the crowd** (GRR with a million options among 1,000 users): nearly every option is sent
  once at most, delta(0) is just below delta, and it takes fine evaluations to be sure that eps is 0.
- **Calibrating.** Every setting that is tried is asked of every analysis, so that the answer is the best of all.
  The wheel of three items has exact fractions in its laws, planar noise a mesh.
- **Matrices.** All pairs of rows are bounded among all types on one line, which is what Theorem 2 of the swap bound
  covers; discarding types one by one was faster, and not proved. A profile of a matrix is such a screen at every
  point.
- **Planar noise.** Its swap bound is new. It takes 0.3 to 1 s up to 1e6 users and up to 3 s up to 1e8; among many more
  it is not used.
- **1,000 different rounds.** Each is sampled at about 90 values of eps by two or three analyses, 11 ms a round.
- **Odd questions.** 1,000 points of the profile of Laplace noise at eps0 = 12 differ by factors of e, so that no
  chord replaces any of them; matrices of a hundred thousand entries are screened as above.
"""
TARGET = Path(__file__).parent.parent / "docs" / "benchmarks.md"


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


def page(found: Mapping[str, list[Row]], old: str) -> str:
    """docs/benchmarks.md with the tables of these parts; those of other parts are taken from the page as it is."""
    kept = dict(re.findall(r"^## ([^\n]*)\n\n(.*?\n)(?=\n## |\n<!-- )", old, re.MULTILINE | re.DOTALL))
    tables = {PARTS[part]: _table(rows) for part, rows in found.items()}
    sections = {heading: tables.get(heading, kept.get(heading)) for heading in PARTS.values()}
    text = "".join(f"\n## {heading}\n\n{table}" for heading, table in sections.items() if table)
    return f"{PAGE}\n{MEASURED}\n{text}\n<!-- benchmarks: end -->\n"


def _table(rows: list[Row]) -> str:
    """When and with what it was measured, and the lines; a missed target is in bold."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    text = f"Measured on {date.today()} ({versions}).\n\n| what | measured | wanted |\n|---|---|---|\n"
    for row in rows:
        what, said, wanted = (cell.replace("|", "\\|") for cell in row[:3])
        said = f"**{said}**" if row.reached is False else said
        text += f"| {what} | {said} | {wanted} |\n"
    return text


def _mark(reached: bool | None) -> str:
    return "" if reached is None else "[green]yes[/]" if reached else "[red]NO[/]"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say by the exit code whether everything wanted was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the project promises about speed.")
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)} (all without any)")
    parser.add_argument("--write", action="store_true", help="renew the tables of these parts in docs/benchmarks.md")
    parser.add_argument("--baseline", action="store_true", help="keep the times as those of the version before")
    given = parser.parse_args(arguments)
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}")
    found: dict[str, list[Row]] = {}
    for part, rows in measured(given.parts or PARTS, Console(width=170)):
        found[part] = rows
        if given.write:
            TARGET.write_text(page({part: rows}, TARGET.read_text(encoding="utf-8")), encoding="utf-8")
        if given.baseline:
            compared.write()
    missed = [row for rows in found.values() for row in rows if row.reached is False]
    print(f"{len(missed)} of {sum(map(len, found.values()))} lines miss what is wanted.")
    for row in missed:
        print(f"  {row.what}: {row.measured} (wanted {row.wanted})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
