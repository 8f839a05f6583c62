"""Poisson numbers of blanket messages, sampled exactly on integers."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...randomness.sampling import Source, categorical

#: Probabilities of a Poisson number are whole multiples of 2^-_BITS; the tail that is left out is below 2^-90.
_BITS = 128
#: Poisson numbers of a larger mean are drawn as sums.
_MOST_MEAN = 64.0


def poisson_numbers(src: Source, mean: float, size: int) -> NDArray[np.int64]:
    """Independent Poisson numbers, each value with its stated probability to within 2^-80.

    A large one is the sum of several: the means add up exactly.
    """
    total = np.zeros(size, dtype=np.int64)
    for part in [_MOST_MEAN] * int(mean // _MOST_MEAN) + [math.fmod(mean, _MOST_MEAN)]:
        first, weights = _poisson_weights(part)
        total += first + categorical(src, weights, size)
    return total


@lru_cache(maxsize=16)
def _poisson_weights(mean: float) -> tuple[int, list[int]]:
    """The first value with a weight, and the weights: probabilities in units of 2^-128, from 60 decimal digits."""
    context = Context(prec=60, Emin=-(10**12), Emax=10**12)
    exact, unit = Decimal(mean), Decimal(2**_BITS)
    chance, k = context.exp(-exact), 0
    weights: list[int] = []
    first = 0
    while k <= mean or weights[-1] > 2 ** (_BITS - 100):
        weight = int(context.multiply(chance, unit))
        if weight or k > mean:
            first = first if weights else k
            weights.append(weight)
        k += 1
        chance = context.divide(context.multiply(chance, exact), Decimal(k))
    return first, weights
