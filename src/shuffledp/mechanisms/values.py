"""Values of users: turns what was passed into one checked array and refuses values outside the domain."""

from __future__ import annotations

import math
import sys
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError


def refuse_single(name: str, of: str, array: NDArray[Any], given: object) -> None:
    """Refuse a single bare value; the message shows how to pass it as an array."""
    if array.ndim > 0:
        return
    if array.dtype.kind == "O" and not isinstance(given, Number):  # None, a set, a dictionary, a generator
        raise ParameterError(
            f"{name} must have one entry per {of}, got {type(given).__name__}; pass a list or an array."
        )
    text = repr(array.item())
    one = text if len(text) <= 40 else f"{text[:37]}..."
    raise ParameterError(f"{name} must have one entry per {of}, got the single value {one}; pass [{one}] for one {of}.")


def as_array(name: str, values: Any) -> NDArray[Any]:
    """numpy, arrow and pandas arrays and lists as one plain array; ragged and masked ones are refused."""
    # a client that never saw one need not load numpy.ma; another thread may be loading it, and then it has no class yet
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(values, masked):
        raise ParameterError(f"{name} must not be masked, got a masked array; drop the masked entries first.")
    if hasattr(values, "to_numpy"):
        try:
            values = values.to_numpy(zero_copy_only=False)  # pyarrow copies only when asked
        except TypeError:
            values = values.to_numpy()
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(
            f"{name} must have rows of equal length, got ragged ones; give one entry per user."
        ) from None


def categories(values: NDArray[Any], d: int, name: str = "values") -> NDArray[Any]:
    """Whole numbers in [0, d) in the smallest unsigned dtype."""
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise ParameterError(
            f"{name} must be a flat array of whole numbers in [0, {d}), got {values.dtype} of shape {values.shape}; "
            "number the categories from 0."
        )
    if values.dtype.kind == "i" and d - 1 <= np.iinfo(values.dtype).max:
        outside = bool(values.view(values.dtype.str.replace("i", "u")).max() >= d)  # negative numbers are huge there
    else:
        outside = bool(values.min() < 0 or values.max() >= d)
    if outside:
        bad = int(values.min()) if values.min() < 0 else int(values.max())
        raise ParameterError(f"{name} must lie in [0, {d}), got {bad}; number the categories from 0.")
    return values.astype(np.min_scalar_type(d - 1), copy=False)


def repeated(sets: NDArray[Any]) -> NDArray[Any]:
    """The entries that occur more than once in their row."""
    ordered = np.sort(sets, axis=1)
    return np.asarray(ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]])


def item_sets(values: NDArray[Any], d: int, s: int) -> NDArray[Any]:
    """Sets of s different items of [0, d), one row per user; a flat array is accepted for s = 1."""
    if s == 1 and values.ndim == 1:
        values = values[:, None]
    if values.dtype.kind not in "iu" or values.ndim != 2 or values.shape[1] != s:
        raise ParameterError(
            f"values must have shape (users, {s}) and be whole numbers, got {values.dtype} of shape {values.shape}; "
            "give the items of each user in one row."
        )
    sets = categories(values.reshape(-1), d).reshape(values.shape)
    if repeated(sets).size:
        raise ParameterError(
            f"values must hold {s} different items in every row, got one twice; pad smaller sets with dummy items."
        )
    return sets


def padded_sets(values: NDArray[Any], d: int, most: int | None = None) -> NDArray[Any]:
    """Sets of (at most ``most``) different items of [0, d), one row per user, padded with -1."""
    if values.dtype.kind not in "iu" or values.ndim != 2 or not 1 <= values.shape[1] <= (most or math.inf):
        limit = f"m) with m <= {most}" if most else "items)"
        raise ParameterError(
            f"values must be whole numbers of shape (users, {limit}, -1 for no item, got {values.dtype} of shape "
            f"{values.shape}; give one row per user."
        )
    low, high = int(values.min()), int(values.max())
    if low < -1 or high >= d:
        raise ParameterError(
            f"values must be items in [0, {d}) or -1 for none, got {low if low < -1 else high}; "
            "number the items from 0."
        )
    sets = values.astype(np.min_scalar_type(-d), copy=False)
    twice = repeated(sets)
    if (twice >= 0).any():
        item = int(twice[twice >= 0][0])
        raise ParameterError(f"values must not repeat an item in a row, got {item} twice; list each item once.")
    return sets


def numbers(values: NDArray[Any], low: float, high: float, columns: int | None = None) -> NDArray[np.float64]:
    """Finite reals in [low, high]; with ``columns``, one row of that many per user."""
    if values.dtype.kind not in "iufb":
        raise ParameterError(f"values must be real numbers, got an array of {values.dtype}; convert it first.")
    out = values.astype(np.float64, copy=False)
    wanted = 1 if columns is None else 2
    if out.ndim != wanted or (columns is not None and out.shape[1] != columns):
        shape = "(users,)" if columns is None else f"(users, {columns})"
        raise ParameterError(f"values must have shape {shape}, got {out.shape}; give one row per user.")
    if not (out.min() >= low and out.max() <= high):  # NaN passes neither
        raise ParameterError(f"values must lie in [{low:g}, {high:g}], got values outside; rescale or clip them first.")
    return out


def paired(values: Any) -> Any:
    """A tuple (keys, values) as one array of (key, value) rows; anything else as it is."""
    if not isinstance(values, tuple) or len(values) != 2:
        return values
    keys, held = np.asarray(values[0]), np.asarray(values[1])
    if keys.shape != held.shape or keys.ndim != 2:
        raise ParameterError(
            f"keys and values must have one shape (users, m), got {keys.shape} and {held.shape}; pad with key -1."
        )
    return np.stack([keys, held], axis=2)


def key_values(values: NDArray[Any], d: int) -> NDArray[np.float64]:
    """(key, value) rows of every user: different keys in [0, d), or -1 for none, with values in [-1, 1]."""
    if values.dtype.kind not in "iuf" or values.ndim != 3 or values.shape[1] < 1 or values.shape[2] != 2:
        raise ParameterError(
            f"values must be numbers of shape (users, m, 2), got {values.dtype} of shape {values.shape}; "
            "give (key, value) rows, with key -1 for none."
        )
    out = values.astype(np.float64, copy=False)
    keys, held = out[:, :, 0], out[:, :, 1]
    if not np.all((keys >= -1) & (keys < d) & (keys == np.floor(keys))):
        raise ParameterError(f"keys must be whole numbers in [0, {d}) or -1 for none, got another; number keys from 0.")
    if (repeated(keys) >= 0).any():
        raise ParameterError("keys must differ within a user, got one twice; merge its values first.")
    if not np.all(((held >= -1) & (held <= 1)) | (keys < 0)):
        raise ParameterError("values must lie in [-1, 1], got values outside; rescale or clip them first.")
    return out
