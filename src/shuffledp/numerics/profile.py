"""log delta at many eps: upper values are evaluated at few of them, and chords give the others.

The true delta is convex in E = e^eps, so the chord in E between two upper values is an upper value.  Lower values have
no such chords and are evaluated everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import tuning
from .ledger import charge
from .pair import FloatArray, IntArray, Side

#: log delta at some eps.
Ask = Callable[[FloatArray], FloatArray]


def profile(ask: Ask, eps: FloatArray, tol: float, side: Side) -> FloatArray:
    """log delta at every eps, to a relative accuracy of about tol in delta; ``ask`` evaluates it.

    Examples
    --------
    >>> asked = []
    >>> at = np.linspace(0.0, 2.0, 1000)
    >>> found = profile(lambda x: (asked.append(x.size), -x)[1], at, 1e-3, "upper")
    >>> bool(np.all((found >= -at) & (found <= -at + 1e-3))), sum(asked) < 300
    (True, True)
    """
    if side == "lower" or eps.size < tuning.MANY_POINTS:
        return falling(eps, ask(eps)) if side == "upper" else ask(eps)
    at, place = np.unique(eps, return_inverse=True)
    out = np.full(at.size, np.nan)
    knots = np.unique(np.linspace(0, at.size - 1, tuning.FIRST_KNOTS).astype(np.int64))
    out[knots] = ask(at[knots])
    start, stop = knots[:-1], knots[1:]
    while True:  # halve intervals until the chord is as good as the value in the middle
        wide = stop > start + 1
        start, stop = start[wide], stop[wide]
        deep = out[start] < tuning.UNDERFLOW  # delta falls, and rounds to 0 there
        for a, b in zip(start[deep], stop[deep], strict=True):
            out[a + 1 : b] = out[a]
        start, stop = start[~deep], stop[~deep]
        if not start.size:
            break
        middle = (start + stop) // 2
        out[middle] = ask(at[middle])
        good = chord(at, out, start, stop, middle) <= out[middle] + 0.8 * tol
        for a, b in [*zip(start[good], middle[good], strict=True), *zip(middle[good], stop[good], strict=True)]:
            inner = np.arange(a + 1, b)
            out[inner] = chord(at, out, np.full(inner.size, a), np.full(inner.size, b), inner)
        bad = ~good
        start, stop = np.concatenate([start[bad], middle[bad]]), np.concatenate([middle[bad], stop[bad]])
    return falling(at, out)[place].reshape(eps.shape)


@charge("a profile between two places", "docs/proofs.md, section 7")
@np.errstate(all="ignore")
def chord(at: FloatArray, out: FloatArray, a: IntArray, b: IntArray, k: IntArray) -> FloatArray:
    """log of the chord in E from a to b at k, rounded up; where it is not a number, the value at a: delta falls."""
    share = np.expm1(at[k] - at[a]) / np.expm1(at[b] - at[a])
    value = np.logaddexp(np.log1p(-share) + out[a], np.log(share) + out[b]) + 1e-13
    return np.where(np.isnan(value), out[a], value)


def falling(eps: FloatArray, log_delta: FloatArray) -> FloatArray:
    """The smallest upper value at this eps or below: the true delta falls with eps, but its upper values need not."""
    order = np.argsort(eps, kind="stable")
    out = np.empty_like(log_delta)
    out[order] = np.minimum.accumulate(log_delta[order])
    return out
