"""What is equal up to rounding in a probability matrix: values, rows, and pairs of rows that a symmetry exchanges.

Entries that are equal on paper differ by a few units in the last place when they come from a file or a formula.  Values
are called alike if they agree to a relative 2^-42.  One law may stand for others with alike entries if it leaves room
for the difference (:func:`same_law`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from .family import Answer, Asked, Family, epsilons, log_deltas
from .ledger import charge
from .pair import FloatArray, IntArray, ShuffledPair, Side, distinct

if TYPE_CHECKING:
    from .family import Law

#: Relative difference up to which values are alike, and up to which neighboring values join one group.
_ALIKE, _CLOSE = 2.0**-42, 2.0**-45
#: An odd number whose powers modulo 2^64 look random: a hash of columns.
_FACTOR = 0x9E3779B97F4A7C15
#: Room in eps, in log delta and, relatively, in t, for a law that stands for others with alike entries.
SAME_LAW = 2.0**-38


@charge("a law that stands for others that are alike", "docs/proofs.md, Lemma 14")
def same_law(log_delta: FloatArray, eps: FloatArray, room: FloatArray) -> FloatArray:
    """log delta(eps) of all laws that one stands for, from its value at max(eps - room, 0), with t (1 - room).

    If the entries agree to d, P0 - E P1 of the others is at most (1+d) (P0 - E (1-2d) P1), and t at least (1-d) t: an
    eps larger by 2d, a log delta larger by d and a t smaller by the factor 1-d cover them.  Laws made of alike masses
    and alike levels agree to 2^-41; SAME_LAW is eight times that.  Below eps = room, E' = e^(eps - room) is
    less than 1, where D_E' <= D_1 + (1 - E') <= D_1 + room - eps.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(log_delta, np.log(np.maximum(room - eps, 0.0))) + room)


class Alike(Family):
    """A family whose members stand for others with alike entries; their t has the room already."""

    def __init__(self, family: Family, members: int = 0, room: float = SAME_LAW) -> None:
        """``members`` counts everything that they stand for; 0 means that each stands for itself only."""
        self.family, self.members, self.room = family, members, room

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """The answers for a slightly smaller delta, raised slightly."""
        room = _rooms(families, asked.side)
        found = epsilons([f.family for f in families], asked._replace(at=asked.at * (1.0 - room)))
        return [
            answer._replace(epsilon=answer.epsilon + more, members=family.members or answer.members)
            for family, answer, more in zip(families, found, room.tolist(), strict=True)
        ]

    @classmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """The largest log delta over the members, at a slightly smaller eps."""
        room = _rooms(families, asked.side)
        at = np.maximum(asked.at - room, 0.0)
        return same_law(log_deltas([f.family for f in families], asked._replace(at=at)), asked.at, room)

    @property
    def quick(self) -> bool:
        """As the family."""
        return self.family.quick

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members, without the room in eps and delta."""
        return self.family.pairs(most)

    def laws(self, most: int) -> Sequence[Law] | None:
        """Those of the family: a proof has the same room."""
        return self.family.laws(most)


def _rooms(families: Sequence[Alike], side: Side) -> FloatArray:
    return np.array([family.room if side == "upper" else 0.0 for family in families])


def groups(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Representatives of the groups of alike values >= 0, rising, and the number of each value's group.

    If any group would be wider than 2^-42, every value gets a group of its own.

    Examples
    --------
    >>> groups(np.array([0.3, 0.1, 0.1 + 2e-17, 0.3 * (1 + 1e-15)]))[1].tolist()
    [1, 0, 0, 1]
    """
    different, place = np.unique(values.reshape(-1), return_inverse=True)
    starts = np.ones(different.size, dtype=bool)
    starts[1:] = different[1:] > different[:-1] * (1.0 + _CLOSE)
    group = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    last = np.append(first[1:], different.size) - 1
    if different.size and np.any(different[last] > different[first] * (1.0 + _ALIKE)):
        group, first = np.arange(different.size), np.arange(different.size)
    return different[first], group[place].reshape(values.shape).astype(np.int64)


def exact(values: FloatArray) -> bool:
    """Whether alike values are equal to the last bit; a law that stands for others then needs no room.

    Examples
    --------
    >>> exact(np.array([0.1, 0.3, 0.1])), exact(np.array([0.1, 0.1 * (1 + 1e-15)]))
    (True, False)
    """
    return bool(np.unique(values).size == groups(values)[0].size)


def distinct_rows(rows: FloatArray) -> FloatArray:
    """The distinct rows, in the order of their first occurrence."""
    return rows[distinct(rows)[0]]


def merged_columns(rows: FloatArray) -> FloatArray:
    """The matrix with proportional columns merged: they have the same likelihood ratios for every pair of rows."""
    used = rows[:, rows.max(axis=0) > 0.0]
    top = used.max(axis=0)
    shapes = used / top
    first, label = distinct(shapes.T)
    return np.asarray(shapes[:, first] * np.bincount(label, weights=top, minlength=first.size))


def representatives(rows: FloatArray, fixed: FloatArray | None = None) -> IntArray:
    """Ordered pairs of different rows, as places a d + b: one for each set that symmetries of the matrix exchange.

    A symmetry permutes rows and columns without changing any entry, up to rounding; ``fixed`` is one more row, which it
    must leave in place.  Rotations and reversals of the rows, and exchanges of rows i and i xor 2^k, are tried; each
    counts only after a check that it is a symmetry.

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
        columns = _sorted_columns(code)
        for mapped in _candidates(d):
            if np.array_equal(_sorted_columns(code[np.concatenate([mapped, last])]), columns):
                label = _joined(label, (mapped[:, None] * d + mapped).reshape(-1))
    places = np.flatnonzero(label == np.arange(d * d))
    return np.asarray(places[places // d != places % d])


def _candidates(d: int) -> list[IntArray]:
    every = np.arange(d)
    flips = [every ^ (1 << k) for k in range(d.bit_length())]
    return [np.roll(every, -1), every[::-1], *(flip for flip in flips if flip.max(initial=0) < d)]


def _sorted_columns(code: IntArray) -> IntArray:
    """The columns, sorted by a hash; equal columns have equal hashes."""
    weights = np.array([pow(_FACTOR, i + 1, 2**64) for i in range(code.shape[0])], dtype=np.uint64)
    with np.errstate(over="ignore"):
        numbers: NDArray[np.uint64] = (code.astype(np.uint64) * weights[:, None]).sum(axis=0)
    return np.asarray(code[:, np.argsort(numbers, kind="stable")])


def _joined(label: IntArray, step: IntArray) -> IntArray:
    """New labels: all places that ``step`` maps to each other, in any number of steps, get their smallest label."""
    while True:
        before, power = label, step
        for _ in range(step.size.bit_length()):
            label = np.minimum(label, label[power])
            power = power[power]
        label = label[label]
        if np.array_equal(label, before):
            return label
