"""What every engine does with a plan and data."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import ParameterError
from ..mechanisms.reports import Tally
from ..protocol.batch import Header, new_id
from ..protocol.collector import Collector
from ..protocol.plan import Plan
from ..queries.columns import ValueCounts

#: Called with the number of rows done and of all rows (0: not known).
Advance = Callable[[int, int], None]
#: Called with what the values are like: exact counts of the data, for the operator and nobody else.
Tell = Callable[[ValueCounts], None]


def quiet(done: int, total: int) -> None:
    """No progress is shown."""


def untold(found: ValueCounts) -> None:
    """Nobody is told."""


class Run(NamedTuple):
    """How an engine goes about its work, as it was asked (:class:`Engine`)."""

    rng: np.random.Generator | None
    progress: Advance
    accept: bool
    tell: Tell

    def judge(self, found: ValueCounts) -> None:
        """Refuse data that are not those of the question, unless they are accepted; tell what they are like."""
        found.check(accept=self.accept)
        self.tell(found)


class Engine(ABC):
    """Data in, reports or counts out; what comes out has the same law whatever engine made it.

    Before anything is published the values are looked at: ``tell`` is called with how many were missing, unreadable,
    clipped or unlisted (:class:`~shuffledp.queries.columns.ValueCounts`), and more than 20 % of one kind in a
    column are refused unless ``accept`` is true.
    """

    name: ClassVar[str]

    def count(
        self,
        plan: Plan,
        source: Any,
        *,
        rng: np.random.Generator | None = None,
        progress: Advance = quiet,
        accept: bool = False,
        tell: Tell = untold,
    ) -> Collector:
        """Privatize every user's value and count, keeping no report: a collector with one batch."""
        total = self._count(plan, source, Run(rng, progress, accept, tell))
        collector = Collector(plan)
        collector.ingest_counts(new_id(), total.users // plan.reports_per_user, total)
        return collector

    def privatize(
        self,
        plan: Plan,
        source: Any,
        out: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        rng: np.random.Generator | None = None,
        progress: Advance = quiet,
        accept: bool = False,
        tell: Tell = untold,
    ) -> Header:
        """Privatize every user's value and write the messages in one uniformly random order.

        A file that exists is refused unless ``overwrite`` says otherwise: whoever has a copy of it would hold two
        reports of everybody.
        """
        return self._privatize(plan, source, out, overwrite, Run(rng, progress, accept, tell))

    @abstractmethod
    def _count(self, plan: Plan, source: Any, run: Run) -> Tally:
        """The sums over all reports."""

    @abstractmethod
    def _privatize(self, plan: Plan, source: Any, out: str | os.PathLike[str], overwrite: bool, run: Run) -> Header:
        """The header of what was written."""


def engine(name: str) -> Engine:
    """The engine of this name: "local" or "spark"."""
    if name == "local":
        from .local import Local

        return Local()
    if name == "spark":
        from .spark import Spark

        return Spark()
    raise ParameterError(f"engine must be 'local' or 'spark', got {name!r:.40}; choose one of them.")
