"""check: a programme file against its budget, for continuous integration."""

from __future__ import annotations

import click

from .base import json_option, main, print_json, say


@main.command()
@click.argument("file", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON schema of programme files, for editors, and stop.")
@json_option
def check(file: str | None, schema: bool, as_json: bool) -> None:
    """Check the rounds of a programme FILE (YAML or JSON) against its budget.

    Exit code 0 if they are within it, 1 if not, 2 if the file is not a programme.  The statement can be pasted into a
    privacy review.

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
        raise click.UsageError("check needs the FILE of a programme.")
    from .._support.progress import progress
    from ..programme.checking import check as run

    with progress("checking") as advance:
        found = run(file, progress=advance)
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))
    click.get_current_context().exit(0 if found.within else 1)
