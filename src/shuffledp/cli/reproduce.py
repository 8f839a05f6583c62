"""The paper again: its figures and table computed, its claims judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from .base import STOPPED, json_option, main, print_json, say

if TYPE_CHECKING:
    from ..paper.plan import Unit


@main.command()
@click.option(
    "--only",
    multiple=True,
    metavar="PART",
    help="Compute only this part: figure1 to figure5, table5, tightness or errata; may be given several times.",
)
@click.option("--out", default="shuffledp-paper", show_default=True, metavar="DIR", help="Directory for the results.")
@json_option
def reproduce(only: tuple[str, ...], out: str, as_json: bool) -> None:
    """Compute the paper's figures and table again and judge its claims (about half a minute).

    Writes results.json, report.html and the figures as PDF, SVG and PNG, of all parts that DIR holds.  If it is
    interrupted, the same command goes on with what is missing.
    """
    from ..paper import reproduce as run

    try:
        found = run(out, only=only, progress=_bar)
    except KeyboardInterrupt:
        say("shuffledp: stopped; the same command goes on with what is missing.", err=True)
        raise SystemExit(STOPPED) from None
    if as_json:
        print_json({key: found[key] for key in ("version", "claims", "assumptions", "files", "computed", "reused")})
        return
    _show(found)


def _bar(units: list[Unit]) -> Iterable[Unit]:
    """The units one by one, with a progress bar on stderr if it is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    return _shown(units, console) if units and console.is_terminal else units


def _shown(units: list[Unit], console: Any) -> Iterator[Unit]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=len(units))
        for unit in units:
            bar.update(task, description=unit.name)
            yield unit
            bar.advance(task)


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    if found["claims"]:
        table = Table(Column("the paper says", ratio=3), Column("verdict", no_wrap=True))
        for claim in found["claims"]:
            table.add_row(escape(claim["says"]), escape(claim["verdict"]))
        Console().print(table)
    say(f"Parts computed: {len(found['computed'])}; taken from an earlier run: {len(found['reused'])}.")
    say(f"Read {found['files'][-1]}.")
