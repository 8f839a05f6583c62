"""Metric privacy: how well a report hides *where* its input is depends on how far apart the candidates are.

The neighbours of these mechanisms are replace-one with inputs at distance at most d01 (in units of the metric: eps
is part of it), in a domain where no two points are further apart than dmax.  A guarantee for d01 holds for every
smaller distance too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...estimation.constraints import Ball, Box
from ...estimation.estimate import Estimate, Variance, modelled, range_sampling
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source
from ..base import Mechanism, plain
from ..known.variation_ratio import VariationRatio
from ..numeric.discrete_laplace import coins, discrete_laplace
from ..parameters import budget
from ..randomizer import Randomizer
from ..values import numbers
from .line_pairs import LinePairs
from .planar_noise import planar_noise, planar_variation


class _Pair(Mechanism):
    """What the three mechanisms share: the two distances, validated, and whom they are about."""

    d01: float = budget(low=1e-6)
    dmax: float = budget(low=lambda m: m.d01)

    def __post_init__(self) -> None:
        most = check.MAX_EPS0
        hint = "it is the distance of two neighbouring inputs, eps included"
        d01 = check.in_range("d01", self.d01, low=1e-6, high=most, hint=hint)
        hint = "the domain is bounded, and no two of its points are nearer than d01 or further apart than dmax"
        dmax = check.in_range("dmax", self.dmax, low=d01, high=most, hint=hint)
        object.__setattr__(self, "d01", d01)
        object.__setattr__(self, "dmax", dmax)

    @property
    def crowd_epsilon(self) -> float:
        """dmax (and what the grid adds): other users may hold a value that far away."""
        return self.variation_ratio().crowd_epsilon

    @property
    def neighbours(self) -> str:
        """Metric privacy: values further apart are protected less."""
        return f"replace-one at distance at most {plain(self.d01)}"

    @property
    def _terms(self) -> str:
        near, far = round_down(self.d01, 6), round_down(self.dmax, 6)
        return f"for inputs at distance at most {near} in a domain of diameter {far}"


@dataclass(frozen=True, kw_only=True)
class MetricGeneral(_Pair):
    """Any mechanism with metric privacy: R(x)_y <= e^d(x,x') R(x')_y (Chatzikokolakis et al., PETS 2013).

    Parameters
    ----------
    d01 : float in [1e-6, 500]
        Largest distance of two neighbouring inputs; the guarantee is for replacing one input by another that near.
    dmax : float in [d01, 500]
        Largest distance of any two inputs.

    Notes
    -----
    Parameters (paper, Table 3): p = e^d01, beta = tanh(d01/2), q = e^dmax.  All three rise with d01 and dmax, and the
    bound with them.

    Examples
    --------
    >>> MetricGeneral(d01=1.0, dmax=2.0).variation_ratio().beta.__round__(4)
    0.4621
    """

    name: ClassVar[str] = "metric-general"
    lower_scope: ClassVar[str] = VariationRatio.lower_scope

    d01: float = budget(low=1e-6)
    dmax: float = budget(low=lambda m: m.d01)

    @property
    def local_epsilon(self) -> float:
        """d01."""
        return self.d01

    @property
    def description(self) -> str:
        """In words."""
        return f"any metric-private randomizer, {self._terms}"

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = tanh(d01/2), q = e^dmax."""
        return VariationRatio(p=math.exp(self.d01), beta=math.tanh(0.5 * self.d01), q=math.exp(self.dmax))

    def constant_datasets(self) -> PairSet:
        """Attained among mechanisms of which only (p, beta, q) is known."""
        return self.variation_ratio().constant_datasets()


