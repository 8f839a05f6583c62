"""All ordered input pairs of a probability matrix over its blanket.

A d x d matrix has d (d - 1) ordered pairs.  Three things keep that cheap and exact:

- equal rows and proportional columns are merged (same likelihood ratios for every pair), and pairs that a symmetry of
  the matrix exchanges are looked at once (symmetry.py);
- matrices with few distinct ratios R(x)_j / omega_j (every textbook randomizer) have few distinct laws;
- elsewhere the likeliest pair is solved, and every other one is discarded at its eps by a bound from moments, or
  evaluated there; no pair is dropped without proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from . import tuning
from .curve import PairCurve
from .family import Family, PairSet
from .lazy import Search
from .ledger import charge
from .pair import TINY, FloatArray, IntArray, ShuffledPair, distinct, mass_slack
from .rows import Laws, chunks, expose_rare, law_shift, numbered
from .screen import remainder
from .symmetry import SAME_LAW, Alike, distinct_rows, exact, groups, merged_columns, representatives

#: Levels R/omega, and distinct laws, up to which the distinct laws of a matrix are listed.
_FEW_LEVELS, _FEW_LAWS = 8, 512
#: Ordered pairs up to which all are listed.
_FEW_PAIRS = 12


def blanket_pairs(matrix: FloatArray, blanket: FloatArray | None = None) -> Family:
    """Every ordered pair of inputs over the blanket omega_j = min_x R(x)_j, or over a given one.

    Examples
    --------
    >>> coin = blanket_pairs(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2)
    0.17
    """
    rows = distinct_rows(matrix)
    omega = rows.min(axis=0) if blanket is None else blanket
    d = len(rows)
    listed = representatives(rows, omega)
    # laws that stand for others take some room, in t and in eps, unless they are equal to the last bit
    same = listed.size == d * (d - 1) or exact(np.vstack([rows, omega]))
    search = BlanketPairs(rows, omega * (1.0 if same else 1.0 - SAME_LAW), listed)
    few = search.distinct_laws()
    if few is None:
        return search if same else Alike(search, d * (d - 1))
    pairs, equal = few
    found = PairSet(pairs)
    return found if same and equal else Alike(found, d * (d - 1))


class Facts(NamedTuple):
    """What the first screen needs to know of every pair."""

    spread: FloatArray  # sum (P0 - P1)^2/t
    reach: FloatArray  # max (P0 - P1)/t
    bare: FloatArray  # sum (P0 - P1)_+ over the symbols that nobody else sends
    limit: FloatArray


class BlanketPairs(Search):
    """Ordered pairs a d + b of the rows of a matrix, over omega."""

    def __init__(self, rows: FloatArray, omega: FloatArray, listed: IntArray) -> None:
        self._rows, self._omega, self.listed = rows, omega, listed
        self.first, self.second = np.divmod(listed, len(rows))
        self._t, self._level, self._bare = _levels(rows, omega)
        self.cells = self._t.size + self._bare.shape[1]
        self.most_evaluated = max(tuning.AT_ONCE, tuning.MOST_BLANKET_CELLS // self.cells)
        self._slack = mass_slack(rows.shape[1])

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """One shuffled pair for each that is listed, if there are at most ``most``."""
        return [self._pair(i) for i in range(self.listed.size)] if self.listed.size <= most else None

    def thinned(self, chance: float) -> BlanketPairs:
        """omega is multiplied by the chance, exactly."""
        return self if chance == 1.0 else BlanketPairs(self._rows, self._omega * chance, self.listed)

    def _pair(self, member: int) -> ShuffledPair:
        a, b = self.first[member], self.second[member]
        return ShuffledPair(
            P0=np.concatenate([self._level[a] * self._t, self._bare[a]]),
            P1=np.concatenate([self._level[b] * self._t, self._bare[b]]),
            t=np.concatenate([self._t, np.zeros(self._bare.shape[1])]),
        )

    def distinct_laws(self) -> tuple[list[ShuffledPair], bool] | None:
        """The distinct laws over all pairs, and whether each equals those it stands for; None if they are many."""
        every = self.listed.size <= _FEW_PAIRS
        levels, code = groups(self._level)
        if every or levels.size > _FEW_LEVELS or self._bare.shape[1]:
            return ([self._pair(i) for i in range(self.listed.size)], True) if every else None
        hot = np.stack([code == i for i in range(levels.size)], axis=1).astype(float)  # row, level, symbol
        flat = hot.reshape(-1, self._t.size)
        joint = ((flat * self._t) @ flat.T).reshape(len(hot), levels.size, len(hot), levels.size)
        masses = joint.transpose(0, 2, 1, 3)[self.first, self.second].reshape(self.listed.size, -1)
        index = distinct(groups(masses)[1])[0]
        if index.size > _FEW_LAWS:
            return None
        u, v = np.repeat(levels, levels.size), np.tile(levels, levels.size)
        equal = exact(self._level) and exact(masses)
        thin = 1.0 if equal else 1.0 - SAME_LAW
        return [ShuffledPair(P0=u * m, P1=v * m, t=m * thin) for m in masses[index]], equal

    @cached_property
    @np.errstate(all="ignore")
    def _facts(self) -> Facts:
        parts = []
        for part in chunks(np.full(self.listed.size, float(self.cells))):
            laws = self._laws(np.arange(part.start, part.stop), np.ones(part.stop - part.start))
            bare = np.maximum(laws.bare, 0.0).sum(axis=1)
            parts.append(Facts((laws.t * laws.gap**2).sum(axis=1), laws.gap.max(axis=1), bare, laws.limit))
        return Facts(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def spreads(self) -> FloatArray:
        """Symbols that others never send count most."""
        return np.asarray(self._facts.spread + 1e12 * self._facts.bare)

    def limits(self) -> FloatArray:
        """Beyond the largest ratio of the two rows."""
        return self._facts.limit

    @np.errstate(all="ignore")
    def _laws(self, members: IntArray, n: FloatArray) -> Laws:
        """Upper laws: t is rounded down."""
        a, b = self.first[members], self.second[members]
        shrink = 1.0 - self._slack
        u, v, bare0, bare1 = self._level[a], self._level[b], self._bare[a], self._bare[b]
        ratio = np.fmax(np.fmax.reduce(u / v, axis=1, initial=1.0), np.fmax.reduce(bare0 / bare1, axis=1, initial=1.0))
        limit = np.log(ratio) * (1.0 + 2.0**-50) + 2.0**-50
        t = np.broadcast_to(self._t * shrink, u.shape)
        return Laws((u - v) / shrink, v / shrink, t, bare0 - bare1, bare1, n, np.where(ratio > 1.0, limit, 0.0))

    def curve(self, members: IntArray, n: FloatArray, tol: float) -> PairCurve:
        """Shuffled pairs."""
        keys = numbered(list(zip(members.tolist(), n.tolist(), strict=True)))[1]
        return PairCurve(expose_rare(self._laws(members, n)), "upper", keys, {})

    def screen(self, members: IntArray, n: FloatArray, eps: FloatArray, level: FloatArray, tol: float) -> FloatArray:
        """From the second moment, and where that is not enough from four moments of the tilted law."""
        value = self._by_variance(members, n, eps)
        left = np.flatnonzero(~(value <= level))
        for part in chunks(np.full(left.size, float(self.cells))):
            some = left[part]
            value[some] = np.fmin(value[some], self.curve(members[some], n[some], tol).crude(eps[some]))
        return value

    @np.errstate(all="ignore")
    def _by_variance(self, members: IntArray, n: FloatArray, eps: FloatArray) -> FloatArray:
        """M(c) <= 1 + c m + c^2 phi2(c r) V (Bennett), at the c that suits a small r."""
        own, mass = self._of_rows
        a, b = self.first[members], self.second[members]
        spread, reach, bare, limit = (fact[members] for fact in self._facts)
        growth = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), "upper"))
        below = np.maximum(-growth, 0.0)  # E < 1 where eps is next to 0
        variance = second_moment(spread, own[b], growth)
        mean = mass[a] - mass[b] - growth * mass[b] + 1e-13
        drift = n * mean
        c = (np.sqrt(drift * drift + 4.0 * n * variance) - drift) / (2.0 * n * variance)
        top = (reach + below * float(self._level.max(initial=1.0)) * 1.1) * (1.0 + 1e-12)
        excess = c * mean + c * c * remainder(c * top, 2) * variance
        value = n * (np.log1p(excess) + 1e-15) - 1.0 - np.log(c * n) + 1e-9
        value = np.where(variance > 0.0, value, -np.inf)
        value = np.logaddexp(value, np.log(bare + below) + 1e-12)
        return np.where(eps >= limit, -np.inf, np.where(np.isnan(value), np.inf, value))

    @cached_property
    def _of_rows(self) -> tuple[FloatArray, FloatArray]:
        """sum P^2/t and sum P over the symbols that others send, by row."""
        mass = self._level * self._t
        return (mass * self._level).sum(axis=1) / (1.0 - self._slack), mass.sum(axis=1)


@charge("a pair that is bounded from its second moment", "docs/proofs.md, Lemma 12")
def second_moment(spread: FloatArray, own: FloatArray, growth: FloatArray) -> FloatArray:
    """sum (P0 - E P1)^2/t <= (sqrt(sum (P0 - P1)^2/t) + |E - 1| sqrt(sum P1^2/t))^2 (Minkowski), rounded up."""
    root = np.sqrt(spread) + np.abs(growth) * np.sqrt(own)
    return np.asarray(root * root * (1.0 + 1e-9))


def _levels(rows: FloatArray, omega: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Blanket masses, levels R/omega with proportional columns merged, and the columns without blanket."""
    hidden = omega > TINY
    if not hidden.any():  # an atom of mass 0 stands for none
        return np.zeros(1), np.zeros((len(rows), 1)), merged_columns(rows)
    levels = rows[:, hidden] / omega[hidden]
    first, label = distinct(levels.T)
    mass = np.bincount(label, weights=omega[hidden], minlength=first.size).astype(np.float64)
    return mass, levels[:, first], merged_columns(rows[:, ~hidden])
