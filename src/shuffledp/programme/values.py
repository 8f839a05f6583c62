"""The values in a programme or deployment file: numbers as they are written, names, and the place of an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from numbers import Integral

from .._support import validation as valid
from .._support.delta_rules import below, is_rule, read
from .._support.reading import as_written
from ..errors import ParameterError, ShuffleDPError


@contextmanager
def place(where: str) -> Iterator[None]:
    """Errors say where they arose."""
    try:
        yield
    except ShuffleDPError as error:
        raise ParameterError(f"{where}: {error}") from None


def exact(where: str, value: object) -> tuple[Fraction, bool]:
    """A number as it is written, and whether it is written as a count (without a decimal point).

    Examples
    --------
    >>> exact("delta", "1e-8"), exact("users", "1_000_000")
    ((Fraction(1, 100000000), True), (Fraction(1000000, 1), True))
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        if abs(int(value)) > 10**40:  # so large that it would not even be printed
            raise ParameterError(f"{where} must be a number below 1e40, got a larger one; check its digits.")
        return Fraction(int(value)), True
    text = str(value) if isinstance(value, float) else value.strip() if isinstance(value, str) else ""
    number = as_written(text)
    if number is not None:
        return number, not {".", "/"} & set(text)
    raise ParameterError(f"{where} must be a number such as 1_000_000, 0.05 or 1e-8, got {shown(value)}; correct it.")


def whole_number(where: str, value: object) -> int:
    """A whole number as it is written."""
    number, _ = exact(where, value)
    if number.denominator != 1:
        raise ParameterError(f"{where} must be a whole number, got {shown(value)}; round it.")
    return int(number)


def below_written(where: str, value: object) -> tuple[float, float]:
    """The largest float that is not above the number as written (a budget is never rounded up), and the nearest."""
    number, _ = exact(where, value)
    try:
        return below(number), float(number)
    except OverflowError:
        raise ParameterError(f"{where} must be below 1e308, got {shown(value)}; correct it.") from None


def delta_rule(value: object) -> Callable[[int], tuple[float, float]]:
    """The same of delta, as a function of n for a rule such as 0.01/n, which is checked for every n at once."""
    if not is_rule(value):
        found = below_written("target.delta", value)
        with place("target"):
            valid.probability_delta(found[0])
        return lambda n: found
    with place("target"):
        rule = read(value)

    def among(n: int) -> tuple[float, float]:
        number = rule.exact(n)
        return below(number), float(number)

    return among


def one_line(where: str, value: object) -> str | None:
    """A name, or None."""
    if value is not None and not (isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()):
        raise ParameterError(f"{where} must be one line of up to 200 characters, got {shown(value)}; shorten it.")
    return value


def kind(value: object) -> str:
    """What a value is, in the words of the file."""
    if value is None:
        return "nothing"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)


def shown(value: object) -> str:
    """A value as an error message shows it, shortened."""
    return valid.shown(value, 40)
