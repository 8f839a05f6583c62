"""Means of unit vectors: a direction from the cap around the input, or from outside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from ...errors import ParameterError
from ...estimation.constraints import Ball
from ...estimation.estimate import FEW, Estimate, modeled
from ...estimation.variance import Variance
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...numerics.search import bisect
from ...randomness.sampling import Array, Source, bernoulli
from ..accuracy import Accuracy
from ..codecs import Numbers
from ..local_budget import LocalBudget
from ..parameters import Free, real, whole
from ..two_level import Shares, clipped, law, pair, vertices
from ..values import numbers
from .caps import cuts
from .sphere import log_held, normals, overlap, quantile, uniform

#: Reports are rounded to multiples of 1/GRID, which fits 16 bits.
GRID = 32767
#: How far the norm of an input may be from 1; it is then divided out.
_NORM_TOLERANCE = 1e-6
#: Smaller caps are beyond floating point in two dimensions.
_LEAST_CAP = 1e-150
#: Datasets of the lower bound: by what angles a third vector is turned, and what all angles are short of a turn by.
_TURNS, _ROOM = (0.06, 0.2, 0.45), 3e-11
#: Lower caps, in units of the root mean square of a coordinate, gain nothing from a third vector (tested).
_LEAST_HEIGHT = 0.05


@dataclass(frozen=True, kw_only=True)
class PrivUnit(LocalBudget):
    """Unit vectors of R^dim (Bhowmick, Duchi, Freudiger, Kapoor, Rogers, 2018).

    Let the cap of x be {v : <v, x> >= gamma}, a share c of the sphere, and e = e^eps0.  The report V is uniform on
    the cap with probability P = c e/(c e + 1-c), else uniform on its complement: its density over the uniform law
    is e/Z on the cap and 1/Z outside, Z = c e + 1-c.  V/m is unbiased for x, where
    m = (1-gamma^2)^((dim-1)/2) / ((dim-1) B(1/2, (dim-1)/2)) (e-1)/Z.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    dim : int in [2, 10^6]
        Dimension of the space; inputs are arrays (users, dim) of norm 1 (to 1e-6).
    cap : float in [1e-150, 1), optional
        The share c of the sphere; by default the one with least variance (largest m).

    Notes
    -----
    p = q = e, beta = min(c, 1-c) (e-1)/Z (the paper's Table 2 prints c for min(c, 1-c)).  The blanket is 1/Z
    everywhere, as every point is outside some cap.  Two caps that share A of the sphere have shares c-A, c-A, A, 1-2c+A
    with (R0, R1)/omega = (e, 1), (1, e), (e, e), (1, 1); less A is a mean-preserving spread of X = u - E v for
    E >= 1 (proved in cube.py), so x and -x, A = max(0, 2c-1), are the worst pair at every eps and n.
    Swap bound: the laws of three caps are those of a polytope of shares around all that three caps can have in common
    (caps.py), if c < 1/2; else of all shares that their areas permit.
    Lower bound: the others hold x0, or, if c < 1/2, a third vector r in the plane of x0 and x1, at angles that add up
    to a turn.  Then no point is in all three caps, and sphere.py has the shares A(angle) that two of them hold, with
    slopes -F(angle/2)/(2 pi).  Opposite to the middle of x0 and x1, which are b apart, r leaves a spread of X that is
    proportional to 2 (c - A(b)) - 2 (1 - 1/e) A(pi - b/2), and largest where F(b/2) = (1 - 1/e)/2 F(pi/2 - b/4); for
    finite n a larger eps is found if r is turned.  The angles are 1e-10 short of a turn: A rises strictly as an angle
    falls, so that areas within the error of the quadrature are those of three vectors nearby, not quite in a plane,
    whose caps have no point in common either.

    The coin "cap or not" is exact.  The direction is made of floating-point Gaussians; it is rounded to a public
    grid of step 1/32767 before release, so that its low bits, in which the arithmetic could reveal x, are never
    seen.  This is a mitigation, not a proof: the stated law is that of real numbers.

    Examples
    --------
    >>> PrivUnit(eps0=1.0, dim=100).cap.__round__(3)
    0.346
    >>> m = PrivUnit(eps0=4.0, dim=3)
    >>> est = m.estimate(m.privatize(np.array([[0.6, 0.0, 0.8]] * 4000), rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - [0.6, 0.0, 0.8]) < 4 * est.stderr))
    True
    """

    name = "privunit"
    _in_words = "PrivUnit on unit vectors in {dim:,} dimensions with eps0 = {eps0} and cap {cap:.4g}"
    _takes = "unit vectors"
    serves = ("unit vectors",)

    dim: int = whole(low=2, high=10**6, hint="dim counts the coordinates of a vector")
    cap: float = real(
        low=_LEAST_CAP,
        high=1.0,
        high_open=True,
        hint="cap is the share of the sphere around the input, leave it out for the best one",
        choose=lambda m: _best_cap(m.eps0, m.dim),
        free=Free(4.0, limits=lambda m: (2.0**-70, 0.5)),  # an eps0 above 50 would be needed to use a smaller cap
    )

    @property
    def _densities(self) -> tuple[float, float]:
        """e/Z on the cap and 1/Z outside."""
        t = math.exp(-self.eps0)
        high = 1.0 / (self.cap + (1.0 - self.cap) * t)
        return high, t * high

    @property
    def gamma(self) -> float:
        """Smallest inner product with x inside its cap."""
        half = 0.5 * (self.dim - 1)
        return 1.0 - 2.0 * float(special.betaincinv(half, half, self.cap))

    @property
    def beta(self) -> float:
        """min(c, 1-c) (e-1)/Z."""
        return min(self.cap, 1.0 - self.cap) * -math.expm1(-self.eps0) * self._densities[0]

    def _pair(self, rows: list[tuple[float, int, int, int]]) -> ShuffledPair:
        """Regions by area and by whether x0, x1 and the others favor them (1) or not (0)."""
        return pair(rows, *reversed(self._densities))

    def _blanket(self) -> list[ShuffledPair]:
        """x0 = -x1: the caps (or their complements) are disjoint; the others favor nothing for certain."""
        return [self._pair([(area, own, other, 0) for area, own, other in self._opposite()])]

    def _types(self) -> list[list[ShuffledPair]]:
        """Three caps of this area, in a polytope around all ways in which they may meet."""
        low, high = reversed(self._densities)
        return [[law(shares, low, high) for shares in _met(self.eps0, self.dim, self.cap, self.gamma)]]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The others hold x0 = -x1, or a third vector that is about as far from both as it may be."""
        pairs = both_directions(self._pair([(area, own, other, own) for area, own, other in self._opposite()]))
        if self.gamma * math.sqrt(self.dim) > _LEAST_HEIGHT:
            pairs.append(self._in_a_plane(0.0))  # its own mirror image
            pairs += [direction for turn in _TURNS for direction in both_directions(self._in_a_plane(turn))]
        return pairs

    def _in_a_plane(self, turn: float) -> ShuffledPair:
        """x0, x1 and what the others hold, opposite to the middle of the two or turned by an angle from there."""
        gamma, dim = self.gamma, self.dim
        share = math.log(0.5 * -math.expm1(-self.eps0))

        def close(between: float) -> bool:
            """Whether opening the angle between x0 and x1 raises the spread (see Notes)."""
            third = log_held(0.5 * math.pi - 0.25 * between, gamma, dim)
            return third == -math.inf or log_held(0.5 * between, gamma, dim) > share + third

        between = bisect(close, safe=2.0 / 3.0 * math.pi, unsafe=math.pi, close=lambda x: 1e-6)
        # in turns, so that they add up to one exactly: arcs of a circle that touch have exactly nothing in common
        first, bend, c = Fraction(between / math.tau), Fraction(turn / math.tau), Fraction(self.cap)
        apart = first, (1 - first) / 2 - bend, (1 - first) / 2 + bend
        if dim == 2:
            a01, a0, a1 = (max(c - part, Fraction(0)) for part in apart)
        else:
            a01, a0, a1 = (Fraction(overlap(math.tau * float(part) - _ROOM, gamma, dim)) for part in apart)
        shares = {(1, 1, 0): a01, (1, 0, 1): a0, (0, 1, 1): a1, (1, 0, 0): c - a01 - a0, (0, 1, 0): c - a01 - a1}
        shares |= {(0, 0, 1): c - a0 - a1, (0, 0, 0): 1 - 3 * c + a01 + a0 + a1}
        return law(shares, *reversed(self._densities))

    def _opposite(self) -> list[tuple[float, int, int]]:
        """The sphere by area and by whether x0 and x1 = -x0 favor it."""
        side, both = min(self.cap, 1.0 - self.cap), int(self.cap > 0.5)
        return [(side, 1, 0), (side, 0, 1), (1.0 - 2.0 * side, both, both)]

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Numbers:
        """The direction in multiples of 1/GRID."""
        return Numbers(np.int16, (self.dim,), scratch=32 * self.dim + 96)

    def _check(self, values: Array) -> Array:
        vectors = numbers(values, -1.0 - _NORM_TOLERANCE, 1.0 + _NORM_TOLERANCE, columns=self.dim)
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        worst = float(np.max(np.abs(norms - 1.0)))
        if worst > _NORM_TOLERANCE:
            raise ParameterError(
                f"values must be vectors of norm 1 to within {_NORM_TOLERANCE:g}, got one that is off by {worst:.3g}; "
                "divide each by its norm."
            )
        return vectors

    def _randomize(self, values: Array, src: Source) -> Array:
        users = len(values)
        units = np.ascontiguousarray(values.T)  # one row per coordinate: contiguous work
        units = units / _lengths(units)
        outside = bernoulli(src, (1.0 - self.cap) * self._densities[1], users)  # the rare event, to full accuracy
        # the inner product from either end: its law on the sphere is that of 2 Beta(half, half) - 1
        tail = quantile(0.5 * (self.dim - 1), np.where(outside, 1.0 - self.cap, self.cap) * uniform(src, users))
        along = np.where(outside, 2.0 * tail - 1.0, 1.0 - 2.0 * tail)
        across = 2.0 * np.sqrt(tail * (1.0 - tail))
        normal = normals(src, users * self.dim).reshape(self.dim, users)
        normal -= (normal * units).sum(axis=0) * units
        normal *= across / _lengths(normal)
        units *= along
        normal += units
        np.clip(normal, -1.0, 1.0, out=normal)
        normal *= GRID
        out = np.empty((users, self.dim), dtype=self.codec.dtype)
        for column, row in zip(out.T, normal, strict=True):
            column[:] = np.rint(row)
        return out

    def _tally(self, data: Array) -> Array:
        """Sums of the coordinates and of their squares, for the standard error."""
        wide = data.astype(np.float64)  # sums of squares of a chunk are whole numbers below 2^53
        return np.stack([wide.sum(axis=0), (wide * wide).sum(axis=0)]).astype(np.int64)

    def _infer(self, counts: Array, users: int) -> Estimate:
        """The sample mean, and its error by the law of a report.

        A coordinate of V/m has the mean x_j and, with the users' mean square s_j of x_j, the mean square
        [across (1 - s_j) + along s_j]/m^2 over all users.  The tally shows it, and so s_j; what is left without s_j is
        noise, and the users' own spread s_j - f^2 is what drawing them adds.
        """
        mean, square = counts / users
        scale, (along, across) = 1.0 / (GRID * self._gain), self._squares
        value, gap = scale * mean, max(along - across, 1e-300)  # beyond 0 only by rounding
        spread = np.clip((square / GRID**2 - across) / gap, np.clip(value, -1.0, 1.0) ** 2, 1.0)
        noise = np.maximum((across + gap * spread) / self._gain**2 - spread, 0.0)
        error, sampling = Variance(noise / users), Variance(spread / users, 0.0, -1.0 / users)
        influence = scale * self.codec.reach / users
        grain = influence if users < FEW else 0.0  # reports outside of the cap are rare, and weigh much
        return modeled(value, users, Ball(1.0), error, sampling, influence=influence, grain=grain)

    @property
    def _gain(self) -> float:
        """m = E <V, x>."""
        return math.exp(_log_gain(math.log(self.cap), self.eps0, self.dim))

    def variance(self, n: int) -> float:
        """Expected squared distance of the estimate from the mean, over all coordinates: (1/m^2 - 1)/n."""
        return (self._gain**-2 - 1.0) / n

    @property
    def _squares(self) -> tuple[float, float]:
        """E <V, x>^2, from that of a uniform direction on the cap and on all of the sphere; and across x.

        <V, x> = 1 - 2t with t ~ Beta(h, h), h = (dim-1)/2, and E[t^k; t <= c] is a ratio of beta functions.
        """
        half = 0.5 * (self.dim - 1)
        tail = float(special.betaincinv(half, half, self.cap))
        first = 0.5 * float(special.betainc(half + 1.0, half, tail))
        second = (half + 1.0) / (2.0 * (2.0 * half + 1.0)) * float(special.betainc(half + 2.0, half, tail))
        high, low = self._densities
        along = low / self.dim + (high - low) * (self.cap - 4.0 * first + 4.0 * second)
        return along, (1.0 - along) / (self.dim - 1)

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """Per coordinate; the spread of the reports along the vector differs from that across it.

        Typically the vectors point in random directions among the coordinates that are asked for (of VectorMean, all
        but the last).  At worst they all lie where the spread of the others is largest.
        """
        asked = self.dim if items is None else items
        square = self._gain**-2 / n
        along, across = (x * square for x in self._squares)
        one = along - 1.0 / n
        inside = math.sqrt((one + (asked - 1) * across) / asked)
        return Accuracy(max(inside, math.sqrt(across)), inside, math.sqrt(max(one, across)))


