"""Sums of many exponentials at many equally spaced frequencies, by fast Fourier transforms.

sum_j w_j exp(i k h l_j) for nodes k: with a grid of spacing g = 2 pi / (N h), l_j = g (b_j + d_j), |d_j| <= 1/2,

    exp(i k h l_j) = exp(2 pi i k b_j / N) sum_p (i theta d_j)^p / p!,      theta = 2 pi k / N <= pi / 2,

so that a few transforms of length N (the moments of d in each cell of the grid, cells counted modulo N) give every
node at once.  The series is cut where (pi/4)^p / p! is negligible; that and the rounding of the transforms are
returned as a bound on the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..pair import FloatArray

NDArrayInt = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
NDArrayComplex = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

#: (pi/4)^16 / 16! is 1e-15: the series ends there.
TERMS = 16
#: The transform is this many times longer than the last node, which bounds theta by pi/2.
_OVERSAMPLING = 4
#: A transform costs about as much as this many sines for each of its points.
_COST = 6.0
_UNIT = 2.0**-53
#: Grid cells are numbered in doubles; beyond this their fractional part is lost.
_MOST_CELLS = 2.0**50


def length(last: int) -> int:
    """Length of the transforms for nodes up to ``last``: a power of two."""
    return 1 << max(_OVERSAMPLING * last - 1, 63).bit_length()


def pays(nodes: int, last: int, atoms: int) -> bool:
    """Whether the transforms are cheaper than nodes x atoms sines."""
    return nodes * atoms > _COST * length(last)


def sums(
    k: NDArrayInt, h: float, l: FloatArray, weights: Sequence[FloatArray]
) -> tuple[list[NDArrayComplex], float] | None:
    """sum_j w_j (exp(i k h l_j) - 1) at every node k >= 1 for every w >= 0, and a bound on the error of the first.

    The error leaves out the rounding of the phases k h l_j themselves.  None where the values span too many cells.

    Examples
    --------
    >>> (value,), error = sums(np.array([1, 2]), 0.5, np.array([1.0, -2.0]), [np.array([0.25, 0.5])])
    >>> bool(abs(value[0] - (0.25 * np.exp(0.5j) + 0.5 * np.exp(-1j) - 0.75)) < error < 1e-12)
    True
    """
    size = length(int(k.max()))
    position = l * (size * h / (2.0 * math.pi))
    if not np.abs(position).max() < _MOST_CELLS:
        return None
    cell = np.rint(position)
    offset = position - cell
    at = np.mod(cell, float(size)).astype(np.int64)
    powers = np.cumprod(np.vstack([np.ones(l.size), np.tile(offset, (TERMS - 1, 1))]), axis=0)
    turn = (-2j * math.pi / size) * k
    values: list[NDArrayComplex] = []
    apart = 0.0
    for i, weight in enumerate(weights):
        total = np.zeros(k.size, dtype=np.complex128)
        for p in range(TERMS - 1, -1, -1):  # Horner's rule in -i theta
            moments = np.bincount(at, weights=weight * powers[p], minlength=size)
            if p == 0:
                moments[0] = 0.0  # w exp(0) - w: the mass near 0, often nearly all of it, must not blur the rest
            total *= turn / (p + 1)
            total += np.fft.rfft(moments)[k]
        away = float(weight[at != 0].sum())
        values.append(np.asarray(np.conj(total) - away))
        apart = apart if i else away
    # A transform of N numbers is a sum in which each of them meets log2(N) butterflies, hence at most 8 log2(N)
    # roundings; a cell adds one for each value in it, Horner's rule a few.  The series errs by its first term left out.
    angle = (0.5 * math.pi) * np.abs(offset)
    series = float(weights[0] @ angle**TERMS) / math.factorial(TERMS)
    terms = apart + float(weights[0] @ np.expm1(angle))
    roundings = 8.0 * math.log2(size) + int(np.bincount(at).max()) + 64.0
    return values, _UNIT * roundings * terms + 1.01 * series
