"""Reports of a mechanism, and their tally: all that an estimate needs of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._support.threads import thread_count
from ..errors import ParameterError
from ..randomness.permutation import permute_by
from ..randomness.sampling import Array, Streams


def both_for_release(one: bool | None, other: bool | None) -> bool | None:
    """Whether what is made of both is for release: not if one of them is not, unknown (None) if one is unknown."""
    return next((answer for answer in (False, None) if answer in (one, other)), True)


@dataclass(frozen=True, eq=False)
class Reports:
    """Privatized reports of one mechanism: ``data`` has one row (or entry) per report, in the smallest dtype.

    ``users`` is the number of users behind them; ``for_release`` is False if a seeded generator made them (it is kept
    as ``rng``), None if that is not known.

    The order.  Messages of multi-message mechanisms come in a uniformly random order.  All other reports are in the
    order of the users: report i is that of user i, not yet shuffled.  An amplified guarantee holds only against
    adversaries who see them shuffled, so pass on :meth:`shuffled` and not the reports themselves.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> reports = sdp.GRR(eps0=1.0, d=4).privatize([0, 1, 2])
    >>> len(reports), reports.users, reports.for_release
    (3, 3, True)
    """

    data: Array
    mechanism: str
    users: int
    for_release: bool | None
    rng: np.random.Generator | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(self.data, dtype=dtype)

    def shuffled(self, *, rng: np.random.Generator | None = None, threads: int | None = None) -> Reports:
        """The same reports in a uniformly random order, which says nothing about who sent what.

        Secure unless a seeded ``rng`` is passed, or made the reports and is then used again (not for release; the order
        does not depend on ``threads``, by default all cores).  The original reports are not changed; memory grows by
        the returned copy only.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> reports = sdp.GRR(eps0=1.0, d=4).privatize([0, 1, 2, 3])
        >>> sorted(reports.shuffled().data) == sorted(reports.data)
        True
        """
        streams, count = Streams(self.rng if rng is None else rng), thread_count(threads)
        data = self.data.copy()
        permute_by(streams, data, count)
        return replace(self, data=data, for_release=streams.for_release and self.for_release)


@dataclass(frozen=True, eq=False)
class Tally:
    """All that an estimate needs of the reports: sums over reports, and the number of users.

    Tallies of one mechanism add up, so batches can be counted where they arrive.  ``batches`` is how many shuffles the
    reports went through, which matters where each shuffle adds noise of its own.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = sdp.GRR(eps0=1.0, d=4)
    >>> both = m.tally(m.privatize([0, 1])) + m.tally(m.privatize([2]))
    >>> both.users, int(both.counts.sum())
    (3, 3)
    """

    counts: Array
    mechanism: str
    users: int
    for_release: bool | None
    batches: int = 1

    def __add__(self, other: Tally) -> Tally:
        if self.mechanism != other.mechanism:
            raise ParameterError(
                f"tallies must be of one mechanism, got {self.mechanism} and {other.mechanism}; keep them separate."
            )
        release = both_for_release(self.for_release, other.for_release)
        users, batches = self.users + other.users, self.batches + other.batches
        return Tally(self.counts + other.counts, self.mechanism, users, release, batches)
