"""How a report is written: dtype, shape, how reports are summed, and which column of the law a report is.

A mechanism names its codec; sampler, tally, audit and the checks of raw arrays all read it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .bit_rows import column_counts

#: Entries of a long row that short ones are put together to.
_FOLD = 512
#: Sets are numbered up to this many of them.
_MOST_SETS = 10**6


class Codec(Protocol):
    """One way of writing reports."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array of reports."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one report."""

    @property
    def scratch(self) -> int:
        """Bytes of memory that a user takes while being randomised; it sets the length of a chunk."""

    def readable(self, data: NDArray[Any]) -> bool:
        """Whether an array can be reports of this kind."""

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Sums over reports."""

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The column of the probability matrix that each report belongs to."""


@dataclass(frozen=True)
class Category:
    """A number in [0, size)."""

    size: int
    scratch: int = 32
    shape: ClassVar[tuple[int, ...]] = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned one."""
        return np.min_scalar_type(self.size - 1)

    def readable(self, data: NDArray[Any]) -> bool:
        """Whole numbers in a flat array, none beyond the last category: a table of counts would be as long."""
        return data.ndim == 1 and data.dtype.kind in "iu" and _all_below(data, self.size)

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each category was sent."""
        return np.bincount(data, minlength=self.size)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The category itself."""
        return np.asarray(data).astype(np.int64)


