"""Good files of every kind that the library reads, and how each kind is read in Python and on the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import shuffledp as sdp

COIN = [[0.75, 0.25], [0.25, 0.75]]
PROGRAMME = """version: 1
name: weekly
population: {users: 10_000, dropouts: 0.05, colluding: 100}
target: {epsilon: 1.0, delta: 1e-6}
rounds:
  - {name: kind, mechanism: "grr:eps0=2,d=16", participation_limit: 1}
"""
QUERIES = "# two\n- weight: 1/3\n  spec: grr:eps0=1,d=4\n- weight: 2/3\n  spec: 'general:eps0=2'\n"


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


def _proof(subject: Any, n: int, bound: str = "auto") -> bytes:
    made = sdp.amplify(subject, n=n, delta=1e-4, bound=bound, certify=True).certificate
    assert made is not None
    return made.to_json().encode()


@cache
def certificates() -> list[bytes]:
    law = sdp.ShuffledPair(P0=[0.6, 0.3, 0.1], P1=[0.3, 0.5, 0.2], t=[0.3, 0.3, 0.1])
    return [
        _proof("general:eps0=1", 10_000, "variation-ratio"),
        _proof(sdp.FiniteRandomizer(COIN), 50, "blanket"),
        _proof(law, 20),
        _proof("general:eps0=1", 10_000, "swap-general"),
    ]


@cache
def ledgers() -> list[bytes]:
    account = sdp.Accountant()
    account.compose("grr:eps0=1,d=4", n=1000, count=30, name="weekly", participation_limit=7)
    account.compose(sdp.FiniteRandomizer(COIN), n=50, bound="variation-ratio", reports_per_user=2)
    account.compose(sdp.ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25]), n=500)
    account.compose("variation-ratio:p=inf,beta=0.2,q=9", n=10**6)
    with TemporaryDirectory() as folder:
        account.save(Path(folder) / "ledger.json")
        return [(Path(folder) / "ledger.json").read_bytes()]


def programmes() -> list[bytes]:
    rounds = [{"mechanism": "grr:eps0=2,d=16", "users": 1000}]
    listed = {"version": 1, "target": {"epsilon": 1, "delta": 1e-6}, "rounds": rounds}
    return [PROGRAMME.encode(), PROGRAMME.encode(), json.dumps(listed, indent=1).encode()]


def queries() -> list[bytes]:
    listed = [{"weight": 0.5, "spec": "grr:eps0=1,d=4"}, {"weight": "1/2", "spec": "grr:eps0=2,d=9"}]
    return [QUERIES.encode(), json.dumps(listed).encode()]


def answers() -> list[bytes]:
    return [
        b"- spec: grr:eps0=1,d=4\n- spec: unary:eps0=0.5,d=8\n",
        b'[{"spec": "grr:eps0=1,d=4"}, {"spec": "laplace:eps0=1"}]',
    ]


def matrices() -> list[bytes]:
    return [b"0.75,0.25\n0.25,0.75\n", b"# a table\n0.5 0.4 0.1\n0.1 0.4 0.5 # second\n"]


def arrays() -> list[bytes]:
    return [_npy(COIN), _npy(np.eye(3, dtype=np.int8)), _npy(np.asfortranarray(np.full((3, 4), 0.25, np.float32)))]


def distances() -> list[bytes]:
    return [b"0,1,2\n1,0,1\n2,1,0\n", b"0 3\n3 0\n"]


def _composed(path: Path) -> None:
    for entry in sdp.Accountant.load(path).entries:
        _ = entry.cost, entry.mechanism.spec


KINDS: dict[str, tuple[str, Callable[[], list[bytes]], Callable[[Path], object]]] = {
    "certificate": ("proof.json", certificates, sdp.verify),
    "ledger": ("ledger.json", ledgers, _composed),
    "programme": ("plan.yaml", programmes, sdp.check),
    "queries": ("queries.yaml", queries, lambda path: sdp.mechanism(f"parallel:{path}")),
    "answers": ("answers.yaml", answers, lambda path: sdp.mechanism(f"joint:{path}")),
    "matrix": ("matrix.csv", matrices, lambda path: sdp.mechanism(f"finite:{path}")),
    "array": ("matrix.npy", arrays, lambda path: sdp.mechanism(f"finite:{path}")),
    "distances": ("distances.csv", distances, lambda path: sdp.mechanism(f"exponential-metric:eps=1,{path}")),
}


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "certificate": lambda path: ["certify", "--verify", str(path)],
    "ledger": lambda path: ["compose", str(path)],
    "programme": lambda path: ["check", str(path)],
    "queries": lambda path: ["amplify", f"parallel:{path}", "--n", "1000", "--delta", "1e-6"],
    "answers": lambda path: ["amplify", f"joint:{path}", "--n", "1000", "--delta", "1e-6"],
    "matrix": lambda path: ["amplify", f"finite:{path}", "--n", "1000", "--delta", "1e-6"],
    "array": lambda path: ["amplify", f"finite:{path}", "--n", "1000", "--delta", "1e-6"],
    "distances": lambda path: ["amplify", f"exponential-metric:eps=1,{path}", "--n", "1000", "--delta", "1e-6"],
}


def command(kind: str, path: Path) -> subprocess.CompletedProcess[str]:
    """The real command, with little memory and little time."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32)); "
    code = limit + "import sys; from shuffledp.cli import main; main()"
    run = [sys.executable, "-c", code, *COMMANDS[kind](path)]
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
