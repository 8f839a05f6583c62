"""Files without types: the names in their first line, and their columns as texts.

A first line may hold a user's values instead of names: no sentence shows what is in it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._support.optional import require
from .._support.reading import Kind, opened
from ..errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

DATA = Kind("data", 2**60, "write it again")
#: Marks a column whose texts may spell numbers.
_WRITTEN = {b"shuffledp": b"written"}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Bytes of a first line that are read.
_FIRST_LINE = 1 << 20


def separator_of(path: str | os.PathLike[str]) -> str:
    """Tabs where the name of the file says so, else commas."""
    return "\t" if os.fspath(path).lower().endswith(".tsv") else ","


def names_of(path: str | os.PathLike[str], columns: Sequence[str]) -> list[str]:
    """The names of all columns; a file that lacks one of those wanted, or in another encoding, is refused."""
    shown, separator = repr(os.fspath(path)), separator_of(path)
    with opened(path, DATA) as stream:
        lines = stream.read(_FIRST_LINE).splitlines()
    first = next(filter(None, lines), b"")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
        raise other_encoding(shown, "UTF-16")
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise other_encoding(shown) from None
    names = next(csv.reader([text], delimiter=separator), [])
    lacking = [name for name in columns if name not in names]
    most = max(_SEPARATORS, key=text.count)
    if lacking and most != separator and most in text:
        raise ParameterError(
            f"data in {shown} must be separated by {_SEPARATORS[separator]}, got {_SEPARATORS[most]} in the first "
            f"line; save it with {_SEPARATORS[separator]}."
        )
    if lacking:
        raise ParameterError(
            f"data must have the column {lacking[0]!r}, got none of that name in the first line of {shown}; name the "
            "columns there."
        )
    return names


def other_encoding(shown: str, encoding: str = "another encoding, perhaps latin-1 (Windows-1252)") -> ParameterError:
    """The error for a file that is not in UTF-8."""
    return ParameterError(f"data must be text in UTF-8, got {encoding} in {shown}; save it as UTF-8.")


def as_written(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Columns of texts of a file without types, marked as such; "" is none."""
    arrow = require("pyarrow", extra="data", purpose="reading CSV files")
    compute = require("pyarrow.compute", extra="data", purpose="reading CSV files")
    fields = [arrow.field(name, arrow.string(), metadata=_WRITTEN) for name in batch.schema.names]
    none = arrow.scalar(None, arrow.string())
    some = [compute.if_else(compute.equal(column, ""), none, column) for column in batch.columns]
    return arrow.RecordBatch.from_arrays(some, schema=arrow.schema(fields))


def is_written(field: pa.Field) -> bool:
    """Whether a column is one of :func:`as_written`."""
    return (field.metadata or {}).items() >= _WRITTEN.items()
