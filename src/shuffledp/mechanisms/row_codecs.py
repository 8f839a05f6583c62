"""Reports that are rows: of bits, of the members of a set, of digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..randomness.bits import column_counts
from .codecs import all_below

#: Sets are numbered up to this many of them.
_MOST_SETS = 10**6


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
