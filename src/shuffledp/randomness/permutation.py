"""One uniform secure permutation of many rows: in place, exact, in memory that does not grow with their number.

Every row is given a random bit; the rows with bit 0 go to the front and those with bit 1 to the back, and both parts
are permuted in the same way, until a part is small enough to be sorted by random keys (Rao, Sankhya A 1961;
Sandelius, JRSS B 1962).  This is exact: whatever the number k of zeros is, all sets of k rows are equally likely to
make the front, so an order of n rows has probability sum_k Pr[k] / (C(n,k) k! (n-k)!) = 1/n!.

Memory and speed: rows are swapped and sorted a block at a time, so a few blocks (a few MB, or a few rows where a row
is larger than that) are all the memory it takes beyond the array, where a sort by keys would take 16 bytes per row.
The price is one pass over the array per halving, log2(n / 8192) of them; each reads and writes in order, which is why
ten million rows per second and more are permuted in pure numpy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sampling import Source, words

#: Rows that are sorted by random keys, or swapped, at once: few enough for their keys to stay in the processor's cache.
_ROWS = 1 << 13
#: Bytes of rows at once: of wide rows, fewer are taken at a time.
_BYTES = 1 << 20


def permute(src: Source, rows: NDArray[Any]) -> None:
    """Put the rows (entries of the first axis) into a uniformly random order, in place.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp.randomness.sampling import source
    >>> table = np.arange(12).reshape(6, 2)
    >>> permute(source(None), table)
    >>> sorted(map(tuple, table.tolist()))
    [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    """
    width = rows.itemsize * math.prod(rows.shape[1:])
    few = max(1, min(_ROWS, _BYTES // max(width, 1)))
    open_ = [(0, len(rows))]
    while open_:
        first, last = open_.pop()
        part = rows[first:last]
        if len(part) <= max(few, 2):
            part[:] = part[_order(src, len(part))]
            continue
        split = first + _partition(src, part, few)
        open_ += [(first, split), (split, last)]


def _order(src: Source, size: int) -> NDArray[np.intp]:
    """The numbers below ``size`` in a uniformly random order: sorted by random keys, drawn again if two are equal.

    The order of distinct independent keys is uniform.  A key has three digits of 16 bits (two of _ROWS keys are equal
    once in eight million draws); the sort takes one digit at a time, the last one first.
    """
    while True:
        last, middle, first = words(src, 3 * size, 16).reshape(3, size)
        order = np.argsort(last, kind="stable")  # a radix sort, for 16 bits
        order = order[np.argsort(middle[order], kind="stable")]
        order = order[np.argsort(first[order], kind="stable")]
        ranked = first[order]
        near = np.flatnonzero(ranked[1:] == ranked[:-1])
        one, next_ = order[near], order[near + 1]
        if not np.any((middle[one] == middle[next_]) & (last[one] == last[next_])):
            return order


def _partition(src: Source, rows: NDArray[Any], block: int) -> int:
    """Give every row a random bit, swap the zeros to the front and the ones to the back, and count the zeros.

    A block is read from either end; ones of the left block are swapped with zeros of the right block, and the block
    that has none left is followed by the next one from its end.
    """
    low, high = 0, len(rows)  # the rows in between have no bit yet
    ones = zeros = np.empty(0, dtype=np.intp)  # the places at the left and at the right that must change sides
    while True:
        if not ones.size:
            if low == high:
                break
            step = min(block, high - low)
            ones = low + np.flatnonzero(_bits(src, step))
            low += step
        if not zeros.size:
            if low == high:
                break
            step = min(block, high - low)
            high -= step
            zeros = high + np.flatnonzero(_bits(src, step))  # a set bit means zero here, which is equally likely
        both = min(ones.size, zeros.size)
        _swap(rows, ones[:both], zeros[:both])
        ones, zeros = ones[both:], zeros[both:]
    if ones.size:  # in the last block of the left: to its end
        split = low - ones.size
        _swap(rows, ones[ones < split], np.setdiff1d(np.arange(split, low), ones, assume_unique=True))
        return split
    split = low + zeros.size
    _swap(rows, np.setdiff1d(np.arange(low, split), zeros, assume_unique=True), zeros[zeros >= split])
    return split


def _bits(src: Source, size: int) -> NDArray[np.bool_]:
    return np.unpackbits(src.raw((size + 7) // 8), count=size).view(np.bool_)


def _swap(rows: NDArray[Any], one: NDArray[np.intp], other: NDArray[np.intp]) -> None:
    moved = rows[one]
    rows[one] = rows[other]
    rows[other] = moved
