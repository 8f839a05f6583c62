"""Means of numbers by windows: the report is uniform near the number, or now and then uniform everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.exponentials import exp
from ...numerics.pair import FloatArray
from ...numerics.search import bisect
from ...randomness.sampling import Array, Source, below, bernoulli
from ...randomness.thresholds import chance_of, exact_chance
from ..codecs import Category
from .grid_mean import GridMean, largest_variance
from .window_law import MOST_WINDOWS, WindowLaw, usual_cells, window_cells, windows

#: Points of a grid on which phi is searched, and how often it is made finer.
_TRIED, _FINER = 9, 6
#: Terms of the series of sine and cosine after the first one.
_TERMS = 14


class Windowed(GridMean, WindowLaw):
    """Numbers by windows: every output has a weight, and every input the mean of the weights of its window."""

    @property
    def _shape(self) -> FloatArray:
        """The weights of the outputs up to their scale: rising, and odd around the middle; linear unless overridden."""
        return self._positions

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """Two levels are one bit."""
        return self._response._binary_budget if self.cells == 1 else None

    # -- the weights ------------------------------------------------------------------------------------------

    def _over_window(self, outputs: FloatArray) -> FloatArray:
        """The mean over the window of every input; added up in this order, as a program lists what follows."""
        inputs = len(outputs) - self.cells + 1
        total = outputs[:inputs].copy()
        for k in range(1, self.cells):
            total += outputs[k : k + inputs]
        return total / self.cells

    @property
    def _positions(self) -> FloatArray:
        """z_j = (2j+1)/L - 1, the middles of the cells."""
        return np.asarray(np.arange(1 - self._outputs, self._outputs, 2) / self._outputs)

    def _scaled(self, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Inputs and weights: a uniform output has mean 0, so a report has beta = 1 - gamma times its window's mean.

        An input is the mean of its window divided by that of the last window: from -1 to 1.
        """
        means = self._over_window(shape)
        odd = means - means[::-1]  # exactly, so that the ends are -1 and 1
        return odd / odd[-1], shape / (self.beta * means[-1])

    @property
    def _points(self) -> FloatArray:
        return self._scaled(self._shape)[0]

    @property
    def _values(self) -> FloatArray:
        return self._scaled(self._shape)[1]

    def _mean(self, weights: FloatArray) -> FloatArray:
        """Over a uniform output, or one in the window."""
        return np.asarray(
            self._uniform * (math.fsum(weights.tolist()) / len(weights)) + self.beta * self._over_window(weights)
        )

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """The number of the cell: a byte or two."""
        return Category(self._outputs, scratch=64)

    def _portable_law(self) -> dict[str, Any]:
        return {
            "kind": "window",
            "outputs": self._outputs,
            "cells": self.cells,
            "uniform": chance_of(self._uniform, self.beta),
        }

    def _randomize(self, values: Array, src: Source) -> Array:
        out = self._grid.rounded(src, values)
        out += below(src, self.cells, len(values))
        report = out.astype(self.codec.dtype)
        anywhere = np.flatnonzero(bernoulli(src, exact_chance(self._uniform, self.beta), len(values)))
        report[anywhere] = below(src, self._outputs, anywhere.size)
        return report

    def inputs(self) -> list[float]:
        """The points of the grid: every other law is a mixture of theirs."""
        return [float(x) for x in self._points]

    def probabilities(self) -> FloatArray:
        """High on the window, low elsewhere."""
        self._few_cells(self._outputs**2)
        steps = np.arange(self._outputs) - np.arange(len(self._points))[:, None]
        near = (steps >= 0) & (steps < self.cells)
        return np.where(near, self._response.keep, self._response.stray) / self.cells


