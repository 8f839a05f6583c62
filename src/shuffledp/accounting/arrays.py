"""Arrays of n, delta and eps in one question: what counts as an array, how it is validated, and the common shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.delta_rules import read
from ..errors import ParameterError

#: Several numbers: a list or tuple of them, at any depth, or an array.
Several = Sequence[Any] | NDArray[Any]

#: The most answers of one call.
MOST_ANSWERS = 1_000_000
_MOST_USERS = 10**15


def is_several(value: object) -> bool:
    """Whether this is a list, a tuple or an array of one dimension or more (a column of a data frame is one).

    Examples
    --------
    >>> is_several([1, 2]), is_several(5), is_several("0.01/n"), is_several(np.float64(0.1))
    (True, False, False, False)
    """
    if isinstance(value, list | tuple | range):
        return True
    if isinstance(value, np.generic) or not hasattr(value, "__array__"):
        return False
    return np.ndim(np.asarray(value)) > 0


def users(values: object) -> NDArray[np.int64]:
    """Whole numbers of users between 1 and 1e15, of any shape.

    Examples
    --------
    >>> users([1000, 1e6]).tolist()
    [1000, 1000000]
    """
    wanted, advice = "whole numbers of users between 1 and 1e15", "write for example n=[1000, 1_000_000]"
    found = _numbers("n", values, wanted, advice, lambda x: (x >= 1) & (x <= _MOST_USERS) & (x == np.floor(x)))
    return found.astype(np.int64)


def deltas(values: object) -> NDArray[np.float64]:
    """Numbers in (0, 1), of any shape."""
    advice = "write for example delta=[1e-6, 1e-8], or one rule '0.01/n'"
    return _numbers("delta", values, "numbers in (0, 1)", advice, lambda x: (x > 0.0) & (x < 1.0)).astype(np.float64)


def _numbers(
    name: str, values: object, wanted: str, advice: str, good: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> NDArray[Any]:
    """An array of valid numbers; text, booleans, objects, ragged and empty lists are refused."""
    try:
        found = np.asarray(values)
    except (ValueError, TypeError, OverflowError):  # lists of different lengths
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must hold {wanted}, got {check.shown(values)}; {advice}.")
    if not 1 <= found.size <= MOST_ANSWERS:
        raise ParameterError(
            f"{name} must hold 1 to {MOST_ANSWERS:,} numbers, got {found.size:,}; "
            f"{'pass at least one' if not found.size else 'ask in several calls'}."
        )
    bad = ~good(found)
    if bad.any():
        given = check.shown(found[bad].flat[0].item())
        raise ParameterError(f"{name} must hold {wanted}, got {given} among them; correct it.")
    return found


def finite(name: str, values: ArrayLike, wanted: str, *, low: float = 0.0, high: float = np.inf) -> NDArray[np.float64]:
    """Finite numbers from ``low`` to ``high``, as an array of the same shape."""
    try:
        found = np.asarray(values)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "iuf" or not np.all(np.isfinite(found) & (found >= low) & (found <= high)):
        raise ParameterError(f"{name} must hold finite {wanted}, got {check.shown(values, 60)}; leave such values out.")
    return found.astype(np.float64)


def broadcast(named: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Arrays of one shape, by NumPy's rules.

    Examples
    --------
    >>> [a.tolist() for a in broadcast({"n": np.array([[10], [20]]), "delta": np.array([0.1, 0.2])})]
    [[[10, 10], [20, 20]], [[0.1, 0.2], [0.1, 0.2]]]
    """
    shapes = [array.shape for array in named.values()]
    names = " and ".join(named)
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ParameterError(
            f"{names} must have shapes that NumPy can broadcast, got {' and '.join(map(str, shapes))}; "
            "give them equal lengths, or make one of them a column."
        ) from None
    size = int(np.prod(shape, dtype=object))
    if size > MOST_ANSWERS:
        raise ParameterError(
            f"{names} must ask for at most {MOST_ANSWERS:,} answers together, got {size:,}; ask in several calls."
        )
    return tuple(np.broadcast_to(array, shape) for array in named.values())


def users_and_deltas(n: object, delta: object) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """n and delta of one shape; a rule such as "0.01/n" gives every n its delta, rounded down."""
    many = users(n) if is_several(n) else np.array(check.users(n))
    if isinstance(delta, str):
        rule = read(delta)
        known = {size: rule.at(size) for size in set(many.reshape(-1).tolist())}
        return many, np.array([known[size] for size in many.reshape(-1).tolist()]).reshape(many.shape)
    targets = deltas(delta) if is_several(delta) else np.array(check.probability_delta(delta))
    sizes, targets = broadcast({"n": many, "delta": targets})
    return sizes, targets
