"""Builds the note into a folder: ``python -m notebuild OUT`` (with ``PYTHONPATH=tests:tools``).

Needs Debian's TeX: apt-get install latexmk texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended
lmodern.  Every table and figure is computed by the library in this run; the log of TeX is read, and an undefined
reference or a box that sticks out fails the build.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from house import design_numbers
from shuffledp._support.figures import save

from .other_papers import FIGURES
from .tables import FILES
from .texlog import faults

ROOT = Path(__file__).parents[2]
PACKAGES = "latexmk texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended lmodern"


def write(out: Path) -> None:
    """All numbers, tables and figures."""
    for name, make in FILES.items():
        (out / name).write_text(make(), encoding="utf-8")
        print(f"wrote {name}")
    design_numbers.draw(out / "figure-means.pdf")
    for name, draw in FIGURES.items():
        save(draw(), out / f"{name}.pdf")
        print(f"drew {name}.pdf")


def typeset(out: Path) -> list[str]:
    """Run TeX as often as it needs; what is wrong with the result."""
    command = ["latexmk", "-pdf", "-halt-on-error", "-interaction=nonstopmode", f"-output-directory={out}", "note.tex"]
    paths = {**os.environ, "TEXINPUTS": f"{out}:"}
    done = subprocess.run(command, cwd=ROOT / "note", env=paths, capture_output=True, text=True, check=False)
    log = out / "note.log"
    if done.returncode or not log.is_file():
        return [line for line in done.stdout.splitlines() if line.startswith(("!", "l."))] or [
            done.stderr or done.stdout
        ]
    return faults(log.read_text(encoding="latin-1"))


def main() -> None:
    """Build, and say what is wrong in one sentence."""
    if len(sys.argv) != 2:
        sys.exit("notebuild needs one argument, the folder for the note, such as build/note.")
    if shutil.which("latexmk") is None or shutil.which("pdflatex") is None:
        sys.exit(f"make note needs Debian's TeX, which is not installed; run: apt-get install {PACKAGES}")
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for left in out.glob("note.*"):  # what an earlier run of TeX left, whole or not
        left.unlink()
    write(out)
    wrong = typeset(out)
    if wrong:
        sys.exit("The note has faults: " + "; ".join(wrong))
    print(f"Read {out / 'note.pdf'}.")


if __name__ == "__main__":
    main()
