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

#: Called with the number of rows done and of all rows (0: not known).
Advance = Callable[[int, int], None]


def quiet(done: int, total: int) -> None:
    """No progress is shown."""


class Engine(Protocol):
    """Data in, reports or counts out; what comes out has the same law whatever engine made it."""

    name: str

    def count(
        self, plan: Plan, source: Any, *, rng: np.random.Generator | None = None, progress: Advance = quiet
    ) -> Collector:
        """Privatise every user's value and count, keeping no report: a collector with one batch."""

    def privatise(
        self,
        plan: Plan,
        source: Any,
        out: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        rng: np.random.Generator | None = None,
        progress: Advance = quiet,
    ) -> Header:
        """Privatise every user's value and write the messages in one uniformly random order.

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
