"""One sentence for every bad parameter: which, what was expected, what was given, what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeGuard

from ..errors import ParameterError

_MAX_USERS = 10**15
_SCALES = {"k": 3, "thousand": 3, "m": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_SCALED = re.compile(r"(.*[0-9.])\s*([a-z]+)", re.ASCII)
_MOST_CHARACTERS = 400
MIN_EPS0, MAX_EPS0 = 1e-9, 500.0


def shown(value: object, most: int = 80) -> str:
    """A value as a sentence shows it, cut where it is long.

    Examples
    --------
    >>> shown("grr"), len(shown("9" * 5000))
    ("'grr'", 80)
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value lists others: no text, no mapping, no array that is a single number.

    Examples
    --------
    >>> is_list([1, 2]), is_list("12"), is_list(12)
    (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) and getattr(value, "ndim", 1) != 0


def real(name: str, value: object) -> float:
    """A finite or infinite real number; NaN, booleans and text are refused."""
    if type(value) is float and value == value:  # the usual case, at once
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"{name} must be a number, got {shown(value)}; pass a plain int or float.")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{name} must be a number below 1e308, got a larger one; check its digits.") from None
    if math.isnan(number):
        raise ParameterError(f"{name} must be a number, got NaN; check the computation that produced it.")
    return number


def in_range(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    hint: str = "",
) -> float:
    """A real number in an interval whose ends may be open."""
    number = real(name, value)
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if too_low or too_high:
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
        advice = hint or "choose a value inside it"
        raise ParameterError(f"{name} must lie in {interval}, got {shown(value)}; {advice}.")
    return number


def inside(name: str, value: object, low: float = 0.0, high: float = math.inf, *, hint: str = "") -> float:
    """A real number between two ends, of which it is neither."""
    return in_range(name, value, low=low, high=high, low_open=True, high_open=True, hint=hint)


def interval(low: object, high: object) -> tuple[float, float]:
    """The ends of a range, of which the second is above the first."""
    ends = [in_range(name, value, low=-1e300, high=1e300) for name, value in (("low", low), ("high", high))]
    if not ends[0] < ends[1]:
        raise ParameterError(f"high must be above low, got low = {ends[0]:g} and high = {ends[1]:g}; exchange them.")
    return ends[0], ends[1]


def users(value: object, name: str = "n") -> int:
    """A whole number of users between 1 and 1e15 (1e6 as a float and "2M" are fine, 10.5 is not)."""
    if type(value) is int and 1 <= value <= _MAX_USERS:  # the usual case, at once
        return value
    if isinstance(value, str):
        return parse_users(value, name)
    number = real(name, value)
    if not (1 <= number <= _MAX_USERS) or number != math.floor(number):
        raise ParameterError(
            f"{name} must be a whole number of users between 1 and 1e15, got {shown(value)}; "
            f"pass for example {name}=1_000_000."
        )
    return int(value) if isinstance(value, Integral) else int(number)


def whole(name: str, value: object, *, low: int, high: int = 2**53, hint: str = "") -> int:
    """A whole number in [low, high] (4.0 is fine, 4.5 is not)."""
    number = in_range(name, value, low=low, high=high, hint=hint)
    if number != math.floor(number):
        raise ParameterError(f"{name} must be a whole number, got {shown(value)}; {hint or 'round it'}.")
    return int(number)


def probability_delta(value: object) -> float:
    """delta in the open interval (0, 1)."""
    return inside("delta", value, 0.0, 1.0, hint="a common choice is delta = 0.01/n")


def tolerance(value: object) -> float:
    """A relative accuracy between 1e-7 and 0.1."""
    return in_range("tol", value, low=1e-7, high=0.1, hint="1e-4 is the default of amplify")


