"""Arrow columns as a query takes them: numbers as numpy arrays, everything else as codes of its distinct values.

Where users have several rows, every row gets a random key; a user's rows with the smallest keys are those of a uniform
draw without replacement, which is what each user's client would report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.optional import require
from ..errors import ParameterError
from ..queries.columns import Coded, Column
from ..randomness.sampling import Source, words

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


# -- several rows per user -------------------------------------------------------------------------------------


def chosen_rows(users: NDArray[Any], reports: int, src: Source) -> NDArray[np.int64]:
    """For every different user ``reports`` places of its rows, drawn uniformly; -1 where it has fewer.

    Users come in an arbitrary order, the places of one user next to each other.  All rows without a user (NaN, or
    code -1) count as those of one, so that nobody sends more by leaving it out.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> places = chosen_rows(np.array([7, 7, 7, 9]), 2, source(None)).reshape(-1, 2)
    >>> sorted((set(row.tolist()) - {-1}) <= {0, 1, 2} for row in places), sorted(places[:, 1] < 0)
    ([False, True], [np.False_, np.True_])
    """
    users = _known(users)
    keys = words(src, len(users), 64)
    order = np.lexsort((keys, users))
    ranked = users[order]
    new = np.concatenate([[True], ranked[1:] != ranked[:-1]]) if len(users) else np.zeros(0, dtype=bool)
    person = np.cumsum(new) - 1
    start = np.flatnonzero(new)
    rank = np.arange(len(users)) - start[person] if len(users) else person
    out = np.full((start.size, reports), -1, dtype=np.int64)
    keep = rank < reports
    out[person[keep], rank[keep]] = order[keep]
    return out.reshape(-1)


def row_weights(users: NDArray[Any], reports: int) -> tuple[NDArray[np.float64], int]:
    """How often :func:`chosen_rows` chooses every row, on average, and how many places it leaves empty in all.

    Examples
    --------
    >>> weights, empty = row_weights(np.array([7, 7, 7, 9]), 2)
    >>> weights.round(3).tolist(), empty
    ([0.667, 0.667, 0.667, 1.0], 1)
    """
    _, person, many = np.unique(_known(users), return_inverse=True, return_counts=True)
    return np.minimum(1.0, reports / many)[person], int(np.maximum(reports - many, 0).sum())


def _known(users: NDArray[Any]) -> NDArray[Any]:
    """Rows without a user count as those of one."""
    return np.where(np.isnan(users), np.inf, users) if users.dtype.kind == "f" else users
