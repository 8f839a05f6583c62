"""statement: what a plan means, on one page for people who sign."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .base import answer, main, wrote


@main.command()
@click.argument("plan")
@click.option("-o", "--out", metavar="FILE", help="Write the page (.html or .md); without it, Markdown is printed.")
@click.option("--rounds", default="1", show_default=True, metavar="K", help="How often the same users are asked.")
@click.option("--kept", default="", metavar="TEXT", help='How long reports are kept, such as "90 days".')
@options.as_json
def statement(plan: str, out: str | None, rounds: str, kept: str, as_json: bool) -> None:
    """State what PLAN collects and what can be learned from it, in words and odds, for people who sign.

    \b
      shuffledp statement plan.json -o statement.html --rounds 13 --kept "90 days"
    """
    from .._support import validation as check
    from ..protocol.plan import Plan

    times: Any = check.parse_number("rounds", rounds)
    said = Plan.load(plan).statement(rounds=times, kept=kept)
    if out:
        said.save(out)
        wrote(out)
    if as_json or not out:
        answer(as_json, said.to_dict(), *said.markdown().rstrip("\n").split("\n"))
