"""The API says what the library says, and the lines that it offers to copy say it again."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import shuffledp as sdp
from reference.asgi import Client
from reference.repetition import slow
from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.mechanisms.parameters import declared
from shuffledp.web import curves, ranking
from shuffledp.web.catalog import mechanisms
from shuffledp.web.questions import Question

#: Of the mechanisms every third one in the quick run.
SOME = [name if k % 3 == 0 else slow(name) for k, name in enumerate(sorted(mechanisms()))]
GRR = {"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7"}


def get(client: Client, path: str, **given: str) -> Any:
    answer = client.get(path, params=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def started(name: str) -> str:
    """The spec with which the page starts a mechanism."""
    wanted = [p for p in mechanisms()[name]["parameters"] if p["needed"]]
    return f"{name}:" + ",".join(f"{p['name']}={p['start']:g}" for p in wanted)


@pytest.mark.parametrize("name", SOME)
def test_every_mechanism_of_the_menu_has_a_guarantee_at_its_start(client: Client, name: str) -> None:
    spec = started(name)
    found = get(client, "/api/guarantee", spec=spec, n="1e5", delta="1e-7")
    same = sdp.amplify(spec, n=100_000, delta=1e-7)
    assert found["epsilon"] == (same.epsilon if math.isfinite(same.epsilon) else "inf")
    assert found["text"] == str(same) and found["bound"] == same.bound and found["spec"] == same.mechanism


def test_the_menu_leaves_out_what_is_read_from_files() -> None:
    assert not {"finite", "joint", "parallel", "exponential-metric"} & set(mechanisms())


@pytest.mark.parametrize("share", ["5%", "5 %", "0.05"])
def test_a_share_may_be_written_in_percent(client: Client, share: str) -> None:
    found = get(client, "/api/guarantee", **GRR, dropouts=share)
    assert found["dropouts"] == 5000 and "dropouts=0.05" in found["code"]["python"]
    assert get(client, "/api/dropouts", **GRR, dropouts=share)["dropouts"] == 0.05


@pytest.mark.parametrize("typed", ["5", "100%", "100"])
def test_the_advice_on_percent_is_right(client: Client, typed: str) -> None:
    said = client.get("/api/guarantee", params={**GRR, "dropouts": typed}).json()["error"]
    advised = said.rpartition(" as ")[2].rstrip(".")
    assert "five percent" in said and get(client, "/api/guarantee", **GRR, dropouts=advised)["dropouts"] == 5000


def test_dropouts_and_rules_reach_the_guarantee(client: Client) -> None:
    found = get(client, "/api/guarantee", **{**GRR, "delta": "0.01/n", "dropouts": "0.1"})
    same = sdp.amplify("grr:eps0=2,d=64", n=100_000, delta="0.01/n", dropouts=0.1)
    assert (found["epsilon"], found["lower"], found["dropouts"]) == (same.epsilon, same.lower, 10_000)


@pytest.mark.slow_cases("grr:eps0=2,d=64-more2")
@pytest.mark.parametrize("more", [{}, {"dropouts": "0.05"}, {"rounds": "3", "dropouts": "0.05", "delta": "0.01/n"}])
@pytest.mark.parametrize("spec", ["grr:eps0=2,d=64", "pure-dump:d=16,messages=2"])
def test_the_lines_to_copy_say_the_same(client: Client, spec: str, more: dict[str, str]) -> None:
    given = {**GRR, "spec": spec, **more}
    found = get(client, "/api/guarantee", **given)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(found["code"]["python"], {})
    said = out.getvalue().splitlines()
    assert said[0] == found["text"]
    commands = found["code"]["shell"].splitlines()
    assert len(commands) == len(said)
    for command, line in zip(commands, said, strict=True):
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0
        if command == commands[0]:
            assert line in result.output
    if more.get("rounds"):
        total = get(client, "/api/compose", **given)["shown"]
        assert total in said[1] and total in result.output


def test_rounds_are_composed(client: Client) -> None:
    found = get(client, "/api/compose", **GRR, rounds="5")
    account = sdp.Accountant().compose("grr:eps0=2,d=64", n=100_000, count=5)
    assert found["epsilon"] == pytest.approx(account.epsilon(delta=1e-7), rel=1e-9)
    counts, eps = [row["rounds"] for row in found["rows"]], [row["epsilon"] for row in found["rows"]]
    assert counts == [1, 3, 5, 10, 30] and eps == sorted(eps)
    assert found["lower"] == pytest.approx(account.lower_epsilon(delta=1e-7), rel=1e-9)
    assert all(0.99 * row["epsilon"] < row["lower"] <= row["epsilon"] for row in found["rows"])
    assert all(float(row["shown_lower"]) <= row["lower"] for row in found["rows"])


def test_rounds_without_a_known_dataset_have_no_lower_end(client: Client) -> None:
    found = get(client, "/api/compose", spec="pure-dump:d=16,messages=1", n="10000", delta="1e-6", rounds="3")
    assert found["lower"] is None is found["shown_lower"] and {row["lower"] for row in found["rows"]} == {None}


def test_missing_users_cost_privacy(client: Client) -> None:
    found = get(client, "/api/dropouts", **GRR, dropouts="0.07")
    eps = {row["dropouts"]: row["epsilon"] for row in found["rows"]}
    assert eps[0.07] == sdp.amplify("grr:eps0=2,d=64", n=100_000, delta=1e-7, dropouts=0.07).epsilon
    assert list(eps.values()) == sorted(eps.values()) and list(eps) == sorted(eps)


def test_nobody_may_be_left(client: Client) -> None:
    found = get(client, "/api/dropouts", spec="grr:eps0=2,d=4", n="1", delta="0.1")
    assert [row["epsilon"] is None for row in found["rows"]] == [False] + [True] * 6


def test_every_bound_is_compared(client: Client) -> None:
    found = get(client, "/api/compare", **GRR)
    same = sdp.compare("grr:eps0=2,d=64", n=100_000, delta=1e-7)
    assert [(row["bound"], row["epsilon"]) for row in found["rows"]] == [(r.bound, r.epsilon) for r in same.rows]
    assert found["absent"] == same.absent


@pytest.mark.parametrize("over", ["n", "noise"])
def test_curves_are_the_guarantee_at_every_point(client: Client, over: str) -> None:
    for _ in range(100):
        found = get(client, "/api/curves", **GRR, over=over, points="9")
        if found["complete"]:
            break
    assert len(found["x"]) == 9 and found["over"] == ("n" if over == "n" else "eps0")
    for x, upper, lower in list(zip(found["x"], found["epsilon"], found["lower"], strict=True))[::4]:
        spec, n = ("grr:eps0=2,d=64", x) if over == "n" else (f"grr:eps0={x},d=64", 100_000)
        same = sdp.amplify(spec, n=n, delta=1e-7)
        assert upper == pytest.approx(same.epsilon, rel=2e-4) and lower == pytest.approx(same.lower, rel=2e-4)
        assert lower <= upper


def test_a_curve_comes_in_parts_and_ends_complete() -> None:
    asked = Question.read({**GRR, "spec": "laplace:eps0=1.875"})
    first = curves.curve(asked, over="noise", points=9, seconds=0.0)
    assert not first["complete"] and first["epsilon"][0] is not None
    assert first["epsilon"].count(None) == 8
    for _ in range(8):
        last = curves.curve(asked, over="noise", points=9, seconds=0.0)
    assert last["complete"] and None not in last["epsilon"]


def test_a_curve_contains_a_setting_beyond_the_usual_range() -> None:
    asked = Question.read({**GRR, "n": "1e12", "spec": "grr:eps0=0.01,d=4"})
    assert curves.curve(asked, over="n", points=9)["x"][-1] == 10**12
    assert curves.curve(asked, over="noise", points=9)["x"][0] == 0.01


@pytest.mark.slow_cases("binomial")
@pytest.mark.filterwarnings("ignore:overflow")  # of an eps beyond all numbers, which is then infinite
@pytest.mark.parametrize("name", SOME)
def test_every_dial_has_a_curve_at_the_ends_of_its_range(name: str) -> None:
    usual = Question.read({**GRR, "spec": started(name)})
    dialled = curves.dial(usual.mechanism)
    if dialled is None:
        return
    limits = declared(type(usual.mechanism))[dialled].limits(usual.mechanism)
    for limit in (*limits, 0.0, 5e-324):
        with contextlib.suppress(ParameterError):
            asked = dataclasses.replace(usual, mechanism=dataclasses.replace(usual.mechanism, **{dialled: limit}))
            places = curves.curve(asked, over="noise", points=9, seconds=0.0)["x"]
            assert places == sorted(places) and all(0.0 < x < math.inf for x in places)


def test_a_parameter_of_zero_has_a_curve(client: Client) -> None:
    given = {"spec": "poisson-histogram:d=2,poisson_per_index=0.0,indices=1", "n": "1e9", "delta": "1e-9"}
    found = get(client, "/api/curves", **given, over="noise", points="9")
    assert len(found["x"]) == 9 and found["x"][0] > 0


def test_a_rule_may_leave_small_crowds_out() -> None:
    found = curves.curve(Question.read({**GRR, "delta": "200/n"}), over="n", points=9)
    assert found["complete"] and found["x"][0] > 200


def test_a_law_without_a_dial_has_no_curve(client: Client) -> None:
    found = get(client, "/api/curves", spec="variation-ratio:p=3,beta=0.4,q=3", n="1000", delta="1e-5", over="noise")
    assert found == {"over": None, "x": [], "epsilon": [], "lower": [], "complete": True}


@pytest.mark.parametrize("name", SOME)
def test_every_answer_is_json_for_every_mechanism(client: Client, name: str) -> None:
    given = {"spec": started(name), "n": "5000", "delta": "1e-6", "dropouts": "0.2"}
    for path in ("/api/guarantee", "/api/compare", "/api/dropouts"):
        assert client.get(path, params=given).status_code == 200


def test_a_certificate_can_be_verified(client: Client, tmp_path: Path) -> None:
    answer = client.get("/api/download/certificate.json", params={**GRR, "dropouts": "0.1"})
    assert answer.headers["content-disposition"] == 'attachment; filename="shuffledp-certificate.json"'
    file = tmp_path / "proof.json"
    file.write_bytes(answer.content)
    proof = sdp.verify(file)
    assert (proof.n, proof.delta) == (90_000, 1e-7)


def test_tables_can_be_read_back(client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/api/download/curves.csv", params=GRR).text)))
    assert {row["variable"] for row in rows} == {"n", "eps0"}
    assert all(float(row["lower"]) <= float(row["epsilon"]) for row in rows)
    bounds = list(csv.DictReader(io.StringIO(client.get("/api/download/bounds.csv", params=GRR).text)))
    assert {"blanket", "general"} <= {row["bound"] for row in bounds}


RANK = {**GRR, "task": "histogram", "d": "64"}


def test_the_ranking_is_that_of_recommend(client: Client) -> None:
    found = get(client, "/api/rank", **RANK, epsilon="0.5")
    same = sdp.recommend("histogram", n=100_000, d=64, epsilon=0.5, delta=1e-7)
    assert [choice["spec"] for choice in found["choices"]] == [choice.spec for choice in same.choices]
    assert found["typed"] and all(choice["epsilon"] <= 0.5 for choice in found["choices"])
    assert same.floor is not None and found["floor"] == {**same.floor._asdict(), "shown": "17.9"}
    assert [choice["above_floor"] for choice in found["choices"]] == [same.above_floor(c) for c in same.choices]


def test_without_a_target_the_setting_gives_it(client: Client) -> None:
    found = get(client, "/api/rank", **RANK)
    reached = sdp.amplify("grr:eps0=2,d=64", n=100_000, delta=1e-7).epsilon
    assert float(found["target"]) <= reached and all(choice["epsilon"] <= reached for choice in found["choices"])
    assert "grr" in [choice["mechanism"] for choice in found["choices"]]


def test_a_target_that_nothing_meets_is_said(client: Client) -> None:
    found = get(client, "/api/rank", **RANK, epsilon="0.5", messages="0.1")
    assert found["choices"] == [] and "target" in found["why"]


def test_what_the_ranking_offers_can_be_asked(client: Client) -> None:
    for choice in get(client, "/api/rank", **RANK, epsilon="0.5")["choices"]:
        if choice["usable"]:
            found = get(client, "/api/guarantee", **{**GRR, "spec": choice["spec"]})
            assert found["epsilon"] <= 0.5 * (1 + 1e-3)


def test_a_plan_of_other_sizes_is_refused(client: Client) -> None:
    answer = client.get("/api/download/plan.json", params={**RANK, "d": "16"})
    assert answer.status_code == 400 and answer.json()["error"].startswith("mechanism must have d = 16")


@pytest.mark.slow_cases("choice1")
@pytest.mark.parametrize("choice", [{}, {"choice": "0"}, {"choice": "3"}])
def test_a_plan_can_be_run(client: Client, tmp_path: Path, choice: dict[str, str]) -> None:
    text = client.get("/api/download/plan.json", params={**RANK, "d": "4", "spec": "grr:eps0=2,d=4", **choice}).text
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    plan = sdp.Plan.load(file)
    assert plan.users == 100_000 and (choice or plan.query.randomizer.spec == "grr:eps0=2,d=4")
    assert len(sdp.Client(plan).report("1")) >= 1


def test_a_plan_of_a_mechanism_that_does_not_fit_is_refused(client: Client) -> None:
    answer = client.get("/api/download/plan.json", params={**RANK, "spec": "laplace:eps0=1"})
    assert answer.status_code == 400 and "take one of the ranking" in answer.json()["error"]


def test_the_statement_is_that_of_the_plan(client: Client, tmp_path: Path) -> None:
    asked = {"task": "histogram", "d": "8", "spec": "grr:eps0=2,d=8", "n": "20000", "delta": "1e-6", "rounds": "4"}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(get(client, "/api/download/plan.json", **asked)), encoding="utf-8")
    wanted = sdp.Plan.load(file).statement(rounds=4)
    found = get(client, "/api/statement", **asked)
    assert [(one["heading"], one["texts"]) for one in found["sections"]] == [
        (section.heading, list(section.texts)) for section in wanted.sections
    ]
    assert client.get("/api/download/statement.html", params=asked).text == wanted.html()


def test_a_review_stands_alone(client: Client) -> None:
    answer = client.get("/api/download/report.html", params={**RANK, "epsilon": "0.5"})
    assert answer.status_code == 200 and "attachment" in answer.headers["content-disposition"]
    assert not [
        part for part in ("<script", "<link", " src=", 'href="http', "url(http", "@import") if part in answer.text
    ]


def test_every_task_is_described(client: Client) -> None:
    found = get(client, "/api/tasks")
    assert "histogram" in found and all(task["measure"] and task["title"] for task in found.values())


@pytest.mark.slow_cases("histogram", "location", "mean", "quantile", "range", "sets", "sum of bits", "vector mean")
@pytest.mark.parametrize("task", sorted(ranking.tasks()))
def test_every_task_is_ranked_and_its_plans_can_be_read(client: Client, task: str, tmp_path: Path) -> None:
    sizes = {
        size["name"]: "4" if size["name"] == "size" else "16"
        for size in ranking.tasks()[task]["sizes"]
        if size["needed"]
    }
    given = {**GRR, "task": task, "epsilon": "1", **sizes}
    assert get(client, "/api/rank", **given)["choices"]
    file = tmp_path / "plan.json"
    file.write_text(client.get("/api/download/plan.json", params={**given, "choice": "0"}).text, encoding="utf-8")
    assert sdp.Plan.load(file).epsilon <= 1.0 + 1e-9


def test_lists_take_no_parameters(client: Client) -> None:
    assert client.get("/api/mechanisms?x=1").status_code == 400
    assert client.get("/api/tasks?x=1").status_code == 400


def test_json_has_no_infinity_or_nan(client: Client) -> None:
    text = client.get(
        "/api/guarantee", params={"spec": "pure-dump:d=64,messages=0.001", "n": "2", "delta": "1e-9"}
    ).text
    assert json.loads(text, parse_constant=pytest.fail)["epsilon"] == "inf"
