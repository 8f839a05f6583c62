"""The programme of the page: what may be asked, what is refused in a sentence, and the files that come of it."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
import yaml

import shuffledp as sdp
from reference.asgi import Client
from shuffledp.web import programmes

QUESTIONS: list[dict[str, Any]] = [
    {"name": "Fruit", "task": "histogram", "labels": ["apple", "pear"], "count": 2, "weight": "2"},
    {"name": "Wait", "task": "mean", "column": "wait", "low": "0", "high": "60", "unit": "min"},
]
ASKED = {"epsilon": "1", "n": "50_000", "delta": "0.01/n", "dropouts": "5%", "opt_in": "60%"}


def asked(questions: object = QUESTIONS, **more: str) -> dict[str, str]:
    text = questions if isinstance(questions, str) else json.dumps(questions)
    return {**ASKED, "questions": text, **more}


def refused(**given: str) -> str:
    with pytest.raises(sdp.ShuffleDPError) as caught:
        programmes.programme(given)
    said = str(caught.value)
    assert "\n" not in said and len(said) < 800
    return said


def test_it_is_what_calibrate_programme_finds(client: Client) -> None:
    answer = client.get("/api/programme", params=asked())
    found = answer.json()
    assert answer.status_code == 200 and found["within"] and found["epsilon"] <= 1.0
    same = sdp.calibrate_programme(yaml.safe_load(found["yaml"]), tol=programmes._TOL)
    assert [round_["mechanism"] for round_ in found["rounds"]] == [one.mechanism for one in same.rounds]
    assert [[p["text"] for p in r["predicted"]] for r in found["rounds"]] == [
        [p.text for p in one.predicted] for one in same.rounds
    ]
    assert found["users"] == 30_000 and found["counted"] == 28_500
    assert 0.98 * found["epsilon"] < found["lower"] == same.check.lower <= found["epsilon"]
    assert float(found["shown"]["lower"].split()[0]) <= found["lower"]
    assert found["rounds"][0]["epsilon"] == pytest.approx(2 * found["rounds"][1]["epsilon"], rel=1e-2)


def test_the_files_are_those_of_the_answer(client: Client) -> None:
    written = client.get("/api/download/programme.yaml", params=asked())
    archive = client.get("/api/download/plans.zip", params=asked())
    assert archive.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(archive.content)) as held:
        names = held.namelist()
        assert held.read("programme.yaml").decode() == written.text
        plan = json.loads(held.read("plans/wait.json"))
    assert names == ["programme.yaml", "plans/fruit.json", "plans/wait.json", "plans/programme.lock.json"]
    assert plan["name"] == "Wait"
    assert client.get("/api/download/plans.zip", params=asked()).content == archive.content
    stated = client.get("/api/download/programme-statement.html", params=asked()).text
    assert "<h2>What an attacker can learn</h2>" in stated and "shuffledp-" not in stated and "/plans" not in stated


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ("", "questions must be given"),
        ("{", "questions must be a JSON list"),
        ("[" * 5000, "questions must be a JSON list"),
        ("{}", "questions must be a JSON list of 1 to 12 objects, got dict"),
        ("[]", "questions must be a JSON list of 1 to 12 objects, got 0"),
        (json.dumps([QUESTIONS[1]] * 13), "got 13; a longer programme is for the command line"),
        ("[3]", "questions[0] must be an object, got int"),
        ("[NaN]", "questions must be a JSON list"),
        ("[{}]", "questions[0].task must be given"),
        ([{"task": "mean", "mechanism": "finite:/etc/passwd"}], "unknown key of questions[0]"),
        ([{"task": "histogram", "labels": "/etc/passwd"}], "questions[0].labels must be a list"),
        ([{"task": "histogram", "labels": ["a"] * 201}], "questions[0].labels must be a list"),
        ([{"task": "histogram", "labels": ["a\nb"]}], "questions[0].labels must be a list"),
        ([{"task": "quantile", "d": 8, "shape": "/etc/passwd"}], "unknown key of questions[0]"),
        ([{"task": "histogram", "d": "1e9"}], "questions[0].d must lie in"),
        ([{"task": "histogram", "d": True}], "questions[0].d must be a number"),
        ([{"task": "histogram", "d": [8]}], "questions[0].d must be a number"),
        ([{"task": "histogram", "d": "9" * 500}], "questions[0].d must be a number"),
        ([{"task": "histogram", "d": 8, "count": 0}], "questions[0].count must lie in"),
        ([{"task": "histogram", "d": 8, "weight": "inf"}], "questions[0].weight must be"),
        ([{"task": "histogram", "d": 8, "weight": -1}], "weight must"),
        ([{"task": "mean", "low": 5, "high": 1}], "high"),
        ([{"task": "juggling"}], "task must be"),
        ([{"task": "mean", "name": "x" * 61}], "questions[0].name must be a word"),
        ([{"task": "mean", "unit": "\u202emin"}], "questions[0].unit must be a word"),
        ([{"task": "mean", "error": "1e-9 min", "unit": "min"}], "error"),
    ],
)
def test_what_is_hostile_or_wrong_is_refused_in_a_sentence(questions: object, said: str) -> None:
    assert said in refused(**asked(questions))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("epsilon", "0", "epsilon must"),
        ("epsilon", "inf", "epsilon must"),
        ("n", "1e30", "n must"),
        ("delta", "2", "delta must"),
        ("opt_in", "0%", "opt_in must be a share of the users"),
        ("opt_in", "120%", "opt_in must lie between 0% and 100%"),
        ("dropouts", "99%", "dropouts must lie between 0% and 95%"),
        ("spec", "grr:eps0=1,d=4", "unknown parameter 'spec'"),
    ],
)
def test_the_crowd_is_checked(name: str, value: str, said: str) -> None:
    assert said in refused(**asked(**{name: value}))


def test_a_programme_may_be_longer_than_another_question_and_not_without_limit(client: Client) -> None:
    many = [{"name": f"Question number {k}", "task": "sum of bits", "count": 1} for k in range(12)]
    answer = client.get("/api/programme", params=asked([*many[:11], {"task": "juggling"}]))
    assert answer.status_code == 400 and "juggling" in answer.json()["error"]
    answer = client.get("/api/programme", params=asked([{"task": "histogram", "labels": ["word"] * 900}]))
    assert answer.status_code == 414 and "at most 8,000 characters" in answer.json()["error"]
    assert client.get("/api/rank", params={"task": "x" * 3000}).status_code == 414


def test_budgets_of_classes_are_those_of_amplify_mixed(client: Client) -> None:
    given = {"spec": "grr:eps0=2,d=8", "n": "1", "delta": "1e-6", "budgets": "5000 at 1, 5000 at 3"}
    found = client.get("/api/mixed", params=given).json()
    same = sdp.amplify_mixed([("grr:eps0=1,d=8", 5000), ("grr:eps0=3,d=8", 5000)], delta=1e-6)
    assert [row["epsilon"] for row in found["rows"]] == [one.epsilon for one in same.classes]
    assert found["n"] == 10_000 and "amplify_mixed" in found["python"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budgets": ""}, "budgets must have 1 to 20 rows, got 0"),
        ({"budgets": ", ".join(["5 at 1"] * 21)}, "budgets must have 1 to 20 rows, got 21"),
        ({"budgets": "5" * 301}, "budgets must have at most 300 characters"),
        ({"budgets": "5000"}, "budgets must have rows of users and their budget"),
        ({"budgets": "many at 1"}, "must be a number"),
        ({"budgets": "5000 at x"}, "budgets must be a number"),
        ({"budgets": "5000 at -1"}, "eps0 must"),
        ({"spec": "pure-dump:d=8,messages=2"}, "must be those of a mechanism with a local budget"),
        ({"spec": "general:eps0=1"}, "every class must have a law"),
        ({"spec": "finite:/etc/passwd"}, "which is read from a file"),
    ],
)
def test_tables_of_budgets_that_make_no_sense_are_refused(client: Client, change: dict[str, str], said: str) -> None:
    given = {"spec": "grr:eps0=2,d=8", "n": "1", "delta": "1e-6", "budgets": "5000 at 1", **change}
    answer = client.get("/api/mixed", params=given)
    assert answer.status_code == 400 and said in answer.json()["error"]
