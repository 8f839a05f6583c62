"""A table that grows: every answer once, whole or not at all, whoever else writes."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from shuffledp import ParameterError
from shuffledp._support import files
from shuffledp._support.row_files import append_rows, check_format

TYPES: dict[str, type] = {"plan": str, "item": str, "value": float, "users": int}
ENDS = ["csv", "jsonl", "parquet"]


def rows(plan: str, *values: float | None) -> list[dict[str, Any]]:
    return [
        {"plan": plan, "item": f'item "{i}",\n\u00e9', "value": x, "users": 2**53 + i} for i, x in enumerate(values)
    ]


def add(path: Path, plan: str, *values: float | None) -> bool:
    return append_rows(path, rows(plan, *values), TYPES, ["plan"])


def read(path: Path) -> list[tuple[Any, ...]]:
    """By pandas and json, not by the code that wrote it."""
    pandas = pytest.importorskip("pandas")
    if path.suffix == ".jsonl":
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [tuple(row[name] for name in TYPES) for row in found]
    frame = pandas.read_csv(path) if path.suffix == ".csv" else pandas.read_parquet(path)
    assert list(frame.columns) == list(TYPES)
    return [tuple(None if pandas.isna(x) else x for x in row) for row in frame.itertuples(index=False)]


@pytest.mark.parametrize("end", ENDS)
def test_every_answer_once_and_exactly(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{end}"
    assert add(path, "a", 0.1, None, 1 / 3) and add(path, "b", 5e-324)
    before = path.read_bytes()
    assert not add(path, "a", 0.1, None, 1 / 3) and not add(path, "b", 5e-324)
    assert path.read_bytes() == before, "nothing is written the second time"
    wanted = [tuple(row.values()) for row in [*rows("a", 0.1, None, 1 / 3), *rows("b", 5e-324)]]
    assert read(path) == wanted
    with pytest.raises(ParameterError, match=r"^table must hold one answer for each plan, got .* 'a' in [^\n]*\.$"):
        add(path, "a", 0.1, None, 0.5)
    with pytest.raises(ParameterError, match="one answer for each plan"):
        add(path, "a", 0.1)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name], "nothing is left behind"


@pytest.mark.parametrize("end", ENDS)
def test_infinity_comes_back(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{end}"
    assert add(path, "a", math.inf) and not add(path, "a", math.inf)


@pytest.mark.parametrize("end", ENDS)
def test_a_crash_before_the_end_leaves_the_old_file(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"table.{end}"
    add(path, "a", 0.25)
    before = path.read_bytes()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", broken)
    with pytest.raises(ParameterError, match="No space left"):
        add(path, "b", 0.5)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    monkeypatch.undo()
    assert add(path, "b", 0.5) and len(read(path)) == 2


def _writer(path: str, name: str) -> None:
    for i in range(5):
        add(Path(path), f"{name}{i}", float(i))


@pytest.mark.parametrize("end", ["csv", "jsonl"])
def test_writers_at_the_same_time_lose_nothing(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{end}"
    fork = multiprocessing.get_context("fork")
    started = [fork.Process(target=_writer, args=(str(path), name)) for name in "abc"]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(row[0] for row in read(path)) == sorted(f"{name}{i}" for name in "abc" for i in range(5))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"plan,item\n", "must have the columns plan, item, value, users, got plan, item in"),
        ("a.csv", b"plan,item,value,users\na,b,1", "must hold whole rows"),
        ("a.csv", b"plan,item,value,users\na,b,1,1", r"must hold whole rows of answers, .*cut off"),
        ("a.csv", b"plan,item,value,users\na,b,x,1\n", "must hold whole rows"),
        ("a.csv", b"plan,item,value,users\na,b,nan,1\n", "must hold whole rows"),
        ("a.csv", b'plan,item,value,users\na,"b,1,1\n', "must hold whole rows"),
        ("a.csv", b"\xff\xfe", "must hold whole rows"),
        ("a.jsonl", b'{"plan": "a", "item"', "must hold whole rows"),
        ("a.jsonl", b'{"plan": "a"}\n', "must have the columns"),
        ("a.jsonl", b"3\n", "must have the columns"),
        ("a.jsonl", b'{"plan": 1, "item": "b", "value": 1, "users": 1}\n', "must hold whole rows"),
        ("a.jsonl", b'{"plan": "a", "item": "b", "value": true, "users": 1}\n', "must hold whole rows"),
        ("a.parquet", b"PAR1", "must hold whole rows"),
    ],
)
def test_another_file_is_left_alone(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=rf"^a table of answers {words}[^\n]*\.$"):
        add(path, "a", 0.5)
    assert path.read_bytes() == content


def test_names_of_files(tmp_path: Path) -> None:
    for name in ("a.txt", "a", "", 3, None):
        with pytest.raises(ParameterError, match=r"^table must end in \.csv, \.jsonl, [^\n]*got [^\n]*\.$"):
            check_format(name)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^table must be a file in a directory that exists"):
        add(tmp_path / "no" / "a.csv", "a", 0.5)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ParameterError, match=r"^table must be a readable file"):
        add(tmp_path / "folder.csv", "a", 0.5)
    (tmp_path / "empty.csv").touch()
    assert add(tmp_path / "empty.csv", "a", 0.5), "an empty file is a new one"
    (tmp_path / "link.csv").symlink_to(tmp_path / "empty.csv")
    assert not add(tmp_path / "link.csv", "a", 0.5)
    assert add(tmp_path / "link.csv", "b", 0.5) and (tmp_path / "link.csv").is_symlink()
