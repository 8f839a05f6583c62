"""What the commands share: the group, how errors are printed, answers as text, tables and JSON, and grids."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit, NoArgsIsHelpError

from .. import __version__
from .._support import validation as check
from .._support.sockets import is_loopback
from .._support.tables import Table
from .._support.text import visible
from ..errors import ParameterError, ShuffleDPError

if TYPE_CHECKING:
    from rich.console import Console

#: Below commands that take mechanisms of some kinds only, and below those that take any.
NAMES_HELP = '"shuffledp mechanisms" lists all mechanisms.  Numbers may be written 1e6, 1_000_000 or 1M.'
SPEC_HELP = f"""
SPEC names the local randomizer:

\b
  general:eps0=1                     any eps0-LDP randomizer, the same for all users
  variation-ratio:p=7,beta=0.3,q=7   all that is known is (p, beta, q); p may be inf
  grr:eps0=1,d=16                    generalized randomized response on 16 options
  finite:matrix.csv                  a probability matrix, rows = inputs (CSV or .npy)

{NAMES_HELP}
"""


#: Exit codes: a wrong input or an output that cannot be written, an internal error (EX_SOFTWARE), Ctrl-C, and a pipe
#: whose reader has gone (as shells count SIGINT and SIGPIPE).
_UNUSABLE, _INTERNAL, STOPPED, _UNREAD = 2, 70, 130, 141
#: Commands that rely on locks of folders and on files that are replaced in one step, and whether this system has them.
COLLECTING, POSIX = ("privatize", "shuffle", "estimate", "collect", "shuffler"), os.name == "posix"


class _Commands(click.Group):
    """Turns every error into one sentence on stderr and an exit code; 1 is left to answers."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().main(*args, **extra)
        except Exception as error:  # click has dealt with its own
            if not extra.get("standalone_mode", True):
                raise
            _tell(error)
            sys.exit(_UNUSABLE if isinstance(error, OSError) else _INTERNAL)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COLLECTING and not POSIX:
            raise ParameterError(
                f"the command {name} must run on Linux, macOS or another POSIX system, got {os.name!r}; "
                "run the collection there, accounting and planning work here."
            )
        return name, command, rest

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _answered():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _answered():
            return super().invoke(ctx)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """Turns what is expected to happen into a sentence and an exit code; click would leave with 1 on a broken pipe."""
    try:
        yield
    except ShuffleDPError as error:
        say(f"shuffledp: {error}", err=True)
        raise Exit(error.exit_code) from None
    except NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        message = error.format_message()
        # click's own sentences start with a capital, and say nothing of what to do unless they ask what was meant
        if error.ctx is not None and message[0].isupper() and "?" not in message:
            message = f"{message.rstrip('.')}; see '{error.ctx.command_path} --help'."
        say(f"shuffledp: {message}", err=True)
        raise Exit(_UNUSABLE) from None
    except KeyboardInterrupt:
        say("shuffledp: stopped.", err=True)
        raise Exit(STOPPED) from None
    except BrokenPipeError:
        _drop_output()
        raise Exit(_UNREAD) from None


def _tell(error: Exception) -> None:
    """An error that no command expected, in one sentence; a traceback only on request."""
    if os.environ.get("SHUFFLEDP_TRACEBACK") == "1":
        import traceback

        traceback.print_exception(error)
    reason = " ".join(str(error).split())[:200].rstrip(".")
    if not isinstance(error, OSError):
        said = f"internal error ({type(error).__name__}: {reason}); please report it with the command that was run"
    elif error.filename is not None:
        said = f"{error.filename!r} cannot be used ({error.strerror or reason}); check it"
    else:
        said = f"the output cannot be written ({error.strerror or reason}); send it elsewhere"
    with contextlib.suppress(OSError):
        say(f"shuffledp: {said}.", err=True)
    _drop_output()


