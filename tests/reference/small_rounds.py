"""All that a handful of users can do, from the definition: laws of multisets, all datasets, products of rounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def shuffled(rows: Sequence[Matrix]) -> Matrix:
    """The law of the multiset of one report of each of these users, over sorted tuples of outputs."""
    joint = np.ones(())
    for row in rows:
        joint = np.multiply.outer(joint, row)
    size = len(rows[0])
    keys = np.array(list(itertools.product(range(size), repeat=len(rows))))
    code = np.sort(keys, axis=1) @ size ** np.arange(len(rows))[::-1]
    return np.bincount(code, weights=joint.reshape(-1), minlength=size ** len(rows))


def neighbors(matrix: Matrix, n: int, reports: int = 1) -> Iterator[list[Matrix]]:
    """For all that the n - 1 others may hold: the laws of the batch, one for all that the victim may hold."""
    inputs = range(len(matrix))
    mine = list(itertools.combinations_with_replacement(inputs, reports))
    for others in itertools.combinations_with_replacement(inputs, (n - 1) * reports):
        known = [matrix[x] for x in others]
        yield [shuffled([*known, *(matrix[x] for x in held)]) for held in mine]


def worst(matrix: Matrix, n: int, ratios: Sequence[float], reports: int = 1) -> list[float]:
    """The largest D_E over all pairs of neighboring datasets, for every E."""
    out = [0.0] * len(ratios)
    for laws in neighbors(matrix, n, reports):
        stacked = np.stack(laws)
        for i, ratio in enumerate(ratios):
            for law in stacked:
                out[i] = max(out[i], float(np.maximum(law - ratio * stacked, 0.0).sum(axis=1).max()))
    return out


def composed(rounds: Sequence[tuple[Matrix, Matrix]], ratio: float) -> float:
    """D_E of independent rounds, given the two laws of each."""
    first, second = np.ones(1), np.ones(1)
    for p, q in rounds:
        first, second = np.multiply.outer(first, p).reshape(-1), np.multiply.outer(second, q).reshape(-1)
    return math.fsum(np.maximum(first - ratio * second, 0.0))
