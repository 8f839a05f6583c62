"""Divergences in exact fractions, from the definition only (no size-biasing, no contour, no floats).

``round_divergence`` enumerates what the adversary sees in a round; ``shuffled_divergence`` computes the
law of the multiset of outputs of one dataset by convolution; ``worst_divergence`` tries all datasets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, permutations

Number = Fraction | int | float
Law = dict[tuple[int, ...], Fraction]  # masses; whole numbers are masses in units of one over a scale


def fractions_of(values: Sequence[Number]) -> list[Fraction]:
    """The exact value of every entry (a float is taken at its binary value)."""
    return [Fraction(v) for v in values]


def whole(*rows: Sequence[Number]) -> tuple[int, list[list[Fraction]]]:
    """The common denominator of all entries, and the rows times it: whole numbers are ten times as quick."""
    exact = [fractions_of(row) for row in rows]
    unit = math.lcm(*(entry.denominator for row in exact for entry in row))
    scaled = [[entry.numerator * (unit // entry.denominator) for entry in row] for row in exact]
    return unit, scaled  # type: ignore[return-value]


def _send(law: Law, message: Sequence[Fraction], nothing: Fraction | int) -> Law:
    """The law of the counts after one more independent message (``nothing``: it leaves no trace)."""
    out: Law = {}
    for counts, mass in law.items():
        if nothing:
            out[counts] = out.get(counts, 0) + mass * nothing
        for j, chance in enumerate(message):
            if chance:
                more = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                out[more] = out.get(more, 0) + mass * chance
    return out


def hockey_stick(first: Law, second: Law, E: Fraction) -> Fraction:
    """sum of max(0, first - E second)."""
    up, down = E.numerator, E.denominator
    gaps = (down * mass - up * second.get(key, 0) for key, mass in first.items())
    return Fraction(sum(gap for gap in gaps if gap > 0)) / down


@lru_cache(maxsize=4)
def _round(P0: tuple[Number, ...], P1: tuple[Number, ...], t: tuple[Number, ...], n: int) -> tuple[Law, Law, int]:
    """Both laws of a round in whole numbers, and their scale."""
    unit, (p0, p1, chances) = whole(P0, P1, t)
    others: Law = {(0,) * len(chances): 1}  # type: ignore[dict-item]
    for _ in range(n - 1):
        others = _send(others, chances, unit - sum(chances))
    return _send(others, p0, 0), _send(others, p1, 0), unit**n


def round_divergence(P0: Sequence[Number], P1: Sequence[Number], t: Sequence[Number], n: int, E: Fraction) -> Fraction:
    """D_E of a round: the victim's message and n - 1 others, each symbol j with chance t_j or nothing."""
    first, second, scale = _round(tuple(P0), tuple(P1), tuple(t), n)
    return hockey_stick(first, second, E) / scale


@lru_cache(maxsize=4)
def _batches(R: tuple[tuple[Number, ...], ...], datasets: tuple[tuple[int, ...], ...]) -> tuple[list[list[Law]], int]:
    """Of every multiset of others, the laws of all reports for every input of the victim, and their scale."""
    unit, rows = whole(*R)
    found = []
    for others in datasets:
        law: Law = {(0,) * len(rows[0]): 1}  # type: ignore[dict-item]
        for x in others:
            law = _send(law, rows[x], 0)
        found.append([_send(law, row, 0) for row in rows])
    return found, unit ** (len(datasets[0]) + 1)


def shuffled_divergence(
    R: Sequence[Sequence[Number]], x0: int, x1: int, others: Sequence[int], E: Fraction
) -> Fraction:
    """True D_E between the shuffled outputs of (x0, others) and (x1, others); R has one row per input."""
    (laws,), scale = _batches(tuple(map(tuple, R)), (tuple(others),))
    return hockey_stick(laws[x0], laws[x1], E) / scale


def worst_divergence(R: Sequence[Sequence[Number]], n: int, E: Fraction) -> Fraction:
    """The largest shuffled_divergence over all pairs of inputs and all inputs of the other n - 1 users."""
    datasets = tuple(combinations_with_replacement(range(len(R)), n - 1))
    found, scale = _batches(tuple(map(tuple, R)), datasets)
    return max(hockey_stick(first, second, E) for laws in found for first, second in permutations(laws, 2)) / scale


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
