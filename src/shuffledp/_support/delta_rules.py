"""The one reader of delta: a number, or a rule "c/n" such as "0.01/n".

A delta of the order 1/n would allow publishing somebody's record outright, so 0.01/n is a common choice.  c is taken
as it is written, in decimals, and c/n is rounded down: the delta that is used is never above the one that was meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..errors import ParameterError
from . import validation as check

#: With no more characters than these, a numerator above 0 and below 1e308 is a fraction of moderate length.
_LONGEST = 60


@dataclass(frozen=True)
class DeltaRule:
    """delta as a function of n: ``number``, or ``share`` / n where it is None; ``text`` is the rule as written."""

    number: float | None
    share: Fraction = Fraction(0)
    text: str | None = None

    def exact(self, n: int) -> Fraction:
        """delta among n users, as a fraction; it lies in (0, 1)."""
        if self.number is not None:
            return Fraction(self.number)
        value = self.share / n
        if not value < 1 or below(value) == 0.0:
            raise ParameterError(
                f"delta must lie in (0, 1), got {check.shown(self.text, 40)} with n = {n:,}; choose another numerator."
            )
        return value

    def at(self, n: int) -> float:
        """delta among n users, rounded down."""
        return self.number if self.number is not None else below(self.exact(n))

    def at_largest(self, sizes: Iterable[int]) -> float:
        """delta for several batches together: at most c/n for each of them, so the largest n counts."""
        if self.number is not None:
            return self.number
        most = max(sizes, default=None)
        if most is None:
            raise ParameterError(
                f"delta must be a number where no shuffled round says what n is, got {check.shown(self.text, 40)}; "
                "pass a number, or compose a round first."
            )
        return self.at(most)


def read(delta: object) -> DeltaRule:
    """A number in (0, 1), or a rule such as "0.01/n".

    Examples
    --------
    >>> read(1e-6).at(10**6), read("0.01/n").at(100) <= 1e-4, read("1/n").exact(8)
    (1e-06, True, Fraction(1, 8))
    """
    if not isinstance(delta, str):
        return DeltaRule(check.probability_delta(delta))
    top = delta.partition("/")[0].strip()
    try:
        if not is_rule(delta) or len(top) > _LONGEST or not top.isascii():
            raise ParameterError("not a rule")
        if not 0.0 < check.parse_number("delta", top) < math.inf:
            raise ParameterError("not a positive number")
    except ParameterError:
        got = f"got {check.shown(delta, 40)}; write one of the two."
        raise ParameterError(f"delta must be a number in (0, 1) or a rule such as '0.01/n', {got}") from None
    return DeltaRule(None, Fraction(top), delta.strip())


def parse(text: str) -> float | str:
    """What is written on a command line: the number in (0, 1), or the checked rule as it is.

    Examples
    --------
    >>> parse("1e-6"), parse(" 0.01/n")
    (1e-06, '0.01/n')
    """
    if "/" not in text:
        return check.probability_delta(check.parse_number("delta", text))
    read(text)
    return text.strip()


def delta_at(delta: object, n: int) -> float:
    """delta among n users: the number itself, or by its rule.

    Examples
    --------
    >>> delta_at(1e-6, 100), delta_at("0.5/n", 64)
    (1e-06, 0.0078125)
    """
    return read(delta).at(n) if isinstance(delta, str) else check.probability_delta(delta)


def is_rule(delta: object) -> bool:
    """Return True for a text that ends in "/n"; what precedes it is not checked."""
    return isinstance(delta, str) and delta.partition("/")[2].strip() == "n"


def below(number: Fraction) -> float:
    """The largest float that is not above the number."""
    nearest = float(number)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > number else nearest
