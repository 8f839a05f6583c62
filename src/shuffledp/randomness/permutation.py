"""One uniform secure permutation of many rows: in place, exact, in memory that does not grow with their number.

Every row is given a random bit; the rows with bit 0 go to the front and those with bit 1 to the back, and both parts
are permuted in the same way, until a part is small enough to be sorted by random keys (Rao, Sankhya A 1961;
Sandelius, JRSS B 1962).  This is exact: whatever the number k of zeros is, all sets of k rows are equally likely to
make the front, so an order of n rows has probability sum_k Pr[k] / (C(n,k) k! (n-k)!) = 1/n!.

Memory and speed: rows are swapped and sorted a block at a time, so a few blocks (a few MB, or a few rows where a row
is larger than that) are all the memory it takes beyond the array, where a sort by keys would take 16 bytes per row.
The price is one pass over the array per halving, log2(n / 131072) of them; each reads and writes in order, which is
why tens of millions of rows per second are permuted in pure numpy.  Once a part is split its two sides have nothing
to do with each other, so that they are permuted on different threads, each with a source of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_order
from .sampling import ORDER, Source, Streams, words

#: Rows that are sorted by random keys, or looked at for swaps, at once: few enough for their keys to stay in the
#: processor's cache, and enough for steps so long that threads seldom wait for the interpreter's lock.
_ROWS = 1 << 17
#: Bytes of rows at once: of wide rows, fewer are taken at a time.
_BYTES = 1 << 21
#: Larger parts are split before they are shared out among threads (a fixed number: the order must not depend on them).
_PART = 1 << 17


def permute_by(streams: Streams, rows: NDArray[Any], threads: int) -> None:
    """As :func:`permute`, on several threads: part k of the tree of halvings has a stream of its own.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.arange(6)
    >>> permute_by(Streams(), table, threads=2)
    >>> sorted(table.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    block, rows = _block(rows), _whole(rows)
    large: list[tuple[int, int, int]] = [(1, 0, len(rows))]  # the number of a part, and where it begins and ends
    small: list[tuple[int, int, int]] = []

    def split(i: int) -> int:
        number, first, last = large[i]
        return first + _partition(streams.source(ORDER + number), rows[first:last], block)

    def finish(i: int) -> None:
        number, first, last = small[i]
        permute(streams.source(ORDER + number), rows[first:last])

    while large:
        small += [part for part in large if part[2] - part[1] <= _PART]
        large = [part for part in large if part[2] - part[1] > _PART]
        middles = list(in_order(split, len(large), threads))
        halves = [((2 * k, a, m), (2 * k + 1, m, b)) for (k, a, b), m in zip(large, middles, strict=True)]
        large = [half for both in halves for half in both]
    for _ in in_order(finish, len(small), threads):
        pass


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
    few, rows = _block(rows), _whole(rows)
    open_ = [(0, len(rows))]
    while open_:
        first, last = open_.pop()
        part = rows[first:last]
        if len(part) <= max(few, 2):
            part[:] = part[_order(src, len(part))]
            continue
        split = first + _partition(src, part, few)
        open_ += [(first, split), (split, last)]


def _block(rows: NDArray[Any]) -> int:
    """Rows that are sorted or swapped at once."""
    width = rows.itemsize * math.prod(rows.shape[1:])
    return max(1, min(_ROWS, _BYTES // max(width, 1)))


def _whole(rows: NDArray[Any]) -> NDArray[Any]:
    """The same memory with one entry per row, where it allows that: numpy moves entries faster than rows."""
    width = rows.itemsize * math.prod(rows.shape[1:])
    if not width or not rows.flags.c_contiguous or (rows.ndim == 1 and rows.dtype.kind != "V"):
        return rows
    return rows.reshape(-1).view(np.uint8).view(np.dtype((np.void, width)))


def _order(src: Source, size: int) -> NDArray[np.intp]:
    """The numbers below ``size`` in a uniformly random order: sorted by random keys.

    The order of distinct independent keys is uniform.  A key has two digits of 16 bits; the sort takes one digit at a
    time, the last one first.  Of _ROWS keys one or two pairs are equal: each is swapped, or not, by a fair coin, which
    is what further digits would do.  If three are equal all keys are drawn again.
    """
    while True:
        last, first = words(src, 2 * size, 16).reshape(2, size)
        order = np.argsort(last, kind="stable")  # a radix sort, for 16 bits
        order = order[np.argsort(first[order], kind="stable")]
        ranked = first[order]
        near = np.flatnonzero(ranked[1:] == ranked[:-1])
        alike = near[last[order[near]] == last[order[near + 1]]]
        if not np.any(alike[1:] == alike[:-1] + 1):
            swapped = alike[_bits(src, alike.size)] if alike.size else alike
            order[swapped], order[swapped + 1] = order[swapped + 1], order[swapped]
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
