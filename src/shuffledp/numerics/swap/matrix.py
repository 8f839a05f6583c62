"""The swap bound of a probability matrix: every ordered pair of rows among others who hold any row.

A d x d matrix has d (d - 1) ordered pairs with d types each.  Small matrices are evaluated as they are, those with few
levels by their distinct laws, and pairs that a symmetry of the matrix exchanges once (symmetry.py).  Elsewhere the most
telling pair is solved, and every other one is discarded at its eps by a bound from moments (moments.py), or evaluated
there: no pair is dropped without proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from ...errors import BoundNotApplicableError
from .. import tuning
from ..family import Answer, Family, PairSet
from ..lazy import Search
from ..pair import TINY, FloatArray, IntArray, ShuffledPair, Side, distinct, mass_slack
from ..rows import ULP
from ..symmetry import SAME_LAW, Alike, distinct_rows, groups, merged_columns, representatives
from .curve import SwapCurve, dither_for
from .family import SwapSet, only_upper
from .moments import PairMoments
from .pair import Members, SwapPair, TypeTable
from .waiting import Others

#: Ordered pairs up to which all of them are evaluated.
_FEW_PAIRS = 12
#: Triples (a, b, x) up to which a matrix is searched.
_MOST_TRIPLES = 3e7
#: Levels up to which equal laws are found, joint masses and the products they take, and laws.
_FEW_LEVELS, _MOST_MASSES, _MOST_CELLS, _MOST_LAWS = 3, 1e7, 1e9, 64
#: Free users that are expected, below which nothing is searched: the bound is then far from sharp.
_FEWEST_FREE = 25.0


def swap_pairs(matrix: FloatArray) -> Family:
    """The swap bound of a matrix, by the quickest way that is exact.

    Examples
    --------
    >>> coin = swap_pairs(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.142
    """
    rows = merged_columns(distinct_rows(matrix))
    d, members = len(rows), len(rows) * (len(rows) - 1)
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1]))
    if not members:
        return PairSet([])
    if members <= _FEW_PAIRS:
        pairs = itertools.permutations(rows, 2)
        return SwapSet([SwapPair(tuple(ShuffledPair(a, b, x) for x in rows), common) for a, b in pairs])
    listed = representatives(rows)
    few = _distinct_laws(rows, listed, common * (1.0 - SAME_LAW))
    if few is not None:
        return Alike(SwapSet(few), members)
    if np.any(rows <= TINY):
        raise BoundNotApplicableError(
            "bound 'swap' is not evaluated for a large matrix with zeros, which hide nobody; use bound='auto'."
        )
    if float(d) ** 3 > _MOST_TRIPLES:
        raise BoundNotApplicableError(
            f"bound 'swap' is evaluated for at most {int(_MOST_TRIPLES ** (1 / 3))} different inputs, got {d}; "
            "use bound='auto'."
        )
    if listed.size == members:
        return SwapSearch(rows, listed, common, 1.0)
    return Alike(SwapSearch(rows, listed, common * (1.0 - SAME_LAW), 1.0 - SAME_LAW), members)


class SwapSearch(Search):
    """Ordered pairs of the rows of a matrix without zeros, among others who hold any row."""

    def __init__(self, rows: FloatArray, listed: IntArray, common: float, presence: float) -> None:
        """``common`` is the mass of a part that all types share; they take part with probability ``presence``."""
        self._rows, self.listed, self._common, self._presence = rows, listed, common, presence
        self.cells = rows.size
        self.most_evaluated = max(tuning.AT_ONCE, tuning.MOST_SWAP_CELLS // rows.size)
        self._beta = 1.0 if common >= 1.0 else min(common * (1.0 - ULP), 1.0 - 2.0**-53)
        self._moments = PairMoments(rows, presence * (1.0 - mass_slack(rows.shape[1])))

    def thinned(self, chance: float) -> SwapSearch:
        """An absent user sends "nothing", which all types share."""
        if chance == 1.0:
            return self
        common = 1.0 - chance + chance * self._common
        return SwapSearch(self._rows, self.listed, common, self._presence * chance)

    def spreads(self) -> FloatArray:
        """Those of the worst types."""
        return self._moments.spread[self.listed]

    def limits(self) -> FloatArray:
        """Beyond the largest ratio of the two rows."""
        return self._moments.limit[self.listed]

    def curve(self, members: IntArray, n: FloatArray, tol: float) -> SwapCurve:
        """Victim pairs, each among all rows as types."""
        different, which = np.unique(members, return_inverse=True)
        rows, count, d = self._rows, different.size, len(self._rows)
        a, b = np.divmod(self.listed[different], d)
        t = np.tile(rows * self._presence, (count, 1))
        laws = TypeTable(np.repeat(rows[a], d, axis=0), np.repeat(rows[b], d, axis=0), t).laws
        nothing, types = np.zeros(count), np.full(count, d)
        table = Members(
            laws,
            np.arange(count) * d,
            types,
            beta=np.full(count, self._beta),
            limit=self.limits()[different],
            floor=nothing,
            slack=nothing,
            gap=(rows[a] - rows[b])[:, None],
            p1=rows[b][:, None],
            spread=(laws.t * laws.gap**2).sum(axis=1),
            fewest_free=nothing,
        )
        return SwapCurve(table, which, n, Others.fixed(n), dither_for(tol))

    def screen(self, members: IntArray, n: FloatArray, eps: FloatArray, level: FloatArray, tol: float) -> FloatArray:
        """From second moments, and where that is not enough from four and from laws."""
        pairs, asked = self.listed[members], self._moments.question(self._beta, n, eps, level)
        value, lines = self._moments.by_variance(pairs, asked, level)
        left = np.flatnonzero(~(value <= level))
        finer = self._moments.by_moments(pairs[left], asked.take(left), lines.take(left), level[left])
        value[left] = np.fmin(value[left], finer)
        return np.where(eps >= self.limits()[members], -np.inf, value)

    @classmethod
    def epsilons(
        cls, families: Sequence[Self], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """inf where next to nobody is free."""
        only_upper(side)
        out = [Answer(math.inf, 0, family.listed.size) for family in families]
        free = _enough(families, n)
        found = super().epsilons([families[i] for i in free], n=n[free], delta=delta[free], tol=tol, side=side)
        for i, answer in zip(free.tolist(), found, strict=True):
            out[i] = answer
        return out

    @classmethod
    def log_deltas(
        cls, families: Sequence[Self], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """log 1 where next to nobody is free."""
        only_upper(side)
        out, free = np.zeros(eps.size), _enough(families, n)
        mine = [families[i] for i in free]
        out[free] = super().log_deltas(mine, eps[free], n=n[free], tol=tol, side=side)
        return out


def _enough(families: Sequence[SwapSearch], n: FloatArray) -> IntArray:
    """The questions in which enough users are free."""
    return np.flatnonzero(n * np.array([family._beta for family in families]) >= _FEWEST_FREE)


def _distinct_laws(rows: FloatArray, pairs: IntArray, common: float) -> list[SwapPair] | None:
    """The distinct pairs of a matrix whose columns have few levels; None elsewhere.

    Each stands for others that are alike (symmetry.py): alike means alike in every mass, however small.
    """
    d, outputs = rows.shape
    top = rows.max(axis=0)
    levels, code = groups(rows / top)
    cells = float(pairs.size) * d * levels.size**3
    if levels.size > _FEW_LEVELS or cells > _MOST_MASSES or cells * outputs > _MOST_CELLS:
        return None
    hot = np.stack([code == i for i in range(levels.size)]).astype(np.float64)  # level, row, output
    first, second = np.divmod(pairs, d)
    both = hot[:, None, first] * hot[None, :, second] * top  # level of a, level of b, pair, output
    masses = np.tensordot(both, hot, axes=(3, 2))  # level of a, of b, pair, level of x, x
    masses = masses.transpose(2, 4, 0, 1, 3).reshape(pairs.size * d, -1)
    label = _numbered(masses, top).reshape(pairs.size, d)
    masses = masses.reshape(pairs.size, d, -1)
    seen: dict[bytes, SwapPair] = {}
    order = np.sort(label, axis=1)
    for i in range(pairs.size):
        key = order[i][np.append(True, np.diff(order[i]) != 0)].tobytes()
        if key not in seen:
            _, types = np.unique(label[i], return_index=True)
            seen[key] = SwapPair(tuple(_law(masses[i, x], levels) for x in types), common)
            if len(seen) > _MOST_LAWS:
                return None
    return list(seen.values())


def _numbered(masses: FloatArray, top: FloatArray) -> IntArray:
    """A number for every row of masses: rows that are alike have the same one."""
    weights, _ = groups(top)
    if weights.size > 1:
        return distinct(groups(masses)[1])[1]
    code = np.rint(masses / weights[0]).astype(np.int64)  # sums of equal weights are multiples of one
    base = float(code.max(initial=0)) + 1.0
    if base ** code.shape[1] >= 2.0**62:
        return distinct(code)[1]
    packed = code @ (int(base) ** np.arange(code.shape[1], dtype=np.int64))
    return np.asarray(np.unique(packed, return_inverse=True)[1].reshape(-1))


def _law(masses: FloatArray, levels: FloatArray) -> ShuffledPair:
    """The shuffled pair whose symbols are triples of levels, with the room that its t needs."""
    u, v, t = (grid.reshape(-1) for grid in np.meshgrid(levels, levels, levels, indexing="ij"))
    kept = masses > 0.0
    return ShuffledPair(*(law[kept] * masses[kept] for law in (u, v, t * (1.0 - SAME_LAW))))
