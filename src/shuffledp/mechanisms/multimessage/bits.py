"""Multi-message mechanisms: every user sends one message that depends on its input, and blanket messages that do not.

All of them are accounted alike (base class :class:`~shuffledp.mechanisms.multimessage.base.MultiMessage`): the
law of a blanket message is known, so it *is* t, and the number of blanket messages is that of all users together.
``local_epsilon`` is what one user's messages reveal without a shuffler: log of the largest ratio of its
input-dependent message (its blanket messages say nothing), inf where that message is the input itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ...estimation.constraints import Box
from ...numerics.families.base import both_directions
from ...numerics.families.message_counts import Count
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, bernoulli
from ..base import plain
from ..known.variation_ratio import VariationRatio
from ..parameters import real
from .base import MultiMessage, Rates


class _BinarySum(MultiMessage):
    """Every user sends its bit, and blanket messages that are coins."""

    _message_bits = 1
    _items = 2

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def _coin(self) -> float:
        """Probability that a blanket message is 1."""
        return 0.5

    @property
    def local_epsilon(self) -> float:
        """inf: without a shuffler the bit itself is seen."""
        return math.inf

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = max(1/c, 1/(1-c))."""
        return VariationRatio(p=math.inf, beta=1.0, q=max(1.0 / self._coin, 1.0 / (1.0 - self._coin)))

    def _pairs(self) -> list[ShuffledPair]:
        return both_directions(ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[1.0 - self._coin, self._coin]))

    @property
    def _rates(self) -> Rates:
        return Rates(1.0, 0.0, self._coin)

    @property
    def _constraint(self) -> Box:
        return Box(0.0, 1.0)

    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        return values

    def _noise(self, size: int, src: Source) -> NDArray[Any]:
        return bernoulli(src, self._coin, size).astype(np.uint8)

    def _hits(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.array([np.count_nonzero(data)])


@dataclass(frozen=True, kw_only=True)
class BalcerCheu(_BinarySum):
    """Binary sum with biased coins as blanket messages (Balcer, Cheu, ITC 2020).

    A user sends its bit x; a blanket message is 1 with probability c.  The estimate is the fraction of ones,
    (ones - m c)/n with m blanket messages, variance m c(1-c)/n^2 (the original thresholds it, which biases it).

    Parameters
    ----------
    coin : float in (0, 1)
        c, the bias of the coins.
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total.

    Notes
    -----
    P0 = (1, 0), P1 = (0, 1), t = (1-c, c), both directions; the others' bits are known in the worst case and are
    subtracted, so upper and lower bound are the same law.  Paper, Table 4: p = inf, beta = 1, q = max(1/c, 1/(1-c)).
    It is a protocol for one bit: a histogram made of it changes two bins when an input changes (compose).

    Examples
    --------
    >>> import shuffledp as sdp
    >>> round(sdp.amplify(BalcerCheu(coin=0.7, total_messages=500), n=100, delta=1e-5).epsilon, 4)
    0.3511
    """

    name: ClassVar[str] = "balcer-cheu"

    coin: float

    def __post_init__(self) -> None:
        coin = check.in_range("coin", self.coin, low=0.0, high=1.0, low_open=True, high_open=True)
        object.__setattr__(self, "coin", coin)
        self._check_messages()

    @property
    def _coin(self) -> float:
        return self.coin

    @property
    def description(self) -> str:
        """In words."""
        return f"the Balcer-Cheu binary sum with coins of bias {plain(self.coin)} and {self._crowd}"


@dataclass(frozen=True, kw_only=True)
class BalcerCoin(_BinarySum):
    """Binary sum with fair coins as blanket messages (Balcer, Cheu, Joseph, Mao, SODA 2021).

    As :class:`BalcerCheu` with c = 1/2: estimate (ones - m/2)/n, variance m/(4 n^2); p = inf, beta = 1, q = 2.

    Parameters
    ----------
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total.

    Examples
    --------
    >>> import numpy as np
    >>> m = BalcerCoin(messages=0.5)
    >>> reports = m.privatise(np.array([0, 1] * 2000), rng=np.random.default_rng(0))
    >>> est = m.estimate(reports)
    >>> bool(abs(est.value[0] - 0.5) < 5 * est.stderr[0]), est.n
    (True, 4000)
    """

    name: ClassVar[str] = "balcer-coin"

    def __post_init__(self) -> None:
        self._check_messages()

    @property
    def description(self) -> str:
        """In words."""
        return f"the binary sum of Balcer et al. 2021 with fair coins and {self._crowd}"


@dataclass(frozen=True, kw_only=True)
class CheuZhilyaev(MultiMessage):
    """Histogram from fake users (Cheu, Zhilyaev, IEEE S&P 2022).

    A message is a row of d bits: the one-hot row of the user's item with every bit flipped with probability f; a
    blanket message is a flipped zero row.  Inputs are one of d items; other bit vectors are not covered.
    Estimate (ones in column v - f (n + m))/(n (1-2f)), variance (n + m) f(1-f)/(n (1-2f))^2.

    Parameters
    ----------
    flip : float in (0, 1/2)
        f, the chance that a bit is flipped.
    d : int >= 2
        Number of items; values are 0, ..., d-1.
    messages : float >= 0
        Blanket rows per user; or total_messages, their fixed total.

    Notes
    -----
    Only the bits of x0 and x1 matter: four classes, and permutations of the items make all pairs alike.  Paper, Table
    4: p = ((1-f)/f)^2, beta = 1-2f, q = (1-f)/f.  Every own row of another user contains a blanket row with
    probability f/(1-f), which the blanket bound uses.  Lower bound: the others hold a third item, so their
    rows are blanket rows in both columns (d = 2: all hold x0, and column x1 alone is looked at).

    Examples
    --------
    >>> CheuZhilyaev(flip=0.25, d=10, messages=1).variation_ratio().q
    3.0
    """

    name: ClassVar[str] = "cheu-zhilyaev"

    flip: float = real(low=0.0, high=0.5, low_open=True, high_open=True, role="flip")
    d: int

    def __post_init__(self) -> None:
        flip = check.in_range("flip", self.flip, low=0.0, high=0.5, low_open=True, high_open=True)
        object.__setattr__(self, "flip", flip)
        object.__setattr__(self, "d", check.whole("d", self.d, low=2, high=10**6, hint="d counts the items"))
        self._check_messages()

    @property
    def local_epsilon(self) -> float:
        """2 log((1-f)/f): two bits of the own row change."""
        return 2.0 * (math.log1p(-self.flip) - math.log(self.flip))

    @property
    def description(self) -> str:
        """In words."""
        return (
            f"Cheu-Zhilyaev histograms of {self.d:,} items with flip probability {plain(self.flip)} and {self._crowd}"
        )

    def variation_ratio(self) -> VariationRatio:
        """p = ((1-f)/f)^2, beta = 1-2f, q = (1-f)/f."""
        q = (1.0 - self.flip) / self.flip
        return VariationRatio(p=q * q, beta=1.0 - 2.0 * self.flip, q=q)

    def _pairs(self) -> list[ShuffledPair]:
        f, g = self.flip, 1.0 - self.flip  # bits of (x0, x1): 10, 01, 11, 00
        return [
            ShuffledPair(
                P0=[g * g, f * f, f * g, f * g], P1=[f * f, g * g, f * g, f * g], t=[f * g, f * g, f * f, g * g]
            )
        ]

    @property
    def _own_share(self) -> float:
        return self.flip / (1.0 - self.flip)

    def _dataset(self) -> tuple[list[ShuffledPair], Callable[[int], Count]]:
        """The others hold a third item: all their rows hide the victim."""

        def rows(n: int) -> Count:
            sent = self._blankets(n)
            return sent._replace(fixed=sent.fixed + n - 1)

        f = self.flip
        column = ShuffledPair(P0=[f, 1.0 - f], P1=[1.0 - f, f], t=[f, 1.0 - f])
        return (self._pairs() if self.d > 2 else both_directions(column)), rows

    @property
    def _message_bits(self) -> int:
        return self.d

    @property
    def _items(self) -> int:
        return self.d

    @property
    def _rates(self) -> Rates:
        return Rates(1.0 - self.flip, self.flip, self.flip)

    @property
    def _bytes_per_user(self) -> int:
        return math.ceil((2.0 + (self.messages or 1.0)) * (32 + 3 * self.d))

    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        bits = bernoulli(src, self.flip, len(values) * self.d).reshape(-1, self.d)
        bits[np.arange(len(values)), values] ^= True
        return np.packbits(bits, axis=1)

    def _noise(self, size: int, src: Source) -> NDArray[Any]:
        return np.packbits(bernoulli(src, self.flip, size * self.d).reshape(-1, self.d), axis=1)

    def _hits(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.unpackbits(data, axis=1, count=self.d).sum(axis=0, dtype=np.int64))
