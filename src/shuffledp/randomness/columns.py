"""Sorting many short columns at once: one comparison of two rows serves all of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Longer columns, and a few columns, are left to numpy.
_MOST_ROWS, _FEW_COLUMNS = 64, 512


def sort_columns(table: NDArray[Any]) -> None:
    """Sort every column in place, by Batcher's odd-even merge network (1968): minima and maxima of whole rows.

    Examples
    --------
    >>> table = np.array([[3, 1], [1, 2], [2, 0]])
    >>> sort_columns(table)
    >>> table.tolist()
    [[1, 0], [2, 1], [3, 2]]
    """
    if len(table) > _MOST_ROWS or table.shape[1] < _FEW_COLUMNS:
        table.sort(axis=0)
        return
    rows, spare = list(table), np.empty_like(table[0])
    for i, j in _network(len(table)):
        np.minimum(rows[i], rows[j], out=spare)
        np.maximum(rows[i], rows[j], out=rows[j])
        rows[i], spare = spare, rows[i]
    moved = [i for i, row in enumerate(rows) if row.ctypes.data != table[i].ctypes.data]
    for i, row in [(i, rows[i].copy()) for i in moved]:
        table[i] = row


@lru_cache(maxsize=_MOST_ROWS + 1)
def _network(size: int) -> tuple[tuple[int, int], ...]:
    """The comparisons (i, j), i < j, that sort any ``size`` entries (Knuth, TAOCP 3, 5.2.2, Algorithm M)."""
    pairs = []
    top = 1 << max(size - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            pairs += [(i, i + d) for i in range(size - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return tuple(pairs)
