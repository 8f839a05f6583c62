"""The laws of many shuffled pairs as rows of arrays, and their divergence at one eps per row, on the contour.

Laws with fewer symbols than others are filled up with symbols of mass 0 and value 0, which change nothing: a draw of
mass 0 is never made, and the value 0 counts as a possible one in any case ("nothing").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ..evaluators import contour
from ..evaluators.choose import Side, law_shift, mass_slack
from ..pair import FloatArray, ShuffledPair

NDArrayInt = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

#: Laws with more symbols than this fill the cache with one row: nothing is gained by several.
_MOST_SYMBOLS = 24
#: Expected number of others sending a symbol below which the row is left to evaluators/choose.py.
_RARE = 1e-6
#: A row that takes more nodes than this is left to the evaluators for few clones (choose.py).
_MOST_NODES = 4000.0


class Found(NamedTuple):
    """The safe end of log delta, its upper end, |d log delta / d eps|, and whether the bracket is narrow enough."""

    value: FloatArray
    upper: FloatArray
    slope: FloatArray
    narrow: np.ndarray


@dataclass(frozen=True)
class Laws:
    """X of every row is gap - (E - 1) v with probability t; ``n`` messages are sent.

    ``plain`` says for which rows the contour alone is enough: symbols are few, none is exposed or almost so, and
    sup P0/P1 is finite.  The rounding of the laws is charged here as in evaluators/choose.py.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    >>> laws = Laws.of([coin], np.array([0, 0]), np.array([1e3, 1e6]), "upper")
    >>> laws.at(np.arange(2), np.array([0.1, 0.003]), np.full(2, 1e-3)).value.round(1).tolist()
    [-8.5, -11.7]
    """

    gap: FloatArray
    v: FloatArray
    t: FloatArray
    n: FloatArray
    plain: np.ndarray
    side: Side

    @classmethod
    def of(cls, pairs: Sequence[ShuffledPair], which: NDArrayInt, n: FloatArray, side: Side) -> Self:
        """``which`` names the pair of every row."""
        sizes = [pair.atoms.t.size for pair in pairs]
        width = max(max((size for size in sizes if size <= _MOST_SYMBOLS), default=1), 1)
        gap, v, t = (np.zeros((len(pairs), width)) for _ in range(3))
        least, covered = np.full(len(pairs), np.inf), np.zeros(len(pairs), dtype=bool)
        for i, pair in enumerate(pairs):
            atoms = pair.atoms
            factor = 1.0 - mass_slack(np.size(pair.t)) if side == "upper" else 1.0
            size = atoms.t.size
            if size > _MOST_SYMBOLS:
                continue
            gap[i, :size], v[i, :size], t[i, :size] = atoms.gap / factor, atoms.v / factor, atoms.t * factor
            least[i] = atoms.t.min(initial=np.inf)
            covered[i] = not atoms.zero0.size and size > 0 and math.isfinite(pair.max_ratio)
        plain = covered[which] & (n * least[which] >= _RARE)
        return cls(gap[which], v[which], t[which], n, plain, side)

    def rows(self, which: np.ndarray) -> Self:
        """Some of the rows."""
        return type(self)(self.gap[which], self.v[which], self.t[which], self.n[which], self.plain[which], self.side)

    @property
    def spread(self) -> FloatArray:
        """sum (P0 - P1)^2 / t of every row: the leading order of eps is proportional to its root."""
        return np.asarray(np.einsum("ij,ij,ij->i", self.t, self.gap, self.gap))

    def at(self, rows: np.ndarray, eps: FloatArray, rtol: FloatArray) -> Found:
        """log delta of some rows at one eps each; what is not ``narrow`` is left to evaluators/choose.py."""
        upper_side = self.side == "upper"
        shifted = eps - law_shift(eps) if upper_side else eps + law_shift(eps)
        v = self.v[rows]
        values = self.gap[rows] - np.expm1(shifted)[:, None] * v
        found = contour.log_bracket(values, v, self.t[rows], self.n[rows], rtol, most_nodes=_MOST_NODES)
        with np.errstate(all="ignore"):
            narrow = (found.upper - found.lower <= 2.0 * rtol) | (found.upper <= contour.UNDERFLOW)
            slope = np.abs(found.slope * np.exp(shifted - found.upper))
        slope = np.where(np.isfinite(slope), slope, 0.0)
        return Found(found.upper if upper_side else found.lower, found.upper, slope, narrow)
