"""The quickstart, as it is written: its commands and programs, in their order, with a service that really runs."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handbook.blocks import Block, blocks
from reference.deployed import MANY
from reference.places import ROOT
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.service import Service

pytestmark = pytest.mark.shuffler
PAGE = ROOT / "docs" / "shuffler" / "quickstart.md"


@contextlib.contextmanager
def serving(line: str) -> Iterator[str]:
    """The service that a line starts, on a free port, and its address."""
    command = [sys.executable, "-m", *shlex.split(line), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0].rstrip("/")
        finally:
            process.terminate()


def shuffledp(line: str) -> str:
    """What a line prints; the shell fills in the star."""
    found = subprocess.run(f"{sys.executable} -m {line}", shell=True, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, (line, found.stderr)
    return found.stdout


def test_the_page_works_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    found = blocks(PAGE.read_text("utf-8").replace(" \\\n", ""))  # lines that go on
    commands = [line for block in found for line, _ in block.commands if line.startswith("shuffledp ")]
    keygen, more, publish, serve, collect, certify = commands
    programs = [block for block in found if block.kind == "python"]
    names: dict[str, Any] = {}
    for line in (keygen, more):
        shuffledp(line)
    for program in programs[:2]:
        ran(program, names)
    shuffledp(publish.replace("--length 2m", "--length 30m"))  # all of them in one period, on any machine
    ran(programs[2], names)
    with serving(serve) as address:
        settings = {**names["settings"], "service": address}
        crowd = {**settings, "values": ["apple", "pear"] * 105}
        done = subprocess.run(
            ["node", MANY], input=names["json"].dumps(crowd), capture_output=True, text=True, timeout=60
        )
        said = names["json"].loads(done.stdout)
        assert [one["status"] for one in said] == ["sent"] * 210
        ran(programs[3]._replace(code=programs[3].code.replace("http://127.0.0.1:8080", address)), names)
    Service(ShufflerFolder(tmp_path / "shuffler"), clock=lambda: time.time() + 1900).release_due()
    assert "banana" in shuffledp(collect) and (tmp_path / "statement.json").exists()
    assert shuffledp(certify).startswith("Verified: batch ")


def ran(program: Block, names: dict[str, Any]) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program.code, str(PAGE), "exec"), names)
