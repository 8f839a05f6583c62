"""Laws with two levels: every input x favors a set C_x, whose reports are e^eps0 times likelier than all others.

For three inputs (the victim's two and another user's) all that matters is the share of reports in each of the eight
intersections of their sets and complements.  The swap bound is convex in these shares, so its maximum over any
polytope of shares is at a vertex; each vertex is listed as a type, whether or not three inputs attain it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..numerics.pair import ShuffledPair

#: Which of C_x0, C_x1 and C_x a report lies in.
Cell = tuple[int, int, int]
#: Shares of reports, by cell.
Shares = dict[Cell, Fraction]

#: A report and its mirror image lie in complementary sets: one law per way in which the three sets may relate to it.
MIRRORED: tuple[Shares, ...] = tuple(
    {(1, j, k): Fraction(1, 2), (0, 1 - j, 1 - k): Fraction(1, 2)} for j, k in itertools.product((0, 1), repeat=2)
)
CELLS: tuple[Cell, ...] = tuple(itertools.product((0, 1), repeat=3))  # type: ignore[arg-type]


def pair(rows: Iterable[tuple[float, int, int, int]], low: float, high: float) -> ShuffledPair:
    """The shuffled pair of three sets: how many reports are in which of them, and their probabilities in and outside.

    Kinds of which there are none are left out.

    Examples
    --------
    >>> pair([(1, 1, 0, 0), (1, 0, 1, 0), (2, 0, 0, 0)], 0.125, 0.625).P0.tolist()
    [0.625, 0.125, 0.25]
    """
    sent = [row for row in rows if row[0] > 0]
    return ShuffledPair(*([size * (high if inside[i] else low) for size, *inside in sent] for i in range(3)))


def law(shares: Shares, low: float, high: float) -> ShuffledPair:
    """The same of the shares of all reports, with densities ``high`` inside a set and ``low`` outside."""
    return pair([(float(share), *cell) for cell, share in shares.items()], low, high)


def mirrored_with_ties() -> list[Shares]:
    """As MIRRORED, where a report may lie on the boundary of a set: then neither it nor its image is inside."""
    half, kinds = Fraction(1, 2), []
    for signs in itertools.product((1, 0, -1), repeat=3):
        if signs >= tuple(-sign for sign in signs):
            kind: Shares = {}
            for image in (1, -1):
                cell = tuple(int(sign * image > 0) for sign in signs)
                kind[cell] = kind.get(cell, Fraction(0)) + half  # type: ignore[index, arg-type]
            kinds.append(kind)
    return kinds


def vertices(share: Fraction, kinds: Sequence[Shares] | None = None) -> list[Shares]:
    """The vertices of all shares of three sets that have the same ``share`` each.

    ``kinds`` are what the reports are made of: each is a law on the cells, a single cell unless given.

    Examples
    --------
    >>> from fractions import Fraction
    >>> sorted(sum(v.values()) for v in vertices(Fraction(1, 5)))[0]
    Fraction(1, 1)
    >>> len(vertices(Fraction(1, 5)))
    6
    """
    parts = [{cell: Fraction(1)} for cell in CELLS] if kinds is None else list(kinds)
    # one equation for the total and one for each set: a vertex has at most four parts
    columns = [[Fraction(1), *(_inside(part, i) for i in range(3))] for part in parts]
    found: dict[frozenset[tuple[Cell, Fraction]], Shares] = {}
    for some, total, of_share, whole in _bases(columns, float(share)):
        weights = [(a + b * share) / whole for a, b in zip(total, of_share, strict=True)]
        if min(weights) < 0:
            continue
        shares: Shares = {}
        for weight, j in zip(weights, some, strict=True):
            for cell, amount in parts[j].items():
                shares[cell] = shares.get(cell, Fraction(0)) + weight * amount
        shares = {cell: amount for cell, amount in shares.items() if amount}
        found[frozenset(shares.items())] = shares
    return list(found.values())


def _bases(
    columns: Sequence[Sequence[Fraction]], share: float
) -> Iterator[tuple[tuple[int, ...], list[int], list[int], int]]:
    """Four columns at a time that may give (1, share, share, share) with weights >= 0, which is judged in floats.

    The weights are (total + of_share * share) / whole, exactly: the adjugate of a matrix of small whole numbers is
    rounded from its inverse, and multiplied out to be sure.
    """
    scale = math.lcm(*(x.denominator for column in columns for x in column))
    table = np.array([[int(x * scale) for x in column] for column in columns])
    every = np.array(list(itertools.combinations(range(len(columns)), 4)))
    square = table[every].transpose(0, 2, 1)
    whole = np.rint(np.linalg.det(square)).astype(np.int64)
    every, square, whole = every[whole != 0], square[whole != 0], whole[whole != 0]
    adjugate = np.rint(np.linalg.inv(square) * whole[:, None, None]).astype(np.int64)
    right = (adjugate @ square == whole[:, None, None] * np.eye(4, dtype=np.int64)).all(axis=(1, 2))
    if not right.all():
        raise ParameterError(
            "kinds must hold fractions with small denominators, got larger ones; use halves, thirds and so on."
        )
    total, of_share = scale * adjugate[:, :, 0], scale * adjugate[:, :, 1:].sum(axis=2)
    likely = ((total + of_share * share) / whole[:, None]).min(axis=1) > -1e-9
    for i in np.flatnonzero(likely):
        yield tuple(every[i].tolist()), total[i].tolist(), of_share[i].tolist(), int(whole[i])


class Cut(NamedTuple):
    """A half-space of shares: the sum of weights times shares, over some cells, is at most ``most``."""

    weights: dict[Cell, Fraction]
    most: Fraction

    def over(self, shares: Shares) -> Fraction:
        """How far the shares are beyond it; negative inside."""
        return sum((w * shares[cell] for cell, w in self.weights.items() if cell in shares), Fraction(0)) - self.most


def clipped(points: Sequence[Shares], cuts: Sequence[Cut]) -> list[Shares]:
    """The vertices of the part of a polytope of shares, given by all its vertices, that is within all cuts.

    A vertex of the part is a vertex of the polytope, or lies inside an edge of it.  Inequalities are that a cell has a
    share of at least 0, and earlier cuts; the smallest face that holds two vertices is where all inequalities are met
    that both meet, so that the two are the ends of an edge if and only if no third vertex meets all of these.  A point
    inside the edge meets the same ones and the new cut, no others.

    Examples
    --------
    >>> from fractions import Fraction
    >>> apart = Cut({(1, 1, 0): Fraction(1), (1, 1, 1): Fraction(1)}, Fraction(0))
    >>> all(share == 0 or cell[:2] != (1, 1) for point in clipped(vertices(Fraction(1, 5)), [apart])
    ...     for cell, share in point.items())
    True
    """
    found: list[tuple[Shares, set[Cell | int]]] = [
        (point, {cell for cell in CELLS if not point.get(cell)}) for point in points
    ]
    for number, cut in enumerate(cuts):
        placed = [(point, met, cut.over(point)) for point, met in found]
        found = [(point, met | {number} if over == 0 else met) for point, met, over in placed if over <= 0]
        inside, outside = [one for one in placed if one[2] < 0], [one for one in placed if one[2] > 0]
        for (one, met, under), (two, met_two, over) in itertools.product(inside, outside):
            common = met & met_two
            if sum(common <= other for _, other, _ in placed) == 2:  # these two
                found.append((_between(one, two, over / (over - under)), common | {number}))
    return [point for point, _ in found]


def _between(one: Shares, two: Shares, share: Fraction) -> Shares:
    zero = Fraction(0)
    return {x: share * one.get(x, zero) + (1 - share) * two.get(x, zero) for x in one.keys() | two.keys()}


def _inside(part: Shares, which: int) -> Fraction:
    return sum((amount for cell, amount in part.items() if cell[which]), Fraction(0))
