"""plan: which mechanism for a task, ranked; a picture, a design review and a plan file to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .._support import validation as check
from ..errors import ParameterError
from . import options
from .base import distinct, drawn, main, prepared, print_json, say, show_table, terminal, wrote

if TYPE_CHECKING:
    from ..planning.candidates import Choice
    from ..planning.recommendation import Recommendation


@main.command(short_help="Rank the mechanisms for a task, and save a plan.")
@click.argument("task")
@options.n("Number of users who are asked.")
@click.option("--epsilon", metavar="E", help="Central budget of all rounds together.")
@options.delta()
@click.option("--error", metavar="E", help="Instead of --epsilon: the error to reach; the smallest eps is found.")
@click.option("--d", "d", metavar="D", help="Options, items, keys, bins or cells.")
@click.option("--dim", metavar="D", help="Coordinates of a vector (vector mean).")
@click.option("--size", metavar="S", help="Items or keys of one user, at most (sets, key-value).")
@click.option("--low", metavar="X", help="Lower end of the range of a number.  [default: 0]")
@click.option("--high", metavar="X", help="Upper end of the range of a number.  [default: 1]")
@click.option("--norm", metavar="X", help="Largest length of a vector.  [default: 1]")
@click.option("--unit", metavar="WORD", help="Of a number, such as min: errors are stated in it.")
@click.option("--missing", metavar="X", help="What a missing number counts as; in ranges and quantiles also: option.")
@click.option("--quantiles", metavar="P,P,...", help="Those whose errors are predicted.  [default: 0.5,0.95,0.99]")
@click.option("--shape", metavar="W,W,...|FILE", help="How numbers are spread: weights of bins, or a file of numbers.")
@click.option("--length", metavar="BYTES", help="Of a string, at most (heavy hitters).")
@click.option("--columns", metavar="K", help="Columns, where all have D options (marginals).  [default: 3]")
@click.option("--ways", metavar="K", help="Columns of one marginal.  [default: 2]")
@click.option("--subsets", metavar="I,J;...", help="Instead of --ways: the columns of every marginal, from 0.")
@click.option("--dropouts", metavar="K", help="Users who may be missing: a number such as 500, or a share such as 3%.")
@click.option("--rounds", metavar="K", default="1", show_default=True, help="How often the same users are asked.")
@click.option("--messages", metavar="K", help="Most messages of a user in a round, on average.")
@click.option("--bits", metavar="B", help="Most bits of a user in a round, on average.")
@click.option("--local-epsilon", metavar="E", help="The most that may remain over all rounds if the shuffler fails.")
@click.option("--noise", metavar="WHO", help="users, or shuffler: also rank those whose shuffler adds the noise.")
@options.file("--plot", "Draw error against bits: .pdf, .svg or .png.")
@options.file("--report", "Write a design review as one page (.html).")
@options.file("--save", "Write the plan of the best choice with a local guarantee, for privatize and estimate.")
@click.option("--allow-no-local", is_flag=True, help="Save the best, even if nothing remains once the shuffler fails.")
@click.option("--choose", metavar="NAME", help="With --save and --report: another choice than the best, by its name.")
@click.option("--column", metavar="NAME", help="With --save: the column of the values; several with commas between.")
@options.file("--labels", "With --save: a text file with one label per line.")
@click.option("--name", default="", metavar="TEXT", help="With --save: what the plan is called.")
@options.as_json
def plan(task: str, as_json: bool, **given: Any) -> None:
    """Rank every mechanism that fits TASK under a central budget, or for an error.

    TASK is histogram, "sum of bits", mean, "vector mean", range, quantile, sets, key-value, location, marginals or
    "heavy hitters".

    \b
      shuffledp plan histogram --n 1e6 --d 64 --epsilon 1 --delta 1e-8 --save plan.json
      shuffledp privatize plan.json values.csv -o reports.parquet

    What is saved keeps a local guarantee if the shuffler fails, unless --choose names another or --allow-no-local is
    set.  The plan's labels are "0", "1", ... unless --labels names others; the file is JSON and can be edited before
    the first report is sent.
    """
    files = {key: given.pop(key) for key in ("plot", "report", "save")}
    allowed = given.pop("allow_no_local") or not (files["save"] or files["report"])
    shape = {key: given.pop(key) for key in ("choose", "column", "labels", "name")}
    distinct(files)
    prepared(files["plot"])
    labels = None if shape["labels"] is None else _labels(shape["labels"])
    from ..planning.recommending import recommend

    found = recommend(task, **{key: _parsed(key, value) for key, value in given.items() if value is not None})
    chosen = found.to_save(shape["choose"], allow_no_local=allowed)
    _write(found, files, chosen, shape, labels)
    if as_json:
        saved = {"saved": {"mechanism": chosen.spec, "why": found.why(chosen)}} if files["save"] else {}
        print_json({**found.to_dict(), **saved})
    else:
        _show(found, chosen)


def _parsed(key: str, value: Any) -> Any:
    """Numbers in the house notation; missing users may be a number or a share, and stay as they are written."""
    if (
        not isinstance(value, str)
        or key in ("delta", "dropouts", "unit", "noise")
        or (key, value) == ("missing", "option")
    ):
        return value
    if key == "subsets":
        return [_several(key, part) for part in value.split(";")]
    if key == "quantiles" or (key == "shape" and "," in value) or (key == "d" and "," in value):
        return _several(key, value)
    return value if key == "shape" else check.parse_number(key, value)


def _several(key: str, text: str) -> list[float]:
    return [check.share(key, x) if key == "quantiles" else check.parse_number(key, x) for x in text.split(",")]


def _labels(path: str) -> list[str]:
    """One label per line; empty lines are left out."""
    from .._support.reading import LABELS, read_text

    text = read_text(path, LABELS)
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise ParameterError(f"labels must be a file with one label per line, got none in {path!r}; write some.")
    return found


def _write(found: Recommendation, files: dict[str, Any], chosen: Choice, shape: dict[str, Any], labels: Any) -> None:
    if files["save"]:
        column = shape["column"]
        if column is not None and "," in column:
            column = [part.strip() for part in column.split(",")]
        found.plan(chosen, column=column, labels=labels, name=shape["name"]).save(files["save"])
    drawn(found, files["plot"])
    if files["report"]:
        found.report(files["report"], chosen)
    wrote(*files.values())
    if files["save"] or files["report"]:
        say(f"{'saved' if files['save'] else 'reviewed'}: {found.why(chosen)}", err=True)
    if files["save"] and found.counted == found.n:
        say("note: every batch must hold all users; --dropouts 10% plans for batches that hold fewer.", err=True)


def _show(found: Recommendation, chosen: Choice) -> None:
    from rich.markup import escape

    console = terminal(highlight=False)
    console.print(escape(found.statement_of(chosen)))
    show_table(found.table(), faint=[i for i, choice in enumerate(found.choices) if not choice.on_front])
    console.print(escape(f"Errors are in {found.measure}; * marks the front of error against bits."))
    for line in found.comparison:
        console.print(escape(line[:1].upper() + line[1:]))
    fit = [refusal for refusal in found.refused if refusal.fits]
    for refusal in fit:
        console.print(escape(f"Not ranked: {refusal.mechanism}. {refusal.reason}"))
    console.print(f"{len(found.refused) - len(fit)} mechanisms are for other tasks; --json lists them.")
