"""The engine for one machine: Arrow record batches through numpy, a part at a time, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import of_each, thread_count
from ..errors import ParameterError
from ..mechanisms.reports import Tally
from ..protocol.batch import Header
from ..protocol.plan import Plan
from ..queries.columns import Coded, Column, ValueCounts, Written, concatenated, length
from ..randomness.sampling import source as random_source
from .base import Engine, Run
from .columns import as_column, chosen_rows, row_weights, rows, user_keys
from .reading import ROWS, Source, is_written, source_of

if TYPE_CHECKING:
    import pyarrow as pa

#: Threads, at most: each holds a part in memory.
_MOST_THREADS = 8


class Local(Engine):
    """One machine; memory does not grow with the number of rows unless users have several.

    Where users have several rows (the plan names their column), 24 bytes per row are needed to draw among them.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> import pyarrow as pa
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=4, delta=1e-6)
    >>> Local().count(plan, pa.table({"fruit": ["pear", "apple", None, "kiwi"]}), accept=True).users
    4
    """

    name = "local"

    def _count(self, plan: Plan, source: Any, run: Run) -> Tally:
        """Privatize and count, keeping no report."""
        data, query, rng = source_of(source), plan.query, run.rng
        run.judge(values_of(plan, data))
        # a seeded generator gives the parts in their order; each is then divided among the threads
        threads = 1 if rng is not None else min(_MOST_THREADS, thread_count(None))

        def counted(numbered: tuple[int, Any]) -> tuple[Tally, int]:
            i, part = numbered
            columns = part if plan.user_column else columns_of(plan, part)
            inputs, alone = query.inputs(columns, rng=rng), 1 if threads > 1 else None
            m = query.randomizer._further if i else query.randomizer
            return m.privatize_counts(inputs, rng=rng, threads=alone), length(columns[0])

        parts: Iterable[Any] = encoded_parts(plan, data, rng=rng) if plan.user_column else batches_of(plan, data)
        total: Tally | None = None
        done = 0
        for part, rows_done in of_each(counted, enumerate(parts), threads):
            total = part if total is None else total + part
            done += rows_done
            run.progress(done, data.rows)
        if total is None:
            raise ParameterError(f"data must have at least one row, got none in {data.name}; collect some first.")
        return total

    def _privatize(self, plan: Plan, source: Any, out: str | os.PathLike[str], overwrite: bool, run: Run) -> Header:
        """Privatize and write the messages in one uniformly random order; an interrupted run resumes where it stopped.

        A file that exists is refused unless ``overwrite`` says otherwise, and so is another name while reports of the
        same data and plan wait in the folder of an interrupted run beside it.
        """
        from .resumable import privatize

        data = source_of(source)
        run.judge(values_of(plan, data))
        return privatize(plan, data, out, overwrite, run)

    def exact(self, plan: Plan, source: Any) -> Any:
        """The answer without noise, for simulations.

        Where users have several rows it is what is expected over the draw among them: a row of a user with m rows
        counts reports/m, or 1 where m is less than the reports, and then the rows that it lacks count as missing.
        """
        data, query = source_of(source), plan.query
        check_users(plan)
        if plan.user_column:
            columns, users = table_of(plan, data)
            weights, lacking = row_weights(users, plan.reports_per_user)
            places = np.append(np.arange(len(users)), [-1] if lacking else []).astype(np.int64)
            counted = np.append(weights, [float(lacking)] if lacking else [])
            return query.exact([rows(column, places) for column in columns], weights=counted)
        parts = list(encoded_parts(plan, data, rng=None))
        return query.exact([concatenated([part[i] for part in parts]) for i in range(len(query.columns))])


def values_of(plan: Plan, data: Source) -> ValueCounts:
    """What the values are like, in a pass of its own: nothing is drawn from data that are then refused."""
    check_users(plan)

    def counted(batch: pa.RecordBatch) -> ValueCounts:
        return plan.query.value_counts(columns_of(plan, batch))

    threads = min(_MOST_THREADS, thread_count(None))
    return sum(of_each(counted, batches_of(plan, data), threads), ValueCounts())


def batches_of(plan: Plan, data: Source, group: int | None = None) -> Iterator[pa.RecordBatch]:
    """The columns of the query as record batches, without empty ones."""
    return (batch for batch in data.batches(list(plan.query.columns), group) if batch.num_rows)


def columns_of(plan: Plan, batch: pa.RecordBatch) -> list[Column]:
    """The columns of a record batch as the query takes them."""
    return [_column(batch, name) for name in plan.query.columns]


def _column(data: pa.RecordBatch | pa.Table, name: str) -> NDArray[Any] | Coded:
    """One column; that of a file without types may spell numbers."""
    place = data.schema.get_field_index(name)
    column = as_column(data.column(place))
    if isinstance(column, Coded) and is_written(data.schema.field(place)):
        return Coded(column.codes, [None if value is None else Written(value) for value in column.values])
    return column


def encoded_parts(
    plan: Plan,
    data: Source,
    *,
    rng: np.random.Generator | None,
    group: int | None = None,
    rows_at_once: int = ROWS,
    seen: list[ValueCounts] | None = None,
) -> Iterator[list[Column]]:
    """The columns of the query, part after part, one row per report; what the values are like is added to ``seen``."""
    check_users(plan)
    if not plan.user_column:
        for batch in batches_of(plan, data, group):
            part = columns_of(plan, batch)
            if seen is not None:
                seen.append(plan.query.value_counts(part))
            yield part
        return
    columns, users = table_of(plan, data, group)
    if seen is not None:
        seen.append(plan.query.value_counts(columns))
    places = chosen_rows(users, plan.reports_per_user, random_source(rng))
    for start in range(0, places.size, rows_at_once):
        yield [rows(column, places[start : start + rows_at_once]) for column in columns]


def table_of(plan: Plan, data: Source, group: int | None = None) -> tuple[list[Any], NDArray[Any]]:
    """All rows at once: the columns of the query, and whose each row is."""
    import pyarrow as pa

    wanted = list(plan.query.columns)
    batches = list(data.batches([*dict.fromkeys([*wanted, plan.user_column])], group))
    if not batches:
        return [np.zeros(0) for _ in wanted], np.zeros(0)
    table = pa.Table.from_batches(batches)
    users = user_keys(table.column(plan.user_column), plan.user_column)
    return [_column(table, name) for name in wanted], users


def check_users(plan: Plan) -> None:
    """Several reports per user need to know whose row is whose."""
    if plan.reports_per_user > 1 and not plan.user_column:
        raise ParameterError(
            f"a plan with {plan.reports_per_user} reports per user needs the column of the users, got none; set "
            "user_column in the plan."
        )
