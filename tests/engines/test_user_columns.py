"""One user sends one report, however the column of the users is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shuffledp as sdp
from shuffledp.engines.columns import user_keys
from shuffledp.engines.local import Local
from shuffledp.errors import ParameterError


def coded(codes: list[int | None], values: list[str | None]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string()))


COLUMNS: dict[str, tuple[pa.Array | pa.ChunkedArray, int]] = {
    "repeated values in a dictionary": (coded([0, 1, 2, 0], ["a", "a", "b"]), 2),
    "null in the dictionary and in the codes": (coded([0, 1, None, 1], ["a", None]), 2),
    "chunks with dictionaries of their own": (pa.chunked_array([coded([0, 0], ["b"]), coded([0, 1], ["a", "b"])]), 2),
    "decimals that are equal as floats": (
        pa.array(["10000000000000000.1", "10000000000000000.2", None, None]).cast(pa.decimal128(30, 1)),
        3,
    ),
    "large whole numbers": (pa.array([2**63 - 1, 2**63 - 2, None, None]), 3),
    "small whole numbers": (pa.array([1, 1, None, 2], pa.int8()), 3),
    "floats": (pa.array([0.0, -0.0, None, float("nan")]), 2),
    "texts": (pa.array(["a", "b", "a", None]), 3),
    "dates": (pa.array([1, 1, 2, None], pa.date32()), 3),
    "nothing": (pa.nulls(4), 1),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_of_one_user_make_one_report(name: str) -> None:
    users, people = COLUMNS[name]
    query = sdp.queries.Histogram(column="x", labels=["a"], mechanism="grr:eps0=2")
    plan = sdp.Plan(query=query, users=4, minimum_batch=1, delta=1e-6, user_column="u")
    assert Local().count(plan, pa.table({"x": ["a"] * 4, "u": users})).users == people


@pytest.mark.parametrize("users", [[{"a": 1}] * 4, [[1]] * 4, [[1, 2]] * 4])
def test_nested_users_are_refused(users: list[Any]) -> None:
    query = sdp.queries.Histogram(column="x", labels=["a"], mechanism="grr:eps0=2")
    plan = sdp.Plan(query=query, users=4, minimum_batch=1, delta=1e-6, user_column="u")
    with pytest.raises(ParameterError, match="user_column must hold numbers, texts or dates, got"):
        Local().count(plan, pa.table({"x": ["a"] * 4, "u": users}))


def test_no_rows() -> None:
    assert user_keys(pa.chunked_array([], pa.string()), "u").size == 0
    assert np.array_equal(user_keys(pa.array(["a", None, "a"]), "u"), [0, -1, 0])
