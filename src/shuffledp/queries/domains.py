"""Domains: how a user's value becomes an input of a mechanism.

*Who sends never depends on a value.*  Every row gives an input, whatever is in it: a value that is missing or outside
the domain becomes a declared one ("other", a default, the nearest end).  Nothing is dropped, counted apart or refused,
because a missing report would tell on its user.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from .columns import Coded, Column, Written, as_numbers

#: Labels of one domain, at most, and characters of one label.
MOST_LABELS, MOST_CHARACTERS = 10**6, 1000
#: Labels that are whole numbers no further apart than this many times their number are looked up in a table.
_SPARSE = 8
#: Whole numbers up to this are exact as floats.
_EXACT = 2.0**53

Label = str | int | bool
#: The label of what counts as nothing, where a list may leave items out: the last place, which is never reported.
NOTHING = "\x00"


@dataclass(frozen=True)
class Labels:
    """Named options; everything else, and nothing at all, is ``other``, which may be one of them.

    Examples
    --------
    >>> fruit = Labels(("apple", "pear"))
    >>> fruit.names
    ('apple', 'pear', 'other')
    >>> fruit.places(["pear", None, "plum", "apple"]).tolist()
    [1, 2, 2, 0]
    >>> Labels((1, 2, 3), other=3).places(np.array([1, 2, 99])).tolist()
    [0, 1, 2]
    """

    labels: tuple[Label, ...]
    other: Label = "other"

    def __post_init__(self) -> None:
        labels = self.labels
        if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
            raise ParameterError(f"labels must be a list of names, got {labels!r:.60}; write ['red', 'green'].")
        found = tuple(_label(x) for x in labels)
        if not 1 <= len(found) <= MOST_LABELS:
            raise ParameterError(f"labels must be 1 to {MOST_LABELS:,} names, got {len(found):,}; group rare ones.")
        seen: set[tuple[type, Label]] = set()
        for label in found:
            if (type(label), label) in seen:
                raise ParameterError(f"labels must be different, got {label!r:.60} twice; remove one of them.")
            seen.add((type(label), label))
        object.__setattr__(self, "labels", found)
        object.__setattr__(self, "other", _label(self.other))
        if len(self.names) < 2:
            raise ParameterError("labels must leave two options at least, got one in all; there is nothing to ask.")

    @cached_property
    def _places(self) -> dict[tuple[type, Label], int]:
        return {(type(label), label): i for i, label in enumerate(self.labels)}

    @cached_property
    def place_of_other(self) -> int:
        """The place of ``other``: the last one, unless it is one of the labels."""
        return self._places.get((type(self.other), self.other), len(self.labels))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The options in words, in order; a text that reads like a number beside it is quoted: '1'."""
        every = (*self.labels, self.other)[: self.size]
        read = Counter(map(str, every))
        return tuple(repr(x) if isinstance(x, str) and read[x] > 1 else str(x) for x in every)

    @property
    def size(self) -> int:
        """The number of options."""
        return len(self.labels) + (self.place_of_other == len(self.labels))

    def places(self, column: Column) -> NDArray[np.int64]:
        """The option of every row."""
        if isinstance(column, Coded):
            return np.append(self.places(column.values), self.place_of_other)[column.codes]
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            return self._places_of_numbers(column)
        other, places = self.place_of_other, self._places
        return np.array(
            [
                self._place_written(value) if isinstance(value, Written) else places.get(_key(value), other)
                for value in column
            ],
            dtype=np.int64,
        )

    def _place_written(self, value: Written) -> int:
        """That of the label with this text, else of the number or the truth value that it spells."""
        text, found = str(value), self._places
        spelled = [(str, text), _key(value.number)]
        if text.strip().lower() in ("true", "false"):
            spelled.append((bool, text.strip().lower() == "true"))
        return next((found[key] for key in spelled if key in found), self.place_of_other)

    @cached_property
    def _whole(self) -> tuple[int, NDArray[np.int64]] | None:
        """The smallest whole label, and the place of every number from it on, with that of ``other`` at the end.

        None where the labels are far apart, or too large for a subtraction of 64 bits.
        """
        numbers = [x for x in self.labels if type(x) is int]
        if not numbers or max(numbers) - min(numbers) > _SPARSE * len(numbers) + 1024:
            return None
        low = min(numbers)
        if max(abs(low), abs(max(numbers))) >= 2**53:
            return None
        table = np.full(max(numbers) - low + 2, self.place_of_other, dtype=np.int64)
        for number in numbers:
            table[number - low] = self._places[int, number]
        return low, table

    def _places_of_numbers(self, column: NDArray[Any]) -> NDArray[np.int64]:
        if self._whole is None:
            found, back = np.unique(column, return_inverse=True)
            return self.places(list(found.tolist()))[back]
        low, table = self._whole
        if column.dtype.kind == "f":
            whole = np.where((column == np.floor(column)) & (np.abs(column) < _EXACT), column, low - 1.0)
            column = whole.astype(np.int64)
        elif column.dtype == np.uint64:
            column = np.where(column < 2**63, column, np.uint64(2**63 - 1)).astype(np.int64)
        if column.dtype.itemsize == 1:  # every number that there can be: one look-up per row
            every = np.arange(256, dtype=np.uint8).view(column.dtype)
            return self._places_of_numbers(every.astype(np.int64))[column.view(np.uint8)]
        # modulo 2^64: what is below the smallest label becomes large, so that one comparison finds all that is outside
        place = np.subtract(column, low, dtype=np.int64).view(np.uint64)
        places: NDArray[np.int64] = table[np.minimum(place, np.uint64(len(table) - 1), out=place).view(np.int64)]
        return places


