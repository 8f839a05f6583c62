"""A cheap sound upper bound for many laws at once, to decide which of them need an evaluation.

The contour sum of contour.py is at most the sum of the moduli of its nodes, and the moduli are bounded
from two moments of the tilted law instead of its whole transform:

    |M(c+iy)/M(c)|^n <= exp(-n r(y)),   r(y) = max( (V y^2 - m4 y^4/24)/2, (2/pi^2) V y^2 )   for y <= pi/range(X),

with V the variance and m4 = E(X - X')^4 of two independent copies, since cos a <= 1 - a^2/2 + a^4/24.

Where few others hide the victim (n sum(t) small), S is far from Gaussian, and what happens without any draw of a
negative value is computed exactly; only the rest is bounded by (x)_+ <= e^{cx}/(e c):

    E[(S)_+] <= n (1 - T-)^(n-1) sum_{l_j > 0} t_j l_j + (M(c)^n - M+(c)^n) / (e c),

T- the mass of the negative values and M+(c) = 1 - T- + sum_{l_j > 0} t_j (e^{c l_j} - 1), for every c > 0.
"""

from __future__ import annotations

import math

import numpy as np

from ..pair import FloatArray
from .contour_nodes import saddle

_NODES = 40
#: Expected number of draws up to which the event without a negative one is treated separately.
_FEW_DRAWS = 40.0
#: Values that underflow are replaced by this.
_LEAST = 1e-290
#: The abscissa is doubled this often; each time costs two products.
_DOUBLINGS = 5


@np.errstate(all="ignore")  # overflow gives inf or NaN, which bounds nothing
def log_upper(l: FloatArray, t: FloatArray, n: int) -> FloatArray:
    """log of an upper bound on E[(S)_+]/n for every row of l; -inf where S <= 0."""
    out = np.full(len(l), -np.inf)
    active = np.flatnonzero(l.max(axis=1) > 0)
    if active.size:
        live = l[active]
        alone = np.log(np.maximum(live, 0.0) @ t) + 1e-12  # E[(S)_+]/n <= E[(X)_+], by convexity: nobody else hides
        out[active] = np.fmin(_bound(live, t, float(n)), alone)
        if few_draws(t, n):
            out[active] = np.fmin(out[active], _few_draws(live, t, float(n)))
    return out


def few_draws(t: FloatArray, n: int) -> bool:
    """Whether so few draws are expected that the bound is sharp far from 0, where it is close to exact."""
    return bool(n * t.sum() <= _FEW_DRAWS)


def _few_draws(l: FloatArray, t: FloatArray, n: float) -> FloatArray:
    """The bound that treats the draws without a negative value exactly."""
    shrink = 1.0 - t.size * 2.0**-52  # sums of masses are rounded down, which errs upward
    below_zero = l < 0.0
    negative = below_zero @ t * shrink
    gain = np.maximum(l, 0.0)
    single = n * np.exp((n - 1.0) * np.log1p(-negative)) * (gain @ t)
    c = 0.5 / l.max(axis=1)
    below, above = np.exp(c[:, None] * np.minimum(l, 0.0)), np.exp(c[:, None] * gain)
    rest = np.full(len(l), np.inf)
    for _ in range(_DOUBLINGS):
        plus = np.maximum((above - 1.0) @ t, 0.0) - negative  # M+ - 1
        minus = np.maximum(np.where(below_zero, below, 0.0) @ t, _LEAST)  # M - M+
        rest = np.fmin(rest, np.exp(n * np.log1p(plus)) * np.expm1(n * np.log1p(minus / (1.0 + plus))) / (np.e * c))
        below, above, c = below * below, above * above, 2.0 * c
    return np.asarray(np.log(single + rest) - np.log(n) + 1e-8)


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
