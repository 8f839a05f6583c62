"""Trade-off functions from the definition: every outcome of a small shuffled matrix, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import combinations_with_replacement, permutations

from .fractions_oracle import Law, _send, fractions_of

Rows = Sequence[Sequence[Fraction]]


def laws(rows: Rows, n: int) -> Iterator[tuple[Law, Law]]:
    """The two laws of the counts, for every ordered pair of inputs of the victim and all inputs of the others."""
    exact = [fractions_of(row) for row in rows]
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        law: Law = {(0,) * len(exact[0]): Fraction(1)}
        for x in others:
            law = _send(law, exact[x], Fraction(0))
        for x0, x1 in permutations(range(len(rows)), 2):
            yield _send(law, exact[x0], Fraction(0)), _send(law, exact[x1], Fraction(0))


def product(first: Law, second: Law) -> Law:
    """The law of two independent outcomes."""
    return {(*a, *b): x * y for a, x in first.items() for b, y in second.items()}


def least_errors(null: Law, other: Law, levels: Sequence[Fraction]) -> list[Fraction]:
    """The least error of the second kind of tests of these levels: Neyman and Pearson, outcome by outcome."""
    outcomes = [(null.get(key, Fraction(0)), other.get(key, Fraction(0))) for key in {**null, **other}]

    def rank(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> int:
        x = b[1] * a[0] - a[1] * b[0]  # the larger ratio other/null comes first
        return (x > 0) - (x < 0)

    ranked = sorted(outcomes, key=cmp_to_key(rank))
    found = []
    for level in levels:
        left, power = level, Fraction(0)
        for under_null, under_other in ranked:
            if under_null > left:
                power += under_other * left / under_null
                break
            left, power = left - under_null, power + under_other
        found.append(1 - power)
    return found


def envelope(pairs: Sequence[tuple[Law, Law]], levels: Sequence[Fraction]) -> list[Fraction]:
    """Nearly the largest convex function below all trade-off functions of pairs listed in both directions.

    It is the supremum over E of 1 - h(E) - E alpha, h the largest D_E of a pair: over all likelihood ratios here, and
    some E between.
    """
    ratios = {Fraction(k, 16) for k in range(1, 160)} | {
        p / q[key] for first, q in pairs for key, p in first.items() if q.get(key)
    }
    heights = {E: max(divergence(p, q, E) for p, q in pairs) for E in ratios}
    return [max([Fraction(0)] + [1 - h - E * level for E, h in heights.items()]) for level in levels]


def divergence(first: Law, second: Law, E: Fraction) -> Fraction:
    """D_E."""
    return sum((max(Fraction(0), p - E * second.get(key, Fraction(0))) for key, p in first.items()), Fraction(0))


def renyi(first: Law, second: Law, order: float) -> float:
    """The Renyi divergence of this order."""
    terms = [float(p) * (float(p) / float(second[key])) ** (order - 1.0) for key, p in first.items() if p]
    return math.log(math.fsum(terms)) / (order - 1.0)
