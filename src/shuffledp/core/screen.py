"""A cheap sound upper bound for many laws at once, to find out which of them are worth evaluating.

The contour sum of contour.py is at most the sum of the moduli of its nodes, and the moduli are bounded
from two moments of the tilted law instead of its whole transform:

    |M(c+iy)/M(c)|^n <= exp(-n r(y)),   r(y) = max( (V y^2 - m4 y^4/24)/2, (2/pi^2) V y^2 )   for y <= pi/range(X),

with V the variance and m4 = E(X - X')^4 of two independent copies, since cos a <= 1 - a^2/2 + a^4/24.
"""

from __future__ import annotations

import math

import numpy as np

from .line import saddle
from .round import FloatArray

_NODES = 40


def log_upper(l: FloatArray, t: FloatArray, n: int) -> FloatArray:
    """log of an upper bound on E[(S)_+]/n for every row of l; -inf where S <= 0."""
    out = np.full(len(l), -np.inf)
    active = np.flatnonzero(l.max(axis=1) > 0)
    if active.size:
        out[active] = _bound(l[active], t, float(n))
    return out


def _bound(l: FloatArray, t: FloatArray, n: float) -> FloatArray:
    c = saddle(l, t, n)
    growth = np.expm1(c[:, None] * l) @ t
    total = 1.0 + growth
    weight = t * np.exp(c[:, None] * l) / total[:, None]
    nothing = np.maximum(1.0 - t.sum(), 0.0) / total
    mean = (weight * l).sum(axis=1)
    square = (l - mean[:, None]) ** 2
    variance = (weight * square).sum(axis=1) + nothing * mean**2
    fourth = 2.0 * ((weight * square * square).sum(axis=1) + nothing * mean**4) + 6.0 * variance**2
    width = np.maximum(l.max(axis=1), 0.0) - np.minimum(l.min(axis=1), 0.0)
    s = np.minimum(math.sqrt(0.1) / c, 2.0 * width)
    h = 2.0 * np.pi / (6.0 * np.sqrt(n * variance + s * s))
    y = h[:, None] * np.arange(1, _NODES + 1)
    rate = np.maximum(
        0.5 * (variance[:, None] * y**2 - fourth[:, None] * y**4 / 24.0), (2.0 / np.pi**2) * variance[:, None] * y**2
    )
    cliff = np.pi / width
    inside = y <= cliff[:, None]
    node = np.exp(-n * rate - 0.5 * (s[:, None] * y) ** 2) / (c[:, None] ** 2 + y**2)
    near = h * (0.5 / c**2 + np.where(inside, node, 0.0).sum(axis=1))
    # nodes beyond the cliff, and nodes beyond the last one: first term plus integral of a falling bound
    end = np.minimum(h * _NODES, cliff)
    slow = (2.0 / np.pi**2) * n * variance + 0.5 * s * s
    beyond = np.exp(-slow * end**2) * (h / (c**2 + end**2) + np.arctan2(c, end) / c)
    far = np.exp(-0.5 * (s * cliff) ** 2) * (h / (c**2 + cliff**2) + np.arctan2(c, cliff) / c)
    log_mgf = n * np.log1p(growth)
    rounding = 2.0**-48 * n * c * ((np.abs(l) * np.maximum(np.exp(c[:, None] * l), 1.0)) @ t) + 1e-12
    log_sum = 0.5 * (s * c) ** 2 + np.log((near + beyond + far) / np.pi)
    chernoff = -1.0 - np.log(c)  # (x)_+ <= e^{cx} / (e c)
    return np.asarray(log_mgf + np.minimum(log_sum, chernoff) - math.log(n) + rounding)
