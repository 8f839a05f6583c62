"""A Poisson histogram: a set of indices, sent as they are, among a Poisson number of made-up ones of every index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import BoundNotApplicableError
from ...estimation.constraints import SumAtMost
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance, share_sampling
from ...numerics.counts import UNLIMITED, Count
from ...numerics.family import Family
from ...numerics.mixture import Among
from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.poisson.histogram import PoissonShift
from ...randomness.sampling import Array, Source, below
from ...randomness.whole_numbers import poisson_total
from ..accuracy import ItemShares
from ..base import plain
from ..codecs import Category
from ..known.variation_ratio import VariationRatio
from ..parameters import real, whole
from ..values import padded_sets
from .raw_messages import ExactCounts, messages_law


@dataclass(frozen=True, kw_only=True)
class PoissonHistogram(ItemShares, ExactCounts):
    """A Poisson histogram: up to k different indices per user among Poisson numbers of fabricated ones of every index.

    A user holds a set of at most k *different* indices and sends each of them as one message, without noise, and adds
    a Poisson(d m) number of messages with uniform indices, that is an independent Poisson(m) number for every index.
    The estimate of the share of users who hold an index is count/n - m, with variance m/n whatever the share is.

    Parameters
    ----------
    d : int >= 2
        Number of indices; they are 0, ..., d-1.
    poisson_per_index : float >= 0
        m, the mean number of fabricated messages per index and user (``poisson`` of other mechanisms is the mean per
        user, which is d m here).
    indices : int in [1, d], 1 if left out
        k, the most indices of one user.  They must differ: an index sent twice would move one count by two, which
        costs more than two counts by one.  For several reports that may repeat an index, each of up to k different
        ones, state ``reports_per_user`` in amplify.

    Notes
    -----
    Exact: n users give every index an independent Poisson(n m) number of fabricated messages, the victim's own
    included, since they do not depend on the value; the others' own messages are known in the worst case and are
    subtracted.  What is left are independent counts of which up to k are raised by one, and up to k others if the
    victim's set is replaced (numerics/poisson/histogram.py), so that upper and lower bound agree.
    A user may hold no index at all, and then sends fabricated messages only.
    Values are rows of up to k indices, padded with -1.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = PoissonHistogram(d=2**16, poisson_per_index=0.00124512, indices=18)
    >>> g = sdp.amplify(m, n=10**6, delta=1e-10)
    >>> round(g.epsilon, 4), round(g.lower, 4)
    (0.9982, 0.9981)
    >>> found = sdp.calibrate("poisson-histogram:d=65536,indices=18", n=10**6, epsilon=1.0, delta=1e-10)
    >>> round(found.poisson_per_index, 6)
    0.001241
    """

    name = "poisson-histogram"
    _mean_number = "poisson_per_index"
    _takes = "sets"
    serves = ("options", "sets")
    d: int = whole(low=2, high=2**32, hint="d counts the indices")
    poisson_per_index: float = real(low=0.0, high=1e9, hint="it is a mean per index and user", role="messages")
    indices: int = whole(
        low=1, high=lambda m: min(m.d, 10**6), hint="it is the most different indices of one user", default=1
    )

    @property
    def description(self) -> str:
        """In words."""
        held = "one index" if self.indices == 1 else f"up to {self.indices:,} different indices"
        return (
            f"a Poisson histogram of {held} of {self.d:,} with {plain(self.poisson_per_index)} fabricated messages per "
            "index and user on average"
        )

    # -- communication ------------------------------------------------------------------------------------

    @property
    def _fabricated(self) -> float:
        """Fabricated messages of a user, on average."""
        return self.d * self.poisson_per_index

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, with as many indices as allowed."""
        return self.indices + self._fabricated

    # -- accounting ---------------------------------------------------------------------------------------

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d, for one index per user."""
        if self.indices > 1:
            raise BoundNotApplicableError(
                f"(p, beta, q) describe one message that depends on the value, got indices = {self.indices}; "
                "use bound='auto', which is exact."
            )
        return VariationRatio(p=math.inf, beta=1.0, q=float(self.d))

    def _among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These pairs, hidden by the fabricated messages of n users."""
        return Among(pairs, lambda n: Count(0, ((UNLIMITED, n * self._fabricated),)))

    def _blanket(self) -> Family:
        """The exact law: up to k counts raised, up to k others in exchange."""
        return PoissonShift(mean=self.poisson_per_index, d=self.d, most=self.indices)

    def _two_counts(self) -> Family:
        """The counts of two indices: one index of the victim's set is replaced by another one."""
        return PoissonShift(mean=self.poisson_per_index, d=self.d, most=1)

    # -- running it ---------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """An index."""
        return Category(self.d, scratch=math.ceil((2.0 + self.messages_per_user) * 32))

    @property
    def _constraint(self) -> SumAtMost:
        """The shares add up to at most k."""
        return SumAtMost(self.indices)

    def _check(self, values: Array) -> Array:
        return padded_sets(values[:, None] if values.ndim == 1 else values, self.d, self.indices)

    def _portable_law(self) -> dict[str, Any]:
        dummy = {"kind": "uniform", "size": self.d}
        return messages_law("item", {"kind": "same"}, dummy, poisson=Fraction(self._fabricated))

    def _randomize(self, values: Array, src: Source) -> Array:
        size = poisson_total(src, self._fabricated, len(values))
        own = values[values >= 0].astype(self.codec.dtype)
        return np.concatenate([own, below(src, self.d, size).astype(self.codec.dtype, copy=False)])

    def _infer(self, counts: Array, users: int) -> Estimate:
        value = counts / users - self.poisson_per_index
        noise = Variance(self.poisson_per_index / users)
        grain = 1.0 / users
        return modeled(value, users, self._constraint, noise, share_sampling(users), grain=grain, influence=grain)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated share among n users: m/n, whatever the share is."""
        return self.poisson_per_index / n

    def _sum_variance(self, n: int, items: Array, share: Array) -> FloatArray:
        """Counts of different indices are independent."""
        return np.asarray(items * self.variance(n) + 0.0 * share)
