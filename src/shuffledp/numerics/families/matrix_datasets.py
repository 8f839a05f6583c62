"""Constant datasets of a probability matrix: all others hold the same input, which gives lower bounds."""

from __future__ import annotations

import numpy as np

from ..distinct import distinct
from ..pair import TINY, FloatArray, ShuffledPair
from .base import PairSet, two_counts

_CANDIDATES = 24
#: Products of this size are not worth a second thread, whose waiting would cost more than it saves.
_STRIP = 2**18


def constant_datasets(matrix: FloatArray) -> PairSet:
    """Pairs with t = R(x*) for the most distinguishable inputs and x*: each is the *exact* divergence of a dataset.

    Any choice is a valid lower bound, so only the largest in leading order are kept.
    """
    rows = matrix[distinct(matrix)[0]]
    return _unlike([ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x]) for a, b, x in _most_telling(rows)], matrix.size)


def two_count_datasets(matrix: FloatArray) -> PairSet:
    """The paper's Theorem 5.1: the same datasets, seen through two counts only (both directions).

    A+ = {R0 > R1} and A- = {R0 < R1} are merged into one symbol each, the rest into a third.
    """
    rows = matrix[distinct(matrix)[0]]
    pairs = [two_counts(ShuffledPair(P0=rows[a], P1=rows[b], t=rows[x])) for a, b, x in _most_telling(rows)]
    return _unlike(pairs, matrix.size)


def _unlike(pairs: list[ShuffledPair], cells: int) -> PairSet:
    """The first few shuffled pairs with different laws; more of them for a small matrix."""
    seen: dict[bytes, ShuffledPair] = {}
    for pair in pairs:
        atoms = pair.atoms
        table = np.column_stack([atoms.u, atoms.v, atoms.t])
        key = np.round(table[np.lexsort(np.round(table.T, 9))], 9)
        bare = np.sort(np.round(atoms.zero0 - 1j * atoms.zero1, 9))
        seen.setdefault(key.tobytes() + bare.tobytes(), pair)
    return PairSet(list(seen.values())[: _CANDIDATES if cells <= 4096 else 8])


def _most_telling(rows: FloatArray) -> list[tuple[int, int, int]]:
    """(x0, x1, x*) by falling sum (R0 - R1)^2 / R(x*), exposed symbols first; one pair per x* if d is large."""
    d = len(rows)
    found = []
    strip = d if d <= 64 else max(1, _STRIP // rows.size)
    for x in range(d) if d > 1 else ():
        hidden = rows[x] > TINY
        weight = np.where(hidden, 1.0 / np.where(hidden, rows[x], 1.0), 0.0)
        square = (rows * rows * weight).sum(axis=1)
        score = np.add.outer(square, square)
        double = 2.0 * rows * weight
        for i in range(0, d, strip):
            score[i : i + strip] -= double[i : i + strip] @ rows.T
        bare = rows[:, ~hidden]
        for j in range(bare.shape[1]):
            score += 1e12 * np.maximum(bare[:, None, j] - bare[None, :, j], 0.0)
        np.fill_diagonal(score, -1.0)
        best = range(d * d) if d <= 8 else _top(score) if d <= 64 else _both(int(score.argmax()), d)
        found += [(float(score.flat[i]), i // d, i % d, x) for i in best if score.flat[i] > 0]
    found.sort(key=lambda item: -item[0])
    return [(a, b, x) for _, a, b, x in found]


def _top(score: FloatArray) -> list[int]:
    return [int(i) for i in np.argpartition(-score, 8, axis=None)[:8]]


def _both(i: int, d: int) -> list[int]:
    """A place in a d x d matrix and its mirror image: the pair in both directions."""
    return [i, i % d * d + i // d]
