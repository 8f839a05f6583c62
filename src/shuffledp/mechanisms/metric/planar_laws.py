"""Planar Laplace noise: a law of a slot on finitely many values that dominates the one on the plane (Lemma 18).

The victim is at x0 = (-h, 0) or x1 = (h, 0), another user at r, with the densities P0, P1 and R, and v = P1/R.  In
elliptic coordinates y = h (cosh m cos a, sinh m sin a) is h (cosh m + cos a) away from x0 and h (cosh m - cos a) from
x1, and the element of area is h^2 (cosh^2 m - cos^2 a) dm da.  So P0/P1 = e^g with g = -2h cos a, whatever m and r are,
and moments of polynomials under P1 over a cell of (m, a) are products of integrals over m and over a, of entire
functions: Gauss and Legendre's rule has them to all digits.  Nothing is integrated against R, which has a cone at r.

Every report of a cell is split twice, both times with its means of P0, P1 and R kept:

- between the two values of g at the ends of an interval of angles that holds the cell;
- then between two values of v, below and above all of the cell, and "nothing".  For that the mass of R need only be
  known from below: by Jensen's inequality it is at least mass(P1) exp(-mean of log v), and the mean of log v =
  |y-r| - |y-x1| at most the root of the mean of |y-r|^2, less that of |y-x1|.

R is never divided by its sum: the masses add up to less than 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...numerics.pair import FloatArray, IntArray
from ...numerics.rows import chunks

#: Nodes of a quadrature over one cell in m or a.
_NODES = 12
#: The exponent h cosh m changes by at most this much in a quadrature, and m by this much.
_FALL, _WIDE = 3.0, 0.25
#: Beyond this many units all reports of an angle are one cell; what lies further out is e^-60 of that cell.
_FAR, _LAST = 40.0, 100.0
#: More than any derivative, and less than any distance that counts.
_STEEP, _TINY = 1e100, 1e-100
#: Every interval of log v is made wider by this much at both ends, and a mean of log v is raised by less.
_ROUNDING, _LIFT = 1e-5, 1e-9
#: Steps of log v grow by this ratio where v is small; and the numbers that are worked on at once.
_GROWTH, _AT_ONCE = 1.3, 50_000

#: P0, P1 and t of the symbols of a slot, or of several.
Slot = tuple[FloatArray, FloatArray, FloatArray]


class Detail(NamedTuple):
    """How fine a law is: intervals of g, angles in each of them, steps of |y|, steps of log v."""

    turns: int
    angles: int
    step: float
    level: float


class Cells(NamedTuple):
    """The upper half of the plane in cells (angle, m), and what P1 has there; the lower half is its mirror image.

    Arrays with a first axis of 2 are about the parts of P1 that are moved to the lower and to the upper end of g.
    """

    half: float
    g: FloatArray  # ends of the intervals, rising
    turn: IntArray  # which interval an angle belongs to
    mass: FloatArray  # (end, angle, m): of a part of P1
    near: FloatArray  # mean of |y - x1|
    square: FloatArray  # mean of |y|^2
    x: FloatArray  # mean of the coordinates
    y: FloatArray
    middle: tuple[FloatArray, FloatArray, FloatArray]  # a point of the cell, and its |y - x1|
    by_a: tuple[FloatArray, FloatArray, FloatArray]  # their derivatives by a, times half a side
    by_m: tuple[FloatArray, FloatArray, FloatArray]
    bend: FloatArray  # how far a point may be from the one that these derivatives give
    reach: FloatArray  # how far a point may be from that in the middle


@lru_cache(maxsize=64)
def cells(half: float, wide: float, detail: Detail) -> Cells:
    """Cells for a pair 2 ``half`` apart in a domain of diameter ``wide``."""
    ends = np.linspace(0.0, math.pi, detail.turns + 1)
    a = np.linspace(0.0, math.pi, detail.turns * detail.angles + 1)
    turn = np.repeat(np.arange(detail.turns), detail.angles)
    g = -2.0 * half * np.cos(ends)
    m, first = levels(half, wide, detail.step)

    node, weight = nodes(a, _NODES)
    cos, sin = np.cos(node), np.sin(node)
    low, high = g[turn][:, None], g[turn + 1][:, None]
    above = np.expm1(-2.0 * half * cos - low) / np.expm1(high - low)
    weight = np.stack([1.0 - above, above]) * np.exp(half * cos - half) * weight
    by_a = [(weight * cos**k).sum(axis=2)[:, :, None] for k in range(5)]
    by_sin = [(weight * sin * cos**k).sum(axis=2)[:, :, None] for k in range(3)]

    node, weight = nodes(m, _NODES)
    cosh, sinh = np.cosh(node), np.sinh(node)
    weight = weight * np.exp(half - half * cosh)
    by_m = [np.add.reduceat((weight * cosh**k).sum(axis=1), first) for k in range(5)]
    by_sinh = [np.add.reduceat((weight * sinh * cosh**k).sum(axis=1), first) for k in range(3)]

    def area(i: int, j: int) -> FloatArray:
        """The integral of cosh^i m cos^j a (cosh^2 m - cos^2 a)."""
        return np.asarray(by_m[i + 2] * by_a[j] - by_m[i] * by_a[j + 2])

    element = area(0, 0)
    square = (area(2, 0) + area(0, 2)) / element - 1.0
    across = (by_sinh[2] * by_sin[0] - by_sinh[0] * by_sin[2]) / element
    edge = np.append(m[first], m[-1])
    at_a, at_m = 0.5 * (a[:-1] + a[1:])[:, None], 0.5 * (edge[:-1] + edge[1:])
    wide_a, wide_m = 0.5 * half * np.diff(a)[:, None], 0.5 * half * np.diff(edge)
    longest = np.append(np.cosh(edge[1:-1]), _STEEP)
    (c, s), (ch, sh) = (np.cos(at_a), np.sin(at_a)), (np.cosh(at_m), np.sinh(at_m))
    return Cells(
        half,
        g,
        turn,
        half**2 / (2.0 * math.pi) * element,
        half * (area(1, 0) - area(0, 1)) / element,
        half**2 * square,
        half * area(1, 1) / element,
        half * across,
        (half * ch * c, half * sh * s, half * (ch - c)),
        (-wide_a * ch * s, wide_a * sh * c, wide_a * s),
        (wide_m * sh * c, wide_m * ch * s, wide_m * sh),
        0.5 / half * np.cosh(edge[1:]) * (wide_a + wide_m) ** 2,
        longest * np.hypot(wide_a, wide_m),
    )


def levels(half: float, wide: float, step: float) -> tuple[FloatArray, IntArray]:
    """Ends of intervals of m, and which of them begin a cell: narrow where the places are, then wider."""
    ends, first = [0.0], list[int]()
    while half * math.cosh(ends[-1]) < half + _LAST:
        beyond = max(half * (math.cosh(ends[-1]) - 1.0) - 0.6 * wide, 0.0)
        if beyond < _FAR:
            first.append(len(ends) - 1)
        length = min(step * math.exp(0.2 * beyond) * (1.0 + 0.2 * beyond), _FALL)
        rise = half * math.sinh(ends[-1])
        ends.append(ends[-1] + min(_WIDE, 2.0 * length / (rise + math.sqrt(rise * rise + 2.0 * half * length))))
    return np.array(ends), np.array(first)


def nodes(ends: FloatArray, number: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the rule of Gauss and Legendre in every interval."""
    points, weights = np.polynomial.legendre.leggauss(number)
    wide = np.diff(ends)[:, None]
    return ends[:-1, None] + 0.5 * wide * (points + 1.0), 0.5 * wide * weights


