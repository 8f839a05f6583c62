"""What pip installs is what the modules import, and the README says how."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import shuffledp
from reference.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: Where a package is imported under another name than it is installed under.
MODULES = {"python-flint": "flint", "pyyaml": "yaml", "dp-accounting": "dp_accounting"}


@cache
def imported() -> set[str]:
    """Top-level packages that some module imports or requires."""
    found = set()
    for path in Path(shuffledp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module or "")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
                found.add(ast.literal_eval(node.args[0]))
    return {name.partition(".")[0] for name in found}


def packages(requirements: list[str]) -> set[str]:
    """The names in requirements; shuffledp[a,b] stands for what these extras need."""
    found = set()
    for text in requirements:
        if own := re.fullmatch(r"shuffledp\[([\w,]+)\]", text):
            found |= packages([needed for extra in own[1].split(",") for needed in EXTRAS[extra]])
        else:
            found.add(re.split(r"[><=~!\[;]", text)[0])
    return found


@pytest.mark.heavy_cases("dp-accounting")
@pytest.mark.slow_cases("click", "cryptography")
@pytest.mark.parametrize("package", sorted(packages(EXTRAS["all"]) | packages(PROJECT["dependencies"])))
def test_every_package_is_imported_by_some_module(package: str) -> None:
    assert MODULES.get(package, package) in imported()


def test_all_has_every_extra_for_users() -> None:
    ours = [package for extra in set(EXTRAS) - {"all", "bench", "dev", "docs"} for package in EXTRAS[extra]]
    assert packages(EXTRAS["all"]) == packages(ours)


def test_the_readme_says_what_every_extra_is_for() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^pip install (?:'\.\[(\w+)\]'|\.) +# .{5,}$", text, re.MULTILINE)
    assert set(lines) == {"", *EXTRAS} - {"bench", "dev", "docs"}
    for package in packages(EXTRAS["all"]):
        assert package in text


def test_project_addresses_are_real() -> None:
    for address in PROJECT["urls"].values():
        assert address.startswith("https://") and "example" not in address


def test_the_citation_is_of_this_version_and_of_its_day() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, day = (re.findall(rf"^{key}: (.+)$", text, re.MULTILINE) for key in ("version", "date-released"))
    released = re.findall(r"^## (\d\S*) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [(shuffledp.__version__, *day)] == [(*version, *day)] == released[:1]


def test_classifiers_name_every_python_from_the_oldest_on() -> None:
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: Python :: 3." in text]
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert named[0] == oldest and [int(v.partition(".")[2]) for v in named] == list(range(11, 11 + len(named)))


def test_the_page_of_platforms_states_the_lowest_versions() -> None:
    text = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| ([a-zA-Z-]+) \| `([\d.]+)` \| .{5,} \| .{3,} \|$", text, re.MULTILINE))
    lowest = dict(requirement.split(">=") for requirement in PROJECT["dependencies"])
    assert {name.lower(): version for name, version in stated.items()} == lowest
