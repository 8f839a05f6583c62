"""Rows of bits, eight to a byte (``numpy.packbits``), one row per user: drawn, changed at one place, and summed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..randomness.bits import packed_coins
from ..randomness.sampling import Array, Source

#: Rows that are unpacked and counted, and their bytes; more are first added bit by bit.
_FEW_ROWS, _FEW_BYTES = 1 << 11, 1 << 15
#: Rows of unpacked bits whose sum fits a byte, which is several times faster.
_BLOCK = 255


def noise_rows(src: Source, probability: float, rows: int, width: int) -> NDArray[np.uint8]:
    """Independent bits, each 1 with this probability; the last byte of a row is filled up with zeros."""
    count = (width + 7) // 8
    out = packed_coins(src, probability, rows * count).reshape(rows, count)
    if width % 8:
        out[:, -1] &= np.uint8(0xFF << (8 * count - width) & 0xFF)
    return out


def places(shape: tuple[int, ...], bits: Array) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Of one bit in every row: its byte in the flattened table, and its mask."""
    start = np.arange(0, shape[0] * shape[1], max(shape[1], 1), dtype=np.intp)
    byte = (bits >> bits.dtype.type(3)).astype(np.intp)
    byte += start
    return byte, np.uint8(128) >> (bits & bits.dtype.type(7)).astype(np.uint8)


def flip_bits(table: NDArray[np.uint8], bits: Array) -> None:
    """Flip one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] ^= mask


def set_bits(table: NDArray[np.uint8], bits: Array, ones: NDArray[np.bool_]) -> None:
    """Write one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] = (flat[byte] & ~mask) | mask * ones


def column_counts(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """How often each bit is set.

    A full adder turns three rows of bits of weight w into one of weight w and one of weight 2w, a third of the table
    at a time: few, long steps.  That goes on, weight by weight, until few rows are left to unpack and count.
    """
    total, weight = np.zeros(width, dtype=np.int64), 1
    few = max(3, min(_FEW_ROWS, _FEW_BYTES // max(table.shape[1], 1)))
    while len(table):
        left, carried = [], []
        while len(table) > few:
            third = len(table) // 3
            left.append(table[3 * third :])
            table, carry = _added(*table[: 3 * third].reshape(3, third, -1))
            carried.append(carry)
        total += weight * _counted(np.concatenate([table, *left]), width)
        table, weight = np.concatenate(carried or [table[:0]]), 2 * weight
    return total


def _added(
    one: NDArray[np.uint8], two: NDArray[np.uint8], three: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The sum of three bits, at every place, and what is carried."""
    either, carry = one ^ two, one & two
    total = either ^ three
    either &= three
    carry |= either
    return total, carry


def _counted(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    bits = np.unpackbits(table, axis=1, count=width)
    whole = len(bits) // _BLOCK * _BLOCK
    blocks = bits[:whole].reshape(-1, _BLOCK, width).sum(axis=1, dtype=np.uint8)
    return np.asarray(blocks.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.uint8))
