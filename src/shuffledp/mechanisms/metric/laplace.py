"""Laplace noise of scale 1 on a line, for metric privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...estimation.estimate import Estimate, mean_in_range
from ...numerics.family import PairSet
from ...numerics.swap.family import SwapSet
from ...randomness.sampling import Array, Source
from ..codecs import Numbers
from ..known.variation_ratio import VariationRatio
from ..numeric.discrete_laplace import discrete_laplace, on_grid
from ..randomizer import Randomizer
from ..values import numbers
from .base import MetricPair
from .line_pairs import LinePairs, swap_set


@dataclass(frozen=True, kw_only=True)
class MetricLaplace(MetricPair, Randomizer):
    """Laplace noise of scale 1 on a number in [0, dmax], on the public grid of step h = 2^-31.

    x is rounded to a neighboring grid point at random, without bias; the report is y = x + h k with
    Pr[k] = tanh(h/2) e^(-h|k|), sampled exactly on integers (Canonne, Kamath, Steinke, NeurIPS 2020).

    Parameters
    ----------
    d01 : float in [1e-6, 500]
        The guarantee is for replacing one input by another at distance at most d01.
    dmax : float in [d01, 500]
        Length of the domain [0, dmax]; scale values so that noise of scale 1 is right (multiply by eps).

    Notes
    -----
    Inputs at distance at most d01 round, with the same uniform variable, to grid points at most m = ceil(d01/h)
    steps apart; m is taken even and the domain as M = ceil(dmax/h) steps.  Parameters (paper, Table 3):
    p = e^(mh), beta = 1 - e^(-mh/2), q = e^(Mh), exact on the grid.

    Both upper bounds are the maximum over all such pairs, at every distance and position: line_pairs.py proves which
    are needed over the blanket, and which laws cover all pairs and all that the others hold, for the swap
    bound.

    Examples
    --------
    >>> MetricLaplace(d01=1.0, dmax=2.0).variation_ratio().beta.__round__(4)
    0.3935
    >>> m = MetricLaplace(d01=1.0, dmax=4.0)
    >>> est = m.estimate(m.privatize(np.full(10_000, 2.5), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 2.5) < 4 * est.stderr[0])
    True
    """

    name = "metric-laplace"
    _in_words = "Laplace noise of scale 1, {_distances}"
    _lists_every_type = False
    serves = ("numbers with a distance",)
    #: The grid has 2^BITS steps per unit; the noise sampler goes to 2^32.
    BITS = 31

    @property
    def _step(self) -> float:
        return 2.0**-self.BITS

    @property
    def _apart(self) -> int:
        """m: steps between neighbors, even."""
        return 2 * math.ceil(self.d01 / (2.0 * self._step))

    @property
    def _length(self) -> int:
        """M: steps of the domain."""
        return max(math.ceil(self.dmax / self._step), self._apart)

    @property
    def local_epsilon(self) -> float:
        """d01, rounded up to the grid."""
        return self._apart * self._step

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = 1 - e^(-d01/2), q = e^dmax, distances rounded up to the grid."""
        near, far = self.local_epsilon, self._length * self._step
        return VariationRatio(p=math.exp(near), beta=-math.expm1(-0.5 * near), q=math.exp(far))

    @property
    def _pairs(self) -> LinePairs:
        return LinePairs(self._step, self._apart, self._length)

    def _blanket(self) -> PairSet:
        """All pairs at most d01 apart, anywhere in the domain."""
        return self._pairs.blanket()

    def _swap(self) -> SwapSet:
        """All pairs at most d01 apart among all types, through the laws of line_pairs.py."""
        return swap_set(self._pairs)

    def _swap_members(self, most: int) -> None:
        """None: the laws cover X = P0/t - E P1/t only, which is not enough for tuples."""
        return

    def _constant_datasets(self) -> PairSet:
        """x0 = 0, x1 = d01, and the others hold dmax or one of three other values."""
        return self._pairs.constant_datasets()

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Numbers:
        """A multiple of the step."""
        return Numbers(np.float64)

    def _check(self, values: Array) -> Array:
        return numbers(values, 0.0, self.dmax)

    def _randomize(self, values: Array, src: Source) -> Array:
        noise = discrete_laplace(src, self._step, len(values))
        return np.asarray(self._step * (on_grid(src, values, self._step) + noise))

    def _infer(self, counts: Array, users: int) -> Estimate:
        reach = self.codec.reach / users
        return mean_in_range(counts / users, users, 0.0, self.dmax, self.variance(users), influence=reach)

    def variance(self, n: int) -> float:
        """Variance of the mean: 2/n, to within h^2/n."""
        return 2.0 / n

    def inputs(self) -> list[float]:
        """0, d01/2 and d01 (the grid is too fine to list)."""
        return [0.0, 0.5 * self.d01, self.d01]

    def probabilities(self) -> NDArray[np.float64]:
        """Rows: the inputs above, columns: reports in [k/4, (k+1)/4), with tails from -4 and dmax + 4 on."""
        k = np.arange(-16, math.ceil(4.0 * self.dmax) + 17)
        rows = []
        for x in self.inputs():
            z = np.floor(k / 4.0 / self._step) - 1.0 - round(x / self._step)  # Pr[noise <= z]
            tail = np.exp(-self._step * np.where(z < 0, -z, z + 1.0)) / (1.0 + math.exp(-self._step))
            below = np.diff(np.where(z < 0, tail, 1.0 - tail), prepend=0.0, append=1.0)
            above = -np.diff(np.where(z < 0, 1.0 - tail, tail), prepend=1.0, append=0.0)
            rows.append(np.where(np.append(False, z >= 0), above, below))  # differences of the smaller tail
        return np.stack(rows)

    def _columns(self, data: Array) -> NDArray[np.int64]:
        """The quarter that a report lies in."""
        return np.clip(np.floor(4.0 * data).astype(np.int64) + 17, 0, math.ceil(4.0 * self.dmax) + 33)
