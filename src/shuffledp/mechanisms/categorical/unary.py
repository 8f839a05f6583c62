"""Unary encoding: report a bit per option, each flipped on its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, pure
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, bernoulli, words
from ..base import Mechanism
from ..codecs import PackedBits
from ..known.variation_ratio import VariationRatio
from ..parameters import budget
from ..randomizer import Randomizer
from ..values import categories

#: A probability matrix may have this many cells.
MAX_CELLS = 10**6
#: Binary digits of a probability that a coin reads, and how many at a time before the undecided ones are picked out.
_DIGITS, _DIGITS_AT_ONCE = 80, 8
#: Reports summed at once, so that the sum of a bit fits a byte.
_BLOCK = 255


class Coin(NamedTuple):
    """Probabilities of a bit being 0 and 1, each to full relative accuracy."""

    zero: float
    one: float


@dataclass(frozen=True, kw_only=True)
class _Bits(Randomizer):
    """A one-hot vector of d bits whose bits are sent on their own: bit x by one coin, the others by another.

    With B the law in which every bit follows the ``stray`` coin (1 with probability b), and a = Pr[bit x is 1],
    R(x)_y = B_y w(y_x) where w(1) = a/b > 1 > w(0) = (1-a)/(1-b).  Everything below follows from that.
    """

    inputs_alike: ClassVar[bool] = True

    eps0: float = budget()
    d: int

    def __post_init__(self) -> None:
        eps0 = check.local_budget(self.eps0)
        object.__setattr__(self, "eps0", eps0)
        object.__setattr__(self, "d", check.whole("d", self.d, low=2, high=2**32, hint="d counts the options"))

    @property
    @abstractmethod
    def _keep(self) -> Coin:
        """The coin of the bit that is held."""

    @property
    @abstractmethod
    def _stray(self) -> Coin:
        """The coin of every other bit."""

    @property
    @abstractmethod
    def _beta(self) -> float:
        """a - b, without cancellation."""

    def variation_ratio(self) -> VariationRatio:
        """p = q = w(1)/w(0) = e^eps0; two laws differ where exactly one of the two bits is set, by beta = a - b."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=self._beta, q=p)

    def blanket(self) -> PairSet:
        """min_x R(x)_y = B_y w(0) unless all d bits are 1, where it is B_y w(1); the round is its own swap.

        Symbols: bits (x0, x1) = 10, 01, 00, 11 with another bit 0, and all bits 1.
        """
        a, b, none = self._keep, self._stray, self._keep.zero
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
        a, b = self._keep, self._stray
        pairs = both_directions(ShuffledPair(P0=_joint(a, b), P1=_joint(b, a), t=_joint(a, b)))
        if self.d > 2:
            pairs.append(ShuffledPair(P0=_joint(a, b, b), P1=_joint(b, a, b), t=_joint(b, b, a)))
        return PairSet(pairs)

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return (self.d + 7) // 8

    @property
    def codec(self) -> PackedBits:
        """d bits."""
        return PackedBits(self.d, scratch=64 + 16 * self._width)

    def blanket_ratio(self, victim: Mechanism) -> float:
        """The smallest is that of no, all but one or all ones."""
        if not isinstance(victim, _Bits) or victim.d != self.d:
            return super().blanket_ratio(victim)

        def logs(m: _Bits) -> list[float]:
            none, ones = ((m.d - 1) * math.log(x) for x in (m._stray.zero, m._stray.one))
            return [math.log(m._keep.zero) + none, math.log(m._keep.zero) + ones, math.log(m._keep.one) + ones]

        log = min(a - b for a, b in zip(logs(self), logs(victim), strict=True))
        return math.exp(min(log - (1.0 + 2.0 * self.d) * 1000.0 * 2.0**-52, 700.0)) * (1.0 - 2.0**-46)

    @property
    def _bytes_per_user(self) -> int:
        return 64 + 16 * self._width

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return categories(values, self.d)

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        size, width = len(values), self._width
        out = packed_coins(src, self._stray.one, size * width).reshape(size, width)
        out[:, -1] &= 0xFF << (8 * width - self.d) & 0xFF  # the last byte is filled up with zeros
        byte, bit = values.astype(np.int64) >> 3, (128 >> (values & 7)).astype(np.uint8)
        users = np.arange(size)
        truth = np.where(bernoulli(src, self._keep.one, size), bit, np.uint8(0))
        out[users, byte] = (out[users, byte] & ~bit) | truth
        return out

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        if data.ndim != 2 or data.shape[1] != self._width or data.dtype != np.uint8:
            raise ParameterError(
                f"reports must be packed bits, uint8 of shape (users, {self._width}), got {data.dtype} "
                f"of shape {data.shape}; use numpy.packbits on rows of {self.d} bits."
            )
        total = np.zeros(self.d, dtype=np.int64)
        for start in range(0, len(data), _BLOCK):
            bits = np.unpackbits(data[start : start + _BLOCK], axis=1, count=self.d)
            total += bits.sum(axis=0, dtype=np.uint8)
        return total

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return pure(counts, users, self._keep.one, self._stray.one, Simplex())

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency: [f a(1-a) + (1-f) b(1-b)]/(n (a-b)^2); the bits are independent."""
        a, b = self._keep, self._stray
        spread = frequency * a.one * a.zero + (1 - frequency) * b.one * b.zero
        return spread / (n * (a.one - b.one) ** 2)

    def inputs(self) -> list[int]:
        """0, ..., d-1."""
        return list(range(self.d))

    def probabilities(self) -> NDArray[np.float64]:
        """Column y is the report whose bits, option 0 first, are the binary digits of y."""
        if self.d > 32 or self.d << self.d > MAX_CELLS:
            raise ParameterError(
                f"d must be small for the matrix of all 2^d reports, got {self.d}; use blanket() instead."
            )
        digits = np.arange(2**self.d)[:, None] >> np.arange(self.d - 1, -1, -1) & 1
        noise, truth = np.array(self._stray)[digits], np.array(self._keep)[digits]
        rows = [np.prod(np.where(np.arange(self.d) == x, truth, noise), axis=1) for x in range(self.d)]
        return np.array(rows)

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The bits of each report read as a binary number."""
        bits = np.unpackbits(np.asarray(data), axis=1, count=self.d).astype(np.int64)
        return np.asarray(bits @ (1 << np.arange(self.d - 1, -1, -1)))


