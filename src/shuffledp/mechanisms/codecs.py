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
