"""Profiles of many eps: those at which delta is below every positive double are not evaluated one by one.

delta falls with eps.  So the value at one eps is an upper bound on those at all larger ones, and where it is below the
smallest double, nothing that a profile shows is lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..evaluators.choose import Side
from ..pair import FloatArray
from .base import Family

#: Fewer eps than this are asked as they are.
_MANY = 64
#: log of a delta whose double is 0.
_INVISIBLE = -746.0
#: Relative accuracy in delta of an upper value that only tells where that is.
_COARSE = 0.1


def log_delta(family: Family, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
    """log delta(eps) of a family for every eps; below -746 one value stands for all larger eps (-inf from below).

    Examples
    --------
    >>> from shuffledp.numerics.families.base import PairSet
    >>> from shuffledp.numerics.pair import ShuffledPair
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> values = log_delta(coin, np.linspace(0.0, 1.0, 200), n=10**6, tol=1e-4, side="upper")
    >>> bool(values[-1] < -746.0) and len(set(values[-100:].tolist())) == 1
    True
    """
    if eps.size < _MANY:
        return family.log_delta(eps, n=n, tol=tol, side=side)
    order = np.argsort(eps, kind="stable")
    at = eps[order]
    known: dict[int, float] = {}
    rough = max(tol, _COARSE) if side == "upper" else tol

    def value(i: int) -> float:
        if i not in known:
            known[i] = float(family.log_delta(at[i : i + 1], n=n, tol=rough, side=side)[0])
        return known[i]

    out = np.empty(eps.shape)
    seen = _first(value, at.size, _INVISIBLE)
    out[order[:seen]] = family.log_delta(at[:seen], n=n, tol=tol, side=side)
    if seen < at.size:
        zero = _first(value, at.size, -np.inf, start=seen) if value(at.size - 1) == -np.inf else at.size
        out[order[seen:]] = value(seen) if side == "upper" else -np.inf
        out[order[zero:]] = -np.inf  # exactly 0
    return out


def _first(ask: Callable[[int], float], size: int, level: float, start: int = 0) -> int:
    """The first index whose value is at most ``level``, or one a little after it; ``size`` if there is none."""
    if ask(size - 1) > level:
        return size
    low, high = start - 1, size - 1  # above the level, not above it
    step = 32
    while low + step < high:
        if ask(low + step) > level:
            low, step = low + step, 2 * step
        else:
            high = low + step
            break
    while high - low > 1 and (level == -np.inf or high - low > max(16, (high - start) // 16)):
        middle = (low + high) // 2
        low, high = (middle, high) if ask(middle) > level else (low, middle)
    return high
