"""Exact samplers on integers for real-valued mechanisms: biased coins, rounding to a grid, discrete Laplace noise."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...randomness.lookup import LookupTable
from ...randomness.sampling import Array, Source, below, bernoulli, words

#: The finest noise: low digits of a magnitude come from one 32-bit draw.
_MOST_BITS = 32
#: Tables serve rates from 2^-(_TABLE_BITS + 1) on, up to exp(-_REACH); powers are kept in units of 2^-_UNIT.
_TABLE_BITS, _REACH, _UNIT = 10, 5.0, 200
_DECIMAL = Context(prec=80, Emin=-(10**12), Emax=10**12)


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


def on_grid(src: Source, values: NDArray[np.float64], step: float, dtype: type[np.signedinteger] = np.int64) -> Array:
    """Multiples of ``step``, a power of two: rounded up or down at random, without bias (floor(x/step + U)).

    U is a random byte over 256; where that leaves it open (1 in 256), the exact rest is compared with a 64-bit word.
    ``dtype`` must hold 256 x/step.
    """
    scaled = values * (256.0 / step)  # exact
    whole = np.floor(scaled)
    out = whole.astype(dtype)
    out += words(src, out.size, 8).reshape(out.shape)
    flat, tied = out.reshape(-1), np.flatnonzero(out.astype(np.uint8) == 255)
    out >>= 8
    rest = (scaled.reshape(-1)[tied] - whole.reshape(-1)[tied]) * 2.0**64
    flat[tied] += words(src, tied.size, 64) < rest.astype(np.uint64)
    return out


def discrete_laplace(src: Source, rate: float, size: int, dtype: type[np.signedinteger] = np.int64) -> Array:
    """Whole numbers y with probability tanh(rate/2) exp(-rate |y|), to within 2^-120.

    A table of probabilities, which are whole multiples of 2^-128, serves |y| < T; beyond, what exceeds T is geometric
    again.  At rates so small that a table would be long, the low digits of |y| are drawn by coins (Canonne, Kamath,
    Steinke, NeurIPS 2020), whose law is exact.

    Parameters
    ----------
    rate : float in [2^-32, 1)
        Log-ratio of neighboring probabilities, taken as the exact rational number that the float is.
    dtype : signed integers
        Noise that does not fit wraps around.
    """
    if not 2.0**-_MOST_BITS <= rate < 1.0:
        raise ParameterError(f"rate must lie in [2^-{_MOST_BITS}, 1), got {rate!r}; choose another grid.")
    fine = 1 << max(0, -math.frexp(rate)[1] - _TABLE_BITS)
    noise = _Noise.of(rate * fine)  # exact
    if fine == 1:
        return noise.both_ways(src, size, dtype)
    out = np.empty(size, dtype=dtype)
    left = np.arange(size)
    while left.size:  # a magnitude and a sign; "minus zero" is drawn again
        magnitude = noise.geometric(src, left.size) * fine + _low_digits(src, rate * fine, left.size, fine)
        minus = bernoulli(src, 0.5, left.size)
        out[left] = np.where(minus, -magnitude, magnitude)
        left = left[minus & (magnitude == 0)]
    return out


class _Noise:
    """Probabilities proportional to exp(-rate |y|), as a table of -T, ..., T, whose ends stand for all beyond."""

    def __init__(self, rate: float) -> None:
        self._most = math.ceil(_REACH / rate)
        ratio = int(_DECIMAL.multiply(_DECIMAL.exp(Decimal(-rate)), Decimal(2**_UNIT)))
        power, powers = 1 << _UNIT, []
        for _ in range(self._most):
            powers.append(power)
            power = power * ratio >> _UNIT
        side = [value * ((1 << _UNIT) - ratio) >> _UNIT for value in powers]
        self._table = LookupTable([power, *side[:0:-1], *side, power])

    @staticmethod
    @lru_cache(maxsize=16)
    def of(rate: float) -> _Noise:
        """The table of this rate, made once."""
        return _Noise(rate)

    def both_ways(self, src: Source, size: int, dtype: type[np.signedinteger]) -> Array:
        """Discrete Laplace noise."""
        drawn = self._table.draw(src, size)
        beyond = np.flatnonzero((drawn == 0) | (drawn == 2 * self._most))
        out = drawn.astype(dtype)
        out -= self._most
        out[beyond] += (np.sign(out[beyond]) * self.geometric(src, beyond.size)).astype(dtype)
        return out

    def geometric(self, src: Source, size: int) -> NDArray[np.int64]:
        """g >= 0 with probability proportional to exp(-rate g): nonnegative noise, plus another draw where it is T."""
        out = np.zeros(size, dtype=np.int64)
        left = np.arange(size)
        while left.size:
            drawn = self._table.draw(src, left.size).astype(np.int64) - self._most
            out[left] += np.maximum(drawn, 0)
            left = left[(drawn < 0) | (drawn == self._most)]
        return out


def _low_digits(src: Source, step: float, size: int, scale: int) -> NDArray[np.int64]:
    """Uniform digits below ``scale``, each kept with probability exp(-step digits/scale)."""
    out = np.empty(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        digits = below(src, scale, left.size)
        kept = _decay(src, step, left.size, digits, scale)
        out[left[kept]] = digits[kept]
        left = left[~kept]
    return out


def _decay(src: Source, step: float, size: int, digits: Array, scale: int) -> NDArray[np.bool_]:
    """Events of probability exp(-step digits/scale) each, step <= 1.

    Algorithm 1 of the paper: count coins of probability x/1, x/2, x/3, ... up to the first failure; the
    number of the failed coin is odd with probability exp(-x).  A coin x/k is a coin step/k and a coin digits/scale.
    """
    odd = np.ones(size, dtype=bool)
    running = np.arange(size)
    k = 1
    while running.size:
        running = running[bernoulli(src, Fraction(step) / k, running.size)]
        running = running[below(src, scale, running.size) < digits[running]]
        odd[running] ^= True
        k += 1
    return odd
