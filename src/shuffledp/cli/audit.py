"""audit: run a randomizer and look for a leak."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from .._support import validation as valid
from .._support.reading import refuse_constant
from ..errors import ParameterError
from . import options
from .base import NAMES_HELP, answer, main


@main.command(epilog=NAMES_HELP, short_help="Look for leaks in a randomizer that runs.")
@click.argument("subject", metavar="SPEC")
@click.option(
    "--python",
    "is_code",
    is_flag=True,
    help="SPEC is module:function, imported from the current directory: this RUNS that code.",
)
@click.option("--inputs", metavar="A,B,...", help="Values to distinguish: numbers, words, or JSON such as [0,1],[1,0].")
@click.option("--claimed", metavar="SPEC", help="The law that the reports should follow, and its eps0.")
@click.option("--eps0", metavar="X", help="The claimed local budget, if not that of the law.")
@click.option("--samples", default="20000", show_default=True, help="Reports drawn per input.")
@click.option("--confidence", default="0.99", show_default=True, help="Confidence of the whole audit, in [0.5, 1).")
@click.option("--vectorized", is_flag=True, help="The function takes an array of values and returns as many reports.")
@options.as_json
def audit(subject: str, is_code: bool, as_json: bool, **given: Any) -> None:
    """A lower bound on the eps0 of a running randomizer (exit code 1 if it breaks a claim).

    \b
      shuffledp audit grr:eps0=1,d=4
      shuffledp audit grr:eps0=1.1,d=4 --claimed grr:eps0=1,d=4
      shuffledp audit --python telemetry:encode --inputs 0,1,2 --eps0 1

    With --python the named function is imported and called many times, with your rights and without a time limit;
    what it prints goes to stderr.
    """
    parse: dict[str, Callable[[str], Any]] = {
        "inputs": parse_inputs,
        "eps0": partial(valid.parse_number, "eps0"),
        "samples": partial(valid.parse_number, "samples"),
        "confidence": partial(valid.share, "confidence", low=0.5, low_open=False),
    }
    terms = {key: parse[key](text) if key in parse and text is not None else text for key, text in given.items()}
    from .._support.progress import progress
    from ..auditing.run import audit as run

    with progress("drawing reports") as advance, contextlib.redirect_stdout(sys.stderr):
        randomizer = _function(subject) if is_code else _spec(subject)  # code is never run unless --python is given
        found = run(randomizer, **terms, progress=advance)
    answer(as_json, found.to_dict(), str(found))
    click.get_current_context().exit(1 if found.violated else 0)


def _function(text: str) -> Callable[[Any], Any]:
    """The function named module:function, of an installed package or of the current directory."""
    from ..mechanisms.extension import ClassPath, imported

    path = ClassPath.of(f"{text}:")
    found = None if path is None else imported(path)
    if not callable(found):
        raise ParameterError(
            f"SPEC must name a function as module:function with --python, got {text!r}; write telemetry:encode."
        )
    return found  # type: ignore[no-any-return]


def _spec(text: str) -> str:
    from .._support.names import resolve
    from ..mechanisms.catalog import CATALOG

    word, colon, rest = text.partition(":")
    if colon and resolve(word, CATALOG) is None and rest.isidentifier():
        raise ParameterError(
            f"SPEC must name a mechanism, got {text!r}; if it is a function of a module, add --python, which runs it."
        )
    return text


def parse_inputs(text: str) -> list[Any]:
    """Values between commas, as JSON if they all are, else word by word.

    Examples
    --------
    >>> parse_inputs("0,1.5"), parse_inputs("red,green"), parse_inputs("[0,1],[1,0]")
    ([0, 1.5], ['red', 'green'], [[0, 1], [1, 0]])
    """
    try:
        return list(json.loads(f"[{text}]", parse_constant=refuse_constant))
    except (ValueError, RecursionError):
        return [_word(part.strip()) for part in text.split(",")]


def _word(text: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            number: int | float = kind(text)
            if text.isascii() and abs(number) < float("inf"):
                return number
    if not text:
        raise ParameterError("inputs must be values between commas, got an empty one; write for example 0,1,2.")
    return text
