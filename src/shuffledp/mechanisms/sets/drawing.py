"""Uniform sets with given members, for many users at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...randomness.sampling import Source, below


def shuffle(src: Source, table: NDArray[Any], first: int) -> None:
    """Permute every column in place, so that its ``first`` entries are a uniform ordered choice (Fisher, Yates)."""
    rows, users = table.shape
    at = np.arange(users)
    for i in range(min(first, rows - 1)):
        j = i + below(src, rows - i, users).astype(np.int64)
        moved = table[j, at]
        table[j, at] = table[i]
        table[i] = moved


def by_members(src: Source, D: int, k: int, held: NDArray[Any], hits: NDArray[np.int64]) -> NDArray[Any]:
    """k members per user in rising order: the first ``hits`` held items, then items that differ from all before."""
    s, users = held.shape
    taken = np.empty((s + k, users), dtype=held.dtype)
    taken[:s] = held
    for i in range(k):
        before, fresh = taken[: s + i], below(src, D, users)
        bad = np.flatnonzero((before == fresh).any(axis=0))
        while bad.size:
            again = below(src, D, bad.size)
            fresh[bad] = again
            bad = bad[(before[:, bad] == again).any(axis=0)]
        taken[s + i] = np.where(i < hits, held[i], fresh) if i < s else fresh
    return np.sort(taken[s:].T, axis=1)


def by_bits(src: Source, D: int, k: int, held: NDArray[Any], hits: NDArray[np.int64]) -> NDArray[np.uint8]:
    """One row of D zeros and ones per user.

    Each pass draws as many items as are missing, with replacement, until they are all there.  How many are drawn
    depends only on the number found, so the law does not change under permutations of the free items: the set is
    uniform among those of its size.  Above D/2 the items left out are drawn instead.
    """
    s, users = held.shape
    start = np.arange(users) * D
    cells = np.zeros(users * D, dtype=np.uint8)
    table, at = cells.reshape(users, D), start + held
    cells[at] = 1
    left_out = 2 * k > D
    need = D - s - k + hits if left_out else k - hits
    goal, open_ = need + s, np.flatnonzero(need)
    while open_.size:
        picks = np.repeat(start[open_], need[open_])
        cells[picks + below(src, D, picks.size)] = 1
        need[open_] = goal[open_] - table[open_].sum(axis=1, dtype=np.uint32)
        open_ = open_[need[open_] > 0]
    if left_out:
        cells ^= 1
    cells[at] = np.arange(s)[:, None] < hits
    return table
