"""The only inversion: the eps of every row at which its curve meets its delta, on the curve's private side.

The true delta is convex and falling in e^eps, so Newton steps and secants on log delta converge.  The returned eps is
one that was evaluated: upper(eps) <= delta, or lower(eps) >= delta, errors included.  An inexact search costs
tightness, never soundness.
"""

from __future__ import annotations

import numpy as np

from . import tuning
from .curve import Curve
from .pair import FloatArray

#: Far from the root, this relative accuracy of delta is enough.
_COARSE = 0.02


@np.errstate(all="ignore")
def solve(curve: Curve, log_delta: FloatArray, tol: float, least: FloatArray, most: FloatArray) -> FloatArray:
    """eps of every row, to a relative accuracy tol; ``least`` is an eps that is known to be too small, or 0.

    A row that no evaluation settles keeps the safe answer: its limit on the upper side, 0 on the lower side.  So does
    an upper row whose eps exceeds ``most``, because the caller has a better answer already.
    """
    upper = curve.side == "upper"
    sign = 1.0 if upper else -1.0
    answer = curve.limit.copy() if upper else np.zeros(log_delta.size)
    never = np.isinf(curve.limit) & (np.log(curve.floor) > log_delta + 1e-11)
    answer[never] = np.inf
    open_ = np.flatnonzero((np.minimum(curve.limit, tuning.LARGEST_EPSILON) > least) & ~never)
    open_ = _not_at_zero(curve, log_delta, open_, answer)
    if not open_.size:
        return answer
    part = curve if open_.size == log_delta.size else curve.take(open_)
    end = np.minimum(part.limit, most[open_] * (1.0 + tol)) if upper else part.limit
    low, high = least[open_], np.minimum(end, tuning.LARGEST_EPSILON)
    eps, slope = part.guess(log_delta[open_])
    eps = eps * (1.0 + 0.2 * sign * tol)  # slightly on the private side, so that the first evaluation is often the last
    eps = np.minimum(eps, high * (1.0 - 0.25 * tol))  # just below the limit, one evaluation settles it
    eps = np.where(low < eps, eps, _middle(low, high))
    slope = np.maximum(slope, -0.1 * log_delta[open_] / eps)  # log delta is about proportional to the square of eps
    last, before, above, below = np.full((4, open_.size), np.nan)
    known, width = np.zeros(open_.size, dtype=bool), np.full(open_.size, np.inf)
    for step in range(tuning.STEPS):
        fine = np.clip(0.3 * tol * eps * slope, 1e-8, _COARSE)
        rtol = np.where(known & np.isfinite(last) & (np.abs(last) > 0.1), _COARSE, fine)
        value, fall = part.at(eps, rtol)
        excess = value - log_delta[open_]
        secant, ratio = (last - excess) / (eps - before), excess / last
        # the slope is approximate: if a step did not halve the excess, the secant is better
        trusted = (secant > 0.0) & ((ratio > 0.5) | ((np.abs(last) < 1.0) & (np.abs(last - excess) > 2.0 * rtol)))
        fall = np.where(trusted, np.clip(secant, 0.25 * slope, 4.0 * slope), fall)
        steep = (fall > 0.0) & np.isfinite(fall)
        slope = np.where(steep, fall, slope)
        safe = sign * excess <= 0.0
        answer[open_[safe]] = eps[safe]
        known = safe | (np.isfinite(excess) & (np.abs(excess) > 3.0 * rtol)) | (rtol <= fine)
        rises, falls = known & (excess > 0.0), known & ~(excess > 0.0)
        low, above = np.where(rises, eps, low), np.where(rises, excess, above)
        high, below = np.where(falls, eps, high), np.where(falls, excess, below)
        # how far away the root can be: an upper curve is convex in e^eps and lies above its tangent
        room = -np.expm1(excess) / (slope * np.exp(excess)) if upper else excess / slope
        new = np.where(steep, (eps + excess / slope) * (1.0 + 0.1 * sign * tol), np.nan)
        zero = np.isnan(above) & (low == 0.0) & (new <= 0.0)  # delta(0) is probably small enough: that is tried next
        done = safe & (rtol <= 1.5 * fine) & (room <= 0.4 * tol * eps)
        done |= safe & (rtol <= 3.0 * fine) & (sign * (new - eps) >= 0.0)  # a Newton step would leave the safe side
        done |= (high - low <= 0.3 * tol * high) | (high < 1e-15)
        share = above / (above - below)  # not used near 0 or 1, where one end would stay put for many steps
        chord = np.where(np.abs(share - 0.5) < 0.3, low + (high - low) * share, np.nan) * (1.0 + 0.1 * sign * tol)
        # delta is 0 at the limit and convex in e^eps, so it is below the chord from the last eps that was too small
        ahead = np.where(end < part.limit, high, low + np.log1p(np.expm1(high - low) * -np.expm1(-above)))
        ahead = np.minimum(ahead, high * (1.0 - 0.25 * tol))
        new = np.where((low < new) & (new < high), new, np.where(np.isnan(below) & (high == end), ahead, chord))
        slow = (step % 4 == 3) & (high - low > 0.25 * width)  # the bracket hardly shrinks
        new = np.where((low < new) & (new < high) & ~slow, new, np.where(zero, 0.0, _middle(low, high)))
        width = high - low if step % 4 == 3 else width
        # a row in doubt is evaluated again at the same eps, finely
        last, before, eps = np.where(known, excess, last), np.where(known, eps, before), np.where(known, new, eps)
        if done.any():
            kept = np.flatnonzero(~done)
            if not kept.size:
                break
            part, open_, known = part.take(kept), open_[kept], known[kept]
            eps, before, slope, last, low, high, end, above, below, width = (
                a[kept] for a in (eps, before, slope, last, low, high, end, above, below, width)
            )
    return answer


def _not_at_zero(curve: Curve, log_delta: FloatArray, rows: np.ndarray, answer: FloatArray) -> np.ndarray:
    """The rows whose delta(0) exceeds delta; the answer of the others is 0.  Only likely rows are evaluated at 0."""
    likely = rows[log_delta[rows] >= np.log(0.3 * np.sqrt(curve.spread[rows]))]
    if not likely.size:
        return rows
    value = curve.take(likely).at(np.zeros(likely.size), np.full(likely.size, tuning.GLANCE)).log_delta
    at_zero = likely[value <= log_delta[likely]]
    answer[at_zero] = 0.0
    return np.setdiff1d(rows, at_zero)


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    inner = np.where(high > 2.0 * low, np.sqrt(low * high), 0.5 * (low + high))
    return np.where(low == 0.0, 0.05 * high, inner)
