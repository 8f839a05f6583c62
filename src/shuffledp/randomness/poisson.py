"""Poisson numbers, sampled exactly on integers."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .lookup import LookupTable
from .sampling import Source

#: Probabilities of a Poisson number are whole multiples of 2^-_BITS; the tail that is left out is below 2^-90.
_BITS = 128
#: Poisson numbers of a larger mean are drawn as sums.
_MOST_MEAN = 64
#: Digits of the weights, computed in decimal.
_DECIMAL = Context(prec=60, Emin=-(10**12), Emax=10**12)


def poisson_numbers(src: Source, mean: float | Fraction, size: int) -> NDArray[np.int64]:
    """Independent Poisson numbers, each value with its stated probability to within 2^-80.

    A large one is the sum of several: the means add up exactly.
    """
    whole, rest = divmod(Fraction(mean), _MOST_MEAN)
    total = np.zeros(size, dtype=np.int64)
    for part in [Fraction(_MOST_MEAN)] * int(whole) + [rest] * (rest > 0):
        first, table = _poisson_table(part)
        total += first + table.draw(src, size).astype(np.int64)
    return total


def poisson_total(src: Source, mean: float | Fraction, count: int) -> int:
    """The sum of ``count`` independent Poisson numbers: one Poisson number, of ``count`` times the mean."""
    whole, rest = divmod(Fraction(mean) * count, _MOST_MEAN)
    total = int(poisson_numbers(src, Fraction(_MOST_MEAN), int(whole)).sum())
    return total + int(poisson_numbers(src, rest, 1)[0])


@lru_cache(maxsize=64)
def _poisson_table(mean: Fraction) -> tuple[int, LookupTable]:
    """The first value with a weight, and the law from there: in units of 2^-128, from 60 decimal digits."""
    exact = _DECIMAL.divide(Decimal(mean.numerator), Decimal(mean.denominator))
    unit = Decimal(2**_BITS)
    chance, k = _DECIMAL.exp(-exact), 0
    weights: list[int] = []
    first = 0
    while k <= mean or weights[-1] > 2 ** (_BITS - 100):
        weight = int(_DECIMAL.multiply(chance, unit))
        if weight or k > mean:
            first = first if weights else k
            weights.append(weight)
        k += 1
        chance = _DECIMAL.divide(_DECIMAL.multiply(chance, exact), Decimal(k))
    return first, LookupTable(weights)
