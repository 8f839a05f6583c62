"""What every engine does with a plan and data."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..errors import ParameterError
from ..protocol.batch import Header
from ..protocol.collector import Collector
from ..protocol.plan import Plan
from ..queries.value_counts import ValueCounts

#: Called with the number of rows done and of all rows (0: not known).
Advance = Callable[[int, int], None]
#: Called with what the values are like: exact counts of the data, for the operator and nobody else.
Tell = Callable[[ValueCounts], None]


def quiet(done: int, total: int) -> None:
    """No progress is shown."""


def untold(found: ValueCounts) -> None:
    """Nobody is told."""


def judge(found: ValueCounts, *, accept: bool, tell: Tell) -> None:
    """Refuse data that are not those of the question, unless they are accepted; tell what they are like."""
    found.check(accept=accept)
    tell(found)


class Engine(Protocol):
    """Data in, reports or counts out; what comes out has the same law whatever engine made it.

    Before anything is published the values are looked at: ``tell`` is called with how many were missing, unreadable,
    clipped or unlisted (:class:`~shuffledp.queries.value_counts.ValueCounts`), and more than 20 % of one kind in a
    column are refused unless ``accept`` is true.
    """

    name: str

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


def engine(name: str) -> Engine:
    """The engine of this name: "local" or "spark"."""
    if name == "local":
        from .local import Local

        return Local()
    if name == "spark":
        from .spark import Spark

        return Spark()
    raise ParameterError(f"engine must be 'local' or 'spark', got {name!r:.40}; choose one of them.")
