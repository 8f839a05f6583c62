"""The wheel on sets of two items: the laws of every two sets among every third one.

A report is a point y of a circle of N points, seen with the arcs of all items; items are independent and uniform.  An
item covers y with probability w = W/N, else its arc starts at one of N - W places.  A set {a, b} has the density
on = e/Omega at y if one of its arcs covers it, else a density that rises from lo = 1/Omega, for disjoint arcs, to
hi = (w on + (1-2w) lo)/(1-w), for arcs that coincide: lo + h (hi - lo), h = (N-W)/W (W-x)/(N-W-x) if they start x < W
places apart, and h = 0 beyond.

Replacing the density of each of the three sets, on its own, by hi with probability h and by lo otherwise keeps the mean
of all three laws (docs/swap.md, Theorem 3, step 1).  Then every set is in one of three states.  Sets are edges of a
graph whose vertices are the items, and given which items cover y, the chance that the sets of a group without such
items all become hi is a product over connected groups: E h = w/(1-w) for one set, because densities have the mean 1 on
every circle, and four more numbers, for two sets with a common item and for three of them in a path, a star or a
triangle.  Inclusion and exclusion give the rest, so that the law of the states is affine in these numbers, and the
swap bound convex: it is largest at a corner of any polygon that they lie in, and the corners are listed.

The polygon.  Let H be E h given one of the two places.  It is least, at least W/(2 (N-W)), if that place is next to y,
and at most (1 + W (N-W)/(N-2W))/(N-W), because (W-x)/W <= h <= (W-x)/W (N-W)/(N-2W).  With a set {a, b} and another one
{b, c} the number is E H^2, at least (E H)^2 and at most (E H)^2 + (max - E H)(E H - min); a star has E H^3 and a path
E[H h H] with E[H h] = E H^2: both are E H^2 times something from min to max.  A triangle is at most a path of two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.pair import FloatArray, ShuffledPair

#: What ends of an interval are moved by, and what t is lowered by, for rounding; SLACK is for P0 and P1.
_ROUNDING, _LOWERED = 1e-12, 1.0 - 2.0**-41
SLACK = 2.0**-40

Edge = tuple[int, int]


class Shape(IntEnum):
    """How several sets hang together."""

    PAIR = 0
    PATH = 1
    STAR = 2
    TRIANGLE = 3


def laws(points: int, width: int, densities: tuple[float, float], items: int) -> list[ShuffledPair]:
    """The types of all pairs of sets, with the densities on and lo, if there are this many items."""
    w = width / points
    on, lo = densities
    hi = (w * on + (1.0 - 2.0 * w) * lo) / (1.0 - w)
    single, squares, cubes = moments(points, width)
    ratios = {Shape.PAIR: (1.0,), Shape.PATH: cubes, Shape.STAR: cubes, Shape.TRIANGLE: (0.0, 1.0)}
    found: dict[bytes, ShuffledPair] = {}
    for edges in _patterns(items):
        shapes = sorted({shape for some in _groups(edges) if (shape := _shape(some)) is not None})
        for square, *ends in itertools.product(squares, *(ratios[shape] for shape in shapes)):
            known = {shape: square * end for shape, end in zip(shapes, ends, strict=True)}
            states = _states(edges, w, single, known)
            if states.min() < 0.0:
                raise BoundNotApplicableError(
                    f"bound 'swap' of the wheel needs arcs that are not so long, got {w:.4g}; use bound='auto'."
                )
            values = np.meshgrid(*3 * [np.array([on, lo, hi])], indexing="ij")
            live = states > 0.0
            p0, p1, t = (states[live] * value[live] for value in values)
            found.setdefault(states.tobytes(), ShuffledPair(p0, p1, t * _LOWERED))
    return list(found.values())


def _patterns(items: int) -> Iterator[tuple[Edge, Edge, Edge]]:
    """Two different sets and a third one, each a pair of items, up to the names of the items."""
    for second, alike in (((2, 3), (0, 2, 4)), ((1, 2), (3,))):  # i and i + 1 are alike for these i
        known = second[1] + 1
        if known <= items:
            for third in itertools.combinations(range(min(known + 2, items)), 2):
                if not any(i + 1 in third and i not in third for i in alike):
                    yield (0, 1), second, third


def _groups(edges: Sequence[Edge]) -> Iterator[tuple[Edge, ...]]:
    """All sets of different edges."""
    different = list(dict.fromkeys(edges))
    for size in range(len(different) + 1):
        yield from itertools.combinations(different, size)


def _shape(edges: Sequence[Edge]) -> Shape | None:
    """The shape of a connected group of two or three edges; None: single edges, or not connected."""
    items = set(itertools.chain(*edges))
    if len(edges) == 2:
        return Shape.PAIR if len(items) == 3 else None
    if len(edges) != 3 or len(items) > 4:
        return None
    if len(items) == 3:
        return Shape.TRIANGLE
    degree = max(sum(item in edge for edge in edges) for item in items)
    return Shape.STAR if degree == 3 else Shape.PATH


def _moment(edges: Sequence[Edge], single: float, known: Mapping[Shape, float]) -> float:
    """The chance that all of these sets become hi, if none of their items covers y."""
    left, product = list(edges), 1.0
    while left:
        group = [left.pop()]
        while near := [edge for edge in left if any(set(edge) & set(other) for other in group)]:
            group += near
            left = [edge for edge in left if edge not in near]
        shape = _shape(group)
        product *= single if shape is None else known[shape]
    return product


def _states(edges: Sequence[Edge], w: float, single: float, known: Mapping[Shape, float]) -> FloatArray:
    """The chance of every three states of the three sets: on, lo or hi."""
    out = np.zeros((3, 3, 3))
    items = sorted(set(itertools.chain(*edges)))
    for covered in itertools.product((False, True), repeat=len(items)):
        on = {item for item, there in zip(items, covered, strict=True) if there}
        chance = math.prod(w if there else 1.0 - w for there in covered)
        off = [edge for edge in dict.fromkeys(edges) if not on & set(edge)]
        for high in _groups(off):
            # exactly these become hi: inclusion and exclusion over those that may as well
            rest = [edge for edge in off if edge not in high]
            share = sum((-1) ** len(more) * _moment([*high, *more], single, known) for more in _groups(rest))
            state = tuple(0 if on & set(edge) else 2 if edge in high else 1 for edge in edges)
            out[state] += chance * share
    return out


def moments(points: int, width: int) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """E h; the least and the largest that E H^2 may be; and E H^3 or E[H h H] over it."""
    places = points - width
    mean = width / places
    least, most = 0.5 * mean, min((1.0 + width * places / (points - 2 * width)) / places, 1.0)
    square = mean * mean, mean * mean + max(most - mean, 0.0) * (mean - least)
    low, high = 1.0 - _ROUNDING, 1.0 + _ROUNDING
    return mean, (low * square[0], high * square[1]), (low * least, high * most)
