"""Items on a circle of N points, N a prime below 2^31: where a seed puts them, and which arcs hold a point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MERSENNE = 2**31 - 1
#: Items at a time; products in one block, few enough for BLAS to use no threads of its own; cells in one step.
_ITEMS, _PRODUCTS, _CELLS = 128, 200_000, 1 << 18
#: A turn has this many units: as many as there are integers of 16 bits.
_UNITS = 1 << 16
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

    (y - h(v))/N is a product of matrices, with v^i mod N as numbers in [-N/2, N/2], up to whole turns, which adding a
    large constant removes (see :func:`_anchor`).  Its error is known; where it leaves the answer open, whole numbers
    decide.
    """
    terms = data.shape[1] - 1
    anchor, shift, error = _anchor(terms, points)
    reach = 0.5 * width / points
    sure_below, open_below = (math.floor(_UNITS * max(reach - error, 0.0)), math.ceil(_UNITS * (reach + error)) + 1)
    hits = np.zeros(d, dtype=np.int64)
    few = max(1, min(d, _ITEMS))
    columns = max(1, _PRODUCTS // (few * (terms + 2)))
    for first in range(0, d, few):
        items = np.arange(first, min(first + few, d), dtype=np.uint64)
        factors = _factors(items, terms, points, anchor - 0.5 * (width - 1) / points)
        left = [(_NONE, _NONE)]
        for start, blocks in _blocks(data, columns, min(255, max(1, _CELLS // (few * columns)))):
            turns = np.matmul(factors, blocks)
            away = turns.view(np.int64).astype(np.int16)  # the last binary digits: from the middle of the arc, in units
            if shift:
                away <<= shift
            distance = np.abs(away, out=away).view(np.uint16)
            sure, open_ = distance < sure_below, distance < open_below
            hits[first : first + few] += (
                sure.view(np.uint8).sum(axis=0, dtype=np.uint8).sum(axis=1, dtype=np.int64)
            )  # at most 255 blocks
            open_ ^= sure
            block, item, column = np.unravel_index(_places(open_), open_.shape)
            left.append((item, start + block * blocks.shape[2] + column))
        item, user = map(np.concatenate, zip(*left, strict=True))
        report = data[user].T
        gap = report[-1].astype(np.uint64) + (np.uint64(points) - positions(report[:-1], items[item], points))
        on = wrapped(gap, points) < np.uint64(width)
        hits[first : first + few] += np.bincount(item[on], minlength=len(items))
    return hits


def _anchor(terms: int, points: int) -> tuple[float, int, float]:
    """A constant that leaves sums of the products mod 1 in their last digits, the shift to units, the error in turns.

    1.5 x 2^e plus a sum up to 2^(e-1) lies in [2^e, 2^(e+1)], where numbers are multiples of 2^(e-52): their last
    52 - e digits are the fraction of a turn, and e = 36 makes them units.  Each sum is rounded by half of that, so is
    the constant, and each product and its factor by 2^-23 together, as they are at most N/2 < 2^30.
    """
    exponent = max(36, math.ceil(math.log2(0.5 * terms * points + 2.0)) + 1)
    error = 1.05 * (terms + 4) * 2.0 ** (exponent - 53)
    return 1.5 * 2.0**exponent, min(exponent - 36, 15), error


def _blocks(data: NDArray[Any], columns: int, count: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Where some reports begin, and ``count`` blocks of them (fewer at the end): one report per column, a one below."""
    step, done = columns * count, 0
    while done < len(data):
        rest = len(data) - done
        size = step if rest >= step else (rest // columns or 1) * columns
        part = data[done : done + size]
        blocks = np.ones((max(len(part) // columns, 1), data.shape[1] + 1, min(columns, len(part))))
        blocks[:, :-1] = part.reshape(len(blocks), -1, data.shape[1]).transpose(0, 2, 1)
        yield done, blocks
        done += len(part)


def _places(few: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The flat places of the entries that are set, of which there are few: eight are looked at together first."""
    eights = np.packbits(few)
    at = np.flatnonzero(eights != 0)
    return (8 * at[:, None] + np.arange(8))[np.unpackbits(eights[at, None], axis=1).view(np.bool_)]


def _factors(items: NDArray[np.uint64], terms: int, points: int, constant: float) -> NDArray[np.float64]:
    """What (c_1, ..., c_m, y, 1) is multiplied with for the place of y past the item, in turns, plus the constant."""
    out = np.empty((len(items), terms + 2))
    power = np.ones(len(items), dtype=np.uint64)
    for i in range(terms):
        power = power * items % np.uint64(points)
        out[:, i] = np.where(power > points // 2, points - power.astype(np.float64), -power.astype(np.float64))
    out[:, terms] = 1.0
    out[:, : terms + 1] /= points
    out[:, terms + 1] = constant
    return out
