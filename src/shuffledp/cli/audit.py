"""audit: run a randomizer and look for a leak."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from .. import _validation as valid
from ..errors import ParameterError
from .base import SPEC_HELP, json_option, main, print_json


@main.command(epilog=SPEC_HELP)
@click.argument("subject", metavar="SPEC")
@click.option(
    "--python",
    "is_code",
    is_flag=True,
    help="SPEC is module:function, imported from the current directory: this RUNS that code.",
)
@click.option("--inputs", metavar="A,B,...", help="Values to tell apart: numbers, words, or JSON such as [0,1],[1,0].")
@click.option("--claimed", metavar="SPEC", help="The law that the reports should follow, and its eps0.")
@click.option("--eps0", metavar="X", help="The claimed local budget, if not that of the law.")
@click.option("--samples", default="20000", show_default=True, help="Reports drawn per input.")
@click.option("--confidence", default="0.99", show_default=True, help="Of everything that is said, in [0.5, 1).")
@click.option("--vectorised", is_flag=True, help="The function takes an array of values and returns as many reports.")
@json_option
def audit(
    subject: str,
    is_code: bool,
    inputs: str | None,
    claimed: str | None,
    eps0: str | None,
    samples: str,
    confidence: str,
    vectorised: bool,
    as_json: bool,
) -> None:
    """A lower bound on the eps0 of a running randomizer (exit code 1 if it breaks a claim).

    \b
      shuffledp audit grr:eps0=1,d=4
      shuffledp audit grr:eps0=1.1,d=4 --claimed grr:eps0=1,d=4
      shuffledp audit --python telemetry:encode --inputs 0,1,2 --eps0 1

    With --python the named function is imported and called many times, with your rights; what it prints goes to
    stderr.
    """
    terms: dict[str, Any] = {
        "inputs": None if inputs is None else parse_inputs(inputs),
        "claimed": claimed,
        "eps0": None if eps0 is None else valid.parse_number("eps0", eps0),
        "samples": valid.parse_number("samples", samples),
        "confidence": valid.parse_number("confidence", confidence),
        "vectorised": vectorised,
    }
    from ..auditing.run import audit as run  # before the current directory may hide a package
    from .progress import late_bar

    with _foreign_code() if is_code else contextlib.nullcontext():
        # what cannot be a mechanism is not guessed to be code
        randomizer = load(subject) if is_code else _spec(subject)
        with late_bar("drawing reports") as advance:
            found = run(randomizer, **terms, progress=advance)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
    click.get_current_context().exit(1 if found.violated else 0)


def _spec(text: str) -> str:
    from .._names import resolve
    from ..mechanisms.registry import CATALOGUE

    word, colon, rest = text.partition(":")
    if colon and resolve(word, CATALOGUE) is None and rest.isidentifier():
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
        return list(json.loads(f"[{text}]", parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return [_word(part.strip()) for part in text.split(",")]


def _word(text: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            number: int | float = kind(text)
            if abs(number) < float("inf"):
                return number
    if not text:
        raise ParameterError("inputs must be values between commas, got an empty one; write for example 0,1,2.")
    return text


def _no_constant(text: str) -> float:
    raise ValueError(text)


def load(text: str) -> Callable[[Any], Any]:
    """The function named module:function, imported from the current directory or the installed packages."""
    import importlib

    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ParameterError(f"SPEC must be module:function with --python, got {text!r}; write telemetry:encode.")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        reason = " ".join(str(error).split())[:120].rstrip(".")
        raise ParameterError(
            f"module {module!r} must be one that can be imported, got {type(error).__name__} ({reason}); "
            "run this where it lies."
        ) from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ParameterError(f"{text!r} must name a function, got none of that name in the module; check it.")
    function: Callable[[Any], Any] = found
    return function


@contextlib.contextmanager
def _foreign_code() -> Iterator[None]:
    """Imports from the current directory; prints go to stderr; an exit of the code is not the answer of the audit."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        raise ParameterError(
            f"randomizer must return a report for every input, got an exit with {error.code!r}; remove it."
        ) from None
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(here)
