"""Every bound side by side, at one point, along a variable or over a grid; and the list of bounds."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .._support import delta_rules as _delta_rules
from .._support import figures
from .._support import validation as check
from ..errors import ParameterError
from . import options
from .base import SPEC_HELP, distinct, grid, main, prepared, print_json, show_table, terminal, wrote

if TYPE_CHECKING:
    from rich.console import Console

    from ..accounting.comparison import Comparison
    from ..accounting.study import Study
    from ..accounting.sweeps import Sweep

    Result = Comparison | Sweep | Study

#: An example of a grid for every variable; those of n and delta are spaced evenly in the logarithm.
_GRIDS = {"eps0": "0.1:5:25", "n": "1e3:1e7:9", "delta": "1e-12:1e-4:9"}
#: More curves than this do not fit in 80 columns.
_FEW = 4
#: Rows of a grid that are shown.
_SHOWN = 60


@main.command(epilog=SPEC_HELP, short_help="Compare bounds, mechanisms and settings.")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@options.n(required=False)
@options.delta(required=False)
@click.option("--bound", "bounds", multiple=True, metavar="NAME", help="Only this bound; may be given several times.")
@click.option(
    "--sweep",
    "swept",
    multiple=True,
    metavar="VARIABLE=GRID",
    help="Vary eps0, n, delta or a parameter of SPEC over START:STOP:COUNT or a,b,c, e.g. eps0=0.1:5:25 (then leave "
    "eps0 out of SPEC), n=1e3:1e7:9, delta=1e-12:1e-4:9, d=4,16,64; n and delta are spaced evenly in the logarithm.  "
    "May be given several times, for a grid.  With it, or several SPECs, --bound auto is the smallest that holds.",
)
@options.tol("Relative accuracy of eps (errors go up).")
@click.option("--batched", is_flag=True, help="Ask all points together: faster, looser by a few times --tol.")
@options.file("--plot", "Draw a figure: .pdf, .svg or .png.")
@click.option("--curves", metavar="K", help="Most curves in the figure of a sweep.  [default: 6, or all named]")
@click.option("--style", metavar="NAME", help="Style of the figure: plain, or paper (serif, no title).")
@options.file("--html", "Write the table as a web page.")
@options.file("--csv", "Write the numbers as comma-separated values.")
@options.as_json
def compare(
    specs: tuple[str, ...], bounds: tuple[str, ...], swept: tuple[str, ...], as_json: bool, **terms: Any
) -> None:
    """eps of every bound that applies to SPEC, smallest first; of several SPECs, or over a grid, a row for each."""
    files = {key: terms.pop(key) for key in ("plot", "html", "csv")}
    look = {key: terms.pop(key) for key in ("curves", "style")}
    _add(swept, terms)
    for name in ("n", "delta"):
        if terms[name] is None:
            raise click.UsageError(f"compare needs --{name}, or --sweep {name}={_GRIDS[name]}.")
    terms["bounds"] = bounds or None
    most = len(bounds) or None if len(specs) == len(swept) == 1 else None  # curves are bounds only in a sweep of one
    if look["curves"] is not None:
        most = check.whole("curves", check.parse_number("curves", look["curves"]), low=1, high=1000)
    if look["style"] is not None:
        check.one_of("style", look["style"], figures.STYLES)
    distinct(files)
    prepared(files["plot"])
    result = _run(specs, bool(swept), terms)
    _write(result, **files, most=most, style=look["style"])
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def _add(swept: tuple[str, ...], terms: dict[str, Any]) -> None:
    """The values of every variable that is swept, beside the other terms."""
    for text in swept:
        variable, values = _swept(text)
        if terms.get(variable) is not None:
            given = f"leave out --{variable}" if variable in ("n", "delta") else "give it once"
            raise click.UsageError(f"{variable} is swept; {given}.")
        terms[variable] = values


def _swept(text: str) -> tuple[str, Sequence[float | str]]:
    """variable=grid, as the variable and its values."""
    variable, equals, numbers = (part.strip() for part in text.partition("="))
    if not equals or not variable.isidentifier() or variable in ("bounds", "tol", "batched", "progress"):
        raise ParameterError(
            f"sweep must be eps0=GRID, n=GRID, delta=GRID or another parameter and its GRID, got {text!r}; write "
            f"eps0={_GRIDS['eps0']}."
        )
    if ":" not in numbers and variable not in ("eps0", "n"):
        return variable, [_delta_rules.parse(x) if variable == "delta" else _number(x) for x in numbers.split(",")]
    example = _GRIDS.get(variable, "4:64:5")
    values = grid(variable, numbers, logarithmic=variable in ("n", "delta"), example=example)
    if variable == "n" and ":" in numbers:  # the spacing gives fractions of users
        values = list(dict.fromkeys(float(round(value)) for value in values))
    return variable, values


def _number(text: str) -> float | str:
    """A value of a parameter: a number, or a word."""
    with contextlib.suppress(ParameterError):
        return check.parse_number("value", text)
    return text


def _run(specs: tuple[str, ...], several: bool, terms: dict[str, Any]) -> Result:
    batched = terms.pop("batched")
    if not several and len(specs) == 1:
        if batched:
            raise click.UsageError("--batched is for a sweep or several SPECs; leave it out.")
        from ..accounting.comparison import compare as run_one

        return run_one(specs[0], **terms)
    from .._support.progress import progress
    from ..accounting.sweeping import sweep as run_many

    asked: Any = specs[0] if len(specs) == 1 else list(specs)
    with progress("comparing") as advance:
        found: Sweep | Study = run_many(asked, **terms, batched=batched or None, progress=advance)
    return found


def _write(
    result: Result, plot: str | None, html: str | None, csv: str | None, most: int | None, style: str | None
) -> None:
    from .._support.files import write_whole
    from ..accounting.comparison import Comparison

    figure = None
    if plot is not None:  # drawn first: where there is nothing to draw, nothing is written either
        with figures.style(style):
            figure = result.plot() if most is None or isinstance(result, Comparison) else result.plot(most=most)
    if csv is not None:
        write_whole(csv, result.to_csv(), name="csv")
    if html is not None:
        write_whole(html, result.to_html(), name="html")
    if plot is not None and figure is not None:
        figures.save(figure, plot)
    wrote(csv, html, plot)


def _show(result: Result) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    from ..accounting.comparison import Comparison, brief
    from ..accounting.study import Study

    console = terminal()
    console.print(escape(result.title), highlight=False)
    if isinstance(result, Study):
        _show_study(result, console)
        return
    if isinstance(result, Comparison):
        if result.rows:
            show_table(result.table(), faint=[i for i, row in enumerate(result.rows) if not row.sound])
        for note in result.notes:
            console.print(escape(note))
    elif len(result.bounds) > _FEW:
        show_table(result.summary())
        console.print("Every bound at every value: --csv, --html, --json or --plot.")
    elif result.bounds:
        show_table(result.table())
    if result.absent:
        console.print("\nNo answer here:")
        for name, why in result.absent.items():
            console.print(Padding(escape(f"{name}: {brief(name, why)}"), (0, 0, 0, 2)), highlight=False)


def _show_study(study: Study, console: Console) -> None:
    """The first rows; all are in the files."""
    faint = [i for i, row in enumerate(study.rows[:_SHOWN]) if row.row is not None and not row.row.sound]
    show_table(study.table().top(_SHOWN), faint=faint)
    if len(study) > _SHOWN:
        console.print(f"{_SHOWN} of {len(study):,} rows; all: --csv, --html or --json.", highlight=False)
    absent = sum(row.row is None for row in study)
    if absent:
        console.print(f"{absent:,} of {len(study):,} rows have no answer; --csv and --json say why.", highlight=False)


@main.command(short_help="List the bounds, and which of them are sound.")
@options.as_json
def bounds(as_json: bool) -> None:
    """Every bound: whether it is sound, what it needs, where it holds, who proved it."""
    from ..bounds import known

    keys = ("title", "side", "sound", "needs", "validity", "citation")
    if as_json:
        print_json({name: {key: getattr(bound, key) for key in keys} for name, bound in known().items()})
        return
    from rich.markup import escape
    from rich.padding import Padding

    console = terminal(highlight=False)
    for name, bound in known().items():
        console.print(
            f"[bold]{escape(name)}[/] ({bound.side if bound.sound else 'not a bound'}): {escape(bound.title)}"
        )
        text = f"needs {bound.needs}; range: {bound.validity}; {bound.citation}"
        console.print(Padding(escape(text), (0, 0, 0, 4)))
