"""The values of users as an engine or a client hands them to a query, and how many are not what they should be.

A report is sent whatever a value is (domains.py), so that a wrong column would become a plausible answer.  The
operator who has the data is therefore told how many values were missing, unreadable, clipped or unlisted, and gets an
error where there are many.  These are exact counts of the data, without any noise: they are printed where the data is,
and are not part of a plan, a batch or the state of a collector.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._support.reading.values import number
from ..errors import ParameterError

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


# -- values that are not what they should be -------------------------------------------------------------------

#: What can be wrong with a value, in words, and what to do about it.
ODD = {
    "missing": ("missing", "check that this is the column"),
    "unreadable": ("unreadable as a number or text", "write numbers such as 2.5, without words, dates or commas"),
    "below": ("clipped below", "check the column and its unit, or plan with another range"),
    "above": ("clipped above", "check the column and its unit, or plan with another range"),
    "unlisted": ("unlisted", "check the column, or plan with other labels"),
}
#: Of the unlisted ones: what would make a label of them.
_NEARLY = {"blanks": "surrounding blanks", "case": "letter case", "type": "their type (text or number)"}
#: More than this share of one kind in a column is an error unless it is accepted.
MOST_ODD = 0.2


@dataclass
class ValueCounts:
    """Counts by column; those of several parts of the data add up, in any order.

    Examples
    --------
    >>> one = ValueCounts({"wait": Counter(values=4, missing=1)})
    >>> print(one + ValueCounts({"wait": Counter(values=4, above=2)}))
    values of 'wait': 8, of which 1 missing (12.5 %), 2 clipped above (25 %)
    """

    columns: dict[str, Counter[str]] = field(default_factory=dict)

    def __add__(self, other: ValueCounts) -> ValueCounts:
        names = [*dict.fromkeys([*self.columns, *other.columns])]
        none: Counter[str] = Counter()
        return ValueCounts({name: self.columns.get(name, none) + other.columns.get(name, none) for name in names})

    def __str__(self) -> str:
        """A line for each column."""
        return "\n".join(map(self._line, self.columns))

    def _line(self, name: str) -> str:
        found = self.columns[name]
        words = {kind: word for kind, (word, _) in ODD.items() if found[kind]}
        said = [f"{found[kind]:,} {word} ({self._share(name, kind)})" for kind, word in words.items()]
        said += [f"{found[key]:,} of these only because of {word}" for key, word in _NEARLY.items() if found[key]]
        what = f"of which {', '.join(said)}" if said else "all as declared"
        return f"values of {name!r}: {found['values']:,}, {what}"

    def _share(self, name: str, kind: str) -> str:
        return f"{100 * self.columns[name][kind] / self.columns[name]['values']:.3g} %"

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Ready for JSON: for each column the number of values, and of those of each kind."""
        return {name: {kind: found[kind] for kind in ("values", *ODD)} for name, found in self.columns.items()}

    def check(self, *, accept: bool) -> None:
        """Refuse numbers that are absent where the query does not say what they count as, and too many of any kind."""
        for name, found in self.columns.items():
            if found["undeclared"]:
                raise ParameterError(
                    f"missing must be set where a number can be absent, got {found['missing']:,} missing and "
                    f"{found['unreadable']:,} unreadable values in the column {name!r}; say under missing, in the "
                    "query of the plan, what they count as (a number or, in ranges and means, 'option'), or correct "
                    "the column."
                )
        for name, found in () if accept else self.columns.items():
            for kind, (word, cure) in ODD.items():
                if found[kind] > MOST_ODD * found["values"]:
                    raise ParameterError(self._refusal(name, kind, word, cure))

    def _refusal(self, name: str, kind: str, word: str, cure: str) -> str:
        found = self.columns[name]
        if kind == "unlisted":
            close = [(found[key], near) for key, near in _NEARLY.items() if found[key]]
            if close:
                told = (f"{many:,} of them differ from a label by {near} alone" for many, near in close)
                cure = "; ".join(told) + ": correct them"
        return (
            f"at most {100 * MOST_ODD:g} % of the values of the column {name!r} may be {word}, got "
            f"{self._share(name, kind)} ({found[kind]:,} of {found['values']:,}); {cure}, or accept this: accept=True "
            "(--accept on the command line)."
        )


def counted(column: Column, kind: Callable[[object], str]) -> Counter[str]:
    """The values of a column by their kind ("": as it should be); of coded ones each is looked at once.

    Examples
    --------
    >>> dict(counted(Coded(np.array([0, 0, -1]), ["a"]), lambda value: "" if value else "missing"))
    {'missing': 1, 'values': 3}
    """
    found: Counter[str] = Counter()
    if isinstance(column, Coded):
        many = np.bincount(column.codes + 1)
        for code in np.flatnonzero(many).tolist():
            found[kind(column.values[code - 1] if code else None)] += int(many[code])
    else:
        found.update(map(kind, column))
    found["values"] = sum(found.values())
    del found[""]
    return found
