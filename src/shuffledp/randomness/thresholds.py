"""Probabilities as thresholds over 2^128, and the draws that every client makes alike, from bytes that it is given.

``docs/shuffler/laws.md`` defines them for other languages.  Nothing here uses numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

from ..errors import ParameterError

#: Binary digits of a random word, and how many words there are.
_BITS = 128
ONE = 1 << _BITS
#: Steps of a loop of a law, at most: a hostile plan must not keep a client busy for ever.
_MOST_STEPS = 1 << 23

#: ``take(k)`` gives the next k random bytes.
Take = Callable[[int], bytes]


# -- writing a law: probabilities as thresholds ---------------------------------------------------------------------


def threshold(probability: float | Fraction) -> str:
    """The threshold of a coin, rounded down: 32 hexadecimal digits, and 33 for a probability of 1.

    Examples
    --------
    >>> threshold(0.5), threshold(1.0) == "1" + 32 * "0"
    ('80000000000000000000000000000000', True)
    """
    exact = Fraction(probability)
    if not 0 <= exact <= 1:
        raise ParameterError(f"probability must lie in [0, 1], got {float(exact):g}; check the law.")
    return f"{exact.numerator * ONE // exact.denominator:032x}"


def exact_chance(own: float, rest: float) -> Fraction:
    """The probability ``own``, where it and ``rest`` sum to 1: by the smaller one, so that both keep all their digits.

    Accounting takes every probability to be right to a relative 2^-50 (docs/proofs.md, Lemma 5); 1 - own in floats
    would not be, where own is near 1.

    Examples
    --------
    >>> exact_chance(1.0 - 2.0**-53, 2.0**-70) == 1 - Fraction(1, 2**70)
    True
    """
    return Fraction(own) if own <= rest else 1 - Fraction(rest)


def chance_of(own: float, rest: float) -> str:
    """The threshold of :func:`exact_chance`."""
    return threshold(exact_chance(own, rest))


def cuts(weights: Sequence[int | Fraction]) -> list[str]:
    """The sums of probabilities proportional to the weights, as thresholds: one fewer than there are weights.

    Examples
    --------
    >>> [cut[:4] for cut in cuts([1, 2, 1])]
    ['4000', 'c000']
    """
    total = Fraction(sum(weights))
    return [threshold(below / total) for below in accumulate(map(Fraction, weights[:-1]))]


# -- random numbers -------------------------------------------------------------------------------------------------


def coin(text: str, take: Take) -> bool:
    """Whether a random word is below the threshold."""
    return int.from_bytes(take(_BITS // 8), "big") < int(text, 16)


def choose(listed: Sequence[str], take: Take) -> int:
    """How many of the rising thresholds are at most a random word; without any, 0, and nothing is drawn."""
    if not listed:
        return 0
    word = int.from_bytes(take(_BITS // 8), "big")
    return sum(int(text, 16) <= word for text in listed)


def times(count: int) -> range:
    """As many steps as a law says; no law of a report that can be sent needs more than its bits."""
    if not 0 <= count <= _MOST_STEPS:
        raise ParameterError(f"a law must take at most {_MOST_STEPS:,} steps, got {count}; do not run it.")
    return range(count)


def below(bound: int, take: Take) -> int:
    """A uniform number in [0, bound): as many bits as bound - 1 has, drawn again where that is too large."""
    if bound < 1:
        raise ParameterError(f"a law must draw from at least one number, got {bound}; do not run it.")
    bits = (bound - 1).bit_length()
    while bits:
        found = int.from_bytes(take((bits + 7) // 8), "big") & ((1 << bits) - 1)
        if found < bound:
            return found
    return 0


def coins(count: int, take: Take) -> list[int]:
    """Fair coins: the first bits of as many bytes as they need."""
    word = int.from_bytes(take((count + 7) // 8), "big") >> -count % 8
    return [word >> (count - 1 - i) & 1 for i in range(count)]


def sample(size: int, count: int, take: Take) -> list[int]:
    """``count`` different numbers of [0, size), rising (Floyd; Bentley, CACM 30(9), 1987)."""
    found: set[int] = set()
    for last in (size - count + i for i in times(count)):
        drawn = below(last + 1, take)
        found.add(last if drawn in found else drawn)
    return sorted(found)