def _drop_output() -> None:
    """Output that cannot be written is dropped: it would be tried again at exit, with a traceback."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    "shuffledp",
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="shuffledp")
def main() -> None:
    """How private is a shuffled data collection?  Soundly, and mostly in milliseconds."""


def say(*lines: str, err: bool = False) -> None:
    """Lines on stdout or stderr; control characters in text from outside are shown, not obeyed."""
    for line in lines:
        click.echo(visible(line), err=err)


def print_json(result: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(result, indent=2, allow_nan=False))


def answer(as_json: bool, data: dict[str, Any], *lines: str, table: Table | None = None) -> None:
    """One JSON object, or these lines, and below them the table, in its place."""
    if as_json:
        print_json(data)
        return
    say(*lines)
    if table is not None:
        show_table(table)


def terminal(*, highlight: bool = True) -> Console:
    """Where rich prints; by itself it would leave with 1 where the reader has gone."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Ours(highlight=highlight)


def show_table(table: Table, *, faint: Collection[int] = ()) -> None:
    """Print the columns of a table that a terminal shows; the rows in ``faint`` are dimmed."""
    from rich import box
    from rich.markup import escape
    from rich.table import Column
    from rich.table import Table as RichTable

    columns = [
        Column(escape(head), justify="right" if right else "left", overflow="fold")
        for head, right in zip(table.header, table.right, strict=True)
    ]
    drawn = RichTable(*columns, box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), show_header=any(table.header))
    for number, row in enumerate(table.texts):
        drawn.add_row(*(escape(visible(cell)) for cell in row), style="dim" if number in faint else None)
    terminal().print(drawn)


def show(found: Any, as_json: bool) -> None:
    """A result as one JSON object, or as the lines of its statement."""
    answer(as_json, found.to_dict(), *str(found).split("\n"))


def ready(host: str, mind: str) -> Callable[[str], None]:
    """Tells the address of a server, and first what to ``mind`` where other machines can reach it."""

    def tell(address: str) -> None:
        if not is_loopback(host):
            say(f"shuffledp: {host} can be reached from other machines; {mind}", err=True)
        say(f"{address} (stop with Ctrl-C)")

    return tell


def wrote(*paths: str | None) -> None:
    """Say which of these files were written."""
    say(*(f"wrote {path}" for path in paths if path), err=True)


def prepared(plot: str | None) -> None:
    """Refuse a figure with a wrong suffix before the work, not after."""
    if plot:
        from .._support.figures import prepare

        prepare(plot)


def drawn(found: Any, plot: str | None) -> None:
    """The figure of a result, where it was asked for."""
    if plot:
        from .._support.figures import save

        save(found.plot(), plot)


def was_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def unused(name: str, path: str) -> None:
    """Refuse to replace a file: what was signed and handed out is needed again, and a key has no copy."""
    if os.path.lexists(path):
        raise ParameterError(f"{name} must be a new file, got {path!r}, which exists; choose another path.")


def distinct(written: dict[str, str | None], read: dict[str, str | None] | None = None) -> None:
    """Refuse an output that would replace another one, or what is read."""
    taken = {os.path.realpath(path): option for option, path in (read or {}).items() if path}
    for option, path in written.items():
        if path:
            first = taken.setdefault(os.path.realpath(path), option)
            if first != option:
                raise ParameterError(f"--{first} and --{option} must be different files, got {path!r}; rename one.")


def grid(name: str, text: str, *, logarithmic: bool = False, example: str = "0:1:11") -> list[float]:
    """Values a,b,c or START:STOP:COUNT, evenly spaced (or evenly in the logarithm)."""
    parts = text.split(":")
    if len(parts) not in (1, 3):
        raise ParameterError(
            f"{name} must be values a,b,c or START:STOP:COUNT, got {text!r}; write for example {example}."
        )
    if len(parts) == 1:
        return [check.parse_number(name, p) for p in text.split(",")]
    start, stop = (check.parse_number(name, p) for p in parts[:2])
    count = check.whole(f"the COUNT of {name}", check.parse_number(name, parts[2]), low=1, high=10**5)
    steps = [i / max(count - 1, 1) for i in range(count)]
    if logarithmic:
        for end in (start, stop):
            check.in_range(name, end, low=0.0, high=1e300, low_open=True, hint="the grid is even in the logarithm")
        values = [start * (stop / start) ** step for step in steps]
    else:
        values = [start + (stop - start) * step for step in steps]
    # twelve figures: 1.6 and 1e-11 where rounding would give 1.5999999999999999 and 9.999999999999999e-12
    return [float(f"{value:.12g}") for value in values]
