"""Means of numbers by windows: the report is uniform near the number, or now and then uniform everywhere."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...numerics.family import Family
from ...numerics.pair import FloatArray
from ...numerics.search import bisect
from ...randomness.sampling import Array, Source, below, bernoulli
from ..base import Mechanism
from ..categorical.grr import GRR
from ..codecs import Category
from ..local_budget import LocalBudget
from ..parameters import Free, whole
from .grid_mean import GridMean, largest_variance

#: Most windows side by side; a report has at most two bytes.
_MOST_WINDOWS, _MOST_OUTPUTS = 2**12, 2**16
#: Cells of a window unless they are given: with few windows their steps would be coarse.
_CELLS, _MORE_CELLS, _FEW_WINDOWS = 16, 32, 8
#: Most windows that calibration tries: the best number at eps0 = 18.
_MOST_TRIED = 256
#: Points of a grid on which phi is searched, and how often it is made finer.
_TRIED, _FINER = 9, 6


def _cells(windows: int) -> int:
    return _MORE_CELLS if windows < _FEW_WINDOWS else _CELLS


class Windowed(GridMean, LocalBudget):
    """d windows of b cells side by side are the L = d b outputs; input i prefers the cells i, ..., i + b - 1.

    P_i(j) is proportional to e^eps0 if i <= j < i + b, else to 1: with probability gamma = d/(e^eps0 + d - 1) the
    report is uniform on all cells, else on the window.  There are L - b + 1 inputs.

    *Every upper bound of GRR(eps0, d) holds for it.*  Let s = e^eps0 t be the high and t the low probability of a cell,
    and X = (P0 - E P1)/R on a cell of another user's law R (or of the blanket, R = t), as in docs/proofs.md.

    1. Windows W0, W1 of the victim that do not overlap: X depends on whether a cell is in W0, in W1 or in neither, and
       on R there.  The law of X is affine in how many cells of the other's window lie in W0 and in W1, two numbers
       whose hull has the corners (0, 0), (b, 0), (0, b): the three types of GRR, of which it is a mixture.
    2. Windows that overlap: every cell of W0 & W1 gets a partner outside of both (L >= 2b), and both cells are compared
       with one in W0 alone and one in W1 alone.  Where R is r on both, X takes s(1-E)/r and t(1-E)/r, against
       (s-Et)/r and (t-Es)/r: the same mean and a half-width (s-t)|1-E|/2r <= (s-t)(1+E)/2r.  Where R is s on the first
       and t on its partner, X is 1-E on both, a constant, against anything of that mean.  Where R is t on the first and
       s on its partner, X takes s(1-E)/t and t(1-E)/s; for E < 1 they lie between (t-Es)/s and (s-Et)/t (first cell
       in W0 alone), for E >= 1 between (t-Es)/t and (s-Et)/s (first cell in W1 alone).  Each is a mean-preserving
       spread; what another user's cells are is known slot by slot in the swap bound, so the choice may depend on it.

    So every divergence is at most that of non-overlapping windows, hence that of GRR's pair and types, at every E: by
    the blanket and by the swap bound, with participation and in compositions.  Over the blanket (R = t) the spread
    holds for a P0 - b P1 with any a, b >= 0; among types the choice depends on E, so that products of swap pairs are
    not covered (_swap_members).  *Every lower bound of GRR holds too*: on d windows side by side the mechanism is GRR,
    whose report is then replaced by a uniform cell of its window.
    """

    _lists_every_type = True

    d: int
    cells: int

    @property
    @abstractmethod
    def _shape(self) -> FloatArray:
        """The weights of the outputs up to their scale: rising, and odd around the middle."""

    @property
    def _outputs(self) -> int:
        """L = d b."""
        return self.d * self.cells

    # -- the law, which is GRR's ------------------------------------------------------------------------------

    @property
    def _response(self) -> GRR:
        return GRR(eps0=self.eps0, d=self.d)

    @property
    def _uniform(self) -> float:
        """gamma."""
        return self.d * self._response.stray

    @property
    def beta(self) -> float:
        """(e-1)/(e+d-1): of windows that do not overlap."""
        return self._response.beta

    @property
    def _binary_budget(self) -> float | None:
        """Two levels are one bit."""
        return self._response._binary_budget if self.cells == 1 else None

    def _whole_matrix(self) -> FloatArray | None:
        """That of GRR where windows do not overlap: values between two inputs are mixtures of them."""
        return self._response._whole_matrix() if self.cells == 1 else None

    def _blanket(self) -> Family:
        return self._response.law.blanket()

    def _constant_datasets(self) -> Family:
        return self._response.law.constant_datasets()

    def _swap_members(self, most: int) -> None:
        """None: which pair dominates an overlap depends on E."""
        return None

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """That of GRR: the blankets are uniform on the same outputs."""
        if isinstance(victim, Windowed) and (victim.d, victim.cells) == (self.d, self.cells):
            return self._response._blanket_ratio(victim._response)
        return super()._blanket_ratio(victim)

    # -- the weights ------------------------------------------------------------------------------------------

    def _over_window(self, outputs: FloatArray) -> FloatArray:
        """The mean over the window of every input."""
        return np.convolve(outputs, np.full(self.cells, 1.0 / self.cells), "valid")

    @property
    def _positions(self) -> FloatArray:
        """z_j = (2j+1)/L - 1, the middles of the cells."""
        return np.asarray(np.arange(1 - self._outputs, self._outputs, 2) / self._outputs)

    def _scaled(self, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Inputs and weights: a uniform output has mean 0, so a report has beta = 1 - gamma times its window's mean.

        An input is that mean as a part of the last one: from -1 to 1.
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
        return np.asarray(self._uniform * weights.mean() + self.beta * self._over_window(weights))

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """The number of the cell: a byte or two."""
        return Category(self._outputs, scratch=64)

    def _randomize(self, values: Array, src: Source) -> Array:
        out = self._grid.rounded(src, values)
        out += below(src, self.cells, len(values))
        report = out.astype(self.codec.dtype)
        anywhere = np.flatnonzero(bernoulli(src, self._uniform, len(values)))
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
    :class:`Windowed`.

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

    d: int = whole(
        low=3,
        high=_MOST_WINDOWS,
        hint="a window is 1/d of the outputs",
        choose=lambda m: _likely_windows(m.eps0),
        free=Free(1.25, limits=lambda m: (3, _MOST_TRIED), near=4.0),
    )
    cells: int = whole(
        low=1,
        high=lambda m: _MOST_OUTPUTS // m.d,
        hint="it counts the outputs of a window",
        choose=lambda m: _cells(m.d),
    )

    @property
    def _phi(self) -> float:
        """Where the variance is the same at all inputs, if the last window is then within a quarter of a turn.

        Else the one with the least error, rounding counted: it is searched on finer and finer grids.
        """
        cap = 0.5 * math.pi * self.d / (self.d - 1)

        def bent(phi: float) -> bool:
            step = phi / self._outputs
            return self.beta * math.tan(self.cells * step) <= self.cells * math.tan(step)

        if not bent(cap):
            return bisect(bent, safe=0.0, unsafe=cap)
        tried = np.linspace(cap / _TRIED, cap, _TRIED)
        for _ in range(_FINER):
            best = int(np.argmin([self._error(phi) for phi in tried.tolist()]))
            tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)], _TRIED)
        return float(tried[_TRIED // 2])

    def _error(self, phi: float) -> float:
        """The largest variance of a weight."""
        points, values = self._scaled(np.sin(phi * self._positions))
        return largest_variance(points, self._mean(values**2))

    @property
    def _shape(self) -> FloatArray:
        """sin(phi z)."""
        return np.asarray(np.sin(self._phi * self._positions))


def _likely_windows(eps0: float) -> int:
    """0.65 V^(1/3) at V = 2 e^eps0."""
    return int(min(max(round(0.65 * math.exp(min(eps0 + math.log(2.0), 50.0) / 3.0)), 3), _MOST_WINDOWS))


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
    sines instead, which is 7 to 20 % better, and more cells are better still: this one is here to be compared with.

    Examples
    --------
    >>> Levels(eps0=4.0, d=3).inputs()
    [-1.0, 0.0, 1.0]
    """

    name = "levels"
    _in_words = "randomized response on {d:,} equal levels of numbers in [-1, 1] with eps0 = {eps0}"
    cells = 1

    d: int = whole(
        low=2,
        high=_MOST_WINDOWS,
        hint="d counts the levels",
        choose=lambda m: _likely_windows(m.eps0),
        free=Free(1.25, limits=lambda m: (3, _MOST_TRIED), near=4.0),
    )

    @property
    def _shape(self) -> FloatArray:
        """z."""
        return self._positions


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
        return int(min(max(round(math.exp(min(0.5 * self.eps0, 50.0)) + 1.0), 3), _MOST_WINDOWS))

    @property
    def cells(self) -> int:  # type: ignore[override]
        """As of the window mechanism."""
        return _cells(self.d)

    @property
    def _shape(self) -> FloatArray:
        """z."""
        return self._positions
