"""Pages that are written from the code say what the code says, and pages name only what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from house import layers, theorems, write
from reference.places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LIBRARY = ROOT / "src" / "shuffledp"
ITEMS = [
    *("Theorem 4.1", "Theorem 4.2", "Theorem 4.3", "Lemma 4.4", "Lemma 4.5", "Lemma 4.6", "Theorem 4.7", "Theorem 4.8"),
    *("Theorem 5.1", "Theorem 6.1", "Table 2", "Table 3", "Table 4", "Table 5", "Table 6"),
    *("Algorithm 1", "Algorithm 2", "Algorithm 3", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5"),
]


@pytest.mark.parametrize("mark", write.PARTS)
def test_generated_parts_are_up_to_date(mark: str) -> None:
    assert mark not in write.stale(), "run make tables"


def test_the_theorem_map_names_what_exists() -> None:
    assert theorems.missing() == []


def test_a_renamed_symbol_is_noticed() -> None:
    assert not theorems.code_exists("VariationRatio.no_such_method")
    assert not theorems.code_exists("NoSuchClass")
    assert not theorems.code_exists("numerics/solve.py:no_such_function")
    assert not theorems.code_exists("numerics/no_such_file.py:epsilon")
    assert not theorems.test_exists("contract/test_golden.py:test_no_such_test")
    assert not theorems.test_exists("contract/test_no_such_file.py:test_golden")


def test_the_theorem_map_has_every_item_of_the_paper() -> None:
    named = set().union(*(theorems.theorems_in(item.paper) for item in theorems.ITEMS))
    assert set(ITEMS) <= named


def test_at_most_fourteen_layers_with_one_sentence_each() -> None:
    assert len(layers.LAYERS) <= 14
    assert len(layers.LEVEL) == sum(len(layer.packages) for layer in layers.LAYERS)
    for layer in layers.LAYERS:
        assert layer.sentence.endswith(".") and ". " not in layer.sentence


def is_written(target: Path) -> bool:
    """Whether it is a page of the reference, which make docs writes from the code."""
    return target.parent.name == "reference" and f"reference/{target.name}" in (ROOT / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    paths = re.findall(r"`((?:src|tests|docs|benchmarks|examples)/[\w./-]*\w)`", text)
    modules = re.findall(r"`(\w+(?:/\w+)+\.py)(?::[^`]*)?`", text)
    bad = [link for link in links if not (page.parent / link).exists() and not is_written(page.parent / link)]
    bad += [path for path in paths if not (ROOT / path.partition(":")[0]).exists()]
    bad += [path for path in modules if not any((place / path).exists() for place in (LIBRARY, ROOT, ROOT / "tests"))]
    assert bad == []


def test_the_glossary_has_every_term_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| \*\*(.+?)\*\* \| .+\. ?(?:`\w+` )?\|$", text, re.MULTILINE)
    assert 20 <= len(terms) <= 30 and len(terms) == len(set(terms)) == text.count("\n| **")
    assert "glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")


NUMERICS = sorted(p.relative_to(LIBRARY) for p in (LIBRARY / "numerics").rglob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("path", NUMERICS, ids=str)
def test_every_numerics_file_has_a_test_file_of_its_name(path: Path) -> None:
    assert (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()


@pytest.mark.parametrize("name", ["ball_oracle", "fractions_oracle", "randomizers", "rounds", "swap"])
def test_an_oracle_does_not_import_what_it_judges(name: str) -> None:
    tree = ast.parse((ROOT / "tests" / "reference" / f"{name}.py").read_text(encoding="utf-8"))
    found = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [line for line in found if "shuffledp" in line]
