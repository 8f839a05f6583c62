"""Reports as Parquet: one column of messages of equal length, and the header of the batch in the metadata.

Beside the header stands a checksum of it and of all messages: those of Parquet cover neither footer nor page headers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._support.files import writing_whole
from .._support.optional import require
from .._support.reading import contained, opened
from ..errors import ParameterError
from ..protocol.batch import BATCH, METADATA, Batch, Header, read_header, write_batch
from ..protocol.messages import from_bytes
from ..protocol.plan import Plan
from .parquet_sizes import Footer, SeveralColumnsError, check_pages, read_footer
from .reading import readable

#: Where the metadata hold the checksum.
_CHECKSUM = b"shuffledp sha256"
#: Rows of one row group.
_GROUP = 1 << 20
#: Bytes of messages that are read from any file, and beyond those how many for each of its own: a small file may not
#: fill the memory.  Randomized messages are far from this; only a budget at which hardly one is random comes near.
_SMALL, _RATIO = 1 << 26, 64
#: Values in the footer of any file (a row group has about 30), and bytes of a file for each further one.
_FOOTER, _BYTES_PER_VALUE = 1 << 16, 1 << 10
#: Bytes of the pages of a row group beside its messages.
_AROUND = 1 << 16
#: Bytes of messages that are unpacked at once.
_AT_ONCE = 1 << 24


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether the name says so."""
    return Path(path).suffix.lower() in (".parquet", ".pq")


def check_out(out: str | os.PathLike[str], *inputs: object) -> Path:
    """The path of a result: the name of a file of reports, and none of the files that the result is made of."""
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
    if not is_parquet(path) and path.suffix.lower() not in ("", ".batch"):
        raise ParameterError(
            f"out must end in .parquet or .batch, got {os.fspath(out)!r}: reports are written in no other format; "
            "choose one of these."
        )
    return path


def header_of(path: str | os.PathLike[str], plan: Plan) -> Header | None:
    """The header of a batch of this plan; None if there is no file, or another one."""
    shown = repr(os.fspath(path))
    try:
        with opened(path, BATCH) as stream, readable(shown):
            return _footer(stream, plan, shown)[1] if is_parquet(path) else read_header(stream, plan, shown)
    except ParameterError:
        return None


def refuse_existing(out: Path, plan: Plan, *, overwrite: bool, new_reports: bool = True) -> None:
    """Refuse to write over a file, unless that is asked for: with new reports of the same users, or with others."""
    if overwrite or not out.is_file():
        return
    found = header_of(out, plan)
    what = f"which holds batch {found.id} of this plan, of {found.users:,} users, and is done" if found else "a file"
    why, unless = (
        ("a second report of the same users gives whoever has both more than the plan says", "nobody has seen it")
        if new_reports
        else ("what is in it would be lost", "that is not needed")
    )
    raise ParameterError(
        f"out must be a new file, got {str(out)!r}, {what}; keep it, because {why}, or pass overwrite=True "
        f"(--overwrite on the command line) if {unless}."
    )


