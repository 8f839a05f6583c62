"""Rounds that are questions: every task, words and units, opt-in, wanted errors, limits; and plans that are locked."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import shuffledp as sdp
from reference.commands import refused, run
from reference.places import ROOT
from shuffledp._support.reading import PROGRAMME
from shuffledp._support.reading.yaml_text import read_plain
from shuffledp.planning.tasks import TASKS
from shuffledp.programme import plans as locking
from shuffledp.programme import spec
from shuffledp.programme.asking import ASKING

from .test_programme import SCHEMA, with_

EXAMPLES = ROOT / "examples"
MEAN = {"name": "Session", "task": "mean", "column": "session", "high": 60, "unit": "min", "missing": 0}
ONE: dict[str, Any] = {
    "version": 1,
    "name": "small",
    "population": {"users": 20_000, "opt_in": "60%", "dropouts": "5%"},
    "target": {"epsilon": 1, "delta": "1e-6"},
    "rounds": [MEAN],
}
#: One question for every task.
EVERY: dict[str, dict[str, Any]] = {
    "histogram": {"column": "fruit", "labels": ["apple", "pear"]},
    "sum of bits": {"column": "bit"},
    "sets": {"column": "basket", "labels": ["tea", "milk", "bread", "salt"], "size": 2},
    "key-value": {"column": "pairs", "labels": ["a", "b", "c"], "size": 1, "high": 5, "unit": "stars"},
    "location": {"d": 9, "high": 3, "unit": "km"},
    "mean": {"column": "wait", "high": 60, "unit": "min"},
    "vector mean": {"column": ["x", "y"], "dim": 2, "norm": 3},
    "range": {"column": "age", "high": 100, "bins": 10, "missing": "option"},
    "quantile": {"column": "wait", "high": 60, "bins": 12, "unit": "min", "quantiles": ["50%", "0.9"]},
    "marginals": {"labels": {"sex": ["F", "M"], "age": ["young", "old"]}},
    "heavy hitters": {"column": "word", "length": 3},
}


def asking(*rounds: dict[str, Any], **other: Any) -> dict[str, Any]:
    return with_(ONE, rounds=list(rounds), **other)


def said(data: Any, error: type[Exception] = sdp.ParameterError) -> str:
    with pytest.raises(error) as caught:
        sdp.calibrate_programme(data)
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and len(text) < 900, text
    return text


# -- every task ------------------------------------------------------------------------------------------------


def test_every_task_is_tried() -> None:
    assert EVERY.keys() == TASKS.keys()


@pytest.mark.heavy_cases("mean")
@pytest.mark.slow_cases(*(task for task in EVERY if task not in ("histogram", "mean", "quantile")))
@pytest.mark.parametrize("task", EVERY)
def test_every_task_becomes_a_plan_that_runs(task: str, tmp_path: Path) -> None:
    data = asking({"task": task, "name": "It", **EVERY[task]}, population={"users": 4000})
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(data)
    found = sdp.calibrate_programme(data)
    (entry,) = found.rounds
    assert found.check.within and entry.predicted and all(one.error > 0.0 for one in entry.predicted)
    ((name, plan),) = found.plans().items()
    assert name == "it.json" and plan.users == 4000 and plan.delta == 1e-6
    assert plan.query.randomizer.spec == found.check.rounds[0].mechanism or task == "heavy hitters"  # salted
    client = sdp.Client(plan)
    assert client.report(None)
    found.save_plans(tmp_path)
    checked = sdp.check(tmp_path)
    assert checked.within and checked.epsilon == pytest.approx(found.check.epsilon, rel=1e-9)


@pytest.mark.slow
def test_words_reach_the_plan() -> None:
    labels = {"task": "histogram", "column": "fruit", "labels": ["apple", "pear"]}
    plans = sdp.calibrate_programme(
        asking(labels, {**labels, "labels": ["x", "none", "y"], "other": "none", "name": "b"}, MEAN)
    ).plans()
    first, second, third = (plan.query for plan in plans.values())
    assert list(plans) == ["histogram-fruit.json", "b.json", "session.json"]
    assert first.to_dict()["labels"] == ["apple", "pear", "other"] and first.to_dict()["other"] == "other"
    assert second.to_dict()["labels"] == ["x", "none", "y"] and second.to_dict()["other"] == "none"
    assert third.to_dict()["unit"] == "min" and third.to_dict()["missing"] == 0.0
    plan = plans["session.json"]
    assert (plan.users, plan.smallest_batch, plan.name) == (12_000, 11_400, "Session")


@pytest.mark.slow
def test_names_of_files_are_tame_and_differ() -> None:
    rounds = [{**MEAN, "name": name} for name in ("a/../b", "A  b!", "programme.lock", "\u00fc\u00fc")]
    made = sdp.calibrate_programme(asking(*rounds)).plans()
    assert list(made) == ["a-b.json", "a-b-2.json", "programme-lock.json", "round-3.json"]


@pytest.mark.heavy
def test_labels_from_a_file_beside_the_programme(tmp_path: Path) -> None:
    (tmp_path / "fruit.txt").write_text("apple\n\n pear \n", encoding="utf-8")
    path = tmp_path / "p.json"
    path.write_text(json.dumps(asking({"task": "histogram", "column": "f", "labels": "fruit.txt"})), encoding="utf-8")
    found = sdp.calibrate_programme(path)
    assert next(iter(found.plans().values())).query.to_dict()["labels"] == ["apple", "pear", "other"]
    found.save_plans(tmp_path / "plans")
    assert sdp.check(path, plans=tmp_path / "plans").within
    (tmp_path / "fruit.txt").write_text("apple\nplum\n", encoding="utf-8")
    assert "fruit.txt changed after" in str(sdp.check(path, plans=tmp_path / "plans"))


@pytest.mark.parametrize(("share", "users"), [("60%", 12_000), (0.6, 12_000), ("1/3", 6_666), ("100%", 20_000)])
def test_who_opts_in(share: Any, users: int) -> None:
    asked = spec.draft(with_(ONE, population__opt_in=share))
    assert asked.entries[0].crowd.n == users and asked.entries[0].crowd.honest == users - -(-users * 5 // 100)


# -- weights, wanted errors and limits -------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_mean_is_that_of_the_planner() -> None:
    found = sdp.calibrate_programme(asking(MEAN), tol=1e-4)
    direct = sdp.recommend("mean", n=12_000, dropouts=600, high=60, epsilon=1, delta=1e-6, messages=1)
    assert found.rounds[0].mechanism.partition(":")[0] == direct.best.mechanism == "window"
    assert found.rounds[0].error == pytest.approx(direct.best.error, rel=2e-3)
    (one,) = found.rounds[0].predicted
    assert (one.item, one.unit) == ("mean", "min") and one.text in str(found)
    assert one.text in found.table().text()


@pytest.mark.slow
@pytest.mark.parametrize("error", ["0.5 min", "0.5", 0.5])
def test_a_wanted_error_is_met_and_the_rest_is_shared(error: Any) -> None:
    wanted = {**MEAN, "name": "precise", "error": error}
    found = sdp.calibrate_programme(asking(wanted, MEAN))
    first, second = found.rounds
    assert 0.49 <= first.error <= 0.5 and first.weight == 0.0 and first.wanted == str(error)
    assert second.error < first.error and found.check.within and found.check.epsilon > 0.99
    alone = sdp.recommend("mean", n=12_000, dropouts=600, high=60, error=0.5, delta=1e-6, messages=1)
    assert first.epsilon == pytest.approx(alone.best.epsilon, rel=1e-2)


@pytest.mark.heavy
def test_wanted_errors_beyond_the_budget_are_an_answer() -> None:
    text = said(asking({**MEAN, "error": "0.05 min"}), sdp.ImpossibleError)
    assert text.startswith("the wanted errors cannot be had for this budget: they cost eps = ")
    assert "rounds[0]: " in said(asking({**MEAN, "error": "1e-9"}), sdp.ImpossibleError)


@pytest.mark.parametrize(("error", "share"), [("120 users", 0.01), ("120", 0.01), ("1%", 0.01), ("0.01", 0.01)])
def test_wanted_errors_of_shares(error: str, share: float) -> None:
    asked: Any = spec.draft(asking({"task": "histogram", "d": 4, "error": error})).entries[0].open
    assert asked.wanted("error", 12_000) == (True, pytest.approx(share))


@pytest.mark.slow
def test_a_wanted_error_of_quantiles_is_in_their_unit() -> None:
    ask = {"task": "quantile", "column": "w", "high": 60, "unit": "min", "bins": 12, "error": "2 min"}
    found = sdp.calibrate_programme(asking(ask))
    worst = max(one.error for one in found.rounds[0].predicted)
    assert 1.8 <= worst <= 2.0 and found.check.epsilon < 1.0
    assert "fall off exponentially" in str(found)


@pytest.mark.slow
def test_limits_of_a_question() -> None:
    ask = {"task": "histogram", "d": 8}
    local = sdp.calibrate_programme(asking({**ask, "local_epsilon": 1.5}))
    assert sdp.mechanism(local.rounds[0].mechanism).local_epsilon <= 1.5 and local.check.epsilon < 0.5
    several = sdp.calibrate_programme(asking({**ask, "messages": 50}))
    assert several.rounds[0].mechanism.partition(":")[0] in ("pure-dump", "poisson-histogram")
    assert several.rounds[0].error < local.rounds[0].error  # type: ignore[operator]


@pytest.mark.slow
def test_a_question_beside_other_rounds(tmp_path: Path) -> None:
    other = {"name": "open", "mechanism": "grr:d=4"}
    done = {"name": "done", "mechanism": "grr:eps0=1,d=4"}
    found = sdp.calibrate_programme(asking(MEAN, other, done))
    assert [one.name for one in found.rounds] == ["Session", "open"] and found.check.within
    found.save_plans(tmp_path)
    checked = sdp.check(tmp_path)
    assert checked.within and checked.epsilon == found.check.epsilon and len(checked.rounds) == 3
    saved = tmp_path.parent / "saved.yaml"
    found.save(saved)
    assert sdp.check(saved).epsilon == found.check.epsilon


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "labels and d": ({"task": "histogram", "labels": ["a"], "d": 3}, "must have labels or d, got both"),
    "d and bins": ({"task": "range", "bins": 4, "d": 4}, "must have d or bins, got both"),
    "weight and error": ({**MEAN, "weight": 1, "error": 1}, "must have weight or error, got both"),
    "unknown": ({**MEAN, "unknown": "eps0"}, "unknown must be left out beside task"),
    "column alone": ({"mechanism": "grr:eps0=1,d=4", "column": "x"}, "column must be given together with task"),
    "column number": ({**MEAN, "column": 3}, "rounds[0].column must be the name of a column"),
    "labels of a mean": ({**MEAN, "labels": ["a"]}, "d must be left out for the task 'mean'"),
    "no file": ({"task": "histogram", "labels": "/no/such.txt"}, "rounds[0].labels: labels must be a readable file"),
    "labels mapping": ({"task": "histogram", "labels": {}}, "rounds[0]"),
    "column that acts": ({**MEAN, "column": "a\x1b"}, "rounds[0].column must be the name of a column"),
    "labels twice": ({"task": "histogram", "labels": ["a", "a"]}, "labels must be different, got 'a' twice"),
    "labels that act": ({"task": "histogram", "labels": ["a", "\x1b[2K"]}, "labels must be readable text"),
    "other number": ({"task": "histogram", "labels": ["a"], "other": 3}, "other must be a label"),
    "unit": ({**MEAN, "unit": "x" * 50}, "unit must be a short text"),
    "range": ({**MEAN, "low": 70}, "low"),
    "no number": ({**MEAN, "low": "x"}, "rounds[0].low must be a number"),
    "error words": ({**MEAN, "error": "small"}, "rounds[0].error must be a number"),
    "error of none": ({**MEAN, "error": 0}, "rounds[0].error must lie in"),
    "error without unit": ({"task": "quantile", "bins": 4, "error": "0.1"}, "error must name its unit"),
    "messages": ({**MEAN, "messages": 0}, "rounds[0].messages must lie in"),
    "local": ({**MEAN, "local_epsilon": "-1"}, "rounds[0].local_epsilon must lie in"),
    "shape text": ({"task": "quantile", "bins": 4, "shape": {}}, "shape must be a list of weights or the name"),
    "sample and error": (
        {"task": "quantile", "bins": 4, "shape": "s.txt", "error": "1%"},
        "a budget that depends on a sample would reveal something about it",
    ),
    "missing option of a mean": (
        {**MEAN, "missing": "option"},
        "missing must be a number of the range for this task, got 'option': the error of a mean over those who have a "
        "number depends on how many they are, so it cannot be predicted; give a number, ask for quantiles",
    ),
    "subsets": (
        {"task": "marginals", "labels": {"a": ["x"], "b": ["y"]}, "subsets": [["c"]]},
        "lists of columns of a, b",
    ),
    "subsets in subsets": (
        {"task": "marginals", "labels": {"a": ["x"], "b": ["y"]}, "subsets": [[["a"]]]},
        "rounds[0].subsets must be lists of columns of a, b",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_questions(name: str) -> None:
    entry, sentence = BAD[name]
    assert sentence in said(asking(entry))


@pytest.mark.parametrize("share", ["0%", "0", "101%", "2", "-1", "many", True])
def test_bad_opt_in(share: Any) -> None:
    assert "population.opt_in must be a" in said(with_(ONE, population__opt_in=share))


#: What a hand, a merge or a hostile one may write for any key.
ODD: list[Any] = [None, True, 0, -1, 2.5, "", "x", "1e400", "1e-400", "nan", "5%", "60 users", "option", [], [1], ["a"]]
ODD += [[["a"]], [[]], {}, {"a": 1}, {"a": ["x"]}, {"a": "f.txt"}, "a\x00b", 10**30, "9" * 50, [None], ["\ud800"]]
ODD += ["\ud800", {"\ud800": ["a", "b"]}, "1/0", "/dev/zero", "."]


@pytest.mark.heavy
def test_odd_values_give_one_sentence() -> None:
    rng = random.Random(3)
    keys = sorted(ASKING | {"task", "weight", "opt_in"})
    for _ in range(3000):
        task = rng.choice(list(EVERY))
        entry = {"task": task, **EVERY[task], **{rng.choice(keys): rng.choice(ODD) for _ in range(2)}}
        told = ""
        try:
            asked: Any = spec.draft(asking(entry)).entries[0].open
            json.dumps([asked.column, asked.labels, asked.other], ensure_ascii=False).encode("utf-8")
        except sdp.ShuffleDPError as error:
            told = str(error)
        assert "\n" not in told and len(told) < 900, entry


# -- plans and their lock --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> sdp.CalibratedProgramme:
    return sdp.calibrate_programme(asking(MEAN))  # one round: a check of it is quick


@pytest.mark.heavy
def test_the_example_is_checkable_as_it_stands(tmp_path: Path) -> None:
    path = EXAMPLES / "programme.yaml"
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.load(path.read_text(), Loader=yaml.BaseLoader))
    found = sdp.check(path)
    assert isinstance(found, sdp.CheckedPlans) and found.within and found.epsilon <= 1.0
    assert [one.counted for one in found.rounds] == [1_140_000] * 4 and [one.count for one in found.rounds] == [
        13,
        3,
        3,
        13,
    ]
    for name in ("programme.yaml", "models.txt"):
        shutil.copy(EXAMPLES / name, tmp_path)
    shutil.copytree(EXAMPLES / "plans", tmp_path / "plans")
    latency = tmp_path / "plans" / "latency.json"
    latency.write_text(latency.read_text().replace('"bins": 120', '"bins": 121'), encoding="utf-8")
    changed = run("check", str(tmp_path / "programme.yaml"))
    assert changed.exit_code == 1 and "latency.json changed" in changed.output


@pytest.mark.slow
def test_the_example_is_what_is_calibrated(tmp_path: Path) -> None:
    import time

    start = time.process_time()
    found = sdp.calibrate_programme(EXAMPLES / "programme.yaml")
    found.save_plans(tmp_path)
    assert time.process_time() - start < 10.0
    shipped = sdp.check(EXAMPLES / "programme.yaml")
    for ours, theirs in zip(found.check.rounds, shipped.rounds, strict=True):
        assert ours.mechanism.partition(":")[0] == theirs.mechanism.partition(":")[0]
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=1e-3)


def test_writing_again_changes_nothing(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path / "a")
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in (tmp_path / "a").iterdir()}
    again = sdp.calibrate_programme(asking(MEAN))
    again.save_plans(tmp_path / "a")
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in (tmp_path / "a").iterdir()} == before


@pytest.mark.slow
def test_hash_functions_follow_from_the_programme() -> None:
    ask = asking({"task": "heavy hitters", "column": "w", "length": 2})
    one, two = (sdp.calibrate_programme(ask).plans() for _ in range(2))
    other = sdp.calibrate_programme({**ask, "name": "another"}).plans()
    digests = [next(iter(plans.values())).query.to_dict()["mechanism"] for plans in (one, two, other)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.heavy
def test_an_interrupted_writing_is_seen_and_completed(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path)
    (tmp_path / locking.LOCK_NAME).unlink()
    with pytest.raises(sdp.ParameterError, match="without it; write it with shuffledp calibrate"):
        sdp.check(tmp_path)
    small.save_plans(tmp_path)
    assert sdp.check(tmp_path).within
    sdp.calibrate_programme(asking({**MEAN, "name": "other"})).save_plans(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["other.json", locking.LOCK_NAME] and sdp.check(tmp_path).within


def test_folders_of_others_are_refused(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"with 'thesis.txt', which no calibration has written"):
        small.save_plans(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.txt"]
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "session.json").write_text("{}", encoding="utf-8")
    with pytest.raises(sdp.ParameterError, match=r"with 'session.json', which no calibration"):
        small.save_plans(mine)
    for bad in (tmp_path / "thesis.txt", tmp_path / "no" / "parent", ""):
        with pytest.raises(sdp.ParameterError, match=r"^plans must be"):
            small.save_plans(bad)
    with pytest.raises(sdp.ParameterError, match="must have a round with a task"):
        sdp.calibrate_programme(asking({"mechanism": "grr:d=4"})).save_plans(tmp_path / "new")


@pytest.mark.heavy
def test_what_changed_is_missing_or_extra_is_named(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path)
    session, lock = tmp_path / "session.json", tmp_path / locking.LOCK_NAME
    kept, kept_lock = session.read_bytes(), lock.read_bytes()

    def problems() -> tuple[str, ...]:
        found = run("check", str(tmp_path))
        assert found.exit_code == 1, found.output
        told = json.loads(run("check", str(tmp_path), "--json").stdout)
        assert told["within"] is False and found.output.startswith("PLANS DO NOT MATCH")
        return tuple(told["problems"])

    (tmp_path / "more.json").write_bytes(kept)
    (problem,) = problems()
    assert problem.startswith("more.json is extra")
    alone = run("check", str(tmp_path / "more.json"))  # on its own, too
    assert alone.exit_code == 1 and "more.json is extra" in alone.output
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "more.json").rename(tmp_path / "elsewhere/more.json")
    alone = run("check", str(tmp_path / "elsewhere/more.json"))
    assert alone.exit_code == 0 and "as stated: there is no lock" in alone.output
    (tmp_path / "elsewhere/more.json").unlink()
    (tmp_path / "elsewhere").rmdir()
    session.write_bytes(kept.replace(b'"name": "Session"', b'"name": "Season"'))
    (problem,) = problems()
    assert problem.startswith("session.json changed: its digest is ")
    session.write_bytes(kept.replace(b"eps0=", b"eps0=1"))  # a claim that is not true
    (problem,) = problems()
    assert problem.startswith("session.json changed: ")
    session.write_bytes(b"\xff not a plan")
    (problem,) = problems()
    assert problem.startswith("session.json changed: ")
    session.unlink()
    (problem,) = problems()
    assert problem.startswith("session.json is missing")
    session.mkdir()
    (problem,) = problems()
    assert problem.startswith("session.json changed: ")
    session.rmdir()
    session.write_bytes(kept)
    lock.write_bytes(kept_lock.replace(b'"users": 20000', b'"users": 30000'))
    (problem,) = problems()
    assert problem.startswith(f"{locking.LOCK_NAME} changed")


@pytest.mark.heavy
def test_plans_that_cost_more_than_the_budget(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    """A plan with a larger budget, truly stated, its digest written into the lock: what ships is composed."""
    small.save_plans(tmp_path)
    plan = sdp.Plan.load(tmp_path / "session.json")
    import dataclasses

    query: Any = plan.query
    loose: Any = dataclasses.replace(query, mechanism="window:eps0=8,d=8,cells=8")
    bigger = sdp.Plan(query=loose, users=plan.users, minimum_batch=plan.minimum_batch, delta=plan.delta, name=plan.name)
    bigger.save(tmp_path / "session.json")
    lock = tmp_path / locking.LOCK_NAME
    lock.write_text(lock.read_text().replace(plan.digest, bigger.digest), encoding="utf-8")
    found = sdp.check(tmp_path)
    assert isinstance(found, sdp.CheckedPlans) and not found.problems and not found.within and found.epsilon > 1.0
    assert found.verdict.startswith("OVER BUDGET")


def test_a_programme_that_changed(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path / "plans")
    same, other = asking(MEAN), asking({**MEAN, "count": 2})
    assert sdp.check({**same, "plans": "elsewhere"}, plans=tmp_path / "plans").within
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**other, "plans": "plans"}), encoding="utf-8")
    found = run("check", str(path))
    assert found.exit_code == 1 and f"{path} changed after the plans were calibrated" in found.output


@pytest.mark.heavy
def test_one_plan(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path)
    path = tmp_path / "session.json"
    found = sdp.check(path)
    assert isinstance(found, sdp.CheckedPlans) and found.within and found.plans[0].state == "as locked"
    assert found.epsilon == pytest.approx(sdp.Plan.load(path).guarantee.epsilon)
    text = path.read_text().replace('"delta": 1e-06', '"delta": 1e-07')
    (tmp_path / "false.json").write_text(text, encoding="utf-8")
    assert "guarantee must be that of the plan" in refused(run("check", str(tmp_path / "false.json")))
    path.write_text(path.read_text().replace("Session", "Season"), encoding="utf-8")
    assert run("check", str(path)).exit_code == 1


def test_open_questions_without_plans_are_told_the_command(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(ONE), encoding="utf-8")
    assert "let shuffledp calibrate --programme FILE --plans DIR find it" in refused(run("check", str(path)))
    told = refused(run("check", str(path), "--plans", str(tmp_path / "no")))
    assert "plans must be a folder that calibrate has written" in told
    assert "plans must be left out" in refused(run("check", str(tmp_path), "--plans", str(tmp_path)))
    assert "--plans needs --programme" in refused(run("calibrate", "grr:d=4", "--plans", "x"))


LOCKS: dict[str, Any] = {
    "no json": "{",
    "list": [],
    "other version": {"version": 2},
    "escape": {"rounds": [{"name": "x", "file": "../session.json", "digest": "0" * 64}]},
    "hidden": {"rounds": [{"name": "x", "file": ".session.json", "digest": "0" * 64}]},
    "itself": {"rounds": [{"name": "x", "file": locking.LOCK_NAME, "digest": "0" * 64}]},
    "short digest": {"rounds": [{"name": "x", "file": "session.json", "digest": "0"}]},
    "number": {"rounds": [{"name": 3, "file": "session.json", "digest": "0" * 64}]},
    "twice": {"rounds": [{"name": "x", "file": "session.json", "digest": "0" * 64}] * 2},
    "no rounds": {"rounds": 7},
    "too few rounds": {"rounds": []},
    "too many rounds": {"rounds": [{"name": "y", "mechanism": "grr:eps0=1,d=4"}] * 2},
    "programme": {"programme": []},
    "files": {"files": {"a": 1}},
    "code": {"rounds": [{"name": "x", "mechanism": "os:system"}]},
}


@pytest.mark.parametrize("name", LOCKS)
def test_hostile_locks(name: str, small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    small.save_plans(tmp_path)
    path, bad = tmp_path / locking.LOCK_NAME, LOCKS[name]
    data = json.loads(path.read_text())
    text = bad if isinstance(bad, str) else json.dumps({**data, **bad} if isinstance(bad, dict) else bad)
    path.write_text(text, encoding="utf-8")
    found = run("check", str(tmp_path))
    assert found.exit_code == 2 and "Traceback" not in found.output, found.output


def test_the_lock_holds_what_was_asked(small: sdp.CalibratedProgramme, tmp_path: Path) -> None:
    paths = small.save_plans(tmp_path)
    lock = json.loads((tmp_path / locking.LOCK_NAME).read_text())
    assert paths == [str(tmp_path / name) for name in ("session.json", locking.LOCK_NAME)]
    assert lock["budget"]["epsilon"] == "1" and float(lock["budget"]["spent"]) >= small.check.epsilon
    assert [entry["digest"] for entry in lock["rounds"]] == [plan.digest for plan in small.plans().values()]
    assert read_plain(tmp_path / locking.LOCK_NAME, PROGRAMME)["digest"] == small.source.digest
