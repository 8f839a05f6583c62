"""Pages that are written from the code say what the code says, and pages name only what exists."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import shuffledp as sdp
from house import citations, layers, numbers, theorems, write
from house.charges import every_charge
from reference.places import ROOT
from shuffledp.mechanisms.registry import signatures

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ITEMS = [
    *("Theorem 4.1", "Theorem 4.2", "Theorem 4.3", "Lemma 4.4", "Lemma 4.5", "Lemma 4.6", "Theorem 4.7", "Theorem 4.8"),
    *("Theorem 5.1", "Theorem 6.1", "Table 2", "Table 3", "Table 4", "Table 5", "Table 6"),
    *("Algorithm 1", "Algorithm 2", "Algorithm 3", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5"),
]


@pytest.mark.parametrize("mark", write.WORDS)
def test_generated_words_are_up_to_date(mark: str) -> None:
    page, make = write.PARTS[mark]
    assert write.renewed(text := page.read_text("utf-8"), mark, make()) == text, "run make tables"


@pytest.mark.slow_cases("claims")
@pytest.mark.parametrize("mark", numbers.TABLES)
def test_a_sample_of_every_table_of_numbers_is_what_is_computed(mark: str) -> None:
    assert write.drifted(mark, numbers.TABLES[mark].sample()) == [], "run make tables"


@pytest.mark.slow
@pytest.mark.parametrize("mark", [mark for mark in write.PARTS if mark not in write.WORDS])
def test_every_table_of_numbers_is_what_is_computed(mark: str) -> None:
    now = write.PARTS[mark][1]().split("\n")
    assert write.drifted(mark, now) == [] and len(now) == len(write.printed(mark)), "run make tables"


def test_every_figure_of_the_pages_is_drawn_by_one_command() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.svg")} == set(write.FIGURES)
    assert (ROOT / "Makefile").read_text("utf-8").count("house.write figures") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", write.FIGURES)
def test_figures_show_what_is_computed(name: str, tmp_path: Path) -> None:
    """The same words, and every line within half a point: the last digits differ from machine to machine."""
    write.FIGURES[name](tmp_path / name)
    drawn, stored = ((folder / name).read_text("utf-8") for folder in (tmp_path, ROOT / "docs"))
    number = r"-?\d+\.\d+"
    assert re.sub(number, "", drawn) == re.sub(number, "", stored), "run make figures"
    pairs = zip(re.findall(number, drawn), re.findall(number, stored), strict=True)
    assert all(abs(float(new) - float(old)) < 0.5 for new, old in pairs), "run make figures"


def test_a_stale_number_is_noticed() -> None:
    """The page had +13.7 % of a former version; the last digit may differ from machine to machine, no more."""
    (line,) = [line for line in write.printed("brackets") if line.startswith("| `general:eps0=1` |")]
    assert write.drifted("brackets", [line]) == []
    lower, upper, share = re.findall(r"\d+\.\d+", line)[:3]
    for n in (lower, upper):
        assert write.drifted("brackets", [line.replace(n, f"{float(n) * 1.01:.5f}")])
    assert write.drifted("brackets", [line.replace(f"{share} %", "14.13 %")])
    assert write.drifted("brackets", [line.replace("general", "generic")])


def test_the_table_of_tightness_has_every_mechanism_and_a_reason_for_every_wide_gap() -> None:
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in write.printed("brackets")[2:]]
    assert {line[0].strip("`").partition(":")[0] for line in lines} == {name for name, _ in signatures()}
    for _, lower, upper, gap, *_, why in lines:
        assert not lower or float(lower) <= float(upper)
        assert bool(why) == (not gap or float(gap.removesuffix(" %")) > numbers.WIDE)


#: A table of numbers: this many decimals or percentages.
MANY = 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_tables_of_numbers_are_generated(page: Path) -> None:
    """Between marks; those of docs/benchmarks.md say that they are measured.  What one may type is no result."""
    text = page.read_text(encoding="utf-8")
    by_hand = re.sub(r"<!-- ([\w-]+): start[^>]*-->.*?<!-- \1: end -->", "", text, flags=re.DOTALL)
    tables = re.findall(
        r"(?:^\|.*\n)+", re.sub(r"^```.*?^```", "", by_hand, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    results = [re.sub(r"`[^`]*`", "", table) for table in tables]
    assert [table for table in results if len(re.findall(r"\d+\.\d+|\d ?%", table)) >= MANY] == []
    marks = re.findall(r"<!-- ([\w-]+): start, (\w+)", text)
    assert {mark for mark, how in marks if how != "measured"} == {m for m, (at, _) in write.PARTS.items() if at == page}


def test_statements_of_the_proofs_have_names_of_their_own() -> None:
    """Both pages cite each other, and comments cite both; E is e^eps, never the expectation."""
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("proofs.md", "swap.md"))
    stated = re.findall(r"^\*\*((?:Theorem|Lemma) \d+|Corollary|\w+ theorem)\*?\*?", text, re.MULTILINE)
    stated += re.findall(r"^## (Theorem \d'?)", text, re.MULTILINE) + re.findall(
        r"^- \*\*(\(F\d\))", text, re.MULTILINE
    )
    assert len(stated) >= 14 and len(stated) == len(set(stated))
    assert re.findall(r"(?<![\w^])E(?:[\[(]| exp)", text) == []


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
    bad = [link for link in links if not (page.parent / link).exists() and not is_written(page.parent / link)]
    assert bad == []


READ = [path for folder in citations.FOLDERS for path in (ROOT / folder).rglob("*.*") if path.suffix in citations.READ]


def test_cited_files_exist() -> None:
    """In comments, docstrings and pages; the changelog speaks of the past."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    found = [(path.name, citations.missing(text)) for path in {*READ, *pages} for text in citations.words(path)]
    assert [(name, cited) for name, cited in found if cited] == []


