"""Packed bits: many coins of one probability, sixty-four at a time; rows of them, changed at one place, and summed.

*Digit by digit.*  A coin of probability 0.d1 d2 ... dK (binary) is made of K fair coins r1, ..., rK, from the last
digit to the first: x = 0, then x = (r or x) where the digit is 1 and (r and x) where it is 0, since this halves the
probability and adds d/2.  On packed bits this is one instruction per digit for many coins at once.

*What K digits leave over* is a second, rare coin per bit: p = a + (1-a) b is "one or the other" of coins a and b, and
p = a (1-b) is "one and not the other".  Rare coins are drawn by their places.  If a Poisson number of places is drawn,
of mean m per bit, uniformly and with repetition, then how often each bit is hit is Poisson(m), independently of all
others: it is hit at all with probability b = 1 - e^-m.  No place has to be compared with any other.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .sampling import Array, Source, below
from .whole_numbers import poisson_total

#: Binary digits that may be read, and what a place costs, in digits of a byte.
_MOST_DIGITS, _PLACE = 16, 160
#: Bytes that are made at once: few enough to stay in the processor's cache.
_PIECE = 1 << 20
_DECIMAL = Context(prec=60, Emin=-(10**12), Emax=10**12)
#: Rows that are unpacked and counted, and their bytes; more are first added bit by bit.
_FEW_ROWS, _FEW_BYTES = 1 << 11, 1 << 15
#: Rows of unpacked bits whose sum fits a byte, which is several times faster.
_BLOCK = 255


class _Plan(NamedTuple):
    """A coin of probability numerator/2^digits, and rare places (``places`` per bit) that are set, or cleared."""

    numerator: int
    digits: int
    places: Fraction
    set_: bool


def packed_coins(src: Source, probability: float | Fraction, size: int) -> NDArray[np.uint8]:
    """``size`` bytes of independent bits, each 1 with exactly this probability (to within 2^-80).

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> bits = packed_coins(source(np.random.default_rng(1)), 0.3, 100_000)
    >>> round(float(np.bitwise_count(bits).mean()) / 8, 2)
    0.3
    """
    plan = _plan(probability)
    if size <= _PIECE:
        return _coins(src, plan, size)
    out = np.empty(size, dtype=np.uint8)
    for start in range(0, size, _PIECE):
        out[start : start + _PIECE] = _coins(src, plan, min(_PIECE, size - start))
    return out


def _coins(src: Source, plan: _Plan, size: int) -> NDArray[np.uint8]:
    out = _by_digits(src, plan.numerator, plan.digits, size)
    if plan.places and size:
        place = below(src, 8 * size, poisson_total(src, plan.places, 8 * size))
        byte, bit = (place >> place.dtype.type(3)).astype(np.intp), np.uint8(1) << (place & 7).astype(np.uint8)
        if plan.set_:
            np.bitwise_or.at(out, byte, bit)
        else:
            np.bitwise_and.at(out, byte, ~bit)
    return out


def _by_digits(src: Source, numerator: int, digits: int, size: int) -> NDArray[np.uint8]:
    """Packed coins of probability numerator/2^digits."""
    if numerator in (0, 1 << digits):
        return np.full(size, 0xFF if numerator else 0, dtype=np.uint8)
    last = (numerator & -numerator).bit_length() - 1
    out = src.raw(size)  # the last digit that is 1
    for index in range(last + 1, digits):
        draw = src.raw(size)
        (np.bitwise_or if numerator >> index & 1 else np.bitwise_and)(out, draw, out=out)
    return out


@lru_cache(maxsize=64)
def _plan(probability: float | Fraction) -> _Plan:
    """The number of digits that costs least, rounded either way."""
    p = Fraction(probability)
    check.in_range("probability", float(p), low=0.0, high=1.0)
    plans = []
    for digits in range(_MOST_DIGITS + 1):
        down = (p.numerator << digits) // p.denominator
        for numerator in {down, min(down + 1, 1 << digits)}:
            first = Fraction(numerator, 1 << digits)
            set_ = first <= p
            if first == p:
                rare = Fraction(0)
            elif set_:
                rare = (p - first) / (1 - first)
            else:
                rare = 1 - p / first
            if rare < 1:
                draws = digits - (numerator & -numerator).bit_length() + 1 if 0 < numerator < 1 << digits else 0
                plans.append((draws + 8 * _PLACE * rare, _Plan(numerator, digits, rare, set_)))
    best = min(plans, key=lambda found: found[0])[1]
    return best._replace(places=_places(best.places))


def _places(rare: Fraction) -> Fraction:
    """-log(1 - rare), to 60 decimal digits."""
    if not rare:
        return rare
    kept = _DECIMAL.divide(Decimal(rare.denominator - rare.numerator), Decimal(rare.denominator))
    return -Fraction(_DECIMAL.ln(kept))


# -- rows of bits, eight to a byte (numpy.packbits), one row per user --------------------------------------------------


def noise_rows(src: Source, probability: float, rows: int, width: int) -> NDArray[np.uint8]:
    """Independent bits, each 1 with this probability; the last byte of a row is filled up with zeros."""
    count = (width + 7) // 8
    out = packed_coins(src, probability, rows * count).reshape(rows, count)
    if width % 8:
        out[:, -1] &= np.uint8(0xFF << (8 * count - width) & 0xFF)
    return out


def places(shape: tuple[int, ...], bits: Array) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Of one bit in every row: its byte in the flattened table, and its mask."""
    start = np.arange(0, shape[0] * shape[1], max(shape[1], 1), dtype=np.intp)
    byte = (bits >> bits.dtype.type(3)).astype(np.intp)
    byte += start
    return byte, np.uint8(128) >> (bits & bits.dtype.type(7)).astype(np.uint8)


def flip_bits(table: NDArray[np.uint8], bits: Array) -> None:
    """Flip one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] ^= mask


def set_bits(table: NDArray[np.uint8], bits: Array, ones: NDArray[np.bool_]) -> None:
    """Write one bit of every row, in place."""
    byte, mask = places(table.shape, bits)
    flat = table.reshape(-1)
    flat[byte] = (flat[byte] & ~mask) | mask * ones


def column_counts(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """How often each bit is set.

    A full adder turns three rows of bits of weight w into one of weight w and one of weight 2w, a third of the table
    at a time: few, long steps.  That goes on, weight by weight, until few rows are left to unpack and count.
    """
    total, weight = np.zeros(width, dtype=np.int64), 1
    few = max(3, min(_FEW_ROWS, _FEW_BYTES // max(table.shape[1], 1)))
    while len(table):
        left, carried = [], []
        while len(table) > few:
            third = len(table) // 3
            left.append(table[3 * third :])
            table, carry = _added(*table[: 3 * third].reshape(3, third, -1))
            carried.append(carry)
        total += weight * _counted(np.concatenate([table, *left]), width)
        table, weight = np.concatenate(carried or [table[:0]]), 2 * weight
    return total


def _added(
    one: NDArray[np.uint8], two: NDArray[np.uint8], three: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The sum of three bits, at every place, and what is carried."""
    either, carry = one ^ two, one & two
    total = either ^ three
    either &= three
    carry |= either
    return total, carry


def _counted(table: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    bits = np.unpackbits(table, axis=1, count=width)
    whole = len(bits) // _BLOCK * _BLOCK
    blocks = bits[:whole].reshape(-1, _BLOCK, width).sum(axis=1, dtype=np.uint8)
    return np.asarray(blocks.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.uint8))
