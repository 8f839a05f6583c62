"""Domains: how a user's value becomes an input of a mechanism.

*Who sends never depends on a value.*  Every row gives an input, whatever is in it: a value that is missing or outside
the domain becomes a declared one ("other", a default, the nearest end).  Nothing is dropped, left out of the count or
refused, because a missing report would reveal something about its user.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.reading.values import BLANKS, EXACT, label_key, number
from .._support.text import shortened
from ..errors import ParameterError
from .columns import Coded, Column, Written, absent, as_numbers, counted, some_rows

#: Labels of one domain, at most, and characters of one label.
MOST_LABELS, MOST_CHARACTERS = 10**6, 1000
#: Labels that are whole numbers within a range of at most this many times their number are looked up in a table.
_SPARSE = 8

Label = str | int | bool
#: The label of what counts as nothing, where a list may leave items out: the last place, which is never reported.
NOTHING = "\x00"
#: What is written for ``missing`` where users without a value are counted on their own.
OPTION = "option"


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
            raise ParameterError("labels must give at least two options, got one; add a label.")

    @cached_property
    def _places(self) -> dict[tuple[type, Label], int]:
        """Of every label, and of ``other``: the last one, unless it is one of them."""
        every = {(type(label), label): i for i, label in enumerate(self.labels)}
        every.setdefault((type(self.other), self.other), len(self.labels))
        return every

    @cached_property
    def place_of_other(self) -> int:
        """The place of ``other``."""
        return self._places[type(self.other), self.other]

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

    @property
    def rest(self) -> str:
        """The name of the option that holds only what is not listed; empty where ``other`` is one of the labels."""
        return self.names[-1] if self.place_of_other == len(self.labels) and self.other != NOTHING else ""

    @property
    def takes_in(self) -> str:
        """The label that also counts what is missing or unlisted, in words; empty where ``other`` is none of them."""
        shared = self.place_of_other < len(self.labels)
        return f"missing and unlisted ones count as {shortened(repr(self.other), 40)}" if shared else ""

    def portable(self, column: int) -> dict[str, Any]:
        """How a value of this column becomes a place, for clients in every language."""
        if any(type(label) is int and abs(label) >= EXACT for label in self.labels):
            raise ParameterError("labels must be whole numbers below 2^53 for every client, got larger; write texts.")
        return {"kind": "label", "column": column, "labels": list(self.labels), "other": self.place_of_other}

    def places(self, column: Column) -> NDArray[np.int64]:
        """The option of every row."""
        if isinstance(column, Coded):
            return np.append(self.places(column.values), self.place_of_other)[column.codes]
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            return self._places_of_numbers(column)
        other = self.place_of_other
        found = map(self._place, column)
        return np.array([other if place is None else place for place in found], dtype=np.int64)

    def _place(self, value: object) -> int | None:
        """That of the label; of a file without types that with this text, else what it spells; None if unlisted."""
        places = self._places
        if not isinstance(value, Written):
            return places.get(label_key(value))
        text = str(value)
        spelled = [(str, text), label_key(number(text))]
        if text.strip(BLANKS).lower() in ("true", "false"):
            spelled.append((bool, text.strip(BLANKS).lower() == "true"))
        return next((places[key] for key in spelled if key in places), None)

    # -- values that are not what they should be ------------------------------------------------------------------

    def counts(self, column: Column) -> Counter[str]:
        """How many values there are, and how many are missing or unlisted.

        Examples
        --------
        >>> dict(Labels(("apple", "pear")).counts(["pear", None, "plum", " Pear"]))
        {'missing': 1, 'unlisted': 2, 'case': 1, 'values': 4}
        """
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            missing = int(np.isnan(column).sum()) if column.dtype.kind == "f" else 0
            meant = int((column == self.other).sum()) if type(self.other) is int else 0
            unlisted = int((self.places(column) == self.place_of_other).sum()) - missing - meant
            spelled = self._spelled(column) if unlisted else 0
            return Counter(values=len(column)) + Counter(missing=missing, unlisted=unlisted, type=spelled)
        found = counted(column, self._kind)
        nearly = found["blanks"] + found["case"] + found["type"]
        return found + Counter(unlisted=nearly)

    def _spelled(self, column: NDArray[Any]) -> int:
        """How many whole numbers are the text of a label."""
        if not self._folded:
            return 0
        found, many = np.unique(column[np.abs(column) < EXACT], return_counts=True)
        pairs = zip(found.tolist(), many.tolist(), strict=True)
        return sum(n for x, n in pairs if x == int(x) and (str, str(int(x))) in self._places)

    def _kind(self, value: object) -> str:
        if self._place(value) is not None:
            return ""
        if absent(value):
            return "missing"
        if isinstance(value, str) and self._place(type(value)(value.strip())) is not None:
            return "blanks"
        kind, found = label_key(value)
        known = kind is str or (kind in (int, bool) and abs(found) < EXACT)  # longer ones are not written out
        if known and self._place(Written(found)) is not None:
            return "type"
        return "case" if isinstance(value, str) and value.strip().casefold() in self._folded else "unlisted"

    @cached_property
    def _folded(self) -> set[str]:
        return {label.casefold() for label in self.labels if isinstance(label, str)}

    @cached_property
    def _whole(self) -> tuple[int, NDArray[np.int64]] | None:
        """The smallest whole label, and the place of every number from it on, with that of ``other`` at the end.

        None where the labels are spread too widely, or too large for a subtraction in 64 bits.
        """
        numbers = [x for x in self.labels if type(x) is int]
        if not numbers or max(numbers) - min(numbers) > _SPARSE * len(numbers) + 1024:
            return None
        low = min(numbers)
        if max(abs(low), abs(max(numbers))) >= 2**53:
            return None
        table = np.full(max(numbers) - low + 2, self.place_of_other, dtype=np.int64)
        for label in numbers:
            table[label - low] = self._places[int, label]
        return low, table

    def _places_of_numbers(self, column: NDArray[Any]) -> NDArray[np.int64]:
        if self._whole is None:
            found, back = np.unique(column, return_inverse=True)
            return self.places(list(found.tolist()))[back]
        low, table = self._whole
        if column.dtype.kind == "f":
            whole = np.where((column == np.floor(column)) & (np.abs(column) < EXACT), column, low - 1.0)
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


def number_or_option(missing: float | str | None) -> float | None:
    """What a missing number counts as, if that is a number; a text other than ``OPTION`` is refused."""
    if not isinstance(missing, str):
        return missing
    if missing != OPTION:
        raise ParameterError(
            f"missing must be a number of the range or {OPTION!r}, got {missing!r:.60}; {OPTION!r} estimates the share "
            "of the missing ones."
        )
    return None


@dataclass(frozen=True)
class Interval:
    """Numbers in [low, high], in a unit; those outside count as the nearest end, and missing ones as ``missing``.

    Where nothing is declared (None) a client whose number is missing takes the middle, since it must send something;
    an operator who has the data gets an error instead (:meth:`counts`), unless that is an ``option`` of its own.

    Examples
    --------
    >>> delay = Interval(0.0, 60.0, missing=0.0, unit="min")
    >>> delay.clipped([12, 90, None, -3]).tolist()
    [12.0, 60.0, 0.0, 0.0]
    """

    low: float
    high: float
    missing: float | None = None
    unit: str = ""
    option: bool = False

    def __post_init__(self) -> None:
        (low, high), missing = check.interval(self.low, self.high), self.missing
        if missing is not None:
            hint = "a missing value counts as a number of the range"
            missing = check.in_range("missing", missing, low=low, high=high, hint=hint)
        if not isinstance(self.unit, str) or len(self.unit) > 40:
            raise ParameterError(f"unit must be a short text, got {self.unit!r:.60}; write unit='min'.")
        vars(self).update(low=low, high=high, missing=missing)

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    @property
    def substitute(self) -> float:
        """What a missing number counts as."""
        return 0.5 * self.low + 0.5 * self.high if self.missing is None else self.missing

    def clipped(self, column: Column) -> NDArray[np.float64]:
        """Every row as a number of the range."""
        values = as_numbers(column)
        return np.where(np.isnan(values), self.substitute, np.clip(values, self.low, self.high))

    def counts(self, column: Column) -> Counter[str]:
        """How many values there are, and how many are missing, unreadable, or clipped below or above.

        Those without a number are counted as undeclared too, unless it is declared what becomes of them.

        Examples
        --------
        >>> dict(Interval(0.0, 60.0, missing=0.0).counts([12, 90, None, "2,5", -3]))
        {'values': 5, 'below': 1, 'above': 1, 'missing': 1, 'unreadable': 1}
        """
        values = as_numbers(column)
        none = np.isnan(values)
        sums = {"values": len(values), "below": (values < self.low).sum(), "above": (values > self.high).sum()}
        found = Counter({kind: int(many) for kind, many in sums.items()})
        if isinstance(column, np.ndarray) and column.dtype.kind in "iufb":
            found["missing"] = int(none.sum())
        elif none.any():
            some = counted(some_rows(column, np.flatnonzero(none)), lambda x: "missing" if absent(x) else "unreadable")
            found += Counter(missing=some["missing"], unreadable=some["unreadable"])
        undeclared = 0 if self.option or self.missing is not None else found["missing"] + found["unreadable"]
        return found + Counter(undeclared=undeclared)

    def portable(self, kind: str, column: int, **more: Any) -> dict[str, Any]:
        """How a number of this column is read, for clients in every language."""
        ends = {"low": self.low, "high": self.high, "missing": self.substitute}
        return {"kind": kind, "column": column, **ends, **more}

    def shares(self, column: Column) -> NDArray[np.float64]:
        """Every row as a share of the range, in [0, 1]."""
        return np.clip((self.clipped(column) - self.low) / self.width, 0.0, 1.0)

    def bins(self, column: Column, number: int) -> NDArray[np.int64]:
        """Every row as one of ``number`` bins of equal width; the last one includes ``high``."""
        return np.minimum((self.shares(column) * number).astype(np.int64), number - 1)

    def edges(self, number: int) -> NDArray[np.float64]:
        """The ends of these bins."""
        return np.linspace(self.low, self.high, number + 1)

    def words(self, value: float) -> str:
        """A number with its unit."""
        return f"{value:g}{' ' + self.unit if self.unit else ''}"

    def clipping(self, missing: str = "") -> str:
        """What becomes of numbers outside, and of missing ones (unless it is said), in words."""
        missing = missing or f"count as {self.words(self.substitute)}"
        return f"are clipped to [{self.low:g}, {self.words(self.high)}], and missing ones {missing}"
