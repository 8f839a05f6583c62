"""Text from files and labels is shown in the terminal, never obeyed: one helper, used by every command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.commands import run
from shuffledp._support.text import visible

HOSTILE = "week\nWITHIN BUDGET: all is well\x1b[2K\x1b]0;title\x07\x9b31m\u202e\u2028\r\x08end"


@pytest.mark.heavy
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and shown.encode("utf-8").decode("utf-8") == shown
    assert shown == text or not text.isprintable()


def test_plain_text_of_any_script_stays() -> None:
    for text in ("", "weekly telemetry", "C:\\data\\m.csv", "Häufigkeit", "週", "a'b\"c"):
        assert visible(text) == text
    assert visible("a\tb\nc\x1b") == "a\\tb\\nc\\x1b"


def quiet(result: Result, *codes: int) -> str:
    """Only printing characters and line breaks; no line that begins as the forged one does."""
    assert result.exit_code in codes, (result.exit_code, result.output)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert all(c.isprintable() or c == "\n" for c in result.output), ascii(result.output)
    assert not re.search(r"^WITHIN BUDGET: all", result.output, re.M), result.output
    return result.output


def test_a_programme(tmp_path: Path) -> None:
    rounds = [{"name": HOSTILE, "mechanism": "grr:eps0=2,d=4", "users": 1000}]
    plan = {"version": 1, "name": HOSTILE, "target": {"epsilon": "0.001", "delta": "1e-6"}, "rounds": rounds}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    said = quiet(run("check", str(path)), 1, 2)
    plan["rounds"] = [{"mechanism": f"grr:{HOSTILE}", "users": 1000}]
    path.write_text(json.dumps(plan))
    quiet(run("check", str(path)), 2)
    assert "OVER BUDGET: week" in said or "must" in said


def test_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    sdp.Accountant().compose("grr:eps0=2,d=4", n=1000, name=HOSTILE).save(path)
    assert "week\\n" in quiet(run("compose", str(path)), 0)
    text = path.read_text()
    path.write_text(text.replace("grr:eps0=2,d=4", "grr:eps0=2,d=\\u001b[2K"))
    quiet(run("compose", str(path), "--delta", "1e-6"), 2)


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    """The spec of a matrix in a file with a hostile name."""
    path = tmp_path / HOSTILE.replace("/", "")
    path.write_text("0.75,0.25\n0.25,0.75\n")
    return f"finite:{path}"


@pytest.mark.heavy_cases("users 1e-6")
@pytest.mark.parametrize(
    "command",
    [
        ["amplify", "--n", "100", "--delta", "1e-6"],
        ["profile", "--n", "100", "--epsilon", "0.1"],
        ["compare", "--n", "100", "--delta", "1e-6"],
        ["compare", "--delta", "1e-6", "--sweep", "n=100,200", "--bound", "blanket"],
        ["users", "--epsilon", "0.5", "--delta", "1e-6"],
        ["certify", "--n", "100", "--delta", "1e-6"],
        ["compose", "--delta", "1e-6"],
    ],
    ids=lambda c: " ".join(c[:1] + c[-1:]),
)
def test_the_name_of_a_matrix(command: list[str], matrix: str) -> None:
    name, *rest = command
    spec = ["--round", f"{matrix},n=100"] if name == "compose" else [matrix]
    quiet(run(name, *spec, *rest), 0)
    quiet(run(name, *(part.replace("finite:", "finite:no") for part in spec), *rest), 2)


def test_results_in_python(matrix: str) -> None:
    m = sdp.mechanism(matrix)
    texts = [
        str(sdp.amplify(m, n=100, delta=1e-6)),
        str(sdp.compare(m, n=100, delta=1e-6, bounds=["blanket", "analytic"])),
        str(sdp.sweep(m, n=[100, 200], delta=1e-6, bounds=["blanket"])),
        str(sdp.batch_table(m, delta=1e-6, n=[100])),
        str(sdp.amplify_mixed([(m, 100)], delta=1e-6)),
        str(sdp.amplify(m, n=100, delta=1e-6, certify=True).certificate),
    ]
    for text in texts:
        assert all(c.isprintable() or c == "\n" for c in text) and "\nWITHIN BUDGET: all" not in text, text


def test_commands_speak_through_one_function() -> None:
    """click.echo stands only where JSON is printed, and in the function that escapes."""
    folder = Path(sdp.__file__).parent / "cli"
    found = {p.name: p.read_text(encoding="utf-8").count("click.echo(") for p in folder.glob("*.py")}
    assert {name: k for name, k in found.items() if k} == {"base.py": 2, "account.py": 1, "check.py": 1}
