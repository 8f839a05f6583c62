"""Other scales of privacy: Renyi divergences from a profile and back to (eps, delta), and the mu of a Gaussian release.

For a pair of laws and an order a > 1, with h(E) = D_E in either direction (the larger one),

    E_Q[(P/Q)^a] <= 1 + a (a-1) Integral_1^inf (E^(a-2) + E^(-a-1)) h(E) dE,

with equality for a symmetric pair: x^a is a mixture of (x - E)_+ with density a (a-1) E^(a-2), and the part E < 1 is
mapped to E > 1 by D_E(P||Q) - (1 - E) = E D_{1/E}(Q||P).  h is convex, so between two nodes it lies below the chord of
any upper values there; the integral of chord times power has a closed form.  Every term is positive and kept
as a logarithm: orders of many thousands need delta far below the smallest double.

An infinite local guarantee means a set with P > 0 = Q, so every Renyi divergence is infinite.

Shuffled rounds are nearly mu-GDP each, and the squares of mu add up (Dong, Roth, Su, JRSS B 84, 2022, Corollary 2).
A search starts from there; no guarantee rests on mu.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..ledger import charge
from ..pair import FloatArray
from ..search import bisect
from .profile_curve import Curve

#: Orders that :meth:`shuffledp.Accountant.renyi` takes by default; optimal orders grow with the number of users.
ORDERS = tuple(
    [1.0 + x / 10.0 for x in range(1, 100)]
    + [float(x) for x in range(11, 64)]
    + [2.0**x * y for x in range(6, 24) for y in (1.0, 1.2, 1.5)]
)


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
    if curve.eps.size == 1:
        return np.zeros(a.shape)
    return np.array([_divergence(curve, float(x)) for x in a.reshape(-1)]).reshape(a.shape)


def _divergence(curve: Curve, a: float) -> float:
    first, last = curve.eps[:-1], curve.eps[1:]
    terms = []
    for power in (a, 1.0 - a):  # E^(a-2), and E^(-a-1) = E^((1-a)-2)
        at_first, at_last = _log_weights(first, last, power)
        terms += [at_first + curve.log_delta[:-1], at_last + curve.log_delta[1:]]
    log_integral = math.log(a) + math.log(a - 1.0) + float(np.logaddexp.reduce(np.concatenate(terms)))
    # a few thousand positive terms, and _log_weights covers the rounding of each
    value = float(np.logaddexp(0.0, log_integral)) / (a - 1.0) * (1.0 + 1e-12)
    return min(value, float(curve.eps[-1]))  # no loss is larger than the local guarantee


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


class Lines(NamedTuple):
    """Lower values of a profile: between two eps it is at least the line in e^eps from ``left`` to ``right`` (logs)."""

    eps: FloatArray
    left: FloatArray
    right: FloatArray


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
    a = np.asarray(orders, dtype=np.float64)
    found = []
    for order in a.reshape(-1).tolist():
        terms = [np.full(1, -np.inf)]
        for lines, power in ((forward, order), (backward, 1.0 - order)):
            if lines.eps.size > 1:
                at_first, at_last = _log_weights(lines.eps[:-1], lines.eps[1:], power, -1.0)
                terms += [at_first + lines.left, at_last + lines.right]
        log_integral = math.log(order) + math.log(order - 1.0) + float(np.logaddexp.reduce(np.concatenate(terms)))
        found.append(float(np.logaddexp(0.0, log_integral)) / (order - 1.0) * (1.0 - 1e-12))
    return np.array(found).reshape(a.shape)


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
    second = math.exp(-0.5 * near * near) * _mills(far) if abs(near) < 38.0 else 0.0
    return max(0.5 * math.erfc(near / math.sqrt(2.0)) - second / math.sqrt(2.0 * math.pi), 0.0)


def _mills(x: float) -> float:
    """The Mills ratio of the normal law at x > 0, to a few parts in a thousand beyond 25."""
    if x > 25.0:
        return 1.0 / (x + 1.0 / x)
    return 0.5 * math.erfc(x / math.sqrt(2.0)) * math.exp(0.5 * x * x) * math.sqrt(2.0 * math.pi)