@dataclass(frozen=True)
class PackedBits:
    """A row of bits, eight to a byte (``numpy.packbits``), the last byte filled up with zeros.

    ``ones`` is the number of set bits where every report has the same.
    """

    width: int
    scratch: int = 64
    ones: int | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""
        return np.dtype(np.uint8)

    @property
    def shape(self) -> tuple[int, ...]:
        """As many bytes as the bits need."""
        return ((self.width + 7) // 8,)

    def readable(self, data: NDArray[Any]) -> bool:
        """Bytes, in rows of the right length."""
        if data.ndim != 2 or data.shape[1:] != self.shape or data.dtype != np.uint8:
            raise ParameterError(
                f"reports must be packed bits, uint8 of shape (users, {self.shape[0]}), got {data.dtype} "
                f"of shape {data.shape}; use numpy.packbits on rows of {self.width} bits."
            )
        return True

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each bit was set."""
        return column_counts(data, self.width)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The bits read as a binary number, the first bit highest; the place of the set where ``ones`` is given."""
        bits = np.unpackbits(np.asarray(data), axis=1, count=self.width).astype(np.int64)
        if self.ones is not None:
            return _places(bits @ _powers(self.width), self.ones, self.width)
        return np.asarray(bits @ (1 << np.arange(self.width - 1, -1, -1)))


@dataclass(frozen=True)
class _WholeRows:
    """``count`` whole numbers in [0, ``limit``) per report, in the smallest unsigned dtype."""

    count: int
    limit: int
    scratch: int = 64

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned one."""
        return np.min_scalar_type(self.limit - 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per number."""
        return (self.count,)

    def readable(self, data: NDArray[Any]) -> bool:
        """Whole numbers, one row per report."""
        return data.ndim == 2 and data.shape[1:] == self.shape and data.dtype.kind in "iu"


@dataclass(frozen=True)
class Members(_WholeRows):
    """``count`` different items of a domain of ``limit``, in rising order (so that the order reveals nothing)."""

    def readable(self, data: NDArray[Any]) -> bool:
        """Items of the domain, one row per report."""
        return super().readable(data) and _all_below(data, self.limit)

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each item was named."""
        return np.bincount(data.reshape(-1), minlength=self.limit)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each set among those of its size, in lexicographic order."""
        return _places(_powers(self.limit)[np.asarray(data)].sum(axis=1), self.count, self.limit)


def _all_below(data: NDArray[Any], limit: int) -> bool:
    return data.size == 0 or (int(data.max()) < limit and (data.dtype.kind == "u" or int(data.min()) >= 0))


def _powers(domain: int) -> NDArray[np.int64]:
    """The bit that stands for each item in the mask of a set; masks must fit 64 bits."""
    if domain > 62:
        raise ParameterError(f"sets can be numbered in a domain of at most 62 items, got {domain}; use a smaller one.")
    return 1 << np.arange(domain, dtype=np.int64)


def _places(masks: NDArray[Any], count: int, domain: int) -> NDArray[np.int64]:
    """The place of each mask among those of all sets of its size, in lexicographic order of the members."""
    if math.comb(domain, count) > _MOST_SETS:
        raise ParameterError(
            f"sets can be numbered up to {_MOST_SETS:,} of them, got those of {count} out of {domain} items; "
            "use a smaller domain."
        )
    every = np.array([sum(1 << v for v in y) for y in combinations(range(domain), count)])
    order = np.argsort(every)
    return np.asarray(order[np.searchsorted(every[order], masks)])


@dataclass(frozen=True)
class Digits(_WholeRows):
    """``count`` digits below ``limit``, such as the coefficients of a user's own hash function and its answer."""

    scratch: int = 256

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Only a mechanism knows what its digits support."""
        raise ParameterError("reports that are digits have no sums of their own; ask the mechanism for its tally.")

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The number with these digits, the lowest first."""
        return np.asarray(np.asarray(data).astype(np.int64) @ self.limit ** np.arange(self.count))


def column_sums(data: NDArray[Any]) -> NDArray[Any]:
    """The sum over rows; of short rows, many are added at once as one long row."""
    fold = _FOLD // data.shape[1] if data.ndim == 2 and data.flags.c_contiguous and data.shape[1] else 0
    many = len(data) // fold * fold if fold > 1 else 0
    if not many:
        return np.asarray(data.sum(axis=0))
    folded = data[:many].reshape(-1, fold * data.shape[1]).sum(axis=0)
    return np.asarray(folded.reshape(fold, -1).sum(axis=0) + data[many:].sum(axis=0))


@dataclass(frozen=True)
class Numbers:
    """A number, or a vector of numbers, of a given dtype."""

    kind: Any
    shape: tuple[int, ...] = ()
    scratch: int = 160

    @property
    def dtype(self) -> np.dtype[Any]:
        """As declared."""
        made: np.dtype[Any] = np.dtype(self.kind)
        return made

    @property
    def reach(self) -> float:
        """How far apart two numbers can be that are accepted as reports."""
        if self.dtype.kind == "f":
            return math.inf
        limits = np.iinfo(self.dtype)
        return float(int(limits.max) - int(limits.min))

    def readable(self, data: NDArray[Any]) -> bool:
        """Finite numbers in rows of the right length."""
        whole = self.dtype.kind in "iu"
        return data.shape[1:] == self.shape and data.dtype.kind in ("iu" if whole else "iuf")

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """The sum over reports."""
        wide = data.astype(np.int64 if self.dtype.kind in "iu" else np.float64, copy=False)
        return np.atleast_1d(column_sums(wide))

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """Only a mechanism knows how its numbers are grouped."""
        raise ParameterError("reports that are numbers have no columns of their own; ask the mechanism.")


@dataclass(frozen=True)
class _Answers(ABC):
    """Answers of several mechanisms in one record; ``parts`` are the codecs of the answers."""

    parts: tuple[Codec, ...]
    shape: ClassVar[tuple[int, ...]] = ()
    #: what reports are called in errors
    _word: ClassVar[str]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a record."""
        return self.layout([(part.dtype, part.shape) for part in self.parts])

    @staticmethod
    @abstractmethod
    def layout(kinds: list[tuple[np.dtype[Any], tuple[int, ...]]]) -> np.dtype[Any]:
        """The dtype of records whose answers are of these kinds."""

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Only a mechanism knows how its answers are summed."""
        raise ParameterError(f"reports that are {self._word} have no sums of their own; ask the mechanism.")

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """Only a mechanism knows the columns of its answers."""
        raise ParameterError(f"reports that are {self._word} have no columns of their own; ask the mechanism.")


@dataclass(frozen=True)
class Records(_Answers):
    """The number of one of several queries, and its answer, in a field that queries of the same kind share.

    ``parts`` are the codecs of the answers; the field of queries 0 and 2 is called "q0+q2".
    """

    _word: ClassVar[str] = "records"

    @property
    def scratch(self) -> int:
        """That of the largest answer, and some for the record."""
        return 64 + max(part.scratch for part in self.parts)

    @staticmethod
    def layout(kinds: list[tuple[np.dtype[Any], tuple[int, ...]]]) -> np.dtype[Any]:
        """The dtype of records whose answers are of these kinds."""
        fields: dict[tuple[np.dtype[Any], tuple[int, ...]], list[str]] = {}
        for k, kind in enumerate(kinds):
            fields.setdefault(kind, []).append(f"q{k}")
        query = ("query", np.min_scalar_type(len(kinds) - 1))
        return np.dtype([query, *(("+".join(names), *kind) for kind, names in fields.items())])

    @staticmethod
    def fields(dtype: np.dtype[Any]) -> list[str]:
        """The name of the field of every query."""
        home = {part: name for name in (dtype.names or ())[1:] for part in name.split("+")}
        return [home[f"q{k}"] for k in range(len(home))]

    def readable(self, data: NDArray[Any]) -> bool:
        """Records that start with the query."""
        names = data.dtype.names
        if names is None or names[0] != "query":
            raise ParameterError(
                f"reports must be records of a query and its answer, got an array of {data.dtype}; "
                "pass what privatise returned."
            )
        return data.ndim == 1

    def answers(self, data: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
        """Per query: its answers, and which reports those are."""
        self.readable(data)
        chosen = [data["query"] == k for k in range(len(self.parts))]
        return [(data[field][at], at) for field, at in zip(self.fields(data.dtype), chosen, strict=True)]


@dataclass(frozen=True)
class Tuples(_Answers):
    """Several answers in one report, one field each: "q0", "q1", ...

    ``parts`` are the codecs of the answers.
    """

    _word: ClassVar[str] = "tuples"

    @property
    def scratch(self) -> int:
        """That of all answers, and some for the record."""
        return 64 + sum(part.scratch for part in self.parts)

    @staticmethod
    def layout(kinds: list[tuple[np.dtype[Any], tuple[int, ...]]]) -> np.dtype[Any]:
        """The dtype of tuples whose answers are of these kinds."""
        return np.dtype([(f"q{k}", *kind) for k, kind in enumerate(kinds)])

    def readable(self, data: NDArray[Any]) -> bool:
        """Records with one field for each answer."""
        wanted = tuple(f"q{k}" for k in range(len(self.parts)))
        if data.dtype.names != wanted:
            raise ParameterError(
                f"reports must be records with the fields {', '.join(wanted)}, got an array of {data.dtype}; "
                "pass what privatise returned."
            )
        return data.ndim == 1 and all(
            part.readable(answers) for part, answers in zip(self.parts, self.answers(data), strict=True)
        )

    def answers(self, data: NDArray[Any]) -> list[NDArray[Any]]:
        """The answers to every question, one entry per report."""
        return [data[f"q{k}"] for k in range(len(self.parts))]
