"""check and deployment: a file against what it claims, for continuous integration; statement: the same in words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from .._support.progress import progress
from .._support.validation import parse_number
from ..errors import ParameterError
from . import options
from .base import answer, main, show, wrote

if TYPE_CHECKING:
    from .._support.statement import Statement


@main.command(short_help="Check a programme, or the plans that ship, against its budget.")
@click.argument("file", required=False)
@click.option("--plans", metavar="DIR", help="Check the plans in DIR, which calibrate --plans wrote for FILE.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of programme files, for editors, and stop.")
@options.as_json
def check(file: str | None, plans: str | None, schema: bool, as_json: bool) -> None:
    """Check the rounds of a programme FILE (YAML or JSON), or the plans that ship, against the budget.

    FILE may also be a folder of plans that calibrate --plans wrote, or one plan.  A programme that names its folder
    (plans: DIR), or is checked with --plans DIR, is checked as it ships: every plan must be as locked.

    Exit code 0 if all rounds are within the budget and no file has changed, 1 if not, 2 if the file is not a
    programme.  The statement can be pasted into a privacy review.

    \b
      version: 1
      name: weekly telemetry
      population: {users: 1_000_000, dropouts: 0.05, colluding: 100}
      target: {epsilon: 1.0, delta: 1e-8}
      rounds:
        - {name: crash kind, mechanism: "grr:eps0=2,d=64", count: 30}
    """
    if schema:
        from importlib.resources import files

        click.echo(files("shuffledp").joinpath("programme.schema.json").read_text(encoding="utf-8"), nl=False)
        return
    if file is None:
        raise click.UsageError("check needs the FILE of a programme or plan, or a folder of plans.")
    from ..programme.checking import check as run

    with progress("checking") as advance:
        found = run(file, plans=plans, progress=advance)
    show(found, as_json)
    click.get_current_context().exit(0 if found.within else 1)


@main.command(short_help="State what the parameters of a deployment guarantee.")
@click.argument("file")
@options.as_json
def deployment(file: str, as_json: bool) -> None:
    """State what the parameters in FILE (YAML or JSON) guarantee, and the smallest valid poisson_mean.

    Exit code 0 if the target is met, 1 if not, 2 if the file is not a deployment.

    \b
      epsilon: 1
      delta: 1e-10
      reporting_threshold: 1_000_000   # distinct contributors
      poisson_mean: 0.00124512         # fabricated observations per index and device
      indices: 18                      # different indices of one device, at most
      max_index: 65535
    """
    from ..programme.deployment import deployment as run

    with progress("checking"):
        found = run(file)
    show(found, as_json)
    click.get_current_context().exit(0 if found.met else 1)


@main.command(short_help="State what a plan collects, for people who sign.")
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
    from ..protocol.plan import Plan

    times: Any = 1 if rounds is None else parse_number("rounds", rounds)
    return Plan.load(plan).statement(rounds=times, kept=kept)


def _of_all(path: str, rounds: str | None, kept: str) -> Statement:
    from ..programme.checking import check as run

    if rounds is not None:
        raise ParameterError(
            f"rounds must be left out for a programme, which says how often it asks, got {rounds!r:.40}; remove it."
        )
    with progress("checking") as advance:
        return run(path, progress=advance).statement(kept=kept)
