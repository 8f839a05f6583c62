"""The law of a number of messages: a fixed one and sums of coins, in exact fractions from the definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def law(fixed: int, parts: Sequence[tuple[int, float]]) -> dict[int, Fraction]:
    """Pr[fixed + Bin(size, chance) + ... = k] for all k."""
    out = {fixed: Fraction(1)}
    for size, chance in parts:
        p = Fraction(chance)
        binomial = [math.comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)]
        new: dict[int, Fraction] = {}
        for m, mass in out.items():
            for k, more in enumerate(binomial):
                new[m + k] = new.get(m + k, Fraction(0)) + mass * more
        out = new
    return out
