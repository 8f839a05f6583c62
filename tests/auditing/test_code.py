"""audit --python: code that ends, hangs, crashes or lies gives one sentence, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.auditing import isolated

CODE = """
import ctypes, os, random, signal, subprocess, sys, time
print("imported")

class Mute(Exception):
    def __str__(self): raise RuntimeError("nor this")
class Stop(KeyboardInterrupt): pass
class Leave(SystemExit): pass
class Nothing:
    def __hash__(self): return 1
    def __eq__(self, other): raise Mute
class Faceless:
    def __init__(self, x): self.x = x
    def __hash__(self): return self.x
    def __eq__(self, other): return self.x == other.x
    def __repr__(self): raise Mute

def honest(x): return x if random.random() < 0.73 else 1 - x
def leaky(x): return x
def vector(x):
    import numpy as np
    return np.where(np.random.default_rng().random(len(x)) < 0.73, x, 1 - x)
class Box:
    coin = staticmethod(honest)
number = 3

def raising(error):
    def function(x): raise error
    return function
raises, mute, stops = raising(KeyError("no such user")), raising(Mute()), raising(Stop())
generator, interrupts, leaves = raising(GeneratorExit()), raising(KeyboardInterrupt()), raising(Leave(0))
escape = raising(ValueError("\\x1b[31mred\\nline"))

