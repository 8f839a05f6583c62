"""Planar Laplace noise, density e^-|y|/(2 pi): its total variation, and an exact sampler on a square grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...randomness.sampling import Source, words
from ..numeric.discrete_laplace import coins, discrete_laplace


def planar_variation(distance: float) -> float:
    """Total variation of two planar Laplace laws: (2/pi) [int_0^z K0 - z K0(z)], z = distance/2 (paper, section 5).

    Relative error below 1e-11 (spec: 1.0e-12 at worst).
    """
    z = 0.5 * distance
    if z < 1e-3:
        return 2.0 / math.pi * (z + z**3 / 6.0 * (math.log(0.5 * z) + np.euler_gamma - 5.0 / 6.0))
    if z > 700.0:
        return 1.0
    from scipy import special  # type: ignore[import-untyped]  # a client, which only draws, does without

    return float(2.0 / math.pi * (special.iti0k0(z)[1] - z * special.k0(z)))


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
