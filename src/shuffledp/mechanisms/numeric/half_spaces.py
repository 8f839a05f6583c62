"""How three vertices of a cube of even dimension lie to each other: which signs z.v0, z.v1 and z.v a report z has.

Only the numbers of coordinates matter in which v1 and v differ from v0.  For large dimensions every way in which
signs and ties may go together is allowed instead, at the known share of ties (two_level.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..two_level import Shares

#: Largest dimension in which all triples of vertices are listed.
MOST_DIMENSIONS = 16


def triples(dim: int) -> Iterator[list[Shares]]:
    """For every distance between v0 and v1, the shares of z with positive products for each third vertex.

    Examples
    --------
    >>> [len(thirds) for thirds in triples(2)]
    [4, 3]
    """
    for apart in range(1, dim + 1):
        sizes = ((dim - apart - j, j, apart - i, i) for i in range(apart + 1) for j in range(dim - apart + 1))
        yield [_shares(*some) for some in sizes]


def _shares(agree: int, third: int, second: int, both: int) -> Shares:
    """Coordinates in which neither v1 nor v, only v, only v1, or both differ from v0."""
    blocks = [_block(size) for size in (agree, third, second, both)]
    a, b, c, d = np.ix_(*(sums for sums, _ in blocks))
    w, x, y, z = np.ix_(*(counts for _, counts in blocks))
    code = 4 * (a + b + c + d > 0) + 2 * (a + b - c - d > 0) + (a - b + c - d > 0)
    # at most 2^16 choices: their sums are exact
    found = np.bincount(code.reshape(-1), weights=(w * x * y * z).reshape(-1), minlength=8).astype(np.int64).tolist()
    total = 2 ** (agree + third + second + both)
    cells = itertools.product((0, 1), repeat=3)
    return {cell: Fraction(count, total) for cell, count in zip(cells, found, strict=True) if count}  # type: ignore[misc]


@lru_cache(maxsize=32)
def _block(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of a sum of ``size`` signs, and how many choices give each."""
    return np.arange(-size, size + 1, 2), np.array([math.comb(size, k) for k in range(size + 1)])
