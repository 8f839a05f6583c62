"""Frames of reports, or of their counts, through the Arrow interface: no row becomes a Python object.

pandas, polars, DuckDB and Arrow itself hand over the same memory.  A column of messages of one length is a block of
bytes, which is counted where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.optional import require
from ..errors import ParameterError, ShuffleDPError


@contextmanager
def opened_frame(frame: object) -> Iterator[Any]:
    """A reader of record batches; what pyarrow says about the frame comes in one sentence."""
    arrow = require("pyarrow", extra="data", purpose="counting a frame")
    if not hasattr(frame, "__arrow_c_stream__"):
        raise ParameterError(
            f"frame must be a pandas, polars or Arrow table, got {type(frame).__name__}; pass a batch to "
            "Collector.ingest instead."
        )
    try:
        with arrow.RecordBatchReader.from_stream(frame) as reader:
            yield reader
    except ShuffleDPError:
        raise
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise ParameterError(
            f"frame must be readable by Arrow, got one that is not ({type(error).__name__}); give every column a type."
        ) from None


def place_of(schema: Any, name: str) -> int:
    """The place of the only column of this name."""
    place = int(schema.get_field_index(name))
    if place < 0:
        listed = ", ".join(map(repr, schema.names[:8]))
        raise ParameterError(f"frame must have one column {name!r}, got {listed or 'none'}; name the column.")
    return place


def message_bytes(array: Any, size: int) -> NDArray[np.uint8]:
    """The messages of an Arrow array, one after the other: its own memory, unless it holds views or a dictionary."""
    arrow = require("pyarrow", extra="data", purpose="counting a frame")
    kinds, kind = arrow.types, array.type
    if kinds.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if kinds.is_binary_view(kind):
        array = array.cast(arrow.large_binary())
        kind = array.type
    binary = kinds.is_binary(kind) or kinds.is_large_binary(kind)
    if array.null_count or not (binary or kinds.is_fixed_size_binary(kind)):
        got = f"{array.null_count:,} missing ones" if array.null_count else str(kind)
        raise _other(size, got)
    rows, first = len(array), array.offset
    if binary:
        wide = np.int64 if kinds.is_large_binary(kind) else np.int32
        ends = np.frombuffer(array.buffers()[1], dtype=wide)[first : first + rows + 1]
        if (np.diff(ends) != size).any():
            raise _other(size, "some of another length")
        first, memory = int(ends[0]), array.buffers()[2]
    elif kind.byte_width != size:
        raise _other(size, f"those of {kind.byte_width}")
    else:
        first, memory = first * size, array.buffers()[1]
    return np.frombuffer(memory, dtype=np.uint8)[first : first + rows * size]


def _other(size: int, got: str) -> ParameterError:
    return ParameterError(f"messages of the frame must be {size} bytes each, got {got}; use the plan of its clients.")


def whole_numbers(frame: object, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Columns of a frame that are whole numbers."""
    arrow = require("pyarrow", extra="data", purpose="reading counts")
    with opened_frame(frame) as reader:
        table = reader.read_all()
        columns = [table.column(place_of(table.schema, name)) for name in names]
        for name, column in zip(names, columns, strict=True):
            if column.null_count or not (arrow.types.is_integer(column.type) or arrow.types.is_decimal(column.type)):
                raise ParameterError(
                    f"column {name!r} of the counts must hold whole numbers, got {column.type} with "
                    f"{column.null_count:,} missing; pass what the query returned."
                )
        return [np.asarray(column.cast(arrow.int64()).to_numpy()) for column in columns]
