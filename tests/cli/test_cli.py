"""The command line: JSON, exit codes, and one sentence on stderr for every bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.cli import base
from shuffledp.cli.base import print_json

PLAN = ["plan", "sum of bits", "--n", "1e6", "--epsilon", "1", "--delta", "1e-8"]
AMPLIFY = ["amplify", "general:eps0=1", "--n", "1e6", "--delta", "1e-8"]


def test_amplify() -> None:
    result = run(*AMPLIFY)
    assert result.exit_code == 0 and result.stderr == ""
    assert result.stdout.strip() == str(sdp.amplify("general:eps0=1", n=10**6, delta=1e-8))


@pytest.mark.parametrize("n", ["1e6", "1_000_000", "1000000", "1000000.0"])
def test_amplify_json(n: str) -> None:
    result = run("amplify", "general:eps0=1", "--n", n, "--delta", "1e-8", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0 and data["n"] == 10**6
    assert data == json.loads(json.dumps(sdp.amplify("general:eps0=1", n=10**6, delta=1e-8).to_dict()))


def test_infinity_is_json_too() -> None:
    result = run("amplify", "variation-ratio:inf,1,2", "--n", "2", "--delta", "1e-8", "--json")
    assert json.loads(result.stdout, parse_constant=pytest.fail)["epsilon"] == "inf"


def test_profile() -> None:
    data = json.loads(run("profile", "general:eps0=1", "--n", "1e3", "--epsilon", "0:1:3", "--json").stdout)
    assert data["epsilon"] == [0.0, 0.5, 1.0]
    assert data["delta"] == sdp.profile("general:eps0=1", n=1000, epsilon=[0.0, 0.5, 1.0]).tolist()
    low = json.loads(
        run("profile", "general:eps0=1", "--n", "9", "--epsilon", "0.2", "--side", "lower", "--json").stdout
    )
    assert low["side"] == "lower" and 0 < low["delta"][0] < 1
    assert "at most" in run("profile", "general:eps0=1", "--n", "1e3").stdout


@pytest.mark.heavy
def test_other_functions_than_delta(tmp_path: Path) -> None:
    asked = ("profile", "general:eps0=1", "--n", "1e4", "--dropouts", "10%")
    data = json.loads(run(*asked, "--tradeoff", "--alpha", "0.05,0.5", "--json").stdout)
    found = sdp.tradeoff("general:eps0=1", n=10_000, dropouts=1000, alpha=[0.05, 0.5])
    assert data["beta"] == found.beta.tolist() and data["mu"] == found.mu and data["slack"] == 1e-12
    assert data["mu_with_slack"] == found.mu_with(slack=1e-12)
    figure = tmp_path / "renyi.svg"
    shown = run(*asked, "--renyi", "--orders", "2:4:3", "--plot", str(figure)).stdout
    assert "rho = " in shown and "Renyi (at most)" in shown and figure.exists()
    assert max(map(len, shown.splitlines()[1:])) <= 80


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--tradeoff", "--renyi"), "--tradeoff and --renyi are two functions; ask for one of them."),
        (("--plot", "x.svg"), "--plot needs --tradeoff or --renyi, whose figure it writes."),
        (("--alpha", "0.1"), "--alpha needs --tradeoff; add it."),
        (("--renyi", "--tol", "1e-3"), "--tol does not go with --renyi; leave one of them out."),
        (
            ("--renyi", "--orders", "1"),
            "orders must hold finite numbers in (1, 1e15], got [1.0]; leave such values out.",
        ),
        (("--renyi", "--plot", "x.doc"), "plot must end in .pdf, .svg or .png, got 'x.doc'; choose one of the three."),
    ],
)
def test_options_of_another_function_are_refused(options: tuple[str, ...], sentence: str) -> None:
    refused = run("profile", "general:eps0=1", "--n", "100", *options)
    assert refused.exit_code == 2 and refused.stderr.strip() == f"shuffledp: {sentence}"


def test_the_profile_table_does_not_round_down() -> None:
    """ "at most" must hold for the digits shown, and those of "at least" must not be above."""
    eps = [0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.21]
    for side, sign in (("upper", 1), ("lower", -1)):
        text = run(
            "profile", "general:eps0=1", "--n", "1e3", "--epsilon", ",".join(map(str, eps)), "--side", side
        ).stdout
        shown = [float(row[1]) for row in re.findall(r"^\s*([\d.e-]+)\s+([\d.e-]+)\s*$", text, re.M)]
        exact = sdp.profile("general:eps0=1", n=1000, epsilon=eps, side=side)  # type: ignore[arg-type]
        assert len(shown) == len(eps), text
        for printed, value in zip(shown, exact, strict=True):
            assert sign * printed >= sign * value


def test_a_grid_holds_the_numbers_that_were_meant() -> None:
    for side in ("upper", "lower"):
        shown = run("profile", "grr:eps0=2,d=4", "--n", "100", "--epsilon", "0.2:2:10", "--side", side).stdout
        assert [line.split()[0] for line in shown.splitlines() if "." in line][7] == "1.6"


@pytest.mark.heavy
def test_missing_users_are_echoed_with_their_share() -> None:
    asked = ["amplify", "general:eps0=1", "--n", "1M", "--delta", "1e-8"]
    assert "of whom up to 5 users (0.0005 %) may drop out" in run(*asked, "--dropouts", "5").stdout
    assert "of whom up to 50,000 users (5 %) may drop out" in run(*asked, "--dropouts", "5%").stdout
    counted = run("compose", "--round", "general:eps0=1,n=2M,dropouts=5%", "--delta", "1e-8")
    assert counted.exit_code == 0 and "1,900,000" in run("compose", "--round", "general:eps0=1,n=2M,dropouts=5%").stdout


def test_finite_file(tmp_path: Path) -> None:
    path = tmp_path / "coin.csv"
    path.write_text("0.75,0.25\n0.25,0.75\n")
    result = run("amplify", f"finite:{path}", "--n", "1000", "--delta", "1e-6", "--json")
    assert json.loads(result.stdout)["bound"] == "binary"
    plain = run("amplify", f"finite:{path}", "--n", "1000", "--delta", "1e-6")
    assert "input pairs evaluated" in plain.stderr and plain.stdout.count("\n") == 1
    np.save(tmp_path / "coin.npy", np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert run("amplify", f"finite:{tmp_path / 'coin.npy'}", "--n", "10", "--delta", "0.1").exit_code == 0


@pytest.mark.heavy
def test_certify_and_verify(tmp_path: Path) -> None:
    out = str(tmp_path / "proof.json")
    made = run("certify", "general:eps0=1", "--n", "1e5", "--delta", "1e-7", "--out", out)
    assert made.exit_code == 0 and "proved in ball arithmetic" in made.stdout
    checked = run("certify", "--verify", out)
    assert checked.exit_code == 0 and checked.stdout.startswith("Verified: 'general:eps0=1' with n = 100,000 ")
    assert json.loads(run("certify", "--verify", out, "--json").stdout)["verified"] is True
    claim = sdp.verify(out)
    shown = re.search(r"delta <= (\S+) at eps = (\S+), within the stated delta = (\S+), replace-one ", checked.stdout)
    assert shown is not None
    assert float(shown[2]) >= claim.epsilon, "the printed eps is below the proved one"
    assert float(shown[1]) >= claim.proved_delta, "the printed delta is below the proved one"
    assert float(shown[3]) <= claim.delta, "the printed target is above the stated one"
    direct = run("certify", "general:eps0=1", "--n", "1e5", "--delta", "1e-7")
    assert json.loads(direct.stdout)["format"].startswith("shuffledp-certificate") and direct.stderr.startswith(
        "With n"
    )
    assert json.loads(run(*AMPLIFY, "--certify", "--json").stdout)["certified"] is True
    data = json.loads(Path(out).read_text())
    data["epsilon"] = "0.001"
    Path(out).write_text(json.dumps(data))
    assert "does not hold" in refused(run("certify", "--verify", out), 3)


def test_certify_refuses(tmp_path: Path) -> None:
    refused(run("certify", "variation-ratio:inf,1,2", "--n", "2", "--delta", "1e-9"), 3)
    refused(run(*AMPLIFY, "--certify", "--bound", "local"), 3)
    refused(run("certify", "--verify", str(tmp_path / "none.json")))
    refused(run("certify", "general:eps0=1"))
    refused(run("certify", "general:eps0=1", "--n", "10", "--delta", "0.1", "--out", str(tmp_path / "no" / "x.json")))
    refused(run("certify", "general:eps0=1", "--n", "10", "--delta", "0.1", "--out", str(tmp_path)))


BAD = [
    *(
        ["amplify", "general:eps0=1", "--delta", "1e-6", "--n", n]
        for n in ("0", "-1", "10.5", "ten", "nan", "1e16", "", "1e400")
    ),
    *(["amplify", "general:eps0=1", "--n", "10", "--delta", d] for d in ("0", "1", "nan", "-1e-6", "x", "", "inf")),
    *([*AMPLIFY, "--tol", t] for t in ("0", "1", "nan", "x", "-1")),
    *([*AMPLIFY, "--bound", b] for b in ("blankt", "", "blanket", "variation-ratio-lower")),
    *(
        ["amplify", spec, "--n", "10", "--delta", "0.1"]
        for spec in (
            "genral:eps0=1",
            "general",
            "general:eps0=-1",
            "general:eps0=nan",
            "general:eps=1",
            "general:1,2",
            "variation-ratio:1,0,2",
            "variation-ratio:3,-0.1,3",
            "variation-ratio:3,0.9,3",
            "variation-ratio:3,0.2,0.5",
            "finite:",
            "finite:/no/such.csv",
            "",
        )
    ),
    *(
        ["profile", "general:eps0=1", "--n", "10", "--epsilon", e]
        for e in ("-1", "nan", "x", "0:1", "0:1:0", "0:1:2.5", "0:inf:3", "", "1,,2", "0:1:x", "0:1:1e12")
    ),
]


@pytest.mark.slow_cases("profile general:eps0=1 --n 10 --epsilon 0:1:1e12")
@pytest.mark.parametrize("args", BAD, ids=lambda a: " ".join(a)[:70])
def test_bad_input_is_one_sentence(args: list[str]) -> None:
    if args[-1] == "0:1:1e12":  # must not be tried: a grid of 1e12 points fills the memory
        limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))"
        code = f"{limit}; from shuffledp.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=8, check=False
        )
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr[-200:]
        return
    refused(run(*args))


@pytest.mark.parametrize(
    "args", [[], ["amplify"], ["amplify", "general:eps0=1"], ["nonsense"], [*AMPLIFY, "--side", "x"]]
)
def test_usage_errors(args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 2 and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--nope"], "No such option '--nope'; see 'shuffledp --help'."),
        (["amplify"], "Missing argument 'SPEC'; see 'shuffledp amplify --help'."),
        (["mechanisms", "more"], "Got unexpected extra argument (more); see 'shuffledp mechanisms --help'."),
        (["shuffler", "nope"], "No such command 'nope'; see 'shuffledp shuffler --help'."),
        (["amplfy"], "No such command 'amplfy'. Did you mean 'amplify'?"),
    ],
    ids=str,
)
def test_usage_errors_say_where_help_is(args: list[str], said: str) -> None:
    assert refused(run(*args)) == f"shuffledp: {said}" and "Usage" not in run(*args).output


def test_a_missing_publication_is_named() -> None:
    said = refused(run("collect", "x", "--publication", "no.json", "--keys", "keys", "--shuffler", "shuffler.pub"))
    assert said.startswith("shuffledp: publication must be a readable file, got 'no.json'")


@pytest.mark.parametrize("command", [[], ["amplify"], ["profile"], ["certify"]])
def test_help(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0 and "Usage" in result.stdout
    if command:
        for name in ("general", "variation-ratio", "finite"):
            assert name in result.stdout


@pytest.mark.parametrize("group", [[], ["shuffler"]], ids=str)
def test_what_commands_are_for_is_said_in_a_line_each(group: list[str]) -> None:
    listed = run(*group, "--help").stdout.split("Commands:\n")[1].splitlines()
    assert len(listed) >= 7 and all(line.endswith(".") and not line.endswith("...") for line in listed)


def shell(*args: str) -> subprocess.CompletedProcess[str]:
    run_ = [sys.executable, "-m", "shuffledp", *args]
    return subprocess.run(run_, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Lets amplify fail with an error that nobody expected."""

    def arrange(error: BaseException) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("shuffledp.accounting.amplification.amplify", fail)

    return arrange


