"""The wheel: laws that cover every two sets among every third one.

A report is a point y of a circle of N points, seen with the arcs of all items; items are independent and uniform.  An
item covers y with probability w = W/N.  A set of s items has the density on = e/Omega at y if one of its arcs covers
it, else lo + h (hi - lo), where lo = 1/Omega is that of disjoint arcs and hi that of arcs that coincide,
hi = lo + (on - lo) g with g = (s-1) w/(1-w): if the arcs hold a share L of the circle, h = (sw - L)/(1 - L)/g.  As a
density has the mean 1, E h = (sw - 1 + (1-w)^s)/((1-w)^s g) given that no item covers y, for any set (0 for s = 1).

Replacing the density of each of the three sets, on its own, by hi with probability h and by lo otherwise keeps the mean
of all three laws (docs/swap.md, Theorem 3, step 1).  Then every set is in one of three states, on, lo or hi.  Which
sets are on depends on the number of items that each two and all three have in common.  Given which ones are not, what
they become depends on items that do not cover y alone, and not on those of the other sets.  So all chances are
affine in one law on {lo, hi}^3, that of three sets without an item at y, and the swap bound is convex in it: it is
largest at a vertex of any polytope that the law lies in.  Of the law this is known:

- the chance of hi is E h for each set;
- two sets both become hi with probability at least (E h)^2: given the places of their common items, if any, the two
  are independent and alike, and the mean of a square is at least the square of the mean.

If no two sets have an item in common all three are independent, and every h may be split between more than two values.
For s = 2 its law is known: both items have P = N - W places.  They are x places away from each other with weight P for
x = 0 and 2 (P-x) for x > 0, out of P^2, and h = (P/W) (W-x)/(P-x) for x < W, so that sums of the weights times h are
sums of W - x.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...numerics.pair import FloatArray
from ...numerics.rows import pad
from ...numerics.swap.pair import TypeTable
from ..two_level import CELLS, Cut, Shares, clipped, vertices
from .overlaps import Overlap, every, met, unions

#: What t is lowered by for rounding; SLACK is for P0 and P1.
_LOWERED = 1.0 - 2.0**-41
SLACK = 2.0**-40
#: Cells of the distance of two items, and the most items of a set.
_CELLS, MOST_ITEMS = 4, 4


@lru_cache(maxsize=16)
def table(points: int, width: int, s: int, densities: tuple[float, float], items: int) -> TypeTable:
    """The types of all pairs of sets, with the densities on and lo, if there are this many items."""
    w, (on, lo) = Fraction(width, points), densities
    reach, mean = (s - 1) * w / (1 - w), mean_height(w, s)
    meeting, laws = [_states(law) for law in joint(mean)], []
    for overlap in every(items, s):
        heights, split = [(Fraction(0), 1 - mean), (Fraction(1), mean)], meeting
        if not any(overlap):
            heights = heights_of_two(points, width) if s == 2 else heights
            alone = np.array([1.0, *(float(chance) for _, chance in heights)])
            split = [np.einsum("i,j,k->ijk", alone, alone, alone)]
        value = np.array([on, *(lo + (on - lo) * float(reach * height) for height, _ in heights)])
        off = covering(overlap, w, s)[np.ix_(*[np.minimum(np.arange(value.size), 1)] * 3)]
        held = np.meshgrid(value, value, value, indexing="ij")
        for states in split:
            live = (mass := off * states) > 0.0
            laws.append([mass[live] * held[i][live] for i in range(3)])
    p0, p1, t = (pad(list(column)) for column in zip(*laws, strict=True))
    return TypeTable(p0, p1, t * _LOWERED)


def mean_height(w: Fraction, s: int) -> Fraction:
    """E h, given that no item of the set covers y."""
    miss = (1 - w) ** s
    return (s * w - 1 + miss) / (miss * (s - 1) * w / (1 - w)) if s > 1 else Fraction(0)


def covering(overlap: Overlap, w: Fraction, s: int) -> FloatArray:
    """The chance that exactly the sets i with index 1 have no item at y."""
    none = {cell: (1 - w) ** size for cell, size in unions(overlap, s).items()}
    out = np.zeros((2, 2, 2))
    for (i, j, k), chance in met(none).items():
        out[1 - i, 1 - j, 1 - k] = float(chance)
    return out


def joint(mean: Fraction) -> list[Shares]:
    """The vertices of a polytope around the laws of hi (1) and lo (0) of three sets, none of them on."""
    both = [[cell for cell in CELLS if cell[i] and cell[j]] for i, j in ((0, 1), (0, 2), (1, 2))]
    return clipped(vertices(mean), [Cut(dict.fromkeys(cells, Fraction(-1)), -mean * mean) for cells in both])


def _states(law: Shares) -> FloatArray:
    """The chance of lo or hi for the sets that are not on, by the states on, lo and hi of all three."""
    out = np.zeros((3, 3, 3))
    for state in itertools.product(range(3), repeat=3):
        alike = (x for cell, x in law.items() if all(i in (0, j + 1) for i, j in zip(state, cell, strict=True)))
        out[state] = float(sum(alike, Fraction(0)))
    return out


def blocks_of_two(points: int, width: int) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
    """Distances of the two items of a set, given that none covers y: the chance of each block, E[h; block], and h at
    its near and far end."""
    places = points - width
    ends = sorted({width * k // _CELLS for k in range(_CELLS + 1)})
    height = [Fraction(places * (width - x), width * (places - x)) for x in ends]
    found = []
    for k, (a, b) in enumerate(itertools.pairwise(ends)):
        # sums over a <= x < b of 2 (P-x) and 2 (W-x) P/W; x = 0 has half of its weight
        weight, total = (Fraction((b - a) * (2 * y - a - b + 1) - (y if a == 0 else 0)) for y in (places, width))
        found.append((weight / places**2, total / (places * width), height[k], height[k + 1]))
    return found


def heights_of_two(points: int, width: int) -> list[tuple[Fraction, Fraction]]:
    """Values that h is split between for s = 2, and their chances: in every block the mean is kept."""
    chances: dict[Fraction, Fraction] = {}
    for chance, mean, near, far in blocks_of_two(points, width):
        share = (mean - chance * far) / (near - far)
        chances[near] = chances.get(near, Fraction(0)) + share
        chances[far] = chances.get(far, Fraction(0)) + chance - share
    chances[Fraction(0)] += 1 - sum(chances.values())  # no overlap at all
    return list(chances.items())


def seen_of_two(points: int, width: int) -> list[tuple[Fraction, Fraction]]:
    """The chances of on, of every block and of the rest, for s = 2, and the means of h there (0 if on).

    Who knows no more than these blocks distinguishes less than who sees all arcs: laws for a lower bound.
    """
    off = Fraction(points - width, points) ** 2
    blocks = [(off * chance, mean / chance) for chance, mean, *_ in blocks_of_two(points, width)]
    return [(1 - off, Fraction(0)), *blocks, (off - sum(chance for chance, _ in blocks), Fraction(0))]
