"""A message as bytes: what a codec writes, always of the same length, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
