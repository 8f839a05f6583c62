"""The options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from .._support import delta_rules
from .._support import validation as check


class _Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number in the house notation; the error is the house sentence."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._parse(value) if isinstance(value, str) else value


_USERS = _Number("n", check.parse_users)
_DELTA = _Number("delta", delta_rules.parse)
_TOL = _Number("tol", lambda text: check.tolerance(check.parse_number("tol", text)))


_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_FAILURE = "Failure probability in (0, 1), or a rule such as 0.01/n."
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


def n(said: str = "Number of users in the batch.", *, required: bool = True) -> _Decorator:
    """--n, with what it counts."""
    return click.option("--n", "n", type=_USERS, required=required, help=said)


def delta(said: str = _FAILURE, *, required: bool = True) -> _Decorator:
    """--delta, with what it is for."""
    return click.option("--delta", type=_DELTA, required=required, help=said)


def bound(said: str) -> _Decorator:
    """--bound, with what it is for."""
    return click.option("--bound", default="auto", show_default=True, help=said)


def tol(said: str = "Relative accuracy of eps.", *, default: str | None = "1e-4") -> _Decorator:
    """--tol, with what is that accurate."""
    return click.option("--tol", type=_TOL, default=default, show_default=True, help=said)


def _number(name: str, metavar: str, said: str, default: str = "0", *, shown: bool = False) -> _Decorator:
    return click.option(name, default=default, metavar=metavar, show_default=shown, help=said)


def times(name: str, said: str) -> _Decorator:
    """A number of times, 1 unless given."""
    return _number(name, "K", said, "1", shown=True)


def together(*options: _Decorator) -> _Decorator:
    """Several options, in this order."""

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        """The command with all of them."""
        return reduce(lambda made, option: option(made), reversed(options), command)

    return added


#: Who can be counted on, for :func:`crowd_of`.
crowd = together(
    _number("--dropouts", "K", "Users who may drop out: a number such as 500, or a share such as 5%."),
    _number("--colluding", "K", "Users who may help the adversary, likewise."),
    times("--reports-per-user", "Reports that every user sends into the batch, on any values."),
)
common = together(n(), bound("Which bound; auto: the smallest that applies."), as_json)


def crowd_of(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, with the numbers among the options about the crowd and the rounds as such."""
    numbers = ("reports_per_user", "count")
    return {key: check.parse_number(key, text) if key in numbers else text for key, text in given.items()}


def listening(port: int) -> _Decorator:
    """--port and --host of a server."""
    said = "Who can reach it: this machine only by default."
    return together(
        click.option("--port", default=port, show_default=True, help="Where to listen; 0 takes a free port."),
        click.option("--host", default="127.0.0.1", show_default=True, help=said),
    )


def file(name: str, said: str) -> _Decorator:
    """A file to write or to read."""
    return click.option(name, type=click.Path(dir_okay=False), metavar="FILE", help=said)
