"""Data as Arrow record batches, a part at a time: files, tables and frames.

Files without types (CSV) give the names in their first line, and their columns as texts.  A first line may hold a
user's values instead of names: no sentence shows what is in it.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.optional import require
from .._support.reading import Kind, opened
from ..errors import ParameterError, ShuffleDPError

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


def refuse_empty_lines(path: str | os.PathLike[str], names: Sequence[str]) -> None:
    """In a file of one column an empty line may be a user without a value, whom both readers would leave out."""
    if len(names) > 1:
        return
    with opened(path, DATA) as stream:
        text = io.TextIOWrapper(stream, "latin-1")  # every kind of line end counts, and no byte is refused here
        lines = map(str.strip, iter(partial(text.readline, _FIRST_LINE), ""))
        next(filter(None, lines), None)  # the name, and what is above it
        if not all(lines):
            raise ParameterError(
                f"data of one column must have no empty line, got one in {os.fspath(path)!r}, which may be a user "
                'without a value; write "" for such a user, or remove the line.'
            )


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


# -- all kinds of data -----------------------------------------------------------------------------------------

#: Rows that are read at once, unless a file is divided otherwise.
ROWS = 1 << 18
#: What pyarrow says about CSV files without quoting them.
_HARMLESS = re.compile(r"(?:[Rr]ow|[Cc]olumn) #\d+|conversion error to \w+|Expected \d+ columns, got \d+")


@dataclass(frozen=True)
class Source:
    """Something that gives record batches, group after group, always in the same order.

    Attributes
    ----------
    name : in words
    rows : how many in all; 0 if that is not known in advance
    groups : parts that can be read on their own: an interrupted run resumes with the next one
    path : of the file; None for data in memory, which cannot be told from others of the same size
    """

    name: str
    rows: int
    groups: int
    _open: Any
    path: Path | None = None

    def batches(self, columns: Sequence[str], group: int | None = None) -> Iterator[pa.RecordBatch]:
        """The record batches of one group, or of all, with these columns only."""
        with readable(self.name):
            for batch in self._open(list(columns), group):
                if self.path is not None:  # a code beyond its dictionary would be looked up anywhere in the memory
                    batch.validate(full=True)
                yield batch


def source_of(data: Any) -> Source:
    """A path (.parquet, .csv, .tsv, .arrow), an Arrow table, or a frame with its interface (pandas, polars, DuckDB)."""
    arrow = require("pyarrow", extra="data", purpose="reading data")
    if isinstance(data, Source):
        return data
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        opened(path, DATA).close()  # a file, and neither a folder nor a pipe or a device
        with readable(repr(str(path))):
            return _of_file(path)
    if isinstance(data, arrow.Table):
        return _of_table("a table", data)
    if isinstance(data, arrow.RecordBatch):
        return _of_table("a record batch", arrow.Table.from_batches([data]))
    if hasattr(data, "__arrow_c_stream__"):
        with readable(f"a {type(data).__name__}"):
            return _of_table(f"a {type(data).__name__}", arrow.table(data))
    raise ParameterError(
        f"data must be a file (.parquet, .csv, .tsv, .arrow), a table or a frame, got {type(data).__name__}; "
        "pass a path or a DataFrame."
    )


def _of_file(path: Path) -> Source:
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _of_parquet(path)
    if suffix in (".csv", ".tsv", ".txt"):
        return _of_csv(path)
    if suffix in (".arrow", ".feather", ".ipc"):
        return _of_ipc(path)
    raise ParameterError(
        f"data must be a .parquet, .csv, .tsv or .arrow file, got {path.name!r}; convert it, or pass a table."
    )


def _of_parquet(path: Path) -> Source:
    parquet = require("pyarrow.parquet", extra="data", purpose="reading Parquet files")
    with parquet.ParquetFile(path) as file:
        found, schema = file.metadata, file.schema_arrow
    rows = [found.row_group(i).num_rows for i in range(found.num_row_groups)]
    if sum(rows) != found.num_rows:
        raise ValueError("row groups of another size in all than its footer says")
    # texts as codes: the file holds them so (a long one perhaps a million times), and each is looked up once
    texts = {field.name for field in schema if re.fullmatch("(large_)?(string|binary)", str(field.type))}

    def read(columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        present(columns, schema.names, path)
        # pre_buffer would hold the whole file
        coded = sorted(texts.intersection(columns))
        with parquet.ParquetFile(
            path, read_dictionary=coded, pre_buffer=False, page_checksum_verification=True
        ) as file:
            for i in range(len(rows)) if group is None else [group]:
                left = rows[i]
                for batch in file.iter_batches(batch_size=ROWS, row_groups=[i], columns=columns):
                    left -= batch.num_rows
                    yield batch
                if left:  # pyarrow takes what is there
                    raise ValueError("another number of rows than its footer says")

    return Source(repr(str(path)), sum(rows), max(len(rows), 1), read, path)


def _of_csv(path: Path) -> Source:
    arrow = require("pyarrow", extra="data", purpose="reading CSV files")
    csv = require("pyarrow.csv", extra="data", purpose="reading CSV files")

    def read(columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        names = names_of(path, columns)
        present(columns, names, path)
        refuse_empty_lines(path, names)
        parse = csv.ParseOptions(delimiter=separator_of(path))
        # texts as they are: a type guessed from the first rows would spoil labels such as 007, and fail on later rows
        convert = csv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(names, arrow.string()),
            strings_can_be_null=True,
            null_values=[""],
        )
        with csv.open_csv(path, parse_options=parse, convert_options=convert) as stream:
            yield from map(as_written, stream)

    return Source(repr(str(path)), 0, 1, read, path)


def _of_ipc(path: Path) -> Source:
    ipc = require("pyarrow.ipc", extra="data", purpose="reading Arrow files")
    with ipc.open_file(str(path)) as file:
        number, names = file.num_record_batches, file.schema.names

    def read(columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        present(columns, names, path)
        with ipc.open_file(str(path)) as opened:
            for i in range(number) if group is None else [group]:
                yield opened.get_batch(i).select(columns)

    return Source(repr(str(path)), 0, max(number, 1), read, path)


def _of_table(name: str, table: pa.Table) -> Source:
    def read(columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        present(columns, table.column_names, name)
        yield from table.select(columns).to_batches(max_chunksize=ROWS)

    return Source(name, table.num_rows, 1, read)


def present(columns: Sequence[str], names: Sequence[str], where: object) -> None:
    """Refuse data that lacks a column, or has two of one name."""
    for column in columns:
        if list(names).count(column) > 1:
            raise ParameterError(
                f"data must have one column {column!r}, got {list(names).count(column)} of that name in "
                f"{str(where)!r}; rename the others."
            )
        if column not in names:
            listed = ", ".join(map(repr, list(names)[:8])) + (", ..." if len(names) > 8 else "")
            raise ParameterError(f"data must have the column {column!r}, got {listed} in {str(where)!r}; rename it.")


@contextmanager
def readable(name: str, subject: str = "data") -> Iterator[None]:
    """Whatever pyarrow says about a damaged file, in one sentence that shows none of its values."""
    arrow = require("pyarrow", extra="data", purpose="reading data")
    try:
        yield
    except ShuffleDPError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        if "CSV" in str(error) and "UTF8" in str(error):
            raise other_encoding(name) from None
        raise ParameterError(
            f"{subject} must be readable, got damaged content in {name} ({_reason(error)}); write it again."
        ) from None


def _reason(error: Exception) -> str:
    """The words of an error without the values that it quotes: those are some user's."""
    if isinstance(error, UnicodeDecodeError):
        return "a name that is not UTF-8"
    text = " ".join(str(error).split())
    if "CSV" in text:  # a whole line may follow, with or without quotes: only what is known to be harmless is kept
        return ", ".join(["malformed CSV", *dict.fromkeys(_HARMLESS.findall(text))])
    return re.sub(r"(['\"]).*\1", "...", text)[:160].rstrip(".")
