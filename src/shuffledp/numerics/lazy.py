"""All ordered pairs of rows of a matrix as a family: so many that only those which a cheap bound leaves are made."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from ..errors import BoundNotApplicableError
from . import tuning
from .curve import Curve, Guess, Values
from .family import Answer, Listed, Rows
from .pair import FloatArray, IntArray, Side
from .rows import chunks, numbered


class Search(Listed):
    """Members are the places of ``listed``; questions are asked by matrix, for a bounded number of rows at once."""

    #: The members, as numbers that :meth:`curve` understands.
    listed: IntArray
    #: Numbers that the law of one member consists of.
    cells: int
    #: Members that may be evaluated for one question.
    most_evaluated: int = 10**9

    @abstractmethod
    def spreads(self) -> FloatArray:
        """About the variance that eps grows with, by member."""

    @abstractmethod
    def limits(self) -> FloatArray:
        """An eps from which on delta is 0, by member."""

    @abstractmethod
    def curve(self, members: IntArray, n: FloatArray, tol: float) -> Curve:
        """The curve of some members, each among its n; ``tol`` is the relative accuracy wanted of eps."""

    @abstractmethod
    def screen(self, members: IntArray, n: FloatArray, eps: FloatArray, level: FloatArray, tol: float) -> FloatArray:
        """Cheap upper values of log delta; they need not be sharp where they are at most ``level``."""

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """All members of the first family, once for each question: questions of one call have one matrix."""
        if side != "upper":
            raise BoundNotApplicableError("this is an upper bound; take the lower one from constant datasets.")
        family, members = families[0], np.arange(families[0].listed.size)
        owner = np.repeat(np.arange(n.size), members.size)
        return Rows(owner, LazyCurve(family, np.tile(members, n.size), n[owner], tol))

    @classmethod
    def epsilons(
        cls, families: Sequence[Self], *, n: FloatArray, delta: FloatArray, tol: float, side: Side
    ) -> list[Answer]:
        """The largest eps over the members of every question."""
        out = [Answer(0.0, 0, 0)] * len(families)
        for part in _parts(families):
            mine = [families[i] for i in part.tolist()]
            found = super().epsilons(mine, n=n[part], delta=delta[part], tol=tol, side=side)
            for i, answer in zip(part.tolist(), found, strict=True):
                out[i] = answer
        return out

    @classmethod
    def log_deltas(
        cls, families: Sequence[Self], eps: FloatArray, *, n: FloatArray, tol: float, side: Side
    ) -> FloatArray:
        """The largest log delta over the members of every question at its eps."""
        out = np.full(eps.size, -np.inf)
        for part in _parts(families):
            mine = [families[i] for i in part.tolist()]
            out[part] = super().log_deltas(mine, eps[part], n=n[part], tol=tol, side=side)
        return out


def _parts(families: Sequence[Search]) -> Iterator[IntArray]:
    """Questions about one matrix, whose rows are at most so many together."""
    which = numbered([id(family) for family in families])[1]
    for k in range(int(which.max(initial=-1)) + 1):
        mine = np.flatnonzero(which == k)
        for part in chunks(np.full(mine.size, float(families[mine[0]].listed.size)), tuning.MOST_ROWS):
            yield mine[part]


class LazyCurve(Curve):
    """Members of a search, most of which are never evaluated: only rows that are asked for are made."""

    side: Side = "upper"

    def __init__(self, family: Search, members: IntArray, n: FloatArray, tol: float) -> None:
        self.family, self._members, self._n, self._tol = family, members, n, tol
        self.most_evaluated = family.most_evaluated
        self.limit, self.spread = family.limits()[members], family.spreads()[members] / n

    @cached_property
    def made(self) -> Curve:
        """The curve of these rows."""
        return self.family.curve(self._members, self._n, self._tol)

    @cached_property
    def floor(self) -> FloatArray:  # type: ignore[override]
        """delta at eps -> inf, from below."""
        return self.made.floor

    def take(self, rows: IntArray) -> LazyCurve:
        """Some of the rows; what is made of them is kept."""
        part = LazyCurve(self.family, self._members[rows], self._n[rows], self._tol)
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
        """That of the family."""
        return self.family.screen(self._members, self._n, eps, level, self._tol)
