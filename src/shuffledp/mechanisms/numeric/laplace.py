"""Means of numbers: Laplace noise, on a public grid so that floating-point bits reveal nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...errors import BoundNotApplicableError
from ...estimation.estimate import Estimate, mean_in_range
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, both_directions
from ...numerics.swap.family import SwapSet
from ...randomness.sampling import Array, Source
from ..accuracy import Accuracy
from ..base import Mechanism
from ..codecs import Numbers
from ..laws import rounded_down
from ..local_budget import LocalBudget
from ..parameters import budget
from ..values import numbers
from .discrete_laplace import discrete_laplace, on_grid
from .laplace_laws import Powers
from .laplace_types import slots, swap_set


@dataclass(frozen=True, kw_only=True)
class Laplace(LocalBudget):
    """Laplace noise on a number in [0, 1] (Dwork, McSherry, Nissim, Smith, TCC 2006), on a grid of step 1/N, N = 2^10.

    x is rounded to a grid point g/N at random, up or down, without bias; the report is the whole number
    y = g + noise, where noise = k with probability tanh(eps0/(2N)) a^|k|, a = e^(-eps0/N).  Two grid inputs differ by
    at most N steps, so the ratio of their probabilities is at most a^-N = e^eps0, and a rounded input is a mixture
    of two: exactly eps0-LDP.  Textbook noise in floating point is not: the low bits of x + noise reveal x
    (Mironov, CCS 2012).  The noise is sampled exactly on integers (Canonne, Kamath, Steinke, NeurIPS 2020).

    Parameters
    ----------
    eps0 : float in [1e-6, 500]
        Local budget for inputs in [0, 1]; rescale other ranges to it.

    Notes
    -----
    Parameters (paper, Table 2): p = q = e^eps0, beta = 1 - e^(-eps0/2); both hold exactly on the grid, as N is even.

    Blanket: omega_y = min(R(0)_y, R(N)_y).  *The pair (0, N) dominates all pairs at every E = e^eps >= 1.*  By joint
    convexity take grid inputs (g, h), and let u = R(g)/omega, v = R(h)/omega, X = u - E v.  In y, u falls from
    a^(g-N) to a^-g between g and N/2 if g <= N/2, rises if g >= N/2, and is constant outside.  Convex order
    means S(g, h) = max over sets A of R(g)(A) - E R(h)(A) - s omega(A) <= S(0, N) for every s (or the same with the
    complement of A and the sign changed).

    1. g <= N/2 <= h: X falls in y, so the best A is {y <= c}; moving g left and h right raises its value.
    2. g < h <= N/2: X falls up to h and then rises to a^-g - E a^-h < 0.  If s is above that, A = {y <= c} again.
       Below it, s < 0 and {X < s} is an interval B around h, right of g and left of N/2, or {y <= c} with h <= c.
       Shift B by N - h, or take {y >= N + h - c}: R(N) of it is R(h)(B), while R(0) and omega of it are at most
       R(g)(B) and omega(B).
    3. h < g <= N/2, against (N, 0): if X rises, A = {y > c} as in 1; else as in 2 with A an interval around g.

    Reflection y -> N - y gives the other cases and makes the pair symmetric.

    (u, v) of (0, N) runs on two straight segments, (e, 1) to (1, 1) to (1, e).  For the upper bound inner points
    are split onto the ends of short pieces of them, which keeps mass and both means; for the lower bound
    (the others hold 0, 1/2 or 1) neighboring reports are merged.

    Swap bound: all pairs and all that the others may hold are covered by a few dozen laws (laplace_types.py proves it);
    the worst of them is the pair (0, N) among others who all hold 0 or all hold N, which each evaluation checks.

    Examples
    --------
    >>> Laplace(eps0=1.0).variation_ratio().beta.__round__(4)
    0.3935
    >>> m = Laplace(eps0=2.0)
    >>> est = m.estimate(m.privatize(np.full(10_000, 0.3), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.3) < 4 * est.stderr[0])
    True
    """

    name = "laplace"
    _in_words = "Laplace noise of scale 1/{eps0} on numbers in [0, 1]"
    serves = ("numbers",)
    _number_range = (0.0, 1.0)
    #: The grid has 2^BITS steps; pieces of a segment (upper bound) and groups of inner reports (lower bound).
    BITS = 10
    PIECES = 64
    GROUPS = 64
    #: A user is free with probability e^(-eps0/2): about ten of 10^12 users at this budget.
    LARGEST_SWAP = 50.0

    eps0: float = budget(low=1e-6, hint="eps0 is the local budget, and a report with less than 1e-6 is only noise")

    @property
    def _steps(self) -> int:
        return 1 << self.BITS

    @property
    def _rate(self) -> float:
        return self.eps0 / self._steps  # exact: a power of two

    @property
    def beta(self) -> float:
        """1 - e^(-eps0/2)."""
        return -math.expm1(-0.5 * self.eps0)

    # -- the law ----------------------------------------------------------------------------------------------

    def _power(self, k: Array) -> FloatArray:
        """a^k for whole k, to a few ulp: eps0 is split so that both exponents are exact."""
        high = float(np.float32(self.eps0))
        return np.asarray(np.exp(-high * k / self._steps) * np.exp(-(self.eps0 - high) * k / self._steps))

    def _law(self, g: int) -> FloatArray:
        """Probabilities of y <= 0, y = 1, ..., N-1, and y >= N on the grid input g."""
        size, a = self._steps, math.exp(-self._rate)
        inner = math.tanh(0.5 * self._rate) * self._power(np.abs(np.arange(1, size) - g))
        low, high = self._power(np.array([g, size - g])) / (1.0 + a)
        return np.concatenate([[low], inner, [high]])

    def _blanket(self) -> list[ShuffledPair]:
        """The pair (0, N) over omega, with the points inside each piece of a segment moved to its ends."""
        ends = np.append(np.arange(0, self._steps, max(1, self._steps // (2 * self.PIECES))), self._steps)
        weight = Powers(self._rate, self._power).weights(ends)
        low, high = weight * self._power(ends), weight * self._power(self._steps - ends)
        return [ShuffledPair(low, high, np.minimum(low, high))]

    def _swap(self) -> SwapSet:
        """All pairs and all types of the others, through the laws of laplace_types.py."""
        if self.eps0 > self.LARGEST_SWAP:
            raise BoundNotApplicableError(
                f"bound 'swap' of laplace needs eps0 up to {self.LARGEST_SWAP:g}, got {self.eps0:g}: beyond, hardly "
                "any user is free to be exchanged for the victim; use bound='auto'."
            )
        size, rate = self._steps, self._rate
        return swap_set(list(slots(size, size, rate)), size, size, rate, self._power)

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The others hold 0, 1 (by symmetry) or 1/2; inner reports are merged, which is post-processing."""
        size = self._steps
        starts = np.array([0, *range(1, size, max(1, size // self.GROUPS)), size])
        low, middle, high = (np.add.reduceat(self._law(g), starts) for g in (0, size // 2, size))
        end = both_directions(ShuffledPair(P0=low, P1=high, t=low))
        return [*end, ShuffledPair(P0=low, P1=high, t=middle)]

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """w = tanh(r/2) e^(-r m) with r = eps0/N and m = max(y, N-y) >= N/2.

        Where the rate of these users is not larger than the victim's, the ratio is smallest at m = N/2; where it is
        larger, the ratio has no positive lower bound: such users do not help.
        """
        if not isinstance(victim, Laplace) or victim.BITS != self.BITS:
            return super()._blanket_ratio(victim)
        gap = victim.eps0 - self.eps0
        if gap < 0.0:
            return 0.0
        level = math.log(math.tanh(0.5 * self._rate) / math.tanh(0.5 * victim._rate))
        return rounded_down(level + 0.5 * gap, 1.0)

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: Array) -> Array:
        return numbers(values, 0.0, 1.0)

    @property
    def codec(self) -> Numbers:
        """y in the smallest type that overflows with probability below e^-128 (a wrapped report is still private)."""
        fits = (t for t in (np.int16, np.int32) if self._rate * (np.iinfo(t).max - self._steps) > 128.0)
        return Numbers(next(fits, np.int64), scratch=40)

    def _randomize(self, values: Array, src: Source) -> Array:
        wide = np.int32 if self.codec.dtype.itemsize <= 4 else np.int64  # 256 steps fit in either
        report = on_grid(src, values, 1.0 / self._steps, wide)
        report += discrete_laplace(src, self._rate, len(values), wide)
        return report.astype(self.codec.dtype, copy=False)

    def _infer(self, counts: Array, users: int) -> Estimate:
        unit = 1.0 / (users * self._steps)
        reach = unit * self.codec.reach
        return mean_in_range(unit * counts, users, 0.0, 1.0, self.variance(users), influence=reach)

    def variance(self, n: int) -> float:
        """Variance of the mean: [1/(2 sinh^2(eps0/(2N))) + 1/4]/(n N^2), where 1/4 bounds that of the rounding."""
        noise = 0.5 / math.sinh(0.5 * self._rate) ** 2
        return (noise + 0.25) / (n * self._steps**2)

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """The noise is the same everywhere; rounding adds 1/4 at most, and 1/6 on average, to its variance."""
        worst = math.sqrt(self.variance(n))
        typical = math.sqrt(self.variance(n) - (0.25 - 1.0 / 6.0) / (n * self._steps**2))
        return Accuracy(worst, typical, worst)

    def inputs(self) -> list[float]:
        """0, 1/8, ..., 1 (all of the grid would be 1025 rows of probabilities)."""
        count = min(8, self._steps)
        return [i / count for i in range(count + 1)]

    def probabilities(self) -> FloatArray:
        """Rows: the inputs above; columns: y <= 0, then y = 1, ..., N-1, then y >= N."""
        return np.stack([self._law(round(x * self._steps)) for x in self.inputs()])

    def _columns(self, data: Array) -> IntArray:
        """The report, with both tails merged."""
        return np.clip(np.asarray(data).astype(np.int64), 0, self._steps)
