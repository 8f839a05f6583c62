"""One chain: a programme becomes plans, a check, answers with units beside the truth, pictures and one statement."""

from __future__ import annotations

import json
import math
import pickle
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.places import ROOT
from shuffledp.engines.base import engine
from shuffledp.engines.local import Local
from shuffledp.protocol.simulation import SimulatedQuantiles, simulated

EXAMPLES = ROOT / "examples"
N = 20_000
ASKED: dict[str, Any] = {
    "version": 1,
    "name": "small <b>",
    "population": {"users": N, "dropouts": "5%"},
    "target": {"epsilon": 1, "delta": "1e-6", "per": "quarter"},
    "rounds": [
        {"name": "Fruit", "task": "histogram", "column": "fruit", "labels": ["apple", "pear"], "count": 3},
        {"name": "Wait", "task": "quantile", "column": "wait", "high": 60, "unit": "min", "bins": 30, "missing": 0},
        {"name": "Session", "task": "mean", "column": "session", "high": 120, "unit": "min", "missing": 0},
    ],
}


def good(*args: object) -> str:
    result = run(*map(str, args))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def no(*args: object) -> str:
    return refused(run(*map(str, args)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("chain")
    (home / "p.yaml").write_text(json.dumps({**ASKED, "plans": "plans"}), "utf-8")
    sdp.calibrate_programme(home / "p.yaml").save_plans(home / "plans")
    rng = np.random.default_rng(5)
    columns = {"wait": rng.gamma(2.0, 6.0, N), "session": rng.gamma(2.0, 11.0, N)}
    columns["fruit"] = np.array(["apple", "pear", "fig"], dtype=object)[rng.choice(3, N, p=[0.6, 0.3, 0.1])]
    pq.write_table(pa.table(columns), home / "data.parquet")
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture(scope="module")
def checked(made: Path) -> sdp.Check:
    return sdp.check(made / "plans")


# -- quantiles that a plan is about -----------------------------------------------------------------------------------


def test_declared_quantiles_are_shown_in_place_of_bins(home: Path) -> None:
    plan, data, out = home / "plans" / "wait.json", home / "data.parquet", home / "wait.batch"
    assert sdp.Plan.load(plan).query.to_dict()["quantiles"] == [0.5, 0.95, 0.99]
    good("privatize", plan, data, "-o", out)
    for command in (("estimate", plan, out), ("simulate", plan, data)):
        assert json.loads(good(*command, "--json"))["items"] == ["p50", "p95", "p99"]
        assert len(json.loads(good(*command, "--counts", "--json"))["items"]) == 30
    assert len(json.loads(good("estimate", plan, out, "--top", 4, "--json"))["items"]) == 4
    assert json.loads(good("simulate", plan, data, "--quantiles", "0.25", "--json"))["items"] == ["p25"]
    text = good("estimate", plan, out, "--plot", home / "w.svg")
    assert "p99: " in text and " min, 95 % from " in text and "0 to 2 min" not in text
    assert "p99: " in (home / "w.svg").read_text()
    answer = sdp.Collector(plan)
    answer.ingest(out)
    assert answer.estimate().quantiles().labels == ["p50", "p95", "p99"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("quantiles", "words"),
    [
        ([0.5, 1.0], "quantiles must lie in (0, 1), got 1"),
        (["half"], "quantiles must be a"),
        ("0.5", "quantiles must be a list of shares, got '0.5'; write [0.5, 0.99]."),
        (0.5, "quantiles must be a list of shares, got 0.5; write [0.5, 0.99]."),
        (None, "quantiles must be a list of shares, got None"),
        ([0.001 * i for i in range(1, 1000)] + [0.0005, 0.0006], "quantiles must be 1 to 1,000 shares, got 1,001"),
    ],
)
def test_bad_quantiles(quantiles: Any, words: str) -> None:
    asked: Any = {"column": "wait", "low": 0, "high": 1, "bins": 4, "mechanism": "grr:eps0=2"}
    with pytest.raises(sdp.ParameterError) as caught:
        sdp.queries.RangeQuery(**asked, quantiles=quantiles)
    assert words in str(caught.value)
    with pytest.raises(sdp.ParameterError, match="1 to 1,000 shares, got 0"):
        sdp.queries.RangeQuery(**asked).exact([np.zeros(3)]).quantiles()
    assert sdp.queries.RangeQuery(**asked, quantiles=[0.5, 0.9, 0.5]).quantiles == (0.5, 0.9)


# -- a folder of plans on data ----------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_folder_is_simulated_in_the_units_of_its_questions(home: Path) -> None:
    text = good("simulate", home / "plans", home / "data.parquet", "--seed", 3, "--plot", home / "pictures")
    fruit, wait, session, last = (block.split("\n  ") for block in text.strip().split("\n\n"))
    assert (fruit[0], wait[0], session[0]) == ("Fruit", "Wait", "Session")
    assert fruit[1].startswith("apple: 1") and " users, 95 % from " in fruit[1] and "the truth is 1" in fruit[1]
    assert f" of {N:,} users (" in fruit[-1] and "predicted" in fruit[-1]
    assert [line[:5] for line in wait[1:]] == ["p50: ", "p95: ", "p99: "]
    assert all(line.count(" min") == 4 and "; the truth is " in line and "predicted" in line for line in wait[1:])
    assert session[1].startswith("session: ") and " min, predicted " in session[2]
    assert last == ["The truth is shown: this output is not private."]
    assert sorted(path.name for path in (home / "pictures").iterdir()) == ["fruit.png", "session.png", "wait.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in (home / "pictures").iterdir())


def test_the_numbers_of_a_folder_are_those_of_its_plans(home: Path) -> None:
    data = json.loads(good("simulate", home / "plans", home / "data.parquet", "--seed", 3, "--json"))["plans"]
    assert list(data) == ["fruit.json", "wait.json", "session.json"]
    alone = json.loads(good("simulate", home / "plans" / "fruit.json", home / "data.parquet", "--seed", 3, "--json"))
    assert {**alone, "name": "Fruit"} == data["fruit.json"]
    session = data["session.json"]
    truth = float(pq.read_table(home / "data.parquet").column("session").to_numpy().clip(0, 120).mean())
    assert session["truth"] == pytest.approx([truth]) and session["unit"] == "min"
    assert abs(session["value"][0] - truth) < 5 * session["predicted"]
    assert all(one["values"] and one["words"] for one in data.values())


def test_other_sizes_than_the_plans_are_noted(home: Path) -> None:
    pq.write_table(pq.read_table(home / "data.parquet").slice(0, N // 4), home / "few.parquet")
    result = run("simulate", str(home / "plans"), str(home / "few.parquet"))
    assert result.stderr.count("note: ") == 1 and "errors about 2 times smaller" in result.stderr


@pytest.mark.heavy
def test_what_a_folder_refuses(home: Path) -> None:
    plans, data = home / "plans", home / "data.parquet"
    for view in (["--counts"], ["--top", 2], ["--fit"], ["--quantiles", 0.5]):
        said = no("simulate", plans, data, *view)
        assert f"{str(view[0])[2:]} must be left out for a folder of plans, whose questions differ" in said
    assert "plot must be a folder" in no("simulate", plans, data, "--plot", home / "a.png")
    table = pq.read_table(data)
    pq.write_table(table.drop_columns(["session"]), home / "less.parquet")
    said = no("simulate", plans, home / "less.parquet", "--plot", home / "new")
    assert "session.json: data must have the column 'session'" in said and not list((home / "new").iterdir())
    assert "plans must be a folder with programme.lock.json" in no("simulate", home, data)
    assert "cannot be used" in no("simulate", plans, data, "--plot", data)
    _edit(plans / "wait.json")
    assert "plans must be as locked, got a folder where wait.json changed" in no("simulate", plans, data)


def _edit(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"name": "', '"name": "new '), "utf-8")


@pytest.mark.slow
def test_predicted_errors_of_quantiles_are_those_that_are_found() -> None:
    """Over 150 repetitions, in the unit; the bins are many, so that an interval does not end at those of a bin."""
    rng = np.random.default_rng(8)
    query = sdp.queries.RangeQuery(
        column="x", low=0, high=10, bins=64, mechanism="grr:eps0=5", unit="s", quantiles=(0.5, 0.9), branching=64
    )
    values = rng.gamma(2.0, 1.0, 20_000)
    bins, truth = query.encode([values]), query.exact([values]).quantiles()
    found = []
    for _ in range(150):
        answer = query.answer(query.randomizer.privatize_counts(bins, rng=rng)).quantiles()
        both = simulated(answer, truth)
        assert isinstance(both, SimulatedQuantiles)
        found.append((both.error, both.predicted, both.covered))
    error, predicted, covered = map(np.array, zip(*found, strict=True))
    assert np.sqrt((error**2).mean(axis=0)) == pytest.approx(predicted.mean(axis=0), rel=0.2)
    assert covered.mean() > 0.9


def test_nothing_found_is_said() -> None:
    none = sdp.Estimate(value=np.zeros(0), stderr=np.zeros(0), n=10, quantity="share of users")
    both = simulated(none, none)
    assert both.words() == ["No item was found."] and (both.rmse, both.predicted, both.covered) == (0.0, 0.0, 1.0)


# -- one statement ----------------------------------------------------------------------------------------------------


def test_one_statement_for_all_questions(home: Path, checked: sdp.Check) -> None:
    found = checked
    said = found.statement(kept="90 days")
    headings = [section.heading for section in said.sections]
    one = sdp.Plan.load(home / "plans" / "wait.json").statement()
    assert headings == [section.heading for section in one.sections]
    text = said.markdown()
    assert "- Fruit, 3 times in every quarter: 20,000 users are asked" in text and "- Session, once in every" in text
    assert "p50, p95, p99 are read" in text and "kept for 90 days." in text
    assert text.count("Every one of them sends one report") == 1 and text.count("A shuffler mixes") == 1
    right = math.ceil(100 / (1 + math.exp(-found.epsilon)))
    assert f"is right at most {right} times out of 100 in all 5 collections of one quarter together." in text
    assert found.epsilon > max(entry.epsilon for entry in found.rounds)
    local = 1 / (1 + math.exp(-found.pure_epsilon))
    assert found.pure_epsilon == pytest.approx(sum(entry.local_epsilon * entry.count for entry in found.rounds))
    assert "almost every time in all 5" in text if local > 0.9999 else True
    assert f"({sdp.round_up(found.epsilon)}, 1e-06)-DP" in said and "Trusted: " in said
    assert "small \\<b\\>" in text and "<b>" not in said.html()
    assert pickle.loads(pickle.dumps(said)).html() == said.html()
    json.dumps(found.to_dict())


def test_statements_of_other_spans(checked: sdp.Check) -> None:
    found = checked
    whole = replace(found, per=None, period_counts=None).statement().markdown()
    assert "in all 5 collections together." in whole and "beyond these 5, is not covered" in whole
    assert "- Fruit, 3 times: " in whole and "quarter" not in whole.partition("## Formally")[0]
    dated = replace(found, period="2026-Q1", period_counts=(1, 1, 0), all_periods_epsilon=2.0).statement().markdown()
    assert "times out of 100 in all 2 collections of one quarter together." in dated
    assert "In all periods together, a guess is right at most 89 times out of 100." in dated
    assert "in all 5 collections together" in dated.partition("## If the shuffler fails")[2]
    few = tuple(replace(entry, participation_limit=2) for entry in found.rounds)
    assert "(each user in at most 2 of them)" in replace(found, rounds=few).statement().markdown()


def test_a_statement_over_the_budget_begins_with_a_warning(checked: sdp.Check) -> None:
    said = replace(checked, within=False, target_epsilon=0.5).statement()
    assert said.sections[0].heading == "Warning" and said.sections[0].texts[0].startswith("OVER BUDGET: small")


@pytest.mark.heavy
def test_the_command_states_folders_and_programmes(home: Path) -> None:
    page, plans = home / "statement.html", home / "plans"
    said = good("statement", plans, "-o", page, "--kept", "90 days", "--json")
    assert page.read_text("utf-8").count("<h2>") == 8
    assert json.loads(said)["statement"].startswith("In every quarter 5 rounds")
    assert good("statement", home / "p.yaml", "--kept", "90 days").startswith("# Privacy statement: small")
    assert "rounds must be left out for a programme" in no("statement", plans, "--rounds", 2)
    (home / "q.yaml").write_text(
        "version: 1\ntarget: {epsilon: 1, delta: 1e-6}\nrounds: [{mechanism: 'grr:eps0=1,d=4', users: 1000}]\n", "utf-8"
    )
    assert "a statement must be asked of the plans that ship" in no("statement", home / "q.yaml")
    _edit(plans / "wait.json")
    assert "as locked, got wait.json changed" in no("statement", plans)


@pytest.mark.heavy
def test_a_statement_needs_a_plan_for_every_round(home: Path) -> None:
    lock = home / "plans" / "programme.lock.json"
    data = json.loads(lock.read_text("utf-8"))
    data["rounds"][0] = {"name": "Fruit", "mechanism": "grr:eps0=1,d=3"}
    lock.write_text(json.dumps(data), "utf-8")
    (home / "plans" / "fruit.json").unlink()
    with pytest.raises(sdp.ParameterError, match="got a round that has no plan: write task and column into it"):
        sdp.check(home / "plans").statement()
    one = sdp.check(home / "plans" / "session.json").statement().markdown()
    assert "- session, once: " in one.lower() and "beyond this one, is not covered" in one


# -- five commands ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_five_commands(tmp_path: Path) -> None:
    """The example as a newcomer runs it, on 100,000 rows."""
    for name in ("programme.yaml", "models.txt"):
        shutil.copy(EXAMPLES / name, tmp_path)
    rows, rng = 100_000, np.random.default_rng(1)
    models = (tmp_path / "models.txt").read_text("utf-8").split("\n")[:-1]
    crash = np.where(rng.random(rows) < 0.05, rng.choice(np.array(models), rows), "none")
    screen = rng.choice(np.array(["home", "search", "cart", "help"]), rows)
    numbers = {"latency": rng.lognormal(1.0, 0.9, rows), "session": rng.gamma(2.0, 11.0, rows)}
    pq.write_table(pa.table({"screen": screen, "crash_model": crash, **numbers}), tmp_path / "quarter.parquet")
    programme, plans, data = (tmp_path / name for name in ("programme.yaml", "plans", "quarter.parquet"))
    start = time.process_time()
    good("calibrate", "--programme", programme, "--plans", plans)
    assert "WITHIN BUDGET" in good("check", programme)
    text = good("simulate", plans, data, "--plot", tmp_path / "pictures")
    good("statement", plans, "-o", tmp_path / "statement.html")
    assert time.process_time() - start < 60.0
    assert text.count("predicted") == 6 and len(list((tmp_path / "pictures").iterdir())) == 4
    good("privatize", plans / "latency.json", data, "-o", tmp_path / "latency.batch")
    answered = good("estimate", plans / "latency.json", tmp_path / "latency.batch", "--release-early")
    assert "p99: " in answered and " s, 95 % from " in answered
    _edit(plans / "latency.json")
    changed = run("check", str(programme))
    assert changed.exit_code == 1 and "latency.json changed" in changed.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["screens", "session", "latency"])
def test_predicted_against_found(name: str) -> None:
    """The plans of the example on 100,000 rows, 60 times."""
    plan, rng = sdp.Plan.load(EXAMPLES / "plans" / f"{name}.json"), np.random.default_rng(2)
    numbers = {"latency": rng.lognormal(1.0, 0.9, 100_000), "session": rng.gamma(2.0, 11.0, 100_000)}
    data = pa.table({"screen": rng.choice(np.array(["home", "search", "cart"]), 100_000), **numbers})
    truth, found = Local().exact(plan, data), []
    for _ in range(60):
        answer = engine("local").count(plan, data, rng=rng).estimate(release_early=True)
        found.append((answer.value - truth.value, answer.stderr))
    error, predicted = map(np.array, zip(*found, strict=True))
    ratio = np.sqrt((error**2).mean() / (predicted**2).mean())
    assert abs(ratio - 1.0) < (0.3 if name == "session" else 0.1)


@pytest.mark.heavy
def test_a_number_may_be_spelled_in_another_way_and_a_label_may_not(tmp_path: Path) -> None:
    """Plans of a dictionary with numbers are those of the file with the same ones; "1e3" and "1000" are two labels."""
    asked = {"name": "a", "task": "histogram", "column": "x", "labels": ["1e3", "b"], "users": 100_000}
    made = {"version": 1, "target": {"epsilon": 1, "delta": 1e-8}, "rounds": [asked]}
    sdp.calibrate_programme(made).save_plans(tmp_path / "plans")
    text = (
        "version: 1\nplans: plans\ntarget: {epsilon: 1.0, delta: 1e-8}\n"
        "rounds: [{name: a, task: histogram, column: x, labels: ['1e3', b], users: 100_000}]\n"
    )
    file = tmp_path / "p.yaml"
    file.write_text(text)
    assert sdp.check(file).within
    file.write_text(text.replace("1e3", "1000"))
    assert "p.yaml changed after the plans were calibrated" in str(sdp.check(file))
