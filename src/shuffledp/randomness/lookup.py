"""Draws from laws given by whole weights.

From one law, the first 16 random bits decide nearly always, by a table; from many at once, by the alias method (Walker
1977; Vose, IEEE TSE 1991).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .sampling import Source, below, words

#: A uniform number, and a threshold, has _BITS binary digits (two words); the first _FIRST are looked up.
_BITS, _FIRST = 128, 16


class LookupTable:
    """One law over 0, 1, ..., given by whole weights of any size.

    A uniform number U = 0.b1 b2 ... b128 falls between two sums of probabilities, each rounded down to a multiple of
    2^-128, so every outcome has probability weight/(sum of the weights) to within 2^-128, and one of weight 0 is never
    drawn.  Of the 2^16 cells of the first 16 digits nearly all lie between two sums: the table holds their outcome.
    Numbers in the other cells are drawn to 64 digits, and to 128 where those agree with the digits of a sum.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> table = LookupTable([1, 3, 0, 12])
    >>> np.bincount(table.draw(source(np.random.default_rng(0)), 16_000)).tolist()[2]
    0
    """

    def __init__(self, weights: Sequence[int]) -> None:
        total = _total(weights)
        sums = ((below << _BITS) // total for below in accumulate(weights[:-1]))
        self._sums = [cut for cut in sums if cut < 1 << _BITS]  # outcomes beyond have weight 0
        self._high = np.array([cut >> 64 for cut in self._sums], dtype=np.uint64)
        cells = 1 << _FIRST
        within = [cut >> (_BITS - _FIRST) for cut in self._sums]
        at_start = [cell for cell, cut in zip(within, self._sums, strict=True) if not cut % (1 << (_BITS - _FIRST))]
        inside = np.bincount(np.array(within, dtype=np.int64), minlength=cells)
        last = np.cumsum(inside)  # the sums up to the end of each cell, and up to its start
        first = last - inside + np.bincount(np.array(at_start, dtype=np.int64), minlength=cells)
        # of a cell that is cut, -1 - (the sums up to its start): where the search among the sums begins
        self._table = np.where(first == last, first, -1 - first).astype(np.min_scalar_type(-len(weights)))

    def draw(self, src: Source, size: int) -> NDArray[np.signedinteger]:
        """``size`` independent outcomes, in the smallest signed dtype."""
        start = words(src, size, _FIRST)
        out = self._table.take(start.astype(np.intp), mode="clip")
        open_ = np.flatnonzero(out < 0)
        if open_.size:
            more = words(src, open_.size, 64) >> np.uint64(_FIRST)
            word = start[open_].astype(np.uint64) << np.uint64(64 - _FIRST) | more
            found = self._sums_up_to(word, ~out[open_].astype(np.intp))
            for i in np.flatnonzero(self._high[np.maximum(found - 1, 0)] == word):  # once in 2^64 draws
                found[i] = bisect_right(self._sums, int(word[i]) << 64 | int(words(src, 1, 64)[0]))
            out[open_] = found
        return out

    def _sums_up_to(self, word: NDArray[np.uint64], found: NDArray[np.intp]) -> NDArray[np.intp]:
        """How many sums begin with at most this word, from how many lie before its cell; nearly all have one inside."""
        found += word >= self._high[found]
        more = np.flatnonzero(word >= self._high[np.minimum(found, self._high.size - 1)])
        found[more] = np.searchsorted(self._high, word[more], side="right")
        return found


def categorical(src: Source, weights: Sequence[int], size: int) -> NDArray[np.int64]:
    """Category j with probability weights[j] / sum(weights), to within 2^-128 (whole weights of any size)."""
    return _table(tuple(weights)).draw(src, size).astype(np.int64)


@lru_cache(maxsize=64)
def _table(weights: tuple[int, ...]) -> LookupTable:
    return LookupTable(weights)


def _total(weights: Sequence[int]) -> int:
    """The sum; refused unless weights can be a law."""
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ParameterError("weights must be whole numbers >= 0 with a positive sum, got something else; check them.")
    return total


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
    total, size = _total(weights), len(weights)
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
