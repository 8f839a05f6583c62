"""How a report is written: dtype, shape, how reports are summed, and which column of the law a report is.

A mechanism names its codec; sampler, tally, audit and the checks of raw arrays all read it.  Those of bits, sets and
digits are in row_codecs.py, those of several answers in one report in record_codecs.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError

#: Entries of a long row that short ones are put together to.
_FOLD = 512
#: From this many bytes on it pays to count them in pairs.
_MANY = 1 << 18


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

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How often each category was sent."""
        return counts_of(data, self.size)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The category itself."""
        return np.asarray(data).astype(np.int64)


def all_below(data: NDArray[Any], limit: int) -> bool:
    """Whether these are whole numbers in [0, limit)."""
    return data.size == 0 or (int(data.max()) < limit and (data.dtype.kind == "u" or int(data.min()) >= 0))


def counts_of(data: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How often each number below ``size`` occurs; many bytes are counted two at a time, as one number each."""
    flat = data.reshape(-1)
    if flat.dtype != np.uint8 or size > 256 or flat.size < _MANY or not flat.flags.c_contiguous:
        return np.bincount(flat, minlength=size)
    pairs = np.bincount(flat[: flat.size // 2 * 2].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    total = pairs.sum(axis=0) + pairs.sum(axis=1) + np.bincount(flat[flat.size // 2 * 2 :], minlength=256)
    return np.asarray(total[: max(size, 1 + int(np.flatnonzero(total)[-1]))])


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
