"""Everything the README shows is run: Python blocks against their output, console lines against theirs."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from reference.places import ROOT
from shuffledp.cli import main

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(m[1], m[2]) for m in BLOCK.finditer(README.read_text(encoding="utf-8"))]


def commands() -> list[tuple[str, str]]:
    """(command line, expected output) of every `$ shuffledp ...` line."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCKS:
        if kind != "console":
            continue
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
    return [(line, "\n".join(out)) for line, out in found if line.startswith("shuffledp ")]


def test_there_is_python_to_run() -> None:
    assert any(kind == "python" for kind, _ in BLOCKS)


def test_python_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    for i, (kind, text) in enumerate(BLOCKS):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, f"README.md python block {i}", "exec"), namespace)
        if i + 1 < len(BLOCKS) and BLOCKS[i + 1][0] == "text":
            assert out.getvalue().strip() == BLOCKS[i + 1][1].strip()


@pytest.mark.parametrize(("line", "expected"), commands(), ids=[line for line, _ in commands()])
def test_console_lines(line: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.output.strip() == expected.strip()
