"""Planar Laplace noise: laws of a slot that cover all pairs that are near and all that the others hold (Lemma 19).

The victim is at x0 = (0, 0) or x1 = (t, 0), t <= d01, another user at r; some disk of diameter dmax holds the three, so
that r lies in F(t), the union of such disks, which shrinks as t grows.  Reflections cover the other direction and r
below the axis.  R_x is the law of a user at x.

- *Places.*  If x is a mean sum a_g g of points with distances up to D, then R_x >= e^(-D^2/8) sum a_g R_g: types g
  "present with probability e^(-D^2/8)" (Remark (d) of docs/swap.md).
- *Distances.*  If low <= t <= high = low + D, then P0 - E P_t is at most a mean of P0 - E' P_low and P0 - E' P_high,
  E' = E e^(-D^2/8): pairs at ``low`` and ``high`` among r in F(low), with eps shifted by D^2/8.

Points lie on rings: the first is a polygon around F(low), each next one is nearer to the middle, with fewer points.
How wide cells and steps of the distance are decides only how sharp the bound is.  A type counts by its mean of
e^(cX) - 1 - cX, at the c that about n users and a delta of 1e-6 call for: by it alone types exceed each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations, pairwise
from typing import NamedTuple, Self

import numpy as np

from ...errors import BoundNotApplicableError
from ...numerics.family import Rows
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, Side
from ...numerics.rows import pad
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, TypeTable
from .planar_laws import Cells, Detail, among, cells, logs_of_v, victim

#: By how much the logarithm of a mean may exceed that of the worst pair and type: the first that makes few types.
_ROOMS, _MOST_TYPES = (0.015, 0.02, 0.03, 0.045, 0.065, 0.09, 0.13, 0.2, 0.3, 0.4), 1_000
#: The largest domain: beyond, an answer takes too long.
_WIDEST = 6.0
#: By about what share eps jumps where the mesh changes.
_STEPS = 5e-3
#: Steps of the distance at most.
_MOST_STEPS = 48
#: What the next distance takes of the room; depth and length of a cell in units of the largest one, and by how much the
#: depth may change from point to point.
_STEP, _DEEP, _LONG, _SLOPE = 0.5, 0.65, 0.65, 0.4
#: The accuracy of eps for which the sums are dithered: much finer than the cells.
_DITHERED = 4e-4
#: Angles at which the rim is looked at, and by how much tangents that meet differ at least; how often a cell that is
#: too wide is made less deep.
_LOOKS, _LEAST_TURN, _TRIES = 33, 1e-3, 8
#: Cells for a first look, and for types by the room that they have left.
_ROUGH, _FINE = Detail(12, 1, 0.3, 0.3), Detail(20, 2, 0.1, 0.15)
_DETAILS = ((-math.inf, _FINE), (0.05, Detail(16, 2, 0.15, 0.2)), (0.3, _ROUGH), (math.inf, _ROUGH))
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

    def __init__(self, apart: float, wide: float, slack: float, chance: float = 1.0) -> None:
        super().__init__(())
        if (dmax := wide - slack) > _WIDEST:  # wide is dmax raised by the slack
            raise BoundNotApplicableError(
                f"bound 'swap' of planar Laplace noise needs dmax up to {_WIDEST:g}, got {dmax:.9g}: beyond, it takes "
                "too many laws; use bound='auto'."
            )
        self._of, self._chance = (apart, wide, slack), chance

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
        sets = [_members(*f._of, f._about(x), f._chance) for f, x in zip(families, n.tolist(), strict=True)]
        return SwapSet.rows(sets, n, max(tol, _DITHERED), side)

    def _about(self, n: float) -> float:
        """Users who take part, to half a decade."""
        return float(10.0 ** (0.5 * round(2.0 * math.log10(n * self._chance))))

    def members(self, most: int) -> None:
        """None: they depend on the number of users."""
        return

    def thinned(self, chance: float) -> NearPlaces:
        """Every other user takes part with this probability, independently."""
        return self if chance == 1.0 else NearPlaces(*self._of, self._chance * chance)


@lru_cache(maxsize=16)
def _members(apart: float, wide: float, slack: float, users: float, chance: float) -> SwapSet:
    worst, common, found = _scale(apart, wide, users), math.exp(-0.5 * wide) * (1.0 - slack), []
    for room in _ROOMS:
        scale = worst._replace(most=worst.most + room)
        listed = distances(scale, apart, wide)
        if len(listed) * len(mesh(scale, listed[len(listed) // 2], wide)) <= _MOST_TYPES:
            break
    for near in listed:
        alone, more = victim(cells(0.5 * near.apart, wide, _FINE)), partial(_table, scale, near, wide, 1.0 - slack)
        found.append(SwapPair((ShuffledPair(*alone),), common, more=more, slack=near.shift + slack))
    return SwapSet([member.thinned(chance) for member in found])


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
    """Cells for a first look at a pair t apart, and places on the rim of F(low) that may be the worst.

    They are beyond x0, opposite to x1, and opposite to the middle of x0 and x1.
    """
    top = math.sqrt(max(wide * wide - low * low, 0.0))
    ends = np.array([[low - wide, 0.0], [0.0, top], [0.5 * low, 0.5 * (top + wide)]])
    return cells(0.5 * t, wide, _ROUGH), ends - [0.5 * t, 0.0]


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
    """The laws among users at all points of the mesh, in cells as fine as their room calls for."""
    slots = list[tuple[FloatArray, ...]]()
    places, share, room = map(np.array, zip(*mesh(scale, near, wide), strict=True))
    left = room + np.log(share)
    for (least, detail), (most, _) in pairwise(_DETAILS):
        if (some := (least < left) & (left <= most)).any():
            p0, p1, t = among(cells(0.5 * near.apart, wide, detail), places[some], detail.level)
            slots += zip(p0, p1, factor * share[some, None] * t, strict=True)
    return TypeTable(*(pad(column) for column in zip(*slots, strict=True)))


#: A point, seen from the middle of the pair; with what probability users there are present; its room.
Type = tuple[tuple[float, float], float, float]


def mesh(scale: Scale, near: Near, wide: float) -> list[Type]:
    """Points whose cells cover F(low) above the axis, each with the smallest e^(-D^2/8) of the cells that it is of."""
    taken = scale.c * near.shift * math.exp(-scale.most)  # a shift of eps adds c times as much to the mean
    scale = scale._replace(most=scale.most + math.log(max(1.0 - taken, 0.5)))
    rough, found = cells(0.5 * near.apart, wide, _ROUGH), list[Type]()
    shift = np.array([0.5 * near.apart, 0.0])
    middle = np.array([0.5 * near.low, 0.0]) - shift
    ring = rim(near.low, wide, lambda places: _allowed(scale.room(rough, places - shift))) - shift
    room, share = scale.room(rough, ring), np.ones(len(ring))
    while len(ring) > 1:
        inner, kept = _inside(ring, _allowed(room), middle)
        beyond = np.ones(len(kept))
        for k, (i, j) in enumerate(pairwise(kept)):
            chance = math.exp(-(_cell(ring, inner, i, j) ** 2) / 8.0) * (1.0 - 1e-14)
            share[i : j + 1] = np.minimum(share[i : j + 1], chance)
            beyond[k : k + 2] = np.minimum(beyond[k : k + 2], chance)
        found += zip(map(tuple, ring.tolist()), share.tolist(), room.tolist(), strict=True)
        ring, share = inner[kept], beyond
        if np.ptp(ring, axis=0).max() == 0.0:
            ring, share = ring[:1], share.min(keepdims=True)
        room = scale.room(rough, ring)
    return [*found, ((float(ring[0, 0]), float(ring[0, 1])), float(share[0]), float(room[0]))]


def rim(low: float, wide: float, allowed: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Corners, from right to left, of a polygon that holds F(low) above the axis; edges are a part of ``allowed``.

    F(low) is the set of all points within dmax/2 of a lens, that of the middles of disks that hold x0 and x1.  Where
    its normal has the angle u, it is bounded by a circle of radius dmax around x0 or x1, or of dmax/2 around the tip of
    the lens.  Corners are where two tangents meet.
    """
    tip = np.array([0.5 * low, 0.5 * math.sqrt(max(wide * wide - low * low, 0.0))])
    turn = math.atan2(tip[1], tip[0])

    def touched(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Normals, the points that their tangents touch, and the radius there."""
        at_tip, normal = (turn < u) & (u < math.pi - turn), np.array([np.cos(u), np.sin(u)])
        radius = np.where(at_tip, 0.5 * wide, wide)
        center = np.where(at_tip, tip[:, None], [np.where(u <= turn, 0.0, low), 0.0 * u])
        return normal.T, (center + radius * normal).T, radius

    looks, angles = np.linspace(0.0, math.pi, _LOOKS), [0.0]
    _, points, radius = touched(looks)
    longest = np.minimum(_LONG * allowed(points) / radius, math.pi / 6.0)
    while angles[-1] < math.pi:
        step = float(np.interp(angles[-1], looks, longest))
        after = angles[-1] + min(step, float(np.interp(angles[-1] + step, looks, longest)))  # as both ends allow
        angles.append(after if after < math.pi - _LEAST_TURN else math.pi)
    normals, points, _ = touched(np.array(angles))
    at = (normals * points).sum(axis=1, keepdims=True)
    corners = np.linalg.solve(*(np.stack([lines[:-1], lines[1:]], axis=1) for lines in (normals, at)))
    return np.vstack([points[:1], corners[..., 0], points[-1:]])


def _allowed(room: FloatArray) -> FloatArray:
    """The largest diameter of a cell for its room."""
    return np.sqrt(8.0 * np.maximum(room, 0.25 * _ROOMS[0]))


def _inside(ring: FloatArray, allowed: FloatArray, middle: FloatArray) -> tuple[FloatArray, list[int]]:
    """Every point of a ring moved toward the middle, and which of the moved ones make the next ring."""
    ray, depth = ring - middle, _DEEP * allowed
    away = np.hypot(ray[:, 0], ray[:, 1])
    for i, j in [*pairwise(range(len(ring))), *pairwise(reversed(range(len(ring))))]:
        depth[j] = min(depth[j], depth[i] + _SLOPE * math.dist(ring[i], ring[j]))
    least, split = 0.2 * depth, set[int]()
    for _ in range(_TRIES):
        left = 1.0 - depth / np.maximum(away, 1e-300)
        left = np.zeros(len(ring)) if left.max() < 0.4 else np.maximum(left, 0.3)
        inner = middle + left[:, None] * ray
        kept = _kept(ring, inner, allowed, split)
        wide = [(i, j) for i, j in pairwise(kept) if _cell(ring, inner, i, j) > allowed[i : j + 1].min()]
        if not wide:
            break
        for i, j in wide:
            split.update(range(i, j + 1))
            depth[i : j + 1] = np.maximum(0.7 * depth[i : j + 1], least[i : j + 1])  # rings come nearer in any case
    return inner, kept


def _kept(ring: FloatArray, inner: FloatArray, allowed: FloatArray, split: set[int]) -> list[int]:
    """The ends of cells that are as long as allowed, and all of ``split``."""
    kept = [0]
    for i in range(1, len(ring) - 1):
        start = kept[-1]
        longest = max(math.dist(points[start], points[i + 1]) for points in (ring, inner))
        if i in split or longest > _LONG * allowed[start : i + 2].min():
            kept.append(i)
    return [*kept, len(ring) - 1]


def _cell(ring: FloatArray, inner: FloatArray, i: int, j: int) -> float:
    """The diameter of a cell, rounded up: from the i-th to the j-th point of a ring, and on to the next one."""
    points = [*ring[i : j + 1].tolist(), *inner[[i, j]].tolist()]
    return max(math.dist(a, b) for a, b in combinations(points, 2)) * (1.0 + 1e-14)
