"""Composition of privacy losses on a grid: one product of Fourier transforms, exponentially tilted.

Under P the loss of a composition is the sum of independent losses with masses p_i(k), k in units of the grid step:

    delta(eps) = Pr[some loss is infinite] + sum_L (1 - e^(eps - L))_+ (p_1 * p_2 * ...)(L).

A plain FFT computes the convolution with an *absolute* error, which hides small deltas.  With a tilt theta >= 0,
w_i(k) = p_i(k) e^(theta k step) / Z_i and Z = prod Z_i,

    delta(eps) = ... + Z sum_L f(L) W(L),   f(L) = (1 - e^(eps - L))_+ e^(-theta L),   W = w_1 * w_2 * ...,

and theta is chosen so that W has its bulk at the losses that matter: the error is then small relative to delta itself.

What is added (``upper``) or taken off (``lower``):

- *Round-off of the transforms.*  A transform of length N errs by at most eta = 16 u log2(N) in relative 2-norm
  (Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2: 6.7 u per halving; 16 u also covers the
  radices up to 11 of pocketfft).  Transforms of probability vectors have entries of modulus <= 1, so the product of T
  factors is wrong by sum_i eta sqrt(N) |w_i|_2 in 2-norm (times the growth G of a product of T factors 1 + error), and
  powers and products add 16 u T relative and 2 u per factor absolute.  Going back costs another eta |W|_2 and divides
  by sqrt(N):

      |error of W|_2 <= G (eta sum_i |w_i|_2) + (16 T u + eta) |W|_2 + 2 m u   for T losses of m kinds,

  and by Cauchy-Schwarz the sum over L is wrong by at most Z |f|_2 |error of W|_2.  Of many losses that are used once
  several are added in short transforms first: the same bound holds for their law, and its error adds to eta |w_i|_2.
- *Wrapping around.*  A transform of length N adds W(L + jN) to W(L).  That only raises the sum; losses beyond the right
  end of the window are bounded by Chernoff.  A lower value takes off the Chernoff bound of everything outside.
- *Rounding of Z and of the masses*, as a relative factor with one term per factor of the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft  # type: ignore[import-untyped]

from ..bisect import Look, close_in
from ..pair import FloatArray
from .profile_curve import Masses

_U = 2.0**-53
#: The window reaches this many standard deviations of the tilted sum to either side.
_REACH = 13.0
#: ... and this many cells more.
_MARGIN = 512.0
#: Up to this many cells (divided by the root of the number of kinds) all losses are in the window.
_WHOLE = 2.0**17
#: So many losses that are used once are added in one short transform, if that is shorter by this factor at least.
_ADDED, _SHORT = 8, 4
#: Longest transform.
MOST_CELLS = 2**22


class Factor(NamedTuple):
    """Tilted masses on some cells, how often they are used, and the 2-norm of their error."""

    cells: NDArray[np.int64]
    mass: FloatArray
    times: int
    error: float


class Sum:
    """The sum of ``count`` independent copies of each of several losses on one grid.

    Examples
    --------
    >>> coin = Masses(np.array([0.25, 0.0, 0.75]), 0.0)  # loss -log 3 or log 3
    >>> twice = Sum([coin], [2], math.log(3.0)).around(math.log(3.0))
    >>> round(twice.delta(math.log(3.0), upper=True), 9)  # 9/16 - 3/16 of loss 2 log 3
    0.375
    """

    def __init__(self, kinds: Sequence[Masses], counts: Sequence[int], step: float) -> None:
        self.step = step
        self.counts = [int(c) for c in counts]
        self.total = float(sum(self.counts))
        self.kinds = [m.mass for m in kinds]
        self.half = [(m.size - 1) // 2 for m in self.kinds]
        #: largest loss, in steps
        self.reach = sum(c * h for c, h in zip(self.counts, self.half, strict=True))
        # one flat array of the cells with mass: all moments of all kinds by one exponential and one segmented sum
        filled = [np.flatnonzero(m) for m in self.kinds]
        self._cell = [at - h for at, h in zip(filled, self.half, strict=True)]
        self._loss = np.concatenate([np.zeros(0), *self._cell]) * step
        self._log = np.log(np.concatenate([np.zeros(0), *(m[at] for m, at in zip(self.kinds, filled, strict=True))]))
        sizes = np.array([at.size for at in filled], dtype=np.int64)
        self._start = np.cumsum(sizes) - sizes
        self._owner = np.repeat(np.arange(sizes.size), sizes)
        self._weight = np.array(self.counts, dtype=np.float64)
        masses = np.array([float(m.sum()) + k.infinite for m, k in zip(self.kinds, kinds, strict=True)])
        with np.errstate(divide="ignore"):
            #: log of the total mass, infinite losses included: rounding only keeps it from being 0
            self.log_mass = float(self._weight @ np.log(masses)) if masses.size else 0.0
            #: Pr[some loss is infinite], as a share of the total mass: exactly 1 - prod (1 - Pr[loss i is infinite])
            never = np.log1p(-np.minimum(np.array([k.infinite for k in kinds]) / masses, 1.0))
        self.infinite = -math.expm1(float(self._weight @ never)) if masses.size else 0.0

    def _tilted(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """log Z_i, and the tilted masses of all kinds, flat."""
        exponent = self._log + theta * self._loss
        top = np.maximum.reduceat(exponent, self._start)
        with np.errstate(under="ignore"):
            mass = np.exp(exponent - top[self._owner])
        total = np.add.reduceat(mass, self._start)
        return top + np.log(total), mass / total[self._owner]

    def log_mgf(self, theta: float) -> float:
        """log E_P[e^(theta loss); loss finite]: the Renyi divergence of order 1 + theta is this over theta."""
        return float(self._weight @ self._tilted(theta)[0]) if self.kinds else 0.0

    def spread(self, theta: float) -> tuple[float, float]:
        """Mean and standard deviation of the tilted sum."""
        mass = self._tilted(theta)[1]
        mean = np.add.reduceat(mass * self._loss, self._start)
        square = np.add.reduceat(mass * (self._loss - mean[self._owner]) ** 2, self._start)
        return float(self._weight @ mean), math.sqrt(float(self._weight @ square))

    def tilt_for_delta(self, delta: float) -> float:
        """A good theta for eps at a given delta, from the conversion of Canonne, Kamath and Steinke (2020)."""
        log_delta = math.log(delta)

        def eps(theta: float) -> float:
            gain = theta * math.log(theta) - (1.0 + theta) * math.log1p(theta)
            return (self.log_mgf(theta) + gain - log_delta) / theta

        return self._search(eps)

    def tilt_for_epsilon(self, eps: float) -> float:
        """A good theta for delta at a given eps: the minimum of Chernoff's bound."""

        def log_delta(theta: float) -> float:
            return self.log_mgf(theta) + theta * math.log(theta) - (1.0 + theta) * math.log1p(theta) - theta * eps

        return self._search(log_delta)

    def _search(self, value: Callable[[float], float]) -> float:
        """A minimum over theta > 0 by golden sections of its logarithm; any theta is valid, a good one is tight."""
        deviation = max(self.spread(0.0)[1], 1e-12)
        low, high = math.log(1e-3 / deviation), math.log(1e3 / deviation)
        grid = np.linspace(low, high, 21)
        heights = [value(math.exp(x)) for x in grid]
        best = int(np.argmin(heights))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 20)]
        golden = 0.5 * (math.sqrt(5.0) - 1.0)
        for _ in range(12):
            a, b = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, b) if value(math.exp(a)) < value(math.exp(b)) else (a, high)
        return math.exp(0.5 * (low + high))

    def around(self, eps: float) -> Window:
        """The law of the sum near eps."""
        return self.window(self.tilt_for_epsilon(eps), eps) if self.reach else self.window(0.0, 0.0)

    def window(self, theta: float, eps: float | None = None, reach: float = _REACH) -> Window:
        """The tilted law on the cells around its mean, and around eps."""
        log_z, mass = self._tilted(theta) if self.kinds else (np.zeros(0), np.zeros(0))
        mean, deviation = self.spread(theta) if self.kinds else (0.0, 0.0)
        low = (mean - reach * deviation) / self.step - _MARGIN
        high = (mean + reach * deviation) / self.step + _MARGIN
        if eps is not None:
            low, high = min(low, eps / self.step - 2.0), max(high, eps / self.step + 2.0)
        if 2.0 * self.reach < _WHOLE / math.sqrt(len(self.kinds) + 1.0):  # all losses: nothing wraps around
            low, high = -self.reach, self.reach
        first, last = int(max(low, -self.reach)), int(min(high, self.reach))
        first, last = min(first, self.reach), max(last, first)
        last = min(last, first + MOST_CELLS - 1)
        n = int(next_fast_len(last - first + 1, real=True))
        eta = 16.0 * _U * max(math.log2(n), 1.0)
        product = np.ones(n // 2 + 1, dtype=np.complex128)
        slips = 0.0
        for factor in self._factors(mass, n):
            wrapped = np.bincount(factor.cells % n, weights=factor.mass, minlength=n).astype(np.float64)
            with np.errstate(under="ignore"):
                transform = rfft(wrapped)
                product *= transform if factor.times == 1 else transform**factor.times
            slips += factor.times * (eta * _norm(wrapped) + factor.error)
        law = np.roll(irfft(product, n), -(first % n))[: last - first + 1]
        error = math.exp(min(math.sqrt(n) * slips, 700.0)) * slips + 2.0 * len(self.kinds) * _U
        error += (16.0 * self.total * _U + eta) * (_norm(law) + error)
        steepest = theta * self.step * max(self.half, default=0)
        size = max((m.size for m in self.kinds), default=1)
        doubt = 8.0 * _U * self.total * (8.0 + math.log2(size + 1.0) + steepest) + 1e-13
        return Window(self, theta, first, law, float(self._weight @ log_z), error, doubt)

    def _factors(self, mass: FloatArray, n: int) -> Iterator[Factor]:
        """The tilted laws of all kinds; of many that are used once, several are added in short transforms first."""
        kinds = [
            Factor(cells, mass[start : start + cells.size], count, 0.0)
            for start, cells, count in zip(self._start, self._cell, self.counts, strict=True)
        ]
        short = [i for i, h in enumerate(self.half) if self.counts[i] == 1 and 2 * h * _ADDED * _SHORT < n]
        if len(short) < _ADDED * _ADDED:
            short = []
        single = set(short)
        yield from (factor for i, factor in enumerate(kinds) if i not in single)
        short.sort(key=lambda i: self.half[i])
        for at in range(0, len(short), _ADDED):
            some = short[at : at + _ADDED]
            yield added([kinds[i] for i in some], [self.half[i] for i in some])


def added(factors: Sequence[Factor], half: Sequence[int]) -> Factor:
    """The law of the sum of losses that are used once, each at most ``half`` cells from 0, with its round-off.

    The bound on the error is that of the whole window, for a transform in which nothing wraps around.
    """
    reach = sum(half)
    n = int(next_fast_len(2 * reach + 1, real=True))
    eta = 16.0 * _U * max(math.log2(n), 1.0)
    laws = np.zeros((len(factors), n))
    for row, factor, h in zip(laws, factors, half, strict=True):
        row[factor.cells + h] = factor.mass
    law = irfft(np.multiply.reduce(rfft(laws, axis=1), axis=0), n)[: 2 * reach + 1]
    slips = sum(eta * _norm(row) for row in laws)
    error = math.exp(min(math.sqrt(n) * slips, 700.0)) * slips + 2.0 * len(factors) * _U
    error += (16.0 * len(factors) * _U + eta) * (_norm(law) + error)
    return Factor(np.arange(-reach, reach + 1), law, 1, error)


def _norm(values: FloatArray) -> float:
    """The 2-norm, on one core: a BLAS would divide even short sums among threads, which wait for each other."""
    return math.sqrt(float(np.add.reduce(values * values)))


@dataclass(frozen=True)
class Window:
    """The tilted law of a sum on the cells first, first + 1, ..., with the bounds on its errors."""

    sum: Sum
    theta: float
    first: int
    law: FloatArray
    log_z: float
    error: float  # 2-norm of the round-off in ``law``
    doubt: float  # relative: rounding of Z and of the masses

    def delta(self, eps: float, *, upper: bool) -> float:
        """delta(eps) of the composition with all errors added, or with all errors taken off."""
        whole = self.sum
        f, law, scale, doubt = self._terms(eps)
        slip = _norm(f) * self.error
        if upper:
            most = _exp(max(whole.log_mass, 0.0) + doubt)
            if self.first > -whole.reach and eps < self.first * whole.step:
                return most  # losses between eps and the window were not evaluated
            value = float(f @ np.maximum(law, 0.0)) * (1.0 + 1e-13) + slip
            finite = _exp(scale + math.log(value) + doubt) if value > 0.0 else 0.0
            return min(finite + whole.infinite * most * (1.0 + 1e-12) + self.beyond, most)
        # what wraps around counts with weight max f <= 1 in the tilted law
        value = float(f @ law) - 1e-13 * float(f @ np.abs(law)) - slip - float(f.max(initial=0.0)) * self._wrapped
        finite = _exp(scale + math.log(value) - doubt) if value > 0.0 else 0.0
        return finite + whole.infinite * _exp(whole.log_mass - self.doubt) * (1.0 - 1e-12)

    def round_off(self, eps: float) -> float:
        """The part of the upper delta(eps) that covers the round-off of the transforms."""
        f, _, scale, doubt = self._terms(eps)
        slip = _norm(f) * self.error
        return _exp(scale + math.log(slip) + doubt) if slip > 0.0 else 0.0

    def _terms(self, eps: float) -> tuple[FloatArray, FloatArray, float, float]:
        """f and W on the losses beyond eps, the log of their common factor, and its relative doubt."""
        start = int(np.searchsorted(self._loss, eps, side="right"))
        loss, law = self._loss[start:], self.law[start:]
        base = float(loss[0]) if loss.size else eps
        with np.errstate(under="ignore"):
            f = -np.expm1(eps - loss) * np.exp(-self.theta * (loss - base))
        doubt = self.doubt + 4.0 * _U * self.theta * (abs(base) + self.sum.step * self.law.size)
        return f, law, self.log_z - self.theta * base, doubt

    @cached_property
    def _loss(self) -> FloatArray:
        return np.asarray((self.first + np.arange(self.law.size)) * self.sum.step)

    @property
    def middle(self) -> float:
        """The middle of the window: about the eps that the tilt was made for."""
        return (self.first + 0.5 * self.law.size) * self.sum.step

    def _ends(self) -> tuple[int, int]:
        """The cells just outside the window."""
        return self.first - 1, self.first + self.law.size

    @cached_property
    def beyond(self) -> float:
        """Chernoff: Pr_P[loss >= the cell right of the window]; 0 if no loss is that large."""
        right_end = self._ends()[1]
        if right_end > self.sum.reach:
            return 0.0
        end = right_end * self.sum.step
        tilts = [self.theta * x for x in (1.0, 1.2, 1.5, 2.0, 4.0)] if self.theta else [1.0, 10.0, 100.0]
        return _exp(min(self.sum.log_mgf(t) - t * end for t in tilts) + self.doubt * 4.0)

    @cached_property
    def _wrapped(self) -> float:
        """Mass of the tilted law outside the window."""
        return self._tilted_beyond(right=True) + self._tilted_beyond(right=False)

    def _tilted_beyond(self, *, right: bool) -> float:
        """Chernoff for the tilted law outside the window, on one side."""
        left_end, right_end = self._ends()
        if (right_end > self.sum.reach) if right else (left_end < -self.sum.reach):
            return 0.0
        end, sign = (right_end, 1.0) if right else (left_end, -1.0)
        width = max(self.sum.spread(self.theta)[1], self.sum.step)
        best = 0.0
        for x in (3.0, 6.0, 9.0, 12.0):
            turn = sign * x / width
            best = min(best, self.sum.log_mgf(self.theta + turn) - self.log_z - turn * end * self.sum.step)
        return _exp(best + 2.0 * self.doubt)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700.0 else math.inf


def solve_epsilon(window: Window, delta: float, *, upper: bool, most: float) -> float:
    """The smallest eps in [0, most] with delta(eps) <= delta (upper), or the largest with delta(eps) >= delta (lower).

    The answer is the safe end of a bisection: the inequality was checked at the returned eps itself.
    inf (upper) or 0 (lower) if it holds nowhere.
    """

    def excess(eps: float) -> float:
        value = window.delta(eps, upper=upper)
        off = math.log(value / delta) if value > 0.0 else -math.inf
        return off if upper or off != 0.0 else 5e-324  # a lower value may be met exactly

    low, high = 0.0, most
    if upper:
        at_low, at_high = excess(0.0), excess(high)
        if at_low <= 0.0:
            return 0.0
        if at_high > 0.0:
            return math.inf
    else:  # far below the bulk of the tilted law there is only round-off: start near the top
        starts = [most * (1.0 - x) for x in (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)]
        at_low, at_high = math.nan, -math.inf
        for low in starts:
            at_low = excess(low)
            if at_low > 0.0:
                break
            high, at_high = low, at_low
        else:
            return 0.0
    tries = [window.middle * x for x in (1.0, 0.8, 1.25)]
    for _ in range(60):
        if high <= 1.5 * low:
            break
        inside = [x for x in tries if low < x < high]
        eps = inside[0] if inside else 0.5 * (low + high)
        tries = inside[1:]
        y = excess(eps)
        low, at_low, high, at_high = (low, at_low, eps, y) if y <= 0.0 else (eps, y, high, at_high)
    unit = (high - low) / math.ceil((high - low) / (2e-8 * high))
    last = round((high - low) / unit)
    if not last > 1:
        return high if upper else low

    def place(k: int) -> float:
        return low if k == 0 else high if k == last else low + k * unit

    end = close_in(lambda k: excess(place(k)), Look(0, at_low), Look(last, at_high)).at
    return place(end) if upper else place(end - 1)
