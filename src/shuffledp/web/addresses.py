"""Where the API answers, known to the server, which computes nothing itself: who waits in which line for what."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: The lines of work: answers while a slider moves, longer ones, rankings, programmes; a long one holds up no short one.
Line = Literal["quick", "slow", "rank", "programme"]
#: Processes of a line, started when they are needed; of the longer answers one may be long and not hold up another.
PROCESSES: dict[Line, int] = {"quick": 1, "slow": 2, "rank": 1, "programme": 1}


class Address(NamedTuple):
    """The line in which an address waits, the function that answers (work.py), and the type of what it gives."""

    line: Line
    function: str
    kind: str = "application/json"


_PAGE, _TABLE = "text/html; charset=utf-8", "text/csv; charset=utf-8"
ANSWERS = {
    "/api/guarantee": Address("quick", "answers.guarantee"),
    "/api/curves": Address("quick", "work.some_points"),
    "/api/mechanisms": Address("quick", "work.all_mechanisms"),
    "/api/tasks": Address("quick", "work.all_tasks"),
    "/api/total": Address("slow", "answers.total"),
    "/api/compare": Address("slow", "answers.compare"),
    "/api/dropouts": Address("slow", "answers.dropouts"),
    "/api/compose": Address("slow", "answers.compose"),
    "/api/mixed": Address("slow", "mixing.mixed"),
    "/api/rank": Address("rank", "ranking.rank"),
    "/api/statement": Address("rank", "ranking.statement"),
    "/api/programme": Address("programme", "programmes.programme"),
}
#: Files to take away.  Those of the ranking are made where it is known.
FILES = {
    "/api/download/plan.json": Address("rank", "ranking.plan"),
    "/api/download/report.html": Address("rank", "ranking.report", _PAGE),
    "/api/download/statement.html": Address("rank", "ranking.statement_page", _PAGE),
    "/api/download/certificate.json": Address("slow", "work.certificate"),
    "/api/download/curves.csv": Address("slow", "work.curves", _TABLE),
    "/api/download/bounds.csv": Address("slow", "work.bounds", _TABLE),
    "/api/download/programme.yaml": Address("programme", "programmes.written", "application/yaml"),
    "/api/download/plans.zip": Address("programme", "programmes.plans", "application/zip"),
    "/api/download/programme-statement.html": Address("programme", "programmes.statement_page", _PAGE),
}
ADDRESSES = ANSWERS | FILES
#: Longest path with its query; a programme is several questions.
MOST_PATH, _LONGER = 2000, 8000


def most_characters(path: str) -> int:
    """How long the address of a request may be.

    >>> most_characters("/api/guarantee"), most_characters("/api/programme")
    (2000, 8000)
    """
    return _LONGER if path in ADDRESSES and ADDRESSES[path].line == "programme" else MOST_PATH
