"""The note: every statement names a test that exists, every cited work is listed, and what TeX complains of fails."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from house.theorems import test_exists as exists_as_test
from notebuild import __main__ as build
from notebuild import tables
from notebuild.statements import KINDS, citations, source, statements
from notebuild.texlog import faults
from reference.places import ROOT

NOTE = ROOT / "note"
STATED = list(statements(NOTE))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_there_are_theorems_of_every_kind() -> None:
    assert {statement.kind for statement in STATED} == set(KINDS) and len(STATED) > 20


def test_every_statement_names_a_test() -> None:
    assert [f"{s.file}: {s.kind} {s.title}" for s in STATED if not s.tests] == []


@pytest.mark.parametrize("test", sorted({test for statement in STATED for test in statement.tests}))
def test_named_tests_exist(test: str) -> None:
    assert exists_as_test(test.replace("::", ":")), test


def test_a_statement_without_a_test_and_one_with_a_wrong_name_are_noticed(tmp_path: Path) -> None:
    bare, named = r"\begin{lemma}[One]x\end{lemma}", "\\begin{lemma}%\\tested{a.py::test_b}\n\\tested{a.py::test_c}"
    text = bare + named + r"\end{lemma}"
    (tmp_path / "x.tex").write_text(text, encoding="utf-8")
    first, second = statements(tmp_path)
    assert (first.title, first.tests, second.tests) == ("One", (), ("a.py::test_c",))
    assert not exists_as_test("test_note.py:test_of_another_name") and exists_as_test(
        "test_note.py:test_named_tests_exist"
    )


def test_works_are_cited_if_and_only_if_they_are_listed() -> None:
    cited, listed = citations(NOTE)
    assert cited == listed and len(listed) >= 15


def test_every_file_is_part_of_the_note_and_every_table_is_written() -> None:
    texts = {path.stem: source(path) for path in NOTE.glob("*.tex")}
    used = set(re.findall(r"\\input\{([\w-]+)\}", "".join(texts.values())))
    assert used == (texts.keys() - {"note"}) | {name.removesuffix(".tex") for name in tables.FILES}
    drawn = set(re.findall(r"\\includegraphics\[[^]]*\]\{([\w-]+)\}", "".join(texts.values())))
    assert drawn == {"figure-means", *build.FIGURES}


def test_every_number_is_used() -> None:
    text = "".join(source(path) for path in NOTE.glob("*.tex"))
    made = re.findall(r"\\newcommand\{\\(\w+)\}", tables.numbers())
    assert [name for name in made if not re.search(rf"\\{name}\b", text)] == []


def test_the_citation_file_cites_the_note() -> None:
    preferred = CITATION["preferred-citation"]
    title = re.search(r"\\title\{(.*?)\}\n", (NOTE / "note.tex").read_text(encoding="utf-8"), re.DOTALL)
    assert title is not None and preferred["title"] == " ".join(title[1].replace(r"\\", " ").split())
    assert preferred["authors"] == CITATION["authors"] and CITATION["version"] in preferred["notes"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("LaTeX Warning: Citation `X' on page 3 undefined on input line 4.", "Citation `X' on page 3 undefined"),
        ("LaTeX Warning: Label `a' multiply defined.", "Label `a' multiply defined"),
        ("LaTeX Warning: There were undefined references.", "There were undefined references"),
        ("Overfull \\hbox (2.1pt too wide) in paragraph at lines 1--2", "Overfull \\hbox (2.1pt too wide)"),
        ("Overfull \\vbox (12.0pt too high) has occurred while \\output is active", "Overfull \\vbox"),
        ("Missing character: There is no x in font y!", "Missing character"),
    ],
)
def test_what_tex_complains_of_is_a_fault(line: str, words: str) -> None:
    found = faults(f"before\n{line}\nafter\n")
    assert len(found) == 1 and words in found[0]


def test_lines_that_tex_breaks_are_read_whole() -> None:
    line = "LaTeX Warning: Reference `thm:a-label-that-is-rather-long' on page 12 undefined on input line 123."
    assert len(line) > 79 and faults(line[:79] + "\n" + line[79:] + "\n") == [line.removeprefix("LaTeX Warning: ")]


def test_what_is_no_fault() -> None:
    assert (
        faults("Overfull \\hbox (1.99pt too wide) in x\nUnderfull \\vbox (badness 10000)\nLaTeX Font Warning: y\n")
        == []
    )


def test_without_tex_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["notebuild", str(tmp_path / "out")])
    with pytest.raises(
        SystemExit, match=r"^make note needs Debian's TeX, .*; run: apt-get install latexmk .* lmodern$"
    ):
        build.main()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "argv", ["notebuild"])
    with pytest.raises(SystemExit, match=r"^notebuild needs one argument"):
        build.main()


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="TeX is not installed; make note says so and fails")
@pytest.mark.slow
def test_faults_of_a_document_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "note").mkdir()
    monkeypatch.setattr(build, "ROOT", tmp_path)
    for body, words in (
        (r"\ref{x}", "undefined"),
        (r"\hbox to 900pt{}x", "Overfull"),
        (r"\nosuchcommand", "Undefined control"),
    ):
        text = rf"\documentclass{{article}}\begin{{document}}a {body}\end{{document}}"
        (tmp_path / "note" / "note.tex").write_text(text, encoding="utf-8")
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "out").mkdir()
        assert any(words in fault for fault in build.typeset(tmp_path / "out")), body


def test_tables_are_tables() -> None:
    text = tables.certificates()
    assert text.count(r"\\") == 4 and text.startswith(r"\begin{tabular}{@{}lrrrrr@{}}")
    assert (tables.percent(217.0), tables.percent(float("nan")), tables.percent(1e-6)) == (
        r"$217\,\%$",
        "--",
        r"$<0.001\,\%$",
    )


def test_the_counterexample_in_full_has_the_stated_sums() -> None:
    text = tables.counterexample()
    assert r"sum & 64 & 64 & 5 & 64 & 64 & 4 \\" in text and text.count(r"\\") == 12
