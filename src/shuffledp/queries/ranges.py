"""Ranges, the distribution function and quantiles of a number, in the users' own units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from .._support import validation as check
from ..errors import ParameterError
from ..mechanisms.composite.hierarchical_grr import HierarchicalGRR
from ..mechanisms.composite.parallel import Parallel
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, runnable
from .columns import Column
from .domains import Interval, default_missing
from .range_answer import RangeAnswer, range_answer

#: Bins of one query, at most.
MOST_BINS = 2**20
#: Weights of the levels are written as shares of this many.
_SHARES = 1000


@dataclass(frozen=True, kw_only=True)
class RangeQuery(Query):
    """The share of users in any range of a number: each reports its node on one random level of a tree of bins.

    Parameters
    ----------
    column : str
        Where the numbers are.
    low, high : float
        The range, declared in advance; numbers outside count in the first or last bin.
    bins : int >= 2
        Bins of equal width; the ends of the ranges that can be asked for are those of bins.
    branching : int >= 2
        Nodes of one level in a node of the next one.
    mechanism : frequency mechanism or spec
        The oracle of every level, without its ``d``: "grr:eps0=2" is the paper's hierarchical randomized response.
    weights : "uniform" or "ranges"
        How the users are divided among the levels: evenly, or so that the mean variance of a range is smallest.
    missing : float
        What a missing number counts as; the middle of the range unless declared.
    unit : str
        For example "min".

    Notes
    -----
    A range is a sum of at most 2 (branching - 1) nodes per level (Cormode, Kulkarni, Srivastava, PVLDB 2019).  With
    weight w_h, level h has variance v_h/w_h a node; if c_h nodes of it are used on average, the sum of
    c_h v_h/w_h is smallest at w_h proportional to sqrt(c_h v_h).

    Examples
    --------
    >>> import shuffledp as sdp
    >>> delay = sdp.queries.RangeQuery(column="delay", low=0, high=64, bins=64, mechanism="grr:eps0=3", unit="min")
    >>> m, values = delay.randomizer, delay.encode([np.arange(100_000) % 64])
    >>> answer = delay.answer(m.tally(m.privatise(values, rng=np.random.default_rng(0))))
    >>> half = answer.range(0, 32)
    >>> bool(abs(half.value[0] - 0.5) < 4 * half.stderr[0])
    True
    """

    kind: ClassVar[str] = "range"

    column: str
    low: float
    high: float
    bins: int
    branching: int = 2
    mechanism: str | Randomizer = "grr:eps0=1"
    weights: Literal["uniform", "ranges"] = "uniform"
    missing: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if self.missing is None:
            object.__setattr__(self, "missing", default_missing(self.low, self.high))
        vars(self).update(
            low=self.domain.low,
            high=self.domain.high,
            missing=self.domain.missing,
            bins=check.whole("bins", self.bins, low=2, high=MOST_BINS, hint="bins divide the range"),
            branching=check.whole("branching", self.branching, low=2, high=MOST_BINS, hint="a node has two or more"),
        )
        check.one_of("weights", self.weights, ("uniform", "ranges"))
        oracle = runnable(self.mechanism, d=self.bins)
        if not isinstance(oracle, FrequencyOracle) or not oracle.single_message:
            raise ParameterError(f"mechanism must be a frequency mechanism such as 'grr:eps0=2', got {oracle.spec}.")
        object.__setattr__(self, "mechanism", oracle)

    @cached_property
    def domain(self) -> Interval:
        """The range."""
        missing = default_missing(self.low, self.high) if self.missing is None else self.missing
        return Interval(self.low, self.high, missing, self.unit)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def question(self) -> str:
        """In words."""
        width = self.domain.words(self.domain.width / self.bins)
        return f"the share of users in any range of {self.column!r}, in steps of {width}"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of every level, leaves first; a level of one node says nothing and is left out."""
        found = [self.bins]
        while found[-1] > self.branching:
            found.append(-(-found[-1] // self.branching))
        return tuple(found)

    @cached_property
    def oracles(self) -> tuple[FrequencyOracle, ...]:
        """The frequency mechanism of every level: what the spec says, with as many options as the level has nodes."""
        named = self.mechanism
        text = named.spec if isinstance(named, Randomizer) else str(named)
        word, _, given = text.partition(":")
        kept = ",".join(part for part in given.split(",") if part.split("=")[0].strip() == "eps0")
        made = [runnable(text if size == self.bins else f"{word}:{kept}", d=size) for size in self.sizes]
        return tuple(oracle for oracle in made if isinstance(oracle, FrequencyOracle))

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of users of every level."""
        if self.weights == "uniform":
            return (Fraction(1, len(self.sizes)),) * len(self.sizes)
        used = [min(2.0 * (self.branching - 1), 0.5 * size) for size in self.sizes]
        wanted = [math.sqrt(c * oracle.variance(1)) for c, oracle in zip(used, self.oracles, strict=True)]
        parts = [max(1, round(_SHARES * x / sum(wanted))) for x in wanted]
        return tuple(Fraction(part, sum(parts)) for part in parts)

    @cached_property
    def randomizer(self) -> Randomizer:
        """One random level, and its oracle: the paper's mechanism where that is randomized response on even levels."""
        if self.oracles[0].name == "grr" and self.weights == "uniform":
            return HierarchicalGRR(eps0=self.oracles[0].eps0, d=self.bins, branching=self.branching)
        return Parallel([(float(share), oracle) for share, oracle in zip(self.shares, self.oracles, strict=True)])

    def encode(self, columns: Sequence[Column]) -> Any:
        """The bin of every row; for several oracles its node on every level."""
        bins = self.domain.bins(columns[0], self.bins)
        if isinstance(self.randomizer, Parallel):
            return [bins // self.branching**h for h in range(len(self.sizes))]
        return bins

    def answer(self, tally: Tally) -> RangeAnswer:
        """The estimates of all nodes, ready to be asked."""
        m = self.randomizer
        if isinstance(m, Parallel):
            parts = m.estimates(tally)
        else:
            whole = m.estimate(tally)
            starts = np.cumsum([0, *self.sizes])
            parts = [whole.taken(np.arange(a, b)) for a, b in itertools.pairwise(starts)]
        return range_answer(self.domain, self.branching, parts)

    def exact(self, columns: Sequence[Column]) -> RangeAnswer:
        """The answer of these rows, without noise."""
        from ..estimation.estimate import Estimate

        bins = self.domain.bins(columns[0], self.bins)
        n = max(len(bins), 1)
        levels = [np.bincount(bins // self.branching**h, minlength=k) / n for h, k in enumerate(self.sizes)]
        parts = [Estimate(value=level, stderr=np.zeros(level.size), n=n) for level in levels]
        return range_answer(self.domain, self.branching, parts)