def _label(value: object) -> Label:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        raise ParameterError(f"a label must have at most {MOST_CHARACTERS:,} characters, got more; shorten it.")
    if not isinstance(value, str | int | bool):
        raise ParameterError(f"a label must be a text, a whole number or a truth value, got {value!r:.60}; rename it.")
    return value


def _key(value: object) -> tuple[type, Any]:
    """A value as the labels are written: 3.0 is the whole number 3; what cannot be a label matches none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal):
        number = as_numbers([value])[0]
        value = int(number) if abs(number) < _EXACT and number == int(number) == value else value
    return (type(value), value) if isinstance(value, str | int | bool) else (type(None), None)


@dataclass(frozen=True)
class Interval:
    """Numbers in [low, high], in a unit; those outside count as the nearest end, and missing ones as ``missing``.

    Examples
    --------
    >>> delay = Interval(0.0, 60.0, missing=0.0, unit="min")
    >>> delay.clipped([12, 90, None, -3]).tolist()
    [12.0, 60.0, 0.0, 0.0]
    """

    low: float
    high: float
    missing: float
    unit: str = ""

    def __post_init__(self) -> None:
        low = check.in_range("low", self.low, low=-1e300, high=1e300)
        high = check.in_range("high", self.high, low=-1e300, high=1e300)
        if not low < high:
            raise ParameterError(f"high must be above low, got low = {low:g} and high = {high:g}; exchange them.")
        missing = check.in_range(
            "missing", self.missing, low=low, high=high, hint="a missing value counts as a number of the range"
        )
        if not isinstance(self.unit, str) or len(self.unit) > 40:
            raise ParameterError(f"unit must be a short text, got {self.unit!r:.60}; write unit='min'.")
        vars(self).update(low=low, high=high, missing=missing)

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def clipped(self, column: Column) -> NDArray[np.float64]:
        """Every row as a number of the range."""
        values = as_numbers(column)
        return np.where(np.isnan(values), self.missing, np.clip(values, self.low, self.high))

    def shares(self, column: Column) -> NDArray[np.float64]:
        """Every row as a share of the range, in [0, 1]."""
        return np.clip((self.clipped(column) - self.low) / self.width, 0.0, 1.0)

    def bins(self, column: Column, number: int) -> NDArray[np.int64]:
        """Every row as one of so many bins of equal width; the last one includes ``high``."""
        return np.minimum((self.shares(column) * number).astype(np.int64), number - 1)

    def edges(self, number: int) -> NDArray[np.float64]:
        """The ends of these bins."""
        return np.linspace(self.low, self.high, number + 1)

    def words(self, value: float) -> str:
        """A number with its unit."""
        return f"{value:g}{' ' + self.unit if self.unit else ''}"


def default_missing(low: object, high: object) -> float:
    """The middle of the range: what a missing number counts as unless something else is declared."""
    ends = [check.real(name, end) for name, end in (("low", low), ("high", high))]
    return 0.5 * ends[0] + 0.5 * ends[1] if all(map(math.isfinite, ends)) else 0.0
