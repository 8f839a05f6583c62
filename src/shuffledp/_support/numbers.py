"""Numbers as they are shown: rounded to the side on which the sentence around them stays true, or exact.

A proved eps or delta is rounded up, a target or a lower bound down.  A float stands for its shortest decimal: the
delta of 1e-8 that was typed is shown as 1e-08, not as the binary fraction nearest to it.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from ..errors import ParameterError
from . import validation as check

#: Rounding keeps this many significant figures by default.
_DIGITS = 5


def round_up(x: float | Fraction, digits: int = _DIGITS) -> str:
    """A decimal of at most ``digits`` significant figures that is not below x.

    Examples
    --------
    >>> round_up(0.0799301), round_up(1e-8), round_up(99999.5), round_up(float("inf"))
    ('0.079931', '1e-08', '1e+05', 'inf')
    """
    return _rounded(x, digits, ROUND_CEILING)


def round_down(x: float | Fraction, digits: int = _DIGITS) -> str:
    """A decimal of at most ``digits`` significant figures that is not above x.

    Examples
    --------
    >>> round_down(0.0799309), round_down(1e-8), round_down(Fraction(2, 3), 3)
    ('0.07993', '1e-08', '0.666')
    """
    return _rounded(x, digits, ROUND_FLOOR)


def exact(x: Fraction) -> str:
    """The whole decimal of a fraction whose denominator is a product of twos and fives; else "a/b".

    Examples
    --------
    >>> exact(Fraction(0.1))
    '0.1000000000000000055511151231257827021181583404541015625'
    >>> exact(Fraction(1, 3))
    '1/3'
    """
    digits = max(60, 2 * x.denominator.bit_length() + x.numerator.bit_length())
    value = Context(prec=digits).divide(Decimal(x.numerator), Decimal(x.denominator))
    return format(value.normalize(Context(prec=digits)), "f") if Fraction(value) == x else str(x)


def _rounded(x: float | Fraction, digits: int, rounding: str) -> str:
    digits = check.whole("digits", digits, low=1, high=1000, hint="it is how many significant figures are kept")
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    if isinstance(x, int | Fraction):  # an int may be too long for a double
        x = Fraction(x)
        nearest = _nearest(x)
        if Fraction(nearest) != x:
            return _written(context.divide(Decimal(x.numerator), Decimal(x.denominator)), digits, context)
        x = nearest
    try:
        decimal = Decimal(repr(float(x)))
    except (TypeError, ValueError):
        decimal = Decimal("nan")
    if decimal.is_nan():
        raise ParameterError(f"x must be a number, got {check.shown(x)}; pass an int, a float or a Fraction.")
    return _written(context.plus(decimal), digits, context)


def _nearest(x: Fraction) -> float:
    """The nearest double; 0, which equals no such number, if it is too large for a double."""
    try:
        return float(x)
    except OverflowError:
        return 0.0


def _written(value: Decimal, digits: int, context: Context) -> str:
    """As f"{x:.{digits}g}" would write it: no trailing zeros, an exponent of two figures where it is short."""
    if not value.is_finite():
        return str(float(value))
    if not value:
        return "0"
    power = value.adjusted()
    short = value.normalize(context)
    if -4 <= power < digits:
        return format(short, "f")
    mantissa = format(short.scaleb(-power, context), "f")
    return f"{mantissa}e{power:+03d}"