@lru_cache(maxsize=64)
def _met(eps0: float, dim: int, cap: float, gamma: float) -> list[Shares]:
    """Points around all shares of three caps: the swap bound is convex in them."""
    return clipped(vertices(Fraction(cap)), cuts(eps0, dim, cap, gamma))


def _lengths(vectors: FloatArray) -> FloatArray:
    """The norm of every column."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=0)))


def _log_gain(log_cap: float, eps0: float, dim: int) -> float:
    """log m for a cap of this area."""
    half, c, t = 0.5 * (dim - 1), math.exp(log_cap), math.exp(-eps0)
    tail = float(special.betaincinv(half, half, c))
    height = half * math.log(4.0 * tail * (1.0 - tail)) - math.log(dim - 1) - float(special.betaln(0.5, half))
    return height + math.log(-math.expm1(-eps0) / (c + (1.0 - c) * t))


def _best_cap(eps0: float, dim: int) -> float:
    """The c with the largest m: one factor of m is symmetric around c = 1/2, the other falls, so c is below 1/2.

    Bisection on the sign of d(log m)/dc (importing an optimizer would take longer than everything else).
    """
    half, t = 0.5 * (dim - 1), math.exp(-eps0)
    constant = math.log(half) + float(special.betaln(half, half))

    def rising(log_cap: float) -> bool:
        c = math.exp(log_cap)
        tail = float(special.betaincinv(half, half, c))
        gain = constant + math.log1p(-2.0 * tail) - half * math.log(tail * (1.0 - tail))
        return gain > math.log(-math.expm1(-eps0) / (c + (1.0 - c) * t)) - 1e-13  # if several are equal, the larger cap

    least = max(-eps0 - 3.0, math.log(_LEAST_CAP))
    best = bisect(rising, safe=least, unsafe=math.log(0.5), close=lambda x: 1e-15 * (1.0 - x))
    return max(math.exp(best), _LEAST_CAP)
