"""Reports as Parquet: one column of messages of equal length, and the header of the batch in the metadata."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .._support.files import writing_whole
from .._support.optional import require
from ..errors import ParameterError
from ..protocol.batch import MAGIC, Batch, Header, read_header, write_batch
from ..protocol.messages import from_bytes
from ..protocol.plan import Plan
from .reading import readable

#: Where the metadata hold the header, in this version and in the first.
_KEY, _KEY_1 = MAGIC.strip(), b"shuffledp batch"
#: Rows of one row group.
_GROUP = 1 << 20


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether the name says so."""
    return Path(path).suffix.lower() in (".parquet", ".pq")


def check_out(out: str | os.PathLike[str], *inputs: object) -> Path:
    """The path of a result: a file name, and none of the files that the result is made of."""
    path = Path(out)
    if not os.fspath(out) or not path.name or path.name == ".." or path.is_dir():
        raise ParameterError(f"out must be the path of a file, got {os.fspath(out)!r}; name a file.")
    for given in inputs:
        named = isinstance(given, str | os.PathLike) and path.exists() and os.path.exists(given)
        if named and os.path.samefile(path, given):  # type: ignore[arg-type]  # it is a path
            raise ParameterError(
                f"out must be a file of its own, got {os.fspath(out)!r}, which is read and would be overwritten; "
                "choose another path."
            )
    return path


def header_of(path: str | os.PathLike[str], plan: Plan) -> Header | None:
    """The header of a batch of this plan; None if there is no file, or another one."""
    if not Path(path).is_file():
        return None
    try:
        if not is_parquet(path):
            with open(path, "rb") as stream:
                return read_header(stream, plan, repr(os.fspath(path)))
        parquet = require("pyarrow.parquet", extra="data", purpose="reading Parquet files")
        with readable(repr(os.fspath(path))):
            found = parquet.read_schema(path).metadata or {}
        return _header(found, plan, repr(os.fspath(path)))
    except (OSError, ParameterError):
        return None


def refuse_second(out: Path, plan: Plan, *, overwrite: bool) -> None:
    """Refuse to write new reports over a file, unless that is asked for."""
    if overwrite or not out.is_file():
        return
    found = header_of(out, plan)
    what = f"which holds batch {found.id} of this plan, of {found.users:,} users, and is done" if found else "a file"
    raise ParameterError(
        f"out must be a new file, got {str(out)!r}, {what}; keep it, because a second report of the same users gives "
        "whoever has both more than the plan says, or pass overwrite=True (--overwrite on the command line) if nobody "
        "has seen it."
    )


def write_reports(path: str | os.PathLike[str], header: Header, parts: Iterable[bytes | bytearray]) -> None:
    """Write the shuffled messages, part after part, as Parquet or as a batch file, by the suffix of the path."""
    if not is_parquet(path):
        write_batch(path, header, parts)
        return
    arrow = require("pyarrow", extra="data", purpose="writing Parquet files")
    parquet = require("pyarrow.parquet", extra="data", purpose="writing Parquet files")
    schema = arrow.schema([("message", arrow.binary(header.bytes))], metadata={_KEY: header.text().encode("utf-8")})
    with (
        writing_whole(path, name="out") as stream,
        parquet.ParquetWriter(
            stream, schema, compression="zstd", write_statistics=False, write_page_checksum=True
        ) as writer,
    ):
        waiting = bytearray()
        for part in parts:
            waiting += part
            while len(waiting) >= _GROUP * header.bytes:
                _write(writer, schema, bytes(waiting[: _GROUP * header.bytes]))
                del waiting[: _GROUP * header.bytes]
        if waiting:
            _write(writer, schema, bytes(waiting))


def _write(writer: object, schema: object, raw: bytes) -> None:
    import pyarrow as pa

    width = schema.field(0).type.byte_width  # type: ignore[attr-defined]
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(raw) // width, [None, pa.py_buffer(raw)])
    writer.write_table(pa.Table.from_arrays([column], schema=schema))  # type: ignore[attr-defined]


def _header(found: dict[bytes, bytes], plan: Plan, shown: str) -> Header:
    """The header in the metadata of a Parquet file."""
    version = 2 if _KEY in found else 1
    text = found.get(_KEY if version == 2 else _KEY_1)
    if text is None:
        raise ParameterError(f"reports must be a file that 'shuffledp privatise' wrote, got another in {shown}.")
    return Header.parse(text.decode("utf-8", "replace"), plan, shown, version=version)


def read_reports(path: str | os.PathLike[str], plan: Plan) -> Batch:
    """A batch of this plan from either kind of file; a damaged one, or one of another plan, is refused."""
    if not is_parquet(path):
        return Batch.read(path, plan)
    parquet = require("pyarrow.parquet", extra="data", purpose="reading Parquet files")
    shown = repr(os.fspath(path))
    if not Path(path).is_file():
        raise ParameterError(f"reports must be a file, got {shown}, which was not found; check the path.")
    with readable(shown):
        table = parquet.read_table(path, page_checksum_verification=True)
    found = table.schema.metadata or {}
    header = _header(found if table.column_names == ["message"] else {}, plan, shown)
    column = table.column(0).combine_chunks()
    kind = column.type
    if str(kind) != f"fixed_size_binary[{header.bytes}]" or column.null_count or len(column) != header.messages:
        raise ParameterError(
            f"reports must hold {header.messages:,} messages of {header.bytes} bytes, got {len(column):,} of {kind} in "
            f"{shown}; copy the file again."
        )
    if hasattr(column, "chunks"):
        raw = b"".join(chunk.buffers()[1].to_pybytes() for chunk in column.chunks)
    else:
        raw = np.frombuffer(column.buffers()[1], dtype=np.uint8, count=(len(column) + column.offset) * header.bytes)[
            column.offset * header.bytes :
        ].tobytes()
    return Batch(header, from_bytes(plan.query.randomizer.codec, raw))
