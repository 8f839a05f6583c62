"""The profile of a whole composition at many eps: from above for all neighbors, from below for fixed pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..ledger import charge
from ..pair import FloatArray, ShuffledPair, Side
from .conversions import Lines
from .fixed_pair import pair_losses, pair_values, polygon_below, rounded_down
from .loss_grid import Sum
from .profile_curve import EMPTY, MEDIUM, Curve, Ladder, Plan, sampled
from .sequential import Kind, ask_all, build, pure_epsilon, sample, single

#: Where curves are sampled for trade-off functions and for mu: a chord or a tangent serves between two nodes.
NODES = Ladder((0.1, 0.2, 0.4), 1.15, 1e-4)
#: ... and for Renyi divergences from below, whose large orders need the far end.
LINES = Ladder((0.1, 0.2, 0.3), 1.03, 1e-4)
#: Steps of the grid of a composed lower bound, per sigma.
_FINE = 80.0
#: Nodes of a curve, at least.
_FEWEST = 40
_CELLS = 2**20
_SIDES: tuple[Side, Side] = "lower", "upper"


class Fixed(NamedTuple):
    """One pair of datasets, held in several rounds of n messages."""

    pair: ShuffledPair
    n: int
    times: int

    def swapped(self) -> Fixed:
        """The other direction."""
        return self._replace(pair=self.pair.swapped())


def upper_curve(kinds: Sequence[Kind], counts: Sequence[int], lowest: float) -> Curve:
    """Upper values of log delta of the composition from eps = 0 on, down to ``lowest`` or to the sum of the limits.

    Examples
    --------
    >>> coin = Kind(lambda eps, tol: np.log(np.maximum(0.75 - 0.25 * np.exp(eps), 1e-300)), math.log(3.0))
    >>> once, twice = (upper_curve([coin], [k], -30.0) for k in (1, 2))
    >>> once.eps[-1].round(4).item(), twice.eps[-1].round(4).item(), np.exp(twice.log_delta[0]).round(4).item()
    (1.0986, 2.1972, 0.5)
    """
    most = pure_epsilon(kinds, counts)
    if most == 0.0:
        return Curve(np.zeros(1), np.full(1, -np.inf))
    values = upper_values(kinds, counts, lowest)
    if sum(counts) == 1:
        return _dense(sample([single(kinds, counts)], NODES, lowest)[0], values)
    return _dense(sampled(lambda _, eps: [values(at) for at in eps], [Plan(most, NODES, lowest)], [EMPTY])[0], values)


def _dense(curve: Curve, values: Callable[[FloatArray], FloatArray]) -> Curve:
    """The curve with nodes between its nodes, where there are few: a few users have profiles with corners."""
    while 1 < curve.eps.size < _FEWEST:
        new = 0.5 * (curve.eps[1:] + curve.eps[:-1])
        curve = curve.joined(new, np.minimum(values(new), 0.0))
    return curve


def upper_values(kinds: Sequence[Kind], counts: Sequence[int], lowest: float) -> Callable[[FloatArray], FloatArray]:
    """A function that gives upper values of log delta of the composition, sharp down to about ``lowest``."""
    if sum(counts) == 1:
        kind = single(kinds, counts)
        return lambda eps: np.minimum(ask_all([kind], [eps], [NODES.tol])[0], 0.0)
    most = pure_epsilon(kinds, counts)
    whole = build(kinds, counts, max(lowest, -300.0) - 5.0)
    return lambda eps: np.where(eps >= most, -np.inf, whole.log_deltas(eps, NODES.tol, "upper"))


@charge("a profile from below between its nodes, without underflow", "docs/outputs.md, section 4")
def lower_lines(fixed: Fixed) -> Lines:
    """Lower values of log delta of one pair in one direction, one round, from eps = 0 until delta is 0.

    The profile is convex in E and falls, so on a cell it lies above the chord of the next cell, extended to the left:
    with lower values l and upper values u, its value at the left end E_i is at least
    l_(i+1) + (l_(i+1) - u_(i+2))_+ (E_(i+1) - E_i)/(E_(i+2) - E_(i+1)).

    Examples
    --------
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    >>> found = lower_lines(Fixed(coin, 1, 1))
    >>> truth = np.maximum(0.75 - 0.25 * np.exp(found.eps), 0.0)
    >>> bool(np.all(np.exp(found.left) <= truth[:-1] + 1e-15)), bool(np.all(np.exp(found.right) <= truth[1:] + 1e-15))
    (True, True)
    """
    pair, n, _ = fixed

    def log_delta(eps: FloatArray, side: Side) -> FloatArray:
        return pair_values([pair] * eps.size, n, eps, LINES.tol, side)

    plan = Plan(pair.limit, LINES, -math.inf)
    eps, low = sampled(lambda _, at: [log_delta(x, "lower") for x in at], [plan], [EMPTY])[0]
    high = np.where(eps < pair.limit, log_delta(eps, "upper"), -np.inf)
    right = low[1:]
    if right.size < 2:
        return Lines(eps, right, right)
    with np.errstate(over="ignore", invalid="ignore"):
        width = eps[:-1] + np.log(np.expm1(np.diff(eps)))  # log of E_(i+1) - E_i
        fall = np.maximum(-np.expm1(high[2:] - right[:-1]) - 1e-12, 0.0) * np.exp(width[:-1] - width[1:])
    rise = np.append(np.where(np.isfinite(fall), np.log1p(fall * (1.0 - 1e-12)), 0.0), 0.0)
    return Lines(eps, right + rise, right)


class Below:
    """A composition of fixed pairs from below: every dataset is held in all of its rounds.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    >>> eps, lower = Below([Fixed(coin, 1000, 4)]).points()
    >>> bool(np.all(np.diff(lower) <= 1e-12 * lower[1:])), round(float(np.interp(0.0, eps, lower)), 3)
    (True, 0.035)
    """

    def __init__(self, fixed: Sequence[Fixed]) -> None:
        found = [(pair_losses(one.pair, one.n, MEDIUM), one.times) for one in fixed]
        self._losses = [losses for losses, _ in found if losses is not None]
        times = np.array([times for losses, times in found if losses is not None], dtype=np.float64)
        variance = np.array([float(losses.mass @ losses.loss**2) for losses in self._losses])
        #: of the sum of all losses, about
        self._deviation = math.sqrt(float(times @ variance))
        self._sum = self._composed(times) if times.sum() > 1.0 else None

    def _composed(self, times: FloatArray) -> Sum:
        """All rounds on a grid; every loss moves down by up to one step."""
        largest = max(float(np.abs(losses.loss).max()) for losses in self._losses)
        step = max(self._deviation / (_FINE * times.sum()), 40.0 * self._deviation / _CELLS, 2.0 * largest / _CELLS)
        return Sum([rounded_down(losses, step) for losses in self._losses], times.astype(np.int64).tolist(), step)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """eps of either sign, and D_E there of a lower bound that is linear in E between them."""
        if self._sum is None:
            return self._corners()
        steps = np.concatenate([np.arange(0.0, 3.0, 0.15), np.arange(3.0, 9.0, 0.3)])
        half = min(self._deviation, 80.0) * steps  # any nodes will do, if e^eps is a double
        eps = np.concatenate([-half[:0:-1], half])
        eps = eps[eps > -36.0]  # below, e^eps - 1 is -1
        low, high = (np.exp(self._sum.log_deltas(eps, NODES.tol, side)) for side in _SIDES)
        x, y = polygon_below(np.expm1(eps), np.minimum(low, high), high)
        return np.log1p(x), y

    def log_deltas(self, eps: FloatArray) -> FloatArray:
        """Lower values of log delta at eps >= 0."""
        if self._sum is not None:
            return self._sum.log_deltas(eps, NODES.tol, "lower")
        at, value = self._corners()
        with np.errstate(divide="ignore"):  # linear in E between two corners, 0 beyond the last one
            return np.log(np.interp(np.exp(eps), np.exp(at), value * (1.0 - 1e-12), right=0.0))

    def _corners(self) -> tuple[FloatArray, FloatArray]:
        """The losses, and sum over larger ones of p (1 - e^(loss - larger)): positive terms, summed from the right."""
        if not self._losses:
            return np.zeros(1), np.zeros(1)
        order = np.argsort(self._losses[0].loss)
        loss, mass = (x[order] for x in self._losses[0])
        under_q = np.cumsum((mass * np.exp(-loss))[::-1])[::-1]  # Q[L >= loss]
        fall = np.append(under_q[1:], 0.0)[:-1] * np.diff(np.exp(loss))
        return loss, np.append(np.cumsum(fall[::-1])[::-1], 0.0) * (1.0 - 1e-11)
