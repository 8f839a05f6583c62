"""Results of pages are kept, and never in place of a run whose outcome may differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from handbook import execute, store

GOOD = "# Page\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository as small as can be."""
    for name in ("src/shuffledp/a.py", "examples/b.py", "tools/handbook/execute.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    (tmp_path / "page.md").write_text(GOOD, "utf-8")
    return tmp_path


def key(root: Path) -> Path:
    store.surroundings.cache_clear()
    return store.place(root / "page.md", root / "kept", root)


@pytest.mark.parametrize("name", ["src/shuffledp/a.py", "examples/b.py", "tools/handbook/execute.py", "page.md"])
def test_a_change_of_anything_that_a_page_can_reach_changes_the_key(root: Path, name: str) -> None:
    before = key(root)
    assert key(root) == before
    (root / name).write_text("x = 2\n", "utf-8")
    assert key(root) != before


def test_a_new_or_renamed_file_changes_the_key(root: Path) -> None:
    before = key(root)
    (root / "src/shuffledp/a.py").rename(root / "src/shuffledp/c.py")
    assert key(root) != before


def test_another_version_of_a_package_or_of_python_changes_the_key(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(root)
    with monkeypatch.context() as patched:
        patched.setattr(store.sys, "version", "9.9")
        assert key(root) != before
    with monkeypatch.context() as patched:
        patched.setattr(store, "distributions", lambda: [])
        assert key(root) != before
    assert key(root) == before


def test_what_is_compiled_by_the_way_does_not(root: Path) -> None:
    before = key(root)
    (root / "src/shuffledp/__pycache__").mkdir()
    (root / "src/shuffledp/__pycache__/a.pyc").write_bytes(b"x")
    assert key(root) == before


def test_half_a_file_is_no_result(tmp_path: Path) -> None:
    file = tmp_path / "kept" / "page.json"
    assert store.kept(file) is None
    store.keep(file, [{"text": "1"}])
    assert store.kept(file) == [{"text": "1"}] and [path.name for path in file.parent.iterdir()] == ["page.json"]
    for text in ('[{"text": "1', '{"text": "1"}', "[1]", '[{"text": 1}]'):
        file.write_text(text, "utf-8")
        assert store.kept(file) is None


def test_pages_run_once_and_those_that_fail_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad, wrong = (tmp_path / f"{name}.md" for name in ("good", "bad", "wrong"))
    good.write_text(GOOD, "utf-8")
    bad.write_text("```python\n1 / 0\n```\n", "utf-8")
    wrong.write_text(GOOD.replace("print(1)", "print(2)"), "utf-8")
    ran: list[str] = []
    run = execute.run

    def counted(page: Path) -> list[dict[str, str]]:
        ran.append(page.stem)
        return run(page)

    monkeypatch.setattr(execute, "run", counted)
    for again in (False, True):
        shown, problems = execute.run_all([good, bad, wrong], tmp_path / "kept")
        assert set(shown) == {good, wrong} and len(problems) == 2
        assert "bad.md does not run" in problems[0] and "ZeroDivisionError" in problems[0]
        assert "wrong.md: line 3 prints '2', not '1'" in problems[1]
        assert sorted(ran) == ["bad", "bad", "good", "wrong"] if again else ["bad", "good", "wrong"]


def test_tutorials_are_not_compared(tmp_path: Path) -> None:
    lesson = tmp_path / "tutorials" / "lesson.md"
    lesson.parent.mkdir()
    lesson.write_text(GOOD.replace("print(1)", "print(2)"), "utf-8")
    assert execute.run_all([lesson], tmp_path / "kept")[1] == []
