"""A table on disk that grows by whole answers, each once: CSV, Parquet or JSON lines, by the end of its name.

An addition reads the file, adds the rows and replaces it in one step, alone with it (locking.py): a crash leaves the
old file or the new one and never half a row, and of two writers at the same time none loses what the other wrote.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ParameterError
from .json_ready import json_object
from .locking import alone_with, replace_seen
from .optional import require
from .reading import Kind, NotJSONError, contained, digest_of, parse_json, read_bytes

_FILE = Kind("a table of answers", 2**31, "restore it from a copy, or name a new file", "table")

Row = dict[str, Any]
#: Columns in their order, and the type of their cells: str, int or float; a number may be absent (None).
Types = Mapping[str, type]
_Read = Callable[[bytes, Types], tuple[list[str], list[Row]]]
_Write = Callable[[Sequence[Row], Types], bytes]


def check_format(path: str | os.PathLike[str]) -> str:
    """The format that the end of ``path`` asks for; call it before long work, so that a typo costs no time."""
    kind = os.path.splitext(path)[1].lower() if isinstance(path, str | os.PathLike) else ""
    if kind not in _FORMATS:
        shown = os.fspath(path) if isinstance(path, str | os.PathLike) else path
        raise ParameterError(f"table must end in {', '.join(_FORMATS)}, got {shown!r:.300}; choose one of them.")
    if kind == ".parquet":
        require("pyarrow.parquet", extra="data", purpose="a table in Parquet")
    return kind


def append_rows(path: str | os.PathLike[str], rows: Sequence[Row], types: Types, key: Sequence[str]) -> bool:
    """Add the rows of one answer; False if they are there, and then nothing is written.

    All have the same ``key``.  Other rows with that key are refused: two answers would stand for one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, row = Path(folder) / "table.csv", {"week": "2026-W14", "value": 0.25}
    ...     twice = [append_rows(file, [row], {"week": str, "value": float}, ["week"]) for _ in range(2)]
    ...     twice, file.read_text()
    ([True, False], 'week,value\\n2026-W14,0.25\\n')
    """
    kind = check_format(path)
    read, written = _FORMATS[kind]
    with alone_with(path, name="table"), contained(_FILE, str(path)):
        data = read_bytes(path, _FILE) if os.path.exists(path) else b""
        known = _checked(read, data, types, path) if data else []
        same = [row for row in known if rows and all(row[name] == rows[0][name] for name in key)]
        if same and same == list(rows):
            return False
        if same:
            named = ", ".join(f"{name} {rows[0][name]!r:.60}" for name in key)
            raise ParameterError(
                f"table must hold one answer for each {' and '.join(key)}, got other numbers for {named} in "
                f"{os.fspath(path)!r}; name another period or file, or remove the old rows."
            )
        replace_seen(path, written([*known, *rows], types), {digest_of(data)}, name="table")
    return True


def _checked(read: _Read, data: bytes, types: Types, path: str | os.PathLike[str]) -> list[Row]:
    """The rows of a file that has these columns; anything else is refused, so that nothing is overwritten."""
    shown = repr(os.fspath(path))
    try:
        names, rows = read(data, types)
    except ParameterError:
        raise
    except (ValueError, TypeError, csv.Error, OSError) as error:  # those of Arrow are among them
        reason = " ".join(str(error).split())[:80]
        raise ParameterError(
            f"{_FILE.subject} must hold whole rows of answers, got something else in {shown} ({reason}); "
            f"{_FILE.advice}."
        ) from None
    if names != list(types):
        raise ParameterError(
            f"{_FILE.subject} must have the columns {', '.join(types)}, got {', '.join(names)[:200]} in {shown}; "
            "name a new file."
        )
    return rows


def _cell(text: Any, kind: type) -> Any:
    """The value of a cell that is written as text; an empty number is absent."""
    if kind is str:
        if not isinstance(text, str):
            raise ValueError(f"{text!r:.40} is not a text")
        return text
    if text is None or text == "":
        return None
    if isinstance(text, bool):
        raise ValueError(f"{text} is not a number")
    value = kind(text)
    if math.isnan(value):
        raise ValueError("nan is not a number")
    return value


# -- the formats ----------------------------------------------------------------------------------------------------


def _whole_text(data: bytes) -> str:
    """The text of a file whose last row is whole: it ends with a line break."""
    if not data.endswith(b"\n"):
        raise ValueError("the last line is cut off")
    return data.decode("utf-8-sig")


def _read_csv(data: bytes, types: Types) -> tuple[list[str], list[Row]]:
    lines = csv.reader(io.StringIO(_whole_text(data), newline=""), strict=True)
    names = next(lines, [])
    if names != list(types):
        return names, []
    return names, [
        {name: _cell(text, types[name]) for name, text in zip(names, line, strict=True)} for line in lines if line
    ]


def _write_csv(rows: Sequence[Row], types: Types) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([list(types), *([row[name] for name in types] for row in rows)])
    return out.getvalue().encode("utf-8")


def _read_lines(data: bytes, types: Types) -> tuple[list[str], list[Row]]:
    rows = []
    for number, line in enumerate(_whole_text(data).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = parse_json(line, _FILE, f"line {number}")
        except NotJSONError as error:
            raise ValueError(f"line {number}: {error}") from None
        if not isinstance(found, dict) or list(found) != list(types):
            return [*map(str, found)] if isinstance(found, dict) else [str(found)], []
        rows.append({name: _cell(found[name], kind) for name, kind in types.items()})
    return list(types), rows


def _write_lines(rows: Sequence[Row], types: Types) -> bytes:
    ready = (json_object({name: row[name] for name in types}) for row in rows)
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in ready).encode("utf-8")


def _read_parquet(data: bytes, types: Types) -> tuple[list[str], list[Row]]:
    parquet = require("pyarrow.parquet", extra="data", purpose="a table in Parquet")
    found = parquet.read_table(io.BytesIO(data))
    if found.column_names != list(types):
        return list(found.column_names), []
    return list(types), [{k: _cell(row[k], kind) for k, kind in types.items()} for row in found.to_pylist()]


def _write_parquet(rows: Sequence[Row], types: Types) -> bytes:
    arrow = require("pyarrow", extra="data", purpose="a table in Parquet")
    parquet = require("pyarrow.parquet", extra="data", purpose="a table in Parquet")
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in types.items()])
    out = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), out)
    return out.getvalue()


_FORMATS: dict[str, tuple[_Read, _Write]] = {
    ".csv": (_read_csv, _write_csv),
    ".jsonl": (_read_lines, _write_lines),
    ".ndjson": (_read_lines, _write_lines),
    ".parquet": (_read_parquet, _write_parquet),
}
