"""The swap bound from its definition, slowly and exactly: every dataset, every subset, every count, in fractions.

``theorem_one`` is the right-hand side of Theorem 1 of docs/swap.md for one dataset; ``Datasets`` the truth for all of
them; ``binary_response`` and ``ternary_response`` the truth among up to hundreds of users, by powers of polynomials
with whole coefficients.  Nothing here uses the library.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations_with_replacement, permutations, product

from flint import fmpz_poly

from .fractions_oracle import Law, _send, hockey_stick, whole

Row = Sequence[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def common_mass(rows: Sequence[Row]) -> Fraction:
    """sum of the smallest probability of every symbol."""
    return sum((min(column) for column in zip(*rows, strict=True)), ZERO)


def local_delta(p0: Row, p1: Row, E: Fraction) -> Fraction:
    """sum (P0 - E P1)_+: what the victim's report alone reveals."""
    return sum((max(ZERO, a - E * b) for a, b in zip(p0, p1, strict=True)), ZERO)


class Datasets:
    """The truth about a matrix: the shuffled outputs for every pair of inputs and every multiset of n - 1 others."""

    def __init__(self, rows: Sequence[Row], n: int) -> None:
        inputs = range(len(rows))
        self.laws: dict[tuple[int, int], list[tuple[Law, Law]]] = {pair: [] for pair in permutations(inputs, 2)}
        self.others = list(combinations_with_replacement(inputs, n - 1))
        unit, sure = whole(*rows)
        self.scale = unit**n
        for others in self.others:
            law: Law = {(0,) * len(sure[0]): 1}  # type: ignore[dict-item]
            for x in others:
                law = _send(law, sure[x], 0)
            sent = [_send(law, row, 0) for row in sure]
            for a, b in self.laws:
                self.laws[a, b].append((sent[a], sent[b]))

    def deltas(self, pair: tuple[int, int], E: Fraction) -> list[Fraction]:
        """D_E for this ordered pair of the victim's inputs, one value per dataset."""
        return [hockey_stick(first, second, E) / self.scale for first, second in self.laws[pair]]


@lru_cache(maxsize=20_000)
def _positive_part(types: tuple[tuple[tuple[Fraction, Fraction], ...], ...], copies: tuple[int, ...]) -> Fraction:
    """E (sum of copies[x] independent X of type x, over x)_+; a type is a tuple of (value, mass)."""
    law = {ZERO: ONE}
    for values, count in zip(types, copies, strict=True):
        for _ in range(count):
            more: dict[Fraction, Fraction] = {}
            for total, mass in law.items():
                for value, chance in values:
                    more[total + value] = more.get(total + value, ZERO) + mass * chance
            law = more
    return sum((total * mass for total, mass in law.items() if total > 0), ZERO)


def law_of_x(p0: Row, p1: Row, t: Row, E: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """The values and masses of X = (P0 - E P1)(J)/t(J), 0 if nothing is sent."""
    found: Counter[Fraction] = Counter()
    for a, b, chance in zip(p0, p1, t, strict=True):
        if chance:
            found[(a - E * b) / chance] += chance  # type: ignore[assignment]
    rest = 1 - sum(t, ZERO)
    if rest:
        found[ZERO] += rest  # type: ignore[assignment]
    return tuple(sorted(found.items()))  # type: ignore[arg-type]


def theorem_one(
    p0: Row,
    p1: Row,
    types: Sequence[Row],
    others: Sequence[int],
    E: Fraction,
    *,
    beta: Fraction,
    holes: bool = True,
) -> Fraction:
    """Theorem 1's right-hand side for others of these types; ``holes=False`` and a wrong ``beta`` read it falsely."""
    held = [list(others).count(x) for x in range(len(types))]
    users = len(others)
    laws = tuple(law_of_x(p0, p1, t, E) for t in types)
    exposed = [
        sum((max(ZERO, a - E * b) for a, b, c in zip(p0, p1, t, strict=True) if not c), ZERO) if holes else ZERO
        for t in types
    ]
    total = (1 - beta) ** users * local_delta(p0, p1, E)
    for k in range(users):
        size = users - k
        weight = beta * (1 - beta) ** k
        if not weight:
            continue
        for copies in _splits(held, size):
            chance = Fraction(
                math.prod(math.comb(h, c) for h, c in zip(held, copies, strict=True)), math.comb(users, size)
            )
            mean = _positive_part(laws, copies) / size
            mean += sum((Fraction(c, size) * e for c, e in zip(copies, exposed, strict=True)), ZERO)
            total += weight * chance * mean
    return total


def _splits(most: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """All ways to take ``size`` users, at most so many of each type."""
    for copies in product(*(range(m + 1) for m in most)):
        if sum(copies) == size:
            yield copies


def binary_response(q: int, n: int, ones: int, E: Fraction, *, victim: int = 1) -> Fraction:
    """The exact divergence of binary randomized response, ratio q, ``ones`` of the n - 1 others holding 1."""
    law = fmpz_poly([q, 1]) ** (n - 1 - ones) * fmpz_poly([1, q]) ** ones
    both = law * fmpz_poly([1, q]), law * fmpz_poly([q, 1])
    return _stick(both if victim else both[::-1], (q + 1) ** n, E)


@cache
def _ternary(q: int, n: int, held: tuple[int, int, int]) -> tuple[fmpz_poly, fmpz_poly]:
    """Counts of reports 0 and 1 as exponents of z and z^(n+1)."""
    factors = []
    for x in range(3):
        coefficients = [0] * (n + 2)
        for place, symbol in ((0, 2), (1, 0), (n + 1, 1)):
            coefficients[place] = q if symbol == x else 1
        factors.append(fmpz_poly(coefficients))
    law = factors[0] ** held[0] * factors[1] ** held[1] * factors[2] ** held[2]
    return law * factors[0], law * factors[1]


def ternary_response(q: int, n: int, held: tuple[int, int, int], E: Fraction) -> Fraction:
    """The exact divergence of 3-ary randomized response, victim 0 or 1, the others holding each value so often."""
    if sum(held) != n - 1:
        raise ValueError("held must count the n - 1 others")
    return _stick(_ternary(q, n, held), (q + 2) ** n, E)


def _stick(laws: tuple[fmpz_poly, fmpz_poly], scale: int, E: Fraction) -> Fraction:
    """sum (first - E second)_+ / scale, in whole numbers."""
    gaps = laws[0] * E.denominator - laws[1] * E.numerator
    return Fraction(sum(int(g) for g in gaps.coeffs() if g > 0), E.denominator * scale)
