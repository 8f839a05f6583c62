"""One Poisson count that a user raises by up to r: the law of a Poisson sum.

The messages that nobody's value decides number N ~ Poisson(mu).  The analyst may know what the other users sent and
subtract it, so two values of the victim shift N by some s <= r against each other.  The Poisson mass function g is
log-concave, so g(k-s)/g(k) rises with k: the best events are {k >= K} for the larger value and {k < K} for the smaller
one, and

    D_E(N+s || N) = max_K Pr[N+s >= K] - E Pr[N >= K] = max_K Pr[K-s <= N < K] - (E-1) Pr[N >= K],
    D_E(N || N+s) = max_K Pr[N < K] - E Pr[N+s < K] = max_K Pr[K-s <= N < K] - (E-1) Pr[N < K-s].

Pr[N+s >= K] rises with s, so s = r is the worst.

*Monotone in mu.*  Adding an independent Poisson number to a count is post-processing: the divergence falls with mu, so
an upper bound may round mu down.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..binomial import Lines, poisson
from ..family import Answer, OneByOne
from ..ledger import charge
from ..pair import FloatArray, Side

#: A larger mean counts as this one in an upper bound, and proves nothing in a lower bound.
LARGEST_MEAN = 2.0**28


class PoissonSteps(OneByOne):
    """One count is raised by up to ``most``, among the Poisson(n mean) messages that n users add.

    Examples
    --------
    >>> one = PoissonSteps(mean=0.65, most=8)
    >>> [round(one.epsilon(n=10_000, delta=1e-8, tol=1e-4, side=s).epsilon, 5) for s in ("lower", "upper")]
    [0.49962, 0.49962]
    """

    quick = True  # one law of the count serves many eps

    def __init__(self, *, mean: float, most: int) -> None:
        self._mean, self._most = mean, most

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps at which Pr[event] - e^eps Pr'[event] reaches delta for some event."""
        mu = rounded_mean(n, self._mean, side, most=LARGEST_MEAN)
        if mu > LARGEST_MEAN:
            return Answer(0.0, 0, 1)
        return Answer(_events(mu, self._most, side).epsilon(delta), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log of the largest Pr[event] - e^eps Pr'[event] over all events, for every eps."""
        mu = rounded_mean(n, self._mean, side, most=LARGEST_MEAN)
        if mu > LARGEST_MEAN:
            return np.full(eps.shape, -np.inf)
        with np.errstate(divide="ignore"):
            found = np.log(_events(mu, self._most, side).delta(eps.reshape(-1)))
        return np.asarray(found.reshape(eps.shape))


@lru_cache(maxsize=8)
@charge("rounding and window of one Poisson count", "poisson/one_count.py")
def _events(mu: float, most: int, side: Side) -> Lines:
    """A line for every K, twice: Pr[K-r <= N < K], twice; and Pr[N >= K], followed by Pr[N < K-r].

    For "upper" the first array is rounded up and the second down, for "lower" the other way round.

    A mass is a product of ratios, each right to a few roundings, and all sums are of positive terms: 64 roundings per
    entry of the window cover both.  What the window leaves out may be anywhere: it is added to the array that is
    rounded up (and for "upper" stands alone for K outside of the window).
    """
    window = poisson(mu)
    mass = np.concatenate([window.mass, np.zeros(most)])
    inside = _neighbors(mass, most)
    beyond = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # entry k is that of K = k + 1
    before = np.concatenate([np.zeros(most), np.cumsum(window.mass)])
    error, lost = 64.0 * mass.size * 2.0**-53, window.left_out
    rise, fall = np.concatenate([inside, inside]), np.concatenate([beyond, before])
    if side == "upper":
        return Lines(np.append(rise * (1.0 + error) + lost, lost), np.append(fall * (1.0 - error), 0.0), side)
    return Lines(rise * (1.0 - error), fall * (1.0 + error) + lost, side)


def _neighbors(mass: FloatArray, count: int) -> FloatArray:
    """Sums of the ``count`` entries up to each, by sums of 1, 2, 4, ... of them: no differences.

    Examples
    --------
    >>> _neighbors(np.array([1.0, 2.0, 4.0, 8.0]), 3).tolist()
    [1.0, 3.0, 7.0, 14.0]
    """
    total, power, done = np.zeros(mass.size), mass.copy(), 0
    for bit in range(count.bit_length()):
        width = 1 << bit
        if count & width:
            total[done:] += power[: mass.size - done]
            done += width
        power[width:] = power[width:] + power[:-width]
    return total


@charge("rounding of the mean of a Poisson count", "poisson/one_count.py: the divergence falls with mu")
def rounded_mean(n: int, mean: float, side: Side, *, most: float) -> float:
    """The mean of the count of n users, rounded to the safe side; an upper bound takes at most ``most``."""
    mu = n * mean
    return mu * (1.0 + 2.0**-50) if side == "lower" else min(mu * (1.0 - 2.0**-50), most)