def test_no_text_speaks_of_one_randomizer_per_user() -> None:
    """Then there is no amplification at all (docs/swap.md): all users run the same."""
    said = re.compile(r"each running|\bany \S+-LDP randomizer(?!,? (?:the same|that all)|\"|')", re.IGNORECASE)
    texts = [path for path in READ if ROOT / "tests" not in path.parents] + [ROOT / "README.md"]
    assert [path.name for path in texts if said.search(path.read_text(encoding="utf-8"))] == []


def test_the_glossary_has_every_term_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| \*\*(.+?)\*\* \| .+\. ?(?:`\w+` )?\|$", text, re.MULTILINE)
    assert 20 <= len(terms) <= 30 and len(terms) == len(set(terms)) == text.count("\n| **")
    assert "glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")


EVERY = every_charge()


@pytest.mark.parametrize("name", sorted({charge.function.__name__ for _, charge in EVERY}))
def test_every_charge_is_named_in_a_test_of_its_area(name: str) -> None:
    areas = {
        "mechanisms" if "mechanisms" in module else "numerics" for module, c in EVERY if c.function.__name__ == name
    }
    texts = [path.read_text("utf-8") for area in areas for path in (ROOT / "tests" / area).glob("test_*.py")]
    assert any(re.search(rf"\b{name}\b", text) for text in texts)


@pytest.mark.parametrize("name", ["ball_oracle", "fractions_oracle", "randomizers", "rounds", "swap"])
def test_an_oracle_does_not_import_what_it_judges(name: str) -> None:
    tree = ast.parse((ROOT / "tests" / "reference" / f"{name}.py").read_text(encoding="utf-8"))
    found = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [line for line in found if "shuffledp" in line]


def test_nobody_is_told_to_install_a_name_that_no_index_has() -> None:
    """From a clone: '.[plot]', './shuffledp' or REPOSITORY; the name itself would install what anybody puts there."""
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "clients").rglob("*.js")]
    texts = {path: path.read_text("utf-8") for path in [*PAGES, *code]}
    assert sum("pip install '.[" in text for text in texts.values()) > 5
    assert [path for path, text in texts.items() if re.search(r"pip install (?:-\S+ )*['\"]?shuffledp\b", text)] == []


def test_what_pages_serve_holds_no_keys_and_is_for_this_machine_alone(tmp_path: Path) -> None:
    served = [line for page in PAGES for line in page.read_text("utf-8").splitlines() if "-m http.server" in line]
    assert served == ["$ python -m http.server 8000 --bind 127.0.0.1 --directory page"]
    text = (ROOT / "docs/shuffler/quickstart.md").read_text("utf-8")
    lines = re.findall(r"^\$ ((?:mkdir|cp) .*)$", text, re.MULTILINE)
    (tmp_path / "settings.json").touch()
    (tmp_path / "analyst").mkdir()
    subprocess.run("\n".join(lines).replace("REPOSITORY", str(ROOT)), shell=True, check=True, cwd=tmp_path)
    shown = tmp_path / "page/examples/shuffler"
    assert (shown / "index.html").exists() and (shown / "settings.json").exists()
    imported = re.findall(r'from "(\.[^"]+)"', (shown / "page.js").read_text("utf-8"))
    assert imported and all((shown / name).resolve().is_relative_to(tmp_path / "page") for name in imported)
    assert all((shown / name).exists() for name in imported) and not [*(tmp_path / "page").rglob("*.key")]


@pytest.mark.slow_cases("planar")
@pytest.mark.parametrize(
    ("spec", "n", "delta", "ratio"),
    [
        pytest.param("planar-laplace:d01=1,dmax=10", 10_000, 1e-6, 1.64, id="planar"),
        pytest.param("sampling-rappor:eps0=3,d=64,s=12", 20, 0.01 / 20, 2.5, id="rappor"),
    ],
)
def test_wide_gaps_are_as_the_pages_say(spec: str, n: int, delta: float, ratio: float) -> None:
    found = sdp.amplify(spec, n=n, delta=delta)
    assert found.lower is not None and found.epsilon / found.lower == pytest.approx(ratio, rel=0.02)
    page, limits = ((ROOT / "docs" / name).read_text("utf-8") for name in ("mechanisms.md", "limitations.md"))
    said = "64 %" if ratio < 2.0 else f"{ratio:g} times"
    assert f"`{spec}`" in page and said in page and said in limits


@pytest.mark.parametrize(
    "words",
    ["delta** is the probability", "delta is the probability", "except with probability $", "nothing is learned"],
)
def test_pages_do_not_say_what_is_false(words: str) -> None:
    """delta is not the probability with which a bound on odds fails, and an answer tells something about values."""
    assert [path.name for path in PAGES if words in path.read_text("utf-8")] == []
