"""eps at many deltas on one curve: few evaluations, and chords between them.

The true delta is convex in E = e^eps (numerics/chords.py), so that the straight line in E between two upper bounds is
an upper bound: where it meets a delta, eps is large enough.  Where the curve falls by a factor e^-d between two points,
the chord is above it by about d^2/8, which costs that much over the slope in eps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..pair import FloatArray

#: From so many deltas on it pays.
MANY = 24
#: Points that are evaluated first, to see how the curve falls.
_FIRST = 13
#: The part of the tolerance that chords may cost.
_SHARE = 0.3
#: Below this part of the largest eps the relative accuracy is left to the solver.
_SMALL = 0.02
#: Charged for the roundings of a chord.
_ROUNDING = 1e-12


def epsilons(
    values: Callable[[FloatArray], FloatArray], solve: Callable[[float], float], delta: FloatArray, tol: float
) -> FloatArray:
    """An eps with delta(eps) <= delta for every delta, at a relative accuracy of about ``tol``.

    ``values`` gives upper bounds on log delta at some eps, and ``solve`` the eps of one delta.

    Examples
    --------
    >>> asked = []
    >>> deltas = np.geomspace(1e-9, 1e-2, 1000)
    >>> found = epsilons(lambda x: (asked.append(x.size), -(x**2))[1], lambda y: math.sqrt(-math.log(y)), deltas, 1e-4)
    >>> truth = np.sqrt(-np.log(deltas))
    >>> bool(np.all(found >= truth) and np.all(found <= truth * 1.0001)), sum(asked) < 400
    (True, True)
    """
    out = np.full(delta.size, np.nan)
    high, low = solve(float(delta.min())), solve(float(delta.max()))
    low = max(low, _SMALL * high)
    if 0.0 < low < high < math.inf:
        at = np.linspace(low, high, _FIRST)
        known = values(at)
        at, known = _refined(values, at, known, tol, most=delta.size)
        out = _on_chords(at, known, np.log(delta) * (1.0 + 2.0**-50))  # what is below 0 is rounded down
    for i in np.flatnonzero(np.isnan(out)).tolist():
        out[i] = solve(float(delta[i]))
    return out


def _refined(
    values: Callable[[FloatArray], FloatArray], at: FloatArray, known: FloatArray, tol: float, *, most: int
) -> tuple[FloatArray, FloatArray]:
    """More points, so that the curve falls from one to the next by no more than chords may cost."""
    fall = -np.diff(known)
    with np.errstate(invalid="ignore"):
        steep = at[1:] * fall / np.diff(at)  # -d(log delta)/d(log eps)
        step = np.sqrt(8.0 * _SHARE * tol * np.maximum(steep, 1e-3))
        parts = np.where(np.isfinite(fall), np.ceil(fall / step), 1.0)
    parts = np.clip(parts, 1.0, most).astype(np.int64)
    more = [np.linspace(a, b, k + 1)[1:-1] for a, b, k in zip(at[:-1], at[1:], parts, strict=True) if k > 1]
    if not more:
        return at, known
    extra = np.concatenate(more)
    order = np.argsort(np.concatenate([at, extra]), kind="stable")
    return np.concatenate([at, extra])[order], np.concatenate([known, values(extra)])[order]


def _on_chords(at: FloatArray, known: FloatArray, log_delta: FloatArray) -> FloatArray:
    """Where the chords meet every delta; NaN beyond the first and the last value."""
    # delta falls with eps, so that what holds at a smaller eps holds here as well; no value claims nothing
    known = np.minimum.accumulate(np.where(np.isnan(known), np.inf, known))
    right = np.searchsorted(-known, -log_delta, side="left")  # the first value that is small enough
    out = np.full(log_delta.size, np.nan)
    inside = np.flatnonzero((right > 0) & (right < at.size))
    k, y = right[inside], log_delta[inside]
    with np.errstate(over="ignore", divide="ignore"):
        share = np.expm1(y - known[k - 1]) / np.expm1(known[k] - known[k - 1]) * (1.0 + _ROUNDING)
        found = at[k - 1] + np.log1p(share * np.expm1(at[k] - at[k - 1])) + _ROUNDING * at[k]
    out[inside] = np.minimum(np.where(np.isnan(found), at[k], found), at[k])
    return out
