"""Items on a circle of N points, N a prime below 2^31: where a seed puts them, and which arcs hold a point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def positions(seed: NDArray[Any], items: NDArray[Any], points: int) -> NDArray[np.uint64]:
    """h(v) = v (c_1 + v (c_2 + ...)) mod N; ``seed`` has one row per coefficient.

    Examples
    --------
    >>> seed = np.array([[3], [1]], dtype=np.uint32)
    >>> positions(seed, np.array([2], dtype=np.uint64), 7).tolist()  # 3 x 2 + 1 x 4 = 10
    [3]
    """
    total = np.zeros(np.broadcast_shapes(seed.shape[1:], items.shape), dtype=np.uint64)
    for coefficient in seed[::-1]:
        total += coefficient
        total *= items  # below 2^63
        total -= total // np.uint64(points) * np.uint64(points)
    return total


def wrapped(total: NDArray[Any], points: int) -> NDArray[Any]:
    """Numbers below 2N, mod N: where they are below N, subtracting N wraps to something larger."""
    return np.asarray(np.minimum(total, total - total.dtype.type(points)))


def supported(data: NDArray[Any], d: int, width: int, points: int) -> NDArray[np.int64]:
    """How many reports (seed, y) have y on the arc of each of d items.

    That is (y - h(v)) mod N < W, with y - h(v) by its forward differences in v.
    """
    m, n = data.shape[1] - 1, np.uint32(points)
    report = np.ascontiguousarray(data.T, dtype=np.uint32)
    table = np.empty((m + 1, report.shape[1]), dtype=np.uint32)
    for v in range(m + 1):
        table[v] = positions(report[:m], np.array([v], dtype=np.uint64), points)
    table = wrapped(report[m] + (n - table), points)
    for level in range(1, m + 1):
        table[level:] = wrapped(table[level:] + (n - table[level - 1 : -1]), points)
    hits = np.empty(d, dtype=np.int64)
    total, less = np.empty_like(table[1:]), np.empty_like(table[1:])
    for v in range(d):
        hits[v] = np.count_nonzero(table[0] < np.uint32(width))
        np.add(table[:-1], table[1:], out=total)
        np.subtract(total, n, out=less)
        np.minimum(total, less, out=table[:-1])
    return hits
