"""One bit per option, each sent by a coin of its own: what the two unary encodings share."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, bernoulli, words
from ..base import Mechanism
from ..codecs import PackedBits
from ..frequency import FrequencyOracle
from ..laws import independent, rounded_down

#: Binary digits of a probability that a coin reads, and how many at a time before the undecided ones are picked out.
_DIGITS, _DIGITS_AT_ONCE = 80, 8


class Coin(NamedTuple):
    """Probabilities of a bit being 0 and 1, each to full relative accuracy."""

    zero: float
    one: float


class OneHot(FrequencyOracle):
    """A vector of d bits of which one is set; that bit is sent by one coin, every other bit by another.

    With B the law in which every bit follows the coin of the others (1 with probability b), and a = Pr[bit x is 1],
    R(x)_y = B_y w(y_x) where w(1) = a/b > 1 > w(0) = (1-a)/(1-b).  So p = q = w(1)/w(0) = e^eps0; two laws differ
    where exactly one of the two bits is set, by beta = a - b.
    """

    inputs_alike: ClassVar[bool] = True
    lists_every_type: ClassVar[bool] = True

    @property
    @abstractmethod
    def coins(self) -> tuple[Coin, Coin]:
        """The coin of the bit that is held, and that of every other bit."""

    @property
    def keep(self) -> float:
        """a."""
        return self.coins[0].one

    @property
    def lost(self) -> float:
        """1 - a, without cancellation."""
        return self.coins[0].zero

    @property
    def stray(self) -> float:
        """b."""
        return self.coins[1].one

    @property
    def codec(self) -> PackedBits:
        """The bits, eight to a byte."""
        return PackedBits(self.d, scratch=64 + 16 * ((self.d + 7) // 8))

    def blanket(self) -> PairSet:
        """min_x R(x)_y = B_y w(0) unless all d bits are 1, where it is B_y w(1); symmetric in x0 and x1.

        Symbols: bits (x0, x1) = 10, 01, 00, 11 with another bit 0, and all bits 1.
        """
        (a, b), none = self.coins, self.lost
        # All ones is counted with the other 11 where that is below rounding: t only shrinks, which is sound.
        full = b.one ** (self.d - 2) if self.d <= 50 else 0.0
        partly = -math.expm1((self.d - 2) * math.log(b.one)) if full else 1.0
        same = [a.zero * b.zero, a.one * b.one * partly, a.one * b.one * full]
        return PairSet(
            [
                ShuffledPair(
                    P0=[a.one * b.zero, a.zero * b.one, *same],
                    P1=[a.zero * b.one, a.one * b.zero, *same],
                    t=[none * b.one, none * b.one, none * b.zero, b.one * (b.one / b.zero) * none * partly, same[2]],
                )
            ]
        )

    def constant_datasets(self) -> PairSet:
        """Others hold x0 (or x1), or a third option; the bits x0, x1 and x* are the symbols, the rest are noise."""
        a, b = self.coins
        pairs = both_directions(ShuffledPair(P0=independent(a, b), P1=independent(b, a), t=independent(a, b)))
        if self.d > 2:
            pairs.append(ShuffledPair(P0=independent(a, b, b), P1=independent(b, a, b), t=independent(b, b, a)))
        return PairSet(pairs)

    def blanket_ratio(self, victim: Mechanism) -> float:
        """The least of three ratios, whichever unary encoding the victim runs.

        A report with s < d ones has w = (1-a) b^s (1-b)^(d-1-s), whose logarithm is linear in s, so a ratio is
        smallest at s = 0 or s = d-1; all ones have w = a b^(d-1).
        """
        if isinstance(victim, OneHot) and victim.d == self.d:
            logs = zip(self._log_blanket(), victim._log_blanket(), strict=True)
            return rounded_down(min(own - other for own, other in logs), 1.0 + 2.0 * self.d)
        return super().blanket_ratio(victim)

    def _log_blanket(self) -> list[float]:
        """log w of a report with no ones, all but one, and all."""
        a, b = self.coins
        none, ones = ((self.d - 1) * math.log(x) for x in b)
        return [math.log(a.zero) + none, math.log(a.zero) + ones, math.log(a.one) + ones]

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        size, (width,) = len(values), self.codec.shape
        out = packed_coins(src, self.stray, size * width).reshape(size, width)
        out[:, -1] &= 0xFF << (8 * width - self.d) & 0xFF  # the last byte is filled up with zeros
        byte, bit = values.astype(np.int64) >> 3, (128 >> (values & 7)).astype(np.uint8)
        users = np.arange(size)
        truth = np.where(bernoulli(src, self.keep, size), bit, np.uint8(0))
        out[users, byte] = (out[users, byte] & ~bit) | truth
        return out

    def probabilities(self) -> NDArray[np.float64]:
        """Column y is the report whose bits, option 0 first, are the binary digits of y."""
        self._few_cells(self.d * 2.0 ** min(self.d, 1000))
        digits = np.arange(2**self.d)[:, None] >> np.arange(self.d - 1, -1, -1) & 1
        truth, noise = (np.array(coin)[digits] for coin in self.coins)
        rows = [np.prod(np.where(np.arange(self.d) == x, truth, noise), axis=1) for x in range(self.d)]
        return np.array(rows)


def packed_coins(src: Source, probability: float, size: int) -> NDArray[np.uint8]:
    """``size`` bytes of independent bits, each 1 with exactly this probability (to within 2^-80).

    Every bit of a random byte is the next binary digit of its own uniform number, compared with that of the
    probability: the smaller digit decides, and a tie goes on to the next digit; after a few digits only bytes with
    a tie go on.
    """
    digits = int(Fraction(probability) * 2**_DIGITS)
    out = np.zeros(size, dtype=np.uint8)
    at: NDArray[Any] | slice = slice(None)
    tied = np.full(size, 0xFF, dtype=np.uint8)
    part = out
    for index in range(_DIGITS - 1, -1, -1):
        draw = words(src, tied.size, 8)
        if digits >> index & 1:
            part = part | (tied & ~draw)
            tied = tied & draw
        else:
            tied = tied & ~draw
        if index % _DIGITS_AT_ONCE == 0:
            out[at] = part
            left = np.flatnonzero(tied)
            at = left if isinstance(at, slice) else at[left]
            tied, part = tied[left], part[left]
            if not left.size or not digits & ((1 << index) - 1):
                break
    return out
