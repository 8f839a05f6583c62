"""Searches over the settings of a mechanism: the largest that is still private enough, and the best of several.

Nothing here is trusted with privacy: a search returns a point at which its own test passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_STEPS = 120
#: Range of plausible slopes of an excess over its coordinate.
_FLATTEST, _STEEPEST = 0.02, 1e12
#: Errors within the first factor of the best may hide a better one nearby; only below the second one is better.
_NEARLY, _BETTER = 1.05, 1.0 - 1e-4
#: Settings within these factors count as equal: near the best one the error changes by the square of that.
_CLOSE, _CLOSE_WHOLE = 1.02, 1.002


def largest(
    excess: Callable[[float], float],
    *,
    low: float,
    high: float,
    start: float,
    window: float,
    close: float = 1e-13,
    reach: float = 4.0,
    slope: float = 0.7,
    trust: float = math.inf,
) -> float | None:
    """The largest u in [low, high] with excess(u) <= 0, for an excess that rises with u; None if there is none.

    A secant search inside a bracket.  It stops at a point with excess in [-window, 0], or where a passing and a
    failing point are ``close`` to each other (a jump); either way the excess at the returned u was seen to be <= 0.
    The excess may be infinite, and may wiggle a little: then the answer is *a* point next to which it fails.
    ``reach`` is the longest first step; it doubles until there is a bracket.  Where ``slope`` is known, those of chords
    that are more than ``trust`` times as large or as small are taken for wiggles.

    Examples
    --------
    >>> round(largest(lambda u: u**3 - 8.0, low=0.0, high=10.0, start=1.0, window=1e-6), 6)
    2.0
    """
    passing, failing, known = low, high, slope
    passed = failed = False
    u, previous, width = min(max(start, low), high), (math.nan, math.nan), math.inf
    for step in range(_STEPS):
        y = excess(u)
        if y <= 0.0:
            passing, passed = u, True
        else:
            failing, failed = u, True
        if passed and (passing == high or -window <= y <= 0.0):
            return passing
        if failed and failing == low:
            return None
        if passed and failed and failing - passing <= close * max(1.0, abs(passing)):
            break
        chord = _slope((u, y), previous, slope)
        slope = min(max(chord, known / trust), known * trust)
        previous = (u, y) if math.isfinite(y) else previous
        aim = u - math.copysign(min(abs(y + 0.5 * window) / slope, reach), y)
        reach *= 2.0
        halving = step % 4 == 3 and failing - passing > 0.25 * width  # the secants do not shrink the bracket
        width = failing - passing if step % 4 == 3 else width
        if passed and failed and (halving or not passing < aim < failing):
            aim = 0.5 * (passing + failing)
        u = min(max(aim, passing), failing)
    return passing if passed else None


def _slope(point: tuple[float, float], previous: tuple[float, float], default: float) -> float:
    """The slope of the chord, where it is plausible."""
    run, rise = point[0] - previous[0], point[1] - previous[1]
    if run == 0.0 or not math.isfinite(rise) or not rise / run > 0.0:
        return default
    return min(max(rise / run, _FLATTEST), _STEEPEST)


def best_of_range(
    error: Callable[[float, float], float],
    *,
    low: float,
    high: float,
    whole: bool,
    start: float,
    ratio: float = 2.0,
    close: float | None = None,
) -> float:
    """The setting in [low, high] with the smallest error, for an error with few local minima on a logarithmic scale.

    ``error(s, limit)`` may return inf for an error above ``limit``, which is cheaper to find out.  A grid over the
    whole range with steps of ``ratio`` comes first, tried from ``start`` outward, then finer ones around its
    lowest point (and around a second local minimum that is nearly as low), until neighboring whole numbers, or numbers
    that differ by less than 2 percent (whole ones: 0.2 percent), or by a factor ``close``, have been compared.

    Examples
    --------
    >>> best_of_range(lambda k, limit: (k - 37) ** 2, low=1, high=10**6, whole=True, start=500)
    37
    """
    known: dict[float, float] = {}
    fresh = _grid(low, high, whole, math.ceil(math.log(high / low) / math.log(ratio)) + 1)
    fresh = sorted({min(max(start, low), high), *fresh}, key=lambda s: abs(math.log(s / start)))
    slack, close = _NEARLY, close or (_CLOSE_WHOLE if whole else _CLOSE)
    while fresh:
        for s in fresh:
            known[s] = error(s, slack * min(known.values(), default=math.inf))
        slack = _BETTER  # from here on only what is better matters
        places = sorted(known)
        fresh = []
        for i in _valleys([known[s] for s in places]):
            for a, b in ((i - 1, i), (i, i + 1)):
                if a >= 0 and b < len(places) and places[b] > places[a] * close:
                    fresh += [s for s in _grid(places[a], places[b], whole, 4) if s not in known]
    return min(known, key=lambda s: known[s])


def _grid(low: float, high: float, whole: bool, points: int) -> list[float]:
    """Geometric, ends included; all whole numbers where they are few."""
    if whole and high - low < max(points, 8):
        return list(range(int(low), int(high) + 1))
    grid = [low, *np.geomspace(low, high, points)[1:-1].tolist(), high]
    return sorted({round(s) for s in grid}) if whole else grid


def _valleys(errors: list[float]) -> list[int]:
    """The lowest point, and the second lowest local minimum if it is nearly as low."""
    last = len(errors) - 1
    minima = [i for i, e in enumerate(errors) if e <= errors[max(i - 1, 0)] and e <= errors[min(i + 1, last)]]
    minima.sort(key=errors.__getitem__)
    return [i for i in minima[:2] if errors[i] <= _NEARLY * errors[minima[0]] and math.isfinite(errors[i])]
