"""Reports of a user's function, written as a library mechanism writes them, so that its law can be read off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms.codecs import Members, PackedBits
from ..mechanisms.randomizer import Randomizer
from .foreign import short
from .reading import Raw

BoolArray = NDArray[np.bool_]


class Layout:
    """How a mechanism writes a report, and which reports it could ever send."""

    def __init__(self, mechanism: Randomizer, value: Any) -> None:
        self._mechanism = mechanism
        self._empty = mechanism.privatize(np.array([value] * 2)).data[:0]
        self._members: int | None = None  # of a report that is a set of a fixed size
        self._bits, self._packed = 0, False  # of a report that is a row of bits
        codec = mechanism.codec
        if isinstance(codec, Members):
            self._members, self._bits = codec.count, codec.limit
        elif isinstance(codec, PackedBits):
            self._members, self._bits, self._packed = codec.ones, codec.width, True

    def columns(self, raw: Raw) -> NDArray[np.int64]:
        """The column of each report; -1 where the mechanism could not have sent it."""
        data, possible = self._rewritten(raw)
        out = np.full(len(data), -1, dtype=np.int64)
        if possible.any():
            out[possible] = self._mechanism._columns(data[possible])
        return out

    def _rewritten(self, raw: Raw) -> tuple[NDArray[Any], BoolArray]:
        if self._bits and isinstance(raw, list) and all(isinstance(report, set | frozenset) for report in raw):
            table = np.array([[item in report for item in range(self._bits)] for report in raw])
            return self._from_bits(table, table.sum(axis=1) == [len(report) for report in raw])
        data, shape = as_table(raw), self._empty.shape[1:]
        if self._empty.dtype.names is not None and data.dtype.names == self._empty.dtype.names:
            return data, np.ones(len(data), dtype=np.bool_)
        if data.dtype.kind not in "biuf" or self._empty.dtype.names is not None:
            raise self._unreadable(raw)
        if self._bits and data.shape[1:] == (self._bits,) != shape:
            return self._from_bits(data > 0, np.all(np.isin(data, (-1, 0, 1)), axis=1))
        if data.shape[1:] != shape or (data.dtype.kind == "f" and self._empty.dtype.kind != "f"):
            raise self._unreadable(raw)
        if self._empty.dtype.kind == "f":
            return data.astype(np.float64), np.ones(len(data), dtype=np.bool_)
        return self._from_integers(data)

    def _from_bits(self, table: BoolArray, possible: BoolArray) -> tuple[NDArray[Any], BoolArray]:
        """Packed, or as a list of members."""
        if self._members is not None:
            possible = possible & (table.sum(axis=1) == self._members)
        if self._packed:
            return np.packbits(table, axis=1), possible
        data = np.zeros((len(table), *self._empty.shape[1:]), dtype=self._empty.dtype)
        data[possible] = np.nonzero(table[possible])[1].reshape(-1, *self._empty.shape[1:])
        return data, possible

    def _from_integers(self, data: NDArray[Any]) -> tuple[NDArray[Any], BoolArray]:
        """Whole numbers in the shape of the mechanism's own; those that it cannot hold are marked as impossible."""
        limits = np.iinfo(self._empty.dtype)
        inside = (data >= limits.min) & (data <= limits.max)
        possible = np.all(inside.reshape(len(data), -1), axis=1)
        data = np.where(inside, data, 0).astype(self._empty.dtype)
        if self._packed:
            bits = np.unpackbits(data, axis=1)
            possible &= ~bits[:, self._bits :].any(axis=1)
            if self._members is not None:
                possible &= bits.sum(axis=1) == self._members
        elif self._members is not None:
            ordered = np.sort(data, axis=1)
            possible &= np.all(ordered[:, 1:] > ordered[:, :-1], axis=1) & (ordered[:, -1] < self._bits)
        return data, possible

    def _unreadable(self, raw: Raw) -> ParameterError:
        return ParameterError(
            f"reports must be written as {self._mechanism.spec} writes them ({self._empty.dtype} of shape "
            f"{self._empty.shape[1:]}) to compare laws, got {short(raw[0])}; pass eps0= alone, or the claimed matrix "
            "with outputs=."
        )


def as_table(raw: Raw) -> NDArray[Any]:
    """The reports as an array; one of objects if they are ragged."""
    try:
        return np.asarray(raw)
    except ValueError:
        return np.array([None] * len(raw))
