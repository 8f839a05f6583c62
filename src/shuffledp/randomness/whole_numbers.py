"""Binomial and geometric numbers, sampled exactly on integers."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from .lookup import LookupTable
from .sampling import Source, bernoulli

#: Trials of a binomial number that are drawn together.
_TRIALS = 128
#: Digits of the probabilities of geometric numbers, computed in decimal: 40 squarings leave 48 of them.
_DECIMAL = Context(prec=60, Emin=-(10**12), Emax=10**12)
#: A binary digit of a geometric number that is rarer than this is 0.
_RARE = Decimal(2) ** -100


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
        found.append(Fraction(_DECIMAL.divide(power, 1 + power)))
        power = _DECIMAL.multiply(power, power)
    return tuple(found)


def share_right(left: float, right: float, mode: int) -> Fraction:
    """Pr[N >= mode] of the weights left^(mode - N) below the mode (N >= 0) and right^(N - mode) from it on."""
    q = Decimal(left)
    below = _DECIMAL.divide(_DECIMAL.multiply(q, 1 - _DECIMAL.power(q, mode)), 1 - q) if mode and left else Decimal(0)
    above = _DECIMAL.divide(Decimal(1), 1 - Decimal(right))
    return min(Fraction(_DECIMAL.divide(above, _DECIMAL.add(above, below))), Fraction(1))
