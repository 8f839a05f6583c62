"""What travels: a message as bytes, always of the same length, and sums over messages as plain data.

A message is what a codec writes, and nothing else.  Sums are numbers in lists, with their dtype and shape; those of
several queries are nested.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.reading import mapping
from ..errors import ParameterError
from ..mechanisms.codecs import Codec


def message_length(codec: Codec) -> int:
    """Bytes of every message."""
    return codec.dtype.itemsize * math.prod(codec.shape)


def to_bytes(codec: Codec, data: NDArray[Any]) -> NDArray[Any]:
    """Messages as an array of opaque bytes, one entry each."""
    rows = np.ascontiguousarray(data, dtype=codec.dtype.newbyteorder("<"))
    if rows.shape[1:] != codec.shape:
        raise ParameterError(f"messages must have shape {codec.shape}, got {rows.shape[1:]}; run the plan's mechanism.")
    return rows.view(np.uint8).reshape(len(rows), message_length(codec)).view(f"V{message_length(codec)}").reshape(-1)


def from_bytes(codec: Codec, raw: bytes | memoryview | NDArray[Any]) -> NDArray[Any]:
    """Messages from their bytes, one after the other; a remainder is refused."""
    flat = np.frombuffer(raw, dtype=np.uint8) if not isinstance(raw, np.ndarray) else raw.view(np.uint8).reshape(-1)
    size = message_length(codec)
    if flat.size % size:
        raise ParameterError(
            f"messages must be {size} bytes each, got {flat.size:,} bytes, which is not a multiple; read them again."
        )
    rows = flat.view(codec.dtype.newbyteorder("<"))
    return rows.reshape(-1, *codec.shape).astype(codec.dtype, copy=False)


# -- sums ------------------------------------------------------------------------------------------------------

_DTYPES = ("int64", "float64")


def plain(counts: object) -> Any:
    """Ready for JSON; floats are written so that they are read back exactly.

    Examples
    --------
    >>> plain(np.array([3, 4]))
    {'dtype': 'int64', 'shape': [2], 'entries': [3, 4]}
    """
    if not isinstance(counts, np.ndarray):
        return int(counts)  # type: ignore[call-overload]
    if counts.dtype == object:
        return {"dtype": "object", "shape": list(counts.shape), "entries": [plain(x) for x in counts.ravel()]}
    kind = "float64" if counts.dtype.kind == "f" else "int64"
    return {"dtype": kind, "shape": list(counts.shape), "entries": counts.ravel().astype(kind).tolist()}


def restored(data: object) -> NDArray[Any]:
    """What :func:`plain` wrote."""
    found = _restored(data)
    if not isinstance(found, np.ndarray):
        raise ParameterError("counts must be an array, got a number; restore the file from a copy.")
    return found


def _restored(data: object) -> NDArray[Any] | int:
    if type(data) is int:
        return data
    given = mapping("counts", data, needed=("dtype", "shape", "entries"))
    entries, shape, dtype = given["entries"], given["shape"], given["dtype"]
    try:
        if dtype == "object":
            out = np.empty(len(entries), dtype=object)
            for i, entry in enumerate(entries):
                out[i] = _restored(entry)
            return out.reshape(shape)
        if dtype not in _DTYPES:
            raise ValueError(dtype)
        return np.array(entries, dtype=dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            "counts must be numbers of the stated shape, got something else; restore the file."
        ) from None
