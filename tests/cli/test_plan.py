"""The command plan: table, JSON, files, and a plan that the other commands run."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import shuffledp as sdp
from reference import commands

ASK = ("plan", "histogram", "--n", "2000", "--d", "3", "--epsilon", "1", "--delta", "1e-6")


run, good = partial(commands.run, columns=100), partial(commands.good, columns=100)


@pytest.mark.heavy
def test_a_table_and_a_sentence() -> None:
    text = good(*ASK)
    assert "pure-dump" in text and "local eps" in text and "central model" in text.lower() and "1e-06)-DP" in text


@pytest.mark.slow
def test_json_is_the_result() -> None:
    data = json.loads(good(*ASK, "--json"))
    found = sdp.recommend("histogram", n=2000, d=3, epsilon=1.0, delta=1e-6)
    assert data == found.to_dict()


@pytest.mark.slow
def test_from_the_plan_to_the_answer(tmp_path: Path) -> None:
    plan, data, out, batch = (tmp_path / name for name in ("plan.json", "v.csv", "r.parquet", "s.parquet"))
    labels = tmp_path / "labels.txt"
    labels.write_text("apple\n\npear\nother\n", encoding="utf-8")
    files = ("--save", plan, "--plot", tmp_path / "p.svg", "--report", tmp_path / "r.html")
    good(*ASK, *files, "--column", "fruit", "--labels", labels, "--name", "Fruit")
    data.write_text("fruit\n" + "apple\n" * 1200 + "pear\n" * 500 + "kiwi\n" * 300, encoding="utf-8")
    good("privatize", plan, data, "-o", out)
    good("shuffle", plan, out, "-o", batch)
    answer = json.loads(good("estimate", plan, batch, "--json"))
    assert answer["items"] == ["apple", "pear", "other"] and answer["epsilon"] <= 1.0
    for share, value, stderr in zip((0.6, 0.25, 0.15), answer["value"], answer["stderr"], strict=True):
        assert abs(value - share) < 5 * stderr
    assert (tmp_path / "p.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "Design review" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_another_choice_is_saved(tmp_path: Path) -> None:
    good(*ASK, "--save", tmp_path / "plan.json", "--choose", "grr")
    assert sdp.Plan.load(tmp_path / "plan.json").query.randomizer.name == "grr"


@pytest.mark.heavy
def test_it_says_what_it_saved_and_why(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    done = run(*ASK, "--save", plan)
    assert "saved: mix-dump:d=3" in done.stderr and "of those that keep a local guarantee; its error is" in done.stderr
    saved = sdp.Plan.load(plan).query.randomizer.spec
    assert saved.startswith("mix-dump:")
    assert f"users, {saved} is (" in " ".join(done.stdout.split())  # the first sentence is about what was saved
    done = run(*ASK, "--save", plan, "--allow-no-local", "--json")
    spec = sdp.Plan.load(plan).query.randomizer.spec
    assert spec.startswith("pure-dump:") and "saved: pure-dump:" in done.stderr and "nothing remains" in done.stderr
    assert json.loads(done.stdout)["saved"]["mechanism"] == spec


@pytest.mark.heavy
@pytest.mark.slow_cases("location", "mean", "quantile", "range", "sets", "sum-of-bits")
@pytest.mark.parametrize("task", ["sum-of-bits", "mean", "range", "quantile", "location", "sets", "key-value"])
def test_plans_of_every_task_run(task: str, tmp_path: Path) -> None:
    plan, data = tmp_path / "plan.json", tmp_path / "v.csv"
    sizes = {"sum-of-bits": (), "mean": ()}.get(task, ("--d", "4"))
    more = ("--size", "2") if task in ("sets", "key-value") else ()
    good("plan", task, "--n", "500", "--epsilon", "2", "--delta", "1e-5", *sizes, *more, "--save", plan)
    column = sdp.Plan.load(plan).query.columns[0]
    data.write_text(f"{column}\n" + "1\n0\n" * 250, encoding="utf-8")
    accepted = ("--accept",) if task == "key-value" else ()  # CSV has no pairs
    good("simulate", plan, data, "--seed", "1", *accepted)


@pytest.mark.slow_cases("more4-choice must be one of")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--messages", "x"), "messages must be a number"),
        (("--dropouts", "inf"), "dropouts must be a whole number of users"),
        (("--dropouts", "1.0"), "dropouts must be a whole number of users"),
        (("--error", "0.1"), "exactly one of epsilon and error"),
        (("--choose", "nobody"), "choice must be one of"),
        (("--labels", "/nowhere.txt", "--save", "x.json"), "labels must be"),
        (("--plot", "x.docx"), "plot must end in"),
        (("--save", "x.json", "--report", "x.json"), "must be different files"),
    ],
)
def test_refused_in_one_sentence(more: tuple[str, ...], words: str) -> None:
    result = run(*ASK, *more)
    assert result.exit_code == 2 and result.stdout == "", (result.output, result.exception)
    assert words in result.stderr and "Traceback" not in result.stderr
    assert not Path("x.json").exists()


@pytest.mark.heavy
def test_an_impossible_target_has_the_exit_code_of_targets() -> None:
    result = run(*ASK, "--bits", "1")
    assert result.exit_code == 1 and "no mechanism meets the target" in result.stderr
