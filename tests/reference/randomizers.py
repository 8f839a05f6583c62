"""Random small randomizers in fractions, and the truth about them: every dataset, every pair of inputs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from random import Random

from .fractions_oracle import Law, _send, hockey_stick, whole

Matrix = list[list[Fraction]]


def grr(d: int, ratio: Fraction | int) -> Matrix:
    """d-ary randomized response with e^eps0 = ratio."""
    total = Fraction(ratio) + d - 1
    return [[(Fraction(ratio) if x == y else Fraction(1)) / total for y in range(d)] for x in range(d)]


def random_matrix(rng: Random) -> Matrix:
    """2 or 3 inputs, 2 to 4 outputs; zeros, tiny entries, equal rows and proportional columns are common."""
    inputs, outputs = rng.choice([2, 3, 3]), rng.choice([2, 3, 3, 4])
    zeros = rng.choice([0.0, 0.0, 0.3])
    weights = [1, 1, 2, 3, 5, 8, 40] if rng.random() < 0.7 else [1, 3, 1000, 10**6]
    rows = []
    for _ in range(inputs):
        row = [0 if rng.random() < zeros else rng.choice(weights) for _ in range(outputs)]
        if not any(row):
            row[rng.randrange(outputs)] = 1
        rows.append(row)
    if inputs == 3 and rng.random() < 0.25:
        rows[2] = list(rows[rng.randrange(2)])
    if rng.random() < 0.25:
        a, b = rng.sample(range(outputs), 2)
        factor = rng.choice([1, 1, 2])
        for row in rows:
            row[b] = factor * row[a]
    if any(not sum(row) for row in rows):
        return random_matrix(rng)
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


def floats(matrix: Matrix) -> list[list[float]]:
    """What a user would pass: every entry rounded to a double."""
    return [[float(entry) for entry in row] for row in matrix]


class Truth:
    """The laws of the shuffled outputs of every pair of neighboring datasets of n users."""

    def __init__(self, matrix: Matrix, n: int) -> None:
        inputs = range(len(matrix))
        unit, rows = whole(*matrix)
        self.scale = unit**n
        self.pairs: list[tuple[Law, Law]] = []
        for others in combinations_with_replacement(inputs, n - 1):
            law: Law = {(0,) * len(rows[0]): 1}  # type: ignore[dict-item]
            for x in others:
                law = _send(law, rows[x], 0)
            sent = [_send(law, row, 0) for row in rows]
            self.pairs += [(sent[a], sent[b]) for a, b in permutations(inputs, 2)]

    @property
    def laws(self) -> list[tuple[Law, Law]]:
        """The same pairs with their masses as probabilities."""

        def scaled(law: Law) -> Law:
            return {key: Fraction(mass) / self.scale for key, mass in law.items()}

        return [(scaled(a), scaled(b)) for a, b in self.pairs]

    def divergence(self, E: Fraction) -> Fraction:
        """The largest D_E over all of them."""
        return max((hockey_stick(a, b, E) for a, b in self.pairs), default=Fraction(0)) / self.scale

    def ratio(self, delta: Fraction, bits: int = 60) -> tuple[Fraction, Fraction] | None:
        """Two E, 2^-bits apart, around the smallest E >= 1 with divergence <= delta; None if E > 2^80."""
        if self.divergence(Fraction(1)) <= delta:
            return Fraction(1), Fraction(1)
        low, high = Fraction(1), Fraction(2)
        while self.divergence(high) > delta:
            low, high = high, high * high
            if high > 2**80:
                return None
        while high - low > Fraction(1, 2**bits) * high:
            middle = (low + high) / 2
            middle = Fraction(int(middle * 2 ** (bits + 20)), 2 ** (bits + 20))
            low, high = (middle, high) if self.divergence(middle) > delta else (low, middle)
        return low, high
