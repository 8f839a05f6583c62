"""Families: one analysis of one mechanism, whose delta is the largest over its members at every eps separately.

A family answers many questions at once, one per row; a single question is a table of one row.  The worst member may
change with eps, n and direction, so none is fixed in advance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import numpy as np

from . import tuning
from .curve import Curve, PairCurve
from .largest import largest_epsilons, largest_values
from .pair import FloatArray, IntArray, ShuffledPair, Side
from .rows import numbered

if TYPE_CHECKING:
    from .swap.pair import SwapPair

    #: What a proof may be about: a shuffled pair, or a victim pair among others of several types (the swap bound).
    Law: TypeAlias = ShuffledPair | SwapPair

_LOOSER = "looser, because too many pairs of inputs of this matrix are nearly alike"
#: Any number of shuffled pairs.
EVERY = 10**9


class Answer(NamedTuple):
    """An eps, and how many of the members had to be evaluated for it.

    ``members`` counts those of one analysis, the named one where several were compared.  For a matrix it counts all
    ordered pairs of different inputs, even where one law stands for many of them.
    ``note`` says "looser, because ..." where a quick bound replaces a slow one; a Guarantee prints it.
    ``bound`` names the analysis that gave the answer, where several were compared.
    """

    epsilon: float
    evaluated: int
    members: int
    note: str = ""
    bound: str = ""


class Asked(NamedTuple):
    """Questions, one per row: the number of users, and the delta whose eps is asked for (or the other way round).

    ``tol`` and ``side`` are those of all rows.  An upper eps above ``most`` may be any larger number: another analysis
    beats it.
    """

    n: FloatArray
    at: FloatArray
    tol: float
    side: Side
    most: FloatArray = np.full(1, np.inf)

    def take(self, rows: IntArray) -> Asked:
        """Some of the rows."""
        return self._replace(n=self.n[rows], at=self.at[rows], most=np.broadcast_to(self.most, self.n.shape)[rows])


class Family(ABC):
    """What a bound makes of a mechanism.  Rows of one class are answered in one call."""

    @property
    def steps(self) -> float:
        """By about what share eps may jump where the mechanism hardly changes, because its laws are chosen anew."""
        return 0.0

    @classmethod
    @abstractmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """The smallest eps with delta(eps) <= delta of every row, on the named side."""

    @classmethod
    @abstractmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """log delta(eps) of every row, on the named side, to a relative accuracy tol in delta."""

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The answer of a table of one row."""
        return type(self).epsilons([self], Asked(np.array([float(n)]), np.array([delta]), tol, side))[0]

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta at every eps: a table with one row for each."""
        flat = np.asarray(eps, dtype=np.float64).reshape(-1)
        asked = Asked(np.full(flat.size, float(n)), flat, tol, side)
        return type(self).log_deltas([self] * flat.size, asked).reshape(np.shape(eps))

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members as shuffled pairs; None if they are not, or are more than ``most``."""
        return None

    @property
    def quick(self) -> bool:
        """Whether a profile may be sampled at many eps: each is cheap, or all together cost little more than one."""
        return self.pairs(tuning.FEW_LAWS) is not None

    def covers(self, n: int) -> bool:
        """Whether anything is claimed for n users; what is not for some n is not for more."""
        return True

    def laws(self, most: int) -> Sequence[Law] | None:
        """What a proof must cover: shuffled pairs, or victim pairs of a swap bound; None as in ``pairs``."""
        return self.pairs(most)


class OneByOne(Family):
    """A family that answers one question at a time, but all values of one curve together."""

    @abstractmethod
    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest eps with delta(eps) <= delta, on the named side."""

    @abstractmethod
    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta at every eps, on the named side, to a relative accuracy tol in delta."""

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """Row by row."""
        rows = zip(families, asked.n.tolist(), asked.at.tolist(), strict=True)
        return [family.epsilon(n=int(n), delta=delta, tol=asked.tol, side=asked.side) for family, n, delta in rows]

    @classmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """Curve by curve."""
        out = np.full(len(families), -np.inf)
        first, which = numbered([(id(family), users) for family, users in zip(families, asked.n.tolist(), strict=True)])
        for k, i in enumerate(first.tolist()):
            mine = which == k
            out[mine] = families[i].log_delta(asked.at[mine], n=int(asked.n[i]), tol=asked.tol, side=asked.side)
        return out


class Rows(NamedTuple):
    """The members of some questions as rows of one curve, and which question owns each."""

    owner: IntArray
    curve: Curve


class Listed(Family):
    """A family whose members are rows of a curve."""

    @classmethod
    @abstractmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """All members of all questions."""

    @classmethod
    def parts(cls, families: Sequence[Self], n: FloatArray) -> Iterable[IntArray]:
        """Groups of questions whose members are rows of one curve; for one that is in none, nothing is claimed."""
        return [np.arange(n.size)]

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """The largest eps over the members of every question."""
        out = [Answer(math.inf, 0, 0)] * len(families)
        for part in cls.parts(families, asked.n):
            mine = asked.take(part)
            owner, curve = cls.rows([families[i] for i in part.tolist()], mine.n, mine.tol, mine.side)
            best, evaluated, looser = largest_epsilons(owner, curve, np.log(mine.at), mine.tol, mine.most)
            notes = [_LOOSER if crowded else "" for crowded in looser.tolist()]
            count = np.bincount(owner, minlength=part.size)
            found = zip(best.tolist(), evaluated.tolist(), count.tolist(), notes, strict=True)
            for i, row in zip(part.tolist(), found, strict=True):
                out[i] = Answer(*row)
        return out

    @classmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """The largest log delta over the members of every question at its eps."""
        out = np.zeros(len(families))
        for part in cls.parts(families, asked.n):
            mine = asked.take(part)
            owner, curve = cls.rows([families[i] for i in part.tolist()], mine.n, mine.tol / 30.0, mine.side)
            out[part] = largest_values(owner, curve, mine.at, mine.tol)
        return out


