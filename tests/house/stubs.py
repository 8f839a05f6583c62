"""What type checkers read of the packages whose names are loaded lazily: stubs, from their tables of names."""

from __future__ import annotations

from pathlib import Path

import shuffledp
from shuffledp import queries

ROOT = Path(shuffledp.__file__).parent
_HEAD = "# Written by make tables, from the table of names in __init__.py.\n"


def stubs() -> dict[Path, str]:
    """File -> its text."""
    modules = [f"from . import {name} as {name}" for name in shuffledp._MODULES]
    return {
        ROOT / "__init__.pyi": _text(modules, shuffledp._HOME, "__version__: str"),
        ROOT / "queries" / "__init__.pyi": _text([], queries._HOME, "KINDS: dict[str, tuple[str, str]]"),
    }


def _text(first: list[str], home: dict[str, str], last: str) -> str:
    names = [f"from .{module} import {name} as {name}" for module, name in sorted((m, n) for n, m in home.items())]
    return _HEAD + "\n".join([*first, *names, "", "__all__: list[str]", last, ""])


def write() -> None:
    for path, text in stubs().items():
        path.write_text(text, "utf-8")
