"""A tutorial becomes a page with its results and a notebook that holds the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handbook import tutorials
from handbook.blocks import blocks
from handbook.execute import run_blocks
from reference.places import ROOT

LESSONS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")
PAGE = """# A lesson

See [the theory](../theory.md) and [elsewhere](https://example.org).

```python
print("one")
2
```

```yaml
# file.yaml
version: 1
```

```console
$ shuffledp amplify general:eps0=1 --n 1e6 --delta 1e-8 --bound local
```
"""


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    monkeypatch.chdir(tmp_path)
    return run_blocks(PAGE, "lesson.md")


def test_results_stand_below_their_blocks(shown: list[dict[str, str]]) -> None:
    made = tutorials.executed(PAGE, shown, "lesson")
    assert made.startswith("# A lesson\n\n[Download as a notebook](lesson.ipynb)")
    assert 'print("one")\n2\n```\n\n```{ .text .output }\none\n2\n```' in made
    assert '```yaml title="file.yaml"\n' in made
    assert "--bound local\nWith n = 1,000,000 users" in made


def test_sentences_are_broken_and_tables_are_not() -> None:
    page = "# T\n\n```python\nx\n```\n"
    assert "{ .text .output .words }" in tutorials.executed(page, [{"text": "word " * 30}], "lesson")
    assert "{ .text .output }" in tutorials.executed(page, [{"text": "a  b\n1  2\n"}], "lesson")


def test_pictures_have_words_in_their_place() -> None:
    made = tutorials.executed("# T\n\n```python\nx\n```\n", [{"svg": "<svg/>", "alt": "eps of n"}], "lesson")
    assert "![eps of n](lesson-0.svg)" in made


def test_the_notebook_is_one(shown: list[dict[str, str]]) -> None:
    made = json.loads(tutorials.notebook(PAGE, shown))
    assert made["nbformat"] == 4 and len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    kinds = [cell["cell_type"] for cell in made["cells"]]
    assert kinds == ["markdown", "code", "code", "code"]
    words, python, file, command = made["cells"]
    assert "See the theory and [elsewhere](https://example.org)" in words["source"]
    assert python["source"] == 'print("one")\n2'
    assert [o["output_type"] for o in python["outputs"]] == ["stream", "display_data"]
    assert file["source"].startswith("%%writefile file.yaml\n")
    assert command["source"].startswith("!shuffledp amplify")
    for cell in made["cells"]:
        assert cell["cell_type"] == "markdown" or set(cell) == {
            *("id", "cell_type", "metadata", "execution_count", "source", "outputs")
        }


def test_writing_one(tmp_path: Path, shown: list[dict[str, str]]) -> None:
    source, out = tmp_path / "lesson.md", tmp_path / "out"
    source.write_text(PAGE, "utf-8")
    out.mkdir()
    tutorials.write(source, shown, out)
    assert {path.name for path in out.iterdir()} == {"lesson.md", "lesson.ipynb"}


def test_there_are_nine_lessons_and_the_overview_has_them() -> None:
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text("utf-8")
    assert len(LESSONS) == 9
    assert all(f"({path.name})" in index for path in LESSONS)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: str(path.stem))
def test_a_lesson_is_short_has_steps_and_states_no_results(path: Path) -> None:
    page = path.read_text("utf-8")
    assert len(page.splitlines()) <= 200 and "## Step 1" in page
    assert not [block for block in blocks(page) if block.kind == "text"], "results come from the run"
    code = [line for block in blocks(page) if block.kind == "python" for line in block.code.splitlines()]
    assert max(map(len, code)) <= 92, "code fits the page"
