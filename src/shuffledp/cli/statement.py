"""statement: what a plan, or a whole programme, means, on one page for people who sign."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParameterError
from . import options
from .base import answer, main, wrote

if TYPE_CHECKING:
    from .._support.statement import Statement


@main.command()
@click.argument("plan")
@click.option("-o", "--out", metavar="FILE", help="Write the page (.html or .md); without it, Markdown is printed.")
@click.option("--rounds", metavar="K", help="How often the same users are asked: once unless stated.")
@click.option("--kept", default="", metavar="TEXT", help='How long reports are kept, such as "90 days".')
@options.as_json
def statement(plan: str, out: str | None, rounds: str | None, kept: str, as_json: bool) -> None:
    """State what PLAN collects and what can be learned from it, in words and odds, for people who sign.

    PLAN may also be a folder of plans that calibrate --plans wrote, or the programme (.yaml) that names it: then one
    statement is for all questions of a period of the budget together.

    \b
      shuffledp statement plan.json -o statement.html --rounds 13 --kept "90 days"
      shuffledp statement plans -o statement.html --kept "90 days"
    """
    several = os.path.isdir(plan) or plan.lower().endswith((".yaml", ".yml"))
    said = _of_all(plan, rounds, kept) if several else _of_one(plan, rounds, kept)
    if out:
        said.save(out)
        wrote(out)
    if as_json or not out:
        answer(as_json, said.to_dict(), *said.markdown().rstrip("\n").split("\n"))


def _of_one(plan: str, rounds: str | None, kept: str) -> Statement:
    from .._support import validation as check
    from ..protocol.plan import Plan

    times: Any = 1 if rounds is None else check.parse_number("rounds", rounds)
    return Plan.load(plan).statement(rounds=times, kept=kept)


def _of_all(path: str, rounds: str | None, kept: str) -> Statement:
    from .._support.progress import progress
    from ..programme.checking import check

    if rounds is not None:
        raise ParameterError(
            f"rounds must be left out for a programme, which says how often it asks, got {rounds!r:.40}; remove it."
        )
    with progress("checking") as advance:
        return check(path, progress=advance).statement(kept=kept)
