"""calibrate, users, compose, check and audit on the command line: answers, exit codes, one sentence for bad input."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.places import ROOT
from shuffledp._support import progress
from shuffledp._support.delta_rules import delta_at
from shuffledp.cli.audit import parse_inputs

ROUND = "grr:eps0=2,d=16,n=1e4"
PROGRAMME = """version: 1
name: weekly
population: {users: 10_000}
target: {epsilon: EPS, delta: 1e-6}
rounds: [{mechanism: "grr:eps0=2,d=16", count: 3}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- calibrate and users ---------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_calibrate() -> None:
    args = ["calibrate", "grr", "--set", "d=64", "--n", "1e5", "--epsilon", "1", "--delta", "1e-8"]
    found = sdp.calibrate("grr", n=10**5, epsilon=1.0, delta=1e-8, d=64)
    plain = run(*args)
    assert plain.exit_code == 0 and plain.stderr == ""
    reached = sdp.amplify(found, n=10**5, delta=1e-8)
    assert plain.stdout.splitlines() == [found.spec, str(reached)]
    data = json.loads(run(*args, "--json").stdout)
    assert data["mechanism"] == found.spec and data["guarantee"]["epsilon"] == reached.epsilon <= 1.0
    again = sdp.amplify(data["mechanism"], n=10**5, delta=1e-8)
    assert again.epsilon <= 1.0, "the printed spec itself must meet the target"


@pytest.mark.heavy
def test_calibrate_the_unknown() -> None:
    args = ["--unknown", "flip", "--n", "1e4", "--epsilon", "1", "--delta", "1e-6", "--json"]
    data = json.loads(run("calibrate", "cheu-zhilyaev:d=16,messages=2", *args).stdout)
    assert data["mechanism"].startswith("cheu-zhilyaev:flip=0.0") and 0.99 < data["guarantee"]["epsilon"] <= 1.0


@pytest.mark.heavy
def test_users() -> None:
    result = run("users", "grr:eps0=2,d=64", "--epsilon", "0.1", "--delta", "1e-8")
    n = sdp.users_needed("grr:eps0=2,d=64", epsilon=0.1, delta=1e-8)
    assert result.stdout.splitlines() == [f"{n:,} users", str(sdp.amplify("grr:eps0=2,d=64", n=n, delta=1e-8))]
    rule = json.loads(run("users", "grr:eps0=2,d=64", "--epsilon", "0.1", "--delta", "0.01/n", "--json").stdout)
    assert rule["n"] == sdp.users_needed("grr:eps0=2,d=64", epsilon=0.1, delta="0.01/n")
    assert rule["guarantee"]["epsilon"] <= 0.1 and rule["guarantee"]["delta"] == delta_at("0.01/n", rule["n"])


def test_what_cannot_be_reached_is_exit_code_1() -> None:
    text = refused(run("calibrate", "pure-dump:d=16", "--n", "10", "--epsilon", "1e-9", "--delta", "1e-12"), 1)
    assert "cannot be reached by pure-dump" in text
    assert "even 1e15 users" in refused(run("users", "metric-general:1,500", "--epsilon", "1e-3", "--delta", "1e-9"), 1)


@pytest.mark.parametrize(
    "args",
    [
        ["calibrate", "pure-dump:d=16", "--n", "10", "--epsilon", "1e-9", "--delta", "1e-12"],
        ["users", "metric-general:1,500", "--epsilon", "1e-3", "--delta", "1e-9"],
    ],
)
def test_what_cannot_be_reached_is_json_too(args: list[str]) -> None:
    result = run(*args, "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1 and data["impossible"] is True
    assert result.stderr == f"shuffledp: {data['reason']}\n"


def test_a_target_beyond_all_is_met_by_the_end_of_the_range() -> None:
    result = run("calibrate", "grr:d=4", "--n", "1000", "--epsilon", "1e300", "--delta", "1e-6")
    assert result.exit_code == 0 and result.stdout.startswith("grr:eps0=500,d=4\n")


def test_one_user_is_one() -> None:
    assert run("users", "grr:eps0=2,d=4", "--epsilon", "3", "--delta", "1e-6").stdout.startswith("1 user\n")


def test_calibrate_parallel_queries(here: Path) -> None:
    Path("q.yaml").write_text("- weight: 0.5\n  spec: grr:eps0=1,d=4\n- weight: 0.5\n  spec: grr:eps0=3,d=9\n")
    ask = ["--n", "1e4", "--epsilon", "0.2", "--delta", "1e-6"]
    result = run("calibrate", "parallel:q.yaml", *ask)
    found = sdp.calibrate("parallel:q.yaml", n=10_000, epsilon=0.2, delta=1e-6)
    assert result.exit_code == 0 and result.stdout.splitlines()[0] == found.spec


# -- compose ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_compose_without_a_ledger(here: Path) -> None:
    result = run("compose", "--round", f"{ROUND},count=10", "--delta", "1e-6")
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=10)
    assert result.exit_code == 0 and result.stdout.strip() == str(acc.guarantee(delta=1e-6))
    assert result.stderr == "" and list(here.iterdir()) == []
    data = json.loads(run("compose", "--round", f"{ROUND},count=10", "--epsilon", "0.2", "--json").stdout)
    assert data["delta_at_epsilon"] == acc.delta(epsilon=0.2) and "guarantee" not in data


@pytest.mark.slow
def test_a_ledger_grows_and_is_guarded(here: Path) -> None:
    budget = ["--delta", "1e-6", "--target", "0.25"]
    first = run("compose", "ledger.json", "--round", f"{ROUND},count=10,name=kind", *budget)
    assert first.exit_code == 0 and first.stderr == "wrote ledger.json\n" and "within the budget" in first.stdout
    before = (here / "ledger.json").read_bytes()
    over = run("compose", "ledger.json", "--round", f"{ROUND},count=100", *budget, "--json")
    assert over.exit_code == 1 and over.stderr == "ledger.json was not changed\n"
    data = json.loads(over.stdout)
    assert (data["within"], data["saved"]) == (False, False) and data["guarantee"]["epsilon"] > 0.25
    assert (here / "ledger.json").read_bytes() == before and [p.name for p in here.iterdir()] == ["ledger.json"]
    more = "general:eps0=1,n=1e5,count=4,participation_limit=2,reports_per_user=3,bound=variation-ratio"
    assert run("compose", "ledger.json", "--round", more).exit_code == 0
    entries = sdp.Accountant.load("ledger.json").entries
    assert [(e.name, e.n, e.count, e.cost) for e in entries] == [("kind", 10_000, 10, 10), (None, 100_000, 4, 6)]
    listed = run("compose", "ledger.json")
    assert listed.exit_code == 0 and [line.split() for line in listed.stdout.splitlines() if "eps0" in line] == [
        ["kind", "grr:eps0=2,d=16", "10,000", "10", "1", "10", "auto"],
        ["general:eps0=1", "100,000", "4", "2", "3", "6", "variation-ratio"],
    ]


@pytest.mark.slow
def test_how_many_more_fit(here: Path) -> None:
    sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=3).save("ledger.json")
    ask = ["compose", "ledger.json", "--delta", "1e-6", "--target", "0.2", "--remaining", ROUND]
    data = json.loads(run(*ask, "--json").stdout)
    assert 0 < data["remaining"] < 10
    plain = run(*ask)
    assert f"{data['remaining']} more rounds of grr:eps0=2,d=16 fit." in plain.stdout
    add = ["compose", "ledger.json", "--delta", "1e-6", "--target", "0.2", "--round"]
    assert run(*add, f"{ROUND},count={data['remaining'] + 1}").exit_code == 1
    assert run(*add, f"{ROUND},count={data['remaining']}").exit_code == 0


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        (
            "n=1000,absent=10",
            "no setting 'absent', it takes n, count, name, bound, participation_limit, reports_per",
        ),
        ("n=1000,count=2,paricipation_limit=2,name=x", "no setting 'paricipation_limit', it takes n,"),
        ("absent=10,n=1000", "no parameter 'absent', it takes eps0, d"),
        ("n=1000,memoized=1", "memoized must be False"),
        ("count=2", "add n=1e6"),
    ],
)
def test_a_wrong_setting_of_a_round_is_named(tail: str, words: str) -> None:
    assert words in refused(run("compose", "--delta", "1e-6", "--round", f"grr:eps0=2,d=4,{tail}"))


