"""Items on a circle of N points, N a prime below 2^31: where a seed puts them, and which arcs hold a point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MERSENNE = 2**31 - 1
#: Items at a time, and products: few enough to stay in the cache, and for BLAS to use no threads of its own.
_ITEMS, _PRODUCTS = 128, 200_000
#: Of the place of a point, in turns.
_LEAST_ERROR = 2.0**-50
_NONE = np.empty(0, dtype=np.intp)


def positions(seed: NDArray[Any], items: NDArray[Any], points: int) -> NDArray[np.uint64]:
    """h(v) = v (c_1 + v (c_2 + ...)) mod N; ``seed`` has one row per coefficient.

    Examples
    --------
    >>> seed = np.array([[3], [1]], dtype=np.uint32)
    >>> positions(seed, np.array([2], dtype=np.uint64), 7).tolist()  # 3 x 2 + 1 x 4 = 10
    [3]
    """
    total = np.zeros(np.broadcast_shapes(seed.shape[1:], items.shape), dtype=np.uint64)
    most, largest = 0, int(items.max()) if items.size else 0  # of the totals, and of the items
    for coefficient in seed[::-1]:
        while (most + points) * largest >= 2**64:
            most = _reduce(total, points, most)
        total += coefficient
        total *= items
        most = (most + points) * largest
    while most >= 2 * points:
        most = _reduce(total, points, most)
    return wrapped(total, points)


def _reduce(total: NDArray[np.uint64], points: int, most: int) -> int:
    """Make numbers up to ``most`` smaller, the same mod N, in place; up to what is returned."""
    if points != _MERSENNE:
        total -= total // np.uint64(points) * np.uint64(points)
        return points
    high = total >> np.uint64(31)  # 2^31 is 1 mod N
    total &= np.uint64(_MERSENNE)
    total += high
    return points + (most >> 31)


def wrapped(total: NDArray[Any], points: int) -> NDArray[Any]:
    """Numbers below 2N, mod N: where they are below N, subtracting N wraps to something larger."""
    return np.asarray(np.minimum(total, total - total.dtype.type(points)))


def supported(data: NDArray[Any], d: int, width: int, points: int) -> NDArray[np.int64]:
    """How many reports (seed, y) have y on the arc of each of d items: (y - h(v)) mod N < W.

    (y - h(v))/N is a product of matrices, with v^i mod N as numbers in [-N/2, N/2], up to whole turns.  In floating
    point its error is known; where it leaves the answer open, whole numbers decide.
    """
    terms = data.shape[1] - 1
    reports = np.ones((terms + 2, len(data)))
    reports[:-1] = data.T
    # each of the m + 2 products is at most N/2, and is rounded three times at most: itself, its factor, the sums
    error = (terms + 2) * (terms + 4) * 0.5 * points * 2.0**-53 + _LEAST_ERROR
    middle, reach = 0.5 * (width - 1) / points, 0.5 * width / points
    hits = np.zeros(d, dtype=np.int64)
    few = max(1, min(d, _ITEMS))
    step = max(1, _PRODUCTS // (few * (terms + 2)))
    for first in range(0, d, few):
        items = np.arange(first, min(first + few, d), dtype=np.uint64)
        factors = _factors(items, terms, points, middle)
        held, left = _Held(len(items), step), [(_NONE, _NONE)]
        for start in range(0, len(data), step):
            part = reports[:, start : start + step]
            turns, whole = held.floats(part.shape[1])
            np.matmul(factors, part, out=turns)
            np.rint(turns, out=whole)
            np.subtract(turns, whole, out=turns)
            np.abs(turns, out=turns)  # from the middle of the arc
            sure, open_ = turns < reach - error, turns < reach + error
            held.add(sure)
            open_ ^= sure
            place = _places(open_)
            left.append((place // part.shape[1], start + place % part.shape[1]))
        item, user = map(np.concatenate, zip(*left, strict=True))
        report = data[user].T
        gap = report[-1].astype(np.uint64) + (np.uint64(points) - positions(report[:-1], items[item], points))
        on = wrapped(gap, points) < np.uint64(width)
        hits[first : first + few] = held.counts() + np.bincount(item[on], minlength=len(items))
    return hits


class _Held:
    """Work space for some items, and how often each was hit, summed in bytes for as long as these cannot overflow."""

    def __init__(self, items: int, columns: int) -> None:
        self._floats = np.empty((2, items * columns))
        self._bytes, self._blocks = np.zeros((items, columns), dtype=np.uint8), 0
        self._total = np.zeros(items, dtype=np.int64)

    def floats(self, columns: int) -> NDArray[np.float64]:
        """Two tables with so many columns."""
        return self._floats[:, : len(self._total) * columns].reshape(2, len(self._total), columns)

    def add(self, hit: NDArray[np.bool_]) -> None:
        """Count a table of hits."""
        if self._blocks == 255:
            self.counts()
        part = self._bytes[:, : hit.shape[1]]
        np.add(part, hit.view(np.uint8), out=part)
        self._blocks += 1

    def counts(self) -> NDArray[np.int64]:
        """The hits of every item so far."""
        self._total += self._bytes.sum(axis=1, dtype=np.int64)
        self._bytes[:], self._blocks = 0, 0
        return self._total


def _places(few: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The flat places of the entries that are set, of which there are few: eight are looked at together first."""
    eights = np.packbits(few)
    at = np.flatnonzero(eights)
    return (8 * at[:, None] + np.arange(8))[np.unpackbits(eights[at, None], axis=1).view(np.bool_)]


def _factors(items: NDArray[np.uint64], terms: int, points: int, middle: float) -> NDArray[np.float64]:
    """What (c_1, ..., c_m, y, 1) is multiplied with for the place of y, in turns from the middle of the item's arc."""
    out = np.empty((len(items), terms + 2))
    power = np.ones(len(items), dtype=np.uint64)
    for i in range(terms):
        power = power * items % np.uint64(points)
        out[:, i] = np.where(power > points // 2, points - power.astype(np.float64), -power.astype(np.float64))
    out[:, terms] = 1.0
    out[:, : terms + 1] /= points
    out[:, terms + 1] = -middle
    return out
