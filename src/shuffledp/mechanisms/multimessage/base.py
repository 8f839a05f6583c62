"""What multi-message mechanisms share: one input-dependent message per user, hidden by blanket messages of all users.

A blanket message is drawn from a public law whatever its sender's input is, so that law *is* t, and the number of
blanket messages is that of all users together.  ``local_epsilon`` is what one user's messages reveal without a
shuffler: log of the largest ratio of its input-dependent message (its blanket messages reveal nothing), inf where that
message is the input itself.

Protocols whose messages are correlated (secret shares that sum to the input) are not covered: no count of theirs is
a sum of independent messages, so nothing here may be used for them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.constraints import Constraint, Simplex
from ...estimation.estimate import Estimate, modeled
from ...estimation.moments import Moments
from ...estimation.variance import Variance, share_sampling
from ...numerics.counts import UNLIMITED, Count
from ...numerics.family import Family
from ...numerics.mixture import Among
from ...numerics.pair import FloatArray, ShuffledPair, two_counts
from ...numerics.swap.groups import Messages, SwapGroups
from ...randomness.sampling import Array, Source, Streams, bernoulli
from ...randomness.thresholds import threshold
from ...randomness.whole_numbers import poisson_total
from ..accuracy import ItemShares
from ..base import Mechanism, plain
from ..parameters import real, whole
from ..values import categories
from .raw_messages import RawMessages, added_up, divided, messages_law, remaining

#: The parameters of which exactly one says how many blanket messages there are.
_NUMBERS = ("messages", "total_messages", "poisson")


class Rates(NamedTuple):
    """Pr[a message counts for an item]: sent for it, sent for another item, sent as a blanket."""

    keep: float
    stray: float
    noise: float


@dataclass(frozen=True, kw_only=True)
class MultiMessage(ItemShares, RawMessages):
    """Base of the multi-message mechanisms; n is the number of users, each with its blanket messages.

    ``messages`` per user may be fractional: every user sends floor(messages) blanket messages and one more with
    probability frac(messages).  ``total_messages`` fixes their total instead; n users send floor(total/n) each and
    the first total mod n users one more.  With ``poisson`` every user sends a Poisson number of that mean, so that the
    total of n users is Poisson(n poisson).  Exactly one of the three is given.  Users who drop out or collude take
    their blanket messages with them: state them in ``amplify(dropouts=, colluding=)``.  ``privatize`` returns the
    messages of all users in one uniformly random order: the position in the array says nothing about who sent what.
    """

    messages: float | None = real(low=0.0, high=1e9, hint="it is a number per user", role="messages", optional=True)
    total_messages: int | None = whole(
        low=0, high=10**15, hint="it is the number of all users together", role="messages", optional=True
    )
    poisson: float | None = real(low=0.0, high=1e9, hint="it is a mean per user", role="messages", optional=True)

    def _check_together(self) -> None:
        """Exactly one of the three says how many blanket messages there are."""
        given = {key: getattr(self, key) for key in _NUMBERS if getattr(self, key) is not None}
        if len(given) != 1:
            got = " and ".join(f"{key}={value!r}" for key, value in given.items()) or "none of them"
            raise ParameterError(
                f"{self.name} needs exactly one of messages (blanket messages per user), total_messages and poisson "
                f"(their mean per user), got {got}; give one of them."
            )

    @property
    def _blanket_words(self) -> str:
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

    # -- accounting ---------------------------------------------------------------------------------------

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

    def _among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These pairs, hidden by the blanket messages of n users (paper, Table 4: n - 1 is the number of blankets)."""
        return Among(pairs, self._blankets)

    def _other_messages(self, n: int) -> int:
        """The blanket messages that are sent for certain."""
        return self._blankets(n).least

    def _without(self, missing: int, *, n: int) -> Mechanism:
        """Missing users send no blanket messages, so a fixed total loses theirs.

        Of n users each sends floor(total/n) and the first total mod n one more; at worst the missing are among those.
        A number per user (``messages``, ``poisson``) is not changed: there are fewer users to send it.
        """
        if self.total_messages is None or missing == 0:
            return self
        each, more = divmod(self.total_messages, n)
        return replace(self, total_messages=self.total_messages - missing * each - min(missing, more))

    def _bundled(self, reports: int, *, n: int) -> Mechanism:
        """A part of a batch of several reports per user has its share of the blanket messages, rounded down.

        A Poisson number of messages, each of which is put into a part at random, is an independent Poisson number in
        every part.  A fixed number is dealt out evenly.
        """
        if reports == 1:
            return self
        if self.poisson is not None:
            return divided(self, "poisson", reports)
        if self.messages is not None and not self.messages.is_integer():
            raise BoundNotApplicableError(
                "reports_per_user above 1 needs a whole number of messages that is sent for certain, got messages = "
                f"{plain(self.messages)} with {self.spec}; give poisson (their mean per user) instead."
            )
        total = n * int(self.messages) if self.messages is not None else int(self.total_messages or 0)
        return replace(self, messages=None, total_messages=total // reports)

    def _together(self, classes: Sequence[tuple[Mechanism, int]], missing: int) -> Mechanism | None:
        """Poisson numbers add up to one, and so do whole numbers per user; other sums have no setting of their own."""
        members = [(m, users) for m, users in classes if isinstance(m, MultiMessage)]
        if len(members) == len(classes) and all(m.poisson is not None for m, _ in members):
            return added_up(self, classes, missing, "poisson")
        same: dict[str, Any] = {"messages": 1.0, "total_messages": None, "poisson": None}
        for m, _ in classes:
            if type(m) is not type(self) or replace(m, **same) != replace(self, **same):
                return None
        if not all(m.messages is not None and m.messages.is_integer() for m, _ in members):
            return None
        left = remaining([(m.messages or 0.0, users) for m, users in members], missing)
        return replace(self, **same | {"messages": None, "total_messages": sum(int(k) * users for k, users in left)})

    def _blanket(self) -> Family:
        """The exact blanket law, with the blanket part of the others' own messages where they have one."""
        return Among(self._pairs(), self._hidden_by)

    def _own_types(self) -> list[Messages]:
        """The victim's pair beside every kind of another user's own message, with t the law of a blanket message."""
        raise BoundNotApplicableError(
            f"bound 'swap' needs the laws of the others' own messages, and {self.name} does not list them; "
            "use bound='auto'."
        )

    def _swap(self) -> SwapGroups:
        """Own messages with some blanket messages each: see numerics/swap/groups.py."""
        return SwapGroups(self._own_types(), self._own_share, self._blankets)

    def _dataset(self) -> tuple[list[ShuffledPair], Callable[[int], Count]]:
        """Pairs and the exact number of messages that hide them, when the others all hold one value.

        By default the adversary can distinguish their own messages from the victim's: only blanket messages hide it.
        """
        return self._pairs(), self._blankets

    def _constant_datasets(self) -> Family:
        """The exact law of a dataset in which all others hold one value."""
        return Among(*self._dataset())

    def _two_counts(self) -> Family:
        """Theorem 5.1 on the same dataset."""
        pairs, count = self._dataset()
        return Among([two_counts(r) for r in pairs], count)

    # -- running it ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _rates(self) -> Rates:
        """What the estimator inverts."""

    @property
    def _constraint(self) -> Constraint:
        """One item per user."""
        return Simplex()

    @abstractmethod
    def _own(self, values: Array, src: Source) -> Array:
        """The input-dependent message of every user."""

    @abstractmethod
    def _noise(self, size: int, src: Source) -> Array:
        """Blanket messages."""

    def _hits(self, data: Array) -> Array:
        """Messages that count for each estimated item."""
        return self._hits_of_sums(self.codec.tally(data))

    def _hits_of_sums(self, sums: Array) -> Array:
        """The same from the sums of the codec."""
        return sums

    def _scratch(self, message: int = 32) -> int:
        """Bytes that a user takes while being randomized, at this many bytes a message."""
        return math.ceil((2.0 + (self._mean or 1.0)) * message)

    @property
    def _runs_alone(self) -> bool:
        """Unless a total is divided among the users."""
        return self.total_messages is None

    @property
    def _message_limits(self) -> tuple[int, int | None]:
        """Its own message and the blanket messages, of which a fraction is one more or none."""
        if self.messages is None:
            return 1, None
        return 1 + math.floor(self.messages), 1 + math.ceil(self.messages)

    def _check(self, values: Array) -> Array:
        return categories(values, self._items)

    def _run(self, inputs: Any, streams: Streams) -> Callable[[int, slice], Array]:
        """A chunk of users sends its share of a fixed total: total div n each, one more for the first total mod n."""
        if self.total_messages is None:
            return super()._run(inputs, streams)
        each, more = divmod(self.total_messages, len(inputs))

        def messages(i: int, rows: slice) -> Array:
            blankets = each * (rows.stop - rows.start) + max(0, min(rows.stop, more) - rows.start)
            return self._sent(self._check(inputs[rows]), blankets, streams.source(i))

        return messages

    def _randomize(self, values: Array, src: Source) -> Array:
        if self.poisson is not None:
            return self._sent(values, poisson_total(src, self.poisson, len(values)), src)
        if self.messages is None:
            raise ParameterError("total_messages must be divided among all users, got some of them; call privatize.")
        whole, rest = divmod(self.messages, 1.0)
        more = int(np.count_nonzero(bernoulli(src, rest, len(values))))
        return self._sent(values, int(whole) * len(values) + more, src)

    def _portable_law(self) -> dict[str, Any]:
        return messages_law("value", self._portable_own, self._portable_dummy, **self._portable_count)

    @property
    def _portable_own(self) -> dict[str, Any]:
        """The law of its own message: the value itself unless overridden."""
        return {"kind": "same"}

    @property
    def _portable_dummy(self) -> dict[str, Any]:
        """The law of a blanket message."""
        return super()._portable_law()

    @property
    def _portable_count(self) -> dict[str, Any]:
        """How many blanket messages: floor(messages) and perhaps one more, or a Poisson number."""
        if self.poisson is not None:
            return {"poisson": Fraction(self.poisson)}
        whole, rest = divmod(self.messages or 0.0, 1.0)
        return {"first": int(whole), "count": [threshold(1 - Fraction(rest))] if rest else []}

    def _sent(self, values: Array, blankets: int, src: Source) -> Array:
        """The messages of some users, their blanket messages last."""
        return np.concatenate([self._own(values, src), self._noise(blankets, src)])

    def _tally(self, data: Array) -> Array:
        return np.append(self._hits(data), len(data))

    def _tally_of_sums(self, parts: Sequence[tuple[Array, int]]) -> Array | None:
        """Hits, and the number of messages; None where hits are not counted by the sums of the codec."""
        (sums, messages), base = parts[0], MultiMessage
        same = type(self)._tally is base._tally and type(self)._hits is base._hits
        return np.append(self._hits_of_sums(sums), messages) if same else None

    def _infer(self, counts: Array, users: int) -> Estimate:
        """(hits - m noise - n stray)/(n (keep - stray)) with the number m of blanket messages that were sent."""
        blankets = int(counts[-1]) - users
        if blankets < 0:
            raise ParameterError(
                f"reports must hold at least one message per user, got {counts[-1]} of {users} users; collect them all."
            )
        keep, stray, noise = self._rates
        value = (counts[:-1] - blankets * noise - users * stray) / (users * (keep - stray))
        base, held = (float(self._variance(users, blankets, np.asarray(share))) for share in (0.0, 1.0))
        line, sampling = Variance(base, held - base), share_sampling(users)
        grain, moments = 1.0 / (users * (keep - stray)), self._moments(users, blankets)
        return modeled(value, users, self._constraint, line, sampling, grain=grain, influence=grain, moments=moments)

    def _moments(self, users: int, blankets: int) -> Moments | None:
        """What the error of a sum of items follows from; None: their noise is uncorrelated."""
        return None

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency among n users (the mean over the number of blanket messages)."""
        return float(self._variance(n, self._blankets(n).mean, np.asarray(frequency)))

    def _variance(self, n: int, blankets: float, share: FloatArray) -> FloatArray:
        """[m c(1-c) + n f a(1-a) + n (1-f) b(1-b)] / (n (a-b))^2 with a = keep, b = stray, c = noise."""
        keep, stray, noise = self._rates
        own = n * (share * keep * (1.0 - keep) + (1.0 - share) * stray * (1.0 - stray))
        return np.asarray((blankets * noise * (1.0 - noise) + own) / (n * (keep - stray)) ** 2)
