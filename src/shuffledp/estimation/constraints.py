"""What is known about the truth behind an estimate: the convex set it lies in, and the nearest point of that set."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support.arrays import FloatArray
from .tree_projection import nearest_tree

Limit = float | FloatArray


class Constraint(ABC):
    """A convex set; every mechanism declares the one its estimates belong to."""

    #: The consistency steps that apply to it.
    steps: ClassVar[tuple[str, ...]] = ("nearest",)

    #: The constraint in words, with its fields in braces.
    _words: ClassVar[str] = ""

    @property
    def words(self) -> str:
        """The constraint in words, as the end of the sentence "this is an estimate of ..."."""
        return self._words.format(**vars(self))

    @property
    def limits(self) -> tuple[Limit, Limit]:
        """The least and the largest value that an entry can take: those of a frequency, unless it is another set."""
        return 0.0, 1.0

    @abstractmethod
    def nearest(self, value: FloatArray) -> FloatArray:
        """The Euclidean projection onto the set."""


@dataclass(frozen=True)
class Simplex(Constraint):
    """Frequencies of one item per user: entries >= 0 that sum to 1.

    >>> Simplex().nearest(np.array([0.7, -0.1, 0.4])).round(3).tolist()
    [0.65, 0.0, 0.35]
    """

    steps: ClassVar[tuple[str, ...]] = ("nearest", "simplex", "norm-sub")

    _words: ClassVar[str] = "frequencies that sum to 1"

    def nearest(self, value: FloatArray) -> FloatArray:
        """With the same weight for every entry."""
        return nearest_shares(value, np.ones(value.size))


@dataclass(frozen=True)
class FixedSum(Constraint):
    """Frequencies of the items of sets of exactly ``total`` items: entries in [0, 1] that sum to it.

    >>> FixedSum(2).nearest(np.array([1.3, 0.6, -0.1, 0.4])).round(3).tolist()
    [1.0, 0.6, 0.0, 0.4]
    """

    total: int

    _words: ClassVar[str] = "frequencies in [0, 1] that sum to {total}"

    def nearest(self, value: FloatArray) -> FloatArray:
        """A common shift, then clipping: the multiplier of the sum."""

        def shifted(theta: float) -> FloatArray:
            return np.asarray(np.clip(value - theta, 0.0, 1.0))

        ends = float(value.min()) - 1.0, float(value.max())  # all ones, all zeros
        found = shifted(_falling_to(self.total, lambda theta: shifted(theta).sum(), *ends))
        free = (found > 0.0) & (found < 1.0)
        if free.any():  # what the rounding of the shift left over
            found[free] += (self.total - found.sum()) / np.count_nonzero(free)
        return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True)
class SumAtMost(Constraint):
    """Frequencies of the items of sets of at most ``total`` items: entries in [0, 1] whose sum is at most that.

    >>> SumAtMost(1).nearest(np.array([0.9, 0.5, -0.2])).round(3).tolist()
    [0.7, 0.3, 0.0]
    """

    total: int

    _words: ClassVar[str] = "frequencies in [0, 1] whose sum is at most {total}"

    def nearest(self, value: FloatArray) -> FloatArray:
        """Clip; if the sum is still above ``total``, take the nearest point with exactly that sum."""
        clipped = np.clip(value, 0.0, 1.0)
        return clipped if clipped.sum() <= self.total else FixedSum(self.total).nearest(value)


@dataclass(frozen=True)
class Box(Constraint):
    """Entries between ``low`` and ``high``, each on its own, the same for all or one for each (means of numbers).

    >>> Box(0.0, 1.0).nearest(np.array([0.304])).tolist()
    [0.304]
    """

    low: Limit
    high: Limit

    @property
    def words(self) -> str:
        """In words."""
        return f"numbers in [{np.min(self.low):g}, {np.max(self.high):g}]"

    @property
    def limits(self) -> tuple[Limit, Limit]:
        """Both ends."""
        return self.low, self.high

    def nearest(self, value: FloatArray) -> FloatArray:
        """Clipped."""
        return np.clip(value, self.low, self.high)


@dataclass(frozen=True)
class Ball(Constraint):
    """A vector of length at most ``radius`` (the mean of such vectors).

    >>> Ball(1.0).nearest(np.array([3.0, 4.0])).round(3).tolist()
    [0.6, 0.8]
    """

    radius: float

    _words: ClassVar[str] = "a vector of length at most {radius:g}"

    @property
    def limits(self) -> tuple[Limit, Limit]:
        """[-radius, radius]."""
        return -self.radius, self.radius

    def nearest(self, value: FloatArray) -> FloatArray:
        """The vector, shortened to the radius if it is longer."""
        length = float(np.linalg.norm(value))
        return np.asarray(value * (self.radius / length)) if length > self.radius else value.copy()


@dataclass(frozen=True)
class KeyValues(Constraint):
    """Row 0: shares of holders in [0, 1] with sum at most ``total``; row 1: sums of values, no larger than those.

    >>> KeyValues(1).nearest(np.array([[0.4, -0.1], [0.6, 0.0]])).round(3).tolist()
    [[0.5, 0.0], [0.5, 0.0]]
    """

    total: int

    _words: ClassVar[str] = (
        "shares of holders whose sum is at most {total}, and sums of values no larger than the shares"
    )

    @property
    def limits(self) -> tuple[Limit, Limit]:
        """[0, 1] for the shares, [-1, 1] for the sums."""
        return np.array([[0.0], [-1.0]]), 1.0

    def nearest(self, value: FloatArray) -> FloatArray:
        """Shares shifted by the multiplier of their sum, then every key onto the triangle |sum| <= share <= 1."""
        found = _triangle(value[0], value[1])
        if found[0].sum() <= self.total:
            return found
        most = float((value[0] + np.abs(value[1])).max())  # takes every key to 0
        theta = _falling_to(self.total, lambda x: _triangle(value[0] - x, value[1])[0].sum(), 0.0, most)
        return _triangle(value[0] - theta, value[1])


@dataclass(frozen=True)
class Tree(Constraint):
    """Frequencies of the nodes of a tree, ``sizes`` of them per level, leaves first: each the sum of its children.

    Node i of a level is a child of node i // branching of the next; entries are >= 0 and every level sums to 1.

    >>> Tree((4, 2), 2).nearest(np.array([0.5, 0.0, 0.3, 0.1, 0.5, 0.5])).round(4).tolist()
    [0.5083, 0.0083, 0.3417, 0.1417, 0.5167, 0.4833]
    """

    sizes: tuple[int, ...]
    branching: int

    _words: ClassVar[str] = (
        "frequencies on the levels of a tree, where every level sums to 1 and a node is the sum of its children"
    )

    def nearest(self, value: FloatArray) -> FloatArray:
        """Least squares over all nodes of all levels, with leaves >= 0 (exact: tree_projection.py)."""
        return nearest_tree(value, self.sizes, self.branching)


@dataclass(frozen=True)
class Blocks(Constraint):
    """Several estimates, flattened and concatenated: (shape, constraint) of each.

    >>> Blocks((((2,), Simplex()), ((1,), Box(0.0, 1.0)))).nearest(np.array([0.9, 0.5, 1.2])).round(3).tolist()
    [0.7, 0.3, 1.0]
    """

    parts: tuple[tuple[tuple[int, ...], Constraint], ...]

    @property
    def words(self) -> str:
        """In words."""
        return "; ".join(dict.fromkeys(part.words for _, part in self.parts)) + " (each query on its own)"

    @property
    def limits(self) -> tuple[Limit, Limit]:
        """The limits of the parts."""
        sides = [[np.broadcast_to(side, shape).ravel() for side in part.limits] for shape, part in self.parts]
        low, high = (np.concatenate(side) for side in zip(*sides, strict=True))
        return low, high

    def nearest(self, value: FloatArray) -> FloatArray:
        """The projection of every part on its own."""
        cuts = np.cumsum([math.prod(shape) for shape, _ in self.parts])[:-1]
        pieces = zip(self.parts, np.split(value, cuts), strict=True)
        return np.concatenate([part.nearest(piece.reshape(shape)).ravel() for (shape, part), piece in pieces])


def nearest_shares(value: FloatArray, spread: FloatArray) -> FloatArray:
    """The entries >= 0 of sum 1 with the least sum of (entry - value)^2/spread (Held, Wolfe, Crowder 1974).

    They are max(value - theta spread, 0).  Any multiple of ``spread`` may be taken from ``value`` beforehand: here the
    one that moves the entry which is positive first to 0, against cancellation.
    """
    value = value - (value / spread).max() * spread
    order = np.argsort(-value / spread)
    theta = (np.cumsum(value[order]) - 1.0) / np.cumsum(spread[order])
    last = np.flatnonzero(value[order] > theta * spread[order])[-1]
    return np.asarray(np.maximum(value - theta[last] * spread, 0.0))


def norm_sub(value: FloatArray) -> FloatArray:
    """Set negative entries to 0 and shift the positive ones to sum 1; repeat until no entry is negative.

    >>> norm_sub(np.array([0.7, -0.1, 0.4])).round(3).tolist()
    [0.65, 0.0, 0.35]
    """
    out = value.copy()
    for _ in range(value.size + 1):
        out = np.maximum(out, 0.0)
        positive = out > 0
        if not positive.any():
            return np.full_like(out, 1.0 / out.size)
        out[positive] += (1.0 - out.sum()) / positive.sum()
        if not (out < 0).any():
            break
    return out


def _falling_to(wanted: float, total: Callable[[float], float], low: float, high: float) -> float:
    """The theta between low and high at which a falling function reaches ``wanted``, exact to the last float."""
    while low < (middle := 0.5 * (low + high)) < high:
        if total(middle) > wanted:
            low = middle
        else:
            high = middle
    return high


def _triangle(share: FloatArray, tilt: FloatArray) -> FloatArray:
    """The nearest points with |tilt| <= share <= 1: first onto the cone, then below 1."""
    size = np.abs(tilt)
    outside = size > share
    edge = np.maximum(0.5 * (share + size), 0.0)
    share = np.where(outside, edge, share)
    tilt = np.where(outside, np.sign(tilt) * edge, tilt)
    return np.stack([np.minimum(share, 1.0), np.clip(tilt, -1.0, 1.0)])
