"""Arrow columns as a query takes them: numbers as numpy arrays, everything else as codes of its distinct values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.optional import require
from ..errors import ParameterError
from ..queries.columns import Coded, Column

if TYPE_CHECKING:
    import pyarrow as pa


def as_column(array: pa.Array | pa.ChunkedArray) -> NDArray[Any] | Coded:
    """One column; a missing number is NaN, any other missing value has code -1."""
    arrow = require("pyarrow", extra="data", purpose="reading columns")
    compute = require("pyarrow.compute", extra="data", purpose="reading columns")
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    whole = arrow.types.is_integer(kind)
    if (whole or arrow.types.is_floating(kind)) and array.null_count == 0:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    # whole numbers of 64 bits would lose some of them as floats
    if arrow.types.is_floating(kind) or arrow.types.is_decimal(kind) or (whole and kind.bit_width < 64):
        return np.asarray(array.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False))
    if arrow.types.is_nested(kind):  # lists, pairs: every row on its own
        return Coded(np.arange(len(array)), array.to_pylist())
    if not arrow.types.is_dictionary(kind):
        array = compute.dictionary_encode(array)
    codes = compute.fill_null(array.indices.cast(arrow.int64()), -1)
    return Coded(np.asarray(codes.to_numpy(zero_copy_only=False)), array.dictionary.to_pylist())


def user_keys(array: pa.Array | pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Numbers that are equal where the values are, whatever the encoding; -1, NaN or inf for a missing user.

    A dictionary may name one value twice, or hold the missing one, so that its codes do not say whose row it is.
    """
    arrow = require("pyarrow", extra="data", purpose="reading columns")
    compute = require("pyarrow.compute", extra="data", purpose="reading columns")
    chunks = array.chunks if isinstance(array, arrow.ChunkedArray) else [array]
    kind = array.type
    while arrow.types.is_dictionary(kind) or isinstance(kind, arrow.BaseExtensionType):
        coded = arrow.types.is_dictionary(kind)
        kind = kind.value_type if coded else kind.storage_type
        chunks = [chunk.dictionary_decode() if coded else chunk.storage for chunk in chunks]
    if arrow.types.is_nested(kind) or arrow.types.is_union(kind):
        raise ParameterError(
            f"user_column must hold numbers, texts or dates, got {kind} in {name!r}; give every user one plain value."
        )
    plain = arrow.chunked_array(chunks, type=kind)
    if arrow.types.is_floating(kind):
        return np.asarray(as_column(plain))
    codes = compute.dictionary_encode(plain).combine_chunks()
    return np.asarray(compute.fill_null(codes.indices.cast(arrow.int64()), -1).to_numpy(zero_copy_only=False))


def rows(column: NDArray[Any] | Coded, places: NDArray[np.int64]) -> Column:
    """Some rows of a column; place -1 is a row in which the value is missing."""
    if isinstance(column, Coded):
        return Coded(np.append(column.codes, -1)[places], column.values)
    array = np.asarray(column)
    if (places < 0).any():
        array = np.append(array.astype(np.float64), np.nan)
    return np.asarray(array[places])