def test_fresh_randomness_may_be_stated() -> None:
    assert run("compose", "--round", f"{ROUND},memoized=false").exit_code == 0


@pytest.mark.heavy
def test_the_budget_is_not_rounded_up() -> None:
    said = run("compose", "--round", ROUND, "--delta", "1e-6", "--target", "0.99999999").stdout
    assert "within the budget eps = 0.99999999." in said
    finer = run("compose", "--round", ROUND, "--delta", "1e-6", "--target", "0.99999999999999").stdout
    assert "within the budget eps = 0.999999999999." in finer


def test_a_ledger_is_never_half_written(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("compose", "ledger.json", "--round", ROUND)
    before = (here / "ledger.json").read_bytes()

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    assert "No space left" in refused(run("compose", "ledger.json", "--round", ROUND))
    monkeypatch.undo()
    assert (here / "ledger.json").read_bytes() == before and [p.name for p in here.iterdir()] == ["ledger.json"]


@pytest.mark.slow
def test_of_additions_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shuffledp", "compose", "ledger.json", "--round", ROUND]
    started = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [p.wait(timeout=120) for p in started] == [0] * 4
    assert len(sdp.Accountant.load(tmp_path / "ledger.json").entries) == 4


# -- check -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_check(here: Path) -> None:
    for eps, code in (("1.0", 0), ("0.01", 1)):
        Path("p.yaml").write_text(PROGRAMME.replace("EPS", eps))
        result, found = run("check", "p.yaml"), sdp.check("p.yaml")
        assert result.exit_code == code and result.stderr == ""
        assert result.stdout.strip() == str(found)
        data = run("check", "p.yaml", "--json")
        assert data.exit_code == code and json.loads(data.stdout) == json.loads(json.dumps(found.to_dict()))


def test_check_prints_its_schema() -> None:
    result = run("check", "--schema")
    assert result.exit_code == 0 and json.loads(result.stdout)["title"] == "shuffledp programme, version 1"


@pytest.mark.slow
def test_check_in_a_real_process(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROGRAMME.replace("EPS", "0.01"))
    command = [sys.executable, "-m", "shuffledp", "check"]
    over = subprocess.run([*command, "p.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert over.returncode == 1 and over.stdout.startswith("OVER BUDGET: weekly\n") and over.stderr == ""
    (tmp_path / "p.yaml").write_text("version: 3")
    bad = subprocess.run([*command, "p.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert bad.returncode == 2 and bad.stdout == "" and bad.stderr.count("\n") == 1


@pytest.mark.heavy
def test_a_bar_is_shown_late_and_on_a_terminal_only(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.yaml").write_text(PROGRAMME.replace("EPS", "1"))
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert run("check", "p.yaml").stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes stderr for a terminal
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    shown = run("check", "p.yaml", "--json")
    assert "checking" in shown.stderr and json.loads(shown.stdout)["within"] is True
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    assert run("check", "p.yaml").stderr == ""


# -- audit -----------------------------------------------------------------------------------------------------


def test_audit_of_a_spec() -> None:
    sure = ("--confidence", "0.999999")  # the draws differ from run to run, and 0.99 would fail once in 100
    result = run("audit", "grr:eps0=1,d=3", "--samples", "4000", *sure, "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0 and data["violated"] is False and 0.3 < data["lower"] <= 1.0
    wrong = run("audit", "grr:eps0=2,d=3", "--claimed", "grr:eps0=1,d=3", "--samples", "4000")
    assert wrong.exit_code == 1 and "VIOLATION" in wrong.stdout and wrong.stderr == ""


def test_inputs_are_numbers_words_or_json() -> None:
    assert parse_inputs("0,1,2") == [0, 1, 2] and parse_inputs("red, green") == ["red", "green"]
    assert parse_inputs("0.5,a") == [0.5, "a"] and parse_inputs("nan,1") == ["nan", 1]
    assert parse_inputs('"a,b","c"') == ["a,b", "c"] and parse_inputs("[0,1],[1,0]") == [[0, 1], [1, 0]]
    assert parse_inputs("true,null") == [True, None]


# -- amplify with a crowd --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "terms"),
    [
        (["--dropouts", "0.05", "--colluding", "100"], {"dropouts": 0.05, "colluding": 100}),
        (["--dropouts", "1e2"], {"dropouts": 100}),
        (["--colluding", "1_000"], {"colluding": 1000}),
    ],
)
def test_amplify_counts_on_the_honest(args: list[str], terms: dict[str, float]) -> None:
    result = run("amplify", "grr:eps0=2,d=16", "--n", "1e4", "--delta", "1e-6", *args)
    expected = sdp.amplify("grr:eps0=2,d=16", n=10_000, delta=1e-6, **terms)  # type: ignore[arg-type]
    assert result.exit_code == 0 and result.stdout.strip() == str(expected)


# -- bad input -------------------------------------------------------------------------------------------------

CALIBRATE = ["calibrate", "grr", "--n", "1e4", "--delta", "1e-6"]
AMPLIFY = ["amplify", "grr:eps0=2,d=16", "--n", "100", "--delta", "1e-6"]
BAD = [
    *([*CALIBRATE, "--set", "d=4", "--epsilon", e] for e in ("0", "-1", "nan", "inf", "x", "")),
    *([*CALIBRATE, "--epsilon", "1", "--set", s] for s in ("d", "d=", "=4", "d=x", "n=5", "epsilon=1", "k=3", "")),
    [*CALIBRATE, "--epsilon", "1", "--set", "d=4", "--set", "d=4"],
    [*CALIBRATE, "--epsilon", "1"],
    [*CALIBRATE, "--epsilon", "1", "--set", "d=4", "--unknown", "flip"],
    [*CALIBRATE, "--epsilon", "1", "--set", "d=4", "--bound", "analytic-published"],
    ["calibrate", "grrr", "--n", "1e4", "--delta", "1e-6", "--epsilon", "1"],
    ["calibrate", "grr:d=4", "--n", "0", "--delta", "1e-6", "--epsilon", "1"],
    ["calibrate", "grr:d=4", "--n", "1e4", "--delta", "0", "--epsilon", "1"],
    ["calibrate", "finite:x.csv", "--n", "1e4", "--delta", "1e-6", "--epsilon", "1"],
    *(["users", "grr:eps0=2,d=4", "--delta", "1e-6", "--epsilon", e] for e in ("0", "-1", "nan", "x")),
    *(
        ["users", "grr:eps0=2,d=4", "--epsilon", "1", "--delta", d]
        for d in ("0", "1", "0.01/m", "x/n", "/n", "0/n", "")
    ),
    ["users", "nonsense", "--epsilon", "1", "--delta", "1e-6"],
    ["compose"],
    ["compose", "none.json"],
    ["compose", "none.json", "--delta", "1e-6"],
    ["compose", ".", "--delta", "1e-6"],
    ["compose", ".", "--round", ROUND],
    ["compose", "no/such/dir/l.json", "--round", ROUND],
    ["compose", "empty.json", "--delta", "1e-6"],
    ["compose", "binary.json", "--delta", "1e-6"],
    ["compose", "binary.json", "--round", ROUND],
    ["compose", "list.json", "--delta", "1e-6"],
    ["compose", "dangling.json"],
    ["compose", "--round", ROUND, "--delta", "0"],
    ["compose", "--round", ROUND, "--delta", "1e-200"],
    ["compose", "--round", ROUND, "--target", "1"],
    *(["compose", "--round", ROUND, "--delta", "1e-6", "--target", t] for t in ("0", "-1", "nan", "inf", "x", "")),
    *(["compose", "--round", ROUND, "--epsilon", e] for e in ("-1", "nan", "inf", "x")),
    ["compose", "--round", ROUND, "--remaining", ROUND],
    ["compose", "--round", ROUND, "--delta", "1e-6", "--target", "1", "--remaining", "grr:eps0=1,d=3"],
    ["compose", "--round", ROUND, "--delta", "1e-6", "--target", "1", "--remaining", f"{ROUND},count=3"],
    *(
        ["compose", "--delta", "1e-6", "--round", r]
        for r in (
            "",
            "grr:eps0=2,d=16",
            "grr:eps0=2,d=16,n=0",
            "grr:eps0=2,d=16,n=x",
            "grr:eps0=2,d=16,n=10,n=20",
            "grr:eps0=2,d=16,n=10,count=0",
            "grr:eps0=2,d=16,n=10,count=1.5",
            "grr:eps0=2,d=16,n=10,bound=blankt",
            "grr:eps0=2,d=16,n=10,bound=variation-ratio-lower",
            "grr:eps0=2,d=16,n=10,name=",
            "grr:eps0=2,d=16,n=10,participation_limit=0",
            "grr:eps0=2,d=16,n=10,memoized=1",
            ",n=10",
        )
    ),
    ["check"],
    *(["check", f] for f in ("none.yaml", ".", "binary.json", "list.json", "text.yaml", "unknown.yaml", "")),
    *(["audit", s] for s in ("", "nonsense", "grr:eps0=1", "general:eps0=1", "finite:none.csv")),
    *(["audit", "grr:eps0=1,d=3", "--samples", x] for x in ("0", "399", "x", "nan", "1e12", "400.5")),
    *(["audit", "grr:eps0=1,d=3", "--confidence", x] for x in ("1", "0", "x", "nan")),
    *(["audit", "grr:eps0=1,d=3", "--inputs", x] for x in ("", "0", "0,0", "0,9", "0,,1", "a,b")),
    *(["audit", "grr:eps0=1,d=3", "--eps0", x] for x in ("-1", "nan", "x", "inf")),
    ["audit", "grr:eps0=1,d=3", "--claimed", "nonsense"],
    ["audit", "grr:eps0=1,d=3", "--vectorized"],
    *([*AMPLIFY, "--dropouts", x] for x in ("100", "1e9", "-1", "1.5", "1.0", "x", "nan", "inf", "")),
    *([*AMPLIFY, "--colluding", x] for x in ("100", "-0.1", "x")),
]


@pytest.mark.parametrize("args", BAD, ids=lambda a: " ".join(a)[:90])
def test_bad_input_is_one_sentence(args: list[str], here: Path) -> None:
    Path("empty.json").write_text('{"format": "shuffledp-ledger/2", "rounds": []}')
    Path("binary.json").write_bytes(b"\x00\xff\xfe" * 40)
    Path("list.json").write_text("[1, 2]")
    Path("text.yaml").write_text("just words")
    Path("unknown.yaml").write_text(PROGRAMME + "extra: 1\n")
    Path("dangling.json").symlink_to("nowhere.json")
    before = {p.name: p.read_bytes() for p in here.iterdir() if p.is_file()}
    refused(run(*args))
    assert {p.name: p.read_bytes() for p in here.iterdir() if p.is_file()} == before


@pytest.mark.heavy
def test_the_documented_python_runs() -> None:
    page = ROOT / "docs" / "programmes.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted >= 8 and found.failed == 0


@pytest.mark.parametrize("command", ["calibrate", "users", "compose", "check", "audit"])
def test_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0 and "Usage" in result.stdout and "--json" in result.stdout


def test_the_commands_start_light() -> None:
    code = "import sys, shuffledp.cli; print(sorted({'numpy', 'yaml', 'rich', 'jsonschema'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
