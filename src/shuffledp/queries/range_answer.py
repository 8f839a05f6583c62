"""What a range query found: shares of ranges, the distribution function and quantiles, each with an interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._support import validation as check
from .._support.arrays import FloatArray, IntArray
from ..errors import ParameterError
from ..estimation.constraints import Box, Limit, Simplex
from ..estimation.drawing import Look
from ..estimation.estimate import SHARE, Estimate, moments_of, weighted_sums
from ..estimation.moments import Moments, Sums, plausible
from ..estimation.tree_fit import TreeFit, fit
from ..estimation.variance import Variance, share_sampling
from .domains import Interval
from .quantiles import Distribution, Quantiles, quantile_places

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Quantiles of one answer, at most.
MOST_QUANTILES = 1000


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
    well, more precise, and consistent.

    Intervals of ranges, points of the distribution function and fitted bins have about their nominal coverage from 100
    users on, whatever the shares are.  They are conservative below 100 users, and where the error is that of fewer than
    two reports (one user of thousands in a bin, at eps0 = 12): half a report is added on either side.

    Attributes
    ----------
    domain, branching, levels : the range of the numbers, the shape of the tree, and the estimates of its levels
    tree : the least-squares fit, where one was made
    option : whether the last entry is that of the users without a number; all shares are those of all users
    column : where the numbers were
    declared : the shares of the quantiles that the query is about; empty if it names none
    """

    domain: Interval = field(default_factory=lambda: Interval(0.0, 1.0, 0.0))
    branching: int = 2
    levels: tuple[Estimate, ...] = ()
    tree: TreeFit | None = None
    option: bool = False
    column: str = ""
    declared: tuple[float, ...] = ()

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
                "missing must be an option of its own to be counted, got another setting; plan with missing='option'."
            )
        return self._shares([(self._bins, self.value.size)], ["missing"], "missing")

    # -- ranges ---------------------------------------------------------------------------------------------------

    def range(self, low: float, high: float) -> Estimate:
        """The share of users in [low, high); both must be ends of bins, and the last one includes its end."""
        first, last = self._edge("low", low), self._edge("high", high)
        if not first < last:
            raise ParameterError(f"high must be above low, got low = {low!r} and high = {high!r}; exchange them.")
        name = f"[{self.domain.low if first == 0 else low:g}, {self.domain.words(high)})"
        return self._shares([(first, last)], [name], f"in {name}")

    def cdf(self) -> Estimate:
        """The share of users below every end of a bin but the first, which is 0."""
        edges = self.edges[1:]
        names = [f"{edge:g}" for edge in edges]
        return self._shares([(0, i + 1) for i in range(len(edges))], names, "below")

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

    def _shares(self, ranges: Sequence[tuple[int, int]], names: Sequence[str], what: str) -> Estimate:
        """Sums over the bins first, ..., last - 1 of each range; ``what`` describes them."""
        pairs = np.array(ranges)
        whole = (pairs[:, 0] == 0) & (pairs[:, 1] == self.value.size)  # everybody
        value = self._from_nodes(pairs) if self.tree is None else between(self.tree.leaves, pairs)
        noise, step = self._noise(np.where(whole[:, None], [0, 1], pairs))
        known = noise.mapped(lambda x: np.where(whole, 0.0, x))
        found = weighted_sums(np.where(whole, 1.0, value), self.n, Box(0.0, 1.0), known, np.where(whole, 0.0, step))
        found = replace(found, provenance=self.narrowed(what), for_release=self.for_release)
        return replace(found, names=tuple(names), quantity=SHARE, note=self.note, ordered=True)

    def _used(self, pairs: IntArray) -> Iterator[tuple[Any, ...]]:
        return whole_nodes(pairs, [level.value.size for level in self.levels], self.branching)

    def _from_nodes(self, pairs: IntArray) -> FloatArray:
        """The fewest whole nodes: on every level up to branching - 1 at either end, then on with their parents."""
        value = np.zeros(len(pairs))
        for level, (first, up, down, last) in zip(self.levels, self._used(pairs), strict=True):
            sums = np.concatenate([[0.0], np.cumsum(level.value)])
            value += sums[up] - sums[first] + sums[last] - sums[down]
        return value

    def _noise(self, pairs: IntArray) -> tuple[Variance, Limit]:
        """The variance of the shares of ranges, none of which holds all bins, and their steps (moments.py)."""
        if not any(np.any(level.stderr) for level in self.levels):
            return Variance(np.zeros(len(pairs))), 0.0  # the truth itself
        parts = [moments_of(level) for level in self.levels]
        tree = self.tree
        sums = self._node_sums(pairs, parts) if tree is None else tree.sums(pairs, self._plausible, parts)
        return sums.variance(parts).plus(share_sampling(self.n), -1.0), sums.step

    def _node_sums(self, pairs: IntArray, parts: Sequence[Moments]) -> Sums:
        """Weights of 1 at whole nodes."""
        nodes, share = (np.zeros((len(pairs), len(parts))) for _ in range(2))
        at = self._plausible
        for h, (first, up, down, last) in enumerate(self._used(pairs)):
            nodes[:, h] = up - first + last - down
            share[:, h] = between(at, np.stack([first, up], 1)) + between(at, np.stack([down, last], 1))
            at = np.add.reduceat(at, np.arange(0, at.size, self.branching))
        share /= share.sum(axis=1, keepdims=True)
        square = np.zeros(len(pairs))
        for some, part in zip(nodes.T, parts, strict=True):
            square[some > 0] += some[some > 0] * (part.square / part.reports)  # infinite on a level without reports
        own = share @ [part.own / part.reports for part in parts]
        step = np.max((nodes > 0) * np.array([part.grain for part in parts]), axis=1)
        return Sums(square, own, np.zeros_like(own), nodes, share, np.zeros_like(share), step)

    @cached_property
    def _plausible(self) -> FloatArray:
        """Shares of the bins that the truth may have."""
        return plausible((self.tree or self._fit).leaves, self.n, [moments_of(level) for level in self.levels])

    @cached_property
    def _fit(self) -> TreeFit:
        even = [moments_of(level).even(level.value.size) for level in self.levels]
        return fit([level.value for level in self.levels], even, self.branching)

    # -- quantiles ------------------------------------------------------------------------------------------------

    def quantile(self, share: float, *, level: float = 0.95, inside: str = "even") -> Quantile:
        """The number below which this share of the users lies, with an interval (see quantiles.py).

        Where missing numbers are an option of their own, it is the quantile of the users who have one: half of
        1 - ``level`` is spent on the interval of their share, the rest on that of the distribution function.

        inside : "even" takes the users of a bin to be spread evenly inside it, and covers with about ``level``, but
            goes on to the ends of the bins in which clipped and missing numbers pile up; "any" goes on to the ends of
            all bins: at least ``level``, wherever inside their bins users are, as with whole numbers in bins of 1
        """
        share = check.inside("share", share, 0.0, 1.0)
        check.one_of("spread inside a bin", inside, ("even", "any"))
        held, fewest, most = share, share, share  # of all users
        if self.option:
            level = 0.5 + 0.5 * check.inside("level", level, 0.0, 1.0)
            ends = self.missing.interval(level)[::-1]
            fewest, most = (share * (1.0 - float(np.clip(end[0], 0.0, 1.0))) for end in ends)
            # the same nodes as below the quantile: their errors cancel in part
            held = share * float(np.clip(self._cdf.value[self._bins - 1], 0.0, 1.0))
        places = quantile_places(Distribution(self._cdf, self._bins, level, self._spread), held, fewest, most)
        start, end = math.floor(places[1]), math.ceil(places[2])
        piles = range(self._bins) if inside == "any" else self._piles
        places = (places[0], start if start in piles else places[1], end if end - 1 in piles else places[2])
        return Quantile(*np.interp(places, np.arange(self._bins + 1), self.edges).tolist())

    @property
    def _piles(self) -> tuple[int, ...]:
        """The bins that also hold numbers from elsewhere: clipped ones, and missing ones that count as a number."""
        missing = [] if self.option else self.domain.bins(np.array([self.domain.substitute]), self._bins).tolist()
        return (0, self._bins - 1, *missing)

    def _spread(self, pairs: IntArray) -> FloatArray:
        """Standard errors of the shares of ranges of bins."""
        return self._shares([(a, b) for a, b in pairs.tolist()], [""] * len(pairs), "").stderr

    def quantiles(
        self, shares: Sequence[float] | None = None, *, level: float = 0.95, inside: str = "even"
    ) -> Quantiles:
        """Several quantiles, each as :meth:`quantile` gives it, as an answer of its own; by default those declared.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> delay = sdp.queries.RangeQuery(column="delay", low=0, high=64, bins=64, mechanism="grr:eps0=3", unit="min")
        >>> print(*delay.exact([np.arange(6400) % 64]).quantiles([0.25, 0.99]).words(), sep="\\n")
        p25: 16 min, 95 % from 16 to 16
        p99: 63.4 min, 95 % from 63.0 to 64.0
        Users of a bin (1 min wide) are taken to be spread evenly inside it.
        """
        each = different_shares(self.declared if shares is None else shares)
        value, low, high = np.array([self.quantile(share, level=level, inside=inside) for share in each]).T
        return Quantiles(each, value, low, high, level=level, answer=self, inside=inside)

    @cached_property
    def _cdf(self) -> Estimate:
        return self.cdf()

    # -- consistency ----------------------------------------------------------------------------------------------

    def fitted(self) -> RangeAnswer:
        """The least-squares fit to all levels: consistent, unbiased, with standard errors of its own."""
        if not self.levels or any(not np.all(np.isfinite(level.stderr)) for level in self.levels):
            raise ParameterError("every level needs at least one report for a fit, got none on some; collect more.")
        made = replace(self, tree=self._fit, provenance=self.narrowed("fitted"))
        bins = np.arange(self.value.size)
        found = weighted_sums(self._fit.leaves, self.n, Simplex(), *made._noise(np.stack([bins, bins + 1], axis=1)))
        new = ("value", "stderr", "noise", "grain", "influence")
        return replace(made, **{key: getattr(found, key) for key in new})

    def _draw(self, look: Look) -> Figure:
        """The distribution function with its intervals (needs the extra ``plot``); all bins, whatever ``most`` is."""
        from .drawing import draw_distribution

        return draw_distribution(self, look)


