"""Random directions in floating point: Gaussians from random words, and inner products of a uniform direction.

Caps {u : <u, x> >= gamma} around several x in one plane: project the sphere to it.  A uniform direction has a uniform
angle there and, independently, a radius above r with probability (1 - r^2)^((dim-2)/2), so that a cap whose center is
at the angle a from the point holds it with probability F(a) = (1 - (gamma/cos a)^2)^((dim-2)/2) if cos a > gamma > 0,
else 0, and of two caps the one that is nearer holds all that the other one does, given the angle.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from ...randomness.sampling import Source, words

#: Nodes of the integral over an angle.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
#: Cells of the table of a quantile, and the largest half = (dim-1)/2 for which its error is below 1e-13 (tested).
_CELLS, _LARGEST = 1 << 13, 16.0


def uniform(src: Source, size: int) -> NDArray[np.float64]:
    """Floats in (0, 1): the middle of one of 2^52 equal cells."""
    out = (words(src, size, 64) >> np.uint64(12)).astype(np.float64)
    out += 0.5
    out *= 2.0**-52
    return out


def normals(src: Source, size: int) -> NDArray[np.float64]:
    """Standard Gaussians, two at a time, by the polar method (Marsaglia, Bray, SIAM Review 6, 1964)."""
    out, done, pairs = np.empty((2, (size + 1) // 2)), 0, (size + 1) // 2
    while done < pairs:
        draws = max(16, math.ceil(1.28 * (pairs - done)))
        point = uniform(src, 2 * draws).reshape(2, draws)
        point *= 2.0
        point -= 1.0
        square = point[0] * point[0]
        square += point[1] * point[1]
        inside = np.flatnonzero((square < 1.0) & (square > 0.0))[: pairs - done]
        square = square[inside]
        factor = np.log(square)
        factor *= -2.0
        factor /= square
        np.sqrt(factor, out=factor)
        for row, axis in zip(out, point, strict=True):
            np.multiply(axis[inside], factor, out=row[done : done + inside.size])
        done += inside.size
    return out.reshape(-1)[:size]


def quantile(half: float, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The quantile of Beta(half, half) at shares in (0, 1), to a relative 1e-13 from either end.

    Beyond 1/2 by symmetry.  Below, the quantile is x times a smooth function of x = (2 share)^(1/half), which cubic
    pieces between exact values and slopes follow to the last digits, unless ``half`` is large.

    Examples
    --------
    >>> import numpy as np
    >>> quantile(1.0, np.array([0.25, 0.75])).round(12).tolist()  # uniform
    [0.25, 0.75]
    """
    if half > _LARGEST:
        return np.asarray(special.betaincinv(half, half, share))
    x = np.minimum(share, 1.0 - share)
    x *= 2.0
    np.power(x, 1.0 / half, out=x)
    place = x * _CELLS
    cell = np.minimum(place.astype(np.intp), _CELLS - 1)
    place -= cell
    c0, c1, c2, c3 = (row.take(cell) for row in _pieces(half))
    c3 *= place
    c3 += c2
    c3 *= place
    c3 += c1
    c3 *= place
    c3 += c0
    c3 *= x
    return np.asarray(np.where(share > 0.5, 1.0 - c3, c3))


@lru_cache(maxsize=8)
def _pieces(half: float) -> NDArray[np.float64]:
    """Coefficients of cubic pieces of quantile/x, one column per cell of x in [0, 1]."""
    x = np.arange(1, _CELLS + 1) / _CELLS
    log_beta = special.betaln(half, half)
    tail = special.betaincinv(half, half, 0.5 * x**half)
    # share = x^half/2, so that d tail/dx = half x^(half-1)/2 / density(tail)
    slope = np.exp(log_beta + math.log(0.5 * half) + (half - 1.0) * np.log(x / (tail * (1.0 - tail))))
    value = tail / x
    change = (slope - value) / x
    # at 0: share = tail^half/(half B) (1 - (half-1) half/(half+1) tail + ...)
    first = math.exp((math.log(0.5 * half) + log_beta) / half)
    value = np.append(first, value)
    change = np.append(first * first * (half - 1.0) / (half + 1.0), change) / _CELLS
    step = np.diff(value)
    return np.stack(
        [value[:-1], change[:-1], 3.0 * step - 2.0 * change[:-1] - change[1:], change[:-1] + change[1:] - 2.0 * step]
    )


def log_held(angle: float, gamma: float, dim: int) -> float:
    """log F: the chance that a cap holds a point of the plane at this angle from its center; -inf: none."""
    away = math.cos(angle)
    return 0.5 * (dim - 2) * math.log1p(-((gamma / away) ** 2)) if away > gamma else -math.inf


def overlap(angle: float, gamma: float, dim: int) -> float:
    """The share of the sphere that is in two caps whose centers are at this angle, for gamma > 0.

    Given the angle in the plane, the farther cap decides: (1/pi) times the integral of F from half the angle on.  F is
    a power of the distance to its end, which a square takes away.

    Examples
    --------
    >>> round(overlap(0.0, 0.5, 4), 12) == round(1 / 3 - 0.25 * math.sqrt(3.0) / math.pi, 12)
    True
    """
    end = math.acos(gamma)
    wide = end - 0.5 * angle
    if wide <= 0.0:
        return 0.0
    root = 0.5 * (_NODES + 1.0)
    inside = 1.0 - (gamma / np.cos(end - wide * root * root)) ** 2
    return float(wide / math.pi * (_WEIGHTS * root) @ np.maximum(inside, 0.0) ** (0.5 * (dim - 2)))
