"""Every block of code on every page runs, and pages show what it prints.

``make docs`` runs all of this, and the tutorials; ``make test`` the README only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from handbook.__main__ import OF_ROOT, turned
from handbook.blocks import blocks
from handbook.execute import RUN, compare, run
from reference.places import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "tutorials")]
RUNNING = [page for page in PAGES if any(block.kind in RUN for block in blocks(page.read_text("utf-8")))]


def test_there_is_code_to_run() -> None:
    assert len(RUNNING) >= 15 and PAGES[0] in RUNNING


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[] if page.parent == ROOT else [pytest.mark.slow])
        for page in RUNNING
    ],
)
def test_code_runs_and_prints_what_is_shown(page: Path) -> None:
    assert compare(page.read_text("utf-8"), run(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_stand_in_blocks_that_are_run(page: Path) -> None:
    """A shell block may install or make; what shuffledp can do is shown in a console block, which is run."""
    shells = [block for block in blocks(page.read_text("utf-8")) if block.kind in {"sh", "bash", "shell"}]
    assert not [line for block in shells for line in block.code.splitlines() if line.startswith("shuffledp ")]


def test_links_of_the_roots_pages_are_turned() -> None:
    for name in OF_ROOT:
        assert "](docs/" not in turned((ROOT / name).read_text("utf-8"))


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    nav = str(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    for page in DOCS.rglob("*.md"):
        assert str(page.relative_to(DOCS)) in nav
