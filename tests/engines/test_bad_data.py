"""Data that are refused: in one sentence, which shows no value of any user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from shuffledp.engines.local import Local
from shuffledp.engines.reading import readable
from shuffledp.errors import ParameterError

SECRET = "Jane O'Neill, HIV+"


def plan(**more: Any) -> sdp.Plan:
    query = sdp.queries.Histogram(column="x", labels=["a", 1], mechanism="grr:eps0=2")
    return sdp.Plan(query=query, users=2, minimum_batch=1, delta=1e-6, **more)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n" + "1,2\n" * 400_000 + f'"{SECRET}",3\n', ""),
        (f"x,y\n1,2\n{SECRET},3,4\n", "Expected 2 columns, got"),
        (f'x,y\n1,2\n"{SECRET}\n', ""),
    ],
)
def test_a_bad_line_of_a_csv_file_is_not_quoted(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    try:
        Local().count(plan(), path)
    except ParameterError as error:
        shown = str(error)
        assert said in shown and not any(word in shown for word in ("Jane", "Neill", "HIV"))
    else:
        assert not said


@pytest.mark.parametrize(
    "reason",
    [
        f'Could not convert "{SECRET}" with type str: tried to convert to int64',
        f"In CSV column #0: CSV conversion error to int64: invalid value '{SECRET}'",
        f"CSV parse error: Row #3: Expected 2 columns, got 3: {SECRET},3,4",
        f"Failed to parse string: '{SECRET}' as a scalar of type double",
    ],
)
def test_errors_of_arrow_lose_their_quotations(reason: str) -> None:
    with pytest.raises(ParameterError, match="data must be readable") as caught, readable("'d.csv'"):
        raise pa.ArrowInvalid(reason)
    assert not any(word in str(caught.value) for word in ("Jane", "Neill", "HIV"))
    if "#" in reason:
        assert "#" in str(caught.value), "where it is may be said"


def twice(tmp_path: Path, kind: str) -> Any:
    table = pa.Table.from_arrays([pa.array(["a", "a"]), pa.array(["b", "b"])], names=["x", "x"])
    if kind == "table":
        return table
    if kind == "pandas":
        return pd.DataFrame([["a", "b"]], columns=["x", "x"])
    path = tmp_path / f"d.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        path.write_text("x,x\na,b\n")
    return path


@pytest.mark.parametrize("kind", ["table", "pandas", "parquet", "arrow", "csv"])
def test_two_columns_of_one_name(kind: str, tmp_path: Path) -> None:
    said = "data must have one column 'x', got 2 of that name|data must be readable, got .*[Dd]uplicate"
    with pytest.raises(ParameterError, match=said):
        Local().count(plan(), twice(tmp_path, kind))
    with pytest.raises(ParameterError, match=said):
        Local().exact(plan(), twice(tmp_path, kind))


def test_a_folder_is_called_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"data must be a readable file, got .* \(Is a directory\)"):
        Local().count(plan(), tmp_path)
