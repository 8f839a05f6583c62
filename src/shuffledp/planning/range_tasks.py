"""Tasks on a number in d bins: shares of ranges, and the distribution function behind quantiles.

Users are divided among the H levels of a tree (queries/ranges.py).  A range is a sum of nodes: on level h of a tree, L
nodes whose users have the share F.  Mechanisms declare the variance of such a sum (``_sum_variance``), which n/H users
give on every level.  That those users are a sample adds F (1-F) (H-1)/n, and since nobody is on two levels, shares of
disjoint nodes on different levels have the covariance F_g F_h/n.  In all, with T the sum of F over the levels,

    n variance = sum of [H v(L, F) + (H-1) F (1-F)] + T^2 - sum of F^2,

where v is that of one report.  For the worst data T^2 <= T makes this concave in the shares.  The error is that of the
plain sums of nodes; the least-squares fit (RangeAnswer.fitted) makes it smaller.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np

from .. import queries
from .._support.arrays import FloatArray, IntArray
from .._support.units import error_in
from ..mechanisms.accuracy import Accuracy
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.tree_levels import TreeLevels
from ..mechanisms.randomizer import Randomizer
from ..queries.domains import OPTION
from ..queries.range_answer import whole_nodes
from ..queries.ranges import MOST_BINS
from .candidates import Candidate, Refusal, oracle_row, plain_rows, runnable
from .leading_order import Floor, of_linear
from .shapes import QUANTILES, USUAL, Shape, checked_quantiles, quantile_errors, shape_of
from .solving import Budget
from .tasks import Labels, Predicted, Sensitivity, Task, options

#: Children of a node that are tried, besides all bins at once.
_BRANCHINGS = (2, 4, 16)
#: What a tree is called among the variants of a mechanism.
_SHAPE = "branching "
#: Ranges over which the mean is taken, at most: all of few bins, else points of a low-discrepancy sequence.
_RANGES = 1024
#: Its steps, from the root of x^3 = x + 1 (Roberts, 2018).
_STEP = 1.32471795724474602596
#: The worst data are found by placing the users in this many equal portions.
_PORTIONS = 64


@dataclass(frozen=True, kw_only=True)
class RangeTask(Task):
    """A number in one of d bins per user; the answer is the share of users in any range of bins."""

    name: ClassVar[str] = "range"
    usual_column: ClassVar[str] = "value"
    has_labels: ClassVar[bool] = False
    measure: ClassVar[str] = "share of users in a range, root mean square over the ranges, before the least-squares fit"
    error_of: ClassVar[str] = "a range of {d:,} bins"

    d: int
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    missing: float | Literal["option"] | None = None

    def __post_init__(self) -> None:
        known: dict[str, Any] = {"missing": OPTION} if self.missing == OPTION else {}
        self._settle_range(d=options(self.d, high=MOST_BINS, what="bins"), **known)

    @property
    def leaves(self) -> int:
        """The bins, and one more option where users without a number are counted on their own."""
        return self.d + (self.missing == OPTION)

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """The node of a random level of a tree, which is an option."""
        return {"options": {"d": self.leaves}}

    @property
    def ranges(self) -> IntArray:
        """First bin and last bin + 1 of the ranges over which the error is averaged."""
        if self.d * (self.d + 1) // 2 <= _RANGES:
            return np.array([(i, j) for i in range(self.d) for j in range(i + 1, self.d + 1) if j - i < self.d])
        steps = np.arange(1, _RANGES + 1)
        ends = np.sort(np.stack([steps / _STEP % 1.0, steps / _STEP**2 % 1.0], axis=1) * (self.d + 1), axis=1)
        found = ends.astype(np.int64)
        return np.asarray(found[(found[:, 0] < found[:, 1]) & (found[:, 1] - found[:, 0] < self.d)])

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """All bins as options and, where the mechanism can be used on every level, trees of several shapes."""
        for plain in plain_rows(self, name, kind, n):
            yield replace(plain, accuracy=partial(self._accuracy, self.leaves), runs=partial(self._tree, self.leaves))
        row = oracle_row(name, self.leaves)
        for branching in _BRANCHINGS:
            if row is not None and branching < self.leaves:
                runs, accuracy = partial(self._tree, branching), partial(self._accuracy, branching)
                yield Candidate(name, row, accuracy, runs, f"{_SHAPE}{branching}")

    @staticmethod
    def _tree(branching: int, leaves: Mechanism) -> Randomizer:
        return TreeLevels(runnable(leaves), branching).randomizer

    def accuracy(self, mechanism: Mechanism, n: int) -> Accuracy:
        """Without a tree."""
        return self._accuracy(self.leaves, mechanism, n)

    def _accuracy(self, branching: int, leaves: Mechanism, n: int) -> Accuracy:
        tree, ranges = TreeLevels(runnable(leaves), branching), self.ranges
        H = len(tree.sizes)
        base, slope, even = (np.zeros((len(ranges), H)) for _ in range(3))
        used = whole_nodes(ranges, tree.sizes, branching)
        for h, (oracle, (first, up, down, last)) in enumerate(zip(tree.oracles, used, strict=True)):
            nodes = ((up - first) + (last - down)).astype(np.float64)
            none, all_ = np.zeros(len(nodes)), np.ones(len(nodes))
            outside, inside = (
                np.where(nodes > 0, n * oracle._sum_variance(n, np.maximum(nodes, 1.0), share), 0.0)
                for share in (none, all_)
            )
            base[:, h], slope[:, h] = H * outside, H * (inside - outside)
            width = branching**h
            for start, end in ((first, up), (down, last)):
                even[:, h] += np.maximum(np.minimum(end * width, self.d) - start * width, 0) / self.d
        sampled = ((H - 1.0) * even * (1.0 - even) - even**2).sum(axis=1) + even.sum(axis=1) ** 2
        typical = ((base + slope * even).sum(axis=1) + sampled) / n
        worst = (base.sum(axis=1) + _largest(np.where(base > 0.0, slope, -np.inf), H if H > 1 else 0.0)) / n
        return Accuracy(*(math.sqrt(float(x)) for x in (np.mean(worst), np.mean(typical), np.max(worst))))

    @property
    def sensitivity(self) -> Sensitivity:
        """Two bins move by one; a range adds up the noise of its bins."""
        pairs = self.ranges
        return Sensitivity(2.0, math.sqrt(2.0), entry=math.sqrt(float(np.mean(pairs[:, 1] - pairs[:, 0]))))

    def floor(self, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
        """Theorem M for one range: a user is in it or not."""
        return of_linear(1.0, budget, epsilon, note=" for one range by itself")

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> queries.RangeQuery:
        """A range query on one column, with the shape that the variant names."""
        branching = self._branching(variant)
        return queries.RangeQuery(column=column, bins=self.d, branching=branching, mechanism=m, **self._range)

    def _branching(self, variant: str) -> int:
        return int(variant.removeprefix(_SHAPE)) if variant.startswith(_SHAPE) else self.leaves


@dataclass(frozen=True, kw_only=True)
class QuantileTask(RangeTask):
    """A number in one of d bins per user; the answer is a quantile, as precise as the distribution function."""

    name: ClassVar[str] = "quantile"
    measure: ClassVar[str] = (
        "probability: error of the distribution function, root mean square over the ends of bins, before the "
        "least-squares fit"
    )

    error_of: ClassVar[str] = "users below an end of a bin"

    quantiles: tuple[float, ...] = QUANTILES
    shape: tuple[float, ...] | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.shape
        if isinstance(shape, str | os.PathLike):
            shape = os.fspath(shape)
        elif shape is not None:
            shape = self.reference
        vars(self).update(quantiles=checked_quantiles(self.quantiles), shape=shape)
        _ = self.reference  # reads the file now

    @cached_property
    def reference(self) -> Shape:
        """How the numbers are taken to be spread; what was read from a file stays here, and only its name is told."""
        return shape_of(self.shape, self.low, self.high)

    @property
    def assumed(self) -> str:
        """How the numbers are taken to be spread."""
        if self.shape is None:
            return USUAL
        return f"numbers like those in {self.shape!r}" if isinstance(self.shape, str) else "the shape that was given"

    @property
    def sizes(self) -> dict[str, Any]:
        """Without what is as usual."""
        return {key: value for key, value in super().sizes.items() if (key, value) != ("quantiles", QUANTILES)}

    def predicted(
        self, mechanism: Mechanism, variant: str, accuracy: Accuracy, *, n: int, users: int
    ) -> list[Predicted]:
        """The errors of the quantiles in the unit of the number, if the numbers have the reference shape."""
        tree = TreeLevels(runnable(mechanism), self._branching(variant))
        found = quantile_errors(tree, self.d, self.reference, self.quantiles, n)
        width = self.high - self.low
        return [
            Predicted(f"p{100.0 * share:g}", width * error, self.unit, error_in(width * error, self.unit))
            for share, error in zip(self.quantiles, found, strict=True)
        ]

    def _query(self, m: Randomizer, column: Any, labels: Labels, variant: str) -> queries.RangeQuery:
        """A range query that is about the quantiles."""
        return replace(super()._query(m, column, labels, variant), quantiles=self.quantiles)

    @property
    def ranges(self) -> IntArray:
        """From the first bin to every end of a bin but the last, or to some of them."""
        ends = np.unique(np.linspace(1, self.d - 1, min(self.d - 1, _RANGES)).astype(np.int64))
        return np.stack([np.zeros_like(ends), ends], axis=1)


def _largest(slope: FloatArray, sample: float) -> FloatArray:
    """max over shares F_h >= 0, sum <= 1, of sum slope_h F_h + sample F_h (1 - F_h): concave, so in small portions."""
    share, total, step = np.zeros(slope.shape), np.zeros(len(slope)), 1.0 / _PORTIONS
    rows = np.arange(len(slope))
    for _ in range(_PORTIONS):
        more = slope * step + sample * step * (1.0 - 2.0 * share - step)
        best = np.argmax(more, axis=1)
        total += np.maximum(more[rows, best], 0.0)
        share[rows, best] += step
    return total
