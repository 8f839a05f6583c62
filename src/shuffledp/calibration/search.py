"""Searches over the settings of a mechanism: the largest that is still private enough, and the best of several.

Many settings are evaluated in one pass, as rows of one question; the results say where to confirm a single setting.
Privacy does not depend on this search: :func:`largest` returns a point at which its own test passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

_STEPS = 120
#: Range of plausible slopes of an excess over its coordinate.
_FLATTEST, _STEEPEST = 0.02, 1e12
#: The most passes over several points, the most points of a polynomial, and how much farther each pass reaches.
_PASSES, _DEGREE, _FARTHER = 12, 5, 4.0
#: How far outside of what was seen a polynomial is believed, as a share of that.
_BEYOND = 0.25
#: An error within this factor of the best may have a better one nearby.
_NEARLY = 1.05
#: Settings within these factors count as equal: near the best one the error changes quadratically.
_CLOSE, _CLOSE_WHOLE = 1.02, 1.002


class Crossing(NamedTuple):
    """Where an excess becomes positive, its slope there, and, if it jumps, how far the place may be off."""

    u: float
    slope: float
    reach: float = math.inf


Crossings = Generator[list[float], list[float], Crossing | None]


def crossing(
    *, low: float, high: float, start: float, reach: float, window: Callable[[], float], slope: float = 0.5
) -> Crossings:
    """Where an excess that rises with u crosses 0, to within the window (asked for each time); None if it does not.

    It asks for the excess at one or two points at a time, ``start`` first, with steps of at most ``reach`` times 4, 16,
    ... until it has a bracket, and interpolates.  :func:`together` runs many such searches in common passes.
    """
    seen: dict[float, float] = {}
    fresh, passing = [start], low
    for _ in range(_PASSES):
        fresh = sorted({min(max(u, low), high) for u in fresh} - seen.keys())
        seen.update(zip(fresh, (yield fresh), strict=True))
        passing = max((u for u, y in seen.items() if y <= 0.0), default=-math.inf)
        failing = min((u for u, y in seen.items() if u > passing and not y <= 0.0), default=math.inf)
        if passing == high:
            return Crossing(high, slope)
        if failing == low:
            return None
        near = min({passing, failing} & seen.keys(), key=lambda u: abs(seen[u]))
        if abs(seen[near]) <= window():
            return Crossing(near - seen[near] / slope, slope)
        u, error, chord = _interpolated(seen)
        slope = chord or slope
        beyond = min(abs(u - at) for at in seen) / (max(seen) - min(seen) or 1.0)
        if error * slope <= window() and passing < u < failing and low <= u <= high and beyond < _BEYOND:
            return Crossing(u, slope)
        if math.isinf(failing - passing):
            reach *= _FARTHER
            aim = near - math.copysign(min(abs(seen[near]) / slope, reach), seen[near])
            fresh = [aim - 0.1 * (aim - near), aim + 0.1 * (aim - near)]
        elif error < 0.1 * (failing - passing) and passing < u < failing:
            fresh = [u]
        else:
            fresh = np.linspace(passing, failing, 4)[1:-1].tolist()
    return Crossing(passing, slope, failing - passing)


def _interpolated(seen: dict[float, float]) -> tuple[float, float, float]:
    """Where the excess is 0, its error, and the slope (0 if unknown), from u as a polynomial in the excess."""
    finite = sorted(((y, u) for u, y in seen.items() if math.isfinite(y)), key=lambda p: abs(p[0]))[:_DEGREE]
    ordered = [u for _, u in sorted(finite)]
    if len(finite) < 2 or ordered != sorted(set(ordered)) or len({y for y, _ in finite}) < len(finite):
        return math.nan, math.inf, 0.0
    ys, table = ([y for y, _ in finite], [u for _, u in finite])
    slope, error = (ys[1] - ys[0]) / (table[1] - table[0]), math.inf
    for k in range(1, len(ys)):  # Neville's scheme
        before = table[0]
        for i in range(len(ys) - k):
            table[i] -= ys[i] * (table[i + 1] - table[i]) / (ys[i + k] - ys[i])
        error = abs(table[0] - before)
    return (
        table[0],
        error if len(ys) > 2 else 0.05 * abs(finite[1][1] - finite[0][1]),
        min(max(slope, _FLATTEST), _STEEPEST),
    )


def together(
    searches: Sequence[Crossings],
    ask: Callable[[list[tuple[int, float]]], Sequence[float]],
    hopeless: Callable[[dict[int, float]], set[int]] | None = None,
) -> list[Crossing | None]:
    """The results of several searches; one call of ``ask`` gives the excess at pairs (number of the search, u).

    After each pass ``hopeless`` says, from the estimates so far, which searches may stop with their estimates.

    Examples
    --------
    >>> rows = [crossing(low=0.0, high=9.0, start=start, reach=0.5, window=lambda: 1e-6) for start in (1.0, 2.0)]
    >>> [round(found.u, 5) for found in together(rows, lambda at: [u**3 - (8.0, 27.0)[i] for i, u in at])]
    [2.0, 3.0]
    """
    found: dict[int, Crossing | None] = {}
    wanted = {i: next(search) for i, search in enumerate(searches)}
    while wanted:
        values = iter(ask([(i, u) for i, points in wanted.items() for u in points]))
        for i, points in list(wanted.items()):
            try:
                wanted[i] = searches[i].send([next(values) for _ in points])
            except StopIteration as end:
                found[i] = end.value
                del wanted[i]
        if hopeless is not None and wanted:
            about = {i: sum(points) / len(points) for i, points in wanted.items()}
            about |= {i: at.u for i, at in found.items() if at is not None}
            for i in hopeless(about) & wanted.keys():
                found[i] = Crossing(about[i], math.nan)
                del wanted[i]
    return [found[i] for i in range(len(searches))]


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
) -> float | None:
    """The largest u in [low, high] with excess(u) <= 0, for an excess that rises with u; None if there is none.

    A secant search inside a bracket.  It stops at a point with excess in [-window, 0], or where a passing and a
    failing point are ``close`` to each other (a jump); either way the excess at the returned u was seen to be <= 0.
    The excess may be infinite, and may wiggle a little: then the answer is *a* point next to which it fails.
    ``reach`` is the longest first step; it doubles until there is a bracket.

    Examples
    --------
    >>> round(largest(lambda u: u**3 - 8.0, low=0.0, high=10.0, start=1.0, window=1e-6), 6)
    2.0
    """
    passing, failing = low, high
    passed = failed = False
    u, previous, width = min(max(start, low), high), (math.nan, math.nan), math.inf
    least, most = -math.inf, math.inf
    for step in range(_STEPS):
        y = excess(u)
        if y <= 0.0:
            passing, least, passed = u, y, True
        else:
            failing, most, failed = u, y, True
        if passed and (passing == high or -window <= y <= 0.0):
            return passing
        if failed and failing == low:
            return None
        if passed and failed and failing - passing <= close * max(1.0, abs(passing)):
            break
        slope = _slope((u, y), previous, slope)
        previous = (u, y) if math.isfinite(y) else previous
        aim = u - math.copysign(min(abs(y + 0.5 * window) / slope, reach), y)
        reach *= 2.0
        halving = step % 2 == 1 and failing - passing > 0.5 * width  # the secants hardly shrink the bracket
        width = failing - passing if step % 2 == 1 else width
        if passed and failed and (halving or not passing < aim < failing):
            chord = (failing - passing) * (least + 0.5 * window) / (least - most)
            aim = 0.5 * (passing + failing) if halving or math.isnan(chord) else passing + chord
        u = min(max(aim, passing), failing)
    return passing if passed else None


def _slope(point: tuple[float, float], previous: tuple[float, float], default: float) -> float:
    """The slope of the chord, where it is plausible."""
    run, rise = point[0] - previous[0], point[1] - previous[1]
    if run == 0.0 or not math.isfinite(rise) or not rise / run > 0.0:
        return default
    return min(max(rise / run, _FLATTEST), _STEEPEST)


def best_of_range(error: Callable[[float, float], float], **terms: Any) -> float:
    """:func:`best_in_passes` of an ``error(s, limit)`` for one setting at a time, without a limit."""
    return best_in_passes(lambda settings: [error(s, math.inf) for s in settings], **terms)


def best_in_passes(
    errors: Callable[[list[float]], list[float]],
    *,
    low: float,
    high: float,
    whole: bool,
    start: float,
    ratio: float = 2.0,
) -> float:
    """The setting in [low, high] with the smallest error, for an error with few local minima on a logarithmic scale.

    After ``start`` comes a grid over the whole range with steps of ``ratio``, then finer ones around its lowest point
    (and around a second local minimum that is nearly as low), until neighboring whole numbers, or numbers that differ
    by less than 2 percent (whole ones: 0.2 percent), have been compared.  ``errors`` gives those of all settings of a
    grid at once.

    Examples
    --------
    >>> best_in_passes(lambda grid: [(k - 37) ** 2 for k in grid], low=1, high=10**6, whole=True, start=500)
    37
    """
    start = min(max(start, low), high)
    known = {start: errors([start])[0]}
    fresh = _grid(low, high, whole, math.ceil(math.log(high / low) / math.log(ratio)) + 1)
    fresh = sorted(set(fresh) - known.keys())
    close = _CLOSE_WHOLE if whole else _CLOSE
    while fresh:
        known.update(zip(fresh, errors(fresh), strict=True))
        places = sorted(known)
        between: set[float] = set()
        for i in _valleys([known[s] for s in places]):
            for a, b in ((i - 1, i), (i, i + 1)):
                if a >= 0 and b < len(places) and places[b] > places[a] * close:
                    between.update(_grid(places[a], places[b], whole, 4))
        fresh = sorted(between - known.keys())
    return min(known, key=lambda s: known[s])


def _grid(low: float, high: float, whole: bool, points: int) -> list[float]:
    """A geometric grid with both ends, or all whole numbers if they are few."""
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
