"""Readings of the swap theorems that are false: the truth of one dataset, and what the reading would claim."""

from __future__ import annotations

from fractions import Fraction

from .randomizers import grr
from .swap import Datasets, binary_response, common_mass, theorem_one

Reading = tuple[Fraction, Fraction]


def without_holes() -> Reading:
    """Symbols that another user never sends are left out (sigma = 0); the others all hold b."""
    rows = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1), Fraction(0)]]
    truth = Datasets(rows, 4).deltas((0, 1), Fraction(1))[-1]
    return truth, theorem_one(rows[0], rows[1], rows, (1, 1, 1), Fraction(1), beta=Fraction(9, 10), holes=False)


def nobody_lost() -> Reading:
    """beta = 1, as if nobody were lost to the search for a free user; the others hold 0, 0, 0, 1."""
    rows, others, E = grr(2, 1000), (0, 0, 0, 1), Fraction(5)
    datasets = Datasets(rows, 5)
    truth = datasets.deltas((0, 1), E)[datasets.others.index(others)]
    return truth, theorem_one(rows[0], rows[1], rows, others, E, beta=Fraction(1))


def nobody_lost_over_constant_datasets() -> Reading:
    """beta = 1, and only constant datasets are looked at; five of the others hold 1."""
    rows, n, E = grr(2, 10), 12, Fraction(101, 100)
    false = max(theorem_one(rows[0], rows[1], rows, [x] * (n - 1), E, beta=Fraction(1)) for x in (0, 1))
    return binary_response(10, n, 5, E, victim=0), false


def absent_users_are_free() -> Reading:
    """R_x = s R_g + rest, and 1 - s + s beta is taken for a common mass, although the rest depends on x."""
    g, h = ([*row, Fraction(0), Fraction(0)] for row in grr(2, 1000))
    s, E, others = Fraction(1, 2), Fraction(2), (2, 2, 3)
    near_g, near_h = [s * g[0], s * g[1], 1 - s, Fraction(0)], [s * h[0], s * h[1], Fraction(0), 1 - s]
    datasets = Datasets([g, h, near_g, near_h], 4)
    truth = datasets.deltas((0, 1), E)[datasets.others.index(others)]
    parts = [[s * p for p in g], [s * p for p in h]]
    return truth, theorem_one(g, h, parts, (0, 0, 1), E, beta=1 - s + s * common_mass([g, h]))
