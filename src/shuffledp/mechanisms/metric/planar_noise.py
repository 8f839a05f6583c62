"""Planar Laplace noise, density e^-|y|/(2 pi): its total variation, and an exact sampler on a square grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...randomness.sampling import Source, words
from ..numeric.discrete_laplace import coins, discrete_laplace


def planar_variation(distance: float) -> float:
    """Total variation of two planar Laplace laws: (2/pi) [int_0^z K0 - z K0(z)], z = distance/2 (paper, section 5).

    As K0(x) is the integral of e^(-x cosh u) over u >= 0 (DLMF 10.32.9), the bracket is that of
    (1 - e^-y (1 + y))/cosh u, y = z cosh u: analytic for |Im u| < pi/2, and below 2 e^-u, so the trapezoid rule of
    step 1/5 errs by about e^(-5 pi^2), and what is beyond u = 40 is below 1e-17.  Relative error below 1e-11.
    """
    z = 0.5 * distance
    if z < 1e-3:
        return 2.0 / math.pi * (z + z**3 / 6.0 * (math.log(0.5 * z) + np.euler_gamma - 5.0 / 6.0))
    if z > 700.0:
        return 1.0
    u = 0.2 * np.arange(201)
    y = z * np.cosh(u)
    with np.errstate(under="ignore"):
        terms = (-np.expm1(-y) - y * np.exp(-y)) / np.cosh(u)
    return float(2.0 / math.pi * 0.2 * (terms.sum() - 0.5 * terms[0]))


def planar_noise(src: Source, step: float, size: int) -> NDArray[np.int64]:
    """z with probability proportional to e^(-step |z|): two discrete Laplace variables, kept in pi/4 of the cases.

    Their rate is just below step/sqrt(2), and |z|_1 <= sqrt(2) |z|, so what is kept has probability at most 1.
    """
    rate = math.nextafter(step / math.sqrt(2.0), 0.0)
    out = np.empty((size, 2), dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        z = discrete_laplace(src, rate, 2 * pending.size).reshape(-1, 2)
        x, y = np.abs(z).astype(np.float64).T
        keep = np.exp(np.minimum(rate * (x + y) - step * np.hypot(x, y), 0.0))
        # a small probability is that of some fair coins, then a large one: right in relative terms
        halves = np.clip(-np.frexp(keep)[1], 0, 63)
        kept = coins(src, np.ldexp(keep, halves))
        kept &= words(src, pending.size, 64) & ((np.uint64(1) << halves.astype(np.uint64)) - np.uint64(1)) == 0
        out[pending[kept]] = z[kept]
        pending = pending[~kept]
    return out
