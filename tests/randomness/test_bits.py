"""Packed coins: exact in every digit, independent of each other, and of the right rate."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from shuffledp import ParameterError
from shuffledp.randomness import bits
from shuffledp.randomness.bits import packed_coins
from shuffledp.randomness.sampling import Keystream, source

PROBABILITIES = [1 / 3, 0.02, 0.5, 1e-4, 0.2689414213699951, 0.9, 1 - 1e-5, 3e-7]


class Planes:
    """A source whose k-th call holds the k-th binary digit of every number below 2^digits, one number per bit."""

    for_release = False

    def __init__(self, digits: int) -> None:
        numbers = np.array(list(product([0, 1], repeat=digits)), dtype=np.uint8)
        self.planes = list(np.packbits(numbers, axis=0).T)

    def raw(self, size: int) -> Any:
        return np.ascontiguousarray(self.planes.pop(0)[:size])


@pytest.mark.parametrize("numerator", [0, 1, 2, 77, 128, 200, 255, 256])
def test_digits_are_exact(numerator: int) -> None:
    """Each of the 256 numbers of eight digits once: exactly ``numerator`` of them give a 1."""
    made = bits._by_digits(Planes(8), numerator, 8, 32)
    assert int(np.unpackbits(made).sum()) == numerator


@pytest.mark.parametrize("probability", [*PROBABILITIES, 0.0, 1.0, 0.25, 1 / 256, Fraction(1, 7)])
def test_digits_and_rare_places_make_the_probability(probability: float | Fraction) -> None:
    plan, p = bits._plan(probability), Fraction(probability)
    first, rare = Fraction(plan.numerator, 1 << plan.digits), -math.expm1(-float(plan.places))
    made = float(first) + (1.0 - float(first)) * rare if plan.set_ else float(first) * (1.0 - rare)
    assert made == pytest.approx(float(p), rel=1e-13, abs=1e-15)
    assert rare < 0.02 and (plan.places == 0) == (first == p)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_the_stated_rate_and_no_correlation(probability: float) -> None:
    size, p = 4_000_000, probability
    made = np.unpackbits(packed_coins(source(np.random.default_rng(5)), p, size // 8)).astype(np.float64)
    assert abs(made.mean() - p) < 4.5 * math.sqrt(p * (1 - p) / size)
    for lag in (1, 2, 8, 64, 128, 1 << 16):
        together = float((made[lag:] * made[:-lag]).mean())
        assert abs(together - p * p) < 6 * p * math.sqrt((1 - p) / size) + 6 / size


def test_every_pattern_of_a_byte_has_its_probability() -> None:
    """All 256 patterns: rates and joint laws of the eight bits at once."""
    p, size = 0.2689414213699951, 1_000_000
    seen = np.bincount(packed_coins(Keystream(), p, size), minlength=256)
    ones = np.bitwise_count(np.arange(256, dtype=np.uint8))
    expected = size * p**ones * (1 - p) ** (8 - ones.astype(float))
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-6


def test_rare_coins_alone_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no digit read at all, places make every bit: numbers of ones in blocks are binomial."""
    monkeypatch.setattr(bits, "_MOST_DIGITS", 0)
    bits._plan.cache_clear()
    try:
        p, blocks, width = 0.05, 40_000, 32
        made = packed_coins(Keystream(), p, blocks * width // 8)
    finally:
        bits._plan.cache_clear()
    ones = np.unpackbits(made).reshape(blocks, width).sum(axis=1)
    seen = np.bincount(np.minimum(ones, 8).astype(np.int64), minlength=9)
    law = stats.binom.pmf(np.arange(8), width, p)
    expected = blocks * np.append(law, 1 - law.sum())
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-6


def test_large_requests_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "_PIECE", 1000)
    made = packed_coins(source(np.random.default_rng(1)), 0.3, 12_345)
    assert made.size == 12_345 and abs(np.bitwise_count(made).mean() / 8 - 0.3) < 0.01
    assert packed_coins(Keystream(), 0.3, 0).size == 0


def test_bad_probabilities() -> None:
    for bad in (-0.1, 1.1):
        with pytest.raises(ParameterError):
            packed_coins(Keystream(), bad, 1)
