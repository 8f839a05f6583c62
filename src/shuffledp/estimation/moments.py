"""The error of a weighted sum of estimated shares, whose parts come from different users.

A share is estimated by a mean over reports, and so is a weighted sum of shares.  Where all entries of an estimate are
alike, what one report adds to sum of g_c value_c has a mean square that depends on the weights and on the true shares f
through four sums only: Q = sum g_c^2, G = sum g_c, A = sum f_c g_c (its mean) and B = sum f_c g_c^2.  So the covariance
of the entries is a diagonal and a matrix of rank two, and no matrix is needed.

If users draw one of several parts, those of a part are a random sample, and for users who are themselves drawn from a
population samples of different parts are independent: variances add up.  The users' own share of what is asked for, F,
varies by F(1-F)/n around that of the population, and any unbiased estimate varies around the former independently:
its variance for these users is that for the population less F(1-F)/n.

An interval needs the variance at every F.  F is moved with the shares inside of what is asked for kept in
proportion, and those outside too: A and B are then linear in F, and the variance is a quadratic function of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.arrays import FloatArray
from .constraints import Limit, nearest_shares
from .variance import Variance


@dataclass(frozen=True)
class Moments:
    """What a report adds to a weighted sum: square Q + total G^2 + cross G A + own B in the mean square, A on average.

    ``reports`` is how many there are, and ``grain`` what one of them more or less changes an entry by.
    """

    reports: int
    square: float
    own: float
    total: float = 0.0
    cross: float = 0.0
    grain: float = 0.0

    @classmethod
    def of_support(cls, reports: int, keep: float, stray: float, both: tuple[float, float] | None) -> Moments:
        """Of a report that supports some entries: (1[c supported] - stray)/(keep - stray) is added to entry c.

        ``both`` is the chance that it supports two given entries if one of them is held, and if neither is; where it is
        not stated, entries are taken to be supported independently.

        >>> Moments.of_support(100, 0.75, 0.25, (0.0, 0.0))  # randomized response on two options
        Moments(reports=100, square=1.0, own=2.0, total=-0.25, cross=-1.0, grain=0.02)
        """
        a, b = keep, stray
        one, none = (a * b, b * b) if both is None else both
        gain = a - b
        scale = gain**-2 if gain * gain > 0.0 else np.inf
        return cls(
            reports,
            square=scale * (b - none),
            own=scale * (gain - 2.0 * (one - none)),
            total=scale * (none - b * b),
            cross=scale * 2.0 * (one - none - b * gain),
            grain=scale * gain / reports,
        )

    @classmethod
    def unrelated(cls, reports: int, noise: Variance, grain: Limit) -> Moments:
        """Of entries whose noise is uncorrelated and has this variance."""
        square, own = (reports * float(np.mean(part)) for part in (noise.base, noise.slope))
        return cls(reports, square=square, own=1.0 + own, grain=float(np.max(grain)))

    def even(self, size: int) -> float:
        """The variance of one of ``size`` entries where all have the same share."""
        return (self.square + self.total + (self.cross + self.own - 1.0 / size) / size) / self.reports


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums over the weights, for many functions at once: ``square`` and ``own`` over all parts, the others by part.

    ``square`` is the sum of Q square/reports, ``own_*`` of B own/reports; ``total`` is G and ``mean_*`` is A, with the
    parts along the last axis.  ``in`` is if all users are inside of what is asked for, ``out`` if none is.  ``step`` is
    the most that a report changes the function by: the largest difference of two weights of a part, times its grain.
    """

    square: Limit
    own_in: Limit
    own_out: Limit
    total: FloatArray
    mean_in: FloatArray
    mean_out: FloatArray
    step: Limit

    def variance(self, parts: Sequence[Moments]) -> Variance:
        """For users drawn from a population, as a function of F."""
        reports, total, cross = (
            np.array([getattr(part, name) for part in parts], dtype=np.float64)
            for name in ("reports", "total", "cross")
        )
        change = self.mean_in - self.mean_out
        base = total * self.total**2 + (cross * self.total - self.mean_out) * self.mean_out
        slope = (cross * self.total - 2.0 * self.mean_out) * change
        return Variance(
            self.square + self.own_out + (base / reports).sum(axis=-1),
            self.own_in - self.own_out + (slope / reports).sum(axis=-1),
            -(change**2 / reports).sum(axis=-1),
        )


def plausible(value: FloatArray, n: int, parts: Sequence[Moments]) -> FloatArray:
    """Shares that the truth may have: the nearest that are possible, and one more user who may be anywhere.

    What the entries lack or exceed is taken from each in proportion to its variance: a common shift would empty the
    entries of few users, whose variance is small, for the errors of those of many.

    >>> coin = Moments(reports=9, square=1.0, own=0.0)
    >>> plausible(np.array([0.8, 0.3, -0.1]), 9, [coin]).round(4).tolist()
    [0.7083, 0.2583, 0.0333]
    """
    at = value.ravel()
    known = np.array([[part.square, part.own] for part in parts if np.isfinite(part.square)])  # those with reports
    square, own = known.sum(axis=0) if known.size else (1.0, 0.0)
    found = nearest_shares(at, square + max(own, 0.0) * np.maximum(at, 1.0 / n))
    return np.asarray(((n * found + 1.0 / found.size) / (n + 1.0)).reshape(value.shape))