def test_a_fault_of_ours_is_no_answer(broken: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHUFFLEDP_TRACEBACK", raising=False)
    for error in (OverflowError("too\nlarge"), RuntimeError(), MemoryError()):
        broken(error)
        text = refused(run(*AMPLIFY), 70)
        assert text.startswith(f"shuffledp: internal error ({type(error).__name__}: ") and "please report" in text
    monkeypatch.setenv("SHUFFLEDP_TRACEBACK", "1")
    told = run(*AMPLIFY)
    assert told.exit_code == 70 and "Traceback" in told.stderr and "internal error" in told.stderr


def test_ctrl_c_and_files(broken: Callable[[BaseException], None]) -> None:
    broken(KeyboardInterrupt())
    assert refused(run(*AMPLIFY), 130) == "shuffledp: stopped."
    broken(PermissionError(13, "Permission denied", "x.bin"))
    assert refused(run(*AMPLIFY)) == "shuffledp: 'x.bin' cannot be used (Permission denied); check it."


@pytest.mark.slow_cases("['amplify', 'general:*", "['mechanisms']")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only on Linux")
@pytest.mark.parametrize("args", [["--help"], ["mechanisms"], AMPLIFY, [*AMPLIFY, "--json"]], ids=str)
def test_output_that_cannot_be_written(args: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "shuffledp", *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("shuffledp: the output cannot be written (No space left on device)")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "args", [["--help"], ["mechanisms", "--json"], ["bounds"], ["compare", *AMPLIFY[1:]], PLAN], ids=str
)
def test_a_reader_who_has_gone_is_no_answer(args: list[str]) -> None:
    """The 1 with which click leaves would say that a target is not met."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "shuffledp", *args]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"epsilon": float("nan")})


@pytest.mark.heavy
def test_real_processes() -> None:
    good = shell(*AMPLIFY, "--json")
    assert good.returncode == 0 and good.stderr == "" and json.loads(good.stdout)["n"] == 10**6
    bad = shell("amplify", "general:eps0=1", "--n", "0", "--delta", "1e-8")
    assert bad.returncode == 2 and bad.stdout == "" and bad.stderr.count("\n") == 1
    unproved = shell("certify", "variation-ratio:inf,1,2", "--n", "2", "--delta", "1e-9")
    assert unproved.returncode == 3 and unproved.stderr.count("\n") == 1
    assert shell("--version").stdout.strip().endswith(sdp.__version__)


@pytest.mark.parametrize("command", base.COLLECTING)
def test_collecting_elsewhere_than_on_posix_is_refused(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "POSIX", False)
    assert f"the command {command} must run on Linux, macOS or another POSIX system" in refused(run(command, "--help"))
    assert run(*AMPLIFY).exit_code == 0
