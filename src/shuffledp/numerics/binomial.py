"""Multinomial probabilities and binomial tails that are accurate at any n.

Differences of log-gammas lose 4e-7 at n = 1e8; Loader's form (C. Loader, "Fast and accurate
computation of binomial probabilities", 2000) writes the probability as Stirling corrections and
deviances, every one of them small and computed without cancellation.
"""

from __future__ import annotations

import math

import numpy as np

from .bisect import smallest_whole
from .pair import FloatArray

_EXACT_CORRECTION = np.array(
    [0.0] + [math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi) for k in range(1, 16)]
)


def stirling_correction(k: FloatArray) -> FloatArray:
    """log k! - log(sqrt(2 pi k) (k/e)^k) for k >= 1 (0 at k = 0, which the callers treat separately)."""
    k = np.asarray(k, dtype=np.float64)
    x = np.maximum(k, 16.0)
    y = 1.0 / (x * x)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x
    return np.where(k < 16, _EXACT_CORRECTION[np.minimum(k, 15).astype(np.int64)], series)


def deviance(k: FloatArray, mean: FloatArray | float) -> FloatArray:
    """k log(k / mean) + mean - k >= 0, without cancellation near k = mean."""
    k = np.asarray(k, dtype=np.float64)
    ratio = (k - mean) / (k + mean)
    # log(k/mean) = 2 atanh(ratio); k - mean = ratio (k + mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(k > 0, k * np.log(np.where(k > 0, k, 1.0) / mean), 0.0) + mean - k
    square = ratio * ratio
    term, tail = np.ones_like(square), np.zeros_like(square)
    for i in range(1, 12):
        term = term * square
        tail = tail + term / (2 * i + 1)
    close = (k - mean) * ratio + 2.0 * k * ratio * tail
    return np.where(np.abs(ratio) < 0.1, close, plain)


def log_term(k: FloatArray, mean: float) -> FloatArray:
    """-log of the factor of a count k of this mean in a multinomial probability (inf for k > 0 of mean 0)."""
    if mean <= 0.0:
        return np.where(k > 0, np.inf, 0.0)
    half_log = 0.5 * np.log(2 * np.pi * np.maximum(k, 1.0))
    return np.asarray(np.where(k > 0, half_log + stirling_correction(k), 0.0) + deviance(k, mean))


def log_draws(n: int) -> float:
    """What n draws contribute to the log of a multinomial probability."""
    return float(stirling_correction(np.array(float(n)))) + 0.5 * math.log(2 * math.pi * n)


def log_multinomial(counts: FloatArray, n: int, t: FloatArray) -> FloatArray:
    """log Mult(n; t, 1 - sum t) at each row of counts (the rest of the n draws is "nothing")."""
    rest = n - counts.sum(axis=1)
    nothing = max(0.0, 1.0 - float(t.sum()))
    out = np.full(len(counts), log_draws(n))
    for k, mean in [(counts[:, j], n * t[j]) for j in range(t.size)] + [(rest, n * nothing)]:
        out -= log_term(k, mean)
    return out


def log_tail_bound(n: int, t: float, k: float) -> float:
    """Chernoff: log Pr[Bin(n, t) >= k] <= -n KL(k/n || t), 0 below the mean, -inf above n."""
    if k > n:
        return -math.inf
    if k <= n * t:
        return 0.0
    if t <= 0.0:
        return -math.inf
    x = k / n
    first = x * math.log(x / t)
    second = 0.0 if x >= 1.0 else (1.0 - x) * (math.log1p(-x) - math.log1p(-t))
    return -n * (first + second)


def first_rare(n: int, t: float, log_mass: float, *, low: int, high: int) -> int | None:
    """The smallest k in [low, high] with (the bound on) log Pr[Bin(n, t) >= k] at most ``log_mass``; None if none is.

    Examples
    --------
    >>> first_rare(100, 0.5, -20.0, low=0, high=101)
    81
    """
    start = min(high, math.ceil(_about_as_rare(n, t, -log_mass)))
    return smallest_whole(lambda k: log_tail_bound(n, t, k) - log_mass, low=low, high=high, start=start)


def _about_as_rare(n: int, t: float, least: float) -> float:
    """Where n KL(k/n || t) is about ``least``: Bernstein's k, then Newton's steps, which stay above the root."""
    mean = n * t
    if not 0.0 < mean < n or least <= 0.0:
        return mean + 1.0
    k = mean + least / 3.0 + math.sqrt(least * least / 9.0 + 2.0 * least * mean * (1.0 - t))
    for _ in range(3):
        if k >= n:
            return n + 1.0
        odds = k * (1.0 - t) / ((n - k) * t)
        if odds <= 1.0:
            break
        k += (log_tail_bound(n, t, k) + least) / math.log(odds)
    return k
