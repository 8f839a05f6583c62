"""Files are written in one piece and keep what they were: links, modes, and the old content if writing fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shuffledp._support.files import write_whole
from shuffledp.errors import ParameterError


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    write_whole(path, "old")
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o600


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match=r"^path must be a file that can be written, got .* \(No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("path", ["", None, 3])
def test_no_path(path: object) -> None:
    with pytest.raises(ParameterError, match=r"^out must be the path of a file, got "):
        write_whole(path, "x", name="out")  # type: ignore[arg-type]
