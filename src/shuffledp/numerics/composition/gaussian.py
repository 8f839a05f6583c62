"""The Gaussian release beside a profile: its delta in logarithms, and the smallest mu of Gaussian DP above a profile.

A release of N(mu, 1) against N(0, 1) has, with x = eps/mu - mu/2 and y = eps/mu + mu/2,

    delta_mu(eps) = Phi(-x) - e^eps Phi(-y) = phi(x) (M(x) - M(y)),    M = Phi(-.)/phi  (Balle, Wang, ICML 2018),

because e^eps phi(y) = phi(x).  M is Mills' ratio, which is convex and falls: for deltas of any size nothing underflows.
The difference cancels where mu is small; there M(x) - M(y) lies between -mu M'(y) and -mu M'(x), -M'(z) = 1 - z M(z),
and 1/(z^2 + 3) < 1 - z M(z) < 1/(z^2 + 1) for z > 0.

Something is mu-GDP if and only if its delta(eps) is at most delta_mu(eps) at every eps >= 0, in both directions
(docs/outputs.md, Proposition 2).  delta_mu rises with mu, so the smallest such mu is the supremum over eps of the mu
with delta_mu(eps) = delta(eps).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, ndtr, ndtri  # type: ignore[import-untyped]

from ..ledger import charge
from ..pair import FloatArray, Side
from ..rows import take_rows
from .profile_curve import Curve, chord

#: Between these every mu is looked for.
_LEAST, _MOST = 1e-14, 1e6
#: How close mu is to the smallest one that a profile allows, if its nodes are close enough.
_CLOSE = 2e-3
#: Parts of a cell between two nodes, first subdivided by chords, then by new nodes.
_PARTS, _NEW = 64, 7
#: Rounds of new nodes, and their number at most.
_ROUNDS, _NODES = 6, 3000
#: Below this x, delta is 1 up to 1e-190.
_CERTAIN = -30.0


@charge("rounding of the delta of a Gaussian release", "docs/outputs.md, section 3")
def log_delta(mu: FloatArray, eps: FloatArray, side: Side) -> FloatArray:
    """log delta_mu(eps) from above or below; erfcx is right to 1e-13, the exponent to a few roundings.

    Examples
    --------
    >>> at = np.array([1.0]), np.array([1.0])
    >>> [round(float(log_delta(*at, side)[0]), 9) for side in ("lower", "upper")]
    [-2.064066447, -2.064066446]
    >>> round(float(log_delta(np.array([1e-3]), np.array([2.0]), "upper")[0]))
    -2000022
    """
    x, y = eps / mu - 0.5 * mu, eps / mu + 0.5 * mu
    inner = np.maximum(x, _CERTAIN)
    near, far = (math.sqrt(0.5 * math.pi) * erfcx(z * math.sqrt(0.5)) for z in (inner, y))
    gap, doubt = near - far, 1e-12 * near
    with np.errstate(divide="ignore", over="ignore"):
        if side == "lower":
            gap = np.maximum(gap - doubt, mu / (y * y + 3.0))
        else:
            slope = np.where(inner > 0.0, 1.0 / (1.0 + inner * inner), 1.0 - inner * near)
            gap = np.minimum(gap + doubt, mu * slope)
        slip = 1e-15 * inner * inner + 2e-12
        value = np.log(gap) - 0.5 * inner * inner - 0.5 * math.log(2.0 * math.pi)
    value = value - slip if side == "lower" else value + slip
    return np.minimum(np.where(x > _CERTAIN, value, -1e-12 if side == "lower" else 0.0), 0.0)


def mus(eps: FloatArray, at: FloatArray, side: Side) -> FloatArray:
    """The mu with log delta_mu(eps) = ``at`` of every row: rounded up (inf where none is enough), or down.

    Examples
    --------
    >>> upper = mus(np.array([1.0, 0.5]), np.array([math.log(1e-8), -1e6]), "upper")
    >>> upper.round(6).tolist()
    [0.196067, 0.000354]
    """
    low, high = (np.full(eps.shape, math.log(x)) for x in (_LEAST, _MOST))
    enough_at: Side = "lower" if side == "upper" else "upper"
    for _ in range(56):
        middle = 0.5 * (low + high)
        enough = log_delta(np.exp(middle), eps, enough_at) >= at
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    if side == "lower":
        return np.where(at > -np.inf, np.exp(low) * (1.0 - 1e-13), 0.0) * (low > math.log(_LEAST))
    found = np.where(high < math.log(_MOST), np.exp(high) * (1.0 + 1e-13), np.inf)
    return np.where(at > -np.inf, found, 0.0)


def smallest_mu(curve: Curve, ask: Callable[[FloatArray], FloatArray], slack: float = 0.0) -> float:
    """A mu with delta(eps) <= delta_mu(eps) + slack at every eps >= 0; inf if delta never falls to the slack.

    Parameters
    ----------
    curve : nodes of an upper bound on log delta, from eps = 0 on
    ask : the same bound at further eps, which are asked for where they matter
    slack : in [0, 1)

    Examples
    --------
    >>> eps = np.append(np.linspace(0.0, 1.0, 101), 1.5)
    >>> asked = lambda at: np.where(at < 1.5, log_delta(np.full(at.shape, 0.2), at, "upper"), -np.inf)
    >>> 0.2 <= smallest_mu(Curve(eps, asked(eps)), asked) <= 0.2005
    True
    """
    curve = _less(curve, slack)
    if curve.log_delta[-1] > -np.inf:
        return math.inf
    for _ in range(_ROUNDS):
        least = float(mus(curve.eps, curve.log_delta, "upper").max())
        if not 0.0 < least < math.inf:
            return least
        cells = _Cells(curve.eps[:-1], curve.eps[1:], curve.log_delta[:-1], curve.log_delta[1:])
        wide = _exceeded(cells, least * (1.0 + _CLOSE))
        if not wide.any() or curve.eps.size > _NODES:
            break
        left, right = cells.start[wide], cells.stop[wide]
        new = np.unique(left + (right - left) * (np.arange(1, _NEW + 1) / (_NEW + 1.0))[:, None])
        new = new[~np.isin(new, curve.eps)]
        curve = curve.joined(*_less(Curve(new, ask(new)), slack))
    return _fitting(cells, least)


def _fitting(cells: _Cells, least: float) -> float:
    """The smallest mu >= ``least``, up to rounding, that no cell violates; inf if there is none."""
    low, high = least, least * (1.0 + _CLOSE)
    while (bad := _exceeded(cells, high)).any():
        cells, low, high = take_rows(cells, np.flatnonzero(bad)), high, high * (1.0 + 2.0 * (high / least - 1.0))
        if high > _MOST:
            return math.inf
    cells = take_rows(cells, np.flatnonzero(_exceeded(cells, low)))  # a larger mu violates no others
    while high - low > 0.02 * _CLOSE * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _exceeded(cells, middle).any() else (low, middle)
    return high


class _Cells(NamedTuple):
    """Cells between nodes: where they start and stop, and the upper values of log delta there."""

    start: FloatArray
    stop: FloatArray
    at_start: FloatArray
    at_stop: FloatArray


@charge("a profile against a Gaussian one between nodes", "docs/outputs.md, section 3")
def _exceeded(cells: _Cells, mu: float) -> np.ndarray:
    """Whether delta may exceed delta_mu somewhere in each cell.

    Both fall: on a part of a cell delta is at most its chord at the left end (the profile is convex in e^eps), and
    delta_mu at least its value at the right end.
    """
    share = np.arange(_PARTS + 1) / _PARTS
    eps = cells.start[:, None] + (cells.stop - cells.start)[:, None] * share
    eps[:, -1] = cells.stop  # as it is: the value there is known
    value = np.empty(eps.shape)
    value[:, 0], value[:, -1] = cells.at_start, cells.at_stop
    inner = np.arange(value.size).reshape(value.shape)[:, 1:-1].reshape(-1)
    start = inner - inner % (_PARTS + 1)
    between = chord(eps.reshape(-1), value.reshape(-1), start, start + _PARTS, inner)
    value[:, 1:-1] = np.minimum(between.reshape(-1, _PARTS - 1), cells.at_start[:, None])
    bad = log_delta(np.full(1, mu), eps[:, 1:], "lower") < value[:, :-1]
    return np.asarray(bad.any(axis=1))


@charge("a slack taken off a profile", "docs/outputs.md, section 3")
def _less(curve: Curve, slack: float) -> Curve:
    """The curve of (delta - slack)_+, rounded up; convex and falling, as delta is."""
    if not slack:
        return curve
    with np.errstate(divide="ignore", under="ignore"):
        left = np.exp(curve.log_delta) * (1.0 + 1e-12) - slack
        return Curve(curve.eps, np.log(np.maximum(left, 0.0)))


def largest_mu(eps: FloatArray, lower: FloatArray) -> float:
    """A mu below which nothing is Gaussian-DP that has at least these log deltas, at any eps."""
    return float(mus(eps, lower, "lower").max(initial=0.0))


def gaussian_tradeoff(mu: float, alpha: FloatArray) -> FloatArray:
    """G_mu: the least error of the second kind of tests between N(0, 1) and N(mu, 1), to a few roundings.

    Examples
    --------
    >>> gaussian_tradeoff(1.0, np.array([0.0, 0.05, 1.0])).round(4).tolist()
    [1.0, 0.7405, 0.0]
    """
    return np.asarray(ndtr(-ndtri(alpha) - mu))
