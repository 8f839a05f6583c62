"""Means of numbers by coin flips: the report counts heads; the number, or now and then chance, biases the coins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.pair import FloatArray
from ...randomness.sampling import Array, Source
from ..base import Mechanism
from ..laws import SLACK
from ..matrix import MatrixRandomizer
from ..parameters import real, whole
from .grid_mean import GridMean, points

#: Most flips (a report is a byte), and most inputs.
_MOST_FLIPS, _MOST_INPUTS = 255, 513
#: Inputs unless they are given: few, or more for many flips.
_INPUTS, _MORE_INPUTS, _MANY_FLIPS = 65, 129, 30


@dataclass(frozen=True, kw_only=True)
class Binomial(GridMean, MatrixRandomizer):  # type: ignore[misc]  # the variance is that of the mean
    """Numbers in [-1, 1] by the number of heads in N coin flips, made for small budgets in the shuffle model.

    With probability 1 - gamma a coin shows heads with probability p = (1 + x/B)/2, else p is drawn from Beta(tau, tau)
    whatever x is; the report is the number k of heads in N flips.  A(2k/N - 1) with A = B/(1-gamma) is unbiased for x.

    Parameters
    ----------
    flips : int in [1, 255]
        N.
    stretch : float in [1, 100]
        B: the larger it is, the fairer is every coin.
    shape : float in [1e-3, 1000]
        tau: if it is small, coins that do not depend on x show mostly heads or mostly tails.
    noise : float in [1e-12, 1)
        gamma, the share of reports that do not depend on x.
    inputs : int in [2, 513], optional
        Points of the grid, from -1 to 1, that numbers are rounded to at random without bias: 65, or 129 from 31 flips
        on.

    Notes
    -----
    The law is a matrix, (1-gamma) Bin(N, p) + gamma BetaBin(N, tau, tau) at the points of the grid, and everything is
    that of :class:`~shuffledp.FiniteRandomizer`: all pairs of points among others at any point.  Reports are drawn from
    that matrix, on whole numbers.  More noise is post-processing, so eps falls with gamma.  A certificate lists all
    pairs of points, so it proves this bound for up to 22 inputs; for more it proves 'variation-ratio' on request.

    The variance of a report at x is C0 + C1 x^2 with C0 = A^2 (1/N + gamma (1 - 1/N)/(2 tau + 1)) and
    C1 = (1 - 1/N)/(1 - gamma) - 1, and rounding adds at most a quarter of the square of a step.  Good parameters for a
    leading-order budget V (the largest sum of (P0 - P1)^2/R over inputs 0 and 1 and others who all have the law R) are
    N near 2 + 0.7 V^(2/3), B near 1 + 1/(N+2), gamma near 1/N, and tau from 0.15 (N = 2) to 0.65 (N = 6 to 9) and back
    to 0.45 (N >= 16): to within 7 % of the least variance.

    Examples
    --------
    >>> m = Binomial(flips=16, stretch=1.07436, shape=0.4836, noise=0.0669184)
    >>> round(m.variance(1), 4), round(m.local_epsilon, 3)
    (0.13, 4.307)
    >>> est = m.estimate(m.privatize(np.full(10_000, 0.3), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.3) < 4 * est.stderr[0])
    True
    """

    name = "binomial"
    _in_words = (
        "{flips} coin flips on numbers in [-1, 1], stretched by {stretch}, with noise {noise} of shape {shape}, "
        "rounded to {inputs} points"
    )

    flips: int = whole(low=1, high=_MOST_FLIPS, hint="it counts the coin flips of a report")
    stretch: float = real(low=1.0, high=100.0, hint="it divides the number before its coins are flipped")
    shape: float = real(low=1e-3, high=1e3, hint="it is that of the Beta law of the other coins")
    noise: float = real(
        low=1e-12,
        high=1.0,
        high_open=True,
        role="flip",
        hint="it is the share of reports that do not depend on the number",
    )
    inputs: int = whole(  # type: ignore[assignment]
        low=2,
        high=_MOST_INPUTS,
        hint="inputs counts the points of the grid",
        choose=lambda m: _MORE_INPUTS if m.flips > _MANY_FLIPS else _INPUTS,
    )

    @classmethod
    def _designs(cls, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        """Few flips, and few inputs, which are enough for them: with larger budgets the window has less error."""
        return [{"flips": 4, "stretch": 1.169, "shape": 0.3294, "inputs": 17}]

    def _check_together(self) -> None:
        object.__setattr__(self, "inputs", points(int(self.inputs), self._points.tolist()))

    @property
    def _points(self) -> FloatArray:
        last = int(self.inputs) - 1
        return np.asarray(np.arange(-last, last + 1, 2) / last)

    @property
    def _rows(self) -> FloatArray:
        """binom(N, k) times p^k (1-p)^(N-k), or times a ratio of rising factorials of tau and 2 tau."""
        ways = np.array([float(math.comb(self.flips, k)) for k in range(self.flips + 1)])
        up, down = (0.5 + sign * self._points[:, None] / self.stretch for sign in (0.5, -0.5))
        own = ways * _powers(up, self.flips) * _powers(down, self.flips)[:, ::-1]
        steps = np.arange(self.flips)
        # a power of 2 per factor, which cancels in the ratio: 255 factors near 2000 would overflow
        unit = math.ldexp(1.0, math.frexp(1.0 + 2.0 * self.shape / self.flips)[1])
        one, both = (np.cumprod(np.append(1.0, (k * self.shape + steps) / (unit * (steps + 1.0)))) for k in (1.0, 2.0))
        rows: FloatArray = (1.0 - self.noise) * own + self.noise * (one * one[::-1] / both[-1])
        rows /= np.array([[math.fsum(row)] for row in rows.tolist()])  # rounding
        rows.setflags(write=False)
        return rows

    @property
    def _values(self) -> FloatArray:
        """A(2k/N - 1)."""
        heads = np.arange(-self.flips, self.flips + 1, 2)
        return np.asarray(self.stretch / (1.0 - self.noise) * heads / self.flips)

    def _mean(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self._rows @ weights)

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """The smallest ratio over reports, of as many flips."""
        if not isinstance(victim, Binomial) or victim.flips != self.flips:
            return super()._blanket_ratio(victim)
        return float(np.min(self._rows.min(axis=0) / victim._rows.min(axis=0))) * (1.0 - SLACK)

    @property
    def _rounding(self) -> list[Any]:
        return [int(self.inputs) - 1]

    def _randomize(self, values: Array, src: Source) -> Array:
        return np.asarray(super()._randomize(self._grid.rounded(src, values), src))


def _powers(column: FloatArray, most: int) -> FloatArray:
    """The powers 0, ..., most of every number, by products: those of the C library differ between machines."""
    factors = np.repeat(column, most + 1, axis=1)
    factors[:, 0] = 1.0
    return np.asarray(np.cumprod(factors, axis=1))
