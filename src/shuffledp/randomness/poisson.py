"""Poisson numbers, sampled exactly on integers."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
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


#: Decimal digits of the thresholds of a Poisson number: the rounding of its few 10^5 steps stays below 10^-70.
_MORE_DIGITS = Context(prec=80, Emin=-(10**12), Emax=10**12)
_MOST_MEAN_LISTED = 20_000


def poisson_cuts(mean: Fraction, chance: Fraction) -> tuple[int, list[str], Fraction]:
    """A Poisson number cut off where more are rarer than ``chance``: its first value, thresholds, and what is cut off.

    The number is the first value plus how many thresholds are at most a random word (thresholds.py); larger ones
    count as the last.  Every threshold is 2^128 Pr[N <= k] to within two units, and so is what comes before the first
    value.  From k >= 2 mean on the probabilities at least halve, so that all beyond k are at most that of k.

    Examples
    --------
    >>> first, listed, beyond = poisson_cuts(Fraction(1), Fraction(1, 10**6))
    >>> first, len(listed), f"{float(beyond):.2g}"
    (0, 9, '1.1e-07')
    >>> poisson_cuts(Fraction(0), Fraction(1, 10**6))
    (0, [], Fraction(0, 1))
    """
    if mean == 0:
        return 0, [], Fraction(0)
    if mean > _MOST_MEAN_LISTED:
        raise ParameterError(f"mean must be at most {_MOST_MEAN_LISTED:,} messages, got {float(mean):g}; lower it.")
    exact, unit = _MORE_DIGITS.divide(Decimal(mean.numerator), Decimal(mean.denominator)), Decimal(2**_BITS)
    listed = [_MORE_DIGITS.exp(-exact)]
    rare = _MORE_DIGITS.divide(Decimal(99 * chance.numerator), Decimal(100 * chance.denominator))
    while len(listed) <= 2 * mean or listed[-1] * 2**20 > rare:
        step = _MORE_DIGITS.divide(exact, Decimal(len(listed)))
        listed.append(_MORE_DIGITS.multiply(listed[-1], step))
    last, beyond = len(listed) - 1, listed[-1]
    while last and (more := _MORE_DIGITS.add(beyond, listed[last])) <= rare:
        beyond, last = more, last - 1
    total, found = Decimal(0), []
    for value in listed[:last]:
        total = _MORE_DIGITS.add(total, value)
        found.append(min(int(_MORE_DIGITS.multiply(total, unit)), 2**_BITS))
    first = next((k for k, cut in enumerate(found) if cut), last)
    return first, [f"{cut:032x}" for cut in found[first:]], Fraction(beyond) * Fraction(101, 100)
