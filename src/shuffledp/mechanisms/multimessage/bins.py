"""Multi-message mechanisms whose messages are bins or options: balls into bins, pureDUMP and mixDUMP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ...errors import BoundNotApplicableError, ParameterError
from ...numerics.evaluators.choose import Side
from ...numerics.families.base import Family
from ...numerics.families.message_counts import Count
from ...numerics.families.mixture import MixtureSet, Piece
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, bernoulli
from ..base import plain
from ..known.variation_ratio import VariationRatio
from ..parameters import real, whole
from .base import MultiMessage, Rates, coin_pieces

_LARGEST_DOMAIN = 2**32


@dataclass(frozen=True, kw_only=True)
class BallsIntoBins(MultiMessage):
    """Balls into bins (after Luo, Wang, Yi, CCS 2022): a random special bin of one's item, and uniform bins.

    Each item has s special bins of d.  A user sends a uniformly random special bin of its item; a blanket message is
    a uniformly random bin.  Here item x owns the bins x s, ..., x s + s - 1, so there are floor(d/s) items.
    Estimate (hits - m s/d)/n, variance m (s/d)(1-s/d)/n^2.

    Parameters
    ----------
    d : int
        Number of bins, at least 2s.
    special : int >= 1
        s, special bins of each item.
    messages : float >= 0
        Blanket messages per user; or total_messages, their fixed total.

    Notes
    -----
    X takes d/s and -E d/s with probability s/d each.  This covers any choice of s special bins per item, such as the
    hashed bins of Luo et al. (d/s = number of hash values): moving the overlap of two sets apart replaces the values
    (1-E) d/s and 0, equally likely, by d/s and -E d/s, a mean-preserving spread.  With disjoint bins the others'
    own messages are told apart by their block, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1,
    q = d/s.

    Examples
    --------
    >>> BallsIntoBins(d=12, special=3, messages=2).variation_ratio().q
    4.0
    """

    name: ClassVar[str] = "balls-into-bins"

    d: int
    special: int

    def __post_init__(self) -> None:
        d = check.whole("d", self.d, low=2, high=_LARGEST_DOMAIN, hint="d counts the bins")
        object.__setattr__(self, "d", d)
        hint = "two items need 2 * special <= d bins"
        object.__setattr__(self, "special", check.whole("special", self.special, low=1, high=d // 2, hint=hint))
        self._check_messages()

    @property
    def local_epsilon(self) -> float:
        """inf: without a shuffler a special bin gives its item away."""
        return math.inf

    @property
    def description(self) -> str:
        """In words."""
        return f"balls into {self.d:,} bins, {self.special:,} of them special to each item, and {self._crowd}"

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d/s."""
        return VariationRatio(p=math.inf, beta=1.0, q=self.d / self.special)

    def _pairs(self) -> list[ShuffledPair]:
        share = self.special / self.d
        return [ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[share, share])]

    @property
    def _message_bits(self) -> int:
        return (self.d - 1).bit_length()

    @property
    def _items(self) -> int:
        return self.d // self.special

    @property
    def _rates(self) -> Rates:
        return Rates(1.0, 0.0, self.special / self.d)

    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        wide = np.min_scalar_type(self.d - 1)
        first = values.astype(wide) * wide.type(self.special)
        return np.asarray(first + below(src, self.special, len(values)).astype(wide))

    def _noise(self, size: int, src: Source) -> NDArray[Any]:
        return below(src, self.d, size)

    def _hits(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.bincount(data // self.special, minlength=self._items)[: self._items])


class _Dump(MultiMessage):
    """Dummy points: an own value, perhaps randomised, among uniform values of [d]."""

    d: int

    def _check_d(self) -> None:
        d = check.whole("d", self.d, low=2, high=_LARGEST_DOMAIN, hint="d counts the options")
        object.__setattr__(self, "d", d)

    @property
    def _message_bits(self) -> int:
        return (self.d - 1).bit_length()

    @property
    def _items(self) -> int:
        return self.d

    def _noise(self, size: int, src: Source) -> NDArray[Any]:
        return below(src, self.d, size)

    def _hits(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(data, minlength=self.d)


@dataclass(frozen=True, kw_only=True)
class PureDump(_Dump):
    """pureDUMP: the value itself among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value; a blanket message is uniform on [d].  Estimate (count - m/d)/n, variance
    m (1/d)(1-1/d)/n^2.

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total.

    Notes
    -----
    Symbols {x0}, {x1}; permutations of the options make all pairs alike.  The others' values are known in the worst
    case and are subtracted, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1, q = d.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> float(sdp.profile(PureDump(d=4, messages=0.5), n=200, epsilon=1.0).round(7))
    7.48e-05
    """

    name: ClassVar[str] = "pure-dump"

    d: int

    def __post_init__(self) -> None:
        self._check_d()
        self._check_messages()

    @property
    def local_epsilon(self) -> float:
        """inf: without a shuffler the value itself is seen."""
        return math.inf

    @property
    def description(self) -> str:
        """In words."""
        return f"pureDUMP on {self.d:,} options with {self._crowd}"

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d."""
        return VariationRatio(p=math.inf, beta=1.0, q=float(self.d))

    def _pairs(self) -> list[ShuffledPair]:
        return [ShuffledPair(P0=[1.0, 0.0], P1=[0.0, 1.0], t=[1.0 / self.d, 1.0 / self.d])]

    @property
    def _rates(self) -> Rates:
        return Rates(1.0, 0.0, 1.0 / self.d)

    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        return values


@dataclass(frozen=True, kw_only=True)
class MixDump(_Dump):
    """mixDUMP: a value by randomized response among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value with probability 1-f and any other with probability b = f/(d-1); a blanket message is
    uniform on [d].  Estimate (count - m/d - n b)/(n (1-f-b)).

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    flip : float in (0, (d-1)/d)
        f, the chance that a user sends another value.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total.

    Notes
    -----
    Symbols {x0}, {x1}, {the others}; permutations of the options make all pairs alike.  Paper, Table 4: p =
    (1-f)(d-1)/f, beta = 1-f-b, q = (1-f) d.  Every own message of another user is uniform with probability d b, so
    the blanket bound has m + Bin(n-1, d b) uniform messages.  Lower bound: the others hold a third value (d >= 3)
    and only the counts of x0 and x1 are looked at (:func:`~.multimessage_law.coin_pieces`).

    Examples
    --------
    >>> round(MixDump(d=5, flip=0.1, messages=1).local_epsilon, 4)
    3.5835
    """

    name: ClassVar[str] = "mix-dump"
    published_law_exact: ClassVar[bool] = True

    d: int = whole(low=2, high=10**6)
    flip: float = real(low=1e-12, high=lambda m: (m.d - 1) / m.d, high_open=True, role="flip")

    def __post_init__(self) -> None:
        self._check_d()
        flip = check.in_range("flip", self.flip, low=1e-12, hint="flip = 0 is pure-dump")
        if not flip * self.d < self.d - 1:
            raise ParameterError(
                f"flip must be below (d-1)/d = {(self.d - 1) / self.d:.6g}, got {flip!r}; beyond, values are not sent."
            )
        object.__setattr__(self, "flip", flip)
        self._check_messages()

    @property
    def _stray(self) -> float:
        return self.flip / (self.d - 1)

    @property
    def local_epsilon(self) -> float:
        """log((1-f)(d-1)/f)."""
        return math.log1p(-self.flip) - math.log(self._stray)

    @property
    def description(self) -> str:
        """In words."""
        return f"mixDUMP on {self.d:,} options with flip probability {plain(self.flip)} and {self._crowd}"

    def variation_ratio(self) -> VariationRatio:
        """p = (1-f)(d-1)/f, beta = 1-f-f/(d-1), q = (1-f) d."""
        keep = 1.0 - self.flip
        return VariationRatio(p=keep / self._stray, beta=keep - self._stray, q=keep * self.d)

    def _pairs(self) -> list[ShuffledPair]:
        keep, stray, more = 1.0 - self.flip, self._stray, self.d - 2
        t = [1.0 / self.d, 1.0 / self.d, more / self.d]
        return [ShuffledPair(P0=[keep, stray, more * stray], P1=[stray, keep, more * stray], t=t)]

    @property
    def _own_share(self) -> float:
        return self.d * self._stray

    def constant_datasets(self) -> Family:
        """The others hold a third value: they send x0 and x1 equally often."""
        if self.d == 2:
            raise BoundNotApplicableError(
                "mix-dump with d = 2 has no third value for the others to hold, so no lower bound of it is known."
            )

        def make(n: int, side: Side, tol: float) -> list[tuple[Piece, ...]]:
            pair = Count(0, ((n - 1, 2.0 * self._stray),))
            dummies = self._blankets(n).thinned(2.0 / self.d)
            hits = Count(0, (*dummies.parts, *pair.parts)).simplified()
            return [coin_pieces(hits, 1.0 - self.flip, self._stray, (self.d - 2) * self._stray, tol)]

        return MixtureSet(make)

    def two_counts(self) -> Family:
        """The constant datasets are seen through two counts already."""
        return self.constant_datasets()

    @property
    def _rates(self) -> Rates:
        return Rates(1.0 - self.flip, self._stray, 1.0 / self.d)

    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        lie = bernoulli(src, self._own_share, len(values))
        return np.where(lie, below(src, self.d, len(values)).astype(values.dtype, copy=False), values)
