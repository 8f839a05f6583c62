"""docs/planning.md says what the code says: its examples run, and its table is the one that is printed."""

from __future__ import annotations

import doctest
import shlex

import pytest
from click.testing import CliRunner

from reference.places import ROOT
from shuffledp.cli import main
from shuffledp.planning.tasks import TASKS

PAGE = ROOT / "docs" / "planning.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_examples_run() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


@pytest.mark.heavy
def test_the_table_is_that_of_the_command() -> None:
    shown = next(block for block in TEXT.split("```") if block.startswith("text\n mechanism"))
    asked = shlex.split("plan histogram --n 1e6 --d 64 --epsilon 1 --delta 1e-8 --dropouts 0.03")
    printed = CliRunner().invoke(main, asked, env={"COLUMNS": "100"}).stdout
    for line in shown.splitlines()[1:]:
        assert line.rstrip() in [row.rstrip() for row in printed.splitlines()], line


def test_every_task_has_a_line() -> None:
    assert all(f"| `{task}` |" in TEXT for task in TASKS)