def parse_number(name: str, text: str) -> float:
    """The number written in a spec or on the command line: 1e6, 1_000_000 and inf are fine.

    Digits of other scripts, which float() also reads, are refused: not every reader can read them.

    Examples
    --------
    >>> parse_number("n", "1_000"), parse_number("n", "1e6")
    (1000.0, 1000000.0)
    >>> parse_number("n", "\u0663")
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: n must be a number, got '٣'; write it like 1000000, 1_000_000, 1e6 or 0.5.
    """
    try:
        if not text.isascii() or len(text) > _MOST_CHARACTERS:
            raise ValueError(text)
        number = float(text)
    except ValueError:
        raise ParameterError(
            f"{name} must be a number, got {shown(text)}; write it like 1000000, 1_000_000, 1e6 or 0.5."
        ) from None
    return real(name, number)


def parse_users(text: str, name: str = "n") -> int:
    """A whole number of users written as 1000000, 1_000_000, 1e6, 1M or 1 million.

    Examples
    --------
    >>> parse_users("2M"), parse_users("2.5 million"), parse_users("40k"), parse_users("1e6")
    (2000000, 2500000, 40000, 1000000)
    """
    scaled = _SCALED.fullmatch(text.strip().lower())
    figures, power = (scaled[1], _SCALES[scaled[2]]) if scaled and scaled[2] in _SCALES else (text, 0)
    number = _written(figures)
    if number is not None and (number * 10**power).denominator == 1:
        return users(int(number * 10**power), name)
    return users(parse_number(name, text), name)


def percent(text: str) -> Fraction | None:
    """The share written as "5%" or "5 %"; None if the text is not a number of percent.

    Examples
    --------
    >>> percent("5%"), percent("0.5 %"), percent("0.05")
    (Fraction(1, 20), Fraction(1, 200), None)
    """
    head, sign, tail = text.strip().partition("%")
    number = _written(head.strip()) if sign and not tail else None
    return None if number is None else number / 100


def share(name: str, value: object, *, low: float = 0.0, low_open: bool = True) -> float:
    """A share between ``low`` and 1, given as a number or as text: 0.6, "0.6" or "60%".

    Examples
    --------
    >>> share("level", "60%"), share("level", 0.6)
    (0.6, 0.6)
    >>> share("level", 60)
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: level must be a share in (0, 1), got 60; write "60%" or 0.6 for 60 percent.
    """
    part = percent(value) if isinstance(value, str) else None
    if part is not None:
        number = float(part)
    else:
        number = parse_number(name, value) if isinstance(value, str) else real(name, value)
    too_low, too_high = number <= low if low_open else number < low, number >= 1.0
    if too_low or too_high:
        interval = f"{'(' if low_open else '['}{low:g}, 1)"
        given = f"{number:g}"
        bare = part is None and 1.0 < number <= 100.0 and number / 100 >= low
        advice = f'write "{given}%" or {number / 100:g} for {given} percent' if bare else "choose one"
        raise ParameterError(f"{name} must be a share in {interval}, got {shown(value)}; {advice}.")
    return number


def _written(text: str) -> Fraction | None:
    from .reading.numbers import as_written

    return as_written(text.strip())


def one_of(kind: str, name: str, known: Iterable[str]) -> str:
    """A known name; an unknown one is refused with the nearest known name."""
    names = sorted(known)
    listed = f"choose one of {', '.join(names)}" if len(names) <= 10 else f"'shuffledp {kind}s' lists all {len(names)}"
    if not isinstance(name, str):
        raise ParameterError(f"{kind} must be a name, got {shown(name)}; {listed}.")
    if name in names:
        return name
    close = get_close_matches(name, names, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"{listed}."
    raise ParameterError(f"unknown {kind} {shown(name)}; {advice}")


def local_budget(value: object) -> float:
    """eps0 in [1e-9, 500]: smaller values cannot be told from 0 in double precision, larger ones protect nothing."""
    return in_range("eps0", value, low=MIN_EPS0, high=MAX_EPS0, hint="eps0 is the local budget")
