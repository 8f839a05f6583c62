"""Files are written in one piece and keep what they were: links, modes, and the old content if writing fails."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from shuffledp._support.files import write_whole, writing_whole
from shuffledp._support.locking import alone_with
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


def test_a_read_only_file_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, removing what is not there is an error of its own."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    for call in ("open", "unlink"):
        monkeypatch.setattr(os, call, refused)
    with pytest.raises(ParameterError, match=r"^save must be a file that can be written, got .*a\.txt' \(Read-only"):
        write_whole(tmp_path / "a.txt", "new", name="save")


@pytest.fixture
def usual_umask() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.mark.usefixtures("usual_umask")
def test_only_the_owner_reads_a_file_that_is_not_yet_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with writing_whole(path) as stream:
        stream.write(b"half")
        (part,) = tmp_path.iterdir()
        assert part != path and part.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o644 and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(("call", "works"), [("fsync", 0), ("fsync", 1), ("replace", 0)])
def test_whatever_fails_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, works: int) -> None:
    """The first fsync is that of the file, the second that of its folder."""
    calls: list[object] = []

    def fails(*given: object) -> None:
        calls.append(given)
        if len(calls) > works:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(ParameterError, match=r"\(Input/output error\)"):
        write_whole(tmp_path / "a.txt", "new")
    assert not [*tmp_path.iterdir()]


def test_content_is_on_disk_before_it_has_its_name_and_the_name_before_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, fsync, replace = [], os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def renamed(old: Path, new: Path) -> None:
        done.append("name")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_whole(tmp_path / "a.txt", "new")
    assert done == ["file", "name", "folder"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, GeneratorExit])
def test_an_interrupted_writer_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with writing_whole(tmp_path / "a.txt") as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("path", ["", None, 3])
def test_no_path(path: object) -> None:
    with pytest.raises(ParameterError, match=r"^out must be the path of a file, got "):
        write_whole(path, "x", name="out")  # type: ignore[arg-type]


def test_links_that_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", f"{tmp_path}/\0"):
        with pytest.raises(ParameterError, match="path must be a file that can be written"):
            write_whole(path, "x")
        with pytest.raises(ParameterError, match="path must be a file in a directory that exists"), alone_with(path):
            pass
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
