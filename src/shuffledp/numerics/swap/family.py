"""Families of the swap bound: victim pairs among others of several types, or of several classes of users."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from ...errors import BoundNotApplicableError
from .. import tuning
from ..curve import Curve, Guess, Values, saddle_guess
from ..family import Listed, Rows
from ..ledger import charge
from ..line import blocks, nodes, saddle, tilt, whole_blocks
from ..pair import FloatArray, IntArray, Side
from ..rows import ULP, chunks, expose_rare, numbered, pad, take_rows
from .curve import SwapCurve, dither_for, without_free_users
from .pair import Members, SwapPair, ranges
from .sums import Line, dithered_count, dithered_nodes, log_modulus, log_top, weighed
from .waiting import Others, Waiting


class SwapSet(Listed):
    """The largest swap bound over some ordered victim pairs.

    Examples
    --------
    >>> from shuffledp.numerics.pair import ShuffledPair
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.75, 0.25])
    >>> both = SwapSet([SwapPair((coin, coin.swapped()), 0.5)])
    >>> round(both.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.142
    """

    def __init__(self, members: Sequence[SwapPair]) -> None:
        self._members = tuple(members)

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per victim pair."""
        only_upper(side)
        first, which = numbered([id(family) for family in families])
        some = [families[i] for i in first.tolist()]
        table = some[0]._table if len(some) == 1 else Members.of([x for family in some for x in family._members])
        count = np.array([len(family._members) for family in some])
        members, owner, _ = ranges((np.cumsum(count) - count)[which], count[which])
        n = n[owner]
        return Rows(owner, SwapCurve(table, members, n, Others.fixed(n), dither_for(tol)))

    @cached_property
    def _table(self) -> Members:
        """The members as arrays."""
        return Members.of(self._members)

    def members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs, if there are at most ``most``, and all of their types are listed."""
        listed = all(member.more is None for member in self._members)
        return self._members if listed and len(self._members) <= most else None

    @property
    def quick(self) -> bool:
        """Whether the types of all victim pairs have few symbols together."""
        types = [pair for member in self.members(tuning.FEW_LAWS) or () for pair in member.types]
        return 0 < sum(np.size(pair.t) for pair in types) <= tuning.FEW_SYMBOLS

    def laws(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs."""
        return self.members(most)


def only_upper(side: Side) -> None:
    """Refuse the lower side: the swap bound is an upper bound only."""
    if side != "upper":
        raise BoundNotApplicableError("the swap bound is an upper bound; take the lower one from constant datasets.")


class Class(NamedTuple):
    """Users with the same law: their share of all others, and the victim's pair among each of their types."""

    share: float
    member: SwapPair


class Mixed(NamedTuple):
    """One victim pair among classes of others; the laws of all their types share a part of mass ``common_mass``."""

    classes: tuple[Class, ...]
    common_mass: float


class ClassSet(Listed):
    """The largest swap bound over some victim pairs among several classes of users.

    In step 4 of Theorem 2 (docs/swap.md) the mean of |M| over all others is a mean over the classes, weighted by their
    shares, of the mean within each class, which is at most the largest |M| of a type of that class.  The size of a
    class is known, so the *mean of the moduli* counts: neither the modulus of the mean law, which is smaller, nor the
    worst class alone, which is larger.  The subset S_k is uniformly random among all others; Maclaurin's inequality
    holds for any numbers of each class in it.
    """

    def __init__(self, members: Sequence[Mixed]) -> None:
        self._members = tuple(members)

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per victim pair."""
        only_upper(side)
        members = [family._members for family in families]
        owner = np.repeat(np.arange(n.size), [len(part) for part in members])
        return Rows(owner, ClassCurve.of([member for part in members for member in part], n[owner]))


class ClassCurve(Curve):
    """Victim pairs among classes of others, one per row."""

    side: Side = "upper"

    def __init__(self, members: Members, which: IntArray, shares: FloatArray, beta: FloatArray, n: FloatArray) -> None:
        """``which`` (row, class) are the members of all classes; rows with fewer classes repeat one with share 0."""
        self.members, self.which, self.shares, self.beta, self.n = members, which, shares, beta, n
        self.limit, self.floor = members.limit[which].max(axis=1), np.zeros(n.size)
        types = members.types[which][:, :, None]
        #: every class gets equally many types; the last one is repeated where there are fewer
        self._kinds = members.start[which][:, :, None] + np.minimum(np.arange(types.max()), types - 1)
        self._copies = np.maximum(n - 1.0 / np.maximum(beta, 1e-15), 1.0)
        self._widest = self._chosen(members.spread[self._kinds])
        self.spread = (members.spread[self._widest] * shares).sum(axis=1) / n

    @classmethod
    def of(cls, members: Sequence[Mixed], n: FloatArray) -> ClassCurve:
        """One row per victim pair and its n."""
        table = Members.of([some.member for mixed in members for some in mixed.classes])
        count = np.array([len(mixed.classes) for mixed in members])
        place = np.minimum(np.arange(count.max()), count[:, None] - 1)
        shares = pad([np.array([some.share for some in mixed.classes]) for mixed in members])
        beta = np.array([mixed.common_mass for mixed in members]) * (1.0 - ULP)
        return cls(table, (np.cumsum(count) - count)[:, None] + place, shares, beta, n)

    def take(self, rows: IntArray) -> ClassCurve:
        """Some of the rows."""
        return ClassCurve(self.members, self.which[rows], self.shares[rows], self.beta[rows], self.n[rows])

    def _chosen(self, score: FloatArray) -> IntArray:
        """The type of the largest score in every class (row, class)."""
        return np.take_along_axis(self._kinds, score.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]

    def _mixture(self, part: FloatArray) -> FloatArray:
        """One law over the symbols of all classes."""
        return part.reshape(len(part), -1)

    @np.errstate(all="ignore")
    def at(self, eps: FloatArray, rtol: FloatArray) -> Values:
        """At every node A of the mean, over the classes, of the largest |M| of a type, which covers all types."""
        rows, classes = self.which.shape
        flat = [self.members.local(self.which[:, k], eps) for k in range(classes)]
        log_local = np.max([part.log_delta for part in flat], axis=0)
        laws = expose_rare(take_rows(self.members.laws, self._kinds)._replace(n=self.n))
        (x, bare), t = laws.at(eps, "upper"), laws.t
        kind, shares = self._widest, self.shares[:, :, None]
        c = np.ones(rows)
        for _ in range(tuning.LEADERS):  # find the saddle of the mixture of the worst types; any line is sound
            place = (np.arange(rows)[:, None], np.arange(classes), (self._kinds == kind[:, :, None]).argmax(axis=2))
            law = self._mixture(x[place]), self._mixture(shares * t[place])
            c = saddle(*law, self._copies)
            new = self._chosen(np.log1p((t * np.expm1(c[:, None, None, None] * x)).sum(axis=3)))
            if (new == kind).all():
                break
            kind = new
        at = tilt(*law, c)
        line = Line.at(c, np.maximum(np.sqrt(self._copies * at.variance), 1e-3 / c), np.full(rows, tuning.CLASS_DITHER))
        target = np.clip(self._copies * at.log_m - np.log(c * self.n), -745.0, 0.0)
        waiting = Waiting.of(self.beta, Others.fixed(self.n), tuning.SWAP_CUT - target)
        value = self._sums(x, t, waiting, line)
        exposed = (self.shares * bare.max(axis=2)).sum(axis=1) * (1.0 + 1e-12)
        whole = without_free_users(np.logaddexp(value, np.log(exposed)), waiting.log_rest, exposed * 0.0, log_local)
        whole = np.where((self.n <= 2.0) | (self.beta <= 0.0), log_local, np.fmin(whole, log_local))
        slope = np.exp(eps) * c * self._copies * (at.weight * self._mixture(laws.v[place])).sum(axis=1)
        value = np.where((eps >= self.limit) | (log_local == -np.inf), -np.inf, whole)
        return Values(value, np.where(np.isfinite(slope), slope, 1.0))

    def _sums(self, x: FloatArray, t: FloatArray, waiting: Waiting, line: Line) -> FloatArray:
        """log U of every row."""
        (rows, classes, types, atoms), (c, h, s) = x.shape, line
        last = np.full(rows, whole_blocks(dithered_count(line)).max())
        total, peak = np.empty(rows), np.empty(rows)
        for part in chunks((last + 1.0) * (classes * types * atoms)):
            size = part.stop - part.start
            law = x[part].reshape(-1, atoms)
            own = np.repeat(np.arange(part.start, part.stop), classes * types)
            at = tilt(law, t[part].reshape(-1, atoms), c[own])
            node = nodes(law, at, h[own], *blocks(last[own]))
            log_r = log_modulus(node, log_top(at)).reshape(size, classes, types, -1).max(axis=2)
            y = node.y.reshape(size, classes * types, -1)[:, 0]
            log_r = mean_modulus(log_r, self.shares[part])
            row = np.broadcast_to(np.arange(size)[:, None], log_r.shape)
            height = take_rows(waiting, part).log_sums(row, log_r, log_r.max(axis=1))
            peak[part] = height[:, 0]
            weight = np.exp(height - height[:, :1] - 0.5 * (s[part, None] * y) ** 2) / (c[part, None] ** 2 + y * y)
            weight[:, 1:] *= 2.0
            beyond = dithered_nodes(take_rows(line, part), (last[part] + 1.0) * h[part])
            total[part] = weight.sum(axis=1) + beyond * (1.0 + 1e-9)
        return weighed(total, peak, line)

    def guess(self, log_delta: FloatArray) -> Guess:
        """By the saddle-point approximation of the law that mixes the widest types."""
        laws, kind = self.members.laws, self._widest
        parts = (laws.gap[kind], laws.v[kind], self.shares[:, :, None] * laws.t[kind])
        gap, v, t = (self._mixture(part) for part in parts)
        return saddle_guess(gap, v, t, self._copies, log_delta, self.limit)[0]


@charge("the mean of the moduli of several classes", "docs/swap.md, several classes of users")
def mean_modulus(log_r: FloatArray, shares: FloatArray) -> FloatArray:
    """log of sum over classes of share |M|, rounded up: by |M| - 1, each of which is right to some roundings."""
    excess = np.expm1(log_r)
    mean = (shares[:, :, None] * (excess + ULP * np.abs(excess))).sum(axis=1)
    log_mean = np.log1p(mean)
    return np.asarray(log_mean + ULP * np.abs(log_mean))
