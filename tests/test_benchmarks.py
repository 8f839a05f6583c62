"""The benchmarks can be run, and renewing some of their tables keeps the others."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.__main__ import PARTS, TARGET, page
from benchmarks.rows import Row, compared


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_run(part: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{part}").rows)


def test_renewing_a_table_keeps_the_others() -> None:
    old = TARGET.read_text(encoding="utf-8")
    assert page({}, old) == old
    new = page({"many": [Row("a question", "5 ms", "<= 2 ms", False)]}, old)
    assert "| a question | **5 ms** | <= 2 ms |" in new and "| a question" not in page({}, old)
    cut = f"## {PARTS['many']}\n"
    assert new.split(cut)[0] == old.split(cut)[0]
    assert new.split(cut)[1].partition("\n## ")[2] == old.split(cut)[1].partition("\n## ")[2]


def test_a_line_without_a_baseline_wants_nothing() -> None:
    assert compared.row("a question that nobody asked before", 0.005, 1.5) == Row(
        "a question that nobody asked before", "5 ms"
    )
