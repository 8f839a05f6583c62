"""Members of the swap bound made from a matrix, and laws for it, without any mechanism of the library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from random import Random

import numpy as np

from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair

from .fractions_oracle import exp_enclosure
from .randomizers import Matrix, floats, grr, random_matrix
from .swap import common_mass


def member(matrix: Matrix, pair: tuple[int, int], mass: Fraction | float | None = None) -> SwapPair:
    """The victim holds one of two inputs, the others any input of the matrix."""
    rows = floats(matrix)
    types = tuple(ShuffledPair(rows[pair[0]], rows[pair[1]], row) for row in rows)
    return SwapPair(types, float(common_mass(matrix) if mass is None else mass))


def upper(swap: SwapPair, n: int, eps: Sequence[float], tol: float = 1e-4) -> list[Fraction]:
    """The swap bound on delta at every eps, as exact numbers."""
    found = SwapSet([swap]).log_delta(np.array(eps), n=n, tol=30.0 * tol, side="upper")
    return [Fraction(math.exp(value)) for value in found]


def ratios(eps: Sequence[float]) -> list[Fraction]:
    """A fraction just above e^eps for every eps: the truth there is no larger than at eps."""
    return [exp_enclosure(value)[1] for value in eps]


def structured(rng: Random) -> Matrix:
    """Laws with a structure on purpose: symbols nobody else sends, nearly certain ones, equal rows, responses."""
    kind = rng.randrange(6)
    if kind == 0:  # one type never sends a symbol that the victim may send
        return [[Fraction(9, 10), Fraction(1, 10), Fraction(0)], [Fraction(1), Fraction(0), Fraction(0)]]
    if kind == 1:  # nearly certain
        tiny = Fraction(1, rng.choice([50, 1000, 10**6]))
        return [[1 - 2 * tiny if x == y else tiny for y in range(3)] for x in range(3)]
    if kind == 2:  # two equal rows
        matrix = random_matrix(rng)
        return [matrix[0], matrix[1], list(matrix[0])]
    if kind == 3:
        return grr(rng.choice([2, 3]), rng.choice([2, 3, 10, 100]))
    if kind == 4:  # a hole on either side, and a common symbol
        a = Fraction(rng.randrange(1, 9), 10)
        return [[a, 1 - a, Fraction(0)], [a, Fraction(0), 1 - a], [Fraction(1), Fraction(0), Fraction(0)]]
    q = rng.choice([2, 4, 20])  # choose 2 of 3
    return [[Fraction(q if x != y else 1, 2 * q + 1) for y in range(3)] for x in range(3)]


def changed(matrix: Matrix, rng: Random, *, zeros: bool = True) -> Matrix:
    """A neighbor of the matrix: one or two entries multiplied, set, or emptied, and the rows divided by their sums."""
    rows = [[max(int(entry * 10**6), 1 if entry else 0) for entry in row] for row in matrix]
    for _ in range(rng.choice([1, 2])):
        row = rng.choice(rows)
        j = rng.randrange(len(row))
        row[j] = rng.choice([row[j] * 2, row[j] * 10, row[j] // 3 + 1, 10**5, 0 if zeros else 1 + row[j] // 20])
    if any(not any(row) for row in rows):
        return matrix
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


def laws(name: str, eps0: float, d: int = 0, k: int = 0) -> np.ndarray:
    """The laws of inputs 0, 1 and 2 of a mechanism over all of its outputs, straight from its definition."""
    q = math.exp(eps0)
    if name == "RR2":
        table = [[q, 1.0], [1.0, q]]
    elif name == "GRR":
        table = [[q if x == y else 1.0 for y in range(d)] for x in range(3)]
    elif name == "ksubset":
        table = [[q if x in chosen else 1.0 for chosen in combinations(range(d), k)] for x in range(3)]
    else:
        own = math.sqrt(q) / (1.0 + math.sqrt(q)) if name == "SUE" else 0.5
        other = 1.0 - own if name == "SUE" else 1.0 / (q + 1.0)
        chance = [[own if i == x else other for i in range(d)] for x in range(3)]
        table = [
            [
                math.prod(p if bit else 1.0 - p for p, bit in zip(row, bits, strict=True))
                for bits in product((0, 1), repeat=d)
            ]
            for row in chance
        ]
    matrix = np.array(table)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
