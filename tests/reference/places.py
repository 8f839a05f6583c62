"""Where the files that tests read are, whatever folder the test is in."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

#: The project: README.md, docs, pyproject.toml.
ROOT = Path(__file__).parents[2]
#: Golden values, and files that earlier versions wrote.
DATA = ROOT / "tests" / "data"


@cache
def golden(name: str) -> list[dict[str, Any]]:
    """The entries of one file of golden values; do not change them, all tests share them.

    >>> len(golden("divergence.json")) > 10
    True
    """
    entries: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))["entries"]
    return entries
