"""What may be served (clients/vectors/publications), to the Python client; clients/js/test runs the same files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from house.hostile_publications import FOLDER, cases, text
from shuffledp.errors import ShuffleDPError

pytestmark = pytest.mark.shuffler
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
written = cache(cases)


def _answering(content: bytes) -> Callable[[str, int], bytes]:
    return lambda path, most: content


def verdict(found: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a client says that has seen what was served before."""
    said = ""
    for served in (*found["seen"], found):
        lists = {key: served[key] for key in ("publications", "withdrawals")}
        settings: dict[str, Any] = {"publishers": found["trusted"], "service": "https://shuffler.example"}
        client = sdp.Sender(folder, **settings, clock=partial(float, served["now"]))
        monkeypatch.setattr(client, "_get", _answering(json.dumps(lists).encode()))
        try:
            said = "accepted" if any(one.name == "fruit" for one in client.publications()) else "refused"
        except ShuffleDPError:
            said = "refused"
    return said


def test_the_files_are_those_that_the_generator_writes() -> None:
    assert list(NAMES) == sorted(written())


@pytest.mark.parametrize("name", NAMES)
def test_python_says_what_the_file_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (FOLDER / f"{name}.json").read_text("ascii")
    assert content == text(written()[name])
    found = json.loads(content)
    assert verdict(found, tmp_path, monkeypatch) == found["python"], found["reason"]
