"""The command line, with --json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Asked = dict[str, Any]
BRACKET = {"epsilon": "upper", "lower": "lower"}


def _command(line: str, **read: str) -> Asked:
    return {"ask": "command", "args": [*line.split(), "--json"], "read": read}


def _paths(prefix: str, read: dict[str, str]) -> dict[str, str]:
    return {f"{prefix}.{path}": side for path, side in read.items()}


def questions() -> Iterator[Asked]:
    terms = "--n 10000 --delta 1e-6 --tol 1e-6"
    for spec in ("general:eps0=1", "grr:eps0=2,d=16", "unary:eps0=1,d=8", "subset:eps0=1,d=8", "harmony:eps0=1,dim=3"):
        yield _command(f"amplify {spec} {terms}", **BRACKET)
    yield _command(f"amplify grr:eps0=2,d=16 {terms} --bound clone", epsilon="upper")
    yield _command(f"amplify grr:eps0=2,d=16 {terms} --dropouts 0.1 --colluding 10", **BRACKET)
    yield _command(f"amplify general:eps0=1 {terms} --certify", epsilon="upper")
    for spec in ("general:eps0=1", "grr:eps0=2,d=16"):
        yield _command(f"profile {spec} --n 1e5 --epsilon 0.01,0.05 --tol 1e-6", delta="upper")
        yield _command(f"profile {spec} --n 1e5 --epsilon 0.01,0.05 --tol 1e-6 --side lower", delta="lower")
    for bound in ("blanket", "clone", "local"):
        line = f"compare grr:eps0=1,d=4 --n 1e4 --delta 1e-6 --tol 1e-6 --bound {bound}"
        yield _command(line, **{"rows.0.epsilon": "upper"})
    line = "compare grr:d=4 --n 1e4 --delta 0.01/n --tol 1e-6 --bound blanket --sweep eps0=0.5,1,2"
    yield _command(line, **{"bounds.blanket.epsilon": "upper"})
    for spec in ("grr:d=16", "unary:d=16", "general"):
        line = f"calibrate {spec} --n 1e5 --epsilon 0.2 --delta 1e-7 --tol 1e-6"
        yield _command(line, **{"guarantee.local_epsilon": "lower", "guarantee.epsilon": "upper"})
    for spec in ("general:eps0=1", "grr:eps0=2,d=16"):
        yield _command(f"users {spec} --epsilon 0.1 --delta 1e-6 --tol 1e-6", n="upper")
    yield _command("users general:eps0=20 --epsilon 1e-9 --delta 1e-6")
    for line in ("grr:eps0=2,d=16,n=1e4,count=10", "general:eps0=1,n=1e5,count=100"):
        yield _command(f"compose --round {line} --delta 1e-6", **_paths("guarantee", BRACKET))
    yield _command("compose --round grr:eps0=2,d=16,n=1e4,count=10 --delta 1e-6 --target 0.1")
    yield _command("certify grr:eps0=1,d=4 --n 1e4 --delta 1e-6 --tol 1e-6", epsilon="upper")
    yield _command("bounds")
    yield _command("mechanisms")
