"""What a careful engineer would write: Theorem 4.8's sum over a window of c, scipy tails, 20 bisections."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def divergence(eps: float, n: int, p: float, beta: float, q: float) -> float:
    """E over c ~ Bin(n-1, 2r) of the binomial tails of Theorem 4.8 (no remainder: beta = (p-1)/(p+1))."""
    alpha = beta / (p - 1.0)
    r = alpha * p / q
    mean, deviation = (n - 1) * 2 * r, math.sqrt((n - 1) * 2 * r * (1 - 2 * r))
    c = np.arange(max(0, int(mean - 9 * deviation)), min(n - 1, int(mean + 9 * deviation)) + 1)
    weight = stats.binom.pmf(c, n - 1, 2 * r)
    e = math.exp(eps)
    low = np.ceil((e * p - 1) * (c + 1) / ((e + 1) * (p - 1)))
    first = stats.binom.sf(low - 2, c, 0.5)  # Pr[Bin(c, 1/2) >= low - 1]
    second = stats.binom.sf(low - 1, c, 0.5)
    return float(weight @ ((p - e) * alpha * first + (1 - p * e) * alpha * second))


def amplify(n: int, eps0: float, delta: float, iterations: int = 20) -> float:
    """Bisection on eps, as in the paper's Algorithm 1."""
    p = math.exp(eps0)
    low, high = 0.0, eps0
    for _ in range(iterations):
        middle = 0.5 * (low + high)
        if divergence(middle, n, p, (p - 1) / (p + 1), p) > delta:
            low = middle
        else:
            high = middle
    return high