def returning(report): return lambda x: report
giant, giants = returning(10**5000), returning([10**5000, 0.5])
nothing, junk = returning(None), returning(object())
def odd(x): return Nothing()
def giant_row(x): return [10**400, 0.5] * (len(x) // 2)
def faceless(x): return Faceless(honest(x))

def exits(x): os._exit(0)
def exits_with(x): os._exit(7)
def segfault(x): ctypes.string_at(0)
def aborts(x): os.abort()
def killed(x): os.kill(os.getpid(), signal.SIGKILL)
def closes(x):
    os.closerange(3, 64)
    return honest(x)
def forges(x):
    for fd in range(3, 64):
        try: os.write(fd, b'{"found": {"lower": 0}}\\n')
        except OSError: pass
    return honest(x)
def chatty(x):
    print('{"refused": "no"}'); sys.__stdout__.write('{"refused": "no"}\\n'); os.write(1, b'{"refused": "no"}\\n')
    try: input()
    except EOFError: return honest(x)
    return 7
def patient(x):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open("pids", "w") as file:
        print(os.getpid(), subprocess.Popen(["sleep", "1000"]).pid, file=file)
    os.rename("pids", "pids.txt")
    while True: time.sleep(0.01)
def leaves_a_child(x):
    if not os.path.exists("pids.txt"):
        with open("pids.txt", "w") as file:
            print(subprocess.Popen(["sleep", "1000"]).pid, file=file)
    return honest(x)
"""
MODULES = {
    "audited_code": CODE,
    "broken_code": "raise RuntimeError('no\\nluck')",
    "leaving_code": "raise SystemExit(0)",
    "ending_code": "import os; os._exit(0)",
    "syntax_code": "def (",
    "random": "raise RuntimeError('the library must not import this')",
    "lazy_code": "def __getattr__(name): raise GeneratorExit",
}
FEW = ["--inputs", "0,1", "--samples", "400"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in MODULES.items():
        if name != "random":
            (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def command(*args: str) -> list[str]:
    return [sys.executable, "-P", "-m", "shuffledp", "audit", "--python", *args]  # as the installed script does


def really(*args: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a user runs it."""
    return subprocess.run(
        command(*args), capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )


def interruptible() -> None:
    """A process that was started in the background ignores SIGINT, and so would everything that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def gone(*pids: int) -> bool:
    """The processes have ended (or wait for their parent to notice) within some seconds."""
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        if not any(_running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def pids(here: Path, wait: float = 60.0) -> list[int]:
    """Process ids that the code has written down."""
    until = time.monotonic() + wait
    while time.monotonic() < until:
        if (here / "pids.txt").exists():
            return [int(word) for word in (here / "pids.txt").read_text().split()]
        time.sleep(0.05)
    raise TimeoutError("the code never ran")


# -- answers ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_audit_of_code(here: Path) -> None:
    args = ["--inputs", "0,1", "--samples", "4000", "--confidence", "0.999999", "--json"]
    good = really("audited_code:honest", "--eps0", "1", *args)
    data = json.loads(good.stdout)
    assert good.returncode == 0 and 0.5 < data["lower"] <= 1.0 and data["inputs"] == [0, 1]
    assert "imported" in good.stderr, "what the code prints must not mix with the answer"
    leak = run("audit", "--python", "audited_code:leaky", "--eps0", "1", *args)
    assert leak.exit_code == 1 and json.loads(leak.stdout)["violated"] is True
    assert run("audit", "--python", "audited_code:vector", "--vectorized", "--eps0", "1", *args).exit_code == 0
    assert run("audit", "--python", "audited_code:Box.coin", "--eps0", "1", *args).exit_code == 0
    assert "audited_code" not in sys.modules and str(here) not in sys.path


@pytest.mark.heavy
def test_the_sentences_are_those_of_the_library(here: Path) -> None:
    result = really("audited_code:leaky", "--inputs", "[0,1],[1,0]", "--claimed", "general:eps0=1", "--samples", "400")
    found = sdp.audit(lambda x: x, inputs=[[0, 1], [1, 0]], claimed="general:eps0=1", samples=400)
    expected = str(found).replace("the given function", "leaky")
    assert result.returncode == 1 and result.stdout.strip() == expected


@pytest.mark.heavy
def test_prints_do_not_disturb(here: Path) -> None:
    result = really("audited_code:chatty", "--eps0", "1", *FEW, "--json")
    assert result.returncode == 0 and json.loads(result.stdout)["claimed"] == 1.0
    assert result.stderr.count('{"refused": "no"}') == 3 * 800


@pytest.mark.heavy
def test_reports_that_cannot_be_shown_are_still_compared(here: Path) -> None:
    result = really("audited_code:faceless", "--eps0", "1", *FEW)
    assert result.returncode == 0 and "a Faceless" in result.stdout


@pytest.mark.heavy
def test_modules_of_the_directory_do_not_hide_those_of_the_library(here: Path) -> None:
    (here / "random.py").write_text(MODULES["random"])
    (here / "numpy.py").write_text(MODULES["random"])
    (here / "plain_code.py").write_text("import time\ndef f(x): return (x + (time.time_ns() >> 4)) % 2")
    assert really("plain_code:f", "--eps0", "5", *FEW).returncode == 0


def test_code_is_not_run_unasked(here: Path) -> None:
    text = refused(run("audit", "audited_code:honest", "--inputs", "0,1"))
    assert "--python" in text and "audited_code" not in sys.modules


# -- one sentence ----------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "*-got a whole number of more than 307 digits",
    "*-got the end of its process (exit code 0) instead",
    "audited_code:aborts-got a crash of its process (SIGABRT)",
    "audited_code:closes-instead; run it by itself",
    "audited_code:escape-got *",
    "audited_code:exits_with-*",
    "audited_code:forges-got an answer that cannot be read",
    "audited_code:generator-got GeneratorExit on input 0",
    "audited_code:interrupts-got KeyboardInterrupt",
    "audited_code:killed-got a crash of its process (SIGKILL)",
    "audited_code:leaves-got Leave on input 0 (0)",
    "audited_code:mute-got Mute on input 0;",
    "audited_code:odd-got Mute when they were",
    "audited_code:stops-got Stop on input 0",
    "lazy_code:f-got GeneratorExit; check the module",
    "leaving_code:f-got SystemExit (0)",
)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("audited_code:exits", "got the end of its process (exit code 0) instead"),
        ("audited_code:exits_with", "got the end of its process (exit code 7) instead"),
        ("ending_code:f", "got the end of its process (exit code 0) instead"),
        ("audited_code:generator", "got GeneratorExit on input 0"),
        ("audited_code:interrupts", "got KeyboardInterrupt"),
        ("audited_code:stops", "got Stop on input 0"),
        ("audited_code:leaves", "got Leave on input 0 (0)"),
        ("audited_code:mute", "got Mute on input 0;"),
        ("audited_code:escape", r"got ValueError on input 0 (\x1b[31mred line)"),
        ("audited_code:giant", "got a whole number of more than 307 digits"),
        ("audited_code:giants", "got a whole number of more than 307 digits"),
        ("audited_code:odd", "got Mute when they were"),
        ("audited_code:segfault", "got a crash of its process (SIGSEGV)"),
        ("audited_code:aborts", "got a crash of its process (SIGABRT)"),
        ("audited_code:killed", "got a crash of its process (SIGKILL)"),
        ("audited_code:closes", "instead; run it by itself"),
        ("audited_code:forges", "got an answer that cannot be read"),
        ("lazy_code:f", "got GeneratorExit; check the module"),
        ("leaving_code:f", "got SystemExit (0)"),
    ],
)
def test_hostile_code_is_one_sentence(here: Path, name: str, expected: str) -> None:
    said = refused(run("audit", "--python", name, *FEW))
    assert expected in said and said.startswith("shuffledp: ") and said.endswith(".")


@pytest.mark.heavy
@pytest.mark.slow_cases("audited_code:exits", "audited_code:segfault")
@pytest.mark.parametrize("name", ["audited_code:exits", "audited_code:interrupts", "audited_code:segfault"])
def test_hostile_code_in_a_real_process(here: Path, name: str) -> None:
    result = really(name, *FEW)
    assert result.returncode == 2 and result.stdout == "" and "Traceback" not in result.stderr, result
    said = [line for line in result.stderr.splitlines() if line != "imported"]
    assert len(said) == 1 and said[0].startswith("shuffledp: ") and said[0].endswith(".")


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "audited_code:*",
    "-module:function",
    "broken_code:f-RuntimeError (no luck)",
    "no_such_module:f-ModuleNotFoundError",
    "os.system('x'):f-module:function",
    "syntax_code:f-SyntaxError",
)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("audited_code:raises", "KeyError"),
        ("audited_code:junk", "randomizer must return"),
        ("audited_code:nothing", "randomizer must return"),
        ("audited_code:missing", "must name a function"),
        ("audited_code:number", "must name a function, got a value of type int"),
        ("broken_code:f", "RuntimeError (no luck)"),
        ("syntax_code:f", "SyntaxError"),
        ("no_such_module:f", "ModuleNotFoundError"),
        ("audited_code", "module:function"),
        ("audited_code:", "module:function"),
        ("os.system('x'):f", "module:function"),
        ("", "module:function"),
    ],
)
def test_bad_code_is_one_sentence(here: Path, name: str, expected: str) -> None:
    assert expected in refused(run("audit", "--python", name, *FEW))


@pytest.mark.heavy
def test_giant_numbers_of_a_vectorized_function(here: Path) -> None:
    text = refused(run("audit", "--python", "audited_code:giant_row", "--vectorized", *FEW))
    assert "got a whole number of more than 307 digits" in text


def test_bad_time_limits(here: Path) -> None:
    for bad in ("0", "-1", "nan", "soon", "1e9"):
        text = refused(run("audit", "--python", "audited_code:honest", *FEW, "--time-limit", bad))
        assert text.startswith("shuffledp: time-limit must")
    assert "go with --python" in refused(run("audit", "grr:eps0=1,d=3", "--time-limit", "5"))


# -- nothing is left behind ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_time_limit_ends_the_code_and_what_it_started(here: Path) -> None:
    begun = time.monotonic()
    result = really("audited_code:patient", *FEW, "--time-limit", "10")
    assert result.returncode == 2 and 10.0 <= time.monotonic() - begun < 60.0
    assert result.stderr.splitlines()[-1].startswith("shuffledp: randomizer must be audited within 10 seconds")
    assert gone(*pids(here))


@pytest.mark.heavy
def test_an_answer_ends_what_the_code_started(here: Path) -> None:
    assert really("audited_code:leaves_a_child", "--eps0", "1", *FEW).returncode == 0
    assert gone(*pids(here))


@pytest.mark.heavy
@pytest.mark.slow_cases("2-130", "9--9")
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_the_code_ends_with_the_command(here: Path, sent: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        command("audited_code:patient", *FEW), stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    ) as started:
        running = pids(here)
        started.send_signal(sent)
        _, said = started.communicate(timeout=60)
    assert started.returncode == code and "Traceback" not in said
    assert sent != signal.SIGINT or said.splitlines()[-1] == "shuffledp: stopped."
    assert gone(*running)


# -- what the child says is not trusted ------------------------------------------------------------------------

TERMS = {"inputs": [0, 1], "claimed": None, "eps0": 1.0, "samples": 400.0, "confidence": 0.99, "vectorized": False}


def answer(**changes: Any) -> dict[str, Any]:
    found = sdp.audit(lambda x: x, inputs=[0, 1], eps0=1.0, samples=400).to_dict()
    return {**found, **changes}


def test_a_true_answer_is_read_back() -> None:
    found = isolated._found(json.loads(json.dumps(answer())), TERMS)
    assert found.to_dict() == answer() and found.violated and found.pair == (0, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"lower": -1.0},
        {"lower": "inf"},
        {"lower": float("inf")},
        {"lower": float("nan")},
        {"lower": True},
        {"lower": None},
        {"lower": 0.0},  # then nothing is violated
        {"violated": False},
        {"violated": 1},
        {"confidence": 0.999},
        {"samples": 4000},
        {"samples": 400.0},
        {"event": None},
        {"event": ["a"]},
        {"pair": [0, 2]},
        {"pair": [0]},
        {"pair": {"0": 1}},
        {"hits": [201, 0]},
        {"hits": [1.0, 0]},
        {"hits": [-1, 0]},
        {"hits": [True, 0]},
        {"proved_on": 0},
        {"proved_on": 10**9},
        {"inputs": [0, 2]},
        {"inputs": [0, 1, 2]},
        {"inputs": 2},
        {"listed": 1},
        {"listed": "2"},
        {"claimed": 9.0},
        {"claimed": None},
        {"law": 1.5},
        {"law": "0"},
        {"law_words": 3},
        {"more": 1},
    ],
    ids=str,
)
def test_false_answers_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(sdp.ParameterError, match="an answer that cannot be read"):
        isolated._found(answer(**changes), TERMS)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"null",
        b'{"found": 1}',
        b'{"refused": ""}',
        b'{"refused": ["a"]}',
        b'{"refused": "a", "progress": [1, 2]}',
        b'{"progress": [2, 1]}',
        b'{"progress": [1.0, 2]}',
        b'{"progress": [1]}',
        b'{"other": 1}',
        b"[" * 100_000,
        b'{"progress": [1, ' + b"9" * 5000 + b"]}",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_other_messages_are_refused(line: bytes) -> None:
    with pytest.raises(sdp.ParameterError, match="an answer that cannot be read"):
        isolated._message(line)


def test_text_of_the_child_cannot_steer_a_terminal() -> None:
    assert isolated._found(answer(event="a\x1b[2J\nb"), TERMS).event == "a\\x1b[2J b"
