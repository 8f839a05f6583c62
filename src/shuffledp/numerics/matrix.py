"""All ordered pairs of the rows of a probability matrix: over its blanket, or among others who hold any row.

A d x d matrix has d (d - 1) ordered pairs, with one type over the blanket and d of them in the swap bound.  Two
things keep that cheap and exact:

- equal rows and proportional columns are merged (they have the same likelihood ratios for every pair), and of pairs
  that a symmetry of the matrix exchanges only one is kept (symmetry.py);
- otherwise the likeliest pair is solved, and at its eps every other pair is discarded by a bound from moments
  (moments.py) or evaluated (largest.py): no pair is dropped without proof.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from ..errors import BoundNotApplicableError
from . import tuning
from .curve import Curve, Guess, PairCurve, Values
from .family import Family, Listed, PairSet, Rows
from .line import saddle
from .moments import PairMoments
from .pair import TINY, FloatArray, IntArray, ShuffledPair, Side, distinct, mass_slack
from .rows import ULP, Laws, chunks, expose_rare, numbered
from .swap.curve import SwapCurve, dither_for
from .swap.family import SwapSet
from .swap.pair import Members, SwapPair, TypeTable
from .swap.waiting import Others
from .symmetry import SAME_LAW, Alike, distinct_rows, exact, merged_columns, representatives

#: Up to this many ordered pairs, all are listed.
_FEW_PAIRS = 32
#: Pairs that may always be evaluated for a question.
_FEWEST_EVALUATED = 4
#: Triples (a, b, x) up to which a matrix is searched by swaps.
_MOST_TRIPLES = 3e7
#: With fewer expected free users nothing is searched, because the swap bound is far from sharp.
_FEWEST_FREE = 25.0


def blanket_pairs(matrix: FloatArray, blanket: FloatArray | None = None, chance: float = 1.0) -> Family:
    """Every ordered pair of inputs over the blanket omega_j = min_x R(x)_j, or over a given one, times ``chance``.

    Examples
    --------
    >>> coin = blanket_pairs(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2)
    0.17
    """
    rows = distinct_rows(matrix)
    omega = rows.min(axis=0) if blanket is None else blanket
    listed, every = representatives(rows, omega), len(rows) * (len(rows) - 1)
    # laws that stand for others need some room, in t and in eps, unless they are equal to the last bit
    room = 0.0 if listed.size == every or exact(np.vstack([rows, omega])) else SAME_LAW
    search = BlanketPairs(rows, omega, listed, (1.0 - room) * chance)
    found: Family = search
    if listed.size <= _FEW_PAIRS:
        found = PairSet(search.pairs(_FEW_PAIRS) or ())
    return found if room == 0.0 and listed.size == every and found is search else Alike(found, every, room)


def swap_pairs(matrix: FloatArray) -> Family:
    """The swap bound of a matrix, by the fastest way that loses nothing.

    Examples
    --------
    >>> coin = swap_pairs(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.142
    """
    rows = merged_columns(distinct_rows(matrix))
    d, every = len(rows), len(rows) * (len(rows) - 1)
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1]))
    if not every:
        return PairSet([])
    listed = np.flatnonzero(~np.eye(d, dtype=bool)) if every <= _FEW_PAIRS else representatives(rows)
    room = 0.0 if listed.size == every or exact(rows) else SAME_LAW
    if listed.size <= _FEW_PAIRS:
        pairs = zip(rows[listed // d], rows[listed % d], strict=True)
        found: Family = SwapSet([SwapPair(_types(a, b, rows, 1.0 - room), common * (1.0 - room)) for a, b in pairs])
    elif np.any(rows <= TINY):
        raise BoundNotApplicableError(
            "bound 'swap' is not evaluated for a large matrix with zeros, which hide nobody; use bound='auto'."
        )
    elif float(d) ** 3 > _MOST_TRIPLES:
        raise BoundNotApplicableError(
            f"bound 'swap' is evaluated for at most {int(_MOST_TRIPLES ** (1 / 3))} different inputs, got {d}; "
            "use bound='auto'."
        )
    else:
        found = SwapPairs(rows, listed, common * (1.0 - room), 1.0 - room)
    return found if listed.size == every else Alike(found, every, room)


def _types(a: FloatArray, b: FloatArray, rows: FloatArray, share: float) -> tuple[ShuffledPair, ...]:
    """(a, b, share x) for all rows x; once for those that only reorder symbols that a and b send equally often."""
    order = np.lexsort(np.broadcast_arrays(rows, b, a))
    different = distinct(np.take_along_axis(rows, order, axis=1))[0]
    return tuple(ShuffledPair(a, b, share * x) for x in rows[different])


class MatrixPairs(Listed):
    """Ordered pairs (a, b), numbered a d + b, of the rows of a matrix; laws are made only where bounds leave a pair."""

    #: Users below which nothing is searched, and nothing is claimed.
    fewest_users: float = 0.0

    def __init__(self, listed: IntArray, moments: PairMoments, cells: int, most_cells: int) -> None:
        """Every pair has ``cells`` numbers, of which at most ``most_cells`` are evaluated for one question."""
        self.listed, self.moments, self.cells = listed, moments, cells
        self.most_evaluated = max(_FEWEST_EVALUATED, most_cells // cells)
        self.first, self.second = np.divmod(listed, len(moments.level))

    @abstractmethod
    def curve(self, members: IntArray, n: FloatArray, tol: float) -> Curve:
        """The curve of some members, each among its n; ``tol`` is the relative accuracy wanted of eps."""

    @abstractmethod
    def abscissas(self, members: IntArray, n: FloatArray, eps: FloatArray, tol: float) -> FloatArray:
        """Good abscissas at which to compare the types of some members; any abscissa is sound."""

    @cached_property
    def facts(self) -> tuple[FloatArray, FloatArray]:
        """By member: the approximate variance that eps grows with, and an eps from which on delta is 0."""
        return self.moments.facts(self.first, self.second)

    def users(self, n: FloatArray) -> FloatArray:
        """How many users a swap bound with the same moments would have."""
        return n

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """All members of the first family, once for each question: all questions of one call are about one matrix."""
        if side != "upper":
            raise BoundNotApplicableError("this is an upper bound; take the lower one from constant datasets.")
        family, members = families[0], np.arange(families[0].listed.size)
        owner = np.repeat(np.arange(n.size), members.size)
        return Rows(owner, MatrixCurve(family, np.tile(members, n.size), n[owner], tol))

    @classmethod
    def parts(cls, families: Sequence[Self], n: FloatArray) -> Iterator[IntArray]:
        """Each is about one matrix, with a bounded number of rows."""
        which = numbered([id(family) for family in families])[1]
        members, fewest = np.array([[float(family.listed.size), family.fewest_users] for family in families]).T
        for k in range(int(which.max(initial=-1)) + 1):
            mine = np.flatnonzero((which == k) & (n >= fewest))
            for part in chunks(members[mine], tuning.MOST_ROWS):
                yield mine[part]


class MatrixCurve(Curve):
    """Members of a search, most of which are never evaluated: laws are made when they are first needed."""

    side: Side = "upper"

    def __init__(self, family: MatrixPairs, members: IntArray, n: FloatArray, tol: float) -> None:
        self.family, self._members, self._n, self._tol = family, members, n, tol
        self.most_evaluated = family.most_evaluated
        spread, self.limit = (fact[members] for fact in family.facts)
        self.spread = spread / n

    @cached_property
    def made(self) -> Curve:
        """The curve of these rows."""
        return self.family.curve(self._members, self._n, self._tol)

    @cached_property
    def floor(self) -> FloatArray:  # type: ignore[override]
        """delta at eps -> inf, from below."""
        return self.made.floor

    def take(self, rows: IntArray) -> MatrixCurve:
        """Some of the rows, with their laws if they are made already."""
        part = MatrixCurve(self.family, self._members[rows], self._n[rows], self._tol)
        if "made" in vars(self):
            part.made = self.made.take(rows)
        return part

    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """That of the members."""
        parts = list(chunks(np.full(eps.size, float(self.family.cells)), tuning.LARGEST_CURVE))
        if len(parts) <= 1:
            return self.made.at(eps, rtol)
        found = [self.take(np.arange(part.start, part.stop)).made.at(eps[part], rtol[part]) for part in parts]
        return Values(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def guess(self, log_delta: FloatArray) -> Guess:
        """That of the members."""
        return self.made.guess(log_delta)

    def screen(self, eps: FloatArray, level: FloatArray) -> FloatArray:
        """From moments."""
        family, members, n = self.family, self._members, self._n

        def abscissas(rows: IntArray) -> FloatArray:
            parts = (rows[part] for part in chunks(np.full(rows.size, float(family.cells)), tuning.LARGEST_CURVE))
            return np.concatenate([family.abscissas(members[i], n[i], eps[i], self._tol) for i in parts])

        pairs = family.first[members], family.second[members]
        value = family.moments.screen(*pairs, family.users(n), eps, level, abscissas)
        return np.where(eps >= self.limit, -np.inf, value)


class BlanketPairs(MatrixPairs):
    """Ordered pairs over the blanket omega; every other message contains ``presence`` times omega."""

    def __init__(self, rows: FloatArray, omega: FloatArray, listed: IntArray, presence: float) -> None:
        self._rows, self._omega, self._presence = rows, omega, presence
        mass, level, bare = _levels(rows, omega)
        share = presence * (1.0 - mass_slack(rows.shape[1]))
        moments = PairMoments(level, mass, bare, np.ones((1, mass.size)), share, 1.0)
        super().__init__(listed, moments, mass.size + bare.shape[1], tuning.MOST_BLANKET_CELLS)

    def users(self, n: FloatArray) -> FloatArray:
        """The swap bound of n + 1 users who are always free has n copies of X, as the blanket of n users has."""
        return n + 1.0

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """One shuffled pair for each listed pair, if there are at most ``most``."""
        if self.listed.size > most:
            return None
        made = self.moments
        laws = np.hstack([made.level * made.omega, made.bare])
        t = np.append(made.omega * self._presence, np.zeros(made.bare.shape[1]))
        return [ShuffledPair(P0=laws[a], P1=laws[b], t=t) for a, b in zip(self.first, self.second, strict=True)]

    @np.errstate(all="ignore")
    def curve(self, members: IntArray, n: FloatArray, tol: float) -> PairCurve:
        """Shuffled pairs; t is rounded down."""
        made, a, b = self.moments, self.first[members], self.second[members]
        t, v = np.tile(made.omega * made.share, (members.size, 1)), made.level[b] / made.share
        gap, limit = (made.level[a] - made.level[b]) / made.share, self.facts[1][members]
        laws = Laws(gap, v, t, made.bare[a] - made.bare[b], made.bare[b], n, limit)
        keys = numbered(list(zip(members.tolist(), n.tolist(), strict=True)))[1]
        return PairCurve(expose_rare(laws), "upper", keys, {})

    @np.errstate(all="ignore")
    def abscissas(self, members: IntArray, n: FloatArray, eps: FloatArray, tol: float) -> FloatArray:
        """The saddles."""
        laws = self.curve(members, n, tol).laws
        return saddle(laws.at(eps, "upper")[0], laws.t, n)


class SwapPairs(MatrixPairs):
    """Ordered pairs of the rows of a matrix without zeros, among others who hold any row."""

    def __init__(self, rows: FloatArray, listed: IntArray, common: float, presence: float) -> None:
        """``common`` is the mass of a part that all types share; ``presence`` lowers their masses, as room."""
        self._rows, self._common, self._presence = rows, common, presence
        beta = 1.0 if common >= 1.0 else min(common * (1.0 - ULP), 1.0 - 2.0**-53)
        omega, share = rows.min(axis=0), presence * (1.0 - mass_slack(rows.shape[1]))
        moments = PairMoments(rows / omega, omega, np.zeros((len(rows), 0)), rows / omega, share, beta)
        self.fewest_users = _FEWEST_FREE / beta
        super().__init__(listed, moments, rows.size, tuning.MOST_SWAP_CELLS)

    def laws(self, most: int) -> Sequence[SwapPair] | None:
        """One victim pair for each that is listed, among all rows, if there are at most ``most``."""
        if self.listed.size > most:
            return None
        rows, types = self._rows, self._rows * self._presence
        pairs = zip(rows[self.first], rows[self.second], strict=True)
        return [SwapPair(tuple(ShuffledPair(a, b, t) for t in types), self._common) for a, b in pairs]

    def curve(self, members: IntArray, n: FloatArray, tol: float) -> SwapCurve:
        """Victim pairs, each among all rows as types."""
        different, which = np.unique(members, return_inverse=True)
        rows, count, d = self._rows, different.size, len(self._rows)
        first, second = rows[self.first[different]], rows[self.second[different]]
        t = np.tile(rows * self._presence, (count, 1))
        laws = TypeTable(np.repeat(first, d, axis=0), np.repeat(second, d, axis=0), t).laws
        nothing, types = np.zeros(count), np.full(count, d)
        table = Members(
            laws,
            np.arange(count) * d,
            types,
            beta=np.full(count, self.moments.beta),
            limit=self.facts[1][different],
            floor=nothing,
            slack=nothing,
            gap=(first - second)[:, None],
            p1=second[:, None],
            spread=(laws.t * laws.gap**2).sum(axis=1),
            fewest_free=nothing,
        )
        return SwapCurve(table, which, n, Others.fixed(n), dither_for(tol))

    @np.errstate(all="ignore")
    def abscissas(self, members: IntArray, n: FloatArray, eps: FloatArray, tol: float) -> FloatArray:
        """The saddles of the worst types."""
        return self.curve(members, n, tol).placed(eps)[0].c


def _levels(rows: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Blanket masses, levels R/omega with proportional columns merged, and the columns without blanket."""
    hidden = omega > TINY
    if not hidden.any():  # an atom of mass 0 stands for none
        return np.zeros(1), np.zeros((len(rows), 1)), merged_columns(rows)
    levels = rows[:, hidden] / omega[hidden]
    first, label = distinct(levels.T)
    mass = np.bincount(label, weights=omega[hidden], minlength=first.size).astype(np.float64)
    return mass, levels[:, first], merged_columns(rows[:, ~hidden])
