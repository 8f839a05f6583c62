"""Three caps of a sphere, each a share c < 1/2 of it: half-spaces in which all shares that they have in common lie.

Let C_i = {u : <u, x_i> >= gamma}, i = 0, 1, 2, be the caps of three unit vectors with inner products rho_ij, A_ij the
share of the sphere in two of them, and T that in all three.  What is proved here is

    w_01 A_01 + w_02 A_02 + w_12 A_12 + w_T T <= h(w)      for all triples of vectors,

for a few directions w.  Boxes cover the cube [-1, 1]^3 of all rho.  Of a box with the ends l and u this is known:

- It holds no three unit vectors if (rho_02 + rho_12)^2/(2 + 2 rho_01) + (rho_02 - rho_12)^2/(2 - 2 rho_01) > 1 in all
  of it: these are the squares of the inner products of x_2 with two orthonormal vectors, x_0 + x_1 and x_0 - x_1
  divided by their lengths.
- A(l_ij) <= A_ij <= A(u_ij), because A rises with rho: it is the integral of F >= 0 from half the angle on (sphere.py).
  F falls with the angle, so that lower and upper sums enclose A.
- T is at most each A(u_ij).  It is at most the share of a cap of the height gamma (k_0 + k_1 + k_2)/|s|,
  s = k_0 x_0 + k_1 x_1 + k_2 x_2, for any k >= 0: a point of all three caps has at least this inner product with the
  direction of s, and |s| rises with every rho.

As A_ij >= T, the largest value in a box is at most that of a function of T alone, which is concave, and linear between
T = 0, the A(l_ij) and the largest T.  Boxes far above the largest value that was found are split.  h(w) is the largest
bound of all boxes, and so it holds wherever the splitting ends.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from ...numerics.pair import FloatArray, IntArray
from ..two_level import Cut

#: Cells of the interval of an inner product, of each of them in an integral, and of the heights of a cap.
_CELLS, _PARTS, _HEIGHTS = 1 << 12, 4, 1 << 10
#: Weights k of three vectors; two vectors alone are covered by A.
_SUMS = np.array([(1.0, 1.0, 1.0), (2.0, 2.0, 1.0), (2.0, 1.0, 2.0), (1.0, 2.0, 2.0)])
#: How far a bound may be above the largest value found, in units of c, and how many boxes are judged.
_NEAR, _MOST = 0.008, 50_000
#: Exponents z X/(e-1) at which the directions are those of M(z): small ones for large n.
_EXPONENTS = (0.02, 0.1, 0.3, 0.8)
#: Heights of caps are tabulated up to this many times 1/sqrt(dim).
_TALL = 8.0
#: Smaller caps hardly meet; budgets outside these gain nothing.
_LEAST, _BUDGETS = 1e-6, (0.01, 50.0)
#: Relative doubt of gamma and of special functions, and the absolute doubt of all sums.
_DOUBT = 1e-9
_CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))


class Enclosure(NamedTuple):
    """The share of two caps by their inner product, 2 k/_CELLS - 1, from below and above; of one cap by its height."""

    gamma: float
    low: FloatArray
    high: FloatArray
    one: FloatArray
    scale: float  # places of ``one`` per unit of height; the last one holds for all heights beyond


def cuts(eps0: float, dim: int, cap: float, gamma: float) -> list[Cut]:
    """Half-spaces around all shares of three caps, in directions that matter to the swap bound; none if c >= 1/2.

    Any directions are sound.  These are the coefficients of the four areas in M(z) = E exp(z X), which is affine in
    them, for a few z and both orders of the first two vectors.

    Examples
    --------
    >>> half_spaces = cuts(1.0, 3, 0.25, 0.5)
    >>> len(half_spaces), all(float(cut.most) >= -0.25 for cut in half_spaces)
    (8, True)
    """
    worth = gamma > 0.0 and cap >= _LEAST and _BUDGETS[0] <= eps0 <= _BUDGETS[1]
    known = enclosure(dim, cap, gamma) if worth else None
    if known is None:
        return []
    weights = np.array([w for z in _EXPONENTS for w in _directions(eps0, cap, z)])
    bounds = np.ceil((largest(weights, known, _NEAR * cap) + _DOUBT) * 2.0**30)
    return [_cut(w, Fraction(int(b), 2**30)) for w, b in zip(weights, bounds, strict=True)]


def _cut(w: FloatArray, most: Fraction) -> Cut:
    """In terms of cells: A_ij is the share of two of them, T that of the last."""
    w01, w02, w12, w_t = map(Fraction, w)
    return Cut({(1, 1, 0): w01, (1, 0, 1): w02, (0, 1, 1): w12, (1, 1, 1): w01 + w02 + w12 + w_t}, most)


def _directions(eps0: float, cap: float, z: float) -> list[FloatArray]:
    """The coefficients of A_01, A_02, A_12 and T in M, in units of the first; also with x_0 and x_1 swapped."""
    e = math.exp(eps0)
    c = z / (e - 1.0)
    ratio = 1.0 + 1.6 * c * cap * (e - 1.0) ** 2 / (cap * e + 1.0 - cap)  # near the saddle: E - 1 is about c Var X
    f = np.empty((2, 2, 2))
    for cell in itertools.product((0, 1), repeat=3):
        own, other, t = (e if inside else 1.0 for inside in cell)
        x = c * (own - ratio * other) / t
        f[cell] = t * (math.expm1(x) - x)  # what is linear in X is the same for all shares
    # the shares of the cells are sums of the areas by inclusion and exclusion: differences along the axes of f
    first, second = np.diff(f, axis=0)[0], np.diff(f, axis=1)[:, 0]
    w = np.array(
        [np.diff(first[:, 0])[0], np.diff(first[0])[0], np.diff(second[0])[0], np.diff(np.diff(first), axis=0)[0, 0]]
    )
    w = np.rint(w / abs(w[0]) * 2.0**12) / 2.0**12
    return [w, w[[0, 2, 1, 3]]]


def enclosure(dim: int, cap: float, gamma: float) -> Enclosure | None:
    """Tables of areas for a cap of this share; None if gamma, which is computed from it, is not confirmed."""
    half = 0.5 * (dim - 1)
    ends = np.array([1.0 - _DOUBT, 1.0 + _DOUBT]) * gamma
    most, least = special.betainc(half, half, 0.5 - 0.5 * ends)
    if not most * (1.0 - 1e-12) >= cap >= least * (1.0 + 1e-12):
        return None
    low, high = (_overlaps(float(end), dim)[side] for side, end in enumerate(ends[::-1]))
    scale = _HEIGHTS * max(1.0, math.sqrt(dim) / _TALL)
    one = special.betainc(half, half, 0.5 - 0.5 * np.arange(_HEIGHTS + 1) / scale)
    return Enclosure(float(ends[0]), low * (1.0 - _DOUBT), high * (1.0 + _DOUBT), one * (1.0 + _DOUBT), scale)


def _overlaps(gamma: float, dim: int) -> tuple[FloatArray, FloatArray]:
    """Lower and upper sums of (1/pi) times the integral of F (sphere.py), by the inner product of the centers."""
    start = 0.5 * np.arccos(np.linspace(1.0, -1.0, _CELLS + 1))  # rising, from 0 to pi/2
    angle = np.append((start[:-1, None] + np.diff(start)[:, None] * np.arange(_PARTS) / _PARTS).ravel(), start[-1])
    away = np.maximum(np.cos(angle), gamma)
    held = np.where(away > gamma, (1.0 - (gamma / away) ** 2) ** (0.5 * (dim - 2)), 0.0)
    step = np.diff(angle) / math.pi
    low, high = (np.append(np.cumsum((part * step)[::-1])[::-1], 0.0)[::-_PARTS] for part in (held[1:], held[:-1]))
    return low, high


def largest(weights: FloatArray, known: Enclosure, near: float) -> FloatArray:
    """An upper value h(w) for every row w of ``weights``, about ``near`` above the largest value if boxes suffice."""
    side, judged = _CELLS // 8, 0
    low = np.array(list(itertools.product(range(0, _CELLS, side), repeat=3)))
    found, proved = np.full((2, len(weights)), -np.inf)
    while True:
        low = low[_possible(low, low + side)]
        bound = _bounds(weights, known, low, low + side)
        found = np.maximum(found, _values(weights, known, low + side // 2))
        is_open = (bound > found + near).any(axis=1)
        judged += len(low)
        if side == 1 or judged + 8 * np.count_nonzero(is_open) > _MOST:
            return np.asarray(np.maximum(proved, bound.max(axis=0, initial=-np.inf)))
        proved = np.maximum(proved, bound[~is_open].max(axis=0, initial=-np.inf))
        if not is_open.any():
            return np.asarray(proved)
        side //= 2
        low = (low[is_open][:, None] + side * _CORNERS).reshape(-1, 3)


def _rho(place: IntArray) -> FloatArray:
    return np.asarray(place * (2.0 / _CELLS) - 1.0)


def _possible(low: IntArray, high: IntArray) -> np.ndarray:
    """Whether three unit vectors may have inner products in a box."""
    (l01, l0, l1), (u01, u0, u1) = _rho(low).T, _rho(high).T
    plus = np.maximum(np.maximum(l0 + l1, -u0 - u1), 0.0)
    minus = np.maximum(np.maximum(l0 - u1, l1 - u0), 0.0)
    return np.asarray(plus**2 / (2.0 + 2.0 * u01) + minus**2 / (2.0 - 2.0 * l01) <= 1.0 + _DOUBT)


def _values(weights: FloatArray, known: Enclosure, place: IntArray) -> FloatArray:
    """About the largest value at some points, where there are such vectors; it decides what is split, nothing else."""
    rho = _rho(place)
    real = 1.0 + 2.0 * rho.prod(axis=1) - (rho**2).sum(axis=1) >= 0.0
    return np.asarray((known.high[place[real]] @ weights[:, :3].T).max(axis=0, initial=-np.inf))


def _bounds(weights: FloatArray, known: Enclosure, low: IntArray, high: IntArray) -> FloatArray:
    """The largest w_01 A_01 + ... + w_T T that the bounds of A and T permit, by box and direction."""
    least, most = known.low[low], known.high[high]
    all_three = np.minimum(most.min(axis=1), _triple(known, _rho(high)))
    out = np.full((len(low), len(weights)), -np.inf)
    for t in (np.zeros(len(low)), *np.minimum(least, all_three[:, None]).T, all_three):
        rest = np.maximum(least, t[:, None]) @ np.minimum(weights[:, :3], 0.0).T
        np.maximum(out, rest + most @ np.maximum(weights[:, :3], 0.0).T + t[:, None] * weights[:, 3], out=out)
    return out


def _triple(known: Enclosure, rho: FloatArray) -> FloatArray:
    """T at most, by the heights of caps around weighted sums of the three vectors."""
    found = np.full(len(rho), np.inf)
    for k in _SUMS:
        square = k @ k + 2.0 * rho @ np.array([k[0] * k[1], k[0] * k[2], k[1] * k[2]])
        height = known.gamma * k.sum() / np.sqrt(np.maximum(square, 1e-9)) * (1.0 - _DOUBT)
        place = np.minimum(height * known.scale, _HEIGHTS).astype(np.int64)
        found = np.minimum(found, np.where(height < 1.0, known.one[place], 0.0))
    return found
