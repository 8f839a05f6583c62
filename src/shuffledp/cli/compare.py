"""Every bound side by side, at one point or along a variable; and the list of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .._support import delta_rules as _delta_rules
from .._support import validation as check
from ..errors import ParameterError
from . import options
from .base import SPEC_HELP, distinct, grid, main, prepared, print_json, wrote

if TYPE_CHECKING:
    from ..accounting.comparison import Comparison
    from ..accounting.sweeping import Sweep

#: An example of a grid for every variable; those of n and delta are spaced evenly in the logarithm.
_GRIDS = {"eps0": "0.1:5:25", "n": "1e3:1e7:9", "delta": "1e-12:1e-4:9"}
#: More curves than this do not fit in 80 columns.
_FEW = 4


@main.command(epilog=SPEC_HELP)
@click.argument("spec")
@options.n(required=False)
@options.delta(required=False)
@click.option("--bound", "bounds", multiple=True, metavar="NAME", help="Only this bound; may be given several times.")
@click.option(
    "--sweep",
    "swept",
    metavar="VARIABLE=GRID",
    help="Vary eps0, n or delta over START:STOP:COUNT or a,b,c, e.g. eps0=0.1:5:25 (then leave eps0 out of SPEC), "
    "n=1e3:1e7:9, delta=1e-12:1e-4:9; n and delta are spaced evenly in the logarithm.",
)
@options.tol("Relative accuracy of eps (errors go up).")
@options.file("--plot", "Draw a figure: .pdf, .svg or .png.")
@click.option("--curves", metavar="K", help="Most curves in the figure of a sweep.  [default: 6, or all named]")
@options.file("--html", "Write the table as a web page.")
@options.file("--csv", "Write the numbers as comma-separated values.")
@options.as_json
def compare(
    spec: str, bounds: tuple[str, ...], swept: str | None, curves: str | None, as_json: bool, **terms: Any
) -> None:
    """eps of every bound that applies to SPEC, smallest first."""
    files = {key: terms.pop(key) for key in ("plot", "html", "csv")}
    if swept is not None:
        variable, values = _swept(swept)
        if terms.get(variable) is not None:
            raise click.UsageError(f"{variable} is swept; leave out --{variable}.")
        terms[variable] = values
    for name in ("n", "delta"):
        if terms[name] is None:
            raise click.UsageError(f"compare needs --{name}, or --sweep {name}={_GRIDS[name]}.")
    terms["bounds"] = bounds or None
    most = len(bounds) or None
    if curves is not None:
        most = check.whole("curves", check.parse_number("curves", curves), low=1, high=1000)
    distinct(files)
    prepared(files["plot"])
    result = _run(spec, swept is not None, terms)
    _write(result, **files, most=most)
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def _swept(text: str) -> tuple[str, Sequence[float | str]]:
    """variable=grid, as the variable and its values."""
    variable, equals, numbers = (part.strip() for part in text.partition("="))
    if not equals or variable not in _GRIDS:
        raise ParameterError(
            f"sweep must be eps0=GRID, n=GRID or delta=GRID, got {text!r}; write eps0={_GRIDS['eps0']}."
        )
    if variable == "delta" and ":" not in numbers:
        return variable, [_delta_rules.parse(part) for part in numbers.split(",")]
    values = grid(variable, numbers, logarithmic=variable != "eps0", example=_GRIDS[variable])
    if variable == "n" and ":" in numbers:  # the spacing gives fractions of users
        values = list(dict.fromkeys(float(round(value)) for value in values))
    return variable, values


def _run(spec: str, several: bool, terms: dict[str, Any]) -> Comparison | Sweep:
    if not several:
        from ..accounting.comparison import compare as run_one

        return run_one(spec, **terms)
    from .._support.progress import progress
    from ..accounting.sweeping import sweep as run_many

    with progress("comparing") as advance:
        return run_many(spec, **terms, progress=advance)


def _write(result: Comparison | Sweep, plot: str | None, html: str | None, csv: str | None, most: int | None) -> None:
    from .._support.figures import save
    from .._support.files import write_whole
    from ..accounting.comparison import Comparison

    figure = None
    if plot is not None:  # drawn first: where there is nothing to draw, nothing is written either
        figure = result.plot() if most is None or isinstance(result, Comparison) else result.plot(most=most)
    if csv is not None:
        write_whole(csv, result.to_csv(), name="csv")
    if html is not None:
        write_whole(html, result.to_html(), name="html")
    if plot is not None and figure is not None:
        save(figure, plot)
    wrote(csv, html, plot)


def _show(result: Comparison | Sweep) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding

    from ..accounting.comparison import Comparison, brief
    from .terminal import show_table

    console = Console()
    console.print(escape(result.title), highlight=False)
    if not (result.rows if isinstance(result, Comparison) else result.bounds):
        pass  # the reasons below explain it
    elif isinstance(result, Comparison):
        show_table(result.table(), faint=[i for i, row in enumerate(result.rows) if not row.sound])
        for note in result.notes:
            console.print(escape(note))
    elif len(result.bounds) <= _FEW:
        show_table(result.table())
    else:
        show_table(result.summary())
        console.print("Every bound at every value: --csv, --html, --json or --plot.")
    if result.absent:
        console.print("\nNo answer here:")
        for name, why in result.absent.items():
            console.print(Padding(escape(f"{name}: {brief(name, why)}"), (0, 0, 0, 2)), highlight=False)


@main.command()
@options.as_json
def bounds(as_json: bool) -> None:
    """Every bound: whether it is sound, what it needs, where it holds, who proved it."""
    from ..bounds import known

    keys = ("title", "side", "sound", "needs", "validity", "citation")
    if as_json:
        print_json({name: {key: getattr(bound, key) for key in keys} for name, bound in known().items()})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding

    console = Console(highlight=False)
    for name, bound in known().items():
        console.print(
            f"[bold]{escape(name)}[/] ({bound.side if bound.sound else 'not a bound'}): {escape(bound.title)}"
        )
        text = f"needs {bound.needs}; range: {bound.validity}; {bound.citation}"
        console.print(Padding(escape(text), (0, 0, 0, 4)))
