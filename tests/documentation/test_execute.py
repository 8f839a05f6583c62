"""Blocks are run from top to bottom, in a process of their own; whatever goes wrong fails."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from handbook.execute import compare, run, run_blocks


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as the folder of a page is in its own process


def page(*fences: str) -> str:
    return "\n\n".join(fences) + "\n"


def python(code: str) -> str:
    return f"```python\n{code}\n```"


def test_a_namespace_and_a_folder_for_the_page() -> None:
    text = page(python("# mine.py\nvalue = 3"), python("import mine\nx = mine.value"), python("print(x)\nx + 1"))
    shown = run_blocks(text, "page.md")
    assert shown == [{}, {}, {"text": "3\n", "value": "4"}]


def test_figures_become_pictures_with_words() -> None:
    (shown,) = run_blocks(
        page(python("import shuffledp as sdp\nsdp.compare('general:eps0=1', n=100, delta=1e-3).plot()")), "page.md"
    )
    assert shown["svg"].startswith("<?xml") and "general:eps0=1" in shown["alt"] and "\n" not in shown["alt"]


def test_an_exception_names_the_block() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_blocks(page("words", python("1 / 0")), "page.md")
    assert any("page.md, block at line 3" in entry.frame.code.path.__str__() for entry in caught.traceback)


def test_an_exception_of_a_page_is_an_error_of_the_build(tmp_path: Path) -> None:
    bad = tmp_path / "bad.md"
    bad.write_text(page(python("raise ValueError('this one')")), "utf-8")
    with pytest.raises(RuntimeError, match=r"(?s)bad\.md does not run.*this one"):
        run(bad)


def test_a_page_runs_in_its_own_process_and_empty_folder(tmp_path: Path) -> None:
    source = tmp_path / "good.md"
    source.write_text(page(python("import os\nprint(os.listdir())\nopen('left', 'w').close()")), "utf-8")
    assert run(source) == [{"text": "['examples']\n"}]
    assert not (tmp_path / "left").exists()


def test_commands_print_and_fail() -> None:
    command = "shuffledp amplify general:eps0=1 --n 1e6 --delta 1e-8 --bound local"
    (shown,) = run_blocks(page(f"```console\n$ {command}\n```"), "page.md")
    assert shown["text"].startswith(f"$ {command}\nWith n = 1,000,000 users")
    with pytest.raises(RuntimeError, match="exit code 2"):
        run_blocks(page("```console\n$ shuffledp amplify nothing --n 10 --delta 0.1\n```"), "page.md")
    with pytest.raises(ValueError, match="only shuffledp"):
        run_blocks(page("```console\n$ rm -r x\n```"), "page.md")


def test_a_failure_that_is_shown_is_expected() -> None:
    text = page("```console\n$ shuffledp amplify genral:eps0=1 --n 10 --delta 0.1\nshuffledp: something\n```")
    (problem,) = compare(text, run_blocks(text, "page.md"))
    assert "did you mean 'general'?" in problem


def test_a_wrong_doctest_fails_and_a_right_one_does_not() -> None:
    run_blocks(page(python(">>> 1 + 1\n2\n")), "page.md")
    with pytest.raises(doctest.DocTestFailure):
        run_blocks(page(python(">>> 1 + 1\n3\n")), "page.md")


@pytest.mark.parametrize(("printed", "problems"), [("1", 0), ("2", 1)])
def test_what_is_shown_below_a_block_is_compared(printed: str, problems: int) -> None:
    text = page(python("print(1)"), f"```text\n{printed}\n```")
    assert len(compare(text, run_blocks(text, "page.md"))) == problems


def test_what_is_not_run_is_not_compared() -> None:
    text = page("<!-- not run: why -->\n" + python("1 / 0"), "```text\n5\n```", "```sh\nfalse\n```")
    assert compare(text, run_blocks(text, "page.md")) == []
