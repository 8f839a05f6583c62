"""Constant datasets of a probability matrix: all others hold the same input, which gives lower bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .family import PairSet
from .pair import TINY, FloatArray, ShuffledPair, two_counts
from .symmetry import distinct_rows

#: Matrices up to this many entries keep the second number of datasets, larger ones the third.
_FEW_ENTRIES, _MANY_KEPT, _FEW_KEPT = 4096, 24, 8
#: Up to this many inputs all pairs are compared for every x*, beyond it the best few.
_FEW_INPUTS, _BEST = 8, 8
#: Beyond this many inputs, products are computed in strips of this size, each in one thread: waiting for a second one
#: would cost more than it saves.
_MANY_INPUTS, _STRIP = 64, 2**18


def constant_datasets(matrix: FloatArray) -> PairSet:
    """Pairs with t = R(x*) for the most distinguishable inputs and x*: each is the *exact* divergence of a dataset.

    Any choice is a valid lower bound, so only the largest in leading order are kept.
    """
    return _different(_most_telling(distinct_rows(matrix)), matrix.size)


def two_count_datasets(matrix: FloatArray) -> PairSet:
    """The paper's Theorem 5.1: the same datasets, seen through two counts only (both directions)."""
    return _different(map(two_counts, _most_telling(distinct_rows(matrix))), matrix.size)


def _different(pairs: Iterable[ShuffledPair], entries: int) -> PairSet:
    """The first few shuffled pairs with different laws; more of them for a small matrix."""
    seen: dict[bytes, ShuffledPair] = {}
    for pair in pairs:
        atoms = pair.atoms
        table = np.round(np.column_stack([atoms.u, atoms.v, atoms.t]), 9)
        bare = np.sort(np.round(atoms.zero0 - 1j * atoms.zero1, 9))
        seen.setdefault(table[np.lexsort(table.T)].tobytes() + bare.tobytes(), pair)
        if len(seen) == (_MANY_KEPT if entries <= _FEW_ENTRIES else _FEW_KEPT):
            break
    return PairSet(list(seen.values()))


def _most_telling(rows: FloatArray) -> Iterator[ShuffledPair]:
    """(R0, R1, R(x*)) by falling sum (R0 - R1)^2 / R(x*), exposed symbols first; the best few for every x*."""
    d = len(rows)
    found: list[tuple[float, int, int, int]] = []
    strip = d if d <= _MANY_INPUTS else max(1, _STRIP // rows.size)
    for x in range(d) if d > 1 else ():
        hidden = rows[x] > TINY
        weight = np.where(hidden, 1.0 / np.where(hidden, rows[x], 1.0), 0.0)
        square = (rows * rows * weight).sum(axis=1)
        score = np.add.outer(square, square)
        double = 2.0 * rows * weight
        for i in range(0, d, strip):
            score[i : i + strip] -= double[i : i + strip] @ rows.T
        for column in rows[:, ~hidden].T:
            score += 1e12 * np.maximum(np.subtract.outer(column, column), 0.0)
        np.fill_diagonal(score, -1.0)
        best = range(d * d) if d <= _FEW_INPUTS else np.argpartition(-score, _BEST, axis=None)[:_BEST].tolist()
        found += [(float(score.flat[i]), i // d, i % d, x) for i in best if score.flat[i] > 0.0]
    found.sort(key=lambda item: -item[0])
    return (ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x]) for _, a, b, x in found)
