"""Reproduce the paper: compute its figures and tables, and judge its claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from .._support.tables import Column, Table
from . import options
from .base import STOPPED, answer, main, say

if TYPE_CHECKING:
    from ..paper.plan import Unit


@main.command(short_help="Compute the figures of the paper again and judge its claims.")
@click.option(
    "--only",
    multiple=True,
    metavar="PART",
    help="Compute only this part: figure1 to figure5, table5, tightness or errata.  May be given several times.",
)
@click.option("--out", metavar="DIR", default="shuffledp-paper", show_default=True, help="Directory for the results.")
@options.as_json
def reproduce(only: tuple[str, ...], out: str, as_json: bool) -> None:
    """Compute the figures and tables of the paper again and judge its claims (about half a minute).

    The paper is Wang et al., PVLDB 17(8), 2024.  Writes results.json, report.html and the figures as PDF, SVG and PNG,
    of all parts that DIR holds.  If it is interrupted, the same command goes on with what is missing.
    """
    from ..paper import reproduce as run

    try:
        found = run(out, only=only, progress=_one_by_one)
    except KeyboardInterrupt:
        say("shuffledp: stopped; the same command goes on with what is missing.", err=True)
        raise SystemExit(STOPPED) from None
    data = {key: found[key] for key in ("version", "claims", "assumptions", "files", "computed", "reused")}
    heads = {"says": "the paper says", "verdict": "verdict"}
    columns = (Column(name=k, head=head, values=[c[k] for c in found["claims"]]) for k, head in heads.items())
    answer(as_json, data, table=Table(tuple(columns)) if found["claims"] else None)
    if not as_json:
        say(f"Parts computed: {len(found['computed'])}; taken from an earlier run: {len(found['reused'])}.")
        say(f"Read {found['files'][-1]}.")


def _one_by_one(units: list[Unit]) -> Iterable[Unit]:
    from .._support.progress import each

    return each(units, lambda unit: unit.name)
