"""Planar Laplace noise on places, for metric privacy (geo-indistinguishability)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...estimation.constraints import Ball
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance, range_sampling
from ...numerics.family import PairSet
from ...numerics.pair import ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, words
from ..codecs import Numbers
from ..known.variation_ratio import VariationRatio
from ..numeric.discrete_laplace import coins, discrete_laplace, on_grid
from ..randomizer import Randomizer
from ..values import numbers
from .base import MetricPair
from .planar_datasets import Places, datasets
from .planar_types import NearPlaces


@dataclass(frozen=True, kw_only=True)
class PlanarLaplace(MetricPair, Randomizer):
    """Planar Laplace noise on a place in the disk of diameter dmax around 0 (Andres et al., CCS 2013), on a grid.

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
    Parameters (paper, Table 3): p = e^d01, q = e^dmax, beta of :func:`planar_variation`; all rise with
    d01.
    Allowances for the implementation, all of them added:

    - rounding moves two inputs apart by at most sqrt(2) h, and the sampler's floats (z is proposed by two exact
      discrete Laplace variables and kept with probability e^(-h|z| + rate |z|_1)) are right to a relative 2^-43:
      SLACK = 2^-30 is added to both distances;
    - the grid law against the cells of the continuous one: the center of a cell stands for its mean, which errs
      by h^2/12 times the largest curvature e^-r max(1, 1/r)/(2 pi) there; summed, with the cells near 0 by their
      slope, less than 0.3 h^2, twice that with the normalization: 2^-42 is added to beta.

    Upper bound: for dmax up to 6 laws that cover all near pairs and all places of the others (planar_types.py), with
    eps shifted by four times SLACK and dmax raised by as much; beyond, the blanket.

    Lower bound: the others are at a place on the rim of the domain, opposite to x0 and x1 (planar_datasets.py); or the
    adversary sees only on which side of the line between x0 and x1 a report lies.

    Examples
    --------
    >>> PlanarLaplace(d01=2.0, dmax=4.0).variation_ratio().beta.__round__(6)
    0.522974
    >>> m = PlanarLaplace(d01=1.0, dmax=10.0)
    >>> est = m.estimate(m.privatize(np.full((10_000, 2), 1.5), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - 1.5) < 4 * est.stderr))
    True
    """

    name = "planar-laplace"
    _in_words = "planar Laplace noise of scale 1, {_distances}"
    _takes = "places"
    serves = ("places",)
    _lower_scope = "planar Laplace noise (its continuous law, computed numerically)"
    STEP = 2.0**-31
    #: Added to both distances, and to beta: rounding of inputs, floats of the sampler, grid instead of plane.
    SLACK = 2.0**-30
    BETA_SLACK = 2.0**-42

    @property
    def local_epsilon(self) -> float:
        """d01 with the allowance for the grid."""
        return self.d01 + self.SLACK

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = (2/pi)[int_0^z K0 - z K0(z)] with z = d01/2, q = e^dmax, each with its allowance."""
        near, far = self.local_epsilon, self.dmax + self.SLACK
        beta = min(planar_variation(near) * (1.0 + 1e-11) + self.BETA_SLACK, math.tanh(0.5 * near))
        return VariationRatio(p=math.exp(near), beta=beta, q=math.exp(far))

    def _swap(self) -> NearPlaces:
        """All pairs at most d01 apart among all places, through the laws of planar_types.py."""
        return NearPlaces(self.local_epsilon, self.dmax + 4.0 * self.SLACK, 4.0 * self.SLACK)

    def _swap_members(self, most: int) -> None:
        """None: the laws depend on the number of users, and cover P0/t - E P1/t only."""
        return

    def _constant_datasets(self) -> PairSet:
        """The others hold the middle of the pair, the far end of the diameter that starts at x0, or a place on the rim.

        Values of the *continuous* law with a margin, not a proof about the law on the grid; half-planes for the first
        two, planar_datasets.py for places on the rim.
        """
        right = 0.5 * (1.0 + planar_variation(self.d01) * (1.0 - 1e-11))
        across = 0.5 * (1.0 - planar_variation(2.0 * self.dmax - self.d01)) + 1e-11  # larger t is a smaller bound
        sides = [ShuffledPair(P0=[right, 1.0 - right], P1=[1.0 - right, right], t=[w, 1.0 - w]) for w in (0.5, across)]
        for apart in {self.d01, min(self.d01, 0.8 * self.dmax)}:  # others are further from nearer pairs
            sides += datasets(apart, self.dmax)
        return Places([direction for r in sides for direction in both_directions(r)])

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Numbers:
        """Two coordinates, multiples of the step."""
        return Numbers(np.float64, (2,), scratch=400)

    def _check(self, values: Array) -> Array:
        half = 0.5 * self.dmax
        places = numbers(values, -half, half, columns=2)
        if np.any(np.hypot(places[:, 0], places[:, 1]) > half * (1.0 + 1e-13)):
            raise ParameterError(
                f"values must lie in the disk of radius {half:g} around 0, got places outside; center and rescale them."
            )
        return places

    def _randomize(self, values: Array, src: Source) -> Array:
        return self.STEP * (on_grid(src, values, self.STEP) + planar_noise(src, self.STEP, len(values)))

    def _infer(self, counts: Array, users: int) -> Estimate:
        """The mean of places lies in the disk too; for a population the largest possible spread is added."""
        half = 0.5 * self.dmax
        noise, sampling = Variance(self.variance(users)), range_sampling(users, -half, half)
        return modeled(counts / users, users, Ball(half), noise, sampling, influence=self.codec.reach / users)

    def variance(self, n: int) -> float:
        """Variance of either coordinate of the mean: 3/n, to within h^2/n."""
        return 3.0 / n