def write_reports(path: str | os.PathLike[str], header: Header, parts: Iterable[bytes | bytearray]) -> None:
    """Write the shuffled messages, part after part, as Parquet or as a batch file, by the suffix of the path."""
    if not is_parquet(path):
        write_batch(path, header, parts)
        return
    arrow = require("pyarrow", extra="data", purpose="writing Parquet files")
    parquet = require("pyarrow.parquet", extra="data", purpose="writing Parquet files")
    text = header.text().encode("utf-8")
    schema = arrow.schema([("message", arrow.binary(header.bytes))], metadata={METADATA: text})
    checksum = hashlib.sha256(text)
    with (
        writing_whole(path, name="out") as stream,
        parquet.ParquetWriter(
            stream, schema, compression="zstd", write_statistics=False, write_page_checksum=True
        ) as writer,
    ):
        for part in _groups(parts, _GROUP * header.bytes):
            checksum.update(part)
            buffers = [None, arrow.py_buffer(part)]
            column = arrow.FixedSizeBinaryArray.from_buffers(schema.field(0).type, len(part) // header.bytes, buffers)
            writer.write_table(arrow.Table.from_arrays([column], schema=schema))
        writer.add_key_value_metadata({_CHECKSUM: checksum.hexdigest()})


def _groups(parts: Iterable[bytes | bytearray], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of ``size`` bytes, and what is left."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)


def _footer(stream: BinaryIO, plan: Plan, shown: str) -> tuple[Footer, Header]:
    """The footer of a Parquet file, and the header of the batch in it."""
    try:
        found = read_footer(stream, most=_FOOTER + os.fstat(stream.fileno()).st_size // _BYTES_PER_VALUE)
    except SeveralColumnsError:
        raise _not_ours(shown) from None
    header = Header.among(found.entries, plan, shown)
    if header is None:
        raise _not_ours(shown)
    return found, header


def read_reports(path: str | os.PathLike[str], plan: Plan) -> Batch:
    """A batch of this plan from either kind of file; a damaged one, or one of another plan, is refused."""
    if not is_parquet(path):
        return Batch.read(path, plan)
    shown = repr(os.fspath(path))
    with opened(path, BATCH) as stream, readable(shown, "reports"), contained(BATCH, os.fspath(path)):
        return _read(stream, plan, shown)


def _read(stream: BinaryIO, plan: Plan, shown: str) -> Batch:
    """Nothing is unpacked before footer, number of rows, sizes of pages and schema are those of the plan."""
    parquet = require("pyarrow.parquet", extra="data", purpose="reading Parquet files")
    size = os.fstat(stream.fileno()).st_size
    footer, header = _footer(stream, plan, shown)
    if not footer.rows == sum(chunk.rows for chunk in footer.chunks) == header.messages:
        raise _other_messages(header, f"{footer.rows:,}", shown)
    if header.messages * header.bytes > max(_SMALL, _RATIO * size):
        raise ParameterError(
            f"reports must unpack to at most {_RATIO} times their size, got {header.messages:,} messages of "
            f"{header.bytes} bytes from {size:,} bytes in {shown}; ask for them as a .batch file."
        )
    for chunk in footer.chunks:  # its messages, perhaps once more in a dictionary, and some bytes around them
        check_pages(stream, chunk, most=2 * chunk.rows * (header.bytes + 8) + _AROUND)
    with parquet.ParquetFile(stream, pre_buffer=False, page_checksum_verification=True) as file:
        data = _messages(file, header, shown)
    checksum = hashlib.sha256(footer.entries.get(METADATA, b""))
    checksum.update(data.data)
    said = checksum.hexdigest().encode()
    if footer.entries.get(_CHECKSUM, said) != said:  # other programs that write it again leave it out
        raise ValueError("other messages than its checksum says")
    return Batch(header, from_bytes(plan.query.randomizer.codec, data))


def _messages(file: Any, header: Header, shown: str) -> NDArray[np.uint8]:
    """All messages, one after the other, a part at a time."""
    if file.schema_arrow.names != ["message"]:
        raise _not_ours(shown)
    kind = str(file.schema_arrow.field(0).type)
    if kind != f"fixed_size_binary[{header.bytes}]":
        raise _other_messages(header, kind, shown)
    data = np.empty(header.messages * header.bytes, dtype=np.uint8)
    done = 0
    for batch in file.iter_batches(batch_size=max(1, _AT_ONCE // header.bytes)):
        column, length = batch.column(0), batch.num_rows * header.bytes
        if column.null_count or done + length > data.size:
            raise _other_messages(header, "missing or further ones", shown)
        first = column.offset * header.bytes
        data[done : done + length] = np.frombuffer(column.buffers()[1], dtype=np.uint8)[first : first + length]
        done += length
    if done != data.size:
        raise _other_messages(header, f"{done // header.bytes:,}", shown)
    return data


def _not_ours(shown: str) -> ParameterError:
    return ParameterError(
        f"reports must be a file that 'shuffledp privatize' wrote, got another in {shown}; run that on the data first."
    )


def _other_messages(header: Header, got: str, shown: str) -> ParameterError:
    return ParameterError(
        f"reports must hold {header.messages:,} messages of {header.bytes} bytes, got {got} in {shown}; copy the file "
        "again."
    )
