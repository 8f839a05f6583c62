"""Composition of privacy losses on a grid: one product of Fourier transforms, exponentially tilted.

Under P the loss of a composition is the sum of independent losses with masses p_i(k), k in units of the grid step:

    delta(eps) = Pr[some loss is infinite] + sum_L (1 - e^(eps - L))_+ (p_1 * p_2 * ...)(L).

A plain FFT computes the convolution with an *absolute* error, which hides small deltas.  With a tilt theta >= 0,
w_i(k) = p_i(k) e^(theta k step) / Z_i and Z = prod Z_i,

    delta(eps) = ... + Z sum_L f(L) W(L),   f(L) = (1 - e^(eps - L))_+ e^(-theta L),   W = w_1 * w_2 * ...,

and theta is chosen so that W has its bulk at the losses that matter: the error is then small relative to delta itself.

Errors that are added (``upper``) or subtracted (``lower``):

- *Round-off of the transforms.*  A transform of length N errs by at most eta = 16 u log2(N) in relative 2-norm
  (Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2: 6.7 u per halving; 16 u also covers the
  radices up to 11 of pocketfft).  Transforms of probability vectors have entries of modulus <= 1, so the product of T
  factors is wrong by sum_i eta sqrt(N) |w_i|_2 in 2-norm (times the growth G of a product of T factors 1 + error), and
  powers and products add 16 u T relative and 2 u per factor absolute.  The inverse transform costs another eta |W|_2
  and divides by sqrt(N):

      |error of W|_2 <= G (eta sum_i |w_i|_2) + (16 T u + eta) |W|_2 + 2 m u   for T losses of m kinds,

  and by Cauchy-Schwarz the sum over L is wrong by at most Z |f|_2 |error of W|_2.
- *Wrapping around.*  A transform of length N adds W(L + jN) to W(L).  That only raises the sum; losses beyond the right
  end of the window are bounded by Chernoff.  A lower value subtracts the Chernoff bound of everything outside.
- *Rounding of Z and of the masses*, as a relative factor with one term per factor of the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft  # type: ignore[import-untyped]

from ..ledger import charge
from ..pair import FloatArray, Side
from ..search import smallest_whole
from .profile_curve import Masses

_U = 2.0**-53
#: The window reaches this many standard deviations of the tilted sum to either side.
_REACH = 13.0
#: ... and this many cells more.
_MARGIN = 512.0
#: Up to this many cells (divided by the root of the number of kinds) all losses are in the window.
_WHOLE = 2.0**17
#: Longest transform.
MOST_CELLS = 2**22


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
            #: log of the total mass, infinite losses included: 0 but for rounding
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
        return self._search(lambda theta: (self._log_chernoff(theta) - log_delta) / theta)

    def tilt_for_epsilon(self, eps: float) -> float:
        """A good theta for delta at a given eps: the minimum of Chernoff's bound."""
        return self._search(lambda theta: self._log_chernoff(theta) - theta * eps)

    def _log_chernoff(self, theta: float) -> float:
        """log of E[e^(theta loss)] times the largest (1 - e^-L) e^(-theta L): at least log delta(eps) + theta eps."""
        return self.log_mgf(theta) + theta * math.log(theta) - (1.0 + theta) * math.log1p(theta)

    def _search(self, value: Callable[[float], float]) -> float:
        """A minimum over the logarithm of theta, on finer and finer grids; any theta is valid, a good one is tight."""
        deviation = max(self.spread(0.0)[1], 1e-12)
        low, high = math.log(1e-3 / deviation), math.log(1e3 / deviation)
        for _ in range(5):
            grid = np.linspace(low, high, 10)
            best = int(np.argmin([value(math.exp(x)) for x in grid]))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, 9)]
        return math.exp(0.5 * (low + high))

    def around(self, eps: float) -> Window:
        """The law of the sum near eps."""
        return self.window(self.tilt_for_epsilon(eps), eps) if self.reach else self.window(0.0, 0.0)

    def log_deltas(self, eps: FloatArray, tol: float, side: Side) -> FloatArray:
        """log delta at every eps; a window serves the next larger eps as long as its round-off does not matter."""
        upper, window, found = side == "upper", None, np.empty(eps.size)
        for i in np.argsort(eps).tolist():
            at, value = float(eps[i]), 0.0 if window is None else window.delta(float(eps[i]), upper=upper)
            if window is None or not window.round_off(at) + window.beyond <= 1e-3 * tol * value:
                window = self.around(at)
                value = window.delta(at, upper=upper)
            found[i] = min(value, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found) + (1e-15 if upper else -1e-15))

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
        eta = _eta(n)
        product = np.ones(n // 2 + 1, dtype=np.complex128)
        slips = 0.0
        for start, cells, count in zip(self._start.tolist(), self._cell, self.counts, strict=True):
            wrapped = np.bincount(cells % n, mass[start : start + cells.size], n).astype(np.float64)
            with np.errstate(under="ignore"):
                transform = rfft(wrapped)
                product *= transform if count == 1 else transform**count
            slips += count * eta * _norm(wrapped)
        law = np.roll(irfft(product, n), -(first % n))[: last - first + 1]
        error = transform_error(n, slips, _norm(law), len(self.kinds), self.total)
        steepest = theta * self.step * max(self.half, default=0)
        doubt = mass_error(self.total, max((m.size for m in self.kinds), default=1), steepest)
        return Window(self, theta, first, law, float(self._weight @ log_z), error, doubt)


@charge("rounding of Fourier transforms", "Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2")
def transform_error(n: int, slips: float, norm: float, kinds: int, total: float) -> float:
    """The 2-norm of the error of W, from ``slips`` = eta sum_i |w_i|_2 and ``norm`` = |W|_2 (top of this module)."""
    error = math.exp(min(math.sqrt(n) * slips, 700.0)) * slips + 2.0 * kinds * _U
    return error + (16.0 * total * _U + _eta(n)) * (norm + error)


def _eta(n: int) -> float:
    """The relative 2-norm of the error of one transform."""
    return 16.0 * _U * max(math.log2(n), 1.0)


@charge("rounding of tilted masses and of their product Z", "docs/proofs.md, Lemma 9")
def mass_error(total: float, size: int, steepest: float) -> float:
    """The relative error of Z: every factor carries some roundings, those of a sum and those of its exponents."""
    return 8.0 * _U * total * (8.0 + math.log2(size + 1.0) + steepest) + 1e-13


def _norm(values: FloatArray) -> float:
    """The 2-norm, on one core: a BLAS would divide even short sums among threads, which wait for each other."""
    return math.sqrt(_dot(values, values))


def _dot(a: FloatArray, b: FloatArray) -> float:
    """A scalar product on one core, summed in pairs."""
    return float(np.add.reduce(a * b))


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
        """delta(eps) of the composition with all errors added (``upper``), or subtracted."""
        whole = self.sum
        f, law, scale, doubt = self._terms(eps)
        slip = _norm(f) * self.error
        if upper:
            most = _exp(max(whole.log_mass, 0.0) + doubt)
            if self.first > -whole.reach and eps < self.first * whole.step:
                return most  # losses between eps and the window were not evaluated
            value = _dot(f, np.maximum(law, 0.0)) * (1.0 + 1e-13) + slip
            finite = _exp(scale + math.log(value) + doubt) if value > 0.0 else 0.0
            return min(finite + whole.infinite * most * (1.0 + 1e-12) + self.beyond, most)
        # what wraps around counts with weight max f <= 1 in the tilted law
        value = _dot(f, law) - 1e-13 * _dot(f, np.abs(law)) - slip - float(f.max(initial=0.0)) * self._wrapped
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

    @cached_property
    def beyond(self) -> float:
        """Pr_P[loss >= the cell right of the window]."""
        tilts = [self.theta * x for x in (1.0, 1.2, 1.5, 2.0, 4.0)] if self.theta else [1.0, 10.0, 100.0]
        return self._chernoff(self.first + self.law.size, tilts, 0.0, 0.0)

    @cached_property
    def _wrapped(self) -> float:
        """Mass of the tilted law outside the window."""
        turn = 3.0 / max(self.sum.spread(self.theta)[1], self.sum.step)
        ends = ((self.first - 1, -turn), (self.first + self.law.size, turn))
        return sum(
            self._chernoff(end, [self.theta + k * turn for k in range(5)], self.theta, self.log_z) for end, turn in ends
        )

    def _chernoff(self, cell: int, tilts: Sequence[float], theta: float, log_z: float) -> float:
        """The mass of the law tilted by theta at and beyond a cell outside the window; 0 if no loss is that large."""
        if abs(cell) > self.sum.reach:
            return 0.0
        end = cell * self.sum.step
        return _exp(min(self.sum.log_mgf(t) - log_z - (t - theta) * end for t in tilts) + 4.0 * self.doubt)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700.0 else math.inf


def solve_epsilon(window: Window, delta: float, *, upper: bool, most: float) -> float:
    """The smallest eps in [0, most] with delta(eps) <= delta (upper), or the largest with delta(eps) >= delta (lower).

    The answer is the safe end of a search: the inequality was checked at the returned eps itself.  If it holds
    nowhere, the answer is inf (upper) or 0 (lower).  A lower search starts next to ``most``: far below the bulk of the
    tilted law there is only round-off.
    """
    if not most > 0.0:
        return 0.0

    def excess(eps: float) -> float:
        value = window.delta(min(eps, most), upper=upper)
        return math.log(value / delta) if value > 0.0 else -math.inf

    start = min(most, max(window.middle, window.sum.step)) if upper else most * (1.0 - 1e-4)
    unit = 1e-8 * start
    for _ in range(4):  # log delta falls about as fast as the tilt
        off = excess(start)
        if not abs(off) > 1e-3 * window.theta * start or off == -math.inf:
            break
        start = min(max(start + off / window.theta, 0.5 * start), most)

    def at(k: int) -> float:
        off = excess(k * unit)
        return off if upper or off != 0.0 else 5e-324  # for a lower bound, equality is enough

    found = smallest_whole(at, low=0, high=math.ceil(most / unit), start=round(start / unit))
    if found is None:
        return math.inf if upper else most
    return min(found * unit, most) if upper else max(found - 1, 0) * unit
