"""What runs on the executors: a partition in, one row of counts or the keyed messages out.

A task gets the plan as the text of its file and builds it again, once per worker process; nothing else of the driver
travels.  Random bits are drawn in the task itself, by the secure source of the executor's operating system, unless a
seed is given; then every partition has a generator of its own, seeded by that and by its number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.reports import Tally
from ..protocol.messages import message_length, plain, restored, to_bytes
from ..protocol.plan import Plan
from ..queries.columns import ValueCounts, length
from ..randomness.sampling import source as random_source
from .local import encoded_parts
from .reading import Source, as_written, other_encoding

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of what the functions below give, as Spark writes a schema.
COUNTS, BLOCKS = "tally string, values string", "block binary"
KEYED = "key binary, message binary, users long, values string"
#: The encoding in which Spark reads a CSV file: one character for every byte, so that none is lost.
BYTES = "ISO-8859-1"
#: Bytes of a sort key: two of a billion messages are tied with probability 2e-21.
_KEY = 16
#: Rows that are randomized at once, and bytes of messages, about.
_ROWS, _BYTES = 1 << 18, 1 << 25


class Task(NamedTuple):
    """All that an executor is told."""

    plan: str
    columns: tuple[str, ...]  # their names in the data
    seed: int | None = None
    written: bool = False  # whether the columns are texts of a file without types


@lru_cache(maxsize=8)
def plan_from(text: str) -> Plan:
    """The plan, built once per worker; its guarantee was verified by the driver."""
    return Plan.from_dict(json.loads(text), verify=False)


def counts(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for the whole partition: the sums over its reports, as text.  An empty partition gives none."""
    import pyarrow as pa

    plan, rng = plan_from(task.plan), _generator(task)
    query, total = plan.query, None
    values: list[ValueCounts] = []
    for columns in encoded_parts(plan, _source(task, batches, _ROWS), rng=rng, seen=values):
        part = query.randomizer.privatize_counts(query.inputs(columns, rng=rng), rng=rng)
        total = part if total is None else total + part
    if total is not None:
        yield pa.RecordBatch.from_pydict({"tally": [_written(total)], "values": [_summed(values)]})


def keyed(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every message with 128 random bits to sort by; then a row without key that says what was counted."""
    import pyarrow as pa

    plan, rng = plan_from(task.plan), _generator(task)
    query, codec = plan.query, plan.query.randomizer.codec
    src, reports = random_source(rng), 0
    values: list[ValueCounts] = []
    rows = max(1, min(_ROWS, _BYTES // message_length(codec)))
    kinds = [("key", pa.binary()), ("message", pa.binary()), ("users", pa.int64()), ("values", pa.string())]
    schema = pa.schema(kinds)
    for columns in encoded_parts(plan, _source(task, batches, rows), rng=rng, rows_at_once=rows, seen=values):
        raw = to_bytes(codec, query.randomizer.privatize(query.inputs(columns, rng=rng), rng=rng).data)
        keys = src.raw(len(raw) * _KEY)
        none = [pa.nulls(len(raw), kind) for _, kind in kinds[2:]]
        yield pa.RecordBatch.from_arrays([_binary(keys, _KEY), _binary(raw, raw.dtype.itemsize), *none], schema=schema)
        reports += length(columns[0])
    said = {"key": [None], "message": [None], "users": [reports], "values": [_summed(values)]}
    yield pa.RecordBatch.from_pydict(said, schema=schema)


def joined(size: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Messages of ``size`` bytes in the order in which they come, many to a row."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            column = batch.column(0).cast(pa.binary(size))
            raw = column.buffers()[1].slice(column.offset * size, len(column) * size)
            yield pa.RecordBatch.from_pydict({"block": pa.array([raw.to_pybytes()], type=pa.binary())})


def read_tally(text: str, mechanism: str) -> Tally:
    """What :func:`counts` wrote."""
    found = json.loads(text)
    return Tally(restored(found["counts"]), mechanism, found["users"], found["for_release"])


def read_values(texts: Iterable[str]) -> ValueCounts:
    """The sum of what the tasks counted."""
    found = (ValueCounts({name: Counter(one) for name, one in json.loads(text).items()}) for text in texts)
    return sum(found, ValueCounts())


def _summed(found: Iterable[ValueCounts]) -> str:
    """What :func:`read_values` reads."""
    return json.dumps(sum(found, ValueCounts()).columns)


def _written(tally: Tally) -> str:
    return json.dumps({"counts": plain(tally.counts), "users": tally.users, "for_release": tally.for_release})


def _generator(task: Task) -> np.random.Generator | None:
    """None (secure), or this partition's own generator."""
    if task.seed is None:
        return None
    from pyspark import TaskContext

    return np.random.default_rng([task.seed, TaskContext.get().partitionId()])


def _binary(raw: NDArray[Any], size: int) -> pa.Array:
    import pyarrow as pa

    number = raw.nbytes // size
    buffer = pa.py_buffer(np.ascontiguousarray(raw).view(np.uint8))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), number, [None, buffer]).cast(pa.binary())


def _source(task: Task, batches: Iterator[pa.RecordBatch], rows: int) -> Source:
    """The partition as an engine reads data: a few large record batches instead of many small ones."""

    def read(columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        for batch in gathered(batches, rows):
            named = batch.rename_columns(list(task.columns))
            yield as_written(_texts(named)) if task.written else named

    return Source("a partition", 0, 1, read)


def _texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Columns in which every character is a byte as the texts in UTF-8 that these bytes are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = list(batch.columns)
    for i, column in enumerate(columns):
        if not pc.all(pc.string_is_ascii(column)).as_py():
            coded = column.dictionary_encode()
            try:
                texts = [value.encode(BYTES).decode("utf-8") for value in coded.dictionary.to_pylist()]
            except UnicodeDecodeError:
                raise other_encoding("a part of the data") from None
            columns[i] = pc.take(pa.array(texts, column.type), coded.indices)
    return batch.from_arrays(columns, schema=batch.schema)


def gathered(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in record batches of about ``rows`` rows, never more than twice as many."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            waiting.append(batch.slice(start, rows))
            if sum(part.num_rows for part in waiting) >= rows:
                yield pa.concat_batches(waiting)
                waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
