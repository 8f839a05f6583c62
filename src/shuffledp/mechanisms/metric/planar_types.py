"""Planar Laplace noise: laws of a slot that cover all pairs that are near and all that the others hold (Lemma 19).

The victim is at x0 = (0, 0) or x1 = (t, 0), t <= d01, another user at r; some disk of diameter dmax holds the three, so
that r lies in F(t), the union of such disks, which shrinks as t grows.  Reflections cover the other direction and r
below the axis.  R_x is the law of a user at x.

- *Places.*  If x is a mean sum a_g g of points with distances up to D, then R_x >= e^(-D^2/8) sum a_g R_g: types g
  "present with probability e^(-D^2/8)" (Remark (d) of docs/swap.md).
- *Distances.*  If low <= t <= high = low + D, then P0 - E P_t is at most a mean of P0 - E' P_low and P0 - E' P_high,
  E' = E e^(-D^2/8): pairs at ``low`` and ``high`` among r in F(low), with eps shifted by D^2/8.

Points lie on rings: the first is a polygon around F(low), each next one is nearer to the middle, with fewer points;
triangles fill the strips between them.  How wide triangles and steps of the distance are decides only how sharp the
bound is.  A type counts by its mean of e^(cX) - 1 - cX, at the c that about n users and a delta of 1e-6 call for: by it
alone types exceed each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import Rows
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, Side
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, TypeTable
from .planar_laws import Cells, Detail, among, cells, logs_of_v, victim

#: By how much the logarithm of a mean may exceed that of the worst pair and type: doubled until there are few types.
_ROOM, _MOST_TYPES = 0.018, 1_200
#: The largest domain: beyond, an answer takes too long.
_WIDEST = 6.0
#: By about what share eps jumps where the mesh changes.
_STEPS = 5e-3
#: Steps of the distance at most, and what the next distance takes of the room.
_MOST_STEPS, _STEP = 48, 0.5
#: Sides of a triangle in units of the longest one that its room allows, and by how much that changes along a ring.
_SIDE, _SLOPE = 0.6, 0.2
#: A ring is at least this large in units of the one around it; or it is the middle, if all of it would be smaller.
_SHRINK = 0.3
#: Angles at which the rim is looked at.
_LOOKS = 33
#: Cells for a first look, and for types.
_ROUGH, _FINE = Detail(12, 1, 0.3, 0.3), Detail(16, 2, 0.15, 0.2)
#: eps and the abscissa c for a delta of about 1e-6, in deviations of the sum.
_EPS, _ABSCISSA = 3.7, 4.2


class Scale(NamedTuple):
    """What types are measured by: the abscissa c, eps, and the logarithm of the largest mean that is allowed."""

    c: float
    eps: float
    most: float

    def room(self, of: Cells, places: FloatArray) -> FloatArray:
        """How far the mean of e^(cX) - 1 - cX for users at each place is below the largest allowed one: its logarithm.

        To some percent: how fine the cells are rests on it, and nothing else.
        """
        v = np.exp([logs_of_v(of, places * [1.0, side]) for side in (1.0, -1.0)])
        rise = (np.expm1(of.g) - math.expm1(self.eps))[np.array([of.turn, of.turn + 1])][:, :, None]
        x = self.c * rise * v
        excess = 0.5 * x * x * np.exp(x / 3.0) * (1.0 + x * x / 36.0)  # about e^x - 1 - x, without cancellation
        return np.asarray(self.most - np.log((of.mass / v * excess).sum(axis=(0, 2, 3, 4))))


class Near(NamedTuple):
    """Pairs ``apart`` from each other among users in F(low), with eps shifted by ``shift``."""

    apart: float
    low: float
    shift: float


class NearPlaces(SwapSet):
    """All pairs at most ``apart`` from each other in a domain of diameter ``wide``; the laws depend on about how many.

    ``slack`` is added to every shift of eps, and the masses of the others are lowered by that share.
    """

    def __init__(self, apart: float, wide: float, slack: float) -> None:
        super().__init__(())
        if (dmax := wide - slack) > _WIDEST:  # wide is dmax raised by the slack
            raise BoundNotApplicableError(
                f"bound 'swap' of planar Laplace noise needs dmax up to {_WIDEST:g}, got {dmax:.9g}: beyond, it takes "
                "too many laws; use bound='auto'."
            )
        self._of = apart, wide, slack

    @property
    def steps(self) -> float:
        """The mesh changes with the distances."""
        return _STEPS

    @classmethod
    def parts(cls, families: Sequence[Self], n: FloatArray) -> list[IntArray]:
        """All questions in one part, but those of too many users."""
        kept = np.flatnonzero([family.covers(users) for family, users in zip(families, n.tolist(), strict=True)])
        return [kept] if kept.size else []

    def covers(self, n: float) -> bool:
        """Not so many users that steps would shift eps by a fourth of itself."""
        shift = (self._of[0] / _MOST_STEPS) ** 2 / 8.0
        return shift < 0.25 * _scale(*self._of[:2], self._about(n)).eps

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per distance."""
        sets = [_members(*f._of, f._about(x)) for f, x in zip(families, n.tolist(), strict=True)]
        return SwapSet.rows(sets, n, tol, side)

    def _about(self, n: float) -> float:
        """Users, to half a decade."""
        return float(10.0 ** (0.5 * round(2.0 * math.log10(n))))

    def members(self, most: int) -> None:
        """None: they depend on the number of users."""
        return


