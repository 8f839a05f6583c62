"""Cheap upper values of delta from a few moments, to decide which of many rows need an evaluation.

With z = c + iy, E[(S + sZ)_+] <= (1/2 pi) Integral |M(z)|^n e^(s^2 (c^2 - y^2)/2) / (c^2 + y^2) dy (contour.py), and
the modulus of M is bounded from moments of the tilted law, without any node.
"""

from __future__ import annotations

import math

import numpy as np

from .ledger import charge
from .line import Tilt, saddle, tilt
from .pair import FloatArray

#: Larger exponents give no bound.
_LARGEST_RISE = 25.0
#: Squared deviations from which on the bell of M is bounded more coarsely; the best choice counts.
_CLOSE = (16.0, 25.0, 40.0, 80.0)
#: Dither of the integral, in units of 1/c: one for all types of users, whose moduli are averaged under the integral.
_DITHER = 0.2


@charge("the exponential series beyond the third moment", "docs/proofs.md, Lemma 12")
def remainder(y: FloatArray) -> FloatArray:
    """phi(y) = (e^y - 1 - y - y^2/2 - y^3/6)/y^4 for y >= 0, rounded up; inf where y is too large.

    phi is a mixture of e^(uy), 0 <= u <= 1, so it rises with y: for X <= r,
    E e^(cX) <= 1 + c E X + c^2 E X^2/2 + c^3 E X^3/6 + c^4 phi(c r) E X^4.
    """
    y = np.maximum(y, 0.0)
    small = y < 1.0
    little = np.where(small, y, 0.0)
    total = np.zeros(y.shape)
    for k in range(19, 3, -1):  # Horner's scheme
        total = total * little + 1.0 / math.factorial(k)
    large = np.where(small, 1.0, np.minimum(y, _LARGEST_RISE))
    head = 1.0 + large * (1.0 + large * (0.5 + large / 6.0))
    value = np.where(small, total, (np.exp(large) - head) / large**4) * (1.0 + 1e-12)
    return np.asarray(np.where(y <= _LARGEST_RISE, value, np.inf))


@charge("a row that is bounded from moments, not evaluated", "docs/proofs.md, Lemma 12")
def log_tail(variance: FloatArray, tail: FloatArray, c: FloatArray) -> FloatArray:
    """log of an upper value of (1/2 pi) Integral |M(z)/M(c)|^n e^(s^2 (c^2 - y^2)/2) / (c^2 + y^2) dy, s = _DITHER/c.

    ``variance`` is n V, V at most the variance of the tilted X, and ``tail`` at least E(X - X')^4/(2 n V^2) for two
    copies.

    |M(z)/M(c)|^2 = E cos(y(X - X')), and cos a <= 1 - a^2/2 + a^4/24, so that with v = n V y^2 the integrand is at
    most exp(-v (1 - tail v/12)/2): at most exp(-v f/2), f = 1 - tail u/12, for v <= u, and exp(-u f/2) for v between u
    and 12/tail - u; beyond, and whatever the moments, the dither bounds it.  The integral of e^(-r y^2)/(c^2 + y^2)
    over all y is (pi/c) erfcx(c sqrt(r)).  As s depends on c alone, the largest value over types of users on one
    abscissa bounds every dataset of them (docs/swap.md, Theorem 2, with h -> 0).
    """
    s = _DITHER / c
    best = 0.5 * erfcx_above(np.full(np.shape(c), _DITHER / math.sqrt(2.0)))
    for u in _CLOSE:
        close, end = np.sqrt(u / variance), np.sqrt((12.0 / tail - u) / variance)
        flat = 1.0 - tail * u / 12.0
        near = 0.5 * erfcx_above(c * np.sqrt(0.5 * (variance * flat + s * s)))
        middle = np.exp(-0.5 * (u * flat + (s * close) ** 2)) * np.arctan2(c, close)
        far = np.exp(-0.5 * (s * end) ** 2) * np.arctan2(c, end)
        best = np.fmin(best, np.where(end > close, near + (middle + far) / np.pi, np.inf))
    return np.asarray(np.log(best / c) + 0.5 * _DITHER**2 + 1e-9)


def erfcx_above(x: FloatArray) -> FloatArray:
    """An upper value of erfcx(x), x > 0: an odd convergent of its continued fraction (DLMF 7.9.2), or DLMF 7.8.2."""
    rest = x
    for k in range(8, 0, -1):
        rest = x + 0.5 * k / rest
    root = np.sqrt(np.pi)
    return np.asarray(np.fmin(1.0 / (root * rest), 2.0 / root / (x + np.sqrt(x * x + 4.0 / np.pi))))


def law_tail(x: FloatArray, t: FloatArray, at: Tilt, copies: FloatArray) -> FloatArray:
    """:func:`log_tail` of known tilted laws, by row."""
    mean = (at.weight * x).sum(axis=1)
    square = (x - mean[:, None]) ** 2
    nothing = np.maximum(1.0 - t.sum(axis=1), 0.0) * np.exp(-at.log_m)
    fourth = 2.0 * ((at.weight * square * square).sum(axis=1) + nothing * mean**4) + 6.0 * at.variance**2
    variance = copies * at.variance
    return log_tail(variance, 0.5 * fourth / (variance * at.variance) * (1.0 + 1e-8), at.c)


@np.errstate(all="ignore")
def log_screen(x: FloatArray, t: FloatArray, n: FloatArray) -> FloatArray:
    """log of an upper value of E[(mean of n copies of X)_+], by row: at the saddle, from two and four moments."""
    at = tilt(x, t, saddle(x, t, n))
    value = n * at.log_m + law_tail(x, t, at, n) - np.log(n)
    value += 2.0**-48 * (np.abs(n * at.log_m) + n * at.c * at.load)
    alone = np.log((t * np.maximum(x, 0.0)).sum(axis=1)) + 1e-12  # by convexity: as if nobody else hid the victim
    value = np.fmin(np.where(np.isnan(value), np.inf, value), alone)
    return np.where(x.max(axis=1) > 0.0, value, -np.inf)