@dataclass(frozen=True, kw_only=True)
class Window(Windowed):
    """Numbers in [-1, 1] by windows with sine weights, made for the shuffle model.

    Of L = d b outputs the input i prefers the window i, ..., i + b - 1: the report is uniform on it, or with
    probability gamma = d/(e^eps0 + d - 1) uniform on all.  The output at z_j = (2j+1)/L - 1 has the weight
    a_j = A sin(phi z_j), and the window around c_i stands for the input x_i = sin(phi c_i)/sin(phi (1 - 1/d)); numbers
    between two are rounded to either at random.  The mean of the weights is unbiased.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int in [3, 4096], optional
        A window is 1/d of the outputs; near 0.65 (2 e^eps0)^(1/3) unless it is given.
    cells : int, optional
        b, the outputs of a window: 16, or 32 if d < 8.  One cell is d levels with randomized response on them.

    Notes
    -----
    *Privacy.*  All that is proved of ``grr:eps0,d`` holds, upper and lower bounds, whatever the cells: proved in
    :class:`~shuffledp.mechanisms.numeric.window_law.WindowLaw`.

    *Error.*  Over a window the means of sin(phi z) and cos(2 phi z) are D(1) and D(2) times their values in the middle,
    D(s) = sin(s b phi/L)/(b sin(s phi/L)), so the variance of a weight at x_i is C0 + C1 x_i^2 with
    C1 = D(2)/((1-gamma) D(1)^2) - 1.  phi makes C1 = 0, that is b tan(phi/L) = (1-gamma) tan(b phi/L), unless
    phi (1 - 1/d) would exceed pi/2, as with one cell; then the phi with the least error is searched.  Rounding adds at
    most a quarter of the square of a step.

    The law is that of the square wave for distributions (Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric, SIGMOD 2020) and,
    with linear weights, that of the piecewise mechanism (Wang et al., ICDE 2019); levels with randomized response are
    the protocol of Balle, Bell, Gascon, Nissim (CRYPTO 2019).

    Examples
    --------
    >>> m = Window(eps0=5.12111, d=5, cells=16)
    >>> round(m.variance(1), 4), Window(eps0=5.12111).spec
    (0.0531, 'window:eps0=5.12111,d=5,cells=32')
    >>> est = m.estimate(m.privatize(np.full(10_000, 0.3), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.3) < 4 * est.stderr[0])
    True
    """

    name = "window"
    _in_words = "windows of 1/{d} of {_outputs:,} outputs on numbers in [-1, 1] with eps0 = {eps0}"

    d: int = windows()
    cells: int = window_cells()

    @property
    def _phi(self) -> float:
        """Where the variance is the same at all inputs, if the last window is then within a quarter of a turn.

        Otherwise the phi with the least error, rounding included: it is searched on finer and finer grids.
        """
        cap = 0.5 * math.pi * self.d / (self.d - 1)

        def bent(phi: float) -> bool:
            step = phi / self._outputs
            return self.beta * _tan(self.cells * step) <= self.cells * _tan(step)

        if not bent(cap):
            return bisect(bent, safe=0.0, unsafe=cap)
        tried = np.linspace(cap / _TRIED, cap, _TRIED)
        for _ in range(_FINER):
            best = int(np.argmin([self._error(phi) for phi in tried.tolist()]))
            tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)], _TRIED)
        return float(tried[_TRIED // 2])

    def _error(self, phi: float) -> float:
        """The largest variance of a weight."""
        points, values = self._scaled(_sin(phi * self._positions))
        return largest_variance(points, self._mean(values**2))

    @property
    def _shape(self) -> FloatArray:
        """sin(phi z)."""
        return _sin(self._phi * self._positions)


def _sin(x: FloatArray) -> FloatArray:
    """The sine of numbers up to 3 pi/4, as the four operations alone give it."""
    return np.asarray(x * _series(x * x, 1))


def _tan(x: float) -> float:
    """The tangent, alike."""
    return float(x * _series(x * x, 1) / _series(x * x, 0))


def _series(square: Any, odd: int) -> Any:
    """sin(x)/x, or cos(x) if not ``odd``, of the square of x: terms of Taylor's series while they are above 2^-53.

    Examples
    --------
    >>> bool(abs(_series(np.array([0.0, 2.25, 5.0]), 1) - np.sinc(np.sqrt([0.0, 2.25, 5.0]) / np.pi)).max() < 1e-15)
    True
    """
    total = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 - square / ((2 * k - 1 + odd) * (2 * k + odd)) * total
    return total


@dataclass(frozen=True, kw_only=True)
class Levels(Windowed):
    """Numbers in [-1, 1], rounded to d equally spaced levels, then randomized response (Balle et al., CRYPTO 2019).

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int in [2, 4096], optional
        Number of levels, both ends included; near 0.65 (2 e^eps0)^(1/3) unless it is given.

    Notes
    -----
    The mechanism is ``grr:eps0,d`` on the levels, and so is its accounting.  A report of level x has variance C0 +
    gamma/(1-gamma) x^2, and rounding adds up to 1/(d-1)^2.  :class:`~shuffledp.Window` with one cell has its levels at
    sines instead, which is 7 to 20 % better, and more cells are better still: this one is here for comparison.

    Examples
    --------
    >>> Levels(eps0=4.0, d=3).inputs()
    [-1.0, 0.0, 1.0]
    """

    name = "levels"
    _in_words = "randomized response on {d:,} equal levels of numbers in [-1, 1] with eps0 = {eps0}"
    cells = 1

    d: int = windows(low=2, hint="d counts the levels")


@dataclass(frozen=True, kw_only=True)
class Piecewise(Windowed):
    """The piecewise mechanism on numbers in [-1, 1] (Wang et al., ICDE 2019), on a public grid.

    The report is uniform on a window around the number, or with probability d/(e^eps0 + d - 1) uniform everywhere.  The
    paper's window is 1/(e^(eps0/2) + 1) of the outputs; here it is 1/d with d the nearest whole number from 3 on, and
    has 16 cells (32 if d < 8), so that reports are whole numbers.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.

    Notes
    -----
    The law is that of :class:`~shuffledp.Window` with linear weights, and its accounting is that of ``grr:eps0,d``.  In
    the shuffle model, where local budgets are large, windows are much wider than the paper's (d of ``window``).

    Examples
    --------
    >>> m = Piecewise(eps0=2.0)
    >>> m.d, round(m.variance(1), 3)  # the paper's: 4 s/(3 (s - 1)^2) at s = e^(eps0/2), 1.228
    (4, 1.289)
    """

    name = "piecewise"
    _in_words = "the piecewise mechanism on numbers in [-1, 1] with eps0 = {eps0}"

    @property
    def d(self) -> int:  # type: ignore[override]
        """1/d is the width of a window."""
        return int(min(max(round(exp(min(0.5 * self.eps0, 50.0)) + 1.0), 3), MOST_WINDOWS))

    @property
    def cells(self) -> int:  # type: ignore[override]
        """As for ``window``."""
        return usual_cells(self.d)
