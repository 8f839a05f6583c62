"""Planar Laplace noise: datasets in which all others are at one place on the rim of what they may hold.

The victim is at x0 or x1, d apart, and some disk of diameter D holds both of them and the others' place r.  The spread
of X, the integral of (P0 - P1)^2/R, is convex in r, as R is e^-|y-r|/(2 pi) and 1/R convex: it is largest on the rim of
the places that r may take, opposite to x0 and x1.

The plane is divided in elliptic coordinates with the foci x0 and x1: y = h (cosh m cos a, sinh m sin a), h = d/2, has
the distances h (cosh m + cos a) and h (cosh m - cos a) from them, and the element h^2 (cosh^2 m - cos^2 a), all
smooth; around r, where |y-r| has a cone, cells shrink by halves.  Adding up cells is post-processing, so that it lowers
a lower bound, and so does replacing every report, with probability 1e-6, by one that says nothing.  That is the margin
for the error of the quadrature, about 1e-9 of a mass: these are values of the continuous law, computed numerically.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...numerics.family import PairSet
from ...numerics.pair import FloatArray, ShuffledPair
from .planar_laws import levels, nodes

#: Width of a cell, angles of a full turn, halvings toward the cone, and nodes of a cell in each direction.
_STEP, _ANGLES, _HALVINGS, _NODES = 0.125, 120, 5, 4
#: Width of the groups of cells, in asinh((P0 - P1)/(R deviation)) and log P1/R.
_GROUP = 0.08
#: Replaced reports, and the error of a total up to which a dataset is used.
_MARGIN, _ERROR = 1e-6, 2e-7
#: The largest D for which the cells are fine enough.
_WIDEST = 12.0


class Places(PairSet):
    """Datasets by half-planes or with all others on the rim; the latter among users enough to send every symbol.

    With fewer, single messages decide, and a sum over hundreds of symbols takes long for little.
    """

    def among(self, n: float) -> Sequence[ShuffledPair]:
        """The members among n users."""
        largest = (np.max(np.maximum(pair.P0, pair.P1) / np.asarray(pair.t)) for pair in self._members)
        return [pair for pair, x in zip(self._members, largest, strict=True) if np.size(pair.t) == 2 or n >= x]


@lru_cache(maxsize=64)
def datasets(apart: float, wide: float) -> tuple[ShuffledPair, ...]:
    """The others beyond x0 on the line of x0 and x1, opposite to the middle of the two, and between these places.

    None where the quadrature is not good enough: places that are far from each other.
    """
    if wide > _WIDEST:
        return ()
    half, radius = 0.5 * apart, 0.5 * wide
    top = math.sqrt(max(radius * radius - half * half, 0.0))
    between = -half, 2.0 * top  # opposite to x1 in the disk that has x0 and x1 on its rim
    found = (_dataset(half, place) for place in ((half - wide, 0.0), between, (0.0, top + radius)))
    return tuple(pair for pair in found if pair is not None)


def _dataset(half: float, place: tuple[float, float]) -> ShuffledPair | None:
    """The others at ``place``; the victim at (-half, 0) or (half, 0)."""
    p0, p1, t = _masses(half, place)
    if not all(abs(math.fsum(mass.tolist()) - 1.0) <= _ERROR for mass in (p0, p1, t)):
        return None
    gap, level = (p0 - p1) / t, np.log(p1 / t)
    deviation = math.sqrt(float((t * gap * gap).sum()))
    keys = 10_000.0 * np.floor(np.arcsinh(gap / deviation) / _GROUP) + np.floor(level / _GROUP)
    _, group = np.unique(keys, return_inverse=True)
    laws = []
    for mass in (p0, p1, t):
        law = np.bincount(group, (1.0 - _MARGIN) * mass)
        laws.append(np.append(law, 1.0 - math.fsum(law.tolist())))
    return ShuffledPair(*laws)


def _masses(half: float, place: tuple[float, float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The mass of the laws around x0, x1 and ``place`` in every cell."""
    x, y = place
    sums = 0.5 * (math.hypot(x + half, y) + math.hypot(x - half, y))
    away = math.acosh(max(sums / half, 1.0))
    angle = math.atan2(y / max(half * math.sinh(away), 1e-300), x / sums)
    m, m_weight = nodes(_finer(levels(half, 2.0 * sums, _STEP)[0], away), _NODES)
    a, a_weight = nodes(_finer(np.linspace(angle - math.pi, angle + math.pi, _ANGLES + 1), angle), _NODES)
    m, a = m[:, None, :, None], a[None, :, None, :]
    far, along = half * np.cosh(m), half * np.cos(a)
    weight = m_weight[:, None, :, None] * a_weight[None, :, None, :] * (far**2 - along**2) / (2.0 * math.pi)
    from_place = np.hypot(np.cosh(m) * along - x, half * np.sinh(m) * np.sin(a) - y)
    p0, p1, t = ((weight * np.exp(-d)).sum(axis=(2, 3)).ravel() for d in (far + along, far - along, from_place))
    return p0, p1, t


def _finer(ends: FloatArray, cone: float) -> FloatArray:
    """Cells that shrink by halves toward the cone."""
    steps = float(np.diff(ends)[np.searchsorted(ends[1:-1], cone)]) * 0.5 ** np.arange(_HALVINGS)
    return np.unique(np.clip([*ends, cone, *(cone - steps), *(cone + steps)], ends[0], ends[-1]))