def different_shares(shares: float | Sequence[float]) -> tuple[float, ...]:
    """Of quantiles: strictly between 0 and 1, each once.

    Examples
    --------
    >>> different_shares([0.5, 0.99, 0.5])
    (0.5, 0.99)
    """
    some = [shares] if isinstance(shares, int | float) else list(shares)
    if not 1 <= len(some) <= MOST_QUANTILES:
        raise ParameterError(
            f"quantiles must be 1 to {MOST_QUANTILES:,} shares, got {len(some):,}; write [0.5, 0.95, 0.99]."
        )
    return tuple(dict.fromkeys(check.inside("quantiles", share, 0.0, 1.0) for share in some))


def whole_nodes(
    pairs: IntArray, sizes: Sequence[int], branching: int
) -> Iterator[tuple[IntArray, IntArray, IntArray, IntArray]]:
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


def between(shares: FloatArray, pairs: IntArray) -> FloatArray:
    """The sum of these shares from the first to before the last of every pair."""
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    return np.asarray(sums[pairs[:, 1]] - sums[pairs[:, 0]])


def range_answer(domain: Interval, branching: int, parts: Sequence[Estimate], option: bool = False) -> RangeAnswer:
    """The answer from the estimates of every level, leaves first; with ``option`` the last leaf is not a bin."""
    leaves = parts[0]
    edges = domain.edges(leaves.value.size - option)
    names = [f"{a:g} to {domain.words(b)}" for a, b in itertools.pairwise(edges)]  # the unit is that of the bins
    same = ("value", "stderr", "n", "for_release", "noise", "sampling", "grain", "influence")
    return RangeAnswer(
        **{key: getattr(leaves, key) for key in same},
        constraint=Simplex(),
        names=(*names, *(["missing"] if option else [])),
        quantity=SHARE,
        rest="missing" if option else "",
        ordered=True,
        option=option,
        domain=domain,
        branching=branching,
        levels=tuple(parts),
    )
