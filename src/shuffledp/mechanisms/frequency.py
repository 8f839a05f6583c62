"""Pure frequency oracles: a report supports some of the items, and more often those that are held.

If a report supports an item that is held with probability ``keep`` and any other item with probability ``stray``,
whatever else is held, then (hits/n - stray)/(keep - stray) is unbiased for the share of users who hold it (Wang,
Blocki, Li, Jha, USENIX Security 2017).  A mechanism of this kind states keep, stray, beta, codec, blanket, constant
datasets and how a report is drawn; everything else is derived here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimation.constraints import Constraint, FixedSum, Simplex
from ..estimation.estimate import Estimate, pure
from .accuracy import ItemShares
from .local_budget import LocalBudget
from .parameters import whole
from .values import categories, item_sets

#: Options up to which the swap bound may be derived from the matrix.
_MOST_OPTIONS = 300

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..numerics.family import Family
    from ..numerics.pair import ShuffledPair


@dataclass(frozen=True, kw_only=True)
class Options(LocalBudget):
    """One of d options per user; values are 0, ..., d-1."""

    serves: ClassVar[tuple[str, ...]] = ("options",)

    d: int = whole(low=2, high=2**32, hint="d counts the options")

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return categories(values, self.d)

    def inputs(self) -> list[Any]:
        """0, ..., d-1."""
        return list(range(self.d))


@dataclass(frozen=True, kw_only=True)
class FrequencyOracle(ItemShares, Options):
    """One of d options per user, or a set of them; the estimate is the share of users who hold each.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of options; values are 0, ..., d-1.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> isinstance(sdp.GRR(eps0=1.0, d=4), sdp.FrequencyOracle)
    True
    """

    @property
    @abstractmethod
    def keep(self) -> float:
        """Probability that a report supports an item that is held."""

    @property
    @abstractmethod
    def stray(self) -> float:
        """Probability that a report supports another item."""

    @abstractmethod
    def _blanket(self) -> Family | Sequence[ShuffledPair]:
        """All input pairs over the privacy blanket."""

    @abstractmethod
    def _constant_datasets(self) -> Family | Sequence[ShuffledPair]:
        """Exact divergences of datasets in which all others hold one value."""

    def _whole_matrix(self) -> NDArray[np.float64] | None:
        """The matrix of :meth:`probabilities`, where a user holds one of a few options; None if it is not stated."""
        if self._holds != (1, 1) or self.d > _MOST_OPTIONS:
            return None
        try:
            rows = self.probabilities()
        except ParameterError:
            return None
        return rows if len(rows) == self.d else None

    @property
    def _truth(self) -> tuple[float, str]:
        one = "the true value, alone or among others" if self._holds == (1, 1) else "any one item that a user has"
        return self.keep, f"fit {one}"

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """Of a symmetric matrix of two options."""
        from .known.finite import FiniteRandomizer

        whole = self._whole_matrix() if self.d == 2 else None
        return None if whole is None else FiniteRandomizer(whole)._binary_budget

    @property
    def _lost(self) -> float:
        """1 - keep; overridden where it can be computed to full relative accuracy."""
        return 1.0 - self.keep

    @property
    def _constraint(self) -> Constraint:
        """What is known of the true frequencies."""
        return Simplex()

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return pure(counts, users, self.keep, self.stray, self._constraint, self._both)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency f: [f a(1-a) + (1-f) b(1-b)]/(n (a-b)^2), a = keep, b = stray.

        It is inf where a and b are the same number in double precision: reports say nothing about single items.
        """
        a, b = self.keep, self.stray
        square = (a - b) * (a - b)  # ** is of the C library, and shares of a program follow from this
        if not square > 0.0:
            return math.inf
        return (frequency * a * self._lost + (1 - frequency) * b * (1 - b)) / (n * square)

    @property
    def _both(self) -> tuple[float, float] | None:
        """Pr[a report supports two given items] if one of them is held, and if neither is; None: not stated.

        The error of a sum of several items, such as a range, follows from it.
        """
        return None

    def _sum_variance(self, n: int, items: NDArray[Any], share: NDArray[Any]) -> NDArray[np.float64]:
        """A report supports T of L items: with a = keep, b = stray and (o1, o0) = both, T has the mean and mean square

        a + (L-1) b,  a + (L-1) b + 2 (L-1) o1 + (L-1)(L-2) o0    if its user holds one of them,
        L b,          L b + L (L-1) o0                              if not.
        """
        if self._both is None:
            return super()._sum_variance(n, items, share)
        a, b, (o1, o0) = self.keep, self.stray, self._both
        outside = items * b * (1.0 - items * b) + items * (items - 1.0) * o0
        mean = a + (items - 1.0) * b
        inside = mean * (1.0 - mean) + 2.0 * (items - 1.0) * o1 + (items - 1.0) * (items - 2.0) * o0
        return np.asarray((outside + share * (inside - outside)) / (n * (a - b) ** 2))


@dataclass(frozen=True, kw_only=True)
class FixedSets(FrequencyOracle):
    """A pure frequency oracle on sets of s items, one row of s different numbers per user."""

    _takes = "full sets"
    serves = ("full sets",)
    #: of the items that are asked for: the others may be dummies
    _holds = (0, "s")

    d: int = whole(low=2, high=2**32, hint="d counts the items")
    s: int = whole(low=1, high=lambda m: m.d - 1, hint="s counts the items of a set, fewer than d")

    @property
    def _constraint(self) -> FixedSum:
        """The frequencies add up to s."""
        return FixedSum(self.s)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return item_sets(values, self.d, self.s)

    def inputs(self) -> list[Any]:
        """Every set of s items."""
        self._few_cells(math.comb(self.d, self.s) if self.d <= 10**6 else math.inf)
        return list(combinations(range(self.d), self.s))
