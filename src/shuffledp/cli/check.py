"""check and deployment: a file against what it claims, for continuous integration."""

from __future__ import annotations

import click

from .._support.progress import progress
from . import options
from .base import main, show


@main.command()
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


@main.command()
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
