"""Binary randomized response at many eps: the divergence of a dataset as a curve, and the maximum over all datasets.

With g the mass and G the running sum of the others' number of ones (binary_response.py),

    D_E = sum_s (d_s)_+ = max_s f(s),   d_s = f(s) - f(s-1) = gain g(s) - cost g(s-1),
    f(s) = gain g(s) - (E-1) G(s-1),

gain = a - E b, cost = E a - b.  g(s)/g(s-1) falls with s, so that the last s with d_s > 0 is found for all eps by one
binary search.  Where the sign of d_s is in doubt, |d_s| is below the rounding of its terms, and every s in doubt is
tried.  What the windows leave out is added, once for every s, since far outside it may change any sign.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from ..windows import Window

#: Thresholds in doubt that are tried; more of them are bounded (the ratio falls by 1/variance from one to the next).
_TRIED = 3


class Ends(NamedTuple):
    """D_E between two bounds, one value per eps."""

    upper: FloatArray
    lower: FloatArray


class DatasetCurve:
    """D_E(0 || 1) among others whose number of ones is the sum of two independent laws, for any eps below eps0."""

    def __init__(self, eps0: float, ones: Window, zeros: Window) -> None:
        self._eps0 = eps0
        # sums of positive products: the roundings of both windows and one for each of their entries (binary_response)
        self._error = 64.0 * (ones.mass.size + zeros.mass.size) * 2.0**-53
        self._lost = ones.left_out + zeros.left_out
        g = np.convolve(ones.mass, zeros.mass)
        self._g = np.concatenate([[0.0], g, [0.0]])  # from one below the window to one above it
        self._before = np.concatenate([[0.0], np.cumsum(self._g[:-1])])  # G(s-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            ratio = self._g[1:] / self._g[:-1]  # d_s > 0 where it is above cost/gain
        self._falling = -np.minimum.accumulate(np.where(np.isnan(ratio), 0.0, ratio))

    def ends(self, eps: FloatArray) -> Ends:
        """Both bounds at every eps."""
        keep = 1.0 / (1.0 + math.exp(-self._eps0))
        growth = np.expm1(eps)
        gain = -keep * np.expm1(np.minimum(eps - self._eps0, 0.0))  # a - E b
        cost = keep * (growth - math.expm1(-self._eps0))  # E a - b
        with np.errstate(divide="ignore", over="ignore"):
            wanted = cost / gain
        # the threshold is at least ``first`` and at most ``last``: d_s > 0 and d_s < 0 are certain outside
        first = np.searchsorted(self._falling, -wanted * (1.0 + 4.0 * self._error), side="left")
        last = np.searchsorted(self._falling, -wanted * (1.0 - 4.0 * self._error), side="left")
        upper, lower = np.zeros(eps.shape), np.zeros(eps.shape)
        for step in range(min(int((last - first).max(initial=0)) + 1, _TRIED)):
            at = np.minimum(first + step, last)
            g, below = self._g[at], self._before[at]
            high = gain * (g * (1.0 + self._error) + self._lost) - growth * below * (1.0 - self._error)
            low = gain * g * (1.0 - self._error) - growth * (below * (1.0 + self._error) + self._lost)
            upper, lower = np.maximum(upper, high), np.maximum(lower, low)
        wide = last - first >= _TRIED
        if wide.any():  # f(s) <= gain G(s)
            upper = np.where(wide, gain * ((self._before + self._g)[last] * (1.0 + self._error) + self._lost), upper)
        upper = upper + (self._g.size + 2.0) * (gain + cost) * self._lost
        over = eps >= self._eps0  # no report is more than e^eps0 times as likely
        return Ends(np.where(over, 0.0, upper), np.where(over, 0.0, lower))
