"""Keeps what a page has shown, so that ``make docs`` runs only the pages whose results may have changed.

The key of a result is a digest of the page and of everything that its code can reach: the library, the examples, what
runs the blocks, Python and every installed package.  A page that fails is never kept, so it fails again until it is
repaired.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What the code of a page can reach, in the repository: folders, and the files that cut and run the blocks.
REACHED = ("src", "examples", "tools/handbook/blocks.py", "tools/handbook/execute.py")


@functools.cache
def surroundings(root: Path = ROOT) -> str:
    """A digest of all that pages have in common; another one after any change of a file, a package or Python."""
    digest = hashlib.sha256(sys.version.encode())
    for package in sorted({f"{found.name}=={found.version}" for found in distributions()}):
        digest.update(package.encode())
    places = [root / name for name in REACHED]
    every = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file()]
    for file in sorted(every):
        if "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(root)).encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def place(page: Path, folder: Path, root: Path = ROOT) -> Path:
    """The file in which the result of a page, as it is now, would be kept."""
    parts = (page.name, page.read_text("utf-8"), surroundings(root))
    return folder / f"{page.stem}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"


def kept(file: Path) -> list[dict[str, str]] | None:
    """What was kept there; nothing if there is no such file, or only a part of one."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(found, list) or not all(isinstance(shown, dict) for shown in found):
        return None
    return found if all(isinstance(text, str) for shown in found for text in shown.values()) else None


def keep(file: Path, shown: list[dict[str, str]]) -> None:
    """Keep a result in place of earlier ones of the same page; written whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps(shown), "utf-8")
    new.replace(file)
