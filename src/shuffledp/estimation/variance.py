"""Variances as functions of the truth, which intervals are made of: of privacy noise, and of drawing the users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._support.arrays import FloatArray
from .constraints import Limit


@dataclass(frozen=True, eq=False)
class Variance:
    """A variance as a function of the true value f: base + slope f + bend f^2, with bend <= 0, entry by entry.

    >>> float(Variance(0.5, 1.0, -1.0).at(0.5))
    0.75
    """

    base: Limit
    slope: Limit = 0.0
    bend: Limit = 0.0

    def at(self, truth: Limit) -> Limit:
        """Its value, never below 0."""
        return np.maximum(self.base + truth * (self.slope + truth * self.bend), 0.0)

    def plus(self, other: Variance, weight: Limit = 1.0) -> Variance:
        """The sum with ``weight`` times another one."""
        return Variance(
            self.base + weight * other.base, self.slope + weight * other.slope, self.bend + weight * other.bend
        )

    def mapped(self, change: Callable[[Limit], Limit]) -> Variance:
        """The same change of all three."""
        return Variance(change(self.base), change(self.slope), change(self.bend))

    def mirrored(self) -> Variance:
        """The same function of -f."""
        return Variance(self.base, -self.slope, self.bend)


def share_sampling(n: int) -> Variance:
    """f(1-f)/n: what drawing n users adds to the variance of the share of those who hold an item."""
    return Variance(0.0, 1.0 / n, -1.0 / n)


def range_sampling(n: int, low: float, high: float) -> Variance:
    """(high - f)(f - low)/n: the most that drawing n users adds for a mean of numbers in [low, high].

    (Bhatia, Davis, American Mathematical Monthly 2000; attained by values at the two ends.)
    """
    return Variance(-high * low / n, (high + low) / n, -1.0 / n)


def upper_end(start: FloatArray, z: float, variance: Variance, low: Limit, high: Limit) -> FloatArray:
    """The largest f with f - start <= z sqrt(variance at f clipped to [low, high]).

    sqrt(variance) is concave, so that f - start - z sqrt(variance) is convex on [low, high] and rises beyond.
    """
    scale = z * z
    # (f - start)^2 = z^2 variance(f) is a quadratic equation; its discriminant is written without cancellation
    with np.errstate(invalid="ignore"):
        half = start + 0.5 * scale * variance.slope
        plain = variance.base + start * (variance.slope + start * variance.bend)
        square = scale * plain + scale * scale * (0.25 * variance.slope**2 - variance.bend * variance.base)
        root = (half + np.sqrt(square)) / (1.0 - scale * variance.bend)
        inside = (root >= low) & (root <= high) & (root >= start)
        top, bottom = (start + z * np.sqrt(variance.at(limit)) for limit in (high, low))
        return np.asarray(np.where(inside, root, np.where(top >= high, top, bottom)))