@lru_cache(maxsize=16)
def _members(apart: float, wide: float, slack: float, users: float) -> SwapSet:
    worst, common, found = _scale(apart, wide, users), math.exp(-0.5 * wide) * (1.0 - slack), []
    room, types = _ROOM, math.inf
    while types > _MOST_TYPES:
        scale, room = worst._replace(most=worst.most + room), 2.0 * room
        listed = distances(scale, apart, wide)
        types = len(listed) * len(mesh(scale, listed[len(listed) // 2], wide)[0])
    for near in listed:
        alone, more = victim(cells(0.5 * near.apart, wide, _FINE)), partial(_table, scale, near, wide, 1.0 - slack)
        found.append(SwapPair((ShuffledPair(*alone),), common, more=more, slack=near.shift + slack))
    return SwapSet(found)


@lru_cache(maxsize=64)
def _scale(apart: float, wide: float, users: float) -> Scale:
    """The largest mean is that of the worst place for the worst distance, which need not be the largest one."""
    small = 1e-3 * math.exp(-wide) / -math.expm1(-apart)

    def largest(scale: Scale) -> float:
        return max(float(-scale.room(*_at(t, t, wide)).min()) for t in apart * np.linspace(1.0, 0.2, 9))

    deviation = math.sqrt(2.0 * math.exp(largest(Scale(small, 0.0, 0.0))) / users) / small
    found = Scale(min(_ABSCISSA / (deviation * users), 2e3 * small), min(_EPS * deviation, 0.5 * apart), 0.0)
    return found._replace(most=largest(found))


def _at(t: float, low: float, wide: float) -> tuple[Cells, FloatArray]:
    """Cells for a first look at a pair t apart, and some places on the rim of F(low), on the side of x0."""
    return cells(0.5 * t, wide, _ROUGH), _rim(low, wide, np.linspace(0.4 * math.pi, math.pi, 6))[1] - [0.5 * t, 0.0]


def distances(scale: Scale, apart: float, wide: float) -> list[Near]:
    """From ``apart`` down to 0; the first steps are short, as the smaller of two distances lets others be further."""
    steps = [apart]
    while steps[-1] > 0.0:
        t, room = steps[-1], float(scale.room(*_at(steps[-1], steps[-1], wide)).min())
        step = min(t, 3.0 * (steps[-2] - t)) if len(steps) > 1 else 0.1 * t
        while step > apart / _MOST_STEPS:
            worst = scale.most - float(scale.room(*_at(t, t - step, wide)).min())
            if math.log(math.exp(worst) + scale.c * step * step / 8.0) <= scale.most - (1.0 - _STEP) * room:
                break
            step *= 0.8
        steps.append(max(t - step, 0.0))
    widths = [high - low for high, low in pairwise(steps)]
    shifts = [max(both) ** 2 / 8.0 * (1.0 + 1e-12) for both in zip(widths, [0.0, *widths], strict=False)]
    return [Near(high, low, shift) for (high, low), shift in zip(pairwise(steps), shifts, strict=True)]


def _table(scale: Scale, near: Near, wide: float, factor: float) -> TypeTable:
    """The laws among users at all points of the mesh."""
    places, share = mesh(scale, near, wide)
    p0, p1, t = among(cells(0.5 * near.apart, wide, _FINE), places, _FINE.level)
    return TypeTable(p0, p1, factor * share[:, None] * t)


def mesh(scale: Scale, near: Near, wide: float) -> tuple[FloatArray, FloatArray]:
    """Corners of triangles that cover F(low) above the axis, and the smallest e^(-D^2/8) of the triangles of each.

    Corners are seen from the middle of the pair.
    """
    taken = scale.c * near.shift * math.exp(-scale.most)  # a shift of eps adds c times as much to the mean
    scale = scale._replace(most=scale.most + math.log(max(1.0 - taken, 0.5)))
    rough, pair = cells(0.5 * near.apart, wide, _ROUGH), np.array([0.5 * near.apart, 0.0])

    def sides(places: FloatArray) -> FloatArray:
        """How long sides of triangles should be, for the room at some places."""
        longest = np.sqrt(8.0 * np.maximum(scale.room(rough, places), 0.25 * _ROOM))
        apart = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
        return np.asarray(_SIDE * (longest + _SLOPE * apart).min(axis=1))

    looks = np.linspace(0.0, math.pi, _LOOKS)
    rim = _rim(near.low, wide, looks)[1] - pair
    ring = _polygon(near.low, wide, _even(looks, rim, sides(rim))) - pair
    middle, points, corners = np.array([0.5 * near.low, 0.0]) - pair, ring, list[tuple[int, int, int]]()
    while len(ring) > 1:
        side, ray, first = sides(ring), ring - middle, len(points) - len(ring)
        left = 1.0 - side / np.hypot(ray[:, 0], ray[:, 1])
        inner = middle + np.maximum(left, _SHRINK)[:, None] * ray
        ring = middle[None] if left.max() < _SHRINK else np.stack([_even(x, inner, side) for x in inner.T], axis=1)
        corners += _strip(points[first:], ring, first)
        points = np.vstack([points, ring])
    edges = points[corners] - points[np.roll(corners, 1, axis=1)]
    longest = np.hypot(edges[..., 0], edges[..., 1]).max(axis=1) * (1.0 + 1e-14)
    share = np.ones(len(points))
    np.minimum.at(share, np.array(corners), (np.exp(-(longest**2) / 8.0) * (1.0 - 1e-14))[:, None])
    return points, share


def _even(values: FloatArray, points: FloatArray, side: FloatArray) -> FloatArray:
    """Values along a polyline, given at its points: at both ends, and at places between about ``side`` apart."""
    units = np.hypot(*np.diff(points, axis=0).T) / np.minimum(side[:-1], side[1:])
    total = np.append(0.0, np.cumsum(units))
    return np.interp(np.linspace(0.0, total[-1], max(math.ceil(total[-1]), 3) + 1), total, values)


def _strip(outer: FloatArray, inner: FloatArray, first: int) -> list[tuple[int, int, int]]:
    """Triangles between two rings, with the shorter diagonals; the points of the first one are numbered from ``first``.

    Each has an edge with the one before in common: together they leave no gap between the rings (Lemma 19).
    """
    found, i, j = [], 0, 0
    while (i, j) != (last := (len(outer) - 1, len(inner) - 1)):
        ahead = math.dist(outer[i + 1], inner[j]) if i < last[0] else math.inf
        behind = math.dist(outer[i], inner[j + 1]) if j < last[1] else math.inf
        a, b = (i + 1, j) if ahead <= behind else (i, j + 1)
        found.append((first + i, first + len(outer) + j, first + (a if a > i else len(outer) + b)))
        i, j = a, b
    return found


def _rim(low: float, wide: float, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Normals of F(low) at some angles from 0 to pi, and where its tangents touch it.

    F(low) is the set of all points within dmax/2 of a lens, that of the middles of disks that hold x0 and x1.  Where
    its normal has the angle u, it is bounded by a circle of radius dmax around x0 or x1, or of dmax/2 around the tip of
    the lens.
    """
    tip = np.array([0.5 * low, 0.5 * math.sqrt(max(wide * wide - low * low, 0.0))])
    turn, normal = math.atan2(tip[1], tip[0]), np.array([np.cos(u), np.sin(u)])
    at_tip = (turn < u) & (u < math.pi - turn)
    center = np.where(at_tip, tip[:, None], [np.where(u <= turn, 0.0, low), 0.0 * u])
    return normal.T, (center + np.where(at_tip, 0.5 * wide, wide) * normal).T


def _polygon(low: float, wide: float, u: FloatArray) -> FloatArray:
    """Corners, from right to left, of a polygon that holds F(low) above the axis: where tangents meet; and its ends."""
    normals, points = _rim(low, wide, u)
    at = (normals * points).sum(axis=1, keepdims=True)
    corners = np.linalg.solve(*(np.stack([lines[:-1], lines[1:]], axis=1) for lines in (normals, at)))
    return np.vstack([points[:1], corners[..., 0], points[-1:]])
