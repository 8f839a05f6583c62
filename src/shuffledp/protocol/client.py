"""The client: one user's value in, randomized messages out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..randomness.sampling import below, source
from .messages import to_bytes
from .plan import Plan, plan_of


class Client:
    """Reports on one user's values, as the plan says.

    A report is a list of messages, each of the same number of bytes, that hold the randomized answer and nothing else:
    no name, no time, no counter.  A value that is missing or outside the domain is reported as the plan declares;
    no value makes the client silent.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> client = sdp.Client(sdp.Plan(query=fruit, users=10_000, delta=1e-6))
    >>> [len(message) for message in client.report("pear")], [len(message) for message in client.report(None)]
    ([1], [1])
    """

    def __init__(self, plan: Plan | str | os.PathLike[str]) -> None:
        self.plan = plan_of(plan, verify=False)
        self._query = self.plan.query
        self._randomizer = self._query.randomizer

    def report(self, value: Any = None, *, rng: np.random.Generator | None = None) -> list[bytes]:
        """The messages of a user who holds ``value``: to be sent to the shuffler, each on its own.

        value : of the query's column, or a mapping or a sequence with one entry per column; None: nothing
        rng : a seeded generator for tests; the report is then not for release
        """
        return self.report_rows([value], rng=rng)

    def report_rows(self, rows: Sequence[Any], *, rng: np.random.Generator | None = None) -> list[bytes]:
        """The messages of a user with several rows, or none: as many as the plan says, drawn without replacement.

        With fewer rows the others count as missing, so that the number of messages says nothing.
        """
        if isinstance(rows, str | bytes) or not isinstance(rows, Sequence):
            raise ParameterError(
                f"rows must be a list with one entry per row, got {type(rows).__name__}; pass [value]."
            )
        src, wanted = source(rng), self.plan.reports_per_user
        left = list(rows)
        chosen = [left.pop(int(below(src, len(left), 1)[0])) if left else None for _ in range(wanted)]
        messages: list[bytes] = []
        for row in chosen:
            inputs = self._query.inputs([[entry] for entry in self._query.entries(row)], rng=rng)
            data = self._randomizer._as_sent(inputs, rng)
            messages += [bytes(message) for message in to_bytes(self._randomizer.codec, data)]
        return messages
