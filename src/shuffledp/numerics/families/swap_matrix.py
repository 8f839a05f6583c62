"""The swap bound of a probability matrix: every ordered pair of rows among others who hold any row.

A d x d matrix has d (d - 1) ordered pairs with d types each.  Small matrices are evaluated as they are, those with few
levels by their distinct laws (swap_levels.py), and pairs that a symmetry of the matrix maps to each other once
(alike.py).  Elsewhere the most telling pair is solved, and every other one is discarded at its eps by a bound from
moments (swap_moments.py), or evaluated there: no pair is dropped without proof.  delta falls with eps, so that
a pair that is discarded stays discarded at every larger eps.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import BoundNotApplicableError
from ..distinct import distinct as equal_rows
from ..evaluators import swap
from ..evaluators.choose import Side, law_shift, mass_slack
from ..pair import TINY, FloatArray, ShuffledPair
from ..solve import log_up
from .alike import SAME_LAW, distinct_rows, representatives
from .base import Answer
from .leaders import largest
from .swap import Curve, SwapPair, SwapSet, epsilon_of, falling, only_upper
from .swap_curves import SwapCurves
from .swap_levels import distinct
from .swap_moments import Lines, PairMoments, Places, Terms

#: Ordered pairs up to which all of them are evaluated.
_FEW_PAIRS = 12
#: Triples (a, b, x) up to which a matrix is searched.
_MOST_TRIPLES = 3e7
#: Triples x symbols that moments may leave open, and pairs x types x symbols that are then summed.
_MOST_CELLS, _MOST_SUMS = 6e6, 4e6
#: The dither of the last look at a pair.
_FINE_DITHER = 0.01
#: Free users below which nothing is searched, and below which the bound is not sharp.
_FEWEST_FREE, _FEW_FREE = 25.0, 60.0
#: Pairs that are solved at most, and at most where the bound is not sharp.
_MOST_SOLVED, _FEW_SOLVED = 24, 4
#: Points from which intervals of eps are looked at, not single ones.
_MANY_POINTS = 24
_LOOSER = "looser, because too many pairs of inputs of this matrix are nearly alike for the swap bound"


def swap_pairs(rows: FloatArray) -> SwapSet | SwapMatrix:
    """The swap bound of a matrix with these rows, by the quickest way that is exact."""
    rows = merged(distinct_rows(rows))
    if len(rows) * (len(rows) - 1) <= _FEW_PAIRS:
        return SwapSet(_every_pair(rows))
    few = distinct(rows)
    if few is not None:
        return few
    if np.any(rows <= TINY):
        raise BoundNotApplicableError(
            "bound 'swap' is not evaluated for a large matrix with zeros, which hide nobody; use bound='auto'."
        )
    if float(len(rows)) ** 3 > _MOST_TRIPLES:
        raise BoundNotApplicableError(
            f"bound 'swap' is evaluated for at most {int(_MOST_TRIPLES ** (1 / 3))} different inputs, got {len(rows)}; "
            "use bound='auto'."
        )
    return SwapMatrix(rows, representatives(rows))


class SwapMatrix:
    """All ordered pairs of the rows of a matrix without zeros, by search."""

    #: It may claim nothing, where too many pairs cannot be told from the worst one.
    gives_up = True

    def __init__(
        self, rows: FloatArray, listed: Places | None = None, common: float | None = None, presence: float = 1.0
    ) -> None:
        """``listed`` are pairs a d + b that stand for all others (alike.py), which takes some room."""
        self.rows, d = rows, len(rows)
        self._listed = np.flatnonzero(~np.eye(d, dtype=bool)) if listed is None else listed
        self._room = SAME_LAW if self._listed.size < d * (d - 1) else 0.0
        thin = 1.0 - self._room
        least = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1]))
        self.common_mass = least * thin if common is None else common
        self.presence = presence
        self._share = presence * thin * (1.0 - mass_slack(rows.shape[1]))

    def pairs(self, most: int) -> None:
        """None: a member is not one shuffled pair but several types."""
        return None

    def _crowded(self, n: int) -> bool:
        """Whether the users who are displaced are too many of n."""
        return n * self.common_mass < _FEW_FREE

    def thinned(self, chance: float) -> SwapMatrix:
        """Every other user takes part with this probability, independently."""
        common = 1.0 - chance + chance * self.common_mass
        return SwapMatrix(self.rows, self._listed, common, self.presence * chance)

    @property
    def limit(self) -> float:
        """The eps beyond every ratio."""
        return log_up(float((self.rows.max(axis=0) / self.rows.min(axis=0)).max()))

    @cached_property
    def _moments(self) -> PairMoments:
        return PairMoments(self.rows)

    @property
    def every(self) -> Places:
        """The listed pairs, the most telling first."""
        return self._listed[np.argsort(-self._moments.spread.reshape(-1)[self._listed], kind="stable")]

    def member(self, a: int, b: int) -> SwapPair:
        """One ordered pair among all types."""
        types = (ShuffledPair(self.rows[a], self.rows[b], row) for row in self.rows)
        present = self.presence * (1.0 - self._room)
        kept = tuple(types if present == 1.0 else (pair.thinned(present) for pair in types))
        return SwapPair(kept, self.common_mass)

    @np.errstate(all="ignore")
    def open_at(self, pairs: Places, eps: float, n: int, level: float, *, sums: bool = True) -> Places | None:
        """Those of these pairs not shown to be below ``level`` (a log delta) at eps, worst first; None: too many.

        Without ``sums`` only screens are used.
        """
        at = eps - float(law_shift(np.array(eps)))
        terms = self._moments.terms(at, self._share, self.common_mass, n, level)
        lines = self._moments.lines(pairs, terms)
        left = np.flatnonzero(self._moments.open_by_variance(pairs, terms, lines, level))
        pairs, lines = pairs[left], lines.at(left)
        found = self._moments.open_by_moments(pairs, terms, lines, level, _MOST_CELLS / self.rows.shape[1])
        if found is None:
            return None
        left, kinds = found
        pairs, lines = pairs[left], lines.at(left)
        values = self._by_laws(pairs, kinds, terms, lines)
        most = values.max(axis=1, initial=-np.inf)
        left = np.flatnonzero(~(most <= level))
        left = left[np.argsort(-most[left], kind="stable")]
        most = most[left]
        for i in range(min(left.size, int(_MOST_SUMS / self.rows.size) + _FEW_SOLVED) if sums else 0):
            at_worst = ~(values[left[i]] <= level)
            most[i] = self._value(int(pairs[left[i]]), at_worst, terms, level)
        order = np.argsort(-most, kind="stable")
        order = order[~(most[order] <= level)]
        return np.asarray(pairs[left[order]])

    def _laws(self, pairs: Places, kinds: Places, terms: Terms) -> tuple[FloatArray, FloatArray]:
        """X and its masses, of pairs and types one by one."""
        first, second = self.rows[pairs // len(self.rows)], self.rows[pairs % len(self.rows)]
        t = self.rows[kinds] * terms.share
        return np.asarray(((first - second) - terms.gain * second) / t), t

    def _by_laws(self, pairs: Places, kinds: NDArray[np.bool_], terms: Terms, lines: Lines) -> FloatArray:
        """An upper value of log delta for every open type of every pair, from its law, on the line of the moments."""
        out = np.full(kinds.shape, -np.inf)
        row, kind = np.nonzero(kinds)
        step = max(1, 2**18 // self.rows.shape[1])
        for start in range(0, row.size, step):
            here, type_ = row[start : start + step], kind[start : start + step]
            x, t = self._laws(pairs[here], type_, terms)
            value = swap.log_screen(x, t, terms.waiting, lines.line.at(here))
            out[here, type_] = np.logaddexp(value, terms.waiting.log_rest)
        return out

    def _value(self, pair: int, kinds: NDArray[np.bool_], terms: Terms, level: float) -> float:
        """An upper value of log delta of one pair: all its types on one line, that of the worst of ``kinds``.

        The line is the pair's own, so the types that another line has settled are looked at again.
        """
        x, t = self._laws(np.array([pair]), np.arange(len(self.rows)), terms)
        c, height, bend = swap.saddle(x[kinds], t[kinds], terms.copies)
        worst = int(np.where(np.isfinite(height), height, -np.inf).argmax())
        line = swap.line_at(c[[worst]], bend[[worst]], _FINE_DITHER).at(np.zeros(len(x), dtype=np.int64))
        value = np.logaddexp(swap.log_screen(x, t, terms.waiting, line), terms.waiting.log_rest)
        open_ = np.flatnonzero(~(value <= level))
        if open_.size:
            sums = swap.log_upper(x[open_], t[open_], terms.waiting, line.at(open_))
            value[open_] = np.logaddexp(sums, terms.waiting.log_rest)
        return float(value.max())

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over all pairs: inf, with a note, where too many cannot be told apart."""
        return self.epsilon_below(math.inf, n=n, delta=delta, tol=tol, side=side)

    def epsilon_below(self, most: float, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The same, or inf as soon as one pair has more than ``most``, another answer: then this is the larger one."""
        only_upper(side)
        d, log_delta = len(self.rows), math.log(delta)
        members = d * (d - 1)
        if n * self.common_mass < _FEWEST_FREE:
            return Answer(math.inf, 0, members)  # next to nobody is free, and the search would be long
        pending = self.every
        best = 0.0
        for evaluated in range(1, 1 + (_FEW_SOLVED if self._crowded(n) else _MOST_SOLVED)):
            chosen, pending = int(pending[0]), pending[1:]
            found = epsilon_of(self.member(*divmod(chosen, d)), n=n, delta=delta, tol=0.3 * tol, least=best)
            best = max(best, found * (1.0 + 0.6 * tol))
            if best > most:
                return Answer(math.inf, evaluated, members)
            left = self.open_at(pending, best, n, log_delta)
            if left is None:
                break
            if not left.size:
                return Answer(best + self._room, evaluated, members)
            pending = left
        return self._give_up(evaluated)

    def _give_up(self, evaluated: int) -> Answer:
        return Answer(math.inf, evaluated, len(self.rows) * (len(self.rows) - 1), _LOOSER)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all pairs, for every eps; 0 (no claim) where too many cannot be told apart."""
        only_upper(side)
        at = eps - self._room
        if eps.size >= _MANY_POINTS and n * self.common_mass >= _FEWEST_FREE:
            return falling(eps, largest(SwapCurves(self, n, tol / 30.0), at, tol) + self._room)
        return np.array([self._largest(float(x), n, tol) for x in at]) + self._room

    def _largest(self, eps: float, n: int, tol: float) -> float:
        if n * self.common_mass < _FEWEST_FREE:
            return 0.0
        if eps >= self.limit:
            return -np.inf  # beyond every ratio
        pending = self.every
        best = -np.inf
        for _ in range(_MOST_SOLVED):
            member = self.member(*divmod(int(pending[0]), len(self.rows)))
            best = max(best, float(Curve(member, n, tol).log_upper(np.array([eps]))[0]) + 0.1 * tol)
            left = self.open_at(pending[1:], eps, n, best)
            if left is None:
                return 0.0
            if not left.size:
                return best
            pending = left
        return 0.0


def merged(rows: FloatArray) -> FloatArray:
    """Proportional columns as one: they have the same likelihood ratios for every pair and type."""
    used = rows[:, rows.max(axis=0) > 0.0]
    shape = used / used.max(axis=0)
    first, label = equal_rows(shape.T)
    weight = np.bincount(label, weights=used.max(axis=0), minlength=first.size)
    return np.asarray(shape[:, first] * weight)


def _every_pair(rows: FloatArray) -> list[SwapPair]:
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1]))
    d = len(rows)
    return [
        SwapPair(tuple(ShuffledPair(rows[a], rows[b], row) for row in rows), common)
        for a in range(d)
        for b in range(d)
        if a != b
    ]
