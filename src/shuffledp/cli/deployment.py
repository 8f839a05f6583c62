"""deployment: what the parameters of a deployment with Poisson numbers of fabricated observations guarantee."""

from __future__ import annotations

import click

from .base import json_option, main, print_json, say


@main.command()
@click.argument("file")
@json_option
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
    from .._support.progress import progress
    from ..programme.deployment import deployment as run

    with progress("checking"):
        found = run(file)
    if as_json:
        print_json(found.to_dict())
    else:
        say(*str(found).split("\n"))
    click.get_current_context().exit(0 if found.met else 1)
