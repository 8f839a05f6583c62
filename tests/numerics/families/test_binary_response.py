"""Binary randomized response over all datasets, against exact integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

EPS0 = math.log(3.0)


def truth(k: int, m: int, eps: float) -> float:
    """D_E for e^eps0 = 3: the mass of S is a coefficient of (1 + 3x)^k (3 + x)^m over 4^(k+m), all integers."""
    ones = [math.comb(k, i) * 3**i for i in range(k + 1)]
    zeros = [math.comb(m, i) * 3 ** (m - i) for i in range(m + 1)]
    low, high = (ones, zeros) if k < m else (zeros, ones)
    g = [0] * (k + m + 1)
    for i, weight in enumerate(low):
        for j, other in enumerate(high):
            g[i + j] += weight * other
    E = Fraction(math.exp(eps))
    total = Fraction(0)
    for s in range(k + m + 2):
        here, before = g[s] if s <= k + m else 0, g[s - 1] if s else 0
        total += max(Fraction(0), 3 * here + before - E * (here + 3 * before))
    return float(total / 4 ** (k + m + 1))
