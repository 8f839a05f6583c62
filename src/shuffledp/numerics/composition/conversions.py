"""Other scales of privacy: Renyi divergences, trade-off functions, and the mu of a Gaussian release, from profiles.

For a pair of laws and an order a > 1, with h(E) = D_E in either direction (the larger one),

    E_Q[(P/Q)^a] <= 1 + a (a-1) Integral_1^inf (E^(a-2) + E^(-a-1)) h(E) dE,

with equality for a symmetric pair: x^a is a mixture of (x - E)_+ with density a (a-1) E^(a-2), and the part E < 1 is
mapped to E > 1 by D_E(P||Q) - (1 - E) = E D_{1/E}(Q||P).  h is convex, so between two nodes it lies below the chord of
any upper values there; the integral of chord times power has a closed form.  Every term is positive and kept
as a logarithm: orders of many thousands need delta far below the smallest double.

An infinite local guarantee means a set with P > 0 = Q, so every Renyi divergence is infinite.

A trade-off function T(Q, P)(alpha) is the least 1 - E_P[test] over all tests with E_Q[test] <= alpha.  For every E >= 0

    E_P[test] <= E E_Q[test] + D_E(P || Q),   so   T(Q, P)(alpha) >= 1 - D_E(P || Q) - E alpha,

and the best E attains it (Neyman and Pearson).  D_E(P||Q) = 1 - E + E D_{1/E}(Q||P) turns the terms with E < 1 into
(1 - D_{1/E}(Q||P) - alpha) E.  So with an upper bound delta(eps) on both directions for all neighbors, *any* eps gives
the valid lower values 1 - delta - e^eps alpha and e^-eps (1 - delta - alpha) of every trade-off function
(docs/outputs.md, Proposition 1).  From above a trade-off function is known by one fixed pair: where g(E) <= D_E(P||Q)
for *all* E > 0, T(Q, P)(alpha) is at most the supremum of 1 - g(E) - E alpha.  (A different pair at every E would not
do: a test is made for one pair.)

Shuffled rounds are nearly mu-GDP each, and the squares of mu add up (Dong, Roth, Su, JRSS B 84, 2022, Corollary 2).
A search starts from there; no guarantee rests on mu.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx  # type: ignore[import-untyped]

from ..ledger import charge
from ..pair import FloatArray
from ..search import bisect
from .profile_curve import Curve

#: Relative rounding of a trade-off function.
_ROUNDING = 1e-13
#: Orders that :meth:`shuffledp.Accountant.renyi` takes by default; optimal orders grow with the number of users.
ORDERS = tuple(
    [1.0 + x / 10.0 for x in range(1, 100)]
    + [float(x) for x in range(11, 64)]
    + [2.0**x * y for x in range(6, 24) for y in (1.0, 1.2, 1.5)]
)


class Lines(NamedTuple):
    """Lower values of a profile: between two eps it is at least the line in e^eps from ``left`` to ``right`` (logs)."""

    eps: FloatArray
    left: FloatArray
    right: FloatArray


def from_curve(curve: Curve, orders: ArrayLike) -> FloatArray:
    """Upper values of the Renyi divergence of every order, from upper values of the profile.

    Parameters
    ----------
    curve : nodes of an upper bound on log delta; if the last delta is above 0, the result is inf
    orders : real numbers > 1

    Examples
    --------
    >>> eps = np.linspace(0.0, 1.0, 2001)  # randomized response with e^eps0 = e
    >>> with np.errstate(divide="ignore"):
    ...     coin = Curve(eps, np.log(np.maximum((math.e - np.exp(eps)) / (math.e + 1.0), 0.0)))
    >>> (math.e**2 + math.exp(-1.0)) / (math.e + 1.0) <= math.exp(from_curve(coin, [2.0])[0])
    True
    >>> from_curve(coin, [2.0])[0].round(5).item()
    0.73533
    """
    a = np.asarray(orders, dtype=np.float64)
    if curve.log_delta[-1] > -np.inf:
        return np.full(a.shape, np.inf)
    lines = Lines(curve.eps, curve.log_delta[:-1], curve.log_delta[1:])
    return np.asarray(np.minimum(_divergences(lines, lines, a, 1.0), curve.eps[-1]))  # no loss exceeds the local eps


def _divergences(forward: Lines, backward: Lines, orders: FloatArray, sign: float) -> FloatArray:
    """The integral above of every order, over a few thousand positive terms; rounded up (``sign`` 1) or down (-1)."""
    found = []
    for a in orders.reshape(-1).tolist():
        terms = [np.full(1, -np.inf)]
        for lines, power in ((forward, a), (backward, 1.0 - a)):  # E^(a-2), and E^(-a-1) = E^((1-a)-2)
            at_first, at_last = _log_weights(lines.eps[:-1], lines.eps[1:], power, sign)
            terms += [at_first + lines.left, at_last + lines.right]
        log_integral = math.log(a) + math.log(a - 1.0) + float(np.logaddexp.reduce(np.concatenate(terms)))
        found.append(float(np.logaddexp(0.0, log_integral)) / (a - 1.0) * (1.0 + sign * 1e-12))
    return np.array(found).reshape(orders.shape)


@charge("rounding of an integral of a profile", "docs/proofs.md, section 7")
def _log_weights(first: FloatArray, last: FloatArray, b: float, sign: float = 1.0) -> list[FloatArray]:
    """log of the integrals over E of E^(b-2) times the hat functions of the two ends of every cell.

    With E = e^(first + s), d = last - first: Integral e^((b-1)s) (e^d - e^s) ds = e^d F(b-1) - F(b) and
    Integral e^((b-1)s) (e^s - 1) ds = F(b) - F(b-1), F(c) = (e^(cd) - 1)/c, times e^(b first) / (e^last - e^first).
    Factored by e^(bd) if b > 0, so that nothing overflows; the rounding of either term is added (``sign`` 1), or taken
    off (-1).
    """
    d = last - first

    def f(c: float) -> FloatArray:  # F(c) e^(-cd) for c > 0, F(c) for c < 0
        return np.asarray(-np.expm1(-abs(c) * d) / abs(c)) if c else d

    one, two = f(b), f(b - 1.0)
    if b > 1.0:  # F(b) = e^(bd) one, e^d F(b-1) = e^(bd) two
        up, down, scale = two, np.exp(-d) * two, b * last
    else:  # b < 0: F(c) is as it stands
        up, down, scale = np.exp(d) * two, two, b * first
    at_first, at_last, doubt = up - one, one - down, 2.0**-50 * (one + up)
    width = first + np.log(np.expm1(d))
    with np.errstate(divide="ignore"):
        # the exponent b eps is rounded
        slip = 2.0**-51 * np.abs(scale) + 1e-14
        terms = (np.maximum(np.maximum(x, 0.0) + sign * doubt, 0.0) for x in (at_first, at_last))
        return [np.log(x) + scale - width + sign * slip for x in terms]


@charge("a Renyi divergence from below", "docs/outputs.md, section 4")
def lower_from_lines(forward: Lines, backward: Lines, orders: ArrayLike) -> FloatArray:
    """Lower values of the Renyi divergence of P from Q, of one fixed pair; the same integral, every rounding down.

    Parameters
    ----------
    forward, backward : lower bounds on D_E(P || Q) and D_E(Q || P), E = e^eps >= 1
    orders : real numbers > 1

    Examples
    --------
    >>> eps = np.linspace(0.0, 1.0, 5)  # randomized response with e^eps0 = e: a profile that is linear in e^eps
    >>> with np.errstate(divide="ignore"):
    ...     value = np.log(np.maximum((math.e - np.exp(eps)) / (math.e + 1.0), 0.0))
    >>> coin = Lines(eps, value[:-1], value[1:])
    >>> lower_from_lines(coin, coin, [2.0])[0].round(5).item()
    0.73533
    """
    return _divergences(forward, backward, np.asarray(orders, dtype=np.float64), -1.0)


@charge("rounding of a trade-off function", "docs/outputs.md, section 2")
def guaranteed(curve: Curve, alpha: FloatArray) -> FloatArray:
    """A beta that no test of level alpha can go below, from upper values of log delta at some eps; rounded down.

    Examples
    --------
    >>> eps = np.linspace(0.0, 1.0, 101)  # randomized response with e^eps0 = e: the corner is at 1/(1 + e)
    >>> with np.errstate(divide="ignore"):
    ...     coin = Curve(eps, np.log(np.maximum((np.e - np.exp(eps)) / (np.e + 1.0), 0.0)))
    >>> guaranteed(coin, np.array([0.0, 0.1, 1 / (1 + np.e), 0.5, 1.0])).round(4).tolist()
    [1.0, 0.7282, 0.2689, 0.1839, 0.0]
    """
    level = alpha.reshape(-1, 1)
    with np.errstate(under="ignore", over="ignore"):
        left = 1.0 - np.exp(curve.log_delta)
        steep = left - _times(np.exp(curve.eps), level) * (1.0 + _ROUNDING)
        flat = np.exp(-curve.eps) * (left - level)
    # the identity above with E = 0 or 1/E = 0 adds nothing but beta >= 0
    found = np.maximum(steep, flat).max(axis=1) - _ROUNDING
    return np.asarray(np.clip(found, 0.0, 1.0).reshape(alpha.shape))


def _times(E: FloatArray, level: FloatArray) -> FloatArray:
    """E alpha, 0 where alpha is, whatever E = e^eps is: it may be beyond the largest double."""
    return np.multiply(E, level, where=level > 0.0, out=np.zeros((level.size, E.size)))


@charge("a trade-off function from above", "docs/outputs.md, section 2")
def reached(eps: FloatArray, lower: FloatArray, alpha: FloatArray) -> FloatArray:
    """A beta that some test of level alpha reaches, by a lower bound on D_E of one fixed pair; rounded up.

    Parameters
    ----------
    eps, lower : rising eps of either sign, and the bound there: linear in E = e^eps between them (so that the supremum
        is at one of them), 1 - E left of the first one, and 0 right of the last one
    alpha : levels in [0, 1]

    Examples
    --------
    >>> eps = np.array([-1.0, 1.0])  # randomized response: the profile is linear between its two losses
    >>> lower = np.array([1.0 - np.exp(-1.0), 0.0])
    >>> reached(eps, lower, np.array([0.0, 0.1, 1 / (1 + np.e), 0.5, 1.0])).round(4).tolist()
    [1.0, 0.7282, 0.2689, 0.1839, 0.0]
    """
    level = alpha.reshape(-1, 1)
    with np.errstate(over="ignore"):
        E = np.exp(eps)
    steep = _times(E, level) * (1.0 - _ROUNDING)
    inside = (1.0 - lower * (1.0 - _ROUNDING) - steep).max(axis=1)
    outside = np.maximum(E[0] * (1.0 - level[:, 0]), 1.0 - steep[:, -1])
    found = np.maximum(inside, outside) + _ROUNDING
    return np.where(alpha >= 1.0, 0.0, np.clip(found, 0.0, 1.0).reshape(alpha.shape))


def concentration(orders: ArrayLike, values: ArrayLike, limit: float) -> float:
    """The least rho of zero-concentrated DP that a Renyi curve shows: R(a) <= rho a for every a > 1.

    R rises with a, so between two orders R(a)/a is at most R at the larger over the smaller order, at most R of the
    first one before it, and at most ``limit`` over the last one beyond (no loss is larger than the local guarantee).

    Examples
    --------
    >>> a = np.geomspace(1.001, 1e6, 20000)
    >>> round(concentration(a, 0.02 * a, 1.0), 4)  # a Gaussian release with mu = 0.2
    0.02
    """
    a, r = np.asarray(orders, dtype=np.float64), np.asarray(values, dtype=np.float64)
    ratios = np.concatenate([r[:1], r[1:] / a[:-1], [min(limit, math.inf) / a[-1]]])
    return float(ratios.max()) * (1.0 + 1e-14)


def to_epsilon(orders: ArrayLike, values: ArrayLike, delta: float) -> float:
    """The smallest eps that a Renyi curve gives at delta (Canonne, Kamath, Steinke, NeurIPS 2020, Proposition 12).

    eps = r(a) + log(1 - 1/a) - log(a delta)/(a-1), the minimum over the orders, never below 0.

    Examples
    --------
    >>> round(to_epsilon([2.0, 8.0, 32.0], [0.02, 0.08, 0.32], 1e-6), 4)
    0.6221
    """
    a, r = np.asarray(orders, dtype=np.float64), np.asarray(values, dtype=np.float64)
    eps = r + np.log1p(-1.0 / a) - (np.log(delta) + np.log(a)) / (a - 1.0)
    return max(float(eps.min(initial=np.inf)), 0.0) * (1.0 + 1e-14)


def to_delta(orders: ArrayLike, values: ArrayLike, epsilon: float) -> float:
    """The smallest delta that a Renyi curve gives at eps: the same inequality, solved for delta.

    Examples
    --------
    >>> to_delta([2.0, 8.0, 32.0], [0.02, 0.08, 0.32], 0.6221) < 1.01e-6
    True
    """
    a, r = np.asarray(orders, dtype=np.float64), np.asarray(values, dtype=np.float64)
    log_delta = (a - 1.0) * (r - epsilon + np.log1p(-1.0 / a)) - np.log(a)
    # at least the smallest normal double, so it does not underflow
    return min(max(math.exp(min(float(log_delta.min(initial=0.0)), 0.0)) * (1.0 + 1e-12), 2.0**-1022), 1.0)


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
    second = math.exp(-0.5 * near * near) * float(erfcx(far / math.sqrt(2.0))) if abs(near) < 38.0 else 0.0
    return max(0.5 * (math.erfc(near / math.sqrt(2.0)) - second), 0.0)
