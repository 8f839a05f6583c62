"""Poisson, binomial and geometric numbers, sampled exactly on integers."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .lookup import LookupTable
from .sampling import Source, bernoulli

#: Probabilities of a Poisson number are whole multiples of 2^-_BITS; the tail that is left out is below 2^-90.
_BITS = 128
#: Poisson numbers of a larger mean are drawn as sums; thresholds are listed up to the second mean.
_MOST_MEAN, _MOST_MEAN_LISTED = 64, 20_000
#: Digits of the weights, computed in decimal; of geometric numbers 40 squarings leave 48 of them.
_DECIMAL = Context(prec=60, Emin=-(10**12), Emax=10**12)
#: Decimal digits of the thresholds of a Poisson number: the rounding of its few 10^5 steps stays below 10^-70.
_MORE_DIGITS = Context(prec=80, Emin=-(10**12), Emax=10**12)
#: Trials of a binomial number that are drawn together.
_TRIALS = 128
#: A binary digit of a geometric number that is rarer than this is 0.
_RARE = Decimal(2) ** -100


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
    chance, k = _DECIMAL.exp(_DECIMAL.minus(exact)), 0
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
    listed = [_MORE_DIGITS.exp(_MORE_DIGITS.minus(exact))]
    rare = _MORE_DIGITS.divide(Decimal(99 * chance.numerator), Decimal(100 * chance.denominator))
    rarest = _MORE_DIGITS.divide(rare, Decimal(2**20))
    while len(listed) <= 2 * mean or listed[-1] > rarest:
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


def binomial_numbers(src: Source, trials: int, probability: Fraction, size: int) -> NDArray[np.int64]:
    """Independent Bin(trials, probability) numbers: sums of numbers of 128 trials, each from a table."""
    whole, rest = divmod(trials, _TRIALS)
    total = np.zeros(size, dtype=np.int64)
    for some in [_TRIALS] * whole + [rest] * (rest > 0):
        total += _binomial_table(some, probability).draw(src, size).astype(np.int64)
    return total


@lru_cache(maxsize=16)
def _binomial_table(trials: int, probability: Fraction) -> LookupTable:
    """The whole weights comb(trials, k) a^k (b-a)^(trials-k) of a probability a/b."""
    a, b = probability.numerator, probability.denominator
    return LookupTable([comb(trials, k) * a**k * (b - a) ** (trials - k) for k in range(trials + 1)])


def geometric_numbers(src: Source, ratio: float, size: int, *, below: int | None = None) -> NDArray[np.int64]:
    """Independent numbers k >= 0 with Pr[k] proportional to ratio^k, those under ``below`` only if it is given.

    The binary digits of such a number are independent: digit j is 1 with probability q/(1 + q), q = ratio^(2^j).  Fewer
    digits give a number under a power of two; with the least power that is at least ``below`` more than half of them
    are under it, and the others are drawn again.

    Examples
    --------
    >>> from .sampling import source
    >>> found = geometric_numbers(source(np.random.default_rng(0)), 0.5, 4000, below=3)
    >>> [round(share, 1) for share in (np.bincount(found) / 4000).tolist()]  # 4/7, 2/7, 1/7
    [0.6, 0.3, 0.1]
    """
    chances = _digit_chances(ratio, None if below is None else (below - 1).bit_length())
    out, todo = np.zeros(size, dtype=np.int64), np.arange(size)
    while todo.size:
        drawn = np.zeros(todo.size, dtype=np.int64)
        for j, chance in enumerate(chances):
            drawn += bernoulli(src, chance, todo.size).astype(np.int64) << j
        out[todo] = drawn
        todo = todo[drawn >= below] if below is not None else todo[:0]
    return out


@lru_cache(maxsize=64)
def _digit_chances(ratio: float, digits: int | None) -> tuple[Fraction, ...]:
    found: list[Fraction] = []
    power = Decimal(ratio)
    while power > _RARE and (digits is None or len(found) < digits):
        found.append(Fraction(_DECIMAL.divide(power, _DECIMAL.add(1, power))))
        power = _DECIMAL.multiply(power, power)
    return tuple(found)


def share_right(left: float, right: float, mode: int) -> Fraction:
    """Pr[N >= mode] of the weights left^(mode - N) below the mode (N >= 0) and right^(N - mode) from it on."""
    q, less = Decimal(left), partial(_DECIMAL.subtract, Decimal(1))
    below = Decimal(0)
    if mode and left:
        below = _DECIMAL.divide(_DECIMAL.multiply(q, less(_DECIMAL.power(q, mode))), less(q))
    above = _DECIMAL.divide(Decimal(1), less(Decimal(right)))
    return min(Fraction(_DECIMAL.divide(above, _DECIMAL.add(above, below))), Fraction(1))