def victim(of: Cells) -> Slot:
    """The victim's laws, on values of g alone, among others who hold x1."""
    mass = 2.0 * of.mass.sum(axis=2)
    p1 = np.zeros(of.g.size)
    np.add.at(p1, [of.turn, of.turn + 1], mass)
    return p1 * np.exp(of.g), p1, p1


def logs_of_v(of: Cells, places: FloatArray) -> FloatArray:
    """Mean of log v by place and part of a cell, rounded up."""
    x, y = (places[..., k, None, None, None] for k in (0, 1))
    square = of.square - 2.0 * (x * of.x + y * of.y) + (x * x + y * y)
    return np.asarray(np.sqrt(np.maximum(square, 0.0)) - of.near)


def range_of_v(of: Cells, places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Below and above log v = |y-r| - |y-x1|, by place and cell.

    Its gradient is the difference of the unit vectors from r and x1, of length q <= 2 |r - x1|/(|y-r| + |y-x1|): within
    ``reach`` of the middle log v changes by at most q reach.  Or by what its derivatives in the middle say, and by what
    is left, as distances are convex, with curvature at most 1/distance.
    """
    at_x, at_y = (places[..., k, None, None] for k in (0, 1))
    x, y, away = of.middle[0] - at_x, of.middle[1] - at_y, np.hypot(at_x - of.half, at_y)
    distance = np.maximum(np.sqrt(x * x + y * y), _TINY)
    nearest, least = (np.maximum(d - of.reach, _TINY) for d in (distance, of.middle[2]))
    q = 2.0 * np.minimum(away / (nearest + least), 1.0)
    by_a, by_m = ((x * d[0] + y * d[1]) / distance - d[2] for d in (of.by_a, of.by_m))
    bend = q * of.bend + 0.5 * of.reach**2 / np.minimum(nearest, least)
    off = np.minimum(q * of.reach, np.abs(by_a) + np.abs(by_m) + bend)
    at = distance - of.middle[2]
    return np.maximum(at - off, -away) - _ROUNDING, np.minimum(at + off, away) + _ROUNDING


def among(of: Cells, places: FloatArray, level: float) -> Slot:
    """The laws of a slot among others who hold each place: P0, P1 and a part of R, on few values of (P0/R, P1/R)."""
    far = np.hypot(places[:, 0] - of.half, places[:, 1]) + 2.0 * _ROUNDING
    depth = _depths(float(far.max()), level)
    parts = chunks(np.full(len(places), 2.0 * of.mass.size), _AT_ONCE)
    t = np.concatenate([_masses(of, places[part], far[part, None, None, None], depth) for part in parts])
    p1, live = t * np.exp(far[:, None, None] - depth), t.any(axis=0)
    return (p1 * np.exp(of.g)[:, None])[:, live], p1[:, live], t[:, live]


def _masses(of: Cells, places: FloatArray, far: FloatArray, depth: FloatArray) -> FloatArray:
    """The part of R by place, value of g and value of log v, which is ``depth`` below ``far``."""
    size, fall = (len(places), of.g.size, depth.size), np.exp(-depth)
    total, step = np.zeros(math.prod(size)), -np.diff(fall)
    start = (np.arange(len(places))[:, None, None, None] * of.g.size + [[[0]], [[1]]] + of.turn[:, None]) * depth.size
    for mirror in (1.0, -1.0):
        here = places * [1.0, mirror]
        ends = [end[:, None] for end in range_of_v(of, here)]  # the same for both parts of a cell
        below, above = np.exp(ends[0]), np.exp(ends[1])
        t = least_mass(of.mass, logs_of_v(of, here), ends)
        up = np.maximum(of.mass - t * below, 0.0) / (above - below)
        down = np.maximum(t * above - of.mass, 0.0) / (above - below)
        for end, value, part in ((ends[0], below, down), (ends[1], above, up)):
            at = np.clip(np.searchsorted(depth, far - end) - 1, 0, depth.size - 2)
            share = np.clip((fall.take(at) - value * np.exp(-far)) / step.take(at), 0.0, 1.0)
            symbol = (start + at).ravel()
            total += np.bincount(symbol, (part * (1.0 - share)).ravel(), total.size)
            total += np.bincount(symbol + 1, (part * share).ravel(), total.size)
    return total.reshape(size)


def least_mass(mass: FloatArray, log_v: FloatArray, ends: Sequence[FloatArray]) -> FloatArray:
    """At most the integral of R over a part of a cell, given that of P1, the mean of log v and the range of log v."""
    return np.asarray(mass * np.exp(-np.clip(log_v + _LIFT, *ends)))


def _depths(far: float, level: float) -> FloatArray:
    """How far values of log v are below the largest one, ``far``: fine there, as large v decide the spread of X."""
    found, step = [0.0], level
    while found[-1] < 2.0 * far:
        step *= _GROWTH if found[-1] > 0.6 * far else 1.0
        found.append(min(found[-1] + step, 2.0 * far))
    return np.array(found)
