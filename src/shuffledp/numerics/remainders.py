"""The remainders of the exponential series, which bound moment generating functions from a few moments.

phi_k(y) = (e^y - 1 - y - ... - y^(k-1)/(k-1)!)/y^k is a mixture of e^(uy), 0 <= u <= 1, so it rises with y: for even k
and X <= r, E e^(cX) <= 1 + c E X + ... + c^(k-1) E X^(k-1)/(k-1)! + c^k phi_k(c r) E X^k (Bennett: k = 2).
"""

from __future__ import annotations

import math

import numpy as np

from .pair import FloatArray

#: Exponents above this bound nothing.
_LARGEST_RISE = 50.0


def remainder(y: FloatArray, order: int) -> FloatArray:
    """(e^y - 1 - ... - y^(order-1)/(order-1)!)/y^order for y >= 0, rounded up; inf where y is too large."""
    y = np.maximum(np.asarray(y, dtype=np.float64), 0.0)
    small = y < 1.0
    term = np.full(y.shape, 1.0 / math.factorial(order))
    total = term.copy()
    for k in range(order + 1, order + 16):
        term = term * np.where(small, y, 0.0) / k
        total = total + term
    large = np.where(small, 1.0, np.minimum(y, _LARGEST_RISE))
    head = sum(large**k / math.factorial(k) for k in range(order))
    value = np.where(small, total, (np.exp(large) - head) / large**order) * (1.0 + 1e-12)
    return np.asarray(np.where(y <= _LARGEST_RISE, value, np.inf))
