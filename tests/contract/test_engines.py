"""Every engine, the same promises: same plan, same call, results of the same law, messages that say nothing more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import shuffledp as sdp
from shuffledp.engines.local import Local
from shuffledp.engines.report_files import read_reports
from shuffledp.errors import ParameterError

#: A budget at which a report is the value itself, but for 1 in 1e15: what is counted can be compared exactly.
CLEAR = "grr:eps0=40"
#: A test fails by chance once in a million runs.
CHANCE = 1e-6
N = 40_000


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "local":
        return Local()
    from shuffledp.engines.spark import Spark

    return Spark(request.getfixturevalue("cluster"))


def asked(labels: list[Any], mechanism: str = CLEAR, users: int = N, **more: Any) -> sdp.Plan:
    query = sdp.queries.Histogram(column="x", labels=labels, mechanism=mechanism)
    return sdp.Plan(query=query, users=users, delta=1e-6, minimum_batch=1, **more)


def held(plan: sdp.Plan, collector: Any) -> list[int]:
    """How many hold each option, where the mechanism is clear."""
    found = collector.estimate(release_early=True)
    return list(np.round(found.value * found.n).astype(int).tolist())


def stored(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=N // 8)
    return path


def test_counts_have_the_law_of_the_mechanism(engine: Any, tmp_path: Path) -> None:
    values = np.full(N, 2)  # all alike, so that the counts are multinomial
    plan = asked([0, 1, 2, 3], "grr:eps0=1")
    found = engine.count(plan, stored(tmp_path / "x.parquet", x=values))
    assert found.users == N and found.ready
    counts = found._tally.counts
    beside = Local().count(plan, pa.table({"x": values}))._tally.counts
    assert stats.chisquare(counts, plan.query.randomizer.probabilities()[2] * N).pvalue > CHANCE
    assert stats.chi2_contingency([counts, beside]).pvalue > CHANCE
    assert found.estimate().for_release is True


QUERIES = {
    "unary": sdp.queries.Histogram(column="x", labels=list(range(16)), mechanism="unary:eps0=2"),
    "several messages": sdp.queries.Histogram(
        column="x", labels=list(range(16)), mechanism="mix-dump:flip=0.1,messages=2.5"
    ),
    "ranges": sdp.queries.RangeQuery(column="x", low=0, high=16, bins=16, mechanism="grr:eps0=2"),
    "mean": sdp.queries.Mean(column="x", low=0, high=15, mechanism="laplace:eps0=1"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_lie_about_the_truth(engine: Any, name: str, tmp_path: Path) -> None:
    values = np.minimum(np.arange(N) % 23, 15)
    plan = sdp.Plan(query=QUERIES[name], users=N, delta=1e-6)
    path, out = stored(tmp_path / "x.parquet", x=values), tmp_path / "reports.parquet"
    truth = Local().exact(plan, path)
    header = engine.privatize(plan, path, out)
    collector = sdp.Collector(plan)
    collector.ingest(read_reports(out, plan))
    assert header.users == collector.users == N
    for found in (engine.count(plan, path).estimate(), collector.estimate()):
        off = (found.value - truth.value) / found.stderr
        assert np.abs(off).max() < 6.0


def test_every_row_sends_whatever_is_in_it(engine: Any, tmp_path: Path) -> None:
    values = ["a", None, "", "elsewhere", "b", "b"] * 1000
    plan = asked(["a", "b"])
    path = stored(tmp_path / "x.parquet", x=values)
    assert held(plan, engine.count(plan, path, accept=True)) == [1000, 2000, 3000]
    assert held(plan, engine.count(plan, pa.table({"x": values}), accept=True)) == [1000, 2000, 3000]
    numbers = pa.table({"x": pa.array([3.0, float("nan"), None, -1e300, 4.0, 3.5] * 1000)})
    plan = asked([3, 4])
    assert held(plan, engine.count(plan, numbers, accept=True)) == [1000, 1000, 4000]


def test_a_csv_file_is_read_alike(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = '"one, two",12\nthree,NA\n"say ""hi""", 7\nfour,\nfive,12\n'
    path.write_text("name,x\n" + rows * 200, encoding="utf-8")
    plan = asked([12, 7])
    assert held(plan, engine.count(plan, path, accept=True)) == [400, 200, 400]
    named = sdp.Plan(
        query=sdp.queries.Histogram(column="name", labels=["one, two", 'say "hi"'], mechanism=CLEAR),
        users=1000,
        delta=1e-6,
    )
    assert held(named, engine.count(named, path, accept=True)) == [200, 200, 600]


