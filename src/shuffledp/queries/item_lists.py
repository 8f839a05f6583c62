"""Lists of items, one per user: what is known of them, each once, and no more of them than a report has room for.

A list is a Python list, tuple, set or array, or a text with a separator; a single value is a list of one, and nothing
at all is an empty list.  Nothing is refused.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.reading.values import BLANKS
from ..randomness.sampling import Source, below, words
from .columns import Column, counted, each

IntArray = NDArray[np.int64]
_MANY = (list, tuple, set, frozenset)


def flat(lists: list[list[Any]]) -> tuple[int, IntArray, list[Any]]:
    """The number of lists, then which of them every entry is in, in rising order, and the entries."""
    sizes = np.fromiter((len(found) for found in lists), dtype=np.int64, count=len(lists))
    return len(lists), np.repeat(np.arange(len(lists)), sizes), list(itertools.chain.from_iterable(lists))


def entries(column: Column, read: Callable[[object], list[Any]]) -> tuple[int, IntArray, list[Any]]:
    """The number of rows, then the row of every entry, in rising order, and the entries.

    Examples
    --------
    >>> count, row, found = entries([["a", "b"], None, "c"], items)
    >>> count, row.tolist(), found
    (3, [0, 0, 2], ['a', 'b', 'c'])
    >>> from shuffledp.queries.columns import Coded
    >>> entries(Coded(np.array([1, -1, 1]), [["a"], ["b", "c"]]), items)[2]
    ['b', 'c', 'b', 'c']
    """
    return flat(each(column, read))


def rows_without(column: Column) -> Counter[str]:
    """The rows that have no list, which counts as an empty one, as missing values."""
    missing = counted(column, lambda value: "missing" if value is None else "")["missing"]
    return Counter(values=missing, missing=missing)


def items(value: object, separator: str = "") -> list[Any]:
    """The items of one user.

    Examples
    --------
    >>> items("a|b", "|"), items("a|b"), items(None), items({"x", "x"}), items(3)
    (['a', 'b'], ['a|b'], [], ['x'], [3])
    """
    if value is None:
        return []
    if separator and isinstance(value, str):
        kind = type(value)  # the parts of what a file without types holds are such values too
        return [kind(part.strip(BLANKS)) for part in value.split(separator)]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return list(value)
    return list(value) if isinstance(value, _MANY) else [value]


def pairs(value: object) -> list[tuple[Any, Any]]:
    """The (key, value) pairs of one user: of a mapping, or of a list of pairs or of mappings with two entries.

    Examples
    --------
    >>> pairs({"a": 1.0}), pairs([("a", 1.0), {"key": "b", "value": 2}, 7]), pairs(None)
    ([('a', 1.0)], [('a', 1.0), ('b', 2)], [])
    """
    if isinstance(value, Mapping):
        return list(value.items())
    found = []
    for entry in items(value):
        both = list(entry.values()) if isinstance(entry, Mapping) else entry
        if isinstance(both, list | tuple | np.ndarray) and len(both) == 2:
            found.append((both[0], both[1]))
    return found


def ranks(row: IntArray) -> IntArray:
    """The place of every entry among those of its row; ``row`` rises."""
    new = np.flatnonzero(np.diff(row, prepend=-1))
    return np.arange(row.size) - np.repeat(new, np.diff(new, append=row.size))


def at_most(src: Source, row: IntArray, most: int) -> IntArray:
    """Places of at most ``most`` entries of every row, drawn uniformly where it has more; ``row`` ascends.

    Every entry gets a random key, and those with the smallest keys of a row are a uniform draw.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> row = np.array([0, 0, 0, 1])
    >>> kept = at_most(source(None), row, 2)
    >>> row[kept].tolist()
    [0, 0, 1]
    """
    if row.size == 0 or int(np.bincount(row).max()) <= most:
        return np.arange(row.size)
    order = np.lexsort((words(src, row.size, 64), row))
    return np.sort(order[ranks(row[order]) < most])


def dense(row: IntArray, values: NDArray[Any], rows: int, width: int, empty: float) -> NDArray[Any]:
    """One row of ``width`` per user, filled up with ``empty``; no row has more entries than that.

    Examples
    --------
    >>> dense(np.array([0, 0, 2]), np.array([5, 6, 7]), 3, 2, -1).tolist()
    [[5, 6], [-1, -1], [7, -1]]
    """
    out = np.full((rows, width, *values.shape[1:]), empty, dtype=values.dtype)
    out[row, ranks(row)] = values
    return out


def subset_names(names: tuple[str, ...], together: int) -> tuple[str, ...]:
    """The subsets of ``together`` items in words, in the order of :func:`subset_place`."""
    every = sorted(itertools.combinations(range(len(names)), together), key=lambda chosen: chosen[::-1])
    return tuple(" + ".join(names[i] for i in chosen) for chosen in every)


def subset_place(members: IntArray) -> IntArray:
    """The place of subsets, one per row with rising members, in colexicographic order: the sum of C(member_i, i+1).

    Examples
    --------
    >>> subset_place(np.array([[0, 1], [0, 2], [1, 2], [0, 3]])).tolist()
    [0, 1, 2, 3]
    """
    total = np.zeros(len(members), dtype=np.int64)
    for i, member in enumerate(members.T):
        top = int(member.max(initial=0))
        total += np.array([math.comb(x, i + 1) for x in range(top + 1)], dtype=np.int64)[member]
    return total


def subsets(src: Source, row: IntArray, places: IntArray, together: int, most: int) -> tuple[IntArray, IntArray]:
    """At most ``most`` subsets of the items of every row, drawn uniformly; the row and the place of each.

    ``row`` rises, and within a row ``places`` rise.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> row, place = subsets(source(None), np.array([0, 0, 0, 1]), np.array([0, 1, 2, 2]), 2, 3)
    >>> row.tolist(), place.tolist()
    ([0, 0, 0], [0, 1, 2])
    """
    owners, start, size = np.unique(row, return_index=True, return_counts=True)
    found_row, found_place = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for items_held in np.unique(size[size >= together]).tolist():
        at = np.flatnonzero(size == items_held)
        held = places[start[at][:, None] + np.arange(items_held)]
        every = np.array(list(itertools.combinations(range(items_held), together)), dtype=np.int64)
        if len(every) <= most:
            chosen = np.tile(np.arange(len(every)), (len(at), 1))
        else:
            chosen = _distinct(src, len(every), most, len(at))
        members = np.take_along_axis(held[:, None, :], every[chosen], axis=2).reshape(-1, together)
        found_row.append(np.repeat(owners[at], chosen.shape[1]))
        found_place.append(subset_place(members))
    flat_row, flat_place = np.concatenate(found_row), np.concatenate(found_place)
    order = np.lexsort((flat_place, flat_row))
    return flat_row[order], flat_place[order]


def _distinct(src: Source, bound: int, count: int, rows: int) -> IntArray:
    """``count`` different numbers below ``bound`` per row, uniformly: one after the other, again where one repeats."""
    out = np.empty((rows, count), dtype=np.int64)
    for i in range(count):
        open_ = np.arange(rows)
        while open_.size:
            out[open_, i] = below(src, bound, open_.size)
            open_ = open_[(out[open_, :i] == out[open_, i : i + 1]).any(axis=1)]
    return out
