"""Every block of code on every page runs, and pages show what it prints.

``make docs`` runs and compares all of them, as ``make test-all`` does here; ``make test`` the README only.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handbook.__main__ import OF_ROOT, turned
from handbook.blocks import blocks
from handbook.execute import compare, run, runs
from reference.places import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "tutorials")]
RUNNING = [page for page in PAGES if runs(page)]
EVERY = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


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


@pytest.mark.parametrize("page", EVERY, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_say_in_words_where_they_lead(page: Path) -> None:
    """Not by the name of a file, and not by an address."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = re.findall(r"(?<!!)\[([^\]]+)\]\([^)]+\)", text)
    bad = [link for link in words if re.search(r"\.(?:md|py|svg|html|yml|yaml|json)\b|https?:|^docs/", link)]
    assert bad == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_site_and_the_page_in_the_browser_have_one_icon_and_one_green() -> None:
    static = ROOT / "src" / "shuffledp" / "web" / "static"
    assert (DOCS / "assets" / "icon.svg").read_bytes() == (static / "icon.svg").read_bytes()
    (accent,) = set(re.findall(r"--accent: (#\w+);", (static / "style.css").read_text("utf-8").partition("@media")[0]))
    assert f"--md-primary-fg-color: {accent};" in (DOCS / "assets" / "site.css").read_text("utf-8")


def test_every_page_is_in_the_navigation() -> None:
    import yaml

    nav = str(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    for page in DOCS.rglob("*.md"):
        assert str(page.relative_to(DOCS)) in nav
