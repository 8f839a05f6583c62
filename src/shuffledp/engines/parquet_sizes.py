"""What a Parquet file says about its sizes, in footer and pages, before any of it is unpacked.

A footer states sizes, but a reader believes the header of every page: 60 kB can say, and mean, that they unpack to
2 GB.  Both are Thrift structures in the compact protocol (FileMetaData and PageHeader in parquet.thrift of the Parquet
format 2.x).  They are read here because pyarrow ends the process at some metadata that contradict themselves.
Whatever is not as it should be is a ValueError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

#: Types of values in the compact protocol, and the bits of those that are whole numbers.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 7, 8, 9, 12
_WHOLE = {4: 16, 5: 32, 6: 64}
#: Structures within structures; a footer has seven.
_DEEPEST = 12
#: Bytes of a footer; the entries may be long.
_LONG_FOOTER = 1 << 24
#: Bytes of the header of a page: tried first, and at most (statistics are in it).
_HEADER, _LONG_HEADER = 1 << 8, 1 << 16
#: What every page counts at least, so that empty ones come to an end.
_PAGE = 1 << 10


class Chunk(NamedTuple):
    """The only column of a row group: how many rows, and where its pages are."""

    rows: int
    start: int
    length: int


class Footer(NamedTuple):
    """What counts of a footer: all rows, the chunks of a file of one column, and its own entries."""

    rows: int
    chunks: list[Chunk]
    entries: dict[bytes, bytes]


class SeveralColumnsError(ValueError):
    """A file that holds something else than messages."""


def read_footer(stream: BinaryIO, *, most: int) -> Footer:
    """The footer of a file of one column, if it holds no more values than ``most``: a reader needs memory for each."""
    size = os.fstat(stream.fileno()).st_size
    stream.seek(max(size - 8, 0))
    length, end = int.from_bytes(stream.read(4), "little"), stream.read(4)
    if end != b"PAR1" or length + 12 > size:
        raise ValueError("no Parquet file, or a part of one")
    if length > _LONG_FOOTER:
        raise ValueError("a footer that is too long")
    stream.seek(size - 8 - length)
    found = _Compact(stream.read(length), most).struct()
    try:
        chunks = [_chunk(group, size) for group in found[4]]
        entries = {item[1]: item[2] for item in found.get(5, [])}
        return Footer(int(found[3]), chunks, entries)
    except (KeyError, TypeError, IndexError, AttributeError):
        raise ValueError("a footer that lacks what it needs") from None


def _chunk(group: dict[int, Any], size: int) -> Chunk:
    if len(group[1]) != 1:
        raise SeveralColumnsError("another number of columns than one")
    said = group[1][0][3]
    start = min(filter(None, (said[9], said.get(11))))  # data, and a dictionary before them
    if start < 4 or said[7] < 0 or start + said[7] > size or group[3] < 1:
        raise ValueError("a row group of impossible size")
    return Chunk(group[3], start, said[7])


def check_pages(stream: BinaryIO, chunk: Chunk, *, most: int) -> None:
    """Refuse a chunk whose pages say that they unpack to more than ``most`` bytes."""
    total = 0
    for unpacked in _pages(stream, chunk):
        total += max(unpacked, _PAGE)
        if total > most:
            raise ValueError("pages that unpack to more than their messages")


def _pages(stream: BinaryIO, chunk: Chunk) -> Iterator[int]:
    """The bytes to which each page unpacks, as its header says."""
    at, end = chunk.start, chunk.start + chunk.length
    while at < end:
        for window in (_HEADER, _LONG_HEADER):
            stream.seek(at)
            header = _Compact(stream.read(window))
            try:
                fields = header.struct()
                break
            except _ShortError:
                continue
        else:
            raise ValueError("the header of a page that does not end")
        unpacked, packed = fields.get(2), fields.get(3)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or min(unpacked, packed) < 0:
            raise ValueError("a page of impossible size")
        at += header.at + packed
        if at > end:
            raise ValueError("a page that does not end")
        yield unpacked


class _ShortError(ValueError):
    """More bytes are needed."""


class _Compact:
    """Bytes in the compact protocol, how many of them are read so far, and how many values may still come."""

    def __init__(self, raw: bytes, most: int = 1 << 10) -> None:
        self._raw, self.at, self._left = raw, 0, most

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The values of a structure by the numbers of their fields."""
        found: dict[int, Any] = {}
        number = 0
        while (first := self._byte()) != 0:
            number = number + (first >> 4) if first >> 4 else self._signed(16)
            kind = first & 15
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError("more row groups or fields than a batch has")
        if kind in _WHOLE:
            return self._signed(_WHOLE[kind])
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind == _STRUCT and depth < _DEEPEST:
            return self.struct(depth + 1)
        if kind == _LIST and depth < _DEEPEST:
            first = self._byte()
            length = first >> 4 if first >> 4 < 15 else self._unsigned()
            return [self._value(first & 15, depth + 1) for _ in range(length)]
        if kind in (_TRUE, _FALSE, _BYTE):  # in a list a truth value has a byte
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError("a structure of another kind")

    def _byte(self) -> int:
        if self.at >= len(self._raw):
            raise _ShortError("a structure that does not end")
        self.at += 1
        return self._raw[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        self.at += length
        if self.at > len(self._raw):
            raise _ShortError("a structure that does not end")
        return self._raw[self.at - length : self.at]

    def _unsigned(self) -> int:
        """Seven bits at a time, the lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number that does not end")

    def _signed(self, bits: int) -> int:
        """A number of more bits than these is refused: another reader would keep its lower bits and see another one."""
        value = self._unsigned()
        if value >> bits:
            raise ValueError("a number that is too large")
        return (value >> 1) ^ -(value & 1)
