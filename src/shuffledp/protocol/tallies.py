"""Tallies as plain data: numbers in lists, with their dtype and shape; those of several queries nested."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.reading import mapping
from ..errors import ParameterError

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
