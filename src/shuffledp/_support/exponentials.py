"""Exponentials as the nearest doubles, the same on every machine: what the laws of mechanisms are made of.

Whoever reads a plan derives its program again, and compares the texts.  The functions of C libraries, and those of
numpy, differ in their last digits; those of :mod:`decimal` are defined to be correctly rounded, and the four operations
and square roots of doubles are so everywhere.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache

#: 50 digits leave 40 of e^x - 1 at x = 1e-9; of the context that a user may have set, nothing is used.
_DIGITS = Context(prec=50, Emin=-(10**9), Emax=10**9)

#: log 2, the nearest double.
LOG2 = 0.6931471805599453


@lru_cache(maxsize=1024)
def exp(x: float) -> float:
    """e^x.

    Examples
    --------
    >>> exp(1.0), exp(-800.0), exp(800.0)
    (2.718281828459045, 0.0, inf)
    """
    return float(_DIGITS.exp(Decimal(x)))


@lru_cache(maxsize=1024)
def expm1(x: float) -> float:
    """e^x - 1, to all digits.

    Examples
    --------
    >>> expm1(1e-9)
    1.0000000005000001e-09
    """
    return float(_DIGITS.subtract(_DIGITS.exp(Decimal(x)), 1))


@lru_cache(maxsize=1024)
def tanh(x: float) -> float:
    """(e^2x - 1)/(e^2x + 1).

    Examples
    --------
    >>> tanh(0.5), tanh(-1e-9)
    (0.46211715726000974, -1e-09)
    """
    power = _DIGITS.exp(Decimal(2.0 * x))
    return float(_DIGITS.divide(_DIGITS.subtract(power, 1), _DIGITS.add(power, 1)))
