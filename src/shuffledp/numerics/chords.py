"""delta at many eps from its values at fewer of them: between two, the chord of a convex curve lies above it.

The true delta is convex in E = e^eps: it is the largest of E-linear functions, over events and datasets.  So whatever
upper bounds hold at two eps, the straight line between them (in E) is an upper bound in between, also where the bound
itself is not convex.  Where a curve falls by a factor e^-d between two points, the chord is above it by about d^2/8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .pair import FloatArray

#: From so many eps on it pays.
MANY = 512
#: Points that are evaluated first, to see how fast the curve falls.
_FIRST = 129
#: The part of the tolerance that chords may cost.
_SHARE = 0.7
#: Charged for the roundings of a chord.
_ROUNDING = 1e-13


def log_upper(values: Callable[[FloatArray, float], FloatArray], eps: FloatArray, tol: float) -> FloatArray:
    """log of an upper bound on delta at every eps >= 0, at a relative accuracy of about tol.

    ``values(eps, tol)`` gives upper bounds in logarithms; it is asked at as few eps as the tolerance allows.

    Examples
    --------
    >>> eps = np.linspace(0.0, 5.0, 1000)
    >>> asked = []
    >>> found = log_upper(lambda x, tol: (asked.append(x.size), -3.0 * x)[1], eps, 1e-3)
    >>> bool(np.all(found >= -3.0 * eps) and np.all(found <= -3.0 * eps + 1e-3)), sum(asked) < 500
    (True, True)
    """
    if eps.size < MANY:
        return values(eps, tol)
    at, back = np.unique(eps, return_inverse=True)
    if at.size < MANY:
        return values(at, tol)[back.reshape(eps.shape)]
    room, inner = _SHARE * tol, (1.0 - _SHARE) * tol
    known = np.unique(np.linspace(0, at.size - 1, _FIRST).round().astype(np.int64))
    found = np.full(at.size, np.nan)
    found[known] = _claimed(values(at[known], inner))
    with np.errstate(all="ignore"):
        for _ in range(2):  # the second time where the curve falls unevenly
            more = _wanted(at, found, known, room)
            if more.size:
                found[more] = _claimed(values(at[more], inner))
                known = np.union1d(known, more)
                found[known] = _falling(found[known])
        more = _doubtful(at, found, known, room)
        if more.size:
            found[more] = _claimed(values(at[more], inner))
            known = np.union1d(known, more)
            found[known] = _falling(found[known])
        out = _between(at, found, known)
    return np.asarray(out[back.reshape(eps.shape)])


def _claimed(values: FloatArray) -> FloatArray:
    """The values, with inf where there is none: a chord that ends in NaN claims nothing."""
    return np.where(np.isnan(values), np.inf, values)


def _falling(values: FloatArray) -> FloatArray:
    """The smallest at any smaller eps, since delta falls with eps; where there is no value, there is none."""
    return np.where(values == np.inf, np.inf, np.minimum.accumulate(values))


def _wanted(at: FloatArray, found: FloatArray, known: np.ndarray, room: float) -> np.ndarray:
    """Places between known ones so that the curve falls by at most sqrt(8 room) from one to the next."""
    drop = np.abs(np.diff(found[known]))
    drop = np.where(np.isfinite(drop), drop, np.inf)  # down to 0: everything is evaluated
    parts = np.minimum(np.ceil(drop / math.sqrt(8.0 * room)), np.diff(known)).astype(np.int64)
    parts = np.where(found[known[1:]] == found[known[:-1]], 1, parts)  # flat, or both are 0
    extra = np.maximum(parts - 1, 0)
    where = np.repeat(np.arange(extra.size), extra)
    step = 1 + np.arange(where.size) - np.repeat(np.cumsum(extra) - extra, extra)
    places = known[:-1][where] + step * np.diff(known)[where] // parts[where]
    return np.setdiff1d(places, known)


def _doubtful(at: FloatArray, found: FloatArray, known: np.ndarray, room: float) -> np.ndarray:
    """All places next to a known one at which the chord of its neighbours is too far above it (a kink)."""
    e, y = at[known], found[known]
    middle = _chord(e[:-2], y[:-2], e[2:], y[2:], e[1:-1])
    bent = ~(middle - y[1:-1] <= 6.0 * room) & (y[1:-1] > -np.inf)  # four times what each half adds, and a little room
    near = np.zeros(known.size - 1, dtype=bool)
    near[:-1] |= bent
    near[1:] |= bent
    inside = np.repeat(near, np.diff(known))
    return np.setdiff1d(np.flatnonzero(inside) + int(known[0]), known)


def _between(at: FloatArray, found: FloatArray, known: np.ndarray) -> FloatArray:
    """The known values, and chords between them."""
    places = np.arange(at.size)
    right = np.clip(np.searchsorted(known, places), 1, known.size - 1)
    left, right = known[right - 1], known[right]
    chord = _chord(at[left], found[left], at[right], found[right], at) + _ROUNDING
    return np.where(np.isnan(found), np.where(np.isnan(chord), np.inf, chord), found)


def _chord(e0: FloatArray, y0: FloatArray, e1: FloatArray, y1: FloatArray, e: FloatArray) -> FloatArray:
    """log of the chord in E at e, where the logs are y0 at e0 and y1 at e1."""
    high = np.log(np.expm1(e - e1) / np.expm1(e0 - e1)) + y0
    low = np.log(np.expm1(e - e0) / np.expm1(e1 - e0)) + y1
    return np.logaddexp(np.where(np.isnan(high), -np.inf, high), np.where(np.isnan(low), -np.inf, low))
