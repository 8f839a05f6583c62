"""Writes the pages that MkDocs makes the site of: ``python -m handbook OUT``.

The code of all pages is run and compared with what they show; pages of docs are copied, tutorials get their results,
the reference is written from the code, and the root's own pages (changelog, contributing, security) come along with
their links turned.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from . import reference, tutorials
from .execute import run_all, runs

ROOT = Path(__file__).parents[2]
#: Pages of the root that the site has too.
OF_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def build(docs: Path, out: Path) -> None:
    """All pages, in a fresh folder; results of code are kept beside it."""
    every = [ROOT / "README.md", *sorted(docs.rglob("*.md"))]
    shown, wrong = run_all(filter(runs, every), out.with_name("results"))
    if wrong:
        sys.exit("\n".join(wrong))
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(docs, out)
    for name in OF_ROOT:
        (out / name.lower()).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    for source in sorted((docs / "tutorials").glob("*.md")):
        if source.stem != "index":
            tutorials.write(source, shown.get(source, []), out / "tutorials")
    for page in out.rglob("*.md"):
        page.write_text(turned(page.read_text("utf-8")), "utf-8")
    (out / "reference").mkdir()
    for name, text in reference.pages().items():
        (out / "reference" / name).write_text(text, "utf-8")


def turned(page: str) -> str:
    """Links between the root and docs, as they are where both are one folder.

    >>> turned("[a](docs/theory.md#x), [b](SECURITY.md), [c](../../SECURITY.md)")
    '[a](theory.md#x), [b](security.md), [c](../security.md)'
    """
    page = re.sub(r"\]\(docs/", "](", page)
    names = "|".join(map(re.escape, OF_ROOT))
    return re.sub(rf"\]\((?:\.\./)?((?:\.\./)*)({names})", lambda match: f"]({match[1]}{match[2].lower()}", page)


if __name__ == "__main__":
    build(ROOT / "docs", Path(sys.argv[1]))
