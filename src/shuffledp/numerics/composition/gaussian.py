"""The Gaussian picture of a composition: many rounds cost about as much as one Gaussian release.

Shuffled rounds are nearly mu-GDP each, and the squares of mu add up (Dong, Roth, Su, JRSS B 84, 2022, Corollary 2).
These numbers are where a search begins; nothing here is trusted with privacy.
"""

from __future__ import annotations

import math

from ..search import bisect


def mu_of(epsilon: float, delta: float) -> float:
    """The mu of a Gaussian release that is (epsilon, delta)-DP.

    Examples
    --------
    >>> round(mu_of(1.0, 1e-8), 4)
    0.1961
    """
    return bisect(lambda mu: _delta(mu, epsilon) <= delta, safe=1e-12, unsafe=1e3, close=_close, geometric=True)


def epsilon_of(mu: float, delta: float) -> float:
    """The eps of a Gaussian release with this mu at delta.

    Examples
    --------
    >>> round(epsilon_of(mu_of(1.0, 1e-8), 1e-8), 6)
    1.0
    """
    return bisect(lambda epsilon: _delta(mu, epsilon) <= delta, safe=1e6, unsafe=1e-15, close=_close, geometric=True)


def _close(value: float) -> float:
    return 1e-13 * value


def _delta(mu: float, epsilon: float) -> float:
    """delta(eps) of a Gaussian release (Balle, Wang, ICML 2018, Theorem 8)."""
    near, far = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    # e^eps phi(far) = phi(near): the second term as a Mills ratio does not overflow
    second = math.exp(-0.5 * near * near) * _mills(far) if abs(near) < 38.0 else 0.0
    return max(0.5 * math.erfc(near / math.sqrt(2.0)) - second / math.sqrt(2.0 * math.pi), 0.0)


def _mills(x: float) -> float:
    """The Mills ratio of the normal law at x > 0, to a few parts in a thousand beyond 25."""
    if x > 25.0:
        return 1.0 / (x + 1.0 / x)
    return 0.5 * math.erfc(x / math.sqrt(2.0)) * math.exp(0.5 * x * x) * math.sqrt(2.0 * math.pi)
