"""How a report is written: dtype, shape, how reports are summed, and which column of the law a report is.

A mechanism names its codec; sampler, tally, audit and the checks of raw arrays all read it.  Codecs of several answers
in one report are in record_codecs.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError

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
        """Bytes of memory that a user takes while being randomized; it sets the length of a chunk."""

    def readable(self, data: NDArray[Any]) -> bool:
        """Whether an array can be reports of this kind."""

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these reports have a form that a client can have sent."""

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
        return data.ndim == 1 and data.dtype.kind in "iu" and all_below(data, self.size)

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Categories that exist."""
        return np.asarray(data < self.size)

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each category was sent."""
        return np.bincount(data, minlength=self.size)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The category itself."""
        return np.asarray(data).astype(np.int64)


def all_below(data: NDArray[Any], limit: int) -> bool:
    """Whether these are whole numbers in [0, limit)."""
    return data.size == 0 or (int(data.max()) < limit and (data.dtype.kind == "u" or int(data.min()) >= 0))


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

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Finite numbers."""
        return np.asarray(np.isfinite(data).reshape(len(data), -1).all(axis=1))

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """The sum over reports."""
        wide = data.astype(np.int64 if self.dtype.kind in "iu" else np.float64, copy=False)
        return np.atleast_1d(wide.sum(axis=0))

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """Only a mechanism knows how its numbers are grouped."""
        raise ParameterError("reports that are numbers have no columns of their own; ask the mechanism.")


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

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """No bit beyond the last one, and as many set as every report has."""
        within = (data[:, -1] & ((1 << (-self.width % 8)) - 1)) == 0
        return np.asarray(within if self.ones is None else within & (np.bitwise_count(data).sum(axis=1) == self.ones))

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each bit was set."""
        from ..randomness.bits import column_counts  # accounting needs no random bits

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

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Every number below the limit."""
        return np.asarray((data < self.limit).all(axis=1))


@dataclass(frozen=True)
class Members(_WholeRows):
    """``count`` different items of a domain of ``limit``, in ascending order (so that the order reveals nothing)."""

    def readable(self, data: NDArray[Any]) -> bool:
        """Items of the domain, one row per report."""
        return super().readable(data) and all_below(data, self.limit)

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Different items of the domain, in ascending order."""
        return np.asarray(super().proper(data) & (data[:, 1:] > data[:, :-1]).all(axis=1))

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each item was named."""
        return np.bincount(data.reshape(-1), minlength=self.limit)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each set among those of its size, in lexicographic order."""
        return _places(_powers(self.limit)[np.asarray(data)].sum(axis=1), self.count, self.limit)


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
