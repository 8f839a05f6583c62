"""CSV files have no types: the query says what is a label and what a number, whatever the first rows look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from shuffledp.engines.local import Local
from shuffledp.errors import ParameterError
from shuffledp.queries import Histogram, Mean, SetFrequency
from shuffledp.queries.columns import Written, as_numbers
from shuffledp.queries.domains import Labels


def truth(query: Any, path: Path, **more: Any) -> list[float]:
    return Local().exact(sdp.Plan(query=query, users=100, delta=1e-6, **more), path).value.tolist()


def test_labels_are_texts_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_text('zip,x\n01234,\n10001,\n"10001",\n\nNA,\n')
    query = Histogram(column="zip", labels=["01234", "10001", "NA"], mechanism="grr:eps0=1")
    assert truth(query, path)[:3] == pytest.approx([0.25, 0.5, 0.25])  # a line without anything is no row


@pytest.mark.parametrize(
    "raw", ["zip\n1\n\n2\n", "zip\n1\n\n", "zip\r\n1\r\n \t\r\n2", "\ufeffzip\n1\n ", "zip\r1\r\r2\r"]
)
def test_an_empty_line_in_one_column_may_be_a_user(tmp_path: Path, raw: str) -> None:
    path = tmp_path / "zip.csv"
    query = Histogram(column="zip", labels=["1", "2"], mechanism="grr:eps0=1")
    path.write_text(raw, encoding="utf-8", newline="")
    with pytest.raises(
        ParameterError, match=r'^data of one column must have no empty line, got .*; write "" for such a user'
    ):
        truth(query, path)
    path.write_text('\n\nzip\n1\n""\n2\n2', encoding="utf-8")
    assert truth(query, path) == [0.25, 0.5, 0.25]


@pytest.mark.heavy
@pytest.mark.slow_cases("", "2.5")
@pytest.mark.parametrize("late", ["2.5", "N/A", ""])
def test_a_late_row_that_is_no_whole_number_refuses_nothing(tmp_path: Path, late: str) -> None:
    path, early = tmp_path / "late.csv", 600_000
    path.write_text("x,y\n" + "1,0\n" * early + f"{late},0\n")
    query = Mean(column="x", low=0, high=10, missing=0, mechanism="laplace:eps0=1")
    last = 2.5 if late == "2.5" else 0.0
    assert truth(query, path)[0] == pytest.approx((early + last) / (early + 1), rel=1e-12)
    plan = sdp.Plan(query=query, users=100, delta=1e-6)
    assert Local().count(plan, path).users == early + 1


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("x,y\na,1\n".encode("utf-16"), "must be text in UTF-8, got UTF-16 in"),
        ("x,y\na,1\n".encode("utf-16-be"), "must be text in UTF-8, got UTF-16 in"),
        ("x,gr\u00f6\u00dfe\na,1\n".encode("latin-1"), r"got another encoding, perhaps latin-1 \(Windows-1252\) in"),
        (b"x,y\n" + b"a,1\n" * 300_000 + b"K\xf6ln,2\n", r"got another encoding, perhaps latin-1 \(Windows-1252\) in"),
        (b"x;y\na;1\n", "separated by commas, got semicolons in the first line; save it with commas"),
        (b"x;y;z, total\na;1,5;3,2\n", "separated by commas, got semicolons"),
        (b"x\ty\na\t1\n", "separated by commas, got tabs"),
    ],
    ids=["utf-16", "utf-16-be", "latin-1 name", "late latin-1", "semicolons", "semicolons and commas", "tabs"],
)
def test_another_encoding_or_separator_is_called_by_its_name(raw: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(raw)
    query = Histogram(column="x", labels=["a", "K\u00f6ln"], mechanism="grr:eps0=1")
    with pytest.raises(ParameterError, match=said) as caught:
        truth(query, tmp_path / "t.csv")
    assert not any(word in str(caught.value) for word in ("ln,", "total", "gr"))


def test_a_column_that_is_not_wanted_may_hold_anything(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfx,y\na,K\xf6ln\n\xc3\xb6,1\n")
    assert truth(Histogram(column="x", labels=["a", "\u00f6"], mechanism="grr:eps0=1"), tmp_path / "t.csv") == [
        0.5,
        0.5,
        0.0,
    ]
    (tmp_path / "t.csv").write_text("a;b\n1\n2\n")  # one column of that name
    assert truth(Histogram(column="a;b", labels=[1], mechanism="grr:eps0=1"), tmp_path / "t.csv") == [0.5, 0.5]


def test_a_first_line_of_values_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Jane O'Neill,HIV+\nJoe,none\n")
    with pytest.raises(ParameterError, match="the column 'x', got none of that name in the first line") as caught:
        truth(Histogram(column="x", labels=["a"], mechanism="grr:eps0=1"), tmp_path / "t.csv")
    assert not any(word in str(caught.value) for word in ("Jane", "Neill", "HIV"))


def test_numbers_and_truth_values_are_found_among_labels() -> None:
    column = [Written(text) for text in ("3", "3.0", " 3", "x", "true", "False", "nan")]
    assert Labels((3, True, False)).places(column).tolist() == [0, 0, 0, 3, 1, 2, 3]
    assert Labels(("3", 3)).places(column).tolist() == [0, 1, 1, 2, 2, 2, 2], "the text comes first"
    assert as_numbers(["3", Written("3"), "2,5"])[:2].tolist() == [3.0, 3.0]


def test_lists_and_users_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("user,items\n7,1|2\n7,1|2\n8,2\n")
    query = SetFrequency(column="items", labels=[1, 2], size=2, separator="|", mechanism="privset:eps0=1")
    assert truth(query, path, user_column="user") == pytest.approx([0.5, 1.0])
