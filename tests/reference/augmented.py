"""An augmented shuffle from its definition: whole weights of the dummies, all pairs of counts enumerated exactly."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from math import comb, factorial

import numpy as np


def binomial(size: int, mean: Fraction) -> tuple[list[int], Fraction]:
    """Weights of Bin(size, mean/size), and what they are to be multiplied by."""
    p = mean / size
    a, b = p.numerator, p.denominator
    return [comb(size, k) * a**k * (b - a) ** (size - k) for k in range(size + 1)], Fraction(1, b**size)


def geometric(left: Fraction, right: Fraction, mode: int, more: int) -> tuple[list[int], Fraction]:
    """left^(mode - k) below the mode and right^(k - mode) from it on, up to ``more`` beyond it."""
    weights = [left ** (mode - k) for k in range(mode)] + [right**k for k in range(more + 1)]
    scale = left.denominator**mode * right.denominator**more
    exact = sum(weights[:mode], Fraction(0)) + 1 / (1 - right)
    return [int(w * scale) for w in weights], 1 / (exact * scale)


def poisson(mean: Fraction, most: int) -> tuple[list[int], Fraction]:
    """mean^k/k! for k up to ``most``, times e^-mean to 60 digits."""
    getcontext().prec = 60
    a, b = mean.numerator, mean.denominator
    weights = [a**k * b ** (most - k) * (factorial(most) // factorial(k)) for k in range(most + 1)]
    return weights, Fraction((-Decimal(a) / Decimal(b)).exp()) / (b**most * factorial(most))


def delta(law: tuple[list[int], Fraction], keep: Fraction, factor: Fraction, *, counts: int = 2) -> Fraction:
    """sum (P - factor Q)_+ over all values of two counts: R x D against D x R (of one count, R against D)."""
    weights, scale = law
    a, b = keep.numerator, keep.denominator
    d = np.array([b * w for w in weights] + [0], dtype=object)
    r = np.array([(b - a) * w for w in weights] + [0], dtype=object) + np.array([0, *(a * w for w in weights)], object)
    if counts == 1:
        gain = np.maximum(factor.denominator * r - factor.numerator * d, 0)
        return Fraction(int(gain.sum())) * scale / (b * factor.denominator)
    gain = np.maximum(factor.denominator * np.outer(r, d) - factor.numerator * np.outer(d, r), 0)
    return Fraction(int(gain.sum())) * scale**2 / (b * b * factor.denominator)
