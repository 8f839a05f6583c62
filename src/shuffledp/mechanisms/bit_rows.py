"""Rows of bits, eight to a byte (``numpy.packbits``), one row per user: drawn, changed at one place, and summed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..randomness.bits import packed_coins
from ..randomness.sampling import Source

#: Rows that carry-save adders sum into bit planes before the planes are unpacked: 2^_LEVELS - 1 at a time.
_LEVELS = 5
#: Rows of unpacked bits summed at once, so that the sum of a bit fits a byte, which is several times faster.
_BLOCK = 255


def noise_rows(src: Source, probability: float, rows: int, width: int) -> NDArray[np.uint8]:
    """Independent bits, each 1 with this probability; the last byte of a row is filled up with zeros."""
    count = (width + 7) // 8
    out = packed_coins(src, probability, rows * count).reshape(rows, count)
    if width % 8:
        out[:, -1] &= np.uint8(0xFF << (8 * count - width) & 0xFF)
    return out


def places(shape: tuple[int, ...], bits: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Of one bit in every row: its byte in the flattened table, and its mask."""
    start = np.arange(0, shape[0] * shape[1], max(shape[1], 1), dtype=np.intp)
    byte = (bits >> bits.dtype.type(3)).astype(np.intp)
    byte += start
    return byte, np.uint8(128) >> (bits & bits.dtype.type(7)).astype(np.uint8)


def flip_bits(table: NDArray[np.uint8], bits: NDArray[Any]) -> None:
    """Flip one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] ^= mask


def set_bits(table: NDArray[np.uint8], bits: NDArray[Any], ones: NDArray[np.bool_]) -> None:
    """Write one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] = (flat[byte] & ~mask) | mask * ones


def column_counts(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """How often each bit is set.

    31 groups of rows are added bit by bit by carry-save adders (three bits of weight w are one of weight w and one of
    weight 2w: five instructions on whole words), which leaves five rows where there were 31 to unpack and count.
    """
    group = 2**_LEVELS - 1
    rows = len(table) // group
    total = np.zeros(width, dtype=np.int64)
    if rows and table.flags.c_contiguous:
        parts = table[: group * rows].reshape(group, -1)
        for level, plane in enumerate(_planes(list(_as_words(parts)))):
            total += _counted(plane.view(np.uint8)[: parts.shape[1]].reshape(rows, -1), width) << level
        table = table[group * rows :]
    return total + _counted(table, width)


def _as_words(parts: NDArray[np.uint8]) -> NDArray[Any]:
    """The same rows in words of 64 bits, where their length allows it."""
    return parts.view(np.uint64) if parts.shape[1] % 8 == 0 and parts.ctypes.data % 8 == 0 else parts


def _planes(parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Bit planes of the sum of 2^L - 1 rows of bits, the lowest first."""
    planes = []
    while parts:
        total, carries = parts[0], []
        for one, two in zip(parts[1::2], parts[2::2], strict=True):
            either = one ^ two
            carry = one & two
            carry |= total & either
            total = total ^ either
            carries.append(carry)
        planes.append(total)
        parts = carries
    return planes


def _counted(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    total = np.zeros(width, dtype=np.int64)
    for start in range(0, len(table), _BLOCK):
        bits = np.unpackbits(table[start : start + _BLOCK], axis=1, count=width)
        total += bits.sum(axis=0, dtype=np.uint8)
    return total
