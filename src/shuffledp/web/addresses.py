"""Where the API answers: which line of work an address waits in; known to the server, which computes nothing itself."""

from __future__ import annotations

from typing import Literal

#: The lines of work: answers while a slider moves, longer ones, and the ranking.  A long one holds up no short one.
Line = Literal["quick", "slow", "rank"]
#: Processes of a line, started when they are needed; of the longer answers one may be long and not hold up another.
PROCESSES: dict[Line, int] = {"quick": 1, "slow": 2, "rank": 1}
#: Address -> line.
ANSWERS: dict[str, Line] = {
    "/api/guarantee": "quick",
    "/api/curves": "quick",
    "/api/mechanisms": "quick",
    "/api/tasks": "quick",
    "/api/compare": "slow",
    "/api/dropouts": "slow",
    "/api/compose": "slow",
    "/api/rank": "rank",
}
#: Address of a file -> line and type.  Those of the ranking are made where it is known.
FILES: dict[str, tuple[Line, str]] = {
    "/api/download/plan.json": ("rank", "application/json"),
    "/api/download/report.html": ("rank", "text/html; charset=utf-8"),
    "/api/download/certificate.json": ("slow", "application/json"),
    "/api/download/curves.csv": ("slow", "text/csv; charset=utf-8"),
    "/api/download/bounds.csv": ("slow", "text/csv; charset=utf-8"),
}
