"""Uniform sets with given members, for many users at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...randomness.sampling import Array, Source, below, pick


def shuffle(src: Source, table: Array, first: int) -> None:
    """Permute every column in place, so that its ``first`` entries are a uniform ordered choice (Fisher, Yates)."""
    rows, users = table.shape
    at = np.arange(users)
    for i in range(min(first, rows - 1)):
        j = i + below(src, rows - i, users).astype(np.int64)
        moved = table[j, at]
        table[j, at] = table[i]
        table[i] = moved


def by_members(src: Source, D: int, k: int, held: Array, hits: NDArray[np.int64]) -> Array:
    """k members per user in ascending order: the first ``hits`` held items, and others that are not held.

    k items that are not held are chosen, and as many of them as there are hits, at random, make room for held ones.
    """
    own = np.sort(held, axis=0)
    out = _chosen(src, D - len(held), k, held.shape[1], held.dtype)
    room = min(len(held), k)
    shuffle(src, out, first=room)
    for skipped in own:  # the items that are not held, counted without those that are
        out += out >= skipped
    for i in range(room):
        out[i] = pick(hits > i, held[i], out[i])
    out.sort(axis=0)
    return np.ascontiguousarray(out.T)


def _chosen(src: Source, size: int, k: int, users: int, dtype: np.dtype[Any]) -> Array:
    """A uniform k-subset of 0, ..., size-1 per column (Floyd; Bentley, CACM 30(9), 1987), in no particular order.

    By induction the first i entries are a uniform i-subset of the numbers below size-k+i.  Then j = size-k+i joins:
    a uniform number up to j is added if it is new, else j is, which adds j with probability (i+1)/(j+1).
    """
    out = np.empty((k, users), dtype=dtype)
    for i in range(k):
        j = size - k + i
        fresh = below(src, j + 1, users).astype(dtype, copy=False)
        if i:
            known = np.logical_or.reduce(out[:i] == fresh, axis=0)
            fresh = pick(known, np.broadcast_to(dtype.type(j), fresh.shape), fresh)
        out[i] = fresh
    return out


def by_bits(src: Source, D: int, k: int, held: Array, hits: NDArray[np.int64]) -> NDArray[np.uint8]:
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
