"""What agrees up to rounding in a probability matrix: values, rows, and pairs of rows that a symmetry exchanges.

Entries that are equal on paper differ by some units in the last place when they come from a file or a formula.  Values
are called alike if they agree to a relative 2^-42.  A law that stands for others whose entries agree to d must leave
room for that: P0 - E P1 of the others is at most (1+d) (P0 - E (1-2d) P1), and t at least (1-d) t, so an eps
larger by 2d, a log delta larger by d and a t smaller by the factor 1-d cover them.  Laws that are made of alike masses
and alike levels agree to 2^-41; SAME_LAW is eight times that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..distinct import distinct
from ..pair import FloatArray

#: Values that agree to this, relatively, are alike; neighbours of one group must agree to a part of it.
_ALIKE, _CLOSE = 2.0**-42, 2.0**-45
#: An odd number whose powers, modulo 2^64, are far from each other.
_FACTOR = 0x9E3779B97F4A7C15
#: Room in eps, in log delta and, relatively, in t for a law that stands for others that are alike.
SAME_LAW = 2.0**-38


def groups(values: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Representatives of the groups of alike values >= 0, rising, and the number of each value's group.

    Where groups would be wider than 2^-42, every value is one of its own.

    Examples
    --------
    >>> groups(np.array([0.3, 0.1, 0.1 + 2e-17, 0.3 * (1 + 1e-15)]))[1].tolist()
    [1, 0, 0, 1]
    """
    flat = values.reshape(-1)
    distinct, place = np.unique(flat, return_inverse=True)
    starts = np.ones(distinct.size, dtype=bool)
    starts[1:] = distinct[1:] > distinct[:-1] * (1.0 + _CLOSE)
    group = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    last = np.append(first[1:], distinct.size) - 1
    if distinct.size and np.any(distinct[last] > distinct[first] * (1.0 + _ALIKE)):
        group, first = np.arange(distinct.size), np.arange(distinct.size)
    return distinct[first], group[place].reshape(values.shape).astype(np.int64)


def exact(values: FloatArray) -> bool:
    """Whether alike values are equal to the last bit, so that a law which stands for others needs no room.

    Examples
    --------
    >>> exact(np.array([0.1, 0.3, 0.1])), exact(np.array([0.1, 0.1 * (1 + 1e-15)]))
    (True, False)
    """
    return bool(np.unique(values).size == groups(values)[0].size)


def distinct_rows(rows: FloatArray) -> FloatArray:
    """The different rows, in the order in which they come."""
    return rows[np.sort(distinct(rows)[0])]


def representatives(rows: FloatArray, fixed: FloatArray | None = None) -> NDArray[np.int64]:
    """Ordered pairs of different rows, as places a d + b: one of all those that symmetries of the matrix exchange.

    ``fixed`` is one more row, which a symmetry must leave as it is.
    A symmetry is a permutation of the rows and one of the columns that change no entry, up to rounding.  Those that are
    tried are rotations and reversals of the rows, and exchanges of rows i and i xor 2^k; whatever is tried, a symmetry
    counts only if it is found to be one.

    Examples
    --------
    >>> representatives(np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0]]) / 6.0).tolist()
    [1, 2]
    """
    d = len(rows)
    label = np.arange(d * d)
    _, code = groups(rows if fixed is None else np.vstack([rows, fixed]))
    last = np.arange(d, len(code))
    if np.unique(code).size < code.size:  # without equal entries there is no symmetry
        place = np.argsort(_hash(code), kind="stable")
        sorted_columns = code[:, place]
        for mapped in _candidates(d):
            other = code[np.concatenate([mapped, last])]
            other = other[:, np.argsort(_hash(other), kind="stable")]
            if np.array_equal(other, sorted_columns):
                label = _joined(label, (mapped[:, None] * d + mapped).reshape(-1))
    places = np.flatnonzero(label == np.arange(d * d))
    return np.asarray(places[places // d != places % d])


def _candidates(d: int) -> list[NDArray[np.int64]]:
    every = np.arange(d)
    found = [np.roll(every, -1), every[::-1]]
    flips = [every ^ (1 << k) for k in range(d.bit_length())]
    return [*found, *(flip for flip in flips if flip.max(initial=0) < d)]


def _hash(code: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for every column; equal columns have equal ones."""
    weights = np.array([pow(_FACTOR, i + 1, 2**64) for i in range(code.shape[0])], dtype=np.uint64)
    with np.errstate(over="ignore"):
        return np.asarray((code.astype(np.uint64) * weights[:, None]).sum(axis=0))


def _joined(label: NDArray[np.int64], step: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels in which pairs that ``step`` maps to each other, in any number of steps, have the smallest label."""
    while True:
        before, power = label, step
        for _ in range(step.size.bit_length()):
            label = np.minimum(label, label[power])
            power = power[power]
        label = label[label]
        if np.array_equal(label, before):
            return label
