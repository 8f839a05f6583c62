"""Divergences in exact fractions, from the definition only (no size-biasing, no contour, no floats).

``round_divergence`` enumerates what the adversary sees in a round; ``shuffled_divergence`` computes the
law of the multiset of outputs of one dataset by convolution; ``worst_divergence`` tries all datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

Number = Fraction | int | float
Law = dict[tuple[int, ...], Fraction]


def fractions_of(values: Sequence[Number]) -> list[Fraction]:
    """The exact value of every entry (a float is taken at its binary value)."""
    return [Fraction(v) for v in values]


def _send(law: Law, message: Sequence[Fraction], nothing: Fraction) -> Law:
    """The law of the counts after one more independent message (``nothing``: it leaves no trace)."""
    out: Law = {}
    for counts, mass in law.items():
        if nothing:
            out[counts] = out.get(counts, Fraction(0)) + mass * nothing
        for j, chance in enumerate(message):
            if chance:
                more = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                out[more] = out.get(more, Fraction(0)) + mass * chance
    return out


def hockey_stick(first: Law, second: Law, E: Fraction) -> Fraction:
    """sum of max(0, first - E second)."""
    zero = Fraction(0)
    return sum((max(zero, mass - E * second.get(key, zero)) for key, mass in first.items()), zero)


def round_divergence(P0: Sequence[Number], P1: Sequence[Number], t: Sequence[Number], n: int, E: Fraction) -> Fraction:
    """D_E of a round: the victim's message and n - 1 others, each symbol j with chance t_j or nothing."""
    p0, p1, chances = fractions_of(P0), fractions_of(P1), fractions_of(t)
    others: Law = {(0,) * len(chances): Fraction(1)}
    for _ in range(n - 1):
        others = _send(others, chances, 1 - sum(chances))
    return hockey_stick(_send(others, p0, Fraction(0)), _send(others, p1, Fraction(0)), E)


def shuffled_divergence(
    R: Sequence[Sequence[Number]], x0: int, x1: int, others: Sequence[int], E: Fraction
) -> Fraction:
    """True D_E between the shuffled outputs of (x0, others) and (x1, others); R has one row per input."""
    rows = [fractions_of(row) for row in R]
    law: Law = {(0,) * len(rows[0]): Fraction(1)}
    for x in others:
        law = _send(law, rows[x], Fraction(0))
    return hockey_stick(_send(law, rows[x0], Fraction(0)), _send(law, rows[x1], Fraction(0)), E)


def worst_divergence(R: Sequence[Sequence[Number]], n: int, E: Fraction) -> Fraction:
    """The largest shuffled_divergence over all pairs of inputs and all inputs of the other n - 1 users."""
    inputs = range(len(R))
    return max(
        shuffled_divergence(R, x0, x1, others, E)
        for x0, x1 in permutations(inputs, 2)
        for others in combinations_with_replacement(inputs, n - 1)
    )


def exp_enclosure(eps: float) -> tuple[Fraction, Fraction]:
    """Two fractions around e^eps, 2^-200 apart or closer (Taylor series at eps / 2^k, remainder added)."""
    halvings = max(0, int(abs(eps)).bit_length() + 4)
    x = Fraction(eps) / 2**halvings
    term, total = Fraction(1), Fraction(1)
    for i in range(1, 60):
        term *= x / i
        total += term
    error = abs(term)
    low, high = total - error, total + error
    for _ in range(halvings):
        low, high = low * low, high * high
        low, high = Fraction(int(low * 2**300), 2**300), Fraction(int(high * 2**300) + 1, 2**300)
    return low, high


def round_enclosure(
    P0: Sequence[Number], P1: Sequence[Number], t: Sequence[Number], n: int, eps: float
) -> tuple[Fraction, Fraction]:
    """Fractions around D_{e^eps} of a round (D falls with E)."""
    low, high = exp_enclosure(eps)
    return round_divergence(P0, P1, t, n, high), round_divergence(P0, P1, t, n, low)
