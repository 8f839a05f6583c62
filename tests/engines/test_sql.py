"""Reports that are counted elsewhere: by SQL in DuckDB, Spark and (transpiled) BigQuery, and as frames in memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from shuffledp.engines.base import engine
from shuffledp.engines.report_files import read_reports
from shuffledp.protocol.batch import Header

N = 400
Rows = list[tuple[int, int, int]]


def labeled(mechanism: str, d: int) -> sdp.queries.Histogram:
    return sdp.queries.Histogram(column="x", labels=list(range(d - 1)), mechanism=mechanism)


def mean(mechanism: str) -> sdp.queries.Mean:
    return sdp.queries.Mean(column="x", low=0, high=10, missing=0, mechanism=mechanism)


#: Every way of counting: a GROUP BY of one and of two bytes, bits, members, sums of signed numbers of two, four and
#: eight bytes, one question of several, several messages, and what counts less than the codec does.
CASES: dict[str, Callable[[], Any]] = {
    "category": lambda: labeled("grr:eps0=2", 6),
    "wide category": lambda: labeled("hadamard:eps0=2", 300),
    "bits": lambda: labeled("unary:eps0=2", 11),
    "members": lambda: sdp.queries.RangeQuery(
        column="x", low=0, high=10, bins=64, missing=0, branching=64, mechanism="subset:eps0=3.3"
    ),
    "wide members": lambda: labeled("subset:eps0=5", 400),
    "bits of sets": lambda: labeled("subset:eps0=0.5", 20),
    "questions": lambda: sdp.queries.RangeQuery(
        column="x", low=0, high=10, bins=64, missing=0, branching=4, mechanism="subset:eps0=2"
    ),
    "marginals": lambda: sdp.queries.Marginals(labels={"x": [0, 1], "y": [2, 3], "z": [4]}, mechanism="grr:eps0=2"),
    "short numbers": lambda: mean("laplace:eps0=9"),
    "numbers": lambda: mean("laplace:eps0=0.01"),
    "long numbers": lambda: mean("laplace:eps0=1e-6"),
    "vector of bits": lambda: mean("duchi:eps0=1"),
    "messages": lambda: labeled("pure-dump:messages=2", 6),
    "messages of bits": lambda: labeled("cheu-zhilyaev:messages=1,flip=0.1", 11),
    "ones": lambda: sdp.queries.Histogram(column="x", labels=[0, 1], other=1, mechanism="balcer-coin:messages=1"),
    "nothing but messages": lambda: mean("poisson-sum:units=8,poisson=3"),
}


@cache
def collected(case: str) -> tuple[sdp.Plan, Header, bytes]:
    """A plan, and a file of its reports."""
    query = CASES[case]()
    plan = sdp.Plan(query=query, users=N, delta=1e-6, minimum_batch=1)
    values = np.random.default_rng(1).integers(0, 10, N)
    path = Path("reports.parquet").resolve()
    header = engine("local").privatize(plan, pa.table(dict.fromkeys(query.columns, values)), path, accept=True)
    data = path.read_bytes()
    path.unlink()
    return plan, header, data


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(case: str) -> tuple[sdp.Plan, Header, Path]:
    plan, header, data = collected(case)
    path = Path("reports.parquet")
    path.write_bytes(data)
    return plan, header, path


def plain(counts: Any) -> Any:
    """Numbers in lists, also where tallies are nested."""
    return [plain(x) for x in counts] if isinstance(counts, np.ndarray) and counts.ndim else int(counts)


def sums(collector: sdp.Collector) -> Any:
    return plain(collector._tally.counts)  # type: ignore[union-attr]


def counted(plan: sdp.Plan, header: Header, rows: Any) -> sdp.Collector:
    collector = sdp.Collector(plan)
    collector.ingest_counts(header.id, header.users, rows, for_release=header.for_release)
    return collector


def by_file(plan: sdp.Plan, path: Path) -> sdp.Collector:
    collector = sdp.Collector(plan)
    collector.ingest(read_reports(path, plan))
    return collector


def in_duckdb(text: str) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        return connection.execute(text).fetchall()


def in_bigquery(text: str) -> Any:
    """An independent parser of GoogleSQL reads it and writes it anew for DuckDB, which lacks two functions on bytes."""
    import duckdb
    import sqlglot

    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO substring(x, start, many) AS ARRAY_SLICE(x, start, start + many - 1)")
        connection.execute(
            "CREATE MACRO to_code_points(x) AS "
            "[CAST('0x' || HEX(ARRAY_SLICE(x, i, i)) AS BIGINT) FOR i IN RANGE(1, OCTET_LENGTH(x) + 1)]"
        )
        connection.execute("CREATE TABLE reports AS SELECT * FROM 'reports.parquet'")
        (same,) = sqlglot.transpile(text, read="bigquery", write="duckdb")
        return connection.execute(same).fetchall()


# -- the same counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_duckdb_counts_what_the_collector_counts(case: str) -> None:
    plan, header, path = written(case)
    rows = in_duckdb(plan.count_sql("duckdb", table="'reports.parquet'"))
    found, known = counted(plan, header, rows), by_file(plan, path)
    assert sums(found) == sums(known) and found.users == N
    assert found.estimate().value.tolist() == known.estimate().value.tolist()
    assert found.estimate().for_release is True


@pytest.mark.parametrize("case", CASES)
def test_so_does_standard_sql(case: str) -> None:
    plan, header, path = written(case)
    assert plan.count_sql("bigquery") == plan.count_sql("standard")
    assert sums(counted(plan, header, in_bigquery(plan.count_sql("standard")))) == sums(by_file(plan, path))


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_so_does_spark(case: str, cluster: Any) -> None:
    plan, header, path = written(case)
    cluster.read.parquet(str(path.resolve())).createOrReplaceTempView("reports")
    found = cluster.sql(plan.count_sql("spark"))
    rows = found.toArrow() if case == "category" else found.collect()
    assert sums(counted(plan, header, rows)) == sums(by_file(plan, path))


def test_counts_by_hand() -> None:
    """Six messages whose counts are known without any codec of the library."""
    import duckdb

    plan = sdp.Plan(query=labeled("grr:eps0=2", 300), users=6, delta=1e-6)
    messages = pd.DataFrame({"bytes": [x.to_bytes(2, "little") for x in (0, 299, 258, 1, 258, 258)]})
    with duckdb.connect() as connection:
        connection.register("sdp_messages", messages)  # a table may have the name of a step
        rows = connection.execute(plan.count_sql("duckdb", table="sdp_messages", column="bytes")).fetchall()
    assert sorted(rows) == [(-1, -1, 0), (0, -1, 6), (0, 0, 1), (0, 1, 1), (0, 258, 3), (0, 299, 1)]


@pytest.mark.heavy
def test_the_result_may_be_a_frame() -> None:
    import polars

    plan, header, path = written("questions")
    rows = in_duckdb(plan.count_sql("duckdb", table="'reports.parquet'"))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("part", "code", "n"))}
    table = pa.table({**columns, "day": ["Monday"] * len(rows)})
    decimal = table.set_column(2, "n", table["n"].cast(pa.decimal128(38, 0)))  # as sums of some databases
    for frame in (table, decimal, pd.DataFrame(columns), polars.DataFrame(columns), [list(row) for row in rows]):
        assert sums(counted(plan, header, frame)) == sums(by_file(plan, path))


# -- frames of reports ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["wide category", "bits", "questions", "messages", "numbers"])
def test_frames_are_counted_where_they_are(case: str) -> None:
    import polars

    plan, header, path = written(case)
    table = pq.read_table(path)
    bare = table.replace_schema_metadata(None)
    binary = bare.cast(pa.schema([("message", pa.binary())]))
    coded = pa.table({"message": binary["message"].dictionary_encode()})
    pieces = pa.concat_tables([binary.slice(0, 7), bare.slice(0, 0).cast(binary.schema), binary.slice(7)])
    both = pa.table({"day": ["x"] * len(bare), "message": bare["message"]})
    for frame in (
        bare,
        binary,
        coded,
        pieces,
        both,
        bare.to_pandas(),
        polars.read_parquet(path),
        polars.from_arrow(binary),
    ):
        collector = sdp.Collector(plan)
        new = [collector.ingest_frame(frame, batch=header.id, users=N) for _ in range(2)]
        assert new == [True, False] and collector.users == N
        assert sums(collector) == sums(by_file(plan, path))
    collector = sdp.Collector(plan)
    new = [collector.ingest_frame(table), collector.ingest(read_reports(path, plan))]
    assert new == [True, False] and collector.batches == {header.id: N}  # Arrow keeps the header
    assert collector.estimate().for_release is True


def test_no_message_becomes_an_object() -> None:
    """A million messages within the time and memory that counting them in numpy takes."""
    import tracemalloc

    plan = sdp.Plan(query=labeled("grr:eps0=2", 6), users=1_000_000, delta=1e-6)
    raw = np.random.default_rng(1).integers(0, 6, 1_000_000, dtype=np.uint8)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(1), len(raw), [None, pa.py_buffer(raw)])
    tracemalloc.start()
    try:
        collector = sdp.Collector(plan)
        collector.ingest_frame(pa.table({"message": column}), batch="0" * 32, users=1_000_000)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sums(collector) == np.bincount(raw).tolist()
    assert most < 16_000_000  # a list of them would take more


def test_what_is_refused_of_frames() -> None:
    plan, header, path = written("bits")
    table = pq.read_table(path)
    bare = table.replace_schema_metadata(None)
    other = sdp.Plan(query=labeled("unary:eps0=1", 11), users=N, delta=1e-6)

    def no(words: str, frame: Any, *, of: sdp.Plan = plan, **more: Any) -> None:
        collector = sdp.Collector(of)
        with pytest.raises(sdp.ParameterError, match=re.escape(words)):
            collector.ingest_frame(frame, **more)
        assert not collector.batches and not collector._sums

    stated = {"batch": header.id, "users": N}
    no("batch must be of this plan", table, of=other)
    no("batch must be what the header says", table, batch="0" * 32)
    no("users must be what the header says, 400, got 5", table, users=5)
    no("a batch of 400 users must hold 400 messages, got 399", table.slice(1))
    no("batch must be the id in the header of the batch, 32 hexadecimal digits, got None", bare)
    no("got 'monday'; state it", bare, batch="monday", users=N)
    no("users must be a number, got None", bare, batch=header.id)
    no("a batch of 401 users must hold 401 messages", bare, batch=header.id, users=401)
    no("a batch of 400 users must hold 400 messages, got 0", bare.slice(0, 0), **stated)
    no("frame must have one column 'message', got 'x'", pa.table({"x": bare["message"]}), **stated)
    twice = pa.Table.from_arrays([bare["message"]] * 2, names=["message"] * 2)
    no("frame must have one column 'message', got 'message', 'message'", twice, **stated)
    no("must be 2 bytes each, got those of 1", pa.table({"message": pa.array([b"a"], pa.binary(1))}), **stated)
    no("must be 2 bytes each, got some of another length", pd.DataFrame({"message": [b"ab", b"a"]}), **stated)
    no("must be 2 bytes each, got 1 missing ones", pa.table({"message": pa.array([b"ab", None])}), **stated)
    no("must be 2 bytes each, got int64", pd.DataFrame({"message": [1, 2]}), **stated)
    no("frame must be readable by Arrow", pd.DataFrame({"message": [b"ab", 1]}), **stated)
    no("frame must be a pandas, polars or Arrow table, got list", [b"ab"], **stated)
    category = sdp.Plan(query=labeled("grr:eps0=2", 6), users=2, delta=1e-6)
    no(
        "reports must be what privatize of grr",
        pd.DataFrame({"message": [b"\0", b"\6"]}),
        of=category,
        batch="0" * 32,
        users=2,
    )


# -- what is refused of counts ----------------------------------------------------------------------------------------


GRR = sdp.Plan(query=labeled("grr:eps0=2", 3), users=5, delta=1e-6)
GOOD: Rows = [(-1, -1, 0), (0, -1, 5), (0, 0, 2), (0, 2, 3)]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*GOOD[:3], (0, 3, 3)], "counts must have codes from 0 to 2, got 3; count reports of this plan only."),
        ([*GOOD[:3], (0, -2, 3)], "codes from 0 to 2, got -2"),
        ([*GOOD, (1, 0, 1)], "have parts from 0 to 0, got others"),
        ([*GOOD, (-2, 0, 1)], "have parts from 0 to 0, got others"),
        ([*GOOD, (0, 2, 0)], "name every part and code once, got one of them twice; pass the rows of one query"),
        ([*GOOD[:2], (0, 0, -1), (0, 1, 6)], "be from 0 to 5 each, got -1"),
        ([*GOOD[:2], (0, 0, 6), (0, 1, 1)], "be from 0 to 5 each, got 6"),
        ([(0, -1, -5)], "be from 0 to -5 each, got -5"),
        ([*GOOD[:3], (0, 2, 2)], "add up to 5 for 5 messages, got 4; pass all rows of the query"),
        (GOOD[2:], "be from 0 to 0 each, got 2"),
        ([(-1, -1, 2), *GOOD[1:]], "counts must be of messages of 1 bytes, got 2 others; find out who sent them."),
        ([(-1, -1, -2), (-1, -2, 2), *GOOD[1:]], "counts must be of messages of 1 bytes"),
        ([(0, -1, 4), (0, 0, 4)], "a batch of 5 users must hold 5 messages, got 4"),
        ([(0, -1, 2**62), (0, 0, 2**62), (0, 1, 2**62), (0, 2, 2**62)], "add up to 4611686018427387904"),
        ([], "a batch of 5 users must hold 5 messages, got 0"),
        ([(0, 0)], "rows of three whole numbers"),
        ([(0, 0, 1.5)], "rows of three whole numbers"),
        ([(0, 0, 2**63)], "rows of three whole numbers"),
        ([(0, 0, True)], "rows of three whole numbers"),
        (["abc"], "rows of three whole numbers"),
        ("abc", "counts must be a Tally, a frame with part, code and n, or a list of such rows, got str"),
        (pd.DataFrame({"part": [0], "code": [0], "n": [0.5]}), "column 'n' of the counts must hold whole numbers"),
        (pd.DataFrame({"part": [0], "code": [0]}), "frame must have one column 'n', got 'part', 'code'"),
    ],
)
def test_counts_that_no_batch_gives(rows: Any, words: str) -> None:
    collector = sdp.Collector(GRR)
    with pytest.raises(sdp.ParameterError, match=re.escape(words).replace("4611686018427387904", "[0-9,]+")):
        collector.ingest_counts("0" * 32, 5, rows)
    assert not collector.batches and not collector._sums


def test_counts_of_bits_sets_and_numbers_are_limited_too() -> None:
    def no(case: str, rows: Rows, words: str) -> None:
        plan, header, _ = collected(case)
        with pytest.raises(sdp.ParameterError, match=re.escape(words)):
            sdp.Collector(plan).ingest_counts(header.id, N, rows)

    no("bits", [(0, -1, N), (0, 3, N + 1)], "be from 0 to 400 each, got 401")
    no("bits", [(0, -1, N), (0, 11, 1)], "codes from 0 to 10, got 11")  # a bit that only fills up the last byte
    no("bits of sets", [(0, -1, N), (0, 0, N)], "add up to ")
    no("short numbers", [(0, -1, N), (0, 0, -(2**15) * N - 1)], "be from -13,107,200 to 13,106,800 each")
    no("questions", [(0, -1, N - 1), (3, -1, 1)], "have parts from 0 to 2, got others")
    messages, *_ = collected("messages")
    with pytest.raises(sdp.ParameterError, match="must hold 1,200 messages, got 1,199"):
        sdp.Collector(messages).ingest_counts("0" * 32, N, [(0, -1, 1199), (0, 0, 1199)])


def test_counts_come_once_and_can_be_saved() -> None:
    collector = sdp.Collector(GRR)
    new = [collector.ingest_counts("0" * 32, 5, GOOD) for _ in range(2)]
    assert new == [True, False]
    with pytest.raises(sdp.ParameterError, match="an id must be that of one batch"):
        collector.ingest_counts("0" * 32, 4, GOOD)
    with pytest.raises(sdp.ParameterError, match="its users would count twice"):
        collector.ingest_counts("1" * 32, 5, GOOD, made_from=["0" * 32])
    with pytest.raises(sdp.ParameterError, match="batch must be the id in the header of the batch"):
        collector.ingest_counts("monday", 5, GOOD)
    with pytest.raises(sdp.ParameterError, match="users must be a whole number"):
        collector.ingest_counts("2" * 32, 0, GOOD)
    collector.save("state.json")
    again = sdp.Collector.load("state.json", GRR)
    assert sums(again) == sums(collector) == [2, 0, 3] and again.batches == {"0" * 32: 5}
    assert again.estimate().for_release is None


def test_a_tally_of_another_mechanism_is_refused() -> None:
    m, other = GRR.query.randomizer, sdp.GRR(eps0=1.0, d=3)
    for tally in (other.tally(other.privatize([0] * 5)), m.tally(m.privatize([0] * 4))):
        with pytest.raises(sdp.ParameterError, match="counts must be of 5 reports of grr:eps0=2,d=3, got those of"):
            sdp.Collector(GRR).ingest_counts("0" * 32, 5, tally)


# -- what is refused of plans -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [labeled("local-hash:eps0=2", 6), labeled("balls-into-bins:special=1,messages=2", 6)])
def test_what_sql_does_not_count(query: Any) -> None:
    plan = sdp.Plan(query=query, users=N, delta=1e-6)
    words = "must be one whose reports GROUP BY, unnest or sums can count, got "
    for refused in (lambda: plan.count_sql("duckdb"), lambda: sdp.Collector(plan).ingest_counts("0" * 32, N, GOOD)):
        with pytest.raises(sdp.ParameterError, match=re.escape(words + query.randomizer.spec)):
            refused()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dialect": "oracle"}, "dialect must be one of duckdb, standard, spark, bigquery, got 'oracle'"),
        ({"table": ""}, "table must be what may follow FROM in one line, got ''"),
        ({"table": "x; DROP TABLE y"}, "table must be what may follow FROM"),
        ({"table": "x -- y"}, "table must be what may follow FROM"),
        ({"table": "x\ny"}, "table must be what may follow FROM"),
        ({"column": "a b"}, "column must be a plain name such as message, got 'a b'"),
    ],
)
def test_bad_words_for_the_text(given: dict[str, str], words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=re.escape(words)):
        GRR.count_sql(**{"dialect": "duckdb", **given})


def test_messages_of_another_length_are_seen() -> None:
    import duckdb

    messages = pd.DataFrame({"message": [b"\0", b"\1", None, b"\0\0", b""]})
    with duckdb.connect() as connection:
        connection.register("reports", messages)
        rows = connection.execute(GRR.count_sql("duckdb")).fetchall()
    assert (-1, -1, 3) in rows and (0, -1, 2) in rows
    with pytest.raises(sdp.ParameterError, match="messages of 1 bytes, got 3 others"):
        sdp.Collector(GRR).ingest_counts("0" * 32, 5, rows)