@pytest.mark.heavy
def test_values_are_counted_for_the_operator_alone(engine: Any, tmp_path: Path) -> None:
    """Exactly, however the data are divided; too many are refused before anything is written, unless accepted."""
    query = sdp.queries.RangeQuery(column="x", low=0, high=60, bins=4, missing=0, mechanism="grr:eps0=2")
    plan = sdp.Plan(query=query, users=N, delta=1e-6)
    path, out, told = tmp_path / "x.parquet", tmp_path / "out.batch", list[Any]()
    values = ["12", "61.5", "-1", None, "2026-01-01", "2,5", " ", "7e0"] * (N // 8)
    stored(path, x=values, user=np.arange(N) // 2)
    with pytest.raises(ParameterError, match=r"'x' may be missing, got 25 % \(10,000 of 40,000\); .*--accept"):
        engine.privatize(plan, path, out, tell=told.append)
    with pytest.raises(ParameterError, match="'x' may be missing"):
        engine.count(plan, path, tell=told.append)
    assert not told and [found.name for found in tmp_path.iterdir()] == ["x.parquet"]
    engine.privatize(plan, path, out, accept=True, tell=told.append)
    engine.count(plan, path, accept=True, tell=told.append)
    # two reports of every user, one of which has no third row: what fills it up is no value of the data
    several = sdp.Plan(query=query, users=N // 2, delta=1e-6, user_column="user", reports_per_user=3)
    engine.count(several, path, accept=True, tell=told.append)
    kinds = {"values": N, "missing": N // 4, "unreadable": N // 4, "below": N // 8, "above": N // 8, "unlisted": 0}
    assert [found.to_dict() for found in told] == [{"x": kinds}] * 3
    for written in (out.read_bytes()[:2000], json.dumps(plan.to_dict()).encode()):
        assert not any(word in written for word in (b"unreadable", b"unlisted", b"above"))
    open_ = sdp.Plan(
        query=sdp.queries.Mean(column="x", low=0, high=60, mechanism="laplace:eps0=1"), users=N, delta=1e-6
    )
    with pytest.raises(ParameterError, match="missing must be set where a number can be absent, got 10,000 missing"):
        engine.count(open_, path, accept=True)


# -- users with several rows ------------------------------------------------------------------------------------------


def test_a_user_sends_once_however_many_rows_it_has(engine: Any, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(3000)
    person = np.where(np.arange(3000) < 2000, 7, np.arange(3000))[order]  # user 7 has 2,000 rows
    value = np.where(person == 7, "many", "one")
    path = stored(tmp_path / "x.parquet", x=value, user=person)
    plan = asked(["many", "one"], user_column="user")
    found = engine.count(plan, path)
    assert found.users == 1001 and held(plan, found) == [1, 1000, 0]
    both = asked(["many", "one"], user_column="user", reports_per_user=2)
    found = engine.count(both, path)  # those with one row fill up with a missing one
    assert found.users == 1001 and held(both, found) == [2, 1000, 1000]
    header = engine.privatize(both, path, tmp_path / "out.parquet")
    assert (header.users, header.messages) == (1001, 2002)


def test_the_row_is_drawn_uniformly(engine: Any, tmp_path: Path) -> None:
    rows = pa.table({"x": np.tile(np.arange(4), 4000), "user": [f"u{i}" for i in np.repeat(np.arange(4000), 4)]})
    plan = asked([0, 1, 2, 3], user_column="user")
    found = engine.count(plan, rows)
    counts = held(plan, found)
    assert sum(counts) == found.users == 4000
    assert stats.chisquare(counts[:4]).pvalue > CHANCE


def test_rows_without_a_user_are_those_of_one(engine: Any) -> None:
    rows = pa.table({"x": ["a"] * 6, "user": pa.array([1.0, None, float("nan"), None, 0.0, -0.0])})
    assert engine.count(asked(["a"], user_column="user"), rows).users == 3


# -- the messages -----------------------------------------------------------------------------------------------------


def test_reports_carry_nothing_but_the_message(engine: Any, tmp_path: Path) -> None:
    """Two sets of data of equal size give files with the same header, but for the id, and the same layout."""
    plan, layouts, headers = asked(["a", "b"], "unary:eps0=2"), [], []
    for name, values in (("one", ["a"] * 3000), ("two", ["a", None, "a long text that is no label"] * 1000)):
        out = tmp_path / f"{name}.reports.parquet"
        engine.privatize(plan, stored(tmp_path / f"{name}.parquet", x=values), out, accept=True)
        with pq.ParquetFile(out) as file:
            keys = set(file.metadata.metadata)
            headers.append(file.metadata.metadata[b"shuffledp batch 3"])
            columns = [file.metadata.row_group(0).column(i) for i in range(file.metadata.num_columns)]
            layouts.append((keys, [(c.path_in_schema, c.physical_type, c.is_stats_set) for c in columns]))
        batch = read_reports(out, plan)
        assert len(batch.data) == 3000 and batch.data.dtype == np.uint8 and batch.data.shape[1:] == (1,)
        assert not (batch.data & 0b00011111).any()  # three bits, and zeros to fill the byte
    assert layouts[0] == layouts[1] == ({b"shuffledp batch 3", b"shuffledp sha256", b"ARROW:schema"}, layouts[0][1])
    assert layouts[0][1] == [("message", "FIXED_LEN_BYTE_ARRAY", False)]
    shown = [json.loads(text) for text in headers]
    assert shown[0].pop("id") != shown[1].pop("id")
    numbers = {"users": 3000, "messages": 3000, "bytes": 1}
    expected = {"plan": plan.digest, **numbers, "for_release": True, "made_from": []}
    assert shown[0] == shown[1] == expected
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]  # nothing is left beside them


def test_a_second_report_of_everybody_is_refused(engine: Any, tmp_path: Path) -> None:
    plan, out = asked(["a", "b"]), tmp_path / "out.batch"
    path = stored(tmp_path / "x.parquet", x=["a", "b"] * 50)
    first, raw = engine.privatize(plan, path, out), out.read_bytes()
    with pytest.raises(ParameterError, match=f"out must be a new file, .*holds batch {first.id} .*; keep it, because"):
        engine.privatize(plan, path, out)
    assert out.read_bytes() == raw
    assert engine.privatize(plan, path, out, overwrite=True).id != first.id and out.read_bytes() != raw


@pytest.mark.heavy
def test_the_order_says_nothing_about_the_rows(engine: Any, tmp_path: Path) -> None:
    """Where a row stood (in 64 parts) is independent of where its message stands, in the whole batch.

    Shuffling every partition or row group on its own would put the message of a row into the same eighth.
    """
    n = 32_000
    part = np.arange(n) * 64 // n
    plan, out = asked(list(range(64)), users=n), tmp_path / "reports.parquet"
    table = pa.table({"x": part})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=n // 8)
    engine.privatize(plan, tmp_path / "x.parquet", out)
    found = read_reports(out, plan).data.astype(int)
    assert np.array_equal(np.bincount(found), np.bincount(part))
    where = np.zeros((64, 8))
    np.add.at(where, (found, np.arange(n) * 8 // n), 1)
    assert stats.chi2_contingency(where).pvalue > CHANCE
    for gap in (1, 2, 7):  # neighbors are not those of the data
        close = np.abs(found[gap:] - found[:-gap]) <= 1
        chance = (64 + 2 * 63) / 64**2
        assert abs(close.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / n)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_seeded_runs_say_so(engine: Any, tmp_path: Path) -> None:
    rows, plan = pa.table({"x": ["a", "b"] * 500}), asked(["a", "b"], "grr:eps0=1")
    rng = np.random.default_rng
    first, again = (engine.count(plan, rows, rng=rng(3)).estimate() for _ in range(2))
    assert first.for_release is False and np.array_equal(first.value, again.value)
    assert engine.privatize(plan, rows, tmp_path / "out.batch", rng=rng(3)).for_release is False
    with pytest.raises(ParameterError, match="rng must be None"):
        engine.count(plan, rows, rng=3)


def test_a_damaged_file_is_one_sentence(engine: Any, tmp_path: Path) -> None:
    plan = asked(["a", "b"])
    whole = stored(tmp_path / "x.parquet", x=np.random.default_rng(0).choice(["a", "b"], N)).read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: len(whole) // 2])
    inside = tmp_path / "inside.parquet"  # the footer is whole, the first pages are not
    inside.write_bytes(whole[:40] + bytes(200) + whole[240:])
    for path in (cut, inside):
        for call in (lambda p: engine.count(plan, p), lambda p: engine.privatize(plan, p, tmp_path / "out.parquet")):
            with pytest.raises(ParameterError) as caught:
                call(path)
            said = str(caught.value)
            assert "\n" not in said and len(said) < 500 and str(path) in said
    left = {p.name for p in tmp_path.iterdir()}
    assert "out.parquet" not in left and not [x for x in left if x.startswith(".out")]


def test_what_cannot_be_run_is_one_sentence(engine: Any, tmp_path: Path) -> None:
    plan = asked(["a", "b"])
    with pytest.raises(ParameterError, match="No such file or directory"):
        engine.count(plan, tmp_path / "absent.parquet")
    with pytest.raises(ParameterError, match="column 'x'"):
        engine.count(plan, pa.table({"y": [1]}))
    with pytest.raises(ParameterError, match="at least one row"):
        engine.count(plan, pa.table({"x": pa.array([], type=pa.string())}))
    with pytest.raises(ParameterError, match="at least one row"):
        engine.privatize(plan, stored(tmp_path / "none.parquet", x=pa.array([], pa.string())), tmp_path / "o.parquet")
    with pytest.raises(ParameterError, match="column of the users"):
        engine.count(asked(["a"], reports_per_user=2), pa.table({"x": ["a"]}))
    with pytest.raises(ParameterError, match="out must be a file"):
        engine.privatize(plan, pa.table({"x": ["a"]}), tmp_path / "no folder" / "out.parquet")
