"""What multi-message mechanisms share: one input-dependent message per user, hidden by blanket messages of all users.

A blanket message is drawn from a public law whatever its sender's input is.  Protocols whose messages are correlated
(secret shares that sum to the input) are something else and are not covered: no count of theirs is a sum of
independent messages, so nothing here may be used for them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._support import validation as check
from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.constraints import Constraint, Simplex
from ...estimation.estimate import Estimate, Variance, modelled, share_sampling
from ...numerics.families.base import Family, two_counts
from ...numerics.families.message_counts import UNLIMITED, Count, Distribution, edges, grid
from ...numerics.families.mixture import Piece, among
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, bernoulli, categorical
from ..base import Mechanism, plain
from ..randomizer import Randomizer
from ..reports import Reports, Tally
from ..values import categories

#: Blocks of totals on either side of their mean in :func:`coin_pieces`.
_BLOCKS = 24
#: The parameters of which exactly one says how many blanket messages there are.
_CROWD = ("messages", "total_messages", "poisson")
#: Probabilities of a Poisson number are whole multiples of 2^-_BITS; what is left over is below 2^-90.
_BITS = 128
#: Poisson numbers of a larger mean are drawn as sums.
_MOST_MEAN = 64.0


class Rates(NamedTuple):
    """Pr[a message counts for an item]: sent for it, sent for another item, sent as a blanket."""

    keep: float
    stray: float
    noise: float


@dataclass(frozen=True, kw_only=True)
class MultiMessage(Randomizer):
    """Base of the multi-message mechanisms; n is the number of users, each with its blanket messages.

    ``messages`` per user may be fractional: every user sends floor(messages) blanket messages and one more with
    probability frac(messages).  ``total_messages`` fixes their total instead; n users send floor(total/n) each and
    the first total mod n users one more.  With ``poisson`` every user sends a Poisson number of that mean, so that the
    total of n users is Poisson(n poisson).  Exactly one of the three is given.  Users who drop out or collude take
    their blanket messages with them: state them in ``amplify(dropouts=, colluding=)``.  ``privatise`` returns the
    messages of all users in one uniformly random order: a place in the array says nothing about who sent what.
    """

    _shuffles: ClassVar[bool] = True

    messages: float | None = None
    total_messages: int | None = None
    poisson: float | None = None

    def _check_messages(self) -> None:
        given = {key: getattr(self, key) for key in _CROWD if getattr(self, key) is not None}
        if len(given) != 1:
            got = " and ".join(f"{key}={value!r}" for key, value in given.items()) or "none of them"
            raise ParameterError(
                f"{self.name} needs exactly one of messages (blanket messages per user), total_messages and poisson "
                f"(their mean per user), got {got}; give one of them."
            )
        for key in ("messages", "poisson"):
            if key in given:
                value = check.in_range(key, given[key], low=0.0, high=1e9, hint="it is a number per user")
                object.__setattr__(self, key, value)
        if self.total_messages is not None:
            total = check.whole("total_messages", self.total_messages, low=0, high=10**15, hint="it is a number")
            object.__setattr__(self, "total_messages", total)

    @property
    def spec(self) -> str:
        """The spec string, with the one of messages, total_messages and poisson that was given, last."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        given = [f"{k}={plain(v)}" for k, v in sorted(values.items(), key=lambda x: x[0] in _CROWD) if v is not None]
        return f"{self.name}:" + ",".join(given)

    @property
    def _crowd(self) -> str:
        """The blanket messages in words."""
        if self.poisson is not None:
            return f"a Poisson number of blanket messages per user, {plain(self.poisson)} on average"
        if self.messages is None:
            return f"{self.total_messages:,} blanket messages in all"
        return f"{plain(self.messages)} blanket messages per user"

    @property
    def _mean(self) -> float | None:
        """Blanket messages per user, on average; None where their total is fixed."""
        return self.messages if self.poisson is None else self.poisson

    # -- communication ------------------------------------------------------------------------------------

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, its own included."""
        if self._mean is None:
            raise ParameterError("messages per user depend on n where total_messages is given; divide it by n, add 1.")
        return 1.0 + self._mean

    @property
    def bits_per_user(self) -> float:
        """Bits that a user sends on average."""
        return self.messages_per_user * self._message_bits

    # -- accounting ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _message_bits(self) -> int:
        """Bits of one message."""

    @abstractmethod
    def _pairs(self) -> list[ShuffledPair]:
        """All ordered input pairs up to symmetry, with t the law of a blanket message."""

    @property
    def _own_share(self) -> float:
        """The largest w with R(x) >= w (blanket law) for all x: other users' own messages hide the victim too."""
        return 0.0

    def _blankets(self, n: int) -> Count:
        """The number of blanket messages of n users, the victim's own included (it sends them whatever its input)."""
        if self.poisson is not None:
            return Count(0, ((UNLIMITED, n * self.poisson),))
        if self.messages is None:
            return Count(int(self.total_messages or 0))
        whole = math.floor(self.messages)
        return Count(n * whole, ((n, self.messages - whole),))

    def _hidden_by(self, n: int) -> Count:
        """Blanket messages, and the blanket parts of the other users' own messages."""
        sent = self._blankets(n)
        return sent._replace(parts=(*sent.parts, (n - 1, self._own_share)))

    def among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These rounds among the blanket messages of n users (paper, Table 4: n - 1 is the number of blankets)."""
        return among(pairs, self._blankets)

    def other_messages(self, n: int) -> int:
        """The blanket messages that are sent for certain."""
        return self._blankets(n).least

    def without(self, missing: int, *, n: int, participation: float) -> Mechanism:
        """A fixed total of blanket messages loses the shares of the missing; numbers per user do not change.

        Of n users each sends floor(total/n) and the first total mod n one more; at worst the missing are among those.
        """
        if self.total_messages is None:
            return self
        if participation < 1.0:
            raise BoundNotApplicableError(
                "participation below 1 and a fixed total_messages contradict each other, got participation = "
                f"{participation!r} with {self.spec}; give messages (per user) or poisson instead."
            )
        each, more = divmod(self.total_messages, n)
        return replace(self, total_messages=self.total_messages - missing * each - min(missing, more))

    def blanket(self) -> Family:
        """The exact blanket law, with the blanket part of the others' own messages where they have one."""
        return among(self._pairs(), self._hidden_by)

    def _dataset(self) -> tuple[list[ShuffledPair], Callable[[int], Count]]:
        """Rounds and number of messages that hide them, exactly, when the others all hold one value.

        By default their own messages are known up to classes that do not matter: the blanket messages are all.
        """
        return self._pairs(), self._blankets

    def constant_datasets(self) -> Family:
        """The exact law of a dataset in which all others hold one value."""
        return among(*self._dataset())

    def two_counts(self) -> Family:
        """Theorem 5.1 on the same dataset."""
        pairs, count = self._dataset()
        return among([two_counts(r) for r in pairs], count)

    # -- running it ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _items(self) -> int:
        """Number of inputs; values are 0, ..., items - 1."""

    @property
    @abstractmethod
    def _rates(self) -> Rates:
        """What the estimator inverts."""

    @property
    def _constraint(self) -> Constraint:
        """One item per user."""
        return Simplex()

    @abstractmethod
    def _own(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        """The input-dependent message of every user."""

    @abstractmethod
    def _noise(self, size: int, src: Source) -> NDArray[Any]:
        """Blanket messages."""

    @abstractmethod
    def _hits(self, data: NDArray[Any]) -> NDArray[Any]:
        """Messages that count for each estimated item."""

    @property
    def _bytes_per_user(self) -> int:
        return math.ceil((2.0 + (self._mean or 1.0)) * 32)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        value = categories(values, self._items)
        if self.total_messages is None:
            return value
        each, more = divmod(self.total_messages, len(value))
        both = np.empty(len(value), dtype=[("value", value.dtype), ("blankets", np.int64)])
        both["value"], both["blankets"] = value, each + (np.arange(len(value)) < more)
        return both

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        if self.poisson is not None:
            size = int(poisson_numbers(src, self.poisson, len(values)).sum())
        elif self.messages is None:
            size, values = int(values["blankets"].sum()), values["value"]
        else:
            whole = math.floor(self.messages)
            size = whole * len(values) + int(bernoulli(src, self.messages - whole, len(values)).sum())
        return np.concatenate([self._own(values, src), self._noise(size, src)])

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.append(self._hits(data), len(data))

    def tally(
        self, reports: Reports | ArrayLike, *, users: int | None = None, for_release: bool | None = None
    ) -> Tally:
        """Sum reports; raw arrays need ``users``, since a user sends several messages."""
        if not isinstance(reports, Reports) and users is None:
            raise ParameterError(f"users must be given with raw messages of {self.name}, got None; pass users=n.")
        return super().tally(reports, users=users, for_release=for_release)

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """(hits - m noise - n stray)/(n (keep - stray)) with the number m of blanket messages that were sent."""
        blankets = int(counts[-1]) - users
        if blankets < 0:
            raise ParameterError(
                f"reports must hold at least one message per user, got {counts[-1]} of {users} users; collect them all."
            )
        keep, stray, noise = self._rates
        value = (counts[:-1] - blankets * noise - users * stray) / (users * (keep - stray))
        base, held = (float(self._variance(users, blankets, np.asarray(share))) for share in (0.0, 1.0))
        line = Variance(base, held - base)
        grain = 1.0 / (users * (keep - stray))
        return modelled(value, users, self._constraint, line, share_sampling(users), grain=grain)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency among n users (the mean over the number of blanket messages)."""
        return float(self._variance(n, self._blankets(n).mean, np.asarray(frequency)))

    def _variance(self, n: int, blankets: float, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """[m c(1-c) + n f a(1-a) + n (1-f) b(1-b)] / (n (a-b))^2 with a = keep, b = stray, c = noise."""
        keep, stray, noise = self._rates
        own = n * (share * keep * (1.0 - keep) + (1.0 - share) * stray * (1.0 - stray))
        return np.asarray((blankets * noise * (1.0 - noise) + own) / (n * (keep - stray)) ** 2)


def poisson_numbers(src: Source, mean: float, size: int) -> NDArray[np.int64]:
    """Independent Poisson numbers, each value with its stated probability to within 2^-80.

    A large one is the sum of several: the means add up exactly.
    """
    total = np.zeros(size, dtype=np.int64)
    for part in [_MOST_MEAN] * int(mean // _MOST_MEAN) + [math.fmod(mean, _MOST_MEAN)]:
        first, weights = _poisson_weights(part)
        total += first + categorical(src, weights, size)
    return total


@lru_cache(maxsize=16)
def _poisson_weights(mean: float) -> tuple[int, list[int]]:
    """The first value with a weight, and the weights: probabilities in units of 2^-128, from 60 decimal digits."""
    context = Context(prec=60, Emin=-(10**12), Emax=10**12)
    exact, unit = Decimal(mean), Decimal(2**_BITS)
    chance, k = context.exp(-exact), 0
    weights: list[int] = []
    first = 0
    while k <= mean or weights[-1] > 2 ** (_BITS - 100):
        weight = int(context.multiply(chance, unit))
        if weight or k > mean:
            first = first if weights else k
            weights.append(weight)
        k += 1
        chance = context.divide(context.multiply(chance, exact), Decimal(k))
    return first, weights


@lru_cache(maxsize=8)  # both lower bounds ask for the same
def coin_pieces(hits: Count, keep: float, stray: float, miss: float, tol: float) -> tuple[Piece, ...]:
    """A lower bound from the counts of x0 and x1 alone, where the others hit each of them equally often.

    The others hit {x0, x1} K times in all (``hits``, a sum of independent events) and each hit is a fair coin; the
    victim sends x0, x1 with probability keep, stray or the reverse, neither with ``miss`` (V = 0).  T = K + V has
    the same law under both hypotheses.  Given T the victim sent one of the two with probability rho_T, and if
    not, the T-th message is a coin as well: a round of T draws with t = (1/2, 1/2), whose divergence falls with T and
    rises with rho.  rho_T = v r/(v r + miss) with v = keep + stray and r_T = Pr[K = T-1]/Pr[K = T], which rises with T
    because K is log-concave.  So on a block of totals rho at its first total may be used for all of them.
    """
    victim = keep + stray
    total = Count(hits.fixed, (*hits.parts, (1, victim))).simplified()
    at_most, at_least = Distribution(total, up=False), Distribution(total, up=True)
    fine = edges(total, tol)
    # rho changes by a relative miss * deviation/mean within a deviation of T
    blocks = math.ceil(min(2.0 * miss * total.deviation / (total.mean * tol) + 1.0, _BLOCKS))
    starts = grid(total.mean, total.deviation, 1, total.top, blocks)
    found = []
    for first, last in zip(starts, np.append(starts[1:] - 1, total.top), strict=True):
        at = np.unique(np.append(fine[(fine >= first) & (fine <= last)], last))
        before = float(at_least.at(np.array([first - 1]))[0])
        mass = np.diff(np.maximum(at_most.at(at) - before, 0.0), prepend=0.0)
        odds = victim * _ratio_below(hits, int(first))
        rho = odds / (odds + miss) * (1.0 - 1e-12)
        absent = miss / (odds + miss) + 1e-12 * rho
        up, down = (rho * x / victim + 0.5 * absent for x in (keep, stray))
        coin = ShuffledPair(P0=[up, down], P1=[down, up], t=[0.5, 0.5])
        found += [Piece(float(w), coin, int(t)) for w, t in zip(mass, at, strict=True) if w > 0.0]
    return tuple(found)


def _ratio_below(count: Count, total: int) -> float:
    """A lower bound of r = Pr[K = total-1]/Pr[K = total] for a sum K of binomials A_j ~ Bin(n_j, p_j) or Poissons.

    r >= E[phi_j(A_j) | K = total] for every j, phi_j(a) = a (1-p_j)/((n_j-a+1) p_j), which is convex and rising, so
    phi_j^{-1}(r) >= E[A_j | K = total], and these expectations sum to the total: sum_j phi_j^{-1}(r) >= total.
    For A_j ~ Poisson(p_j) the same holds with phi_j(a) = a/p_j.
    """
    low, high = 0.0, 1.0

    def inverse(r: float) -> float:
        return sum(r * p if n == UNLIMITED else r * (n + 1) * p / (1.0 - p + r * p) for n, p in count.parts)

    while inverse(high) < total and high < 1e15:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inverse(middle) < total else (low, middle)
    return low