def planar_variation(distance: float) -> float:
    """Total variation of two planar Laplace laws: (2/pi) [int_0^z K0 - z K0(z)], z = distance/2 (paper, section 5).

    As K0(x) is the integral of e^(-x cosh u) over u >= 0 (DLMF 10.32.9), the bracket is that of
    (1 - e^-y (1 + y))/cosh u, y = z cosh u: analytic for |Im u| < pi/2, and below 2 e^-u, so the trapezoid rule of
    step 1/5 errs by about e^(-5 pi^2), and what is beyond u = 40 is below 1e-17.  Relative error below 1e-11.
    """
    z = 0.5 * distance
    if z < 1e-3:
        return 2.0 / math.pi * (z + z**3 / 6.0 * (math.log(0.5 * z) + np.euler_gamma - 5.0 / 6.0))
    if z > 700.0:
        return 1.0
    u = 0.2 * np.arange(201)
    y = z * np.cosh(u)
    with np.errstate(under="ignore"):
        terms = (-np.expm1(-y) - y * np.exp(-y)) / np.cosh(u)
    return float(2.0 / math.pi * 0.2 * (terms.sum() - 0.5 * terms[0]))


def planar_noise(src: Source, step: float, size: int) -> NDArray[np.int64]:
    """z with probability proportional to e^(-step |z|): two discrete Laplace variables, kept in pi/4 of the cases.

    Their rate is just below step/sqrt(2), and |z|_1 <= sqrt(2) |z|, so what is kept has probability at most 1.
    """
    rate = math.nextafter(step / math.sqrt(2.0), 0.0)
    out = np.empty((size, 2), dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        z = discrete_laplace(src, rate, 2 * pending.size).reshape(-1, 2)
        x, y = np.abs(z).astype(np.float64).T
        keep = np.exp(np.minimum(rate * (x + y) - step * np.hypot(x, y), 0.0))
        # a small probability is that of some fair coins, then a large one: right in relative terms
        halves = np.clip(-np.frexp(keep)[1], 0, 63)
        kept = coins(src, np.ldexp(keep, halves))
        kept &= words(src, pending.size, 64) & ((np.uint64(1) << halves.astype(np.uint64)) - np.uint64(1)) == 0
        out[pending[kept]] = z[kept]
        pending = pending[~kept]
    return out
