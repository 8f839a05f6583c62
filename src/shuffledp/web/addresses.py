"""Where the API answers: which line of work an address waits in; known to the server, which computes nothing itself."""

from __future__ import annotations

from typing import Literal

#: The lines of work: answers while a slider moves, longer ones, rankings, programmes; a long one holds up no short one.
Line = Literal["quick", "slow", "rank", "programme"]
#: Processes of a line, started when they are needed; of the longer answers one may be long and not hold up another.
PROCESSES: dict[Line, int] = {"quick": 1, "slow": 2, "rank": 1, "programme": 1}
#: Address -> line.
ANSWERS: dict[str, Line] = {
    "/api/guarantee": "quick",
    "/api/curves": "quick",
    "/api/mechanisms": "quick",
    "/api/tasks": "quick",
    "/api/total": "slow",
    "/api/compare": "slow",
    "/api/dropouts": "slow",
    "/api/compose": "slow",
    "/api/mixed": "slow",
    "/api/rank": "rank",
    "/api/statement": "rank",
    "/api/programme": "programme",
}
#: Address of a file -> line and type.  Those of the ranking are made where it is known.
FILES: dict[str, tuple[Line, str]] = {
    "/api/download/plan.json": ("rank", "application/json"),
    "/api/download/report.html": ("rank", "text/html; charset=utf-8"),
    "/api/download/statement.html": ("rank", "text/html; charset=utf-8"),
    "/api/download/certificate.json": ("slow", "application/json"),
    "/api/download/curves.csv": ("slow", "text/csv; charset=utf-8"),
    "/api/download/bounds.csv": ("slow", "text/csv; charset=utf-8"),
    "/api/download/programme.yaml": ("programme", "application/yaml"),
    "/api/download/plans.zip": ("programme", "application/zip"),
    "/api/download/programme-statement.html": ("programme", "text/html; charset=utf-8"),
}
#: Longest path with its query; a programme is several questions.
MOST_PATH = 2000
_LINES = ANSWERS | {path: line for path, (line, _) in FILES.items()}
_LONG = {path: 8000 for path, line in _LINES.items() if line == "programme"}


def most_characters(path: str) -> int:
    """How long the address of a request may be.

    >>> most_characters("/api/guarantee"), most_characters("/api/programme")
    (2000, 8000)
    """
    return _LONG.get(path, MOST_PATH)
