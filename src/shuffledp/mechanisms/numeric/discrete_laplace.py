"""Exact samplers on integers for real-valued mechanisms: biased coins, rounding to a grid, discrete Laplace noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...randomness.sampling import Source, below, bernoulli, words

#: The finest noise: digits of a magnitude below the first doubling of its scale come from one 32-bit draw.
_MOST_BITS = 32


def coins(src: Source, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
    """One event per entry, of exactly that probability (a float in [0, 1]) to within 2^-72.

    As in :func:`shuffledp.randomness.sampling.bernoulli`, a random byte decides unless it ties with the first digit
    in base 256; the rest of the probability is then compared with a 64-bit word.
    """
    flat = np.ascontiguousarray(probabilities, dtype=np.float64).reshape(-1)
    scaled = flat * 256.0
    digit = scaled.astype(np.uint16)  # 256 for probability 1: every byte is below it
    first = words(src, flat.size, 8)
    out = first < digit
    tied = np.flatnonzero(first == digit)
    rest = scaled[tied] - digit[tied]  # exact: the fractional part of a float is a float
    out[tied] = words(src, tied.size, 64) < (rest * 2.0**64).astype(np.uint64)
    return out.reshape(probabilities.shape)


def on_grid(src: Source, values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Multiples of ``step``, a power of two: rounded up or down at random, without bias (floor(x/step + U))."""
    scaled = values / step  # exact
    whole = np.floor(scaled)
    return np.asarray(whole.astype(np.int64) + coins(src, scaled - whole))


def discrete_laplace(src: Source, rate: float, size: int) -> NDArray[np.int64]:
    """Whole numbers y with probability tanh(rate/2) exp(-rate |y|), exactly (Canonne, Kamath, Steinke, NeurIPS 2020).

    Their Algorithm 2: a geometric magnitude and a sign; "minus zero" is drawn again.  No transcendental
    function is evaluated: exp(-x) enters only as the probability of an event built from rational coins.

    Parameters
    ----------
    rate : float in [2^-32, 1)
        Log-ratio of neighbouring probabilities, taken as the exact rational number that the float is.
    """
    if not 2.0**-_MOST_BITS <= rate < 1.0:
        raise ParameterError(f"rate must lie in [2^-{_MOST_BITS}, 1), got {rate!r}; choose another grid.")
    out = np.empty(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        magnitude = _geometric(src, rate, left.size)
        minus = bernoulli(src, 0.5, left.size)
        out[left] = np.where(minus, -magnitude, magnitude)
        left = left[minus & (magnitude == 0)]
    return out


def _geometric(src: Source, rate: float, size: int) -> NDArray[np.int64]:
    """g >= 0 with probability proportional to exp(-rate g).

    Write rate = step/2^k with step in [1/2, 1).  The digits below 2^k are uniform, kept with probability
    exp(-rate digits); the multiple of 2^k counts events of probability exp(-step).  Both are independent.
    """
    step, exponent = math.frexp(rate)
    scale = 1 << -exponent
    out = np.empty(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        digits = below(src, scale, left.size)
        kept = _decay(src, step, left.size, digits, scale)
        out[left[kept]] = digits[kept]
        left = left[~kept]
    left = np.arange(size)
    while left.size:
        left = left[_decay(src, step, left.size)]
        out[left] += scale
    return out


def _decay(
    src: Source, step: float, size: int, digits: NDArray[Any] | None = None, scale: int = 1
) -> NDArray[np.bool_]:
    """Events of probability exp(-step digits/scale) each (digits = scale if not given), step <= 1.

    Algorithm 1 of the paper: count coins of probability x/1, x/2, x/3, ... up to the first failure; the
    number of the failed coin is odd with probability exp(-x).  A coin x/k is a coin step/k and a coin digits/scale.
    """
    odd = np.ones(size, dtype=bool)
    running = np.arange(size)
    k = 1
    while running.size:
        running = running[bernoulli(src, Fraction(step) / k, running.size)]
        if digits is not None:
            running = running[below(src, scale, running.size) < digits[running]]
        odd[running] ^= True
        k += 1
    return odd
