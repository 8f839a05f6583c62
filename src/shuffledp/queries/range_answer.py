"""What a range query found: shares of ranges, the distribution function and quantiles, each with an interval."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.figures import TEXT_WIDTH
from ..errors import ParameterError
from ..estimation.constraints import Box, Simplex
from ..estimation.drawing import MOST_ITEMS
from ..estimation.estimate import SHARE, Estimate
from ..estimation.tree_fit import TreeFit, fit
from ..estimation.variance import share_sampling
from .domains import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

#: Cells of the matrix of weights that are formed at once.
_CELLS = 4_000_000


class Quantile(NamedTuple):
    """A quantile with its interval, in the unit of the query."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class RangeAnswer(Estimate):
    """The shares of the bins, and of every range of them.

    As an :class:`Estimate` it holds the bins; :meth:`range`, :meth:`cdf` and :meth:`quantile` add nodes of higher
    levels, which is what makes long ranges precise.  ``fitted()`` is the least-squares fit to all levels: unbiased as
    well, never less precise, and consistent.

    Attributes
    ----------
    domain, branching, levels : the range of the numbers, the shape of the tree, and the estimates of its levels
    tree : the least-squares fit, where one was made
    option : whether the last entry is that of the users without a number; all shares are those of all users
    """

    domain: Interval = field(default_factory=lambda: Interval(0.0, 1.0, 0.0))
    branching: int = 2
    levels: tuple[Estimate, ...] = ()
    tree: TreeFit | None = None
    option: bool = False

    @property
    def edges(self) -> FloatArray:
        """The ends of the bins."""
        return self.domain.edges(self._bins)

    @property
    def _bins(self) -> int:
        return self.value.size - self.option

    @property
    def missing(self) -> Estimate:
        """The share of users without a number, where that is an option of its own."""
        if not self.option:
            raise ParameterError(
                "missing must be an option of the query to be counted, got another; plan with 'option'."
            )
        return self._shares([(self._bins, self.value.size)], ["missing"])

    # -- ranges ---------------------------------------------------------------------------------------------------

    def range(self, low: float, high: float) -> Estimate:
        """The share of users in [low, high); both must be ends of bins, and the last one includes its end."""
        first, last = self._edge("low", low), self._edge("high", high)
        if not first < last:
            raise ParameterError(f"high must be above low, got low = {low!r} and high = {high!r}; exchange them.")
        name = f"[{self.domain.low if first == 0 else low:g}, {self.domain.words(high)})"
        return self._shares([(first, last)], [name])

    def cdf(self) -> Estimate:
        """The share of users below every end of a bin but the first, which is 0."""
        edges = self.edges[1:]
        names = [f"{edge:g}" for edge in edges]
        return self._shares([(0, i + 1) for i in range(len(edges))], names)

    def _edge(self, name: str, value: float) -> int:
        at = check.in_range(name, value, low=self.domain.low, high=self.domain.high)
        place = (at - self.domain.low) / self.domain.width * self._bins
        nearest = round(place)
        if abs(place - nearest) > 1e-6:
            below, above = (self.domain.words(x) for x in self.edges[[int(place), int(place) + 1]])
            raise ParameterError(
                f"{name} must be the end of a bin, got {at:g} between {below} and {above}; take one of these, or plan "
                "with other bins."
            )
        return nearest

    def _shares(self, ranges: list[tuple[int, int]], names: list[str]) -> Estimate:
        """Sums over the bins first, ..., last - 1 of each range."""
        pairs = np.array(ranges)
        value, variance = self._from_nodes(pairs) if self.tree is None else self._from_fit(self.tree, pairs)
        whole = (pairs[:, 0] == 0) & (pairs[:, 1] == self.value.size)  # everybody
        value, variance = np.where(whole, 1.0, value), np.where(whole, 0.0, variance)
        return Estimate(
            value=value,
            stderr=np.sqrt(variance),
            n=self.n,
            for_release=self.for_release,
            constraint=Box(0.0, 1.0),
            sampling=share_sampling(self.n),
            names=tuple(names),
            quantity=SHARE,
            note=self.note,
        )

    def _from_nodes(self, pairs: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """The fewest whole nodes: on every level up to branching - 1 at either end, then on with their parents.

        Levels have different users of the same n: who is not on one of them is on another.  Shares F_1, F_2 of a range
        on two levels therefore have the covariance F_1 F_2/n, and all pairs of them (F^2 - sum of F_h^2)/n.  Nodes of
        one level have a negative one, which is left out: it would make the error smaller.
        """
        value, variance, squares = (np.zeros(len(pairs)) for _ in range(3))
        used = whole_nodes(pairs, [level.value.size for level in self.levels], self.branching)
        for level, (first, up, down, last) in zip(self.levels, used, strict=True):
            share, noise = (
                sums[up] - sums[first] + sums[last] - sums[down]
                for sums in (np.concatenate([[0.0], np.cumsum(each)]) for each in (level.value, level.stderr**2))
            )
            value += share
            variance += noise
            squares += np.clip(share, 0.0, 1.0) ** 2
        between = np.maximum(np.clip(value, 0.0, 1.0) ** 2 - squares, 0.0) / max(self.n, 1)
        return value, variance + np.where(variance > 0.0, between, 0.0)

    def _from_fit(self, tree: TreeFit, pairs: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        size = self.value.size
        sums = np.concatenate([[0.0], np.cumsum(tree.leaves)])
        value, variance = sums[pairs[:, 1]] - sums[pairs[:, 0]], np.zeros(len(pairs))
        step = max(1, _CELLS // size)
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            at = np.arange(size)
            inside = (at >= some[:, :1]) & (at < some[:, 1:])
            variance[start : start + step] = tree.variance(inside.astype(np.float64))
        return value, variance

    # -- quantiles ------------------------------------------------------------------------------------------------

    def quantile(self, share: float, *, level: float = 0.95) -> Quantile:
        """The number below which this share of the users lies, with an interval.

        The value is where the rising envelope of the distribution function, straight inside a bin, meets the share.
        The interval reaches from the first to the last bin that is not contradicted: a bin is, if the distribution
        function exceeds the share at its lower end for sure, or stays below it at its upper end.  The bin of the true
        quantile is contradicted only if one of its two ends is outside the interval there, on one side each, so that
        coverage is at least ``level`` where that of the distribution function is, however many bins there are.

        Where missing numbers are an option of their own, it is the quantile of the users who have one: half of
        1 - ``level`` is spent on the interval of their share, the rest on that of the distribution function.
        """
        share = check.in_range("share", share, low=0.0, high=1.0, low_open=True, high_open=True)
        found = self._cdf
        fewest = most = share  # of all users
        if self.option:
            level = 0.5 + 0.5 * check.in_range("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
            fewest, most = (
                share * (1.0 - float(np.clip(end[0], 0.0, 1.0))) for end in self.missing.interval(level)[::-1]
            )
        low, high = found.interval(level)
        edges, size = self.edges, self._bins
        exceeded = np.concatenate([[False], low[: size - 1] > most])  # at the lower end of each bin
        short = np.concatenate([high[: size - 1] < fewest, [False]])  # at its upper end; all are below that of the last
        open_bins = np.flatnonzero(~(exceeded | short))  # one at least: where ``short`` ends, nothing is exceeded
        first, last = int(open_bins[0]), int(open_bins[-1]) + 1
        rising = np.concatenate([[0.0], np.maximum.accumulate(np.clip(found.value, 0.0, 1.0))])
        if not self.option or rising[-1] <= 0.0:
            rising[-1] = 1.0
        value = float(np.interp(share * rising[-1], rising, edges))
        ends = float(edges[first]), float(edges[last])
        return Quantile(min(max(value, ends[0]), ends[1]), *ends)

    @cached_property
    def _cdf(self) -> Estimate:
        return self.cdf()

    # -- consistency ----------------------------------------------------------------------------------------------

    def fitted(self) -> RangeAnswer:
        """The least-squares fit to all levels: consistent, unbiased, with standard errors of its own."""
        if not self.levels or any(not np.all(np.isfinite(level.stderr)) for level in self.levels):
            raise ParameterError("every level needs a report for a fit, got none on some; collect more.")
        variances = [max(float(np.median(level.stderr**2)), 1e-300) for level in self.levels]
        tree = fit([level.value for level in self.levels], variances, self.branching)
        spread = [float(x) for x in np.sqrt(_leaf_variances(tree))]
        kept = replace(self, noise=None, grain=0.0, influence=None)
        return replace(kept, value=tree.leaves, stderr=np.array(spread), tree=tree)

    def plot(
        self,
        *,
        level: float = 0.95,
        of: str = "users",
        most: int = MOST_ITEMS,
        width: float = TEXT_WIDTH,
        truth: Estimate | None = None,
    ) -> Figure:
        """The distribution function with its intervals (needs the extra ``plot``); all bins, whatever ``most`` is."""
        from .drawing import draw_distribution

        return draw_distribution(self, level=level, of=of, width=width, truth=truth)


def whole_nodes(
    pairs: NDArray[np.int64], sizes: Sequence[int], branching: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The nodes of every level, leaves first, that ranges of bins are made of: first to up, and down to last.

    Examples
    --------
    >>> [[int(x[0]) for x in level] for level in whole_nodes(np.array([[1, 8]]), [8, 4, 2], 2)]
    [[1, 2, 8, 8], [1, 2, 4, 4], [1, 2, 2, 2]]
    """
    first, last = pairs[:, 0], pairs[:, 1]
    for place, size in enumerate(sizes):
        up = -(-first // branching) * branching
        # the last node of a level ends its parent, even if that has fewer children than others
        down = np.where(last == size, last, last // branching * branching)
        rest = (up >= down) | (place == len(sizes) - 1)  # no whole parent, or no level above: take what is left
        up, down = np.where(rest, last, up), np.where(rest, last, down)
        yield first, up, down, last
        first = np.where(rest, 0, up // branching)
        last = np.where(rest, 0, -(-down // branching))


def _leaf_variances(tree: TreeFit) -> FloatArray:
    """The variance of every leaf; leaves of one parent are alike, so that a few weights at a time suffice."""
    size = tree.leaves.size
    out, step = np.empty(size), max(1, _CELLS // size)
    for start in range(0, size, step):
        rows = np.arange(start, min(start + step, size))
        weights = np.zeros((rows.size, size))
        weights[np.arange(rows.size), rows] = 1.0
        out[rows] = tree.variance(weights)
    return out


def range_answer(domain: Interval, branching: int, parts: Sequence[Estimate], option: bool = False) -> RangeAnswer:
    """The answer from the estimates of every level, leaves first; with ``option`` the last leaf is no bin."""
    leaves = parts[0]
    edges = domain.edges(leaves.value.size - option)
    names = [f"{a:g} to {domain.words(b)}" for a, b in itertools.pairwise(edges)]  # the unit is that of the bins
    return RangeAnswer(
        value=leaves.value,
        stderr=leaves.stderr,
        n=leaves.n,
        for_release=leaves.for_release,
        constraint=Simplex(),
        noise=leaves.noise,
        sampling=leaves.sampling,
        grain=leaves.grain,
        influence=leaves.influence,
        names=(*names, *(["missing"] if option else [])),
        quantity=SHARE,
        option=option,
        domain=domain,
        branching=branching,
        levels=tuple(parts),
    )
