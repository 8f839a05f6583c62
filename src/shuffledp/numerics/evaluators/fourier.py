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
    """sum_j w_j exp(i k h l_j) at every node k >= 1 for every w >= 0, and a bound on the error of the first.

    The error leaves out the rounding of the phases k h l_j themselves.  None where the values span too many cells.

    Examples
    --------
    >>> (value,), error = sums(np.array([1, 2]), 0.5, np.array([1.0, -2.0]), [np.array([0.25, 0.5])])
    >>> bool(abs(value[0] - (0.25 * np.exp(0.5j) + 0.5 * np.exp(-1j))) < error < 1e-12)
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
    values = []
    for weight in weights:
        total = np.zeros(k.size, dtype=np.complex128)
        for p in range(TERMS - 1, -1, -1):  # Horner's rule in -i theta
            total *= turn / (p + 1)
            total += np.fft.rfft(np.bincount(at, weights=weight * powers[p], minlength=size))[k]
        values.append(np.conj(total))
    first = np.bincount(at, weights=weights[0], minlength=size)
    mass = float(weights[0].sum())
    # A transform errs by at most 8 log2(N) roundings in the Euclidean norm; the moments fall like 2^-p, so the
    # terms add up to at most e^{pi/4} < 2.2 times the first; binning adds one rounding for each value.
    rounding = 2.2 * _UNIT * (8.0 * math.log2(size) * math.sqrt(size) * float(np.sqrt(first @ first)) + l.size * mass)
    return values, rounding + mass * (math.pi / 4.0) ** TERMS / math.factorial(TERMS)
