"""audit --python: a function of a module of the current directory; whatever it does wrong gives one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp as sdp
from reference.commands import refused, run

CODE = """
import random

class Mute(Exception):
    def __str__(self): raise RuntimeError("nor this")
class Faceless:
    def __init__(self, x): self.x = x
    def __hash__(self): return self.x
    def __eq__(self, other): return self.x == other.x
    def __repr__(self): raise Mute

def honest(x):
    print("called")
    return x if random.random() < 0.73 else 1 - x
def leaky(x): return x
def vector(x):
    import numpy as np
    return np.where(np.random.default_rng().random(len(x)) < 0.73, x, 1 - x)
number = 3

def raising(error):
    def function(x): raise error
    return function
raises, mute, leaves = raising(KeyError("no such user")), raising(Mute()), raising(SystemExit(0))
generator, escape = raising(GeneratorExit()), raising(ValueError("\\x1b[31mred\\nline"))
def giant(x): return 10**5000
def nothing(x): return None
def faceless(x): return Faceless(x)
"""
MODULES = {
    "audited_code": CODE,
    "loud_code": "print('imported')\nfrom audited_code import honest",
    "broken_code": "raise RuntimeError('no\\nluck')",
    "leaving_code": "raise SystemExit(0)",
    "syntax_code": "def (",
}
FEW = ["--inputs", "0,1", "--samples", "400"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def really(*args: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a user runs it."""
    command = [sys.executable, "-P", "-m", "shuffledp", "audit", "--python", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.heavy
def test_audit_of_code(here: Path) -> None:
    args = ["--inputs", "0,1", "--samples", "4000", "--confidence", "0.999999", "--json"]
    good = really("loud_code:honest", "--eps0", "1", *args)
    data = json.loads(good.stdout)
    assert good.returncode == 0 and 0.5 < data["lower"] <= 1.0 and data["inputs"] == [0, 1]
    said = good.stderr.split()
    assert said.count("imported") == 1 and said.count("called") == 8000, "prints must not mix with the answer"
    leak = run("audit", "--python", "audited_code:leaky", "--eps0", "1", *args)
    assert leak.exit_code == 1 and json.loads(leak.stdout)["violated"] is True
    assert run("audit", "--python", "audited_code:vector", "--vectorized", "--eps0", "1", *args).exit_code == 0
    assert str(here) not in sys.path


def test_the_sentences_are_those_of_the_library(here: Path) -> None:
    pair = ["--inputs", "[0,1],[1,0]", "--claimed", "general:eps0=1", "--samples", "400"]
    result = run("audit", "--python", "audited_code:leaky", *pair)
    found = sdp.audit(lambda x: x, inputs=[[0, 1], [1, 0]], claimed="general:eps0=1", samples=400)
    assert result.exit_code == 1 and result.stdout.strip() == str(found).replace("the given function", "leaky")


def test_reports_that_cannot_be_shown_are_still_compared(here: Path) -> None:
    result = run("audit", "--python", "audited_code:faceless", "--eps0", "1", *FEW)
    assert result.exit_code == 1 and "a Faceless" in result.stdout


@pytest.mark.heavy
def test_modules_of_the_directory_do_not_hide_those_of_the_library(here: Path) -> None:
    for name in ("random", "numpy"):
        (here / f"{name}.py").write_text("raise RuntimeError('the library must not import this')")
    (here / "plain_code.py").write_text("import time\ndef f(x): return (x + (time.time_ns() >> 4)) % 2")
    assert really("plain_code:f", "--eps0", "5", *FEW).returncode == 0


def test_code_is_not_run_unasked(here: Path) -> None:
    text = refused(run("audit", "audited_code:honest", "--inputs", "0,1"))
    assert "--python" in text and "audited_code" not in sys.modules


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("audited_code:raises", "got KeyError on input 0 ('no such user')"),
        ("audited_code:mute", "got Mute on input 0;"),
        ("audited_code:leaves", "got SystemExit on input 0 (0)"),
        ("audited_code:generator", "got GeneratorExit on input 0"),
        ("audited_code:escape", r"got ValueError on input 0 (\x1b[31mred line)"),
        ("audited_code:giant", "got a whole number of more than 307 digits"),
        ("audited_code:nothing", "got None"),
        ("audited_code:number", "must name a function as module:function"),
        ("audited_code:missing", "got none of that name"),
        ("broken_code:f", "got RuntimeError (no luck)"),
        ("leaving_code:f", "got SystemExit (0)"),
        ("syntax_code:f", "got SyntaxError"),
        ("no_such_module:f", "got ModuleNotFoundError"),
        ("audited_code", "must name a function as module:function"),
        ("os.system('x'):f", "must name a function as module:function"),
        ("", "must name a function as module:function"),
    ],
)
def test_bad_code_is_one_sentence(here: Path, name: str, expected: str) -> None:
    said = refused(run("audit", "--python", name, *FEW))
    assert expected in said and said.startswith("shuffledp: ") and said.endswith(".")