@dataclass(frozen=True, kw_only=True)
class Unary(_Bits):
    """Symmetric unary encoding, also basic RAPPOR (Erlingsson, Pihur, Korolova, CCS 2014) and "binary RR".

    The value is written as d bits of which one is set, and every bit is flipped with probability
    f = 1/(e^{eps0/2} + 1).  Reports are packed bits (numpy.packbits), ceil(d/8) bytes each.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of options; values are 0, ..., d-1.

    Notes
    -----
    p = q = e^eps0, beta = 1 - 2f = tanh(eps0/4).  Permutations of the options permute the bits, so all ordered pairs
    of inputs are alike and one round gives their maximum.  The blanket min_x R(x) is attained at any option
    whose bit is 0; only the report with all bits set has none.

    Examples
    --------
    >>> import numpy as np
    >>> m = Unary(eps0=2.0, d=10)
    >>> m.variation_ratio().beta.__round__(4)
    0.4621
    >>> reports = m.privatise(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0))
    >>> reports.data.shape
    (4000, 2)
    >>> est = m.estimate(reports)
    >>> bool(abs(est.value[1] - 0.5) < 5 * est.stderr[1])
    True
    """

    name: ClassVar[str] = "unary"

    @property
    def description(self) -> str:
        """In words."""
        return f"symmetric unary encoding of {self.d:,} options with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _keep(self) -> Coin:
        odds = math.exp(-0.5 * self.eps0)
        return Coin(zero=odds / (1.0 + odds), one=1.0 / (1.0 + odds))

    @property
    def _stray(self) -> Coin:
        keep = self._keep
        return Coin(zero=keep.one, one=keep.zero)

    @property
    def _beta(self) -> float:
        return math.tanh(0.25 * self.eps0)


@dataclass(frozen=True, kw_only=True)
class OptimisedUnary(_Bits):
    """Optimised unary encoding, OUE (Wang, Blocki, Li, Jha, USENIX Security 2017).

    The value is written as d bits of which one is set; that bit is kept with probability 1/2 and every other one is
    set with probability b = 1/(e^eps0 + 1): of all coins with this eps0, those with the least variance for
    rare options.  Reports are packed bits (numpy.packbits), ceil(d/8) bytes each.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of options; values are 0, ..., d-1.

    Notes
    -----
    p = q = e^eps0, beta = 1/2 - b = tanh(eps0/2)/2: the laws of two inputs differ where exactly one of the two bits
    is set, by a(1-b) - (1-a)b in total.  Symmetry and blanket are those of :class:`Unary`.

    Examples
    --------
    >>> import numpy as np
    >>> m = OptimisedUnary(eps0=2.0, d=10)
    >>> m.variation_ratio().beta.__round__(4)
    0.3808
    >>> est = m.estimate(m.privatise(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.5) < 5 * est.stderr[1])
    True
    """

    name: ClassVar[str] = "optimised-unary"

    @property
    def description(self) -> str:
        """In words."""
        return f"optimised unary encoding of {self.d:,} options with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _keep(self) -> Coin:
        return Coin(0.5, 0.5)

    @property
    def _stray(self) -> Coin:
        odds = math.exp(-self.eps0)
        return Coin(zero=1.0 / (1.0 + odds), one=odds / (1.0 + odds))

    @property
    def _beta(self) -> float:
        return 0.5 * math.tanh(0.5 * self.eps0)


def _joint(*coins: Coin) -> list[float]:
    """The law of independent bits, one entry per combination."""
    law = np.ones(1)
    for coin in coins:
        law = np.outer(law, coin).reshape(-1)
    return [float(x) for x in law]


def packed_coins(src: Source, probability: float, size: int) -> NDArray[np.uint8]:
    """``size`` bytes of independent bits, each 1 with exactly this probability (to within 2^-80).

    Every bit of a random byte is the next binary digit of its own uniform number, compared with that of the
    probability: the smaller digit decides, a tie reads on.  After a few digits only the bytes with a tie do.
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