class PairSet(Listed):
    """Finitely many shuffled pairs, each in its own direction (add ``pair.swapped()`` for the other one).

    Examples
    --------
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> round(coin.epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").epsilon, 2)
    0.17
    """

    def __init__(self, pairs: Sequence[ShuffledPair]) -> None:
        self._members = tuple(dict.fromkeys(pairs)) if len(pairs) > 1 else tuple(pairs)

    def among(self, n: float) -> Sequence[ShuffledPair]:
        """The members among n users; a mechanism may have other members among few users."""
        return self._members

    @classmethod
    def rows(cls, families: Sequence[Self], n: FloatArray, tol: float, side: Side) -> Rows:
        """One row per pair."""
        members = [family.among(users) for family, users in zip(families, n.tolist(), strict=True)]
        owner = np.repeat(np.arange(n.size), [len(part) for part in members])
        return Rows(owner, PairCurve.of([pair for part in members for pair in part], n[owner], side))

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The members, if there are at most ``most``."""
        return self._members if len(self._members) <= most else None


def epsilons(families: Sequence[Family], asked: Asked) -> list[Answer]:
    """The answers of many families, one row each: those of one class in one call.

    Examples
    --------
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> found = epsilons([coin, coin], Asked(n=np.array([1e3, 1e6]), at=np.full(2, 1e-6), tol=1e-4, side="upper"))
    >>> [round(answer.epsilon, 3) for answer in found]
    [0.168, 0.004]
    """
    out: dict[int, Answer] = {}
    for kind, rows, mine in _kinds(families):
        out |= zip(rows.tolist(), kind.epsilons(mine, asked.take(rows)), strict=True)
    return [out[i] for i in range(len(families))]


def log_deltas(families: Sequence[Family], asked: Asked) -> FloatArray:
    """log delta of many families, one row each: those of one class in one call."""
    out = np.empty(len(families))
    for kind, rows, mine in _kinds(families):
        out[rows] = kind.log_deltas(mine, asked.take(rows))
    return out


def _kinds(families: Sequence[Family]) -> list[tuple[type[Family], IntArray, list[Family]]]:
    """The rows of every class of families."""
    rows: dict[type[Family], list[int]] = {}
    for i, family in enumerate(families):
        rows.setdefault(type(family), []).append(i)
    return [(kind, np.array(at), [families[i] for i in at]) for kind, at in rows.items()]


class Smallest(Family):
    """Named analyses of one mechanism that all hold: the smallest upper bound counts, and the largest lower one.

    Examples
    --------
    >>> few, many = (PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[t, t])]) for t in (0.1, 0.25))
    >>> Smallest({"few": few, "many": many}).epsilon(n=1000, delta=1e-6, tol=1e-4, side="upper").bound
    'many'
    """

    def __init__(self, families: Mapping[str, Family]) -> None:
        self.families = dict(families)

    @classmethod
    def epsilons(cls, families: Sequence[Self], asked: Asked) -> list[Answer]:
        """All rows of one class of analyses are asked in one call; the swap bound, which takes longest, comes last."""
        parts = [(i, name) for i, family in enumerate(families) for name in reversed(family.families)]
        best: dict[int, Answer] = {}
        least = np.broadcast_to(asked.most, asked.n.shape).copy()
        for kind, rows, mine in _kinds([families[i].families[name] for i, name in parts]):
            owner = [parts[k] for k in rows.tolist()]
            found = kind.epsilons(mine, asked._replace(most=least).take(np.array([i for i, _ in owner])))
            for (i, name), answer in zip(owner, found, strict=True):
                old = best.get(i)
                if old is None or better(answer.epsilon, old.epsilon, asked.side):
                    best[i] = answer._replace(bound=answer.bound or name)
                    least[i] = answer.epsilon
        return [best[i] for i in range(len(families))]

    @classmethod
    def log_deltas(cls, families: Sequence[Self], asked: Asked) -> FloatArray:
        """The best of all analyses at every eps; one that a coarse value shows to be clearly larger is left out."""
        upper = asked.side == "upper"
        best = np.full(len(families), np.inf if upper else -np.inf)
        for k in range(max(len(family.families) for family in families)):
            rows = np.array([i for i, family in enumerate(families) if k < len(family.families)])
            parts = [list(families[i].families.values())[k] for i in rows.tolist()]
            if k and upper:  # leaving one out is sound: the others hold
                look = log_deltas(parts, asked.take(rows)._replace(tol=tuning.GLANCE))
                near = np.flatnonzero(look <= best[rows] + tuning.CLEARLY)
                rows, parts = rows[near], [parts[i] for i in near.tolist()]
            found = log_deltas(parts, asked.take(rows))
            best[rows] = np.minimum(best[rows], found) if upper else np.maximum(best[rows], found)
        return best

    @property
    def steps(self) -> float:
        """Those of the analyses."""
        return max(family.steps for family in self.families.values())

    @property
    def quick(self) -> bool:
        """Whether all analyses are."""
        return all(family.quick for family in self.families.values())

    def covers(self, n: int) -> bool:
        """Whether an analysis does."""
        return any(family.covers(n) for family in self.families.values())


def better(new: float, old: float, side: Side) -> bool:
    """Whether one eps is at least as good as another."""
    return new <= old if side == "upper" else new >= old
