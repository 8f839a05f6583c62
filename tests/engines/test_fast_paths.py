"""What was made fast, against the simple way to write it."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from shuffledp._support.threads import of_each
from shuffledp.engines.local import Local
from shuffledp.queries.domains import Labels

WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.heavy
@given(
    labels=st.lists(st.integers(-300, 300) | st.integers(-(2**70), 2**70), min_size=2, max_size=12, unique=True),
    kind=st.sampled_from(WHOLE),
    data=st.data(),
)
def test_numbers_find_the_place_of_their_label(labels: list[int], kind: type[np.integer], data: st.DataObject) -> None:
    info = np.iinfo(kind)
    near = [x + step for x in labels for step in (-1, 0, 1) if info.min <= x + step <= info.max]
    wrapped = [(x % 2**info.bits) + (info.min if info.min and x % 2**info.bits > info.max else 0) for x in labels]
    some = [*near, *(x for x in wrapped if info.min <= x <= info.max), int(info.min), int(info.max), 0]
    values = data.draw(st.lists(st.sampled_from(some) | st.integers(int(info.min), int(info.max)), max_size=30))
    domain = Labels(tuple(labels))
    expected = [labels.index(value) if value in labels else len(labels) for value in values]
    assert domain.places(np.array(values, dtype=kind)).tolist() == expected
    assert domain.places(values).tolist() == expected


def test_floats_find_the_place_of_their_label() -> None:
    domain = Labels((-2, 0, 5, 130))
    values = [-2.0, -0.0, 5.0, 5.5, np.nan, np.inf, -np.inf, 130.0, 2.0**60, -3.0]
    for kind in (np.float32, np.float64):
        assert domain.places(np.array(values, dtype=kind)).tolist() == [0, 1, 2, 4, 4, 4, 4, 3, 4, 4]


def test_threads_keep_the_order_and_hold_few_parts() -> None:
    given_out, taken = 0, 0
    most, lock = 0, threading.Lock()

    def parts() -> object:
        nonlocal given_out, most
        for i in range(100):
            with lock:
                given_out += 1
                most = max(most, given_out - taken)
            yield i

    found = []
    for result in of_each(lambda i: i * i, parts(), 3):  # type: ignore[arg-type]
        found.append(result)
        with lock:
            taken += 1
    assert found == [i * i for i in range(100)]
    assert most <= 5


@pytest.mark.parametrize("workers", [1, 4])
def test_an_error_in_a_thread_is_raised(workers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(of_each(lambda i: 1 // i, [2, 1, 0, 5], workers))


@pytest.mark.heavy
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    query = sdp.queries.Histogram(column="x", labels=list(range(16)), mechanism="grr:eps0=2")
    peaks = []
    for groups in (16, 96):  # enough for every thread to have its part at some time
        path, schema = tmp_path / f"{groups}.parquet", pa.schema([("x", pa.int64())])
        with pq.ParquetWriter(path, schema) as writer:
            for _ in range(groups):
                writer.write_table(pa.table({"x": np.arange(25_000) % 16}, schema=schema))
        plan = sdp.Plan(query=query, users=groups * 25_000, delta=1e-6)
        tracemalloc.start()
        assert Local().count(plan, path).users == groups * 25_000
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.0 * peaks[0]
