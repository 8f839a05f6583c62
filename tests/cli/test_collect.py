"""The commands of a collection: privatize, shuffle, estimate and simulate, from files to the statement."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from reference.commands import good, run
from shuffledp.engines import report_files

N = 3000


def refused(*args: object) -> str:
    result = run(*args)
    assert result.exit_code == 2 and result.stdout == "", (result.exit_code, result.output, result.exception)
    said = [line for line in result.stderr.splitlines() if not line.startswith("wrote ")]
    assert len(said) == 1 and said[0].startswith("shuffledp: ") and said[0][-1] in ".?", result.stderr
    return said[0]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    fruit = np.array(["apple", "pear", "kiwi"], dtype=object)[rng.choice(3, N, p=[0.6, 0.3, 0.1])]
    table = pa.table({"fruit": fruit, "wait": rng.gamma(2.0, 8.0, N)})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=1000)
    fruit_query = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=4")
    wait_query = sdp.queries.RangeQuery(column="wait", low=0, high=64, bins=16, mechanism="grr:eps0=4", unit="min")
    sdp.Plan(query=fruit_query, users=N, delta=1e-6, name="Fruit <b>").save(tmp_path / "fruit.json")
    sdp.Plan(query=wait_query, users=N, delta=1e-6).save(tmp_path / "wait.json")
    return tmp_path


@pytest.mark.heavy
def test_quantiles_counts_and_the_largest(home: Path) -> None:
    for name in ("wait", "fruit"):
        good("privatize", home / f"{name}.json", home / "data.parquet", "-o", home / f"{name}.batch")
    wait, fruit = ((home / f"{name}.json", home / f"{name}.batch") for name in ("wait", "fruit"))
    text = good("estimate", *wait, "--fit", "--quantiles", "0.5,0.9", "--plot", home / "q.svg")
    assert "p50: " in text and " min, 95 % from " in text and "p90" in (home / "q.svg").read_text()
    data = json.loads(good("estimate", *wait, "--fit", "--quantiles", "0.5,0.9", "--json"))
    assert data["items"] == ["p50", "p90"] and data["unit"] == "min" and data["shares"] == [0.5, 0.9]
    assert all(a <= b <= c for a, b, c in zip(data["low"], data["value"], data["high"], strict=True))
    data = json.loads(good("estimate", *fruit, "--counts", "--top", 2, "--json"))
    assert data["items"] == ["apple", "pear"] and 1500 < data["value"][0] < 2100
    assert "of 3,000 users" in good("estimate", *fruit)
    simulated = good("simulate", wait[0], home / "data.parquet", "--quantiles", "0.5", "--plot", home / "s.png")
    assert "truth" in simulated and " min, at p50, where " in simulated
    data = json.loads(good("estimate", *fruit, "--round", 50, "--json"))
    assert all(value % 50 == 0 for value in data["value"]) and "to multiples of 50" in data["question"]
    for low, value, high in zip(data["low"], data["value"], data["high"], strict=True):
        assert low <= value - 25 and value + 25 <= high
    data = json.loads(good("estimate", *wait, "--round", 100, "--top", 2, "--json"))
    assert all(value % 100 == 0 for value in data["value"]) and len(data["items"]) == 2
    top = json.loads(good("simulate", fruit[0], home / "data.parquet", "--counts", "--top", 1, "--json"))
    assert top["items"] == ["apple"] and top["truth"][0] == round(top["truth"][0]) > 1500
    assert "must be left out unless the plan asks for ranges" in refused("estimate", *fruit, "--quantiles", "0.5")
    assert "quantiles must be asked alone" in refused("estimate", *wait, "--quantiles", "0.5", "--top", 3)
    assert "quantiles must lie in (0, 1), got 1.5" in refused("estimate", *wait, "--quantiles", "1.5")
    assert "quantiles must be" in refused("estimate", *wait, "--quantiles", "half")
    assert "top must lie in [1, " in refused("estimate", *fruit, "--top", 0)
    assert "step must " in refused("estimate", *fruit, "--round", 0)
    assert "quantiles must be asked alone" in refused("estimate", *wait, "--quantiles", "0.5", "--round", 3)


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_answers_are_added_to_a_table_once(home: Path, end: str) -> None:
    plan, out, table = home / "fruit.json", home / "fruit.batch", home / f"table.{end}"
    good("privatize", plan, home / "data.parquet", "-o", out)
    week = ("estimate", plan, out, "--table", table, "--period", "2026-W14")
    assert f"wrote {table}" in run(*week).stderr
    before = table.read_bytes()
    again = run(*week)
    assert again.exit_code == 0 and f"{table}: holds this answer, nothing was added" in again.stderr
    assert table.read_bytes() == before
    good("privatize", plan, home / "data.parquet", "-o", home / "other.batch")
    other = ("estimate", plan, home / "other.batch", "--table", table, "--period", "2026-W14")
    assert "table must hold one answer for each plan and question and period" in refused(*other)
    assert table.read_bytes() == before
    good(*other[:-1], "2026-W15")
    good(*week, "--counts")
    lines = partial(pd.read_json, lines=True, precise_float=True)
    rows = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lines}[end](table)
    assert rows["period"].tolist() == ["2026-W14"] * 3 + ["2026-W15"] * 3 + ["2026-W14"] * 3
    assert rows["unit"].tolist() == ["share of users"] * 6 + ["users"] * 3
    assert set(rows["plan"]) == {sdp.Plan.load(plan).digest} and set(rows["epsilon"]) == {sdp.Plan.load(plan).epsilon}


def test_a_table_is_refused_before_the_work(home: Path) -> None:
    plan = home / "fruit.json"
    assert "table must end in" in refused("estimate", plan, "none.batch", "--table", "table.xls")
    same = home / "a.svg"
    assert "must be different files" in refused("estimate", plan, "none.batch", "--plot", same, "--report", same)


@pytest.mark.heavy
def test_from_data_to_the_statement(home: Path) -> None:
    plan, out = home / "fruit.json", home / "reports.parquet"
    assert "3,000 users sent 3,000 messages of 1 byte, in random order." in good(
        "privatize", plan, home / "data.parquet", "-o", out
    )
    text = good("estimate", plan, out, "--plot", home / "a.png", "--report", home / "a.html")
    assert "apple" in text and "3,000 users" in text and "-DP, replace-one" in text
    assert (home / "a.png").read_bytes().startswith(b"\x89PNG")
    page = (home / "a.html").read_text()
    assert "<svg" in page and "Fruit &lt;b&gt;" in page and "<b>" not in page and "http-equiv" not in page
    data = json.loads(good("estimate", plan, out, "--json"))
    assert data["items"] == ["apple", "pear", "other"] and data["for_release"] is True
    assert abs(data["value"][0] - 0.6) < 0.1 and data["low"][0] < data["value"][0] < data["high"][0]


@pytest.mark.heavy
def test_batches_are_counted_once_over_several_runs(home: Path) -> None:
    plan, state = home / "fruit.json", home / "state"
    for name in ("one", "two"):
        good("privatize", plan, home / "data.parquet", "-o", home / f"{name}.batch")
        assert json.loads(good("estimate", plan, home / f"{name}.batch", "--state", state, "--json"))["users"] in (
            N,
            2 * N,
        )
    result = run("estimate", plan, home / "one.batch", "--state", state, "--json")
    assert json.loads(result.stdout)["users"] == 2 * N and "counted before, skipped" in result.stderr
    os.utime(state, (1, 1))
    assert json.loads(good("estimate", plan, "--state", state, "--json"))["users"] == 2 * N
    good("estimate", plan, home / "one.batch", "--state", state)
    assert state.stat().st_mtime == 1, "not written again: nothing is new"


def few(home: Path, name: str = "few") -> Path:
    """A batch that is too small for the plan."""
    (home / f"{name}.csv").write_text("fruit\napple\npear\n")
    good("privatize", home / "fruit.json", home / f"{name}.csv", "-o", home / f"{name}.batch")
    return home / f"{name}.batch"


@pytest.mark.heavy
def test_a_batch_that_is_refused_is_not_saved(home: Path) -> None:
    plan, state, large = home / "fruit.json", home / "state", home / "one.batch"
    assert "every batch must have 3,000 users" in refused("estimate", plan, few(home), "--state", state)
    assert not state.exists()
    good("privatize", plan, home / "data.parquet", "-o", large)
    good("estimate", plan, large, "--state", state)
    before = state.read_bytes()
    assert "every batch must have 3,000 users" in refused("estimate", plan, home / "few.batch", "--state", state)
    assert "fit must be left out" in refused("estimate", plan, "--state", state, "--fit")
    assert state.read_bytes() == before and json.loads(good("estimate", plan, "--state", state, "--json"))["users"] == N


@pytest.mark.heavy
def test_a_batch_is_dropped_from_the_state(home: Path) -> None:
    plan, state, large = home / "fruit.json", home / "state", home / "one.batch"
    good("privatize", plan, home / "data.parquet", "-o", large)
    alone = json.loads(good("estimate", plan, large, "--state", state, "--json"))
    both = json.loads(good("estimate", plan, few(home), "--state", state, "--release-early", "--json"))
    (small,) = both["batches"].keys() - alone["batches"].keys()
    assert both["users"] == N + 2 and both["batches"][small] == 2
    assert f"got one of 2 ({small})" in refused("estimate", plan, "--state", state)
    before = state.read_bytes()
    assert "a batch to drop must be one that was counted" in refused(
        "estimate", plan, "--state", state, "--drop", "f" * 32
    )
    assert state.read_bytes() == before
    result = run("estimate", plan, home / "few.batch", "--state", state, "--drop", small, "--json")
    assert json.loads(result.stdout) == alone and f"dropped {small} of 2 users" in result.stderr
    assert "few.batch: dropped, skipped" in result.stderr
    assert json.loads(good("estimate", plan, "--state", state, "--json")) == alone
    (last,) = alone["batches"]
    assert json.loads(good("estimate", plan, "--state", state, "--drop", last, "--json"))["users"] == 0
    assert "an estimate needs a batch" in refused("estimate", plan, "--state", state)
    needs_a_state = run("estimate", plan, large, "--drop", last)
    assert needs_a_state.exit_code == 2 and "--drop needs --state" in needs_a_state.stderr


@pytest.mark.heavy
def test_of_updates_at_the_same_time_none_is_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run comes while one has read the state and not yet saved it: it waits, or its batch would be lost."""
    plan, state = home / "fruit.json", home / "state"
    for name in ("one", "two", "three"):
        good("privatize", plan, home / "data.parquet", "-o", home / f"{name}.batch")
    good("estimate", plan, home / "one.batch", "--state", state)
    other: list[subprocess.Popen[bytes]] = []
    real = report_files.read_reports

    def meanwhile(*args: Any) -> Any:
        command = [sys.executable, "-m", "shuffledp", "estimate", plan, home / "three.batch", "--state", state]
        other.append(subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        with suppress(subprocess.TimeoutExpired):
            other[0].wait(timeout=3)
        return real(*args)

    monkeypatch.setattr(report_files, "read_reports", meanwhile)
    good("estimate", plan, home / "two.batch", "--state", state)
    monkeypatch.undo()
    assert other[0].wait(timeout=120) == 0
    assert json.loads(good("estimate", plan, "--state", state, "--json"))["users"] == 3 * N


@pytest.mark.heavy
def test_shuffle_merges_into_one_batch(home: Path) -> None:
    plan = home / "fruit.json"
    for name in ("one", "two"):
        good("privatize", plan, home / "data.parquet", "-o", home / f"{name}.parquet")
    assert "one batch of 6,000 users" in good(
        "shuffle", plan, home / "one.parquet", home / "two.parquet", "-o", home / "both.parquet"
    )
    assert json.loads(good("estimate", plan, home / "both.parquet", "--json"))["users"] == 2 * N


@pytest.mark.heavy_cases(".parquet")
@pytest.mark.parametrize("suffix", [".batch", ".parquet"])
def test_a_batch_and_what_it_was_made_from_are_not_taken_together(home: Path, suffix: str) -> None:
    plan, a, b, c = home / "fruit.json", *(home / f"{name}{suffix}" for name in "abc")
    good("privatize", plan, home / "data.parquet", "-o", a)
    good("shuffle", plan, a, "-o", b)
    good("shuffle", plan, b, "-o", c)
    out, state = home / "m.batch", home / "state"
    for one, two in ((a, b), (b, a), (a, c), (c, a), (b, c)):
        assert f"{two}: a batch must be merged once, got" in refused("shuffle", plan, one, two, "-o", out)
        assert f"{two}: a batch must be counted once, got" in refused("estimate", plan, one, two)
        assert "its users would count twice" in refused("estimate", plan, one, two, "--state", home / "none")
    assert not out.exists() and not (home / "none").exists()
    good("estimate", plan, c, "--state", state)
    before = state.read_bytes()
    assert "counted once" in refused("estimate", plan, a, "--state", state) and state.read_bytes() == before


@pytest.mark.parametrize("suffix", [".batch", ".parquet"])
def test_a_shuffle_that_cannot_write_leaves_its_input(home: Path, suffix: str) -> None:
    plan, a, out = home / "fruit.json", home / f"a{suffix}", home / "missing" / f"b{suffix}"
    good("privatize", plan, home / "data.parquet", "-o", a)
    assert "must be a file that can be written" in refused("shuffle", plan, a, "-o", out)
    out.parent.mkdir()
    good("shuffle", plan, a, "-o", out)
    assert json.loads(good("estimate", plan, out, "--json"))["users"] == N


@pytest.mark.heavy
def test_ranges_and_their_fit(home: Path) -> None:
    plan = home / "wait.json"
    good("privatize", plan, home / "data.parquet", "-o", home / "r.parquet")
    text = good("estimate", plan, home / "r.parquet", "--fit", "--plot", home / "w.svg")
    assert "0 to 4" in text and (home / "w.svg").read_text().startswith("<?xml")
    assert "fit must be left out" in refused("simulate", home / "fruit.json", home / "data.parquet", "--fit")


@pytest.mark.heavy
def test_simulate_stands_beside_the_truth(home: Path) -> None:
    text = good("simulate", home / "fruit.json", home / "data.parquet", "--seed", "1", "--plot", home / "s.png")
    assert "truth" in text and "predicted" in text and "not private" in text and (home / "s.png").exists()
    one, two = (
        json.loads(good("simulate", home / "wait.json", home / "data.parquet", "--seed", "2", "--json"))
        for _ in range(2)
    )
    assert one == two and 0.3 < one["rmse"] / one["predicted"] < 2.0 and sum(one["truth"]) == pytest.approx(1.0)


def test_released_early_only_by_name(home: Path) -> None:
    small = home / "small.csv"
    small.write_text("fruit\napple\npear\n")
    good("privatize", home / "fruit.json", small, "-o", home / "s.batch")
    assert "every batch must have 3,000 users" in refused("estimate", home / "fruit.json", home / "s.batch")
    assert "RELEASED EARLY" in good("estimate", home / "fruit.json", home / "s.batch", "--release-early")
    assert "must hold 3,000 users" in refused("shuffle", home / "fruit.json", home / "s.batch", "-o", home / "t.batch")


@pytest.mark.heavy
def test_bad_input_is_one_sentence(home: Path) -> None:
    plan, data, out = home / "fruit.json", home / "data.parquet", home / "r.parquet"
    (home / "bad.json").write_text("{")
    (home / "cut.parquet").write_bytes(data.read_bytes()[:500])
    assert "plan must be JSON" in refused("privatize", home / "bad.json", data, "-o", out)
    assert "must be a readable file" in refused("privatize", home / "none.json", data, "-o", out)
    assert "No such file or directory" in refused("privatize", plan, home / "none.parquet", "-o", out)
    assert "data must be readable" in refused("privatize", plan, home / "cut.parquet", "-o", out)
    assert "data must have the column 'wait'" in refused("simulate", home / "wait.json", _only_fruit(home))
    assert "engine must be" in refused("privatize", plan, data, "-o", out, "--engine", "dask")
    assert "must be a readable file" in refused("estimate", plan, home / "none.parquet")
    assert "an estimate needs a batch" in refused("estimate", plan)
    assert "plot must" in refused("estimate", plan, out, "--plot", home / "x.docx")
    good("privatize", plan, data, "-o", out)
    assert "batch must be of this plan" in refused("estimate", home / "wait.json", out)


def _only_fruit(home: Path) -> Path:
    path = home / "fruit.csv"
    path.write_text("fruit\napple\n")
    return path


@pytest.mark.heavy
def test_a_copy_of_a_batch_does_not_help_to_reach_the_minimum(home: Path) -> None:
    plan, one = home / "fruit.json", home / "one.parquet"
    half = home / "half.parquet"
    pq.write_table(pq.read_table(home / "data.parquet").slice(0, N // 2), half)
    good("privatize", plan, half, "-o", one)
    (home / "copy.parquet").write_bytes(one.read_bytes())
    for twice in (home / "copy.parquet", one):
        assert "a batch must be merged once" in refused("shuffle", plan, one, twice, "-o", home / "both.parquet")
    assert not (home / "both.parquet").exists()
    assert "--early" in refused("shuffle", plan, one, "-o", home / "both.parquet")


@pytest.mark.heavy
def test_nothing_that_is_read_is_overwritten(home: Path) -> None:
    plan, data, out = home / "fruit.json", home / "data.parquet", home / "r.parquet"
    good("privatize", plan, data, "-o", out)
    before = {path: path.read_bytes() for path in (plan, data, out)}
    for command in (("privatize", plan, data, "-o", data), ("privatize", plan, data, "-o", plan)):
        assert "out must be a file of its own" in refused(*command)
    for target in (out, plan):
        assert "out must be a file of its own" in refused("shuffle", plan, out, "-o", target)
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.heavy
def test_new_reports_replace_a_file_only_by_name(home: Path) -> None:
    plan, data, out = home / "fruit.json", home / "data.parquet", home / "r.parquet"
    good("privatize", plan, data, "-o", out)
    before = out.read_bytes()
    said = refused("privatize", plan, data, "-o", out)
    assert "out must be a new file" in said and "a second report of the same users" in said and "--overwrite" in said
    assert out.read_bytes() == before
    good("privatize", plan, data, "-o", out, "--overwrite")
    assert out.read_bytes() != before


@pytest.mark.heavy
def test_a_merged_batch_replaces_a_file_only_by_name(home: Path) -> None:
    """The file may be the only one that holds some reports."""
    plan, a, b, out = home / "fruit.json", home / "a.batch", home / "b.batch", home / "m.parquet"
    for part in (a, b):
        good("privatize", plan, home / "data.parquet", "-o", part)
    good("shuffle", plan, a, "-o", out)
    before = out.read_bytes()
    said = refused("shuffle", plan, b, "-o", out)
    assert "out must be a new file" in said and "what is in it would be lost" in said and "--overwrite" in said
    assert out.read_bytes() == before
    good("shuffle", plan, b, "-o", out, "--overwrite")
    assert out.read_bytes() != before


@pytest.mark.parametrize("out", ["", ".", "/", ".."])
def test_a_result_needs_a_name(out: str, home: Path) -> None:
    plan, data = home / "fruit.json", home / "data.parquet"
    assert "out must be the path of a file" in refused("privatize", plan, data, "-o", out)
    assert "out must be the path of a file" in refused("shuffle", plan, data, "-o", out)


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.arrow", "out.PARQUET.gz"])
def test_reports_are_not_written_under_the_name_of_another_format(name: str, home: Path) -> None:
    plan, data = home / "fruit.json", home / "data.parquet"
    assert "out must end in .parquet or .batch" in refused("privatize", plan, data, "-o", home / name)
    good("privatize", plan, data, "-o", home / "r.batch")
    assert "out must end in .parquet or .batch" in refused("shuffle", plan, home / "r.batch", "-o", home / name)
    assert not (home / name).exists() and not list(home.glob("*.parts"))


@pytest.mark.heavy
def test_a_batch_below_the_minimum_is_said_to_be_one(home: Path) -> None:
    plan, small = home / "fruit.json", home / "small.csv"
    small.write_text("fruit\napple\npear\n")
    made = run("privatize", plan, small, "-o", home / "s.batch", "--json")
    assert made.exit_code == 0 and json.loads(made.stdout)["minimum"] == N
    assert "a batch of this plan must have 3,000 users, got 2" in made.stderr
    assert "note" not in run("privatize", plan, home / "data.parquet", "-o", home / "r.batch").stderr


@pytest.mark.heavy
def test_other_slips_of_the_hand(home: Path) -> None:
    plan, data = home / "fruit.json", home / "data.parquet"
    assert "seed must be a whole number of at least 0" in refused("simulate", plan, data, "--seed", "-1")
    assert "data must be a readable file" in refused("simulate", plan, home)
    assert "a collector file must be" in refused("estimate", plan, "--state", data)
    good("privatize", plan, data, "-o", home / "r.batch")
    good("estimate", plan, home / "r.batch", "--state", home / "state")
    state = json.loads((home / "state").read_text())
    del state["checksum"]
    state["batches"] = list(state["batches"])
    text = json.dumps(state, sort_keys=True)
    state["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (home / "state").write_text(json.dumps(state))
    assert "batches of a collector file" in refused("estimate", plan, "--state", home / "state")


def test_a_plan_shows_no_other_file(home: Path) -> None:
    (home / "secret").write_text("root:x:0:0\n")
    plan = json.loads((home / "fruit.json").read_text())
    plan["query"]["mechanism"] = f"finite:{home / 'secret'}"
    (home / "evil.json").write_text(json.dumps(plan))
    said = refused("simulate", home / "evil.json", home / "data.parquet")
    assert "mechanism of a plan" in said and "root" not in said


@pytest.mark.slow_cases("simulate-2026*", "simulate-long*", "simulate-6*", "simulate--1*")
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("2026-01-01", "'wait' may be unreadable as a number or text, got 90 % (9 of 10)"),
        ("long", "'wait' may be unreadable as a number or text, got 90 % (9 of 10)"),
        ('"2,5"', "'wait' may be unreadable as a number or text, got 90 % (9 of 10)"),
        ("NaN", "'wait' may be missing, got 90 % (9 of 10)"),
        ("61000", "'wait' may be clipped above, got 90 % (9 of 10); check the column and its unit"),
        ("-1", "'wait' may be clipped below, got 90 % (9 of 10)"),
    ],
)
@pytest.mark.parametrize("command", ["privatize", "simulate"])
def test_a_wrong_column_is_refused(home: Path, command: str, cell: str, said: str) -> None:
    query = sdp.queries.RangeQuery(column="wait", low=0, high=64, bins=4, missing=0, mechanism="grr:eps0=4")
    sdp.Plan(query=query, users=10, delta=1e-6).save(home / "few.json")
    (home / "d.csv").write_text("wait\n7\n" + f"{cell}\n" * 9)
    more = ("-o", home / "out.batch") if command == "privatize" else ()
    assert said in refused(command, home / "few.json", home / "d.csv", *more)
    assert not list(home.glob("out.batch*"))
    result = run(command, home / "few.json", home / "d.csv", *more, "--accept", "--json")
    assert result.exit_code == 0 and "values of 'wait': 10, of which 9 " in result.stderr, result.output
    assert sorted(json.loads(result.stdout)["values"]["wait"].values()) == [0, 0, 0, 0, 9, 10]


@pytest.mark.heavy
def test_the_operator_is_told_what_the_values_are_like(home: Path) -> None:
    result = run("simulate", home / "fruit.json", home / "data.parquet")
    assert result.exit_code == 0 and "values of 'fruit': 3,000, of which 293 unlisted (9.77 %)" in result.stderr
    assert "unlisted" not in result.stdout
    out = run("privatize", home / "wait.json", home / "data.parquet", "-o", home / "w.batch")
    assert "values of 'wait': 3,000, of which " in out.stderr and " clipped above (" in out.stderr
    assert "values of 'wait' are clipped to [0, 64 min]" in good("estimate", home / "wait.json", home / "w.batch")
