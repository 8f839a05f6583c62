"""The task of marginals: shares of users in every cell of several columns taken together.

Each of M marginals is answered by about n/M users, drawn at random, by an oracle over its cells (queries/marginals.py).
With v(n, f) the variance of the oracle, a cell with share f has the variance M v(n, f) + (M-1) f (1-f)/n: that of the
noise, and that of drawing the users.  The first is linear in f and the second concave, so that the mean over the cells
of a marginal is largest where all have the same share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from ..errors import ParameterError
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.parallel import one_drawn
from ..mechanisms.randomizer import Randomizer
from ..queries.base import Query, oracles
from ..queries.domains import MOST_LABELS
from ..queries.marginals import MOST_MARGINALS
from .candidates import Candidate, Refusal, oracle_row, runnable
from .frequency_tasks import ShareTask
from .tasks import Columns, Labels, Sensitivity, options

_MOST_COLUMNS = 100


@dataclass(frozen=True, kw_only=True)
class MarginalsTask(ShareTask):
    """One option in each of several columns per user; the answer is every marginal of ``ways`` of them."""

    name: ClassVar[str] = "marginals"
    measure: ClassVar[str] = "share of users, root mean square over the cells of all marginals, before the fit"
    tol: ClassVar[float] = 2e-3
    far: ClassVar[float] = 1.6

    d: int | tuple[int, ...]
    columns: int | None = None
    ways: int = 2
    subsets: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        given: Any = self.d
        if isinstance(given, list | tuple):
            sizes = tuple(options(size) for size in given)
        else:
            hint = "it is how many columns have d options each"
            number = 3 if self.columns is None else self.columns
            sizes = (options(given),) * check.whole("columns", number, low=1, high=_MOST_COLUMNS, hint=hint)
        if not 1 <= len(sizes) <= _MOST_COLUMNS or self.columns not in (None, len(sizes)):
            raise ParameterError(
                f"d must be the number of options of each of {self.columns or f'1 to {_MOST_COLUMNS}'} columns, got "
                f"{len(sizes):,} numbers; list one for each."
            )
        hint = "a marginal is over some of the columns"
        ways = check.whole("ways", self.ways, low=1, high=len(sizes), hint=hint)
        vars(self).update(d=sizes, columns=None, ways=ways, subsets=self._listed(len(sizes)))
        if len(self.asked) > MOST_MARGINALS or sum(self.cells) > MOST_LABELS:
            raise ParameterError(
                f"marginals must be at most {MOST_MARGINALS:,} with {MOST_LABELS:,} cells in all, got "
                f"{len(self.asked):,} with {sum(self.cells):,}; ask for fewer columns or ways."
            )

    def _listed(self, number: int) -> tuple[tuple[int, ...], ...] | None:
        if self.subsets is None:
            return None
        try:
            found = tuple(tuple(some) for some in self.subsets)
            fine = bool(found) and all(some and len(set(some)) == len(some) for some in found)
        except TypeError:
            fine = False
        if not fine:
            raise ParameterError(
                f"subsets must be lists of different columns, got {self.subsets!r:.80}; write [[0, 1], [0, 2]]."
            )
        hint = "it is the place of a column"
        return tuple(
            tuple(check.whole("subsets", x, low=0, high=number - 1, hint=hint) for x in some) for some in found
        )

    @property
    def asked(self) -> tuple[tuple[int, ...], ...]:
        """The columns of every marginal, by their places."""
        return self.subsets or tuple(itertools.combinations(range(len(self._sizes)), self.ways))

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.d if isinstance(self.d, tuple) else (self.d,)

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells of every marginal."""
        return tuple(math.prod(self._sizes[place] for place in some) for some in self.asked)

    @property
    def item(self) -> str:
        """One of the cells."""
        return f"each of {sum(self.cells):,} cells"

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """A cell of a random marginal, which is an option."""
        return {"options": {"d": max(self.cells)}}

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """Oracles of one message, one for every marginal."""
        row = oracle_row(name, max(self.cells))
        if row is None:
            yield Refusal(name, "It cannot be used on several marginals: its reports have several messages.", fits=True)
        else:
            yield Candidate(name, row, self.accuracy, lambda largest: one_drawn(oracles(largest, self.cells)))

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """The mean over all cells, for even shares, which are the worst."""
        marginals, total = len(self.cells), sum(self.cells)
        squares, most = 0.0, 0.0
        for oracle in oracles(runnable(mechanism), self.cells):
            own, drawn = oracle.accuracy(n), (marginals - 1.0) / n
            even = 1.0 / oracle.d
            squares += oracle.d * (marginals * own.worst**2 + drawn * even * (1.0 - even))
            most = max(most, marginals * own.entry**2 + 0.25 * drawn)
        worst = math.sqrt(squares / total)
        return Accuracy(worst, worst, math.sqrt(most))

    @property
    def sensitivity(self) -> Sensitivity:
        """Two cells of every marginal move by one."""
        return Sensitivity(2.0 * len(self.cells), math.sqrt(2.0 * len(self.cells)))

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> Query:
        """Columns and their options: ``labels`` maps one to the other, the last option also counts unlisted values."""
        named: Any = labels
        if not isinstance(named, Mapping):
            names = self._names(column)
            sizes = zip(names, self._sizes, strict=True)
            named = {name: [*(str(i) for i in range(size - 1)), "other"] for name, size in sizes}
        if tuple(map(len, named.values())) != self._sizes:
            raise ParameterError(
                f"labels must map {len(self._sizes)} columns to {', '.join(map(str, self._sizes))} options, as many as "
                "were planned for, got different numbers; plan with these."
            )
        last = {options[-1] for options in named.values()}
        if len(last) > 1:
            raise ParameterError(
                f"labels must end with the same option in every column, which also counts unlisted values, got "
                f"{len(last)} different ones; end each with 'other'."
            )
        places = list(named)
        subsets = None if self.subsets is None else tuple(tuple(places[i] for i in some) for some in self.subsets)
        return queries.Marginals(labels=named, ways=self.ways, subsets=subsets, other=last.pop(), mechanism=m)

    def _names(self, column: Columns) -> Sequence[str]:
        names = [f"x{i}" for i in range(len(self._sizes))] if column is None else column
        if isinstance(names, str) or len(names) != len(self._sizes):
            raise ParameterError(f"column must name {len(self._sizes)} columns, got {column!r:.60}; list them.")
        return names
