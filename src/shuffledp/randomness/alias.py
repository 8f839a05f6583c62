"""Draws from many given laws at once, by the alias method on whole numbers (Walker 1977; Vose, IEEE TSE 1991)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .sampling import Source, below, words

#: A threshold is a whole multiple of 2^-_BITS, kept in two words.
_BITS = 128


class AliasTable:
    """Laws over the same outcomes, each given by whole weights of any size.

    A draw picks an outcome uniformly and keeps it with the probability of its threshold, else takes its alias.  Each
    outcome has probability weight/(sum of the weights) to within 2^-128; one of weight 0 is never drawn.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> table = AliasTable([[1, 3, 0], [0, 0, 7]])
    >>> drawn = table.draw(source(np.random.default_rng(0)), np.array([0] * 4000 + [1] * 4000))
    >>> np.bincount(drawn[4000:]).tolist(), bool(abs(np.mean(drawn[:4000]) - 0.75) < 0.03)
    ([0, 0, 4000], True)
    """

    def __init__(self, weights: Sequence[Sequence[int]]) -> None:
        tables = [_thresholds(row) for row in weights]
        self._outcomes = len(weights[0])
        cuts = [cut for row, _ in tables for cut in row]
        self._high = np.array([cut >> 64 for cut in cuts], dtype=np.uint64)
        self._low = np.array([cut & (2**64 - 1) for cut in cuts], dtype=np.uint64)
        self._alias = np.array([row for _, row in tables], dtype=np.min_scalar_type(self._outcomes - 1)).reshape(-1)

    def draw(self, src: Source, laws: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
        """One outcome for every entry of ``laws``, the index of its law."""
        picked = below(src, self._outcomes, len(laws))
        cell = laws.astype(np.int64) * self._outcomes + picked
        word, cut = words(src, len(laws), 64), self._high[cell]
        kept = word < cut
        tied = np.flatnonzero(word == cut)
        kept[tied] = words(src, tied.size, 64) < self._low[cell[tied]]
        return np.where(kept, picked.astype(self._alias.dtype), self._alias[cell])


def _thresholds(weights: Sequence[int]) -> tuple[list[int], list[int]]:
    """Threshold (in units of 2^-128) and alias of every outcome; one that fills its cell is its own alias."""
    total, size = sum(weights), len(weights)
    if total <= 0 or min(weights) < 0:
        raise ParameterError("weights must be whole numbers >= 0 with a positive sum, got something else; check them.")
    left = [weight * size for weight in weights]  # each cell holds ``total``
    cuts, alias = [0] * size, list(range(size))
    small = [j for j in range(size) if left[j] < total]
    large = [j for j in range(size) if left[j] > total]
    while small:  # what the small cells lack is exactly the excess of the large ones
        j, donor = small.pop(), large[-1]
        cuts[j], alias[j] = (left[j] << _BITS) // total, donor
        left[donor] -= total - left[j]
        if left[donor] <= total:
            large.pop()
            small += [donor] if left[donor] < total else []
    return cuts, alias
