"""How far the unbiased estimate of a mechanism is from the truth: what it declares for planning.

All three numbers are root-mean-square errors of one entry of the estimate among n users whose values are fixed: only
the mechanism is random.  They follow from ``variance``, which a frequency mechanism states as a linear function of the
share of users who hold an item; its mean over the items then depends on the data through the mean share alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple


class Accuracy(NamedTuple):
    """Errors of an estimate, in the units of the mechanism.

    Attributes
    ----------
    worst : per entry (root of the mean square over all entries), the largest over all data
    typical : the same where users are spread evenly over the inputs
    entry : of any single entry, the largest over all data
    """

    worst: float
    typical: float
    entry: float


def of_shares(variance: Callable[[float], float], *, least: float, most: float) -> Accuracy:
    """Of estimated shares, from their variance at a share and from the mean share of an item, ``least`` to ``most``.

    Examples
    --------
    >>> of_shares(lambda f: 1.0 + 3.0 * f, least=0.25, most=0.25)
    Accuracy(worst=1.3228756555322954, typical=1.3228756555322954, entry=2.0)
    """
    worst = max(variance(least), variance(most))
    return Accuracy(math.sqrt(worst), math.sqrt(variance(most)), math.sqrt(max(variance(0.0), variance(1.0))))


class ItemShares:
    """Part of the mechanisms that estimate which share of the users holds each of some items."""

    #: Fewest items of a user, and most: the parameter that says so, or a number.
    _holds: ClassVar[tuple[int | str, int | str]] = (1, 1)
    d: int

    @property
    def _items(self) -> int:
        """How many items there are."""
        return self.d

    @abstractmethod
    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated share among n users, a linear function of that share."""

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """From the variance at the mean share: every user holds one item, or a set of them."""
        number = self._items if items is None else items
        least, most = (getattr(self, held) if isinstance(held, str) else held for held in self._holds)
        return of_shares(lambda share: self.variance(n, share), least=least / number, most=most / number)
