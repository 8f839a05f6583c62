"""A lower bound on delta that shares nothing with the engine room: one event, "at least k reports in A".

All others hold one value.  A report of the victim is in A with probability a0 or a1, one of another user with
probability t, so that with N ~ Bin(n-1, t) the event has probability Pr[N >= k] + a Pr[N = k-1], and

    delta(E) >= Pr[N >= k] (1 - E) + Pr[N = k-1] (a0 - E a1)     for every A and every k.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import binom

#: scipy's binomial probabilities at n = 1e12 are off by up to 0.4 %.
DOUBT = 0.01
#: scipy's incomplete beta function may be 0 below this, where a probability is not.
_LOST = 1e-250
_PLACES = np.unique(np.concatenate([np.linspace(-4.0, 40.0, 56), [0.0]]))


def delta(rows: NDArray[np.float64], n: int, eps: float) -> float:
    """The largest of these lower bounds over some pairs of rows, values that the others hold, A and k."""
    best, ratio = 0.0, math.exp(eps)
    for first, second in itertools.islice(itertools.permutations(range(len(rows)), 2), 8):
        p0, p1 = rows[first], rows[second]
        for held in (p0, p1, rows[-1]):
            for level in (1.0, ratio):
                inside = p0 > level * p1
                a0, a1, t = (float(law[inside].sum()) for law in (p0, p1, held))
                best = max(best, _of_event(a0, a1, min(t, 1.0), n, eps))
    return best


def _of_event(a0: float, a1: float, t: float, n: int, eps: float) -> float:
    gain = (a0 - a1) - math.expm1(eps) * a1
    if gain <= 0.0:
        return 0.0
    mean, deviation = (n - 1) * t, math.sqrt((n - 1) * t * (1.0 - t))
    k = np.unique(np.clip(np.floor(mean + _PLACES * deviation) + 1.0, 1.0, n))
    k = np.unique(np.concatenate([k, np.arange(1.0, min(n, 12) + 1.0)]))
    with np.errstate(all="ignore"):
        tail = np.where(k > n - 1, 0.0, betainc(k, np.maximum(n - k, 0.5), t))
        mass = binom.pmf(k - 1.0, n - 1, t)
        ratio = (n - k) * t / (k * (1.0 - t))  # Pr[N = k] / Pr[N = k-1], and the next ones are smaller
        above = np.where(ratio < 1.0, mass * ratio / (1.0 - ratio), np.inf)
        tail = np.where((tail > _LOST) | (k > n - 1), tail, above)
        found = mass * gain - math.expm1(eps) * tail
    return float(np.nanmax(found, initial=0.0))