@dataclass(frozen=True, kw_only=True)
class MetricLaplace(_Pair, Randomizer):
    """Laplace noise of scale 1 on a number in [0, dmax], on the public grid of step h = 2^-31.

    x is rounded to a neighbouring grid point at random, without bias; the report is y = x + h k with
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

    The blanket bound is the maximum over all such pairs, at every distance and position (metric_pairs.py proves
    which are needed); it costs about 0.5% of eps at most, and up to 3% where shuffling hides next to nothing.

    Examples
    --------
    >>> MetricLaplace(d01=1.0, dmax=2.0).variation_ratio().beta.__round__(4)
    0.3935
    >>> m = MetricLaplace(d01=1.0, dmax=4.0)
    >>> est = m.estimate(m.privatise(np.full(10_000, 2.5), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 2.5) < 4 * est.stderr[0])
    True
    """

    name: ClassVar[str] = "metric-laplace"
    #: The grid has 2^BITS steps per unit; the noise sampler goes to 2^32.
    BITS: ClassVar[int] = 31
    _bytes_per_user = 160

    d01: float = budget(low=1e-6)
    dmax: float = budget(low=lambda m: m.d01)

    @property
    def _step(self) -> float:
        return 2.0**-self.BITS

    @property
    def _apart(self) -> int:
        """m: steps between neighbours, even."""
        return 2 * math.ceil(self.d01 / (2.0 * self._step))

    @property
    def _length(self) -> int:
        """M: steps of the domain."""
        return max(math.ceil(self.dmax / self._step), self._apart)

    @property
    def local_epsilon(self) -> float:
        """d01, rounded up to the grid."""
        return self._apart * self._step

    @property
    def description(self) -> str:
        """In words."""
        return f"Laplace noise of scale 1, {self._terms}"

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = 1 - e^(-d01/2), q = e^dmax, distances rounded up to the grid."""
        near, far = self.local_epsilon, self._length * self._step
        return VariationRatio(p=math.exp(near), beta=-math.expm1(-0.5 * near), q=math.exp(far))

    @property
    def _pairs(self) -> LinePairs:
        return LinePairs(self._step, self._apart, self._length)

    @cached_property
    def _blanket(self) -> PairSet:
        return self._pairs.blanket()

    def blanket(self) -> PairSet:
        """All pairs at most d01 apart, anywhere in the domain."""
        return self._blanket

    def constant_datasets(self) -> PairSet:
        """x0 = 0, x1 = d01, and the others hold dmax or one of three other values."""
        return self._pairs.constant_datasets()

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return numbers(values, 0.0, self.dmax)

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        noise = discrete_laplace(src, self._step, len(values))
        return self._step * (_on_grid(values, self._step, src) + noise)

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return ()

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.array([data.sum()])

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """The spread of the users' numbers is not seen: for a population the largest possible one is added."""
        noise, sampling = Variance(self.variance(users)), range_sampling(users, 0.0, self.dmax)
        return modelled(counts / users, users, Box(0.0, self.dmax), noise, sampling)

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

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The quarter that a report lies in."""
        return np.clip(np.floor(4.0 * data).astype(np.int64) + 17, 0, math.ceil(4.0 * self.dmax) + 33)


def _on_grid(values: NDArray[Any], step: float, src: Source) -> NDArray[np.int64]:
    """Multiples of ``step``, rounded up or down at random without bias; floor(x/step + U) for a uniform U."""
    scaled = values / step  # exact: a power of two
    whole = np.floor(scaled)
    return whole.astype(np.int64) + coins(src, scaled - whole)


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace(_Pair, Randomizer):
    """Planar Laplace noise on a place in the disc of diameter dmax around 0 (Andres et al., CCS 2013), on a grid.

    x is rounded to the square grid of step h = 2^-31 at random, without bias; the report is y = x + h z with
    Pr[z] = e^(-h|z|)/Z on whole z = (z1, z2), |z| the Euclidean length.

    Parameters
    ----------
    d01 : float in [1e-6, 500]
        The guarantee is for replacing one place by another at distance at most d01.
    dmax : float in [d01, 500]
        Diameter of the domain; scale coordinates so that density e^-|y|/(2 pi) is right (multiply by eps).

    Notes
    -----
    Parameters (paper, Table 3): p = e^d01, q = e^dmax, beta of :func:`~.planar.planar_variation`; all rise with d01.
    Allowances for what is run, all of them added:

    - rounding moves two inputs apart by at most sqrt(2) h, and the sampler's floats (z is proposed by two exact
      discrete Laplace variables and kept with probability e^(-h|z| + rate |z|_1)) are right to a relative 2^-43:
      SLACK = 2^-30 is added to both distances;
    - the grid law against the cells of the continuous one: the centre of a cell stands for its mean, which errs
      by h^2/12 times the largest curvature e^-r max(1, 1/r)/(2 pi) there; summed, with the cells near 0 by their
      slope, less than 0.3 h^2, twice that with the normalisation: 2^-42 is added to beta.

    Lower bound: the victim is x0 or x1 on a diameter, and reports are seen only by the side of the line between them.

    Examples
    --------
    >>> PlanarLaplace(d01=2.0, dmax=4.0).variation_ratio().beta.__round__(6)
    0.522974
    >>> m = PlanarLaplace(d01=1.0, dmax=10.0)
    >>> est = m.estimate(m.privatise(np.full((10_000, 2), 1.5), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - 1.5) < 4 * est.stderr))
    True
    """

    name: ClassVar[str] = "planar-laplace"
    lower_scope: ClassVar[str] = "planar Laplace noise (its continuous law, computed numerically)"
    STEP: ClassVar[float] = 2.0**-31
    #: Added to both distances, and to beta: rounding of inputs, floats of the sampler, grid for plane.
    SLACK: ClassVar[float] = 2.0**-30
    BETA_SLACK: ClassVar[float] = 2.0**-42
    _bytes_per_user = 400

    d01: float = budget(low=1e-6)
    dmax: float = budget(low=lambda m: m.d01)

    @property
    def local_epsilon(self) -> float:
        """d01 with the allowance for the grid."""
        return self.d01 + self.SLACK

    @property
    def description(self) -> str:
        """In words."""
        return f"planar Laplace noise of scale 1, {self._terms}"

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = (2/pi)[int_0^z K0 - z K0(z)] with z = d01/2, q = e^dmax, each with its allowance."""
        near, far = self.local_epsilon, self.dmax + self.SLACK
        beta = min(planar_variation(near) * (1.0 + 1e-11) + self.BETA_SLACK, math.tanh(0.5 * near))
        return VariationRatio(p=math.exp(near), beta=beta, q=math.exp(far))

    def constant_datasets(self) -> PairSet:
        """The others hold the middle of the pair, or the far end of the diameter that starts at x0.

        Half-planes of the *continuous* law: a numerical value with a margin, not a proof about the law on the grid.
        """
        right = 0.5 * (1.0 + planar_variation(self.d01) * (1.0 - 1e-11))
        across = 0.5 * (1.0 - planar_variation(2.0 * self.dmax - self.d01)) + 1e-11  # larger t is a smaller bound
        sides = [ShuffledPair(P0=[right, 1.0 - right], P1=[1.0 - right, right], t=[w, 1.0 - w]) for w in (0.5, across)]
        return PairSet([direction for r in sides for direction in both_directions(r)])

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        half = 0.5 * self.dmax
        places = numbers(values, -half, half, columns=2)
        if np.any(np.hypot(places[:, 0], places[:, 1]) > half * (1.0 + 1e-13)):
            raise ParameterError(f"values must lie in the disc of radius {half:g} around 0, got others; centre them.")
        return places

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        return self.STEP * (_on_grid(values, self.STEP, src) + planar_noise(src, self.STEP, len(values)))

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return (2,)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(data.sum(axis=0))

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """The mean of places lies in the disc too; for a population the largest possible spread is added."""
        half = 0.5 * self.dmax
        noise, sampling = Variance(self.variance(users)), range_sampling(users, -half, half)
        return modelled(counts / users, users, Ball(half), noise, sampling)

    def variance(self, n: int) -> float:
        """Variance of either coordinate of the mean: 3/n, to within h^2/n."""
        return 3.0 / n
