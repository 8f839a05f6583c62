"""The swap bound of a probability matrix: every ordered pair of rows among others who hold any row.

A d x d matrix has d (d - 1) ordered pairs with d types each.  Small matrices are evaluated as they are, and those with
few levels by their distinct laws.  Elsewhere the most telling pair is solved, and every other one is discarded at
its eps by a bound from two moments, or evaluated there: no pair is dropped without proof.

The bound from moments: with W = R(a) - E R(b), sum W = 1 - E, and r = max |W| / R(x), for c > 0

    M_x(c) = sum R(x) exp(c W/R(x)) <= 1 + c (1-E) + c^2 V/2 + c^3 T/6 + c^4 r^2 V e^{c r}/24,

V = sum W^2/R(x), T = sum W^3/R(x)^2, by Taylor; these of all triples (a, b, x) are two matrix products for every x.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError
from ..evaluators import swap
from ..evaluators.choose import Side, law_shift, mass_slack
from ..pair import TINY, FloatArray, ShuffledPair
from ..solve import log_up
from .base import Answer
from .swap import Curve, SwapPair, SwapSet, epsilon_of, only_upper

#: Ordered pairs up to which all of them are evaluated.
_FEW_PAIRS = 12
#: Levels, and cells of the table of joint masses, up to which equal laws are found.
_FEW_LEVELS, _MOST_CELLS, _MOST_LAWS = 3, 2e8, 64
#: Triples (a, b, x) up to which moments are looked at, those that the moments and the Gaussian bound may leave open.
_MOST_TRIPLES, _MOST_OPEN, _MOST_SUMS = 3e7, 60_000, 1000
#: Triples at once, and the dither while pairs are compared.
_CHUNK, _DITHER, _FINE_DITHER = 2000, 0.02, 0.01
#: Free users below which nothing is searched, and pairs that are solved at most.
_FEWEST_FREE, _MOST_SOLVED = 10.0, 24
#: Room for masses that agree to a relative 2^-40.
_SAME_LAW = 8.0 * 2.0**-40
_LOOSER = "looser, because too many pairs of inputs of this matrix are nearly alike for the swap bound"


def swap_pairs(rows: FloatArray) -> SwapSet | SwapMatrix:
    """The swap bound of a matrix with these rows, by the quickest way that is exact."""
    rows = _merged(np.unique(rows, axis=0))
    if len(rows) * (len(rows) - 1) <= _FEW_PAIRS:
        return SwapSet(_every_pair(rows))
    few = _distinct(rows)
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
    return SwapMatrix(rows)


class _Moments(NamedTuple):
    """sum R(a) R(b)/R(x), sum R(a)^2 R(b)/R(x)^2 by (x, a, b), and max R(a)/R(x) by (x, a)."""

    second: FloatArray
    third: FloatArray
    ratio: FloatArray

    def variance(self, x: int, growth: float) -> FloatArray:
        """sum W^2/R(x) by (a, b), W = R(a) - growth R(b)."""
        own = np.diag(self.second[x])
        return np.asarray(np.maximum(own[:, None] - 2.0 * growth * self.second[x] + growth**2 * own, 0.0))

    def skew(self, x: int, growth: float) -> FloatArray:
        """sum W^3/R(x)^2."""
        table, own = self.third[x], np.diag(self.third[x])
        return np.asarray(own[:, None] - 3.0 * growth * table + 3.0 * growth**2 * table.T - growth**3 * own)

    def reach(self, x: int, growth: float) -> FloatArray:
        """A bound on |W|/R(x)."""
        return np.asarray(np.maximum(self.ratio[x][:, None], growth * self.ratio[x]))


class SwapMatrix:
    """All ordered pairs of the rows of a matrix without zeros, by search."""

    #: A search for every eps.
    slow = True

    def __init__(self, rows: FloatArray, common: float | None = None, presence: float = 1.0) -> None:
        self.rows = rows
        self.common_mass = (
            float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1])) if common is None else common
        )
        self.presence = presence

    def pairs(self, most: int) -> None:
        """None: a member is not one shuffled pair but several types."""
        return None

    def loose_for(self, n: int) -> bool:
        """Whether the users who are displaced are too many of n for the bound to be sharp."""
        return n * self.common_mass < 60.0

    def thinned(self, chance: float) -> SwapMatrix:
        """Every other user takes part with this probability, independently."""
        return SwapMatrix(self.rows, 1.0 - chance + chance * self.common_mass, self.presence * chance)

    @cached_property
    def _moments(self) -> _Moments:
        """Of all pairs, one type x after the other."""
        rows = self.rows
        second, third, ratio = [], [], []
        for row in rows:
            share = rows / row
            second.append(share @ rows.T)
            third.append((share * share) @ rows.T)
            ratio.append(share.max(axis=1))
        return _Moments(np.array(second), np.array(third), np.array(ratio))

    def _spreads(self, growth: float) -> FloatArray:
        """The largest variance over all types, by pair."""
        every = (self._moments.variance(x, growth) for x in range(len(self.rows)))
        return functools.reduce(np.maximum, every)

    def member(self, a: int, b: int) -> SwapPair:
        """One ordered pair among all types."""
        types = (ShuffledPair(self.rows[a], self.rows[b], row) for row in self.rows)
        kept = tuple(types if self.presence == 1.0 else (pair.thinned(self.presence) for pair in types))
        return SwapPair(kept, self.common_mass)

    @np.errstate(all="ignore")
    def _open(self, eps: float, n: int, level: float, done: np.ndarray) -> list[tuple[int, int]] | None:
        """The pairs that are not shown to be below ``level`` (a log delta), worst first; None: too many."""
        at = eps - float(law_shift(np.array(eps)))
        growth, shrink = math.exp(at), self.presence * (1.0 - mass_slack(self.rows.shape[1]))
        moments = self._moments
        copies = max(n - 1.0 / self.common_mass, 1.0)
        most = self._spreads(growth) * ((1.0 + 1e-9) / shrink) + 1e-13
        drift = -copies * math.expm1(at)
        c = (np.sqrt(drift * drift + 8.0 * copies * most) - drift) / (2.0 * copies * most)
        line = swap.line_at(c.reshape(-1), (copies * most).reshape(-1), _DITHER)
        waiting = swap.Waiting.of(self.common_mass, n, level)
        found: list[np.ndarray] = []
        for x in range(len(self.rows)):
            variance = moments.variance(x, growth) / shrink
            reach = moments.reach(x, growth) / shrink
            rise = c * reach
            excess = (
                -c * math.expm1(at) * (1.0 - 1e-13)
                + 0.5 * c * c * (variance * (1.0 + 1e-9) + 1e-13)
                + c**3 / 6.0 * (moments.skew(x, growth) / shrink**2 + 1e-9 * reach * variance + 1e-13 * reach)
                + rise * rise * c * c / 24.0 * variance * np.exp(np.minimum(rise, 50.0))
            )
            log_m = np.log1p(np.maximum(excess, -0.9) + 1e-15)
            # a density between e^(-rise) and e^rise times the law keeps this much of its variance
            least = np.maximum(variance * (1.0 - 1e-9) - math.expm1(at) ** 2, 0.0) * np.exp(-rise - log_m) + 1e-300
            value = swap.log_screened(log_m.reshape(-1), least.reshape(-1), 2.0 * reach.reshape(-1), waiting, line)
            left = np.flatnonzero(~(np.logaddexp(value, waiting.log_rest) <= level) & ~done.reshape(-1))
            found.append(np.stack([left, np.full(left.size, x)]))
            if sum(part.shape[1] for part in found) > _MOST_OPEN:
                return None
        pair, kind = np.concatenate(found, axis=1)
        value = np.empty(0)
        for bound in (swap.log_screen, swap.log_upper):
            value = np.empty(pair.size)
            for start in range(0, pair.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                first, second = np.divmod(pair[part], len(self.rows))
                t = self.rows[kind[part]] * shrink
                law = (self.rows[first] - self.rows[second] - math.expm1(at) * self.rows[second]) / t
                # nearly all are far below when it comes to sums: then each pair has its own best line
                own = bound is swap.log_upper
                here = _best_line(pair[part], law, t, copies) if own else line.at(pair[part])
                value[part] = bound(law, t, waiting, here)
            value = np.logaddexp(value, waiting.log_rest)
            left = np.flatnonzero(~(value <= level))
            if bound is swap.log_screen:  # the line of a pair must be the same for all its types
                left = np.flatnonzero(np.isin(pair, pair[left]))
            pair, kind, value = pair[left], kind[left], value[left]
            if pair.size > _MOST_SUMS:
                return None
        order = dict.fromkeys(pair[np.argsort(-value)].tolist())
        return [divmod(i, len(self.rows)) for i in order]

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over all pairs: inf, with a note, where too many cannot be told apart."""
        only_upper(side)
        d, log_delta = len(self.rows), math.log(delta)
        if n * self.common_mass < _FEWEST_FREE:
            return Answer(math.inf, 0, d * (d - 1))  # next to nobody is free, and the search would be long
        spread = self._spreads(1.0)
        chosen: tuple[int, int] = divmod(int(spread.argmax()), d)
        done = np.eye(d, dtype=bool)
        best, evaluated = 0.0, 0
        while True:
            if evaluated == _MOST_SOLVED:
                return Answer(math.inf, evaluated, d * (d - 1), _LOOSER)
            found = epsilon_of(self.member(*chosen), n=n, delta=delta, tol=0.3 * tol, least=best)
            best, evaluated = max(best, found * (1.0 + 0.6 * tol)), evaluated + 1
            done[chosen] = True
            left = self._open(best, n, log_delta, done)
            if left is None:
                return Answer(math.inf, evaluated, d * (d - 1), _LOOSER)
            if not left:
                return Answer(best, evaluated, d * (d - 1))
            chosen = left[0]

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over all pairs, for every eps; 0 (no claim) where too many cannot be told apart."""
        only_upper(side)
        return np.array([self._largest(float(x), n, tol) for x in eps])

    def _largest(self, eps: float, n: int, tol: float) -> float:
        if n * self.common_mass < _FEWEST_FREE:
            return 0.0
        if eps >= log_up(float((self.rows.max(axis=0) / self.rows.min(axis=0)).max())):
            return -np.inf  # beyond every ratio
        spread = self._spreads(math.exp(eps))
        chosen: tuple[int, int] = divmod(int(spread.argmax()), len(self.rows))
        done = np.eye(len(self.rows), dtype=bool)
        best = -np.inf
        for _ in range(_MOST_SOLVED):
            best = max(best, float(Curve(self.member(*chosen), n, tol).log_upper(np.array([eps]))[0]) + 0.1 * tol)
            done[chosen] = True
            left = self._open(eps, n, best, done)
            if left is None:
                return 0.0
            if not left:
                return best
            chosen = left[0]
        return 0.0


def _best_line(pair: np.ndarray, law: FloatArray, t: FloatArray, copies: float) -> swap.Line:
    """One line per pair, at the saddle of the type whose sum is largest there."""
    c, height, bend = swap.saddle(law, t, copies)
    order = np.lexsort((height, pair))
    last = np.flatnonzero(np.append(np.diff(pair[order]) != 0, True))  # the largest of each pair
    _, place = np.unique(pair, return_inverse=True)
    top = order[last][place.reshape(-1)]
    return swap.line_at(c[top], bend[top], _FINE_DITHER)


def _merged(rows: FloatArray) -> FloatArray:
    """Proportional columns as one: they have the same likelihood ratios for every pair and type."""
    used = rows[:, rows.max(axis=0) > 0.0]
    shape, label = np.unique(used / used.max(axis=0), axis=1, return_inverse=True)
    weight = np.bincount(label.reshape(-1), weights=used.max(axis=0), minlength=shape.shape[1])
    return np.asarray(shape * weight)


def _every_pair(rows: FloatArray) -> list[SwapPair]:
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(rows.shape[1]))
    d = len(rows)
    return [
        SwapPair(tuple(ShuffledPair(rows[a], rows[b], row) for row in rows), common)
        for a in range(d)
        for b in range(d)
        if a != b
    ]


def _distinct(rows: FloatArray) -> SwapSet | None:
    """The distinct pairs of a matrix whose columns have few levels; None elsewhere."""
    d, outputs = rows.shape
    top = rows.max(axis=0)
    mantissa, exponent = np.frexp(rows / top)
    levels, code = np.unique(np.ldexp(np.round(mantissa * 2.0**41) / 2.0**41, exponent), return_inverse=True)
    if levels.size > _FEW_LEVELS or float(d) ** 3 * outputs * levels.size**3 > _MOST_CELLS:
        return None
    code = code.reshape(rows.shape)
    hot = np.stack([code == i for i in range(levels.size)]).astype(np.float64)  # level, row, output
    pairs = (hot[:, None, :, None, :] * hot[None, :, None, :, :]) * top  # levels, then rows, of a and b
    masses = np.einsum("ijabk,lxk->abxijl", pairs, hot, optimize=True).reshape(d, d, d, -1)
    mantissa, exponent = np.frexp(masses.reshape(d**3, -1))  # alike means alike in every mass, however small
    keys = np.concatenate([np.round(mantissa * 2.0**41), exponent], axis=1)
    _, label = np.unique(keys, axis=0, return_inverse=True)
    label = label.reshape(d, d, d)
    seen: dict[tuple[int, ...], SwapPair] = {}
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(outputs))
    for a, b in zip(*np.nonzero(~np.eye(d, dtype=bool)), strict=True):
        kinds, first = np.unique(label[a, b], return_index=True)
        key = tuple(kinds.tolist())
        if key not in seen:
            types = tuple(_law(masses[a, b, x], levels) for x in first)
            seen[key] = SwapPair(types, common)
        if len(seen) > _MOST_LAWS:
            return None
    return _Alike(list(seen.values()))


class _Alike(SwapSet):
    """Laws that stand for others whose masses and levels agree to a relative 2^-40.

    t is a little smaller, and eps larger; an eps below 0 is a valid question too.
    """

    def __init__(self, members: Sequence[SwapPair]) -> None:
        thin = 1.0 - _SAME_LAW
        super().__init__([SwapPair(tuple(t.thinned(thin) for t in m.types), m.common_mass * thin) for m in members])

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members, and the room."""
        found = super().epsilon(n=n, delta=delta, tol=tol, side=side)
        return found._replace(epsilon=found.epsilon + _SAME_LAW)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, a little to the left."""
        return super().log_delta(eps - _SAME_LAW, n=n, tol=tol, side=side) + _SAME_LAW

    def members(self, most: int) -> None:
        """None: the members alone are short of that room."""
        return None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return _Alike([member.thinned(chance) for member in self._members])


def _law(masses: FloatArray, levels: FloatArray) -> ShuffledPair:
    """The shuffled pair whose symbols are triples of levels."""
    u, v, t = (grid.reshape(-1) for grid in np.meshgrid(levels, levels, levels, indexing="ij"))
    kept = masses > 0.0
    return ShuffledPair(*(law[kept] * masses[kept] for law in (u, v, t)))
