"""Unary encodings: a bit per option, each sent by a coin of its own; here the symmetric one, and what both share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..._support.exponentials import exp, expm1, tanh
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.bits import flip_bits, noise_rows, set_bits
from ...randomness.sampling import Array, Source, bernoulli
from ...randomness.thresholds import threshold
from ..base import Mechanism
from ..codecs import PackedBits
from ..frequency import FrequencyOracle
from ..laws import independent, rounded_down


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

    _inputs_alike = True
    _lists_every_type = True

    @property
    @abstractmethod
    def coins(self) -> tuple[Coin, Coin]:
        """The coin of the bit that is held, and that of every other bit."""

    @property
    def keep(self) -> float:
        """a."""
        return self.coins[0].one

    @property
    def _lost(self) -> float:
        """1 - a, without cancellation."""
        return self.coins[0].zero

    @property
    def stray(self) -> float:
        """b."""
        return self.coins[1].one

    @property
    def _both(self) -> tuple[float, float]:
        """Bits are independent."""
        return self.keep * self.stray, self.stray**2

    @property
    def codec(self) -> PackedBits:
        """The bits, eight to a byte."""
        return PackedBits(self.d, scratch=64 + 4 * ((self.d + 7) // 8))

    def _blanket(self) -> list[ShuffledPair]:
        """min_x R(x)_y = B_y w(0) unless all d bits are 1, where it is B_y w(1); symmetric in x0 and x1.

        Symbols: bits (x0, x1) = 10, 01, 00, 11 with another bit 0, and all bits 1.
        """
        (a, b), none = self.coins, self._lost
        # All ones is counted with the other 11 where that is below rounding: t only shrinks, which is sound.
        full = b.one ** (self.d - 2) if self.d <= 50 else 0.0
        partly = -expm1((self.d - 2) * math.log(b.one)) if full else 1.0
        same = [a.zero * b.zero, a.one * b.one * partly, a.one * b.one * full]
        own, other = a.one * b.zero, a.zero * b.one
        t = [none * b.one, none * b.one, none * b.zero, b.one * (b.one / b.zero) * none * partly, same[2]]
        return [ShuffledPair(P0=[own, other, *same], P1=[other, own, *same], t=t)]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold x0 (or x1), or a third option; the bits x0, x1 and x* are the symbols, the rest are noise."""
        a, b = self.coins
        pairs = both_directions(ShuffledPair(P0=independent(a, b), P1=independent(b, a), t=independent(a, b)))
        if self.d > 2:
            pairs.append(ShuffledPair(P0=independent(a, b, b), P1=independent(b, a, b), t=independent(b, b, a)))
        return pairs

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """The least of three ratios, whichever unary encoding the victim runs.

        A report with s < d ones has w = (1-a) b^s (1-b)^(d-1-s), whose logarithm is linear in s, so a ratio is
        smallest at s = 0 or s = d-1; all ones have w = a b^(d-1).
        """
        if isinstance(victim, OneHot) and victim.d == self.d:
            logs = zip(self._log_blanket(), victim._log_blanket(), strict=True)
            return rounded_down(min(own - other for own, other in logs), 1.0 + 2.0 * self.d)
        return super()._blanket_ratio(victim)

    def _log_blanket(self) -> list[float]:
        """log w of a report with no ones, all but one, and all."""
        a, b = self.coins
        none, ones = ((self.d - 1) * math.log(x) for x in b)
        return [math.log(a.zero) + none, math.log(a.zero) + ones, math.log(a.one) + ones]

    def _portable_law(self) -> dict[str, Any]:
        a, b = self.coins
        one = 1 - Fraction(b.one) if a.one == b.zero else Fraction(a.one)  # as it is drawn below
        return {"kind": "bits", "size": self.d, "one": threshold(one), "zero": threshold(b.one)}

    def _randomize(self, values: Array, src: Source) -> Array:
        a, b = self.coins
        out = noise_rows(src, b.one, len(values), self.d)
        if a.one == b.zero:  # every bit is flipped by the same coin
            flip_bits(out, values)
        else:
            set_bits(out, values, bernoulli(src, a.one, len(values)))
        return out

    def probabilities(self) -> FloatArray:
        """Column y is the report whose bits, option 0 first, are the binary digits of y."""
        self._few_cells(self.d * 2.0 ** min(self.d, 1000))
        digits = np.arange(2**self.d)[:, None] >> np.arange(self.d - 1, -1, -1) & 1
        truth, noise = (np.array(coin)[digits] for coin in self.coins)
        rows = [np.prod(np.where(np.arange(self.d) == x, truth, noise), axis=1) for x in range(self.d)]
        return np.array(rows)


@dataclass(frozen=True, kw_only=True)
class Unary(OneHot):
    """Symmetric unary encoding, also basic RAPPOR (Erlingsson, Pihur, Korolova, CCS 2014) and "binary RR".

    The value is written as d bits of which one is set, and every bit is flipped with probability
    f = 1/(e^{eps0/2} + 1).  Reports are packed bits (numpy.packbits), ceil(d/8) bytes each.

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`

    Notes
    -----
    p = q = e^eps0, beta = 1 - 2f = tanh(eps0/4).  Permutations of the options permute the bits, so all ordered pairs
    of inputs are alike and one shuffled pair gives their maximum.  The blanket min_x R(x) is attained at any option
    whose bit is 0; only the report with all bits set has none.

    Examples
    --------
    >>> import numpy as np
    >>> m = Unary(eps0=2.0, d=10)
    >>> m.variation_ratio().beta.__round__(4)
    0.4621
    >>> reports = m.privatize(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0))
    >>> reports.data.shape
    (4000, 2)
    """

    name = "unary"
    _in_words = "symmetric unary encoding of {d:,} options with eps0 = {eps0}"

    @property
    def coins(self) -> tuple[Coin, Coin]:
        """Both flip with probability f."""
        odds = exp(-0.5 * self.eps0)
        flip, true = odds / (1.0 + odds), 1.0 / (1.0 + odds)
        return Coin(zero=flip, one=true), Coin(zero=true, one=flip)

    @property
    def beta(self) -> float:
        """tanh(eps0/4)."""
        return tanh(0.25 * self.eps0)
