"""The values of users as an engine or a client hands them to a query."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Coded(NamedTuple):
    """Values written as places in a short list: ``values[codes[i]]`` is that of row i, and code -1 a missing one."""

    codes: NDArray[np.int64]
    values: Sequence[object]


class Written(str):
    """A value of a file that has no types (CSV): a text, and the number or truth value that it spells.

    Which of them it is, the query knows: "007" is itself among labels that are texts, and 7 where a number is wanted.
    """

    __slots__ = ()


#: One value per row: numbers (NaN: missing), coded values, or any Python objects (None: missing).
Column = NDArray[Any] | Coded | Sequence[object]


#: How much every row counts; None: each as much as any other.
Weights = NDArray[np.float64] | None


def total(rows: int, weights: Weights) -> float:
    """What all rows count together; 1 where there are none."""
    return float(rows if weights is None else weights.sum()) or 1.0


def shares_of(places: NDArray[np.int64], size: int, weights: Weights) -> NDArray[np.float64]:
    """The share of the rows at each of ``size`` places.

    Examples
    --------
    >>> shares_of(np.array([0, 1, 1]), 2, None).tolist(), shares_of(np.array([0, 1]), 2, np.array([3.0, 1.0])).tolist()
    ([0.3333333333333333, 0.6666666666666666], [0.75, 0.25])
    """
    return np.asarray(np.bincount(places, weights=weights, minlength=size) / total(len(places), weights))


def each(column: Column, read: Callable[[object], T]) -> list[T]:
    """What is read of every row; of coded values each is read once, and a missing one is None.

    Examples
    --------
    >>> each(Coded(np.array([0, -1, 0]), ["a"]), str)
    ['a', 'None', 'a']
    """
    if isinstance(column, Coded):
        known = [*map(read, column.values), read(None)]
        return [known[code] for code in column.codes.tolist()]
    return [read(value) for value in (column.tolist() if isinstance(column, np.ndarray) else column)]


def length(column: Column) -> int:
    """The number of rows."""
    return len(column.codes) if isinstance(column, Coded) else len(column)


def as_numbers(column: Column) -> NDArray[np.float64]:
    """Floats, NaN for what is missing or not a number; a text is one if it spells one.

    Examples
    --------
    >>> as_numbers([1, None, "7", "2,5", True, 2.5]).tolist()
    [1.0, nan, 7.0, nan, 1.0, 2.5]
    """
    if isinstance(column, Coded):
        return np.append(as_numbers(column.values), np.nan)[column.codes]
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufb":
        return column.astype(np.float64, copy=False)
    return np.array([number(value) for value in column], dtype=np.float64)


def number(value: object) -> float:
    """The number that a value is or spells; NaN where it is none.

    Examples
    --------
    >>> number(" 2.50 "), number("N/A"), number("2,5"), number("1_000"), number("2026-01-01")
    (2.5, nan, nan, nan, nan)
    """
    if isinstance(value, str):  # first: the most common, and an abstract class takes long to deny
        if "_" in value:
            return float("nan")
    elif not isinstance(value, Real | Decimal | np.bool_):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]
    except ValueError:  # a text that spells none, or a signaling NaN
        return float("nan")


def absent(value: object) -> bool:
    """Whether there is no value: None, NaN, or a text that is blank or spells NaN.

    Examples
    --------
    >>> [absent(value) for value in (None, float("nan"), " ", "nan", "N/A", 0)]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan")
    return value is None or (isinstance(value, Real | Decimal) and math.isnan(number(value)))


def some_rows(column: Column, places: NDArray[np.intp]) -> Column:
    """The rows at these places."""
    if isinstance(column, Coded):
        return Coded(column.codes[places], column.values)
    return column[places] if isinstance(column, np.ndarray) else [column[i] for i in places.tolist()]


def concatenated(parts: Sequence[Column]) -> Column:
    """Columns of several parts as one; coded values are written out unless all parts are numbers.

    Examples
    --------
    >>> concatenated([np.array([1, 2]), Coded(np.array([0, -1]), ["a"])])
    [1, 2, 'a', None]
    """
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    return [value for part in parts for value in each(part, lambda value: value)]
